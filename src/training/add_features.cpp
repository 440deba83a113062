// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "algorithms/algorithm.h"
#include "core/linalg/dense.h"
#include "core/linalg/ridge.h"
#include "core/linalg/row_copies.h"
#include "core/random.h"
#include "core/require.h"
#include "likewise/error.h"
#include "likewise/features.h"
#include "likewise/model.h"
#include "training/growth.h"
#include "training/learn_features.h"
#include "training/merge_interactions.h"

namespace likewise {
namespace {

constexpr double kLeast = 1e-6;
constexpr double kMost = 1e9;
constexpr double kTried[] = {0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0};
constexpr std::uint32_t kHidden = 0x66656174;  ///< stream of random numbers
constexpr std::uint64_t kFolds = 5;

[[nodiscard]] const char* one_of(Side side) { return side == Side::kUsers ? "user" : "item"; }

/// A matrix of no cells.
[[nodiscard]] CsrMatrix nothing(Index rows, Index cols) {
  return {rows, cols, Array<Offset>(Offset{rows} + 1), {}, {}};
}

/// Rows and tags of a table and those that the model has, as one.
struct Joined {
  UnionOfIds ids;
  UnionOfIds tags;
  CsrMatrix weights;
};
[[nodiscard]] Joined join(const Model& model, Side side, const FeatureTable& table) {
  const Features& known = model.features(side);
  const IdMap& ids = side == Side::kUsers ? model.users : model.items;
  Joined joined{unite_ids(ids, table.ids), unite_ids(known.tags, table.tags), {}};
  const CsrMatrix none = nothing(ids.size(), known.tags.size());
  joined.weights = merge_matrices(known.empty() ? none.view() : known.weights.view(),
                                  table.weights.view(), joined.ids, joined.tags, Duplicates::kLast)
                       .matrix;
  return joined;
}

/// An id or, of a model that has learned tags, a tag that is known.
void require_known(const IdMap& ids, const IdMap& tags, const FeatureTable& table, Side side) {
  for (Index row = 0; row < table.ids.size(); ++row) {
    if (ids.find(table.ids.name(row))) return;
  }
  for (Index tag = 0; tag < table.tags.size(); ++tag) {
    if (tags.find(table.tags.name(tag))) return;
  }
  throw Error(
      ErrorKind::kBadData,
      fmt::format("features: none of the {} ids, such as '{}', is that of {} {} of the "
                  "interactions, such as '{}'",
                  table.ids.size(), printable(table.ids.name(0)), side == Side::kUsers ? "a" : "an",
                  one_of(side), ids.size() > 0 ? printable(ids.name(0)) : ""));
}

[[noreturn]] void refuse_tags(Side side) {
  throw Error(ErrorKind::kBadData,
              fmt::format("features: no {} with interactions carries a tag that another one has, "
                          "so nothing can be learned of any",
                          one_of(side)));
}

void require_regularization(const FeatureLearning& learning) {
  require(!learning.regularization ||
              (*learning.regularization >= kLeast && *learning.regularization <= kMost),
          fmt::format("{} must be in [{:g}, {:g}], not {:g}", mention("feature_regularization"),
                      kLeast, kMost, learning.regularization.value_or(0.0)));
}

/// idf_t = ln(1 + N / n_t)  over the N rows with a tag, n_t of which carry t.
[[nodiscard]] Array<float> idf_of(const CsrView& weights) {
  std::vector<Index> carriers(static_cast<std::size_t>(weights.cols));
  Index rows = 0;
  for (Index row = 0; row < weights.rows; ++row) {
    rows += weights.row_size(row) > 0 ? 1 : 0;
    for (const Index tag : weights.row_columns(row)) ++carriers[static_cast<std::size_t>(tag)];
  }
  Array<float> idf(weights.cols);
  for (Index tag = 0; tag < weights.cols; ++tag) {
    const Index n = carriers[static_cast<std::size_t>(tag)];
    if (n >= 2) idf[tag] = static_cast<float>(std::log1p(static_cast<double>(rows) / n));
  }
  return idf;
}

/// The normalised weights of all rows: those of tag_shares().
[[nodiscard]] CsrMatrix shares_of(const Features& features) {
  CsrMatrix shares = nothing(features.weights.rows, features.tags.size());
  std::vector<Index> tags;
  std::vector<float> values;
  for (Index row = 0; row < features.weights.rows; ++row) {
    for (const TagShare& one : tag_shares(features, row)) {
      tags.push_back(one.tag);
      values.push_back(static_cast<float>(one.share));
    }
    shares.offsets[row + 1] = std::ssize(tags);
  }
  shares.columns = Array<Index>::copy_of(tags);
  shares.values = Array<float>::copy_of(values);
  return shares;
}

/// The rows, or columns, with an entry.
[[nodiscard]] std::vector<bool> touched_rows(const CsrMatrix& by_user, Side side) {
  const CsrView history = by_user.view();
  std::vector<bool> touched(
      static_cast<std::size_t>(side == Side::kUsers ? history.rows : history.cols));
  if (side == Side::kItems) {
    for (const Index column : by_user.columns) {
      touched[static_cast<std::size_t>(column)] = true;
    }
  } else {
    for (Index row = 0; row < history.rows; ++row) {
      touched[static_cast<std::size_t>(row)] = history.row_size(row) > 0;
    }
  }
  return touched;
}

[[nodiscard]] Array<float> moved(const Array<float>& from, const UnionOfIds& ids) {
  if (from.empty()) return {};
  Array<float> to(ids.ids.size());
  for (std::size_t at = 0; at < ids.first.size(); ++at) {
    to[ids.first[at]] = from[static_cast<Offset>(at)];
  }
  return to;
}

/// The model with the rows of `ids`; new ones are zero.
void widen(Model& model, Side side, UnionOfIds& ids) {
  if (ids.ids.size() == std::ssize(ids.first)) return;
  auto& factors = std::get<Factors>(model.learned);
  Matrix wide(ids.ids.size(), factors.side(side).cols());
  scatter_rows(factors.side(side), ids.first, wide);
  factors.side(side) = std::move(wide);
  factors.bias(side) = moved(factors.bias(side), ids);
  factors.squares(side) = moved(factors.squares(side), ids);
  factors.changes(side) = {};
  const IdMap& rest = side == Side::kUsers ? model.items : model.users;
  UnionOfIds same{rest.share(), all_rows(rest.size()), {}};
  const UnionOfIds& rows = side == Side::kUsers ? ids : same;
  const UnionOfIds& columns = side == Side::kUsers ? same : ids;
  const UnionOfIds first_rows{rows.ids.share(), rows.first, {}};
  const UnionOfIds first_columns{columns.ids.share(), columns.first, {}};
  model.history =
      merge_matrices(model.history.view(), CsrView(), first_rows, first_columns, Duplicates::kError)
          .matrix;
  if (side == Side::kItems) {
    model.titles = titles_at(model.titles, ids.first, ids.ids.size());
  }
}

/// What is to be predicted of a row: its factors, and behind them its bias about their mean.
struct Targets {
  Matrix values;
  float mean_bias = 0.0F;
};
[[nodiscard]] Targets targets_of(const Factors& factors, Side side, std::span<const Index> rows) {
  const Matrix& from = factors.side(side);
  const Array<float>& bias = factors.bias(side);
  Targets targets{Matrix(static_cast<Index>(rows.size()), from.cols() + (bias.empty() ? 0 : 1)), 0};
  double sum = 0.0;
  for (const Index row : rows) sum += bias.empty() ? 0.0 : double{bias[row]};
  targets.mean_bias =
      rows.empty() ? 0.0F : static_cast<float>(sum / static_cast<double>(rows.size()));
  for (std::size_t at = 0; at < rows.size(); ++at) {
    float* to = targets.values.row(static_cast<Index>(at));
    std::ranges::copy(from.row_span(rows[at]), to);
    if (!bias.empty()) to[from.cols()] = bias[rows[at]] - targets.mean_bias;
  }
  return targets;
}

/// sum over the other side of (x . e)^2 of all rows e of errors, x = (factors, 1 for the bias).
[[nodiscard]] double squared_errors_of_scores(const Matrix& errors, std::span<const double> gram,
                                              const std::vector<double>& sums, double others,
                                              Index factors) {
  const Index width = errors.cols();
  double total = 0.0;
  for (Index row = 0; row < errors.rows(); ++row) {
    const auto e = errors.row_span(row);
    for (Index a = 0; a < factors; ++a) {
      double inner = 0.0;
      for (Index b = 0; b < factors; ++b) {
        inner += gram[static_cast<std::size_t>(a) * static_cast<std::size_t>(factors) +
                      static_cast<std::size_t>(b)] *
                 double{e[static_cast<std::size_t>(b)]};
      }
      total += inner * double{e[static_cast<std::size_t>(a)]};
    }
    if (width == factors) continue;
    const double of_bias = double{e[static_cast<std::size_t>(factors)]};
    double cross = 0.0;
    for (Index a = 0; a < factors; ++a) {
      cross += sums[static_cast<std::size_t>(a)] * double{e[static_cast<std::size_t>(a)]};
    }
    total += 2.0 * of_bias * cross + others * of_bias * of_bias;
  }
  return total;
}

[[nodiscard]] std::vector<double> column_sums(const Matrix& m) {
  std::vector<double> sums(static_cast<std::size_t>(m.cols()));
  for (Index row = 0; row < m.rows(); ++row) {
    const auto numbers = m.row_span(row);
    for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += double{numbers[c]};
  }
  return sums;
}

/// The regularization whose prediction of a hidden fifth of the rows has the least error of scores.
[[nodiscard]] double best_regularization(const CsrView& shares, const Matrix& targets,
                                         const Matrix& others, const RunControl& control) {
  std::vector<Index> kept;
  std::vector<Index> hidden;
  for (Index row = 0; row < shares.rows; ++row) {
    CounterRandom random(0, kHidden, static_cast<std::uint64_t>(row));
    (random.below(kFolds) == 0 ? hidden : kept).push_back(row);
  }
  const CsrMatrix learned_from = rows_of(shares, kept);
  const CsrMatrix asked = rows_of(shares, hidden);
  const Matrix known = gather_rows(targets, kept);
  const Matrix wanted = gather_rows(targets, hidden);
  const std::vector<double> gram = weighted_gram(others.view(), {});
  const std::vector<double> sums = column_sums(others);
  double best = kTried[0];
  double least = std::numeric_limits<double>::infinity();
  Matrix w(shares.cols, targets.cols());
  for (auto at = std::rbegin(kTried); at != std::rend(kTried); ++at) {
    w = ridge_regression(learned_from.view(), known.view(), *at, &w, control);
    Matrix errors = multiply_sparse(asked.view(), w.view());
    for (Index row = 0; row < errors.rows(); ++row) {
      const auto numbers = wanted.row_span(row);
      for (std::size_t c = 0; c < numbers.size(); ++c) errors.row(row)[c] -= numbers[c];
    }
    const double error = squared_errors_of_scores(errors, gram, sums, others.rows(), others.cols());
    if (error < least) {
      least = error;
      best = *at;
    }
  }
  return best;
}

/// Factors and biases of tags, from the rows that have interactions.
void learn_tags(const Factors& factors, Side side, std::span<const Index> rows,
                const CsrMatrix& shares, const FeatureLearning& learning, Features& features,
                const RunControl& control) {
  const CsrMatrix of_rows = rows_of(shares.view(), rows);
  const Targets targets = targets_of(factors, side, rows);
  features.mean_bias = targets.mean_bias;
  features.regularization =
      learning.regularization
          ? *learning.regularization
          : best_regularization(of_rows.view(), targets.values, factors.side(other(side)), control);
  const Matrix w = ridge_regression(of_rows.view(), targets.values.view(), features.regularization,
                                    nullptr, control);
  const Index width = factors.side(side).cols();
  features.factors = Matrix(w.rows(), width);
  const bool has_bias = !factors.bias(side).empty();
  features.bias = has_bias ? Array<float>(w.rows()) : Array<float>();
  for (Index tag = 0; tag < w.rows(); ++tag) {
    std::copy_n(w.row(tag), width, features.factors.row(tag));
    if (has_bias) features.bias[tag] = w.row(tag)[width];
  }
}

/// The factors (and bias) that the tags of a row add up to.
void put_sum(const Features& features, std::span<const TagShare> shares, Index row, Side side,
             bool nonnegative, Factors& factors) {
  const auto to = factors.side(side).row_span(row);
  const std::vector<double> sum = sum_of_tags(features, shares);
  std::ranges::transform(std::span(sum).first(to.size()), to.begin(), [&](double x) {
    return static_cast<float>(nonnegative ? std::max(0.0, x) : x);
  });
  if (!factors.bias(side).empty()) factors.bias(side)[row] = static_cast<float>(sum.back());
}

[[nodiscard]] bool is_zero(std::span<const TagShare> shares, const Features& features) {
  return std::ranges::all_of(shares, [&](const TagShare& one) {
    return std::ranges::all_of(features.factors.row_span(one.tag),
                               [](float x) { return x == 0.0F; });
  });
}

/// Of a training with this data: something to learn from.
void check_side(const Interactions& data, Side side, const FeatureTable& table) {
  const IdMap& ids = side == Side::kUsers ? data.users : data.items;
  require_known(ids, IdMap(), table, side);
  const std::vector<bool> touched = touched_rows(data.by_user, side);
  const CsrView weights = table.weights.view();
  const Array<float> idf = idf_of(weights);
  for (Index row = 0; row < weights.rows; ++row) {
    const auto known = ids.find(table.ids.name(row));
    if (!known || !touched[static_cast<std::size_t>(*known)]) continue;
    const auto tags = weights.row_columns(row);
    if (std::ranges::any_of(tags, [&](Index tag) { return idf[tag] > 0.0F; })) return;
  }
  refuse_tags(side);
}

}  // namespace

std::vector<TagShare> tag_shares(const Features& features, Index row) {
  const CsrView weights = features.weights.view();
  return tag_shares(features, weights.row_columns(row), weights.row_values(row));
}

std::vector<TagShare> tag_shares(const Features& features, std::span<const Index> tags,
                                 std::span<const float> weights) {
  std::vector<TagShare> shares;
  double squares = 0.0;
  for (std::size_t t = 0; t < tags.size(); ++t) {
    const Index tag = tags[t];
    if (features.idf[tag] == 0.0F) continue;
    const double share = std::log1p(double{weights[t]}) * double{features.idf[tag]};
    squares += share * share;
    shares.push_back({tag, share});
  }
  for (TagShare& one : shares) one.share /= std::sqrt(squares);
  return shares;
}

std::vector<double> sum_of_tags(const Features& features, std::span<const TagShare> shares) {
  const auto width = static_cast<std::size_t>(features.factors.cols());
  const bool has_bias = !features.bias.empty();
  std::vector<double> sum(width + (has_bias ? 1 : 0));
  if (has_bias) sum.back() = double{features.mean_bias};
  for (const auto& [tag, share] : shares) {
    const auto from = features.factors.row_span(tag);
    for (std::size_t c = 0; c < width; ++c) sum[c] += share * double{from[c]};
    if (has_bias) sum.back() += share * double{features.bias[tag]};
  }
  return sum;
}

void require_features(const TrainingParams& params) {
  require(algorithm_of(params)->learns_factors(),
          fmt::format("features are learned by models with factors, as als, bpr, sgd and spectral: "
                      "{} has none",
                      algorithm_name(params)));
}

LearnedFeatures learn_features(Model& model, Side side, Features features,
                               const FeatureLearning& learning, const RunControl& control) {
  features.idf = idf_of(features.weights.view());
  LearnedFeatures report;
  report.tags =
      static_cast<Index>(std::ranges::count_if(features.idf, [](float idf) { return idf > 0.0F; }));
  const std::vector<bool> touched = touched_rows(model.history, side);
  const CsrMatrix shares = shares_of(features);
  std::vector<Index> known;
  std::vector<Index> cold;
  for (Index row = 0; row < shares.rows; ++row) {
    const bool has_tags = shares.offsets[row] < shares.offsets[row + 1];
    report.untagged += has_tags ? 0 : 1;
    if (has_tags) (touched[static_cast<std::size_t>(row)] ? known : cold).push_back(row);
  }
  if (known.empty()) refuse_tags(side);
  auto& factors = std::get<Factors>(model.learned);
  const bool nonnegative = is_nonnegative(factors.side(side));
  learn_tags(factors, side, known, shares, learning, features, control);
  for (const Index row : cold) {
    const std::vector<TagShare> of_row = tag_shares(features, row);
    put_sum(features, of_row, row, side, nonnegative, factors);
    report.strangers += is_zero(of_row, features) ? 1 : 0;
  }
  report.cold = static_cast<Index>(cold.size()) - report.strangers;
  report.regularization = features.regularization;
  model.features(side) = std::move(features);
  return report;
}

LearnedFeatures add_features(Model& model, Side side, const FeatureTable& table,
                             const FeatureLearning& learning, const RunControl& control) {
  require_features(model.params);
  require(!model.last && (model.iterations.empty() || !model.stop_reason.empty()),
          "a checkpoint of a training under way takes no features: finish it first, by resuming");
  require(model.history.rows == model.users.size() && model.history.cols == model.items.size(),
          "the model was made without its interactions, which features need: train it anew");
  require_regularization(learning);
  IdMap& ids = side == Side::kUsers ? model.users : model.items;
  require_known(ids, model.features(side).tags, table, side);
  Joined joined = join(model, side, table);
  const Index joining = joined.ids.ids.size() - ids.size();
  widen(model, side, joined.ids);
  ids = std::move(joined.ids.ids);
  Features features;
  features.tags = std::move(joined.tags.ids);
  features.weights = std::move(joined.weights);
  LearnedFeatures report = learn_features(model, side, std::move(features), learning, control);
  report.joined = joining;
  return report;
}

LearnedTables add_features(Model& model, const FeatureTables& tables, const RunControl& control) {
  LearnedTables learned;
  if (tables.users) {
    learned.users = add_features(model, Side::kUsers, *tables.users, tables.learning, control);
  }
  if (tables.items) {
    learned.items = add_features(model, Side::kItems, *tables.items, tables.learning, control);
  }
  return learned;
}

void check_features(const Interactions& data, const FeatureTables& tables) {
  require_regularization(tables.learning);
  if (tables.users) check_side(data, Side::kUsers, *tables.users);
  if (tables.items) check_side(data, Side::kItems, *tables.items);
}

IdMap ids_with(const IdMap& ids, const IdMap& more) { return unite_ids(ids, more).ids; }

std::vector<Index> rows_by_features(const Model& model, Side side) {
  std::vector<Index> rows;
  const Features& features = model.features(side);
  if (features.empty()) return rows;
  const std::vector<bool> touched = touched_rows(model.history, side);
  for (Index row = 0; row < features.weights.rows; ++row) {
    if (touched[static_cast<std::size_t>(row)]) continue;
    if (!is_zero(tag_shares(features, row), features)) rows.push_back(row);
  }
  return rows;
}

}  // namespace likewise
