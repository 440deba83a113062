// SPDX-License-Identifier: Apache-2.0
/// Synthetic data: sets with the shapes of the known ones, and the demo's cinema catalogue.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "likewise/control.h"
#include "likewise/interactions.h"

namespace likewise {

struct SyntheticShape {
  Index users = 0;
  Index items = 0;
  Offset nnz = 0;                           ///< interactions, exact in the result
  Feedback feedback = Feedback::kExplicit;  ///< 1..5 stars, or implicit counts
  bool demo = false;                        ///< the demo catalogue's interactions, with its own ids
};

/// "demo", "ml-20m", "eachmovie", "netflix", "msd", "yahoo-song", "yahoo", "hugewiki", or
/// USERSxITEMSxNNZ with k, m, g allowed for thousands, millions and thousand millions
/// ("100kx2kx5m"). ":explicit" or ":implicit" may follow; without it the known sets have what they
/// really hold, others stars.
/// Throws Error(kInvalidArgument) listing the names.
[[nodiscard]] SyntheticShape parse_shape(std::string_view text);

/// Long-tailed users and items with a planted low-rank taste. Ids are 0..n-1; the same for any
/// number of threads. Throws Error(kInvalidArgument) on a shape that cannot be,
/// Error(kOutOfMemory) with the plan when it cannot fit, Error(kCancelled).
[[nodiscard]] Interactions generate(const SyntheticShape& shape, std::uint64_t seed = 42,
                                    const RunControl& control = {});

/// A film of the built-in catalogue.
struct Film {
  std::string title;  ///< unique
  std::string genre;
  int year = 0;
};

/// A synthetic cinema: titled films of genres and decades, and viewers with tastes. Item ids are
/// the titles, user ids are viewer names; values are how often a film was watched.
struct Catalogue {
  std::vector<Film> films;          ///< one for each item index
  std::vector<std::string> tastes;  ///< beside the user indices: e.g. "westerns, 1960s"
  Interactions interactions;
};
[[nodiscard]] Catalogue demo_catalogue(std::uint64_t seed = 42);

}  // namespace likewise
