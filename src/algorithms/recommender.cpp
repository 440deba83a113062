// SPDX-License-Identifier: Apache-2.0
#include "likewise/recommender.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "algorithms/batches.h"
#include "algorithms/finite.h"
#include "algorithms/fold_in.h"
#include "algorithms/lazy.h"
#include "algorithms/missing_cells.h"
#include "algorithms/neighbour_recommender.h"
#include "algorithms/similar.h"
#include "core/parallel.h"

namespace likewise {
namespace {

void require(bool fits, const std::string& message) {
  if (!fits) throw Error(ErrorKind::kInvalidArgument, message);
}

void check_rows(std::span<const Index> rows, Index lowest, Index end, const char* what) {
  for (const Index row : rows) {
    require(row >= lowest && row < end,
            fmt::format("{} index {} is outside [{}, {})", what, row, lowest, end));
  }
}

void check_history(const CsrView& history, const Factors& factors) {
  require(history.rows == 0 ||
              (history.rows == factors.users.rows() && history.cols == factors.items.rows()),
          fmt::format("the model's history is {} x {}, its factors are for {} x {}", history.rows,
                      history.cols, factors.users.rows(), factors.items.rows()));
}

void check_model(const Factors& factors) {
  const auto fits = [](const Array<float>& bias, Index rows) {
    return bias.empty() || bias.size() == rows;
  };
  require(factors.users.cols() == factors.items.cols() &&
              fits(factors.user_bias, factors.users.rows()) &&
              fits(factors.item_bias, factors.items.rows()),
          fmt::format("the model's parts do not fit together: factors {} x {} and {} x {}, biases "
                      "{} and {}",
                      factors.users.rows(), factors.users.cols(), factors.items.rows(),
                      factors.items.cols(), factors.user_bias.size(), factors.item_bias.size()));
}

/// Adds constant(query) to the scores of every query.
template <class Constant>
void add_constants(TopKResult& result, const Constant& constant) {
  for (Offset q = 0; q < result.counts.size(); ++q) {
    const double c = constant(q);
    if (c == 0.0) continue;
    for (Offset e = q * result.k; e < q * result.k + result.counts[q]; ++e) {
      result.scores[e] = static_cast<float>(c + double{result.scores[e]});
    }
  }
}

/// Items rising, values never empty; throws as fold_in does for a row that does not fit.
[[nodiscard]] std::vector<FoldInRow> sorted_rows(std::span<const FoldInRow> rows, Index items) {
  std::vector<FoldInRow> result;
  for (const FoldInRow& row : rows) {
    check_fold_in_row(row, items, "item");
    std::vector<std::size_t> order(row.columns.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t e) { return row.columns[e]; });
    FoldInRow sorted;
    for (const std::size_t e : order) {
      sorted.columns.push_back(row.columns[e]);
      sorted.values.push_back(row.values.empty() ? 1.0F : row.values[e]);
    }
    result.push_back(std::move(sorted));
  }
  return result;
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
  for (const FoldInRow& row : rows) users.push_back({-1, row.columns, row.values});
  return users;
}

constexpr std::size_t number(Side side) { return side == Side::kUsers ? 0 : 1; }
constexpr std::size_t number(SimilarityMetric metric) {
  return metric == SimilarityMetric::kCosine ? 0 : 1;
}

}  // namespace

struct Recommender::State {
  std::shared_ptr<const Model> model;
  std::shared_ptr<const Backend> backend;
  Lazy<Scorer> item_scorer;
  std::array<std::array<Lazy<SimilarRows>, 2>, 2> similar_rows;
  std::array<Lazy<FoldInSolver>, 2> fold_in_solvers;
  std::unique_ptr<NeighbourRecommender> neighbours;  ///< null: the model has factors

  [[nodiscard]] const Factors& factors() const { return model->factors; }

  const Scorer& scorer() {
    return item_scorer.get(
        [&] { return backend->make_scorer(factors().items.view(), factors().item_bias.span()); });
  }
  const SimilarRows& similar(Side side, SimilarityMetric metric) {
    require_factors("similar");
    return similar_rows[number(side)][number(metric)].get([&] {
      return std::make_unique<SimilarRows>(factors().side(side).view(), metric, *backend);
    });
  }
  const FoldInSolver& fold_in(Side side, const char* what) {
    require_factors(what);
    return fold_in_solvers[number(side)].get([&] {
      return std::make_unique<FoldInSolver>(factors(), std::get<AlsParams>(model->params), side);
    });
  }
  void require_factors(const char* what) const {
    require(factors().items.cols() > 0,
            fmt::format("{} needs a model with factors; this one ({}) has none: train with "
                        "--algorithm als",
                        what, model->algorithm()));
  }
  [[nodiscard]] std::vector<AskedUser> asked(std::span<const Index> users) const {
    std::vector<AskedUser> result;
    for (const Index user : users) result.push_back(neighbours->user(user));
    return result;
  }
  [[nodiscard]] double user_constant(Index user) const {
    const Array<float>& bias = factors().user_bias;
    return double{factors().global_mean} + (bias.empty() ? 0.0 : double{bias[user]});
  }
  [[nodiscard]] std::vector<std::uint8_t> mask(const RecommendOptions& options) const;
  [[nodiscard]] float predict(Index user, Index item) const;
};

/// Empty when everything is allowed, else one byte per item.
std::vector<std::uint8_t> Recommender::State::mask(const RecommendOptions& options) const {
  const Index items = factors().items.rows();
  check_rows(options.allow, 0, items, "allow: item");
  check_rows(options.deny, 0, items, "deny: item");
  if (options.allow.empty() && options.deny.empty()) return {};
  std::vector<std::uint8_t> allowed(static_cast<std::size_t>(items), options.allow.empty() ? 1 : 0);
  for (const Index item : options.allow) allowed[static_cast<std::size_t>(item)] = 1;
  for (const Index item : options.deny) allowed[static_cast<std::size_t>(item)] = 0;
  return allowed;
}

/// score(u, i) = global_mean + user_bias[u] + item_bias[i] + x_u . y_i
float Recommender::State::predict(Index user, Index item) const {
  const Factors& f = factors();
  double score = double{f.global_mean};
  if (user >= 0 && !f.user_bias.empty()) score += double{f.user_bias[user]};
  if (item >= 0 && !f.item_bias.empty()) score += double{f.item_bias[item]};
  if (user >= 0 && item >= 0) {
    const auto x = f.users.row_span(user);
    const auto y = f.items.row_span(item);
    for (std::size_t j = 0; j < x.size(); ++j) score += double{x[j]} * double{y[j]};
  }
  return static_cast<float>(score);
}

Recommender::Recommender(std::shared_ptr<const Model> model, std::shared_ptr<const Backend> backend)
    : state_(std::make_unique<State>()) {
  require(model != nullptr && backend != nullptr, "a recommender needs a model and a backend");
  check_model(model->factors);
  check_history(model->history.view(), model->factors);
  state_->model = std::move(model);
  state_->backend = std::move(backend);
  if (state_->model->has_neighbours()) {
    state_->neighbours = std::make_unique<NeighbourRecommender>(*state_->model, *state_->backend);
  }
}

Recommender::~Recommender() = default;

const Model& Recommender::model() const { return *state_->model; }

TopKResult Recommender::recommend(std::span<const Index> users, const RecommendOptions& options,
                                  const RunControl& control) const {
  const Factors& factors = state_->factors();
  require(options.n >= 1, fmt::format("n must be 1 or more, not {}", options.n));
  check_rows(users, 0, factors.users.rows(), "user");
  require(options.seen == nullptr || options.seen->rows == static_cast<Index>(users.size()),
          "seen has other rows than there are users");
  const CsrView history = state_->model->history.view();
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
    if (state_->neighbours) {
      return state_->neighbours->recommend(state_->asked(batch), seen.view(), allowed, options.n,
                                           part);
    }
    const Matrix queries = gather_rows(factors.users.view(), batch);
    return state_->scorer().top_k(queries.view(), options.n, {seen.view(), allowed}, part);
  };
  TopKResult result = in_batches(users, std::min(options.n, factors.items.rows()), control, answer);
  if (state_->neighbours) return result;
  add_constants(
      result, [&](Offset q) { return state_->user_constant(users[static_cast<std::size_t>(q)]); });
  return result;
}

TopKResult Recommender::recommend(const MatrixView& user_factors, const CsrView& history,
                                  const RecommendOptions& options, const RunControl& control,
                                  std::span<const float> user_bias) const {
  require(options.n >= 1, fmt::format("n must be 1 or more, not {}", options.n));
  require(user_bias.empty() || user_bias.size() == static_cast<std::size_t>(user_factors.rows),
          fmt::format("{} user biases for {} users", user_bias.size(), user_factors.rows));
  const std::vector<std::uint8_t> allowed = state_->mask(options);
  const CsrView seen = options.include_seen ? CsrView{} : history;
  TopKResult result = state_->scorer().top_k(user_factors, options.n, {seen, allowed}, control);
  add_constants(result, [&](Offset q) {
    const double bias = user_bias.empty() ? 0.0 : double{user_bias[static_cast<std::size_t>(q)]};
    return double{state_->factors().global_mean} + bias;
  });
  return result;
}

TopKResult Recommender::recommend_new(std::span<const FoldInRow> users,
                                      const RecommendOptions& options,
                                      const RunControl& control) const {
  require(options.n >= 1, fmt::format("n must be 1 or more, not {}", options.n));
  const std::vector<FoldInRow> sorted = sorted_rows(users, state_->factors().items.rows());
  const CsrMatrix history = seen_rows(sorted, state_->factors().items.rows());
  if (state_->neighbours) {
    const CsrView seen = options.include_seen ? CsrView{} : history.view();
    return state_->neighbours->recommend(asked_of(sorted), seen, state_->mask(options), options.n,
                                         control);
  }
  const FoldedIn folded = fold_in(Side::kUsers, sorted);
  return recommend(folded.factors.view(), history.view(), options, control, folded.bias.span());
}

TopKResult Recommender::similar(Side side, std::span<const Index> rows, Index n,
                                SimilarityMetric metric, const RunControl& control) const {
  require(n >= 1, fmt::format("n must be 1 or more, not {}", n));
  check_rows(rows, 0, state_->factors().side(side).rows(), side == Side::kUsers ? "user" : "item");
  if (state_->neighbours) return state_->neighbours->similar(side, rows, n);
  return state_->similar(side, metric).find(rows, n, control);
}

TopKResult Recommender::similar_new(std::span<const FoldInRow> users, Index n) const {
  require(n >= 1, fmt::format("n must be 1 or more, not {}", n));
  require(state_->neighbours != nullptr,
          fmt::format("neighbours of new users need user-knn, not {}", state_->model->algorithm()));
  const std::vector<FoldInRow> sorted = sorted_rows(users, state_->factors().items.rows());
  return state_->neighbours->similar_new(asked_of(sorted), n);
}

std::vector<float> Recommender::predict(std::span<const Index> users,
                                        std::span<const Index> items) const {
  require(
      users.size() == items.size(),
      fmt::format("predict needs pairs, not {} users and {} items", users.size(), items.size()));
  check_rows(users, -1, state_->factors().users.rows(), "user");
  check_rows(items, -1, state_->factors().items.rows(), "item");
  std::vector<float> scores(users.size());
  if (state_->neighbours) {
    scores = state_->neighbours->predict(users, items);
  } else {
    parallel_for(static_cast<Offset>(scores.size()), 1024, [&](Offset i) {
      const auto pair = static_cast<std::size_t>(i);
      scores[pair] = state_->predict(users[pair], items[pair]);
    });
  }
  for (std::size_t p = 0; p < scores.size(); ++p) {
    check_score(model(), users[p], items[p], scores[p]);
  }
  return scores;
}

PredictionTimes Recommender::predict_missing(const TakeMissing& take,
                                             const RunControl& control) const {
  const TakeMissing checked = [&](Side side, Index row, std::span<const Index> others,
                                  std::span<const float> predictions) {
    for (std::size_t e = 0; e < others.size(); ++e) {
      const bool by_user = side == Side::kUsers;
      check_score(model(), by_user ? row : others[e], by_user ? others[e] : row, predictions[e]);
    }
    take(side, row, others, predictions);
  };
  if (state_->neighbours) return state_->neighbours->predict_missing(checked, control);
  const CsrView history = state_->model->history.view();
  const MissingCells cells(history, state_->factors().items.rows());
  const Index users = state_->factors().users.rows();
  return cells.for_rows(
      Side::kUsers, users, control, [](std::span<const Index>) {},
      [&](std::span<const Index> batch, float* scores) { score_all(batch, scores); }, checked);
}

std::vector<float> Recommender::predict_new(std::span<const FoldInRow> users,
                                            std::span<const Index> items) const {
  const Index catalogue = state_->factors().items.rows();
  check_rows(items, 0, catalogue, "item");
  const std::vector<FoldInRow> sorted = sorted_rows(users, catalogue);
  std::vector<float> scores(users.size() * static_cast<std::size_t>(catalogue));
  if (state_->neighbours) {
    state_->neighbours->score_all(asked_of(sorted), scores.data());
  } else {
    const FoldedIn folded = fold_in(Side::kUsers, sorted);
    state_->scorer().score_all(folded.factors.view(), scores.data());
    for (std::size_t at = 0; at < scores.size(); ++at) {
      const auto user = static_cast<Offset>(at / static_cast<std::size_t>(catalogue));
      const double bias = folded.bias.empty() ? 0.0 : double{folded.bias[user]};
      scores[at] =
          static_cast<float>(double{state_->factors().global_mean} + bias + double{scores[at]});
    }
  }
  std::vector<float> wanted;
  for (std::size_t u = 0; u < users.size(); ++u) {
    for (const Index item : items) {
      wanted.push_back(
          scores[u * static_cast<std::size_t>(catalogue) + static_cast<std::size_t>(item)]);
    }
  }
  return wanted;
}

void Recommender::score_all(std::span<const Index> users, float* out) const {
  const Factors& factors = state_->factors();
  check_rows(users, 0, factors.users.rows(), "user");
  if (state_->neighbours) return state_->neighbours->score_all(state_->asked(users), out);
  const Matrix queries = gather_rows(factors.users.view(), users);
  state_->scorer().score_all(queries.view(), out);
  for (const Index user : users) {
    const double constant = state_->user_constant(user);
    for (Index i = 0; i < factors.items.rows(); ++i, ++out) {
      *out = static_cast<float>(constant + double{*out});
    }
  }
}

Recommender::FoldedIn Recommender::fold_in(Side side, std::span<const FoldInRow> rows) const {
  const FoldInSolver& solver = state_->fold_in(side, "fold-in");
  for (const FoldInRow& row : rows) solver.check(row);
  const auto count = static_cast<Index>(rows.size());
  const Index cols = state_->factors().items.cols();
  const bool biased = solver.width() > cols;
  FoldedIn result{Matrix(count, cols), Array<float>(biased ? count : 0)};
  parallel_for(count, 1, [&](Offset r) {
    const std::vector<double> x = solver.solve(rows[static_cast<std::size_t>(r)]);
    float* to = result.factors.row(static_cast<Index>(r));
    require(
        std::ranges::all_of(x, [](double number) { return std::abs(number) <= kLargestNumber; }),
        fmt::format("fold-in: new row {} gives factors beyond {:g}: its values are too large, or "
                    "the model's regularization is too small",
                    r, kLargestNumber));
    for (Index j = 0; j < cols; ++j) to[j] = static_cast<float>(x[static_cast<std::size_t>(j)]);
    if (biased) result.bias[r] = static_cast<float>(x.back());
  });
  return result;
}

Explanation Recommender::explain(const FoldInRow& user_history, Index item) const {
  if (state_->neighbours) {
    const std::vector<FoldInRow> sorted =
        sorted_rows(std::span(&user_history, 1), state_->factors().items.rows());
    check_rows(std::span(&item, 1), 0, state_->factors().items.rows(), "item");
    return state_->neighbours->explain(asked_of(sorted).front(), item);
  }
  const FoldInSolver& solver = state_->fold_in(Side::kUsers, "an explanation");
  solver.check(user_history);
  check_rows(std::span(&item, 1), 0, state_->factors().items.rows(), "item");
  return solver.explain(user_history, item);
}

}  // namespace likewise
