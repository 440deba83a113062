// SPDX-License-Identifier: Apache-2.0
#include "algorithms/ease/ease_scales.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include <fmt/format.h>

#include "algorithms/row_counts.h"
#include "core/placed_error.h"
#include "likewise/error.h"

namespace likewise {
namespace {

[[nodiscard]] double power(double count, double exponent) {
  return count > 0.0 ? std::pow(count, exponent) : 0.0;
}

}  // namespace

EaseScales make_ease_scales(const CsrView& by_user, const EaseSystem& system) {
  EaseScales scales;
  for (Index user = 0; user < by_user.rows; ++user) {
    const auto entries = static_cast<double>(by_user.row_size(user));
    scales.user.push_back(power(entries, -system.user_exponent));
  }
  const bool scaled = system.item_exponent.has_value();
  for (const auto count : column_counts(by_user)) {
    const auto n = static_cast<double>(count);
    scales.item.push_back(power(n, scaled ? -0.5 : 0.0));
    scales.row.push_back(power(n, scaled ? *system.item_exponent - 0.5 : 0.0));
  }
  scales.diagonal = 1.0 + system.dropout / (1.0 - system.dropout);
  scales.regularization = system.regularization;
  return scales;
}

void refuse_singular_ease(Index item, const EaseSystem& system) {
  const double lambda = system.regularization;
  throw PlacedError(ErrorKind::kNumerical, {{Side::kItems, item}},
                    [lambda](std::span<const std::string> names) {
                      return fmt::format(
                          "the weights of {} cannot be told from those of other items with "
                          "regularization {}: use a larger regularization",
                          names[0], lambda);
                    });
}

void check_candidates(const CsrView& by_user, const KnnLists& candidates) {
  if (candidates.size() != by_user.cols) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("candidates: {} lists for {} items", candidates.size(), by_user.cols));
  }
  const auto all =
      std::span(candidates.rows.data(), static_cast<std::size_t>(candidates.rows.size()));
  const auto bad =
      std::ranges::find_if(all, [&](Index item) { return item < 0 || item >= by_user.cols; });
  if (bad == all.end()) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("candidates: item number {} of {} items", *bad, by_user.cols));
}

std::vector<Index> system_candidates(const KnnLists& candidates, Index item) {
  const auto given = candidates.rows_of(item);
  std::vector<Index> rising(given.begin(), given.end());
  std::ranges::sort(rising);
  rising.erase(std::unique(rising.begin(), rising.end()), rising.end());
  std::erase(rising, item);
  return rising;
}

}  // namespace likewise
