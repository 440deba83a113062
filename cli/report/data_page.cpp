// SPDX-License-Identifier: Apache-2.0
#include "report/data_page.h"

#include <vector>

#include <fmt/format.h>

#include "output/text.h"
#include "report/distribution.h"
#include "report/page.h"

namespace likewise::cli {
namespace {

Facts counts_of(const CsrView& m) {
  const double cells = static_cast<double>(m.rows) * m.cols;
  return {{"users", with_commas(m.rows)},
          {"items", with_commas(m.cols)},
          {"interactions", with_commas(m.nnz())},
          {"of all cells", fmt::format("{:.3g} %", cells > 0 ? 100 * m.nnz() / cells : 0.0)}};
}

}  // namespace

void write_data_page(const std::string& title, const CsrView& by_user, const std::string& path) {
  const std::vector<double> users = descending_row_sizes(by_user);
  const CsrMatrix by_item = transpose(by_user);
  const std::vector<double> items = descending_row_sizes(by_item.view());
  const std::string cards = histogram_sections(users, items) + distribution_section(users, items) +
                            pattern_sections(by_user, by_item.view());
  write_page(
      page(title, "What the interactions look like.",
           fmt::format("{}<div class='cards'>\n{}</div>\n", figures(counts_of(by_user)), cards)),
      path);
}

}  // namespace likewise::cli
