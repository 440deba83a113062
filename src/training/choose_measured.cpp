// SPDX-License-Identifier: Apache-2.0
#include "training/choose_measured.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "algorithms/cost.h"
#include "algorithms/parameters/rules.h"
#include "data/hold_out.h"
#include "data/sample_users.h"
#include "likewise/error.h"
#include "likewise/evaluation.h"
#include "likewise/split.h"
#include "training/choose.h"
#include "training/cost.h"
#include "training/train.h"
#include "training/validation.h"

namespace likewise {
namespace {

/// Seconds of a core that all measurements may take: a second on two.
constexpr double kMostSeconds = 2.0;
/// Users that are measured, at most: a mean of their values is known to a percent of one.
constexpr Index kMostUsers = 5'000;
/// By so much another than the choice by counts has to be better, as a share.
constexpr double kMarginOfLists = 0.05;
constexpr double kMarginOfRatings = 0.01;
/// Numbers of a row in a product that scores items, for an estimate.
constexpr double kScoredNumbers = 128.0;

/// Of half of the users, so that histories that are learned from are nearly as long as before;
/// nothing where no user has two interactions.
[[nodiscard]] std::optional<Split> hidden_part(const Interactions& data) {
  try {
    const SplitOptions how = validation_split();
    const Split parts = std::move(split(data, how).front());
    const Index half = (users_with_entries(parts.test.by_user.view()) + 1) / 2;
    return hold_out_of(data, parts, std::min(half, kMostUsers), how.seed);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kInvalidArgument) throw;
    return std::nullopt;
  }
}

/// A measurement and what it was of.
struct Measured {
  std::string_view algorithm;
  double value;
};

class Measurement {
 public:
  Measurement(const Interactions& data, Feedback feedback, const Device& device)
      : data_(data), feedback_(feedback), device_(device) {}

  /// Nothing where that would take too long, and where the device or the values do not allow it.
  [[nodiscard]] std::optional<Measured> of(std::string_view algorithm) {
    const TrainingParams params =
        with_data_defaults(data_.by_user.view(), default_params(algorithm, feedback_));
    const double cost = core_seconds(data_.by_user.view(), params) + seconds_of_lists();
    if (spent_ + cost > kMostSeconds || !find_parts()) return std::nullopt;
    spent_ += cost;
    try {
      return Measured{algorithm, value_of(params)};
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kCancelled) throw;
      return std::nullopt;  // by whom it is chosen all the same the training says so
    }
  }

  [[nodiscard]] const NamedMetric& metric() const { return metric_; }

 private:
  [[nodiscard]] double seconds_of_lists() const {
    if (feedback_ == Feedback::kExplicit) return 0.0;
    const double users = std::min(kMostUsers, data_.by_user.rows);
    return users * data_.by_user.cols * kScoredNumbers / kDenseRate;
  }

  [[nodiscard]] bool find_parts() {
    if (!looked_) parts_ = hidden_part(data_);
    looked_ = true;
    return parts_.has_value();
  }

  [[nodiscard]] double value_of(const TrainingParams& params) const {
    const TrainingParams data_defaults = with_data_defaults(parts_->train.by_user.view(), params);
    Model model = train(parts_->train, data_defaults, device_);
    ResolvedRun run;
    run.validation = &parts_->test;
    run.validation_metric = metric_.key;
    return make_measure(model, device_, run)(model.learned);
  }

  const Interactions& data_;
  Feedback feedback_;
  const Device& device_;
  NamedMetric metric_ = parse_metric(default_metric(feedback_ == Feedback::kExplicit));
  std::optional<Split> parts_;
  bool looked_ = false;
  double spent_ = 0.0;
};

/// Whether another is so much better that luck can hardly have made it so.
[[nodiscard]] bool is_clearly_better(const NamedMetric& metric, double value, double than) {
  const double margin =
      higher_is_better(metric.name) ? 1.0 + kMarginOfLists : 1.0 - kMarginOfRatings;
  return is_better(metric, value, than * margin);
}

/// Whether a baseline is what to take. Lists of a few thousand users are known to some percent, so
/// that popularity needs the margin too; errors of ratings are known better.
[[nodiscard]] bool beats(const Measured& baseline, const Measured& best, Feedback feedback,
                         const NamedMetric& metric) {
  return feedback == Feedback::kImplicit ? is_clearly_better(metric, baseline.value, best.value)
                                         : is_better(metric, baseline.value, best.value);
}

[[nodiscard]] std::span<const std::string_view> others(Feedback feedback) {
  static constexpr std::string_view kOfLists[] = {"item-knn", "als", "ease", "spectral"};
  static constexpr std::string_view kOfRatings[] = {"item-knn", "sgd", "als"};
  if (feedback == Feedback::kImplicit) return kOfLists;
  return kOfRatings;
}

[[nodiscard]] std::string spread_text(const Measured& better, const Measured& chosen,
                                      const std::string& metric, const std::string& reason) {
  return fmt::format(
      "{}: {} would suit, but on a hidden fifth of interactions its {} is {:.4f}, that of {} "
      "{:.4f}",
      reason, chosen.algorithm, metric, chosen.value, better.algorithm, better.value);
}

}  // namespace

AlgorithmChoice choose_measured(const Interactions& data, Feedback feedback, const Device& device) {
  AlgorithmChoice choice = choose_algorithm(data.by_user.view(), feedback, device);
  const std::string_view baseline = feedback == Feedback::kImplicit ? "popular" : "bias";
  Measurement measurement(data, feedback, device);
  const std::optional<Measured> chosen = measurement.of(choice.algorithm);
  if (!chosen) return choice;
  Measured best = *chosen;
  for (const std::string_view other : others(feedback)) {
    if (other == choice.algorithm) continue;
    const std::optional<Measured> value = measurement.of(other);
    if (!value || !is_clearly_better(measurement.metric(), value->value, chosen->value)) continue;
    if (is_better(measurement.metric(), value->value, best.value)) best = *value;
  }
  if (choice.algorithm == best.algorithm && choice.algorithm == baseline) return choice;
  const std::optional<Measured> usual = measurement.of(baseline);
  if (usual && beats(*usual, best, feedback, measurement.metric())) best = *usual;
  if (best.algorithm == choice.algorithm) return choice;
  return {best.algorithm, spread_text(best, *chosen, measurement.metric().key, choice.reason)};
}

}  // namespace likewise
