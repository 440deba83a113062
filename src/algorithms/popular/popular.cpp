// SPDX-License-Identifier: Apache-2.0
#include "algorithms/popular/popular.h"

#include <vector>

#include "algorithms/cost.h"
#include "core/system/parallel.h"
#include "core/system/per_thread.h"
#include "likewise/popular.h"
#include "model/learned_parts.h"
#include "training/growth.h"
#include "training/learning.h"

namespace likewise {
namespace {

/// Users per item. Threads count apart; whole numbers add up to the same in any order.
std::vector<Index> count_users(const CsrView& by_user, Feedback feedback) {
  const auto items = static_cast<std::size_t>(by_user.cols);
  PerThread<std::vector<Index>> parts(items, 0);
  parallel_blocks(by_user.nnz(), Offset{1} << 20, [&](Offset begin, Offset end, Offset) {
    std::vector<Index>& counts = parts.local();
    for (Offset at = begin; at < end; ++at) {
      const bool taken = feedback == Feedback::kExplicit || by_user.values[at] > 0.0F;
      counts[static_cast<std::size_t>(by_user.columns[at])] += taken ? 1 : 0;
    }
  });
  std::vector<Index> total(items, 0);
  for (const auto& counts : parts) {
    for (std::size_t item = 0; item < items; ++item) total[item] += counts[item];
  }
  return total;
}

}  // namespace

Popularity train_popular(const CsrView& by_user, const PopularParams& params) {
  Popularity result{Array<float>(by_user.cols)};
  if (by_user.rows == 0) return result;
  const std::vector<Index> counts = count_users(by_user, params.feedback);
  // share(i) = users with i / users
  for (Index item = 0; item < by_user.cols; ++item) {
    result.shares[item] = static_cast<float>(
        static_cast<double>(counts[static_cast<std::size_t>(item)]) / by_user.rows);
  }
  return result;
}

namespace {

class Popular final : public AlgorithmOf<PopularParams> {
 public:
  using AlgorithmOf::AlgorithmOf;

  [[nodiscard]] std::string_view name() const override { return kPopularRow.name; }
  [[nodiscard]] double core_seconds(const CsrView& by_user) const override {
    return static_cast<double>(by_user.nnz()) / kEntryRate;
  }
  void learn(const Learning& learning) const override {
    learning.at_once([&] { return train_popular(learning.by_user(), params()); });
  }

  void check_learned(const LearnedCheck& check) const override { check.popularity(); }
  [[nodiscard]] Learned load_learned(SavedParts& saved) const override {
    return saved.popularity();
  }

  [[nodiscard]] Refined update(const UpdateTask& task) const override {
    return {train_popular(task.growth.history.view(), params()), 0, task.growth.items.ids.size()};
  }

  [[nodiscard]] bool predicts_ratings() const override { return false; }
};

}  // namespace

std::unique_ptr<const Algorithm> make_algorithm(const PopularParams& params) {
  return std::make_unique<Popular>(params);
}

}  // namespace likewise
