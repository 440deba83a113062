// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/query.h"
#include "serving/query/naming_rows.h"
#include "serving/query/predict_pairs.h"
#include "serving/query/tag_reasons.h"

namespace likewise {
namespace {

/// Answers held at once: bounds the memory for any number of lists and any n.
constexpr Offset kAnswersPerBatch = 1 << 20;
constexpr Offset kRowsPerBatch = 16'384;
constexpr Offset kVisitorsPerBatch = 1024;

[[nodiscard]] Offset batch_of(Index n, Offset most) {
  return std::clamp<Offset>(kAnswersPerBatch / std::max<Index>(n, 1), 1, most);
}

template <class T>
[[nodiscard]] std::span<const T> part(const std::vector<T>& all, Offset first, Offset count) {
  return std::span(all).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

[[nodiscard]] RecommendOptions options_of(const RecommendQuestion& question) {
  RecommendOptions options{question.n, question.include_seen};
  if (question.allow) {
    if (question.allow->empty()) {
      throw Error(ErrorKind::kInvalidArgument, "allow is empty: nothing could be recommended");
    }
    options.allow = *question.allow;
  }
  options.deny = question.deny;
  return options;
}

/// What people read of an item; empty without titles.
[[nodiscard]] std::string title_of(const Titles& titles, const IdMap& items, Index item) {
  if (titles.empty()) return {};
  const std::string_view title = titles.of(item);
  return title.empty() ? items.name(item) : std::string(title);
}

/// What a user of the model is answered by: its history, or its tags where it has none.
[[nodiscard]] FoldInRow grounds_of(const Model& model, Index user) {
  FoldInRow grounds = history_of(model, user);
  const Features& features = model.user_features;
  if (!grounds.columns.empty() || features.empty()) return grounds;
  const auto tags = features.weights.view().row_columns(user);
  const auto weights = features.weights.view().row_values(user);
  grounds.tags.assign(tags.begin(), tags.end());
  grounds.tag_weights.assign(weights.begin(), weights.end());
  return grounds;
}

/// Those who ask: rows of the model, or visitors.
class Askers {
 public:
  Askers(const Asked& asked, const IdMap& ids)
      : ids_(ids),
        visitors_(std::get_if<Visitors>(&asked)),
        rows_(std::get_if<std::vector<Index>>(&asked)) {
    if (visitors_ != nullptr || rows_ != nullptr) return;
    all_.resize(static_cast<std::size_t>(ids.size()));
    std::iota(all_.begin(), all_.end(), 0);
    rows_ = &all_;
  }

  [[nodiscard]] Offset size() const {
    return visitors_ != nullptr ? std::ssize(visitors_->rows) : std::ssize(*rows_);
  }
  [[nodiscard]] Offset most_at_once() const {
    return visitors_ != nullptr ? kVisitorsPerBatch : kRowsPerBatch;
  }
  [[nodiscard]] std::string name(Offset at) const {
    const auto place = static_cast<std::size_t>(at);
    return visitors_ != nullptr ? visitors_->names[place] : ids_.name((*rows_)[place]);
  }
  [[nodiscard]] FoldInRow history(const Model& model, Offset at) const {
    const auto place = static_cast<std::size_t>(at);
    return visitors_ != nullptr ? visitors_->rows[place] : grounds_of(model, (*rows_)[place]);
  }
  /// What `of_visitors(rows)` or `of_rows(rows)` says of some of them.
  template <class OfVisitors, class OfRows>
  [[nodiscard]] TopKResult ask(Offset first, Offset count, const OfVisitors& of_visitors,
                               const OfRows& of_rows) const {
    if (visitors_ == nullptr) return of_rows(part(*rows_, first, count));
    return naming_rows([&](Offset row) { return "user " + name(first + row); },
                       [&] { return of_visitors(part(visitors_->rows, first, count)); });
  }

 private:
  const IdMap& ids_;
  const Visitors* visitors_;
  const std::vector<Index>* rows_;
  std::vector<Index> all_;
};

}  // namespace

/// Turns lists of rows into lists of ids.
class Queries::Lists {
 public:
  Lists(const Queries& queries, Side side, Index n, int reasons, const RunControl& control)
      : queries_(queries),
        ids_(side == Side::kUsers ? queries.model().users : queries.model().items),
        titles_(side == Side::kItems && !queries.titles().empty() ? &queries.titles() : nullptr),
        n_(n),
        reasons_(reasons),
        control_(control) {
    if (reasons == 0 || queries.model().item_features.empty()) return;
    cold_.resize(static_cast<std::size_t>(queries.model().items.size()));
    for (const Index item : rows_by_features(queries.model(), Side::kItems)) {
      cold_[static_cast<std::size_t>(item)] = true;
    }
  }

  [[nodiscard]] AnswerList list(const TopKResult& top, Index query, std::string name,
                                const FoldInRow& history) {
    AnswerList list{std::move(name), {}};
    const Offset begin = Offset{query} * top.k;
    for (Offset at = begin; at < begin + top.counts[query]; ++at) {
      const Index row = top.items[at];
      list.answers.push_back({ids_.name(row), title(row), top.scores[at], reasons(history, row)});
    }
    summary_.asked += 1;
    summary_.answers += top.counts[query];
    summary_.short_lists += top.counts[query] < n_ ? 1 : 0;
    return list;
  }
  [[nodiscard]] const QuerySummary& summary() const { return summary_; }

 private:
  [[nodiscard]] std::string title(Index row) const {
    return titles_ == nullptr ? std::string() : title_of(*titles_, ids_, row);
  }

  [[nodiscard]] std::vector<Reason> reasons(const FoldInRow& history, Index item) const {
    std::vector<Reason> reasons;
    if (reasons_ == 0) return reasons;
    control_.check();  // each answer's reasons solve a system of their own
    if (!history.tags.empty() || (!cold_.empty() && cold_[static_cast<std::size_t>(item)])) {
      return tag_reasons(queries_.recommender(), history, item, reasons_);
    }
    const Explanation why = queries_.recommender().explain(history, item);
    for (const Contribution& past : why.contributions) {
      if (past.share <= 0 || std::ssize(reasons) == reasons_) break;
      reasons.push_back({ids_.name(past.item), title(past.item), past.value, past.share, false});
    }
    return reasons;
  }

  const Queries& queries_;
  const IdMap& ids_;
  const Titles* titles_;
  Index n_;
  int reasons_;
  const RunControl& control_;
  std::vector<bool> cold_;  ///< items by features; empty where no reasons ask
  QuerySummary summary_;
};

Queries::Queries(std::shared_ptr<const Model> model, Device device, Titles titles,
                 std::optional<bool> clip)
    : recommender_(model, std::move(device), clip),
      titles_(titles.empty() ? model->titles.share() : std::move(titles)) {
  titles_.validate(model->items.size());
}

QuerySummary Queries::recommend(const RecommendQuestion& question, const TakeList& take,
                                const RunControl& control) const {
  const RecommendOptions options = options_of(question);
  const Askers users(question.users, model().users);
  Lists lists(*this, Side::kItems, question.n, question.reasons, control);
  const RunControl silent{control.cancel, {}};
  const Offset batch = batch_of(question.n, users.most_at_once());
  for (Offset first = 0; first < users.size(); first += batch) {
    const Offset count = std::min(batch, users.size() - first);
    const TopKResult top = users.ask(
        first, count, [&](auto rows) { return recommender_.recommend_new(rows, options, silent); },
        [&](auto rows) { return recommender_.recommend(rows, options, silent); });
    for (Index q = 0; q < count; ++q) {
      const FoldInRow history =
          question.reasons > 0 ? users.history(model(), first + q) : FoldInRow{};
      take(lists.list(top, q, users.name(first + q), history));
    }
    control.report("recommend", first + count, users.size(), "users");
  }
  return lists.summary();
}

QuerySummary Queries::similar(const SimilarQuestion& question, const TakeList& take,
                              const RunControl& control) const {
  const bool of_visitors = std::holds_alternative<Visitors>(question.rows);
  if (question.metric && (of_visitors || model().factors() == nullptr)) {
    throw Error(ErrorKind::kInvalidArgument,
                "metric would do nothing here: it needs a model with factors; this one has "
                "its own similarity");
  }
  const Side side = of_visitors ? Side::kUsers : question.side;
  const Askers askers(question.rows, side == Side::kUsers ? model().users : model().items);
  Lists lists(*this, side, question.n, 0, control);
  const RunControl silent{control.cancel, {}};
  const SimilarityMetric metric = question.metric.value_or(SimilarityMetric::kCosine);
  const Offset batch = batch_of(question.n, askers.most_at_once());
  for (Offset first = 0; first < askers.size(); first += batch) {
    const Offset count = std::min(batch, askers.size() - first);
    const TopKResult top = askers.ask(
        first, count, [&](auto rows) { return recommender_.similar_new(rows, question.n); },
        [&](auto rows) { return recommender_.similar(side, rows, question.n, metric, silent); });
    for (Index q = 0; q < count; ++q) take(lists.list(top, q, askers.name(first + q), {}));
    control.report("similar", first + count, askers.size(), side_name(side));
  }
  return lists.summary();
}

PairPredictions Queries::predict(const Pairs& pairs, const Visitors& visitors,
                                 const RunControl& control) const {
  return predict_pairs(recommender_, pairs, visitors, control);
}

Explanation Queries::explain(Index user, Index item) const {
  return recommender_.explain(history_of(model(), user), item);
}

Why Queries::why(const FoldInRow& history, Index item) const {
  const IdMap& items = model().items;
  const Explanation found = recommender_.explain(history, item);
  Why why{items.name(item), title_of(titles_, items, item), found.score, found.baseline, {}};
  for (const Contribution& past : found.contributions) {
    why.reasons.push_back(
        {items.name(past.item), title_of(titles_, items, past.item), past.value, past.share});
  }
  return why;
}

}  // namespace likewise
