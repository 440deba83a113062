// SPDX-License-Identifier: Apache-2.0
#include "training/choose.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/cost.h"
#include "algorithms/parameters/rules.h"
#include "algorithms/row_counts.h"
#include "likewise/parameters.h"
#include "training/choose_by_counts.h"
#include "training/refusal.h"

namespace likewise {
namespace {

/// In fewer likes of a user taste can hardly be seen.
constexpr double kFewLikes = 3.0;
/// The same for neighbours where items are equally popular, and popularity says nothing.
constexpr double kFewEvenLikes = 3.5;
/// Nearly all items are equally popular where that many are as a share of them.
constexpr double kAllEven = 0.85;
/// Where so few items are equally popular, or nearly all are, factors do not see taste in fewer
/// likes of a user than these.
constexpr double kFewItems = 200.0;
constexpr double kLikesOfFewItems = 10.0;
/// Few users have most entries where they are as those of less than this share of the users, all
/// equally active.
constexpr double kFewUsers = 0.3;
/// Items with fewer entries are not compared for that.
constexpr double kComparableItems = 5.0;
/// With fewer ratings of a user, or of an item, gradient descent learns less than least squares,
/// which shrink short histories more.
constexpr double kShortHistory = 36.0;
/// Nothing but a bias is learnt of items with fewer ratings.
constexpr double kFewRatings = 3.0;
/// Additions of a search for neighbours, each pair from both sides, that take about ten minutes on
/// two cores, and on a GPU.
constexpr double kMostAdditions = 2e12;
constexpr double kMostAdditionsOnGpu = 1e14;

/// A dense inverse that takes five minutes on two cores.
constexpr double kMostSecondsOfEase = 600.0;

/// What the rule looks at.
struct Shape {
  double of_user = 0.0;     ///< mean entries
  double of_item = 0.0;     ///< mean entries
  double users = 0.0;       ///< with entries
  double even_users = 0.0;  ///< n_u: as many equally active users would meet as often
  PopularitySpread spread;
  double user_pairs = 0.0;
  double item_pairs = 0.0;

  /// Few users have most entries.
  [[nodiscard]] bool is_of_few_users() const { return even_users < kFewUsers * users; }
};
[[nodiscard]] Shape shape_of(const RowCounts& counts) {
  double entries = 0.0;
  for (const Offset count : counts.of_users) entries += static_cast<double>(count);
  Shape shape;
  const auto mean = [&](const std::vector<Offset>& rows) {
    return entries / static_cast<double>(std::max<std::size_t>(1, rows.size()));
  };
  shape.of_user = mean(counts.of_users);
  shape.of_item = mean(counts.of_items);
  shape.users = static_cast<double>(counts.of_users.size());
  shape.user_pairs = pairs_of(counts.of_users);
  shape.item_pairs = pairs_of(counts.of_items);
  shape.even_users = even_count(counts.of_users);
  shape.spread = spread_of(counts.of_items);
  return shape;
}

[[nodiscard]] AlgorithmChoice choose_neighbours(bool of_items, const Shape& shape,
                                                const std::string& summary, const Device& device) {
  const std::string_view algorithm = of_items ? "item-knn" : "user-knn";
  if (const JobStatus job = device.status(Job::kKnn); !job.available) {
    return {"als", fmt::format("{}: {} would suit, but {}: {}", summary, algorithm, device.name(),
                               job.reason)};
  }
  const double additions = of_items ? shape.user_pairs : shape.item_pairs;
  const bool on_gpu = device.name().starts_with("cuda");
  if (additions > (on_gpu ? kMostAdditionsOnGpu : kMostAdditions)) {
    return {"als", fmt::format("{}: {} would suit, but its {:.2g} additions are too many for {}",
                               summary, algorithm, additions, device.name())};
  }
  return {algorithm, summary};
}

/// Where so many items are neither equally popular nor of few users: weights of all pairs of items
/// where they are learned in time, else users are compared.
[[nodiscard]] AlgorithmChoice choose_ease(const Shape& shape, const std::string& summary,
                                          const Device& device) {
  const double items = shape.spread.items;
  const double seconds = items * items * items / kDenseRate;
  if (device.status(Job::kEase).available && seconds <= kMostSecondsOfEase)
    return {"ease", summary};
  return choose_neighbours(false, shape, summary, device);
}

/// Items are compared where popularity is flat or few users have most entries.
[[nodiscard]] AlgorithmChoice choose_of_even_likes(const Shape& shape, const std::string& summary,
                                                   const Device& device) {
  if (shape.of_user < kFewEvenLikes) {
    return {"als", fmt::format("{}, less than {:g}", summary, kFewEvenLikes)};
  }
  if (shape.of_user >= kLongHistory) {
    return {"als", fmt::format("{}, at least {:g}", summary, kLongHistory)};
  }
  const bool is_of_few =
      shape.is_of_few_users() && shape.of_item >= kComparableItems && shape.of_item < shape.of_user;
  std::string more = fmt::format("{}, an item {:.3g}", summary, shape.of_item);
  if (shape.spread.is_flat()) more += "; popularity is flat";
  if (is_of_few) more += "; few users have most";
  if (shape.spread.is_flat() || is_of_few) return choose_neighbours(true, shape, more, device);
  return choose_ease(shape, more, device);
}

[[nodiscard]] std::string spread_text(const PopularitySpread& spread) {
  return fmt::format("popularity as of {:.3g} equally popular items ({} {:g})", spread.even_items,
                     spread.is_of_many() ? "more than" : "at most", kManyItems);
}

[[nodiscard]] AlgorithmChoice choose_for_likes(const Shape& shape, const Device& device) {
  if (shape.item_pairs == 0.0) return {"popular", "no two users have an item in common"};
  const std::string summary =
      fmt::format("{}; a user has {:.3g} interactions", spread_text(shape.spread), shape.of_user);
  if (shape.spread.is_of_many()) return choose_of_even_likes(shape, summary, device);
  const bool few_items = shape.spread.even_items <= kFewItems;
  const bool all_even = shape.spread.even_items > kAllEven * shape.spread.items;
  if (shape.of_user >= kLikesOfFewItems) return {"als", summary};
  if (few_items || all_even) {
    const std::string more = fmt::format(
        "{} (less than {:g}, of {})", summary, kLikesOfFewItems,
        few_items ? fmt::format("at most {:g} such items", kFewItems) : "items of even popularity");
    return choose_neighbours(true, shape, more, device);
  }
  if (shape.of_user < kFewLikes) {
    return {"popular", fmt::format("{}, less than {:g}", summary, kFewLikes)};
  }
  return {"als", summary};
}

/// ALS where the device does not train by gradient descent.
[[nodiscard]] AlgorithmChoice choose_sgd(const std::string& summary, const Device& device) {
  const JobStatus job = device.status(Job::kSgd);
  if (job.available) return {"sgd", summary};
  return {"als", fmt::format("{}: sgd would suit, but {}: {}", summary, device.name(), job.reason)};
}

[[nodiscard]] AlgorithmChoice choose_for_ratings(const Shape& shape, const Device& device) {
  if (shape.of_item < kFewRatings) {
    return {"bias",
            fmt::format("an item has {:.3g} ratings (less than {:g})", shape.of_item, kFewRatings)};
  }
  const bool is_short = shape.of_user < kShortHistory;
  const std::string summary = fmt::format("a user has {:.3g} ratings ({} {:g})", shape.of_user,
                                          is_short ? "less than" : "at least", kShortHistory);
  return is_short ? AlgorithmChoice{"als", summary} : choose_sgd(summary, device);
}

/// What takes all values that anything takes.
[[nodiscard]] AlgorithmChoice choose_for_refused(const AlgorithmChoice& refused,
                                                 const std::string& refusal, Feedback feedback) {
  return {feedback == Feedback::kImplicit ? "popular" : "bias",
          fmt::format("{}: {} would suit, but {}", refused.reason, refused.algorithm, refusal)};
}

}  // namespace

AlgorithmChoice choose_by_counts(const RowCounts& counts, Feedback feedback, const Device& device) {
  const Shape shape = shape_of(counts);
  return feedback == Feedback::kImplicit ? choose_for_likes(shape, device)
                                         : choose_for_ratings(shape, device);
}

AlgorithmChoice choose_algorithm(const CsrView& by_user, Feedback feedback, const Device& device) {
  AlgorithmChoice choice = choose_by_counts(counts_of_rows_with_entries(by_user), feedback, device);
  const std::string refusal =
      refusal_of(by_user, with_data_defaults(by_user, default_params(choice.algorithm, feedback)));
  return refusal.empty() ? choice : choose_for_refused(choice, refusal, feedback);
}

std::vector<ParameterInfo> common_parameters() {
  std::vector<ParameterInfo> common = parameters_of(algorithm_names().front());
  for (const std::string_view algorithm : algorithm_names()) {
    const std::vector<ParameterInfo> other = parameters_of(algorithm);
    std::erase_if(common, [&](const ParameterInfo& one) {
      return std::ranges::find(other, one.name, &ParameterInfo::name) == other.end();
    });
  }
  return common;
}

}  // namespace likewise
