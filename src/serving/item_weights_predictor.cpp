// SPDX-License-Identifier: Apache-2.0
#include "serving/item_weights_predictor.h"

#include <algorithm>

#include <fmt/format.h>

#include "algorithms/finite.h"
#include "backends/jobs/device_jobs.h"
#include "core/linalg/row_sums.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "retrieval/batches.h"

namespace likewise {
namespace {

/// Users whose rows of weights meet in a cache, and columns of which they do.
constexpr Offset kUsers = 64;
constexpr Index kColumns = 1024;
/// Columns of weights that are looked through together: a cache line.
constexpr Offset kAsked = 16;

[[nodiscard]] Offset entries_of(std::span<const AskedUser> users) {
  Offset entries = 0;
  for (const AskedUser& user : users) entries += std::ssize(user.items);
  return entries;
}

/// What they like, a row for each.
[[nodiscard]] CsrMatrix histories_of(std::span<const AskedUser> users, Index items) {
  constexpr Offset kUsersAtATime = 256;
  CsrMatrix rows{static_cast<Index>(users.size()), items, Array<Offset>(std::ssize(users) + 1),
                 Array<Index>::uninitialized(entries_of(users)),
                 Array<float>::uninitialized(entries_of(users))};
  for (std::size_t u = 0; u < users.size(); ++u) {
    const auto row = static_cast<Offset>(u);
    rows.offsets[row + 1] = rows.offsets[row] + std::ssize(users[u].items);
  }
  parallel_for(std::ssize(users), kUsersAtATime, [&](Offset u) {
    const AskedUser& user = users[static_cast<std::size_t>(u)];
    std::ranges::copy(user.items, rows.columns.begin() + rows.offsets[u]);
    std::ranges::copy(user.values, rows.values.begin() + rows.offsets[u]);
  });
  return rows;
}

}  // namespace

const WeightLists* ItemWeightsPredictor::device_lists(Offset entries) const {
  const std::lock_guard lock(making_);
  if (lists_ == nullptr) {
    const EaseJob& ease = job<EaseJob>(device_);
    const auto make = [&](Offset) { lists_ = ease.make_lists(weights_.view(), entries); };
    run_isolated(TaskView(make));
  }
  return lists_.get();
}

TopKResult ItemWeightsPredictor::top_k_on(const WeightLists& lists,
                                          std::span<const AskedUser> users, Index n,
                                          const TopKFilter& filter,
                                          const RunControl& control) const {
  const CsrMatrix histories = histories_of(users, weights_.cols());
  TopKResult result = lists.top_k(histories.view(), n, filter, control);
  std::vector<Index> open;
  std::vector<AskedUser> asked;
  for (std::size_t u = 0; u < users.size(); ++u) {
    if (result.counts[static_cast<Offset>(u)] != WeightLists::kUndecided) continue;
    open.push_back(static_cast<Index>(u));
    asked.push_back(users[u]);
  }
  const CsrMatrix excluded =
      filter.excluded.rows > 0 ? gather_rows(filter.excluded, open) : CsrMatrix();
  const TopKResult added = add_up(asked, n, {excluded.view(), filter.allowed}, control);
  for (std::size_t a = 0; a < open.size(); ++a) {
    const Offset from = static_cast<Offset>(a) * result.k;
    const Offset to = Offset{open[a]} * result.k;
    std::copy_n(added.items.data() + from, result.k, result.items.data() + to);
    std::copy_n(added.scores.data() + from, result.k, result.scores.data() + to);
    result.counts[open[a]] = added.counts[static_cast<Offset>(a)];
  }
  return result;
}

void ItemWeightsPredictor::score(std::span<const AskedUser> users, const RunControl& control,
                                 const TakeScores& take) const {
  const Index items = weights_.cols();
  parallel_blocks(std::ssize(users), kUsers, [&](Offset begin, Offset end, Offset) {
    std::vector<double> sums(kColumns);
    std::vector<double> values;
    std::vector<float> scores(kColumns);
    for (Index first = 0; first < items; first += kColumns) {
      control.check();
      const auto count = static_cast<std::size_t>(std::min(kColumns, items - first));
      const MatrixView columns{weights_.row(0) + first, weights_.rows(), static_cast<Index>(count),
                               weights_.stride()};
      for (auto u = static_cast<std::size_t>(begin); u < static_cast<std::size_t>(end); ++u) {
        values.assign(users[u].values.begin(), users[u].values.end());
        kernels::sum_rows(users[u].items, values.data(), columns, sums.data());
        std::transform(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(count),
                       scores.begin(), [](double sum) { return static_cast<float>(sum); });
        const std::span<const float> shown(scores.data(), count);
        check_scores(model(), users[u].number, first, shown);
        take(u, first, shown);
      }
    }
  });
}

double ItemWeightsPredictor::score(const AskedUser& user, Index item) const {
  double sum = 0.0;
  for (std::size_t e = 0; e < user.items.size(); ++e) {
    sum += double{user.values[e]} * double{weights_.row(user.items[e])[item]};
  }
  return sum;
}

TopKResult ItemWeightsPredictor::top_k(std::span<const AskedUser> users, Index n,
                                       const TopKFilter& filter, const RunControl& control) const {
  if (const WeightLists* const lists = device_lists(entries_of(users))) {
    return top_k_on(*lists, users, n, filter, control);
  }
  return add_up(users, n, filter, control);
}

TopKResult ItemWeightsPredictor::add_up(std::span<const AskedUser> users, Index n,
                                        const TopKFilter& filter, const RunControl& control) const {
  return lists_of_scores(users.size(), weights_.cols(), n, filter,
                         [&](const TakeScores& take) { score(users, control, take); });
}

void ItemWeightsPredictor::score_all(std::span<const AskedUser> users, float* out) const {
  score(users, {}, [&](std::size_t u, Index first, std::span<const float> scores) {
    std::ranges::copy(scores, out + static_cast<Offset>(u) * weights_.cols() + first);
  });
}

std::vector<float> ItemWeightsPredictor::predict(std::span<const Index> users,
                                                 std::span<const Index> items,
                                                 const RunControl& control) const {
  std::vector<float> scores(users.size());
  parallel_for(std::ssize(scores), 256, [&](Offset p) {
    control.check();
    const auto pair = static_cast<std::size_t>(p);
    if (users[pair] < 0 || items[pair] < 0) return;
    scores[pair] = static_cast<float>(score(trained_user(model(), users[pair]), items[pair]));
  });
  return scores;
}

TopKResult ItemWeightsPredictor::similar(Side side, std::span<const Index> rows, Index n,
                                         SimilarityMetric /*metric*/,
                                         const RunControl& control) const {
  if (side == Side::kUsers) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{} compares items, it knows nothing of similar users", model().algorithm()));
  }
  TopKResult result = make_top_k_result(static_cast<Index>(rows.size()), n, weights_.rows());
  parallel_blocks(std::ssize(rows), kAsked, [&](Offset begin, Offset end, Offset) {
    control.check();
    std::vector<TopList> lists(static_cast<std::size_t>(end - begin));
    for (TopList& list : lists) list.reset(static_cast<std::size_t>(result.k));
    for (Index i = 0; i < weights_.rows(); ++i) {
      for (Offset q = begin; q < end; ++q) {
        const float weight = weights_.row(i)[rows[static_cast<std::size_t>(q)]];
        if (weight != 0.0F) lists[static_cast<std::size_t>(q - begin)].offer({weight, i});
      }
    }
    for (Offset q = begin; q < end; ++q) {
      write_answer(lists[static_cast<std::size_t>(q - begin)].finish(), static_cast<Index>(q),
                   result);
    }
  });
  return result;
}

Explanation ItemWeightsPredictor::explain(const AskedUser& user, Index item) const {
  Explanation result;
  for (std::size_t e = 0; e < user.items.size(); ++e) {
    const double share = double{user.values[e]} * double{weights_.row(user.items[e])[item]};
    if (share == 0.0) continue;
    result.contributions.push_back({user.items[e], user.values[e], share});
    result.score += share;
  }
  std::ranges::stable_sort(result.contributions, std::ranges::greater{}, &Contribution::share);
  return result;
}

}  // namespace likewise
