// SPDX-License-Identifier: Apache-2.0
#include "likewise/recommender.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "algorithms/finite.h"
#include "algorithms/rating_scale.h"
#include "core/first_bad.h"
#include "core/lazy.h"
#include "core/require.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "retrieval/batches.h"
#include "retrieval/metric.h"
#include "retrieval/table_search.h"
#include "serving/fold_in.h"
#include "serving/predictor.h"

namespace likewise {
namespace {

void check_history(const Model& model) {
  const CsrView history = model.history.view();
  require(history.rows == 0 ||
              (history.rows == model.users.size() && history.cols == model.items.size()),
          fmt::format("the model's history is {} x {}, it has {} users and {} items", history.rows,
                      history.cols, model.users.size(), model.items.size()));
}

/// Tags of the features that a model has learned of the row's side.
void check_tags(const FoldInRow& row, const Features& known) {
  require(!known.empty() || row.tags.empty(),
          "the model has learned no features of such rows: train it with them");
  require(row.columns.empty() || row.tags.empty(),
          "somebody is known by a history or by features, not by both: a history says more");
  require(row.tags.size() == row.tag_weights.size(), "a weight is needed for each tag");
  for (std::size_t t = 0; t < row.tags.size(); ++t) {
    const Index tag = row.tags[t];
    require(tag >= 0 && tag < known.tags.size() && (t == 0 || row.tags[t - 1] < tag),
            fmt::format("tag {} is outside [0, {}), or not after the one before it", tag,
                        known.tags.size()));
    require(row.tag_weights[t] > 0.0F && row.tag_weights[t] <= kLargestNumber,
            fmt::format("the weight {} of a tag is no number above 0", row.tag_weights[t]));
  }
}

/// Columns rising, values never empty; throws for a row of `side` that does not fit the model.
[[nodiscard]] std::vector<FoldInRow> sorted_rows(std::span<const FoldInRow> rows,
                                                 const Model& model, Side side = Side::kUsers) {
  const bool of_users = side == Side::kUsers;
  const Index columns = of_users ? model.items.size() : model.users.size();
  std::vector<FoldInRow> result;
  for (const FoldInRow& row : rows) {
    check_fold_in_row(row, columns, of_users ? "item" : "user");
    check_tags(row, model.features(side));
    std::vector<std::size_t> order(row.columns.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t e) { return row.columns[e]; });
    FoldInRow sorted{{}, {}, row.tags, row.tag_weights};
    for (const std::size_t e : order) {
      sorted.columns.push_back(row.columns[e]);
      sorted.values.push_back(row.values.empty() ? 1.0F : row.values[e]);
    }
    result.push_back(std::move(sorted));
  }
  return result;
}

void check_scores_of(const Model& model, std::span<const Index> users, std::span<const Index> items,
                     std::span<const float> scores) {
  const Offset bad = first_bad(std::ssize(scores), [&](Offset p) {
    return !std::isfinite(scores[static_cast<std::size_t>(p)]);
  });
  if (bad < 0) return;
  const auto pair = static_cast<std::size_t>(bad);
  check_score(model, users[pair], items[pair], scores[pair]);
}

/// Empties lists whose scores are all 0, as those of rows without interactions are: nothing speaks
/// for what is in them.
[[nodiscard]] TopKResult without_unfounded(TopKResult found) {
  for (Offset row = 0; row < found.counts.size(); ++row) {
    Index& count = found.counts[row];
    const float* const scores = found.scores.data() + row * found.k;
    if (std::all_of(scores, scores + count, [](float s) { return s == 0.0F; })) count = 0;
  }
  return found;
}

/// Of rows whose items rise.
[[nodiscard]] CsrMatrix seen_rows(std::span<const FoldInRow> rows, Index items) {
  Array<Offset> offsets(std::ssize(rows) + 1);
  for (Offset u = 0; u < std::ssize(rows); ++u) {
    offsets[u + 1] = offsets[u] + std::ssize(rows[static_cast<std::size_t>(u)].columns);
  }
  const Offset nnz = offsets[std::ssize(rows)];
  CsrMatrix seen{static_cast<Index>(rows.size()), items, std::move(offsets),
                 Array<Index>::uninitialized(nnz), Array<float>(nnz)};
  Index* to = seen.columns.begin();
  for (const FoldInRow& row : rows) to = std::ranges::copy(row.columns, to).out;
  std::ranges::fill(seen.values, 1.0F);
  return seen;
}

[[nodiscard]] std::vector<AskedUser> asked_of(std::span<const FoldInRow> rows) {
  std::vector<AskedUser> users;
  for (const FoldInRow& row : rows) {
    users.push_back({-1, row.columns, row.values, row.tags, row.tag_weights});
  }
  return users;
}

/// Whether the model was trained to keep its ratings on their scale.
[[nodiscard]] bool clips(const TrainingParams& params) {
  return std::visit(
      [](const auto& some) {
        if constexpr (requires { some.clip; }) return some.clip;
        return true;
      },
      params);
}

}  // namespace

struct Recommender::State {
  explicit State(Device chosen) : device(std::move(chosen)) {}

  std::shared_ptr<const Model> model;
  Device device;
  std::unique_ptr<const Predictor> predictor;
  bool clip = false;
  mutable Lazy<RatingScale> made_scale;

  /// The scale that predicted ratings stay on: of the values that the model has, as it is now.
  [[nodiscard]] const RatingScale& scale() const {
    return made_scale.get(
        [&] { return std::make_unique<RatingScale>(model->history.values.span(), clip); });
  }
  /// Predictions as they are told; what is not finite was found before.
  void put_on_scale(std::span<float> predictions) const {
    if (!clip) return;
    const RatingScale& on_scale = scale();
    parallel_for(std::ssize(predictions), 4096, [&](Offset p) {
      float& one = predictions[static_cast<std::size_t>(p)];
      one = on_scale(double{one});
    });
  }

  [[nodiscard]] Index users() const { return model->users.size(); }
  [[nodiscard]] Index items() const { return model->items.size(); }
  [[nodiscard]] std::vector<std::uint8_t> mask(const RecommendOptions& options) const;
};

std::vector<std::uint8_t> Recommender::State::mask(const RecommendOptions& options) const {
  return allowed_rows(options.allow, options.deny, items(), "item");
}

Recommender::Recommender(std::shared_ptr<const Model> model, Device device,
                         std::optional<bool> clip)
    : state_(std::make_unique<State>(std::move(device))) {
  require(model != nullptr, "a recommender needs a model");
  check_history(*model);
  require(!clip || model->predicts_ratings(),
          fmt::format("clip would do nothing: it is for predicted ratings, and this model ({}) "
                      "predicts none",
                      model->algorithm()));
  state_->model = std::move(model);
  state_->clip = state_->model->predicts_ratings() && clip.value_or(clips(state_->model->params));
  state_->predictor = make_predictor(*state_->model, state_->device, state_->clip);
}

Recommender::~Recommender() = default;

const Model& Recommender::model() const { return *state_->model; }

TopKResult Recommender::recommend(std::span<const Index> users, const RecommendOptions& options,
                                  const RunControl& control) const {
  require(options.n >= 1, fmt::format("{} must be 1 or more, not {}", mention("n"), options.n));
  check_rows(users, 0, state_->users(), "user");
  require(options.seen == nullptr || options.seen->rows == static_cast<Index>(users.size()),
          "seen has other rows than there are users");
  const CsrView history = model().history.view();
  const std::vector<std::uint8_t> allowed = state_->mask(options);
  const auto seen_by = [&](std::span<const Index> batch) {
    if (options.include_seen) return CsrMatrix();
    if (options.seen == nullptr)
      return history.rows > 0 ? gather_rows(history, batch) : CsrMatrix();
    std::vector<Index> queries(batch.size());
    std::iota(queries.begin(), queries.end(), static_cast<Index>(batch.data() - users.data()));
    return gather_rows(*options.seen, queries);
  };
  const auto answer = [&](std::span<const Index> batch, const RunControl& part) {
    const CsrMatrix seen = seen_by(batch);
    return state_->predictor->top_k(trained_users(model(), batch), options.n,
                                    {seen.view(), allowed}, part);
  };
  return without_unfounded(
      in_batches(users, std::min(options.n, state_->items()), control, answer));
}

TopKResult Recommender::recommend_new(std::span<const FoldInRow> users,
                                      const RecommendOptions& options,
                                      const RunControl& control) const {
  require(options.n >= 1, fmt::format("{} must be 1 or more, not {}", mention("n"), options.n));
  const std::vector<FoldInRow> sorted = sorted_rows(users, model());
  const CsrMatrix seen = options.include_seen ? CsrMatrix() : seen_rows(sorted, state_->items());
  return without_unfounded(state_->predictor->top_k(asked_of(sorted), options.n,
                                                    {seen.view(), state_->mask(options)}, control));
}

TopKResult Recommender::similar(Side side, std::span<const Index> rows, Index n,
                                SimilarityMetric metric, const RunControl& control) const {
  require(n >= 1, fmt::format("{} must be 1 or more, not {}", mention("n"), n));
  const bool of_users = side == Side::kUsers;
  check_rows(rows, 0, of_users ? state_->users() : state_->items(), of_users ? "user" : "item");
  TopKResult found = state_->predictor->similar(side, rows, n, metric, control);
  const bool distances = metric_of(metric).score == ScoreKind::kSquaredDistance;
  return distances ? std::move(found) : without_unfounded(std::move(found));
}

TopKResult Recommender::similar_new(std::span<const FoldInRow> users, Index n) const {
  require(n >= 1, fmt::format("{} must be 1 or more, not {}", mention("n"), n));
  const std::vector<FoldInRow> sorted = sorted_rows(users, model());
  return state_->predictor->similar_new(asked_of(sorted), n);
}

std::vector<float> Recommender::predict(std::span<const Index> users, std::span<const Index> items,
                                        const RunControl& control) const {
  require(
      users.size() == items.size(),
      fmt::format("predict needs pairs, not {} users and {} items", users.size(), items.size()));
  check_rows(users, -1, state_->users(), "user");
  check_rows(items, -1, state_->items(), "item");
  state_->predictor->require_predictions();
  std::vector<float> scores = state_->predictor->predict(users, items, control);
  check_scores_of(model(), users, items, scores);
  state_->put_on_scale(scores);
  return scores;
}

std::vector<float> Recommender::ranking_scores(std::span<const Index> users,
                                               std::span<const Index> items) const {
  require(
      users.size() == items.size(),
      fmt::format("scores are of pairs, not of {} users and {} items", users.size(), items.size()));
  check_rows(users, 0, state_->users(), "user");
  check_rows(items, 0, state_->items(), "item");
  std::vector<float> scores = state_->predictor->ranking_scores(users, items);
  check_scores_of(model(), users, items, scores);
  return scores;
}

PredictionTimes Recommender::predict_missing(const TakeMissing& take,
                                             const RunControl& control) const {
  state_->predictor->require_predictions();
  const TakeMissing checked = [&](Side side, Index row, std::span<const Index> others,
                                  std::span<const float> predictions) {
    for (std::size_t e = 0; e < others.size(); ++e) {
      const bool by_user = side == Side::kUsers;
      check_score(model(), by_user ? row : others[e], by_user ? others[e] : row, predictions[e]);
    }
    if (!state_->clip) return take(side, row, others, predictions);
    std::vector<float> shown(predictions.begin(), predictions.end());
    state_->put_on_scale(shown);
    take(side, row, others, shown);
  };
  return state_->predictor->predict_missing(checked, control);
}

MemoryPlan Recommender::prediction_memory() const { return state_->predictor->prediction_memory(); }

std::vector<float> Recommender::predict_new(std::span<const FoldInRow> users,
                                            std::span<const Index> items) const {
  state_->predictor->require_predictions();
  check_rows(items, 0, state_->items(), "item");
  const std::vector<FoldInRow> sorted = sorted_rows(users, model());
  const auto catalogue = static_cast<std::size_t>(state_->items());
  std::vector<float> scores(users.size() * catalogue);
  state_->predictor->score_all(asked_of(sorted), scores.data());
  std::vector<float> wanted;
  for (std::size_t u = 0; u < users.size(); ++u) {
    for (const Index item : items) {
      wanted.push_back(scores[u * catalogue + static_cast<std::size_t>(item)]);
    }
  }
  state_->put_on_scale(wanted);
  return wanted;
}

void Recommender::score_all(std::span<const Index> users, float* out) const {
  check_rows(users, 0, state_->users(), "user");
  state_->predictor->score_all(trained_users(model(), users), out);
}

FoldedIn Recommender::fold_in(Side side, std::span<const FoldInRow> rows) const {
  return state_->predictor->fold_in(side, sorted_rows(rows, model(), side));
}

Explanation Recommender::explain(const FoldInRow& user_history, Index item) const {
  require(user_history.tags.empty(), "an explanation is by past items: it needs a history");
  const std::vector<FoldInRow> sorted = sorted_rows(std::span(&user_history, 1), model());
  check_rows(std::span(&item, 1), 0, state_->items(), "item");
  return state_->predictor->explain(asked_of(sorted).front(), item);
}

}  // namespace likewise
