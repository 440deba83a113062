// SPDX-License-Identifier: Apache-2.0
/// The rule of choose_algorithm(), from counts alone.
#pragma once

#include <vector>

#include "training/choose.h"

namespace likewise {

/// Entries of each user and of each item that has any.
struct RowCounts {
  std::vector<Offset> of_users;
  std::vector<Offset> of_items;
};

[[nodiscard]] AlgorithmChoice choose_by_counts(const RowCounts& counts, Feedback feedback,
                                               const Device& device);

}  // namespace likewise
