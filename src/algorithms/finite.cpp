// SPDX-License-Identifier: Apache-2.0
#include "algorithms/finite.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "algorithms/als/weights.h"
#include "algorithms/sgd/setup.h"
#include "core/placed_error.h"
#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// The entry that comes before all others, before(a, b) says, and the first of such; -1 where there
/// is none.
template <class Before>
[[nodiscard]] Offset first_entry(const CsrView& by_user, const Before& before) {
  constexpr Offset kBlock = Offset{1} << 18;
  std::vector<Offset> of_blocks(static_cast<std::size_t>((by_user.nnz() + kBlock - 1) / kBlock));
  parallel_blocks(by_user.nnz(), kBlock, [&](Offset begin, Offset end, Offset block) {
    Offset best = begin;
    for (Offset at = begin + 1; at < end; ++at) best = before(at, best) ? at : best;
    of_blocks[static_cast<std::size_t>(block)] = best;
  });
  Offset best = -1;
  for (const Offset at : of_blocks) best = best < 0 || before(at, best) ? at : best;
  return best;
}

[[nodiscard]] Offset largest_entry(const CsrView& by_user) {
  return first_entry(by_user, [&](Offset a, Offset b) {
    return std::abs(by_user.values[a]) > std::abs(by_user.values[b]);
  });
}
[[nodiscard]] Offset smallest_entry(const CsrView& by_user) {
  return first_entry(by_user, [&](Offset a, Offset b) {
    return std::abs(by_user.values[a]) < std::abs(by_user.values[b]);
  });
}

/// "the value 3 of user 'ann', item 'x' `why`"
[[noreturn]] void refuse_value(const CsrView& by_user, Offset at, const std::string& why) {
  const Offset* const row =
      std::upper_bound(by_user.offsets, by_user.offsets + by_user.rows + 1, at) - 1;
  throw PlacedError(ErrorKind::kBadData,
                    {{Side::kUsers, static_cast<Index>(row - by_user.offsets)},
                     {Side::kItems, by_user.columns[at]}},
                    [value = by_user.values[at], why](std::span<const std::string> names) {
                      return fmt::format("the value {} of {}, {} {}", value, names[0], names[1],
                                         why);
                    });
}

[[noreturn]] void refuse_size(const CsrView& by_user, Offset at, const std::string& why) {
  refuse_value(by_user, at, "is too large: " + why);
}

/// `what`: "ratings are", whose sizes are `most` and no more.
void check_sizes(const CsrView& by_user, double most, const char* what) {
  const Offset at = largest_entry(by_user);
  if (at < 0 || std::abs(double{by_user.values[at]}) <= most) return;
  refuse_size(by_user, at,
              fmt::format("{} at most {:g} in size; divide all by the same number", what, most));
}

[[nodiscard]] std::string name_of(const IdMap& ids, Index index, const char* kind) {
  return index < 0 ? fmt::format("a {} that is not in the model", kind)
                   : fmt::format("{} '{}'", kind, ids.name(index));
}

}  // namespace

void check_values(const CsrView& by_user, const AlsParams& params) {
  if (params.feedback == Feedback::kExplicit) {
    return check_sizes(by_user, kLargestRating, "ratings are");
  }
  const Offset at = largest_entry(by_user);
  if (at < 0) return;
  const double size = std::abs(double{by_user.values[at]});
  if (params.unobserved_weight || confidence(params, size) <= kLargestConfidence) return;
  refuse_size(by_user, at,
              fmt::format("with alpha {:g} its confidence is {:.3g}, and at most {:g} can be "
                          "computed with; use a smaller alpha, or confidence log",
                          params.alpha, confidence(params, size), kLargestConfidence));
}

void check_values(const CsrView& by_user, const SgdParams& params) {
  check_sizes(by_user, kLargestRating, "ratings are");
  if (params.loss != SgdLoss::kSquared) return;
  const double spread = value_spread(by_user, params).spread;
  if (spread >= kSmallestRatingSpread) return;
  throw Error(ErrorKind::kBadData,
              fmt::format("the ratings differ by {:.3g} (standard deviation), and steps can be "
                          "computed from {:g} on; multiply all by the same number",
                          spread, kSmallestRatingSpread));
}

void check_weights(const CsrView& by_user, const AlsParams& params, std::string_view device) {
  if (counts_likes(params)) {
    const float* const end = by_user.values + by_user.nnz();
    const float* const other = std::find_if(by_user.values, end, [](float r) { return r <= 0.0F; });
    if (other != end) {
      refuse_value(by_user, other - by_user.values,
                   fmt::format("is no like, and with regularization_count likes {} trains on "
                               "likes (values above 0) only: train on the cpu",
                               device));
    }
  }
  if (cell_form(params) != CellForm::kGiven) return;
  const Offset at = smallest_entry(by_user);
  if (at < 0) return;
  const double size = std::abs(double{by_user.values[at]});
  if (confidence(params, size) >= 1.0) return;
  std::string remedy = "train on the cpu";
  if (1.0 / size <= kLargestNumber) {
    remedy += fmt::format(", or with alpha {:.3g} or more", 1.0 / size);
  }
  refuse_value(by_user, at,
               fmt::format("has confidence {:.3g} (confidence given, alpha {:g}), and {} trains on "
                           "confidences of 1 and more only: {}",
                           confidence(params, size), params.alpha, device, remedy));
}

void check_values(const CsrView& by_user, const KnnParams& /*params*/) {
  check_sizes(by_user, kLargestNumber, "rows are compared by values of");
}

void check_values(const CsrView& by_user, const BiasParams& /*params*/) {
  check_sizes(by_user, kLargestNumber, "biases are learned from ratings of");
}

void check_similarities(const KnnLists& neighbours, Side side) {
  for (Index row = 0; row < neighbours.size(); ++row) {
    const auto similarities = neighbours.similarities_of(row);
    const auto bad = std::ranges::find_if(similarities, [](float s) { return !std::isfinite(s); });
    if (bad == similarities.end()) continue;
    const auto place = static_cast<std::size_t>(bad - similarities.begin());
    throw PlacedError(ErrorKind::kNumerical, {{side, row}, {side, neighbours.rows_of(row)[place]}},
                      [](std::span<const std::string> names) {
                        return fmt::format(
                            "the similarity of {} and {} is not a finite number: "
                            "use smaller values or a smaller amplification",
                            names[0], names[1]);
                      });
  }
}

void check_score(const Model& model, Index user, Index item, float score) {
  if (std::isfinite(score)) return;
  throw Error(ErrorKind::kNumerical,
              fmt::format("the score of {} for {} is not a finite number: what the model holds is "
                          "too large to be multiplied and added; train it on smaller values",
                          name_of(model.users, user, "user"), name_of(model.items, item, "item")));
}

void check_scores(const Model& model, Index user, Index first, std::span<const float> scores) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  unsigned others = 0;  // no early end: a compiler makes vectors of this loop
  for (const float s : scores) others |= std::abs(s) <= kLargest ? 0U : 1U;
  if (others == 0) return;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (!std::isfinite(scores[i])) {
      check_score(model, user, first + static_cast<Index>(i), scores[i]);
    }
  }
}

}  // namespace likewise
