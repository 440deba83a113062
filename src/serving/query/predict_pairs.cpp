// SPDX-License-Identifier: Apache-2.0
#include "serving/query/predict_pairs.h"

#include <algorithm>
#include <numeric>
#include <string_view>
#include <unordered_map>

#include "serving/query/naming_rows.h"

namespace likewise {
namespace {

/// Pairs per call of the recommender.
constexpr Offset kBatch = 65'536;
/// Visitors per call.
constexpr std::size_t kVisitors = 64;

/// The pairs of a file, to be predicted.
class Task {
 public:
  Task(const Recommender& recommender, const Pairs& pairs, const Visitors& visitors)
      : recommender_(recommender),
        pairs_(pairs),
        visitors_(visitors),
        users_(translate(pairs.users, recommender.model().users)),
        items_(translate(pairs.items, recommender.model().items)) {
    for (std::size_t v = 0; v < visitors.names.size(); ++v) places_.emplace(visitors.names[v], v);
    group_by_user();
  }

  /// Beside the pairs.
  [[nodiscard]] std::vector<float> predict(const RunControl& control) const {
    std::vector<float> predicted(by_user_.size());
    std::vector<Offset> known;
    std::vector<Index> waiting;  // visitors
    Offset done = 0;
    for (Index u = 0; u < pairs_.users.size(); ++u) {
      if (visitor(u) != nullptr) {
        waiting.push_back(u);
      } else {
        known.insert(known.end(), pairs_of(u).begin(), pairs_of(u).end());
      }
      const bool last = u + 1 == pairs_.users.size();
      if (waiting.size() == kVisitors || last) predict_new(waiting, predicted);
      while (std::ssize(known) >= kBatch || (last && !known.empty())) {
        control.check();
        predict_known(known, predicted, control);
      }
      done += std::ssize(pairs_of(u));
      control.report("predict", done, std::ssize(by_user_), "pairs");
    }
    return predicted;
  }

  /// How many name a user or an item that nothing is known of.
  [[nodiscard]] Offset unknown() const {
    Offset count = 0;
    for (Index u = 0; u < pairs_.users.size(); ++u) {
      const bool lost = users_[static_cast<std::size_t>(u)] < 0 && visitor(u) == nullptr;
      for (const Offset p : pairs_of(u)) count += lost || item(p) < 0 ? 1 : 0;
    }
    return count;
  }

 private:
  void group_by_user() {
    const Offset total = pairs_.user_of.size();
    begins_.assign(static_cast<std::size_t>(pairs_.users.size()) + 1, 0);
    for (const Index u : pairs_.user_of) ++begins_[static_cast<std::size_t>(u) + 1];
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
    by_user_.resize(static_cast<std::size_t>(total));
    std::vector<Offset> next(begins_.begin(), begins_.end() - 1);
    for (Offset p = 0; p < total; ++p) {
      const auto user = static_cast<std::size_t>(pairs_.user_of[p]);
      by_user_[static_cast<std::size_t>(next[user]++)] = p;
    }
  }

  [[nodiscard]] std::span<const Offset> pairs_of(Index user) const {
    const auto u = static_cast<std::size_t>(user);
    return std::span(by_user_).subspan(static_cast<std::size_t>(begins_[u]),
                                       static_cast<std::size_t>(begins_[u + 1] - begins_[u]));
  }
  /// Of a pair in the model; -1: not there.
  [[nodiscard]] Index item(Offset pair) const {
    return items_[static_cast<std::size_t>(pairs_.item_of[pair])];
  }
  /// Null for anybody else.
  [[nodiscard]] const FoldInRow* visitor(Index user) const {
    const auto found = places_.find(pairs_.users.name(user));
    return found == places_.end() ? nullptr : &visitors_.rows[found->second];
  }

  /// The first kBatch of the pairs, which leave the list.
  void predict_known(std::vector<Offset>& known, std::vector<float>& predicted,
                     const RunControl& control) const {
    const auto count = std::min(static_cast<std::size_t>(kBatch), known.size());
    std::vector<Index> users(count);
    std::vector<Index> items(count);
    for (std::size_t i = 0; i < count; ++i) {
      users[i] = users_[static_cast<std::size_t>(pairs_.user_of[known[i]])];
      items[i] = item(known[i]);
    }
    const std::vector<float> values = recommender_.predict(users, items, {control.cancel, {}});
    for (std::size_t i = 0; i < count; ++i) {
      predicted[static_cast<std::size_t>(known[i])] = values[i];
    }
    known.erase(known.begin(), known.begin() + static_cast<Offset>(count));
  }

  /// All pairs of these visitors, who leave the list.
  void predict_new(std::vector<Index>& waiting, std::vector<float>& predicted) const {
    if (waiting.empty()) return;
    std::vector<FoldInRow> asked;
    std::vector<Index> wanted;
    for (const Index u : waiting) {
      asked.push_back(*visitor(u));
      for (const Offset p : pairs_of(u)) {
        if (item(p) >= 0) wanted.push_back(item(p));
      }
    }
    std::ranges::sort(wanted);
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    const std::vector<float> values = naming_rows(
        [&](Offset row) {
          return "user " + pairs_.users.name(waiting[static_cast<std::size_t>(row)]);
        },
        [&] { return recommender_.predict_new(asked, wanted); });
    const float nothing_known =
        recommender_.predict(std::vector<Index>{-1}, std::vector<Index>{-1})[0];
    for (std::size_t w = 0; w < waiting.size(); ++w) {
      for (const Offset p : pairs_of(waiting[w])) {
        const auto at = std::ranges::lower_bound(wanted, item(p)) - wanted.begin();
        predicted[static_cast<std::size_t>(p)] =
            item(p) < 0 ? nothing_known : values[w * wanted.size() + static_cast<std::size_t>(at)];
      }
    }
    waiting.clear();
  }

  const Recommender& recommender_;
  const Pairs& pairs_;
  const Visitors& visitors_;
  std::unordered_map<std::string_view, std::size_t> places_;  ///< of visitors by name
  std::vector<Index> users_;  ///< of the file in the model, -1 where unknown
  std::vector<Index> items_;
  std::vector<Offset> begins_;   ///< by user of the file: the first of its pairs in by_user_
  std::vector<Offset> by_user_;  ///< pairs
};

}  // namespace

PairPredictions predict_pairs(const Recommender& recommender, const Pairs& pairs,
                              const Visitors& visitors, const RunControl& control) {
  const Task task(recommender, pairs, visitors);
  return {task.predict(control), task.unknown()};
}

}  // namespace likewise
