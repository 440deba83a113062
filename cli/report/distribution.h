// SPDX-License-Identifier: Apache-2.0
/// How interactions are spread over users and items, as cards of a page.
#pragma once

#include <string>
#include <vector>

#include "likewise/csr.h"

namespace likewise::cli {

/// Interactions of each row, largest first.
[[nodiscard]] std::vector<double> descending_row_sizes(const CsrView& rows);

/// Counts by rank. Both lists: interactions of each, largest first.
[[nodiscard]] std::string distribution_section(const std::vector<double>& users,
                                               const std::vector<double>& items);

/// How many users and items have so many interactions, with least, median, mean and most.
[[nodiscard]] std::string histogram_sections(const std::vector<double>& users,
                                             const std::vector<double>& items);

/// The matrix as a grid of at most 100 x 100 cells, the denser the darker: as it comes, and with
/// the busiest first.
[[nodiscard]] std::string pattern_sections(const CsrView& by_user, const CsrView& by_item);

}  // namespace likewise::cli
