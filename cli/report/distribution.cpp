// SPDX-License-Identifier: Apache-2.0
#include "report/distribution.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include "output/text.h"
#include "report/page.h"
#include "report/svg.h"

namespace likewise::cli {
namespace {

// ------------------------------------------------------------------------- counts by rank

/// Rank and size, at about 120 ranks evenly spread on a log axis.
Series rank_series(const std::string& name, const std::vector<double>& counts) {
  Series series{name, {}};
  double next = 1;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const auto rank = static_cast<double>(r + 1);
    if (rank < next && r + 1 != counts.size()) continue;
    series.points.emplace_back(rank, counts[r]);
    next = std::max(rank + 1, rank * 1.08);
  }
  return series;
}

// ----------------------------------------------------------------------------- histograms

/// "1", "2 - 3", "4 - 7" and so on: so many have as many interactions.
std::vector<Bar> histogram_of(const std::vector<double>& counts) {
  std::vector<Bar> bars;
  const auto begin_of = [](std::size_t bin) { return bin == 0 ? 0.0 : std::exp2(bin - 1); };
  for (const double count : counts) {
    const auto bin = static_cast<std::size_t>(count < 1 ? 0 : std::ilogb(count) + 1);
    while (bars.size() <= bin) bars.push_back({});
    ++bars[bin].value;
  }
  for (std::size_t bin = 0; bin < bars.size(); ++bin) {
    const double begin = begin_of(bin);
    const double last = begin_of(bin + 1) - 1;
    bars[bin].label =
        last > begin ? fmt::format("{:.0f} - {:.0f}", begin, last) : fmt::format("{:.0f}", begin);
    bars[bin].text = with_commas(static_cast<Offset>(bars[bin].value));
  }
  const auto filled = [](const Bar& bar) { return bar.value > 0; };
  bars.erase(bars.begin(), std::ranges::find_if(bars, filled));
  return bars;
}

/// "least 1, median 30, mean 84.8, most 700". `counts`: largest first.
std::string spread_of(const std::vector<double>& counts) {
  if (counts.empty()) return "There are none.";
  const auto whole = [](double count) { return with_commas(static_cast<Offset>(count)); };
  const double sum = std::accumulate(counts.begin(), counts.end(), 0.0);
  return fmt::format("Least {}, median {}, mean {:.1f}, most {}.", whole(counts.back()),
                     whole(counts[(counts.size() - 1) / 2]), sum / std::ssize(counts),
                     whole(counts.front()));
}

// -------------------------------------------------------------------------------- pattern

constexpr Index kMostCells = 100;
constexpr int kShades = 8;

/// What share of each cell is filled.
struct Grid {
  Index rows;
  Index columns;
  std::vector<double> filled;
};

/// For each row its number in the picture.
std::vector<Index> as_it_comes(Index count) {
  std::vector<Index> place(static_cast<std::size_t>(count));
  std::iota(place.begin(), place.end(), 0);
  return place;
}

std::vector<Index> busiest_first(const CsrView& rows) {
  std::vector<Index> order = as_it_comes(rows.rows);
  std::ranges::stable_sort(order, std::greater{}, [&](Index row) { return rows.row_size(row); });
  std::vector<Index> place(order.size());
  for (Index at = 0; at < rows.rows; ++at) place[static_cast<std::size_t>(order[at])] = at;
  return place;
}

/// The cell of number `at` of so many.
Index cell_of(Index at, Index count, Index cells) {
  return static_cast<Index>(Offset{at} * cells / count);
}

Grid grid_of(const CsrView& m, const std::vector<Index>& users, const std::vector<Index>& items) {
  Grid grid{std::min(m.rows, kMostCells), std::min(m.cols, kMostCells), {}};
  grid.filled.resize(static_cast<std::size_t>(grid.rows) * grid.columns);
  const double cell = static_cast<double>(m.rows) / grid.rows * m.cols / grid.columns;
  for (Index u = 0; u < m.rows; ++u) {
    const Index row = cell_of(users[static_cast<std::size_t>(u)], m.rows, grid.rows);
    for (const Index i : m.row_columns(u)) {
      const Index column = cell_of(items[static_cast<std::size_t>(i)], m.cols, grid.columns);
      grid.filled[static_cast<std::size_t>(Offset{row} * grid.columns + column)] += 1 / cell;
    }
  }
  return grid;
}

/// From 1, the lightest, by the logarithm of what is filled between the least and the most.
int shade_of(double filled, double least, double most) {
  if (most <= least) return kShades;
  const double part = std::log(filled / least) / std::log(most / least);
  return std::clamp(static_cast<int>(part * kShades) + 1, 1, kShades);
}

std::string draw(const Grid& grid) {
  double least = std::numeric_limits<double>::infinity();
  for (const double x : grid.filled) {
    if (x > 0) least = std::min(least, x);
  }
  const double most = grid.filled.empty() ? 0 : std::ranges::max(grid.filled);
  std::string paths[kShades];
  for (std::size_t at = 0; at < grid.filled.size(); ++at) {
    if (grid.filled[at] == 0) continue;
    const auto columns = static_cast<std::size_t>(grid.columns);
    paths[shade_of(grid.filled[at], least, most) - 1] +=
        fmt::format("M{} {}h1v1h-1z", at % columns, at / columns);
  }
  std::string out = fmt::format(
      "<svg viewBox='0 0 420 420' width='420' height='420' role='img' aria-label='users down, "
      "items "
      "across' shape-rendering='crispEdges' style='background:var(--grid);fill:var(--ink)'>\n"
      "<g transform='scale({:.6g} {:.6g})'>\n",
      420.0 / std::max(grid.columns, 1), 420.0 / std::max(grid.rows, 1));
  for (int shade = 0; shade < kShades; ++shade) {
    out += fmt::format("<path fill-opacity='{:.3f}' d='{}'/>\n", (shade + 1.0) / kShades,
                       paths[shade]);
  }
  return out + "</g></svg>\n";
}

}  // namespace

std::vector<double> descending_row_sizes(const CsrView& rows) {
  std::vector<double> sizes;
  for (Index r = 0; r < rows.rows; ++r) sizes.push_back(static_cast<double>(rows.row_size(r)));
  std::ranges::sort(sizes, std::greater{});
  return sizes;
}

std::string distribution_section(const std::vector<double>& users,
                                 const std::vector<double>& items) {
  LineChart chart{"rank, busiest first",
                  "interactions",
                  {rank_series("users", users), rank_series("items", items)}};
  chart.log_x = chart.log_y = true;
  return section("Interactions per user and per item",
                 "A few have very many, most have few: both axes are logarithmic.", draw(chart));
}

std::string histogram_sections(const std::vector<double>& users, const std::vector<double>& items) {
  return section("Users by their interactions", spread_of(users), draw(histogram_of(users))) +
         section("Items by their interactions", spread_of(items), draw(histogram_of(items)));
}

std::string pattern_sections(const CsrView& by_user, const CsrView& by_item) {
  const Grid given = grid_of(by_user, as_it_comes(by_user.rows), as_it_comes(by_user.cols));
  const Grid sorted = grid_of(by_user, busiest_first(by_user), busiest_first(by_item));
  return section("Pattern of sparsity",
                 "Users down, items across, as the file has them first; the denser the darker, by "
                 "logarithms.",
                 draw(given)) +
         section("Pattern, busiest first", "The same with the busiest users and items in front.",
                 draw(sorted));
}

}  // namespace likewise::cli
