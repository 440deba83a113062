// SPDX-License-Identifier: Apache-2.0
/// Spectral factors: with U S V' the truncated singular value decomposition of
///
///     A = D_U^(-1/2) X D_I^(-1/2)
///
/// X the histories (users x items), D_U and D_I the numbers of entries of users and items, a
/// history x has the scores
///
///     x D_I^(-b) V S^h V' D_I^b
///
/// a low-pass filter of the graph of users and items. In factors, y_i = n_i^b V_i S^(h/2), and a
/// user is the sum over its items of x_i n_i^(-2b) y_i: nothing has to be solved for new users.
/// math.md has sources.
#pragma once

#include <cstdint>

#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/factors.h"
#include "likewise/types.h"

namespace likewise {

struct SpectralParams {
  Feedback feedback = Feedback::kImplicit;  ///< implicit only: scores rank
  int factors = 256;                        ///< singular vectors kept, 1 to 4096
  double item_exponent = 0.5;               ///< b, 0 to 1
  double spectrum_exponent = 1.0;           ///< h, 0 to 4; 0: all kept vectors count the same
  std::uint64_t seed = 42;

  /// The same for both: it learns from what users have.
  [[nodiscard]] static SpectralParams defaults(Feedback) { return {}; }

  /// Throws Error(kInvalidArgument) naming the field, its value and its range.
  void validate() const;
  friend bool operator==(const SpectralParams&, const SpectralParams&) = default;
};

}  // namespace likewise
