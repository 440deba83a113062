// SPDX-License-Identifier: Apache-2.0
#include "likewise/model.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "algorithms/algorithm.h"
#include "algorithms/iteration_run.h"
#include "core/bfloat16.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "model/bad_data.h"
#include "model/checkpoint.h"
#include "model/learned_parts.h"
#include "model/model_validation.h"

namespace likewise {
namespace {

/// NaN, infinity, or so large that scores could become one. By bits, so that the loop over a row is
/// plain integer work.
bool any_too_large(const float* values, Offset count) {
  constexpr auto kLargest = std::bit_cast<std::uint32_t>(kLargestNumber);
  bool found = false;
  for (Offset i = 0; i < count; ++i) {
    found |= (std::bit_cast<std::uint32_t>(values[i]) & 0x7fffffffU) > kLargest;
  }
  return found;
}

/// "is not finite", or how large it is.
std::string too_large(float value) {
  if (!std::isfinite(value)) return "is not finite";
  return fmt::format(
      "is {}, and more than {:g} cannot be computed with: train on smaller values, or "
      "with parameters nearer to their defaults",
      value, kLargestNumber);
}

/// The first row with a number that is too large, or -1. Blocks only find the smallest: the answer
/// does not depend on threads.
Index first_bad_row(const MatrixView& m) {
  std::atomic<Index> first{m.rows};
  parallel_for(m.rows, 1024, [&](Offset row) {
    if (!any_too_large(m.row(static_cast<Index>(row)), m.cols)) return;
    Index seen = first.load();
    while (row < seen && !first.compare_exchange_weak(seen, static_cast<Index>(row))) {
    }
  });
  return first.load() == m.rows ? -1 : first.load();
}

/// `what`: what its columns are.
void check_matrix(const std::string& name, const Matrix& m, const IdMap& ids, Index columns,
                  const char* what = "factors") {
  if (m.rows() != ids.size() || m.cols() != columns) {
    bad_data(fmt::format("{} is {} x {}, it must be {} x {} (ids x {})", name, m.rows(), m.cols(),
                         ids.size(), columns, what));
  }
  const Index bad = first_bad_row(m.view());
  if (bad >= 0) {
    const auto row = m.row_span(bad);
    const auto number =
        std::ranges::find_if(row, [](const float& x) { return any_too_large(&x, 1); });
    bad_data(fmt::format("{}: row {} (id {}) holds a number that {}", name, bad, ids.name(bad),
                         too_large(*number)));
  }
}

void check_bias(const std::string& name, const Array<float>& bias, const IdMap& ids, bool needed) {
  if (bias.empty() && (!needed || ids.size() == 0)) return;
  if (bias.size() != ids.size()) {
    bad_data(fmt::format("{} has {} numbers for {} ids", name, bias.size(), ids.size()));
  }
  for (Index i = 0; i < ids.size(); ++i) {
    if (any_too_large(&bias[i], 1)) {
      bad_data(fmt::format("{}: the number of row {} (id {}) {}", name, i, ids.name(i),
                           too_large(bias[i])));
    }
  }
}

/// Sizes first: only then may anything follow the offsets.
void check_history(const Model& model) {
  const CsrMatrix& h = model.history;
  if (h.rows != model.users.size() || h.cols != model.items.size()) {
    bad_data(fmt::format("history is {} x {} for {} users and {} items", h.rows, h.cols,
                         model.users.size(), model.items.size()));
  }
  const bool no_offsets = h.rows == 0 && h.offsets.empty();
  if (!no_offsets && h.offsets.size() != Offset{h.rows} + 1) {
    bad_data(fmt::format("history.offsets has {} numbers for {} users", h.offsets.size(), h.rows));
  }
  const Offset last = no_offsets ? 0 : h.offsets[h.rows];
  if ((h.rows == 0 && last != 0) || last != h.columns.size() || last != h.values.size()) {
    bad_data(fmt::format("history.offsets ends at {}, but there are {} columns and {} values", last,
                         h.columns.size(), h.values.size()));
  }
  validate(h.view(), "history");
}

/// Sizes first, as with the history.
void check_knn(const KnnLists& lists, Index rows) {
  if (!(rows == 0 && lists.offsets.empty()) && lists.offsets.size() != Offset{rows} + 1) {
    bad_data(
        fmt::format("neighbours.offsets has {} numbers for {} rows", lists.offsets.size(), rows));
  }
  const Offset last = lists.offsets.empty() ? 0 : lists.offsets[rows];
  if (last != lists.rows.size() || last != lists.similarities.size()) {
    bad_data(fmt::format("neighbours.offsets ends at {}, but there are {} rows and {} similarities",
                         last, lists.rows.size(), lists.similarities.size()));
  }
  if (rows > 0 && lists.offsets[0] != 0) bad_data("neighbours.offsets does not start at 0");
  for (Index row = 0; row < rows; ++row) {
    if (lists.offsets[row + 1] < lists.offsets[row]) {
      bad_data(fmt::format("neighbours.offsets falls after row {}", row));
    }
  }
  for (Index row = 0; row < rows; ++row) {
    for (const Index near : lists.rows_of(row)) {
      if (near >= 0 && near < rows && near != row) continue;
      bad_data(fmt::format("neighbours: row {} cannot have neighbour {}", row, near));
    }
    for (const float similarity : lists.similarities_of(row)) {
      if (std::isfinite(similarity)) continue;
      bad_data(fmt::format("neighbours: a similarity of row {} is not finite", row));
    }
  }
}

void check_mean(const std::string& name, float mean) {
  if (any_too_large(&mean, 1)) bad_data(name + " " + too_large(mean));
}

/// A matrix of sparse rows, sizes first: only then may anything follow the offsets.
void check_rows(const std::string& name, const CsrMatrix& m, Index rows) {
  if (m.rows != rows || m.offsets.size() != Offset{rows} + 1) {
    bad_data(fmt::format("{}.offsets has {} numbers for {} rows", name, m.offsets.size(), rows));
  }
  const Offset last = m.offsets[rows];
  if (last != m.columns.size() || last != m.values.size()) {
    bad_data(fmt::format("{}.offsets ends at {}, but there are {} columns and {} weights", name,
                         last, m.columns.size(), m.values.size()));
  }
  validate(m.view(), name.c_str());
}

void check_features(const std::string& prefix, const Features& features, const Factors* factors,
                    Side side, Index rows) {
  if (features.empty()) return;
  if (factors == nullptr) bad_data(prefix + "features: this model has no factors");
  const Index width = factors->side(side).cols();
  check_matrix(prefix + "tag_factors", features.factors, features.tags, width);
  check_bias(prefix + "tag_bias", features.bias, features.tags, !factors->bias(side).empty());
  if (factors->bias(side).empty() && !features.bias.empty()) {
    bad_data(prefix + "tag_bias: this side has no biases");
  }
  check_bias(prefix + "tag_idf", features.idf, features.tags, true);
  check_mean(prefix + "features", features.mean_bias);
  check_rows(prefix + "tags", features.weights, rows);
  const auto below = [](float x) { return x < 0.0F; };
  if (std::ranges::any_of(features.idf, below)) bad_data(prefix + "tag_idf: one is negative");
  if (std::ranges::any_of(features.weights.values, [](float w) { return w <= 0.0F; })) {
    bad_data(prefix + "tags.weights: one is not above 0");
  }
}

void check_iterations(std::span<const Iteration> iterations, int best_iteration) {
  int last = 0;
  for (const Iteration& report : iterations) {
    if (report.iteration <= last) {
      bad_data(fmt::format("iterations: number {} follows {}", report.iteration, last));
    }
    last = report.iteration;
  }
  if (best_iteration < 0 || (!iterations.empty() && best_iteration > last)) {
    bad_data(fmt::format("best_iteration is {} of {}", best_iteration, last));
  }
}

void check_params(const TrainingParams& params) {
  try {
    validate(params);
  } catch (const Error& fault) {
    bad_data(fmt::format("parameters: {}", fault.what()));
  }
}

/// Sums of squares: none below 0, and none where steps do not adapt.
void check_squares(const std::string& name, const Array<float>& squares, const IdMap& ids,
                   bool adaptive) {
  if (!adaptive && !squares.empty()) bad_data(name + ": these parameters have no adaptive steps");
  check_bias(name, squares, ids, adaptive);
  const auto* negative = std::ranges::find_if(squares, [](float s) { return s < 0.0F; });
  if (negative != squares.end()) {
    const auto row = static_cast<Index>(negative - squares.begin());
    bad_data(fmt::format("{}: the number of row {} (id {}) is negative", name, row, ids.name(row)));
  }
}

/// Rows of `width` factors, or none; 0: there can be none.
void check_changes(const std::string& name, const RowChanges& changes, const IdMap& ids,
                   int width) {
  const Offset numbers = changes.numbers.size();
  if (numbers > 0 && width == 0) bad_data(name + ": these parameters do not go on with changes");
  if (numbers != 0 && numbers != Offset{ids.size()} * width) {
    bad_data(fmt::format("{} has {} numbers for {} rows of {}", name, numbers, ids.size(), width));
  }
  const auto is_finite = [](std::uint16_t bits) { return std::isfinite(float_of_bfloat16(bits)); };
  const auto* bad = std::ranges::find_if_not(changes.numbers, is_finite);
  if (bad != changes.numbers.end()) {
    const auto row = static_cast<Index>((bad - changes.numbers.begin()) / width);
    bad_data(fmt::format("{}: a number of row {} (id {}) is not finite", name, row, ids.name(row)));
  }
  if (!(changes.ratio >= 0.0F && changes.ratio <= 1.0F)) {
    bad_data(fmt::format("{}: a ratio of {}; it is from 0 to 1", name, changes.ratio));
  }
}

void check_factors(const std::string& prefix, const Factors& factors, int width,
                   const LearnedCheck::State& state, const Model& model) {
  check_matrix(prefix + "user_factors", factors.users, model.users, width);
  check_matrix(prefix + "item_factors", factors.items, model.items, width);
  check_bias(prefix + "user_bias", factors.user_bias, model.users, false);
  check_bias(prefix + "item_bias", factors.item_bias, model.items, false);
  check_squares(prefix + "user_squares", factors.user_squares, model.users, state.squares);
  check_squares(prefix + "item_squares", factors.item_squares, model.items, state.squares);
  check_changes(prefix + "user_changes", factors.user_changes, model.users, state.changes);
  check_changes(prefix + "item_changes", factors.item_changes, model.items, state.changes);
  check_mean(prefix + "global_mean", factors.global_mean);
}

/// The first id in which the maps differ; -1 when they are the same.
Index first_difference(const IdMap& a, const IdMap& b) {
  const Index common = std::min(a.size(), b.size());
  for (Index i = 0; i < common; ++i) {
    const bool same =
        a.is_integer() && b.is_integer()
            ? a.integers()[static_cast<std::size_t>(i)] == b.integers()[static_cast<std::size_t>(i)]
            : a.name(i) == b.name(i);
    if (!same) return i;
  }
  return a.size() == b.size() ? -1 : common;
}

std::string describe(const IdMap& ids, Index index) {
  return index < ids.size() ? fmt::format("'{}'", ids.name(index)) : std::string("nothing");
}

void require_same(const char* side, const IdMap& trained, const IdMap& given) {
  const Index at = first_difference(trained, given);
  if (at < 0) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("the model knows {} {}, the interactions have {}; the first difference is "
                  "number {}: {} in the model, {} in the interactions. Go on with the data "
                  "(and the reading options) that the model was trained on, or train anew",
                  trained.size(), side, given.size(), at + 1, describe(trained, at),
                  describe(given, at)));
}

}  // namespace

LinearPart linear_part(const Factors& factors) {
  return {factors.users.view(),        factors.items.view(),  factors.user_bias.span(),
          factors.item_bias.span(),    factors.global_mean,   factors.user_squares.span(),
          factors.item_squares.span(), &factors.user_changes, &factors.item_changes};
}

LinearPart linear_part(const BorrowedLearned& learned) {
  struct Part {
    LinearPart operator()(const Factors* factors) const { return linear_part(*factors); }
    LinearPart operator()(const Knn* hood) const { return (*this)(&hood->biases); }
    LinearPart operator()(const Popularity* popularity) const {
      return {{}, {}, {}, popularity->shares.span(), 0.0F};
    }
    LinearPart operator()(const Biases* b) const {
      return {{}, {}, b->users.span(), b->items.span(), b->mean};
    }
    LinearPart operator()(const ItemWeights*) const { return {}; }
  };
  return std::visit(Part(), learned);
}

template <class Kind>
const Kind& LearnedCheck::part() const {
  const auto* found = std::get_if<const Kind*>(&trained_.learned);
  if (found == nullptr) {
    bad_data(fmt::format("what was learned is not what {} learns", model_.algorithm()));
  }
  return **found;
}

void LearnedCheck::require_no_last() const {
  if (trained_.last == nullptr) return;
  bad_data(fmt::format("last.user_factors: {} does not iterate", model_.algorithm()));
}

void LearnedCheck::factors(int width, const State& state) const {
  check_factors("", part<Factors>(), width, state, model_);
  if (trained_.last != nullptr) check_factors("last.", *trained_.last, width, state, model_);
}

void LearnedCheck::neighbourhood(Side side, bool has_baselines) const {
  const auto& [lists, biases] = part<Knn>();
  require_no_last();
  check_bias("user_bias", biases.users, model_.users, has_baselines);
  check_bias("item_bias", biases.items, model_.items, has_baselines);
  check_mean("global_mean", biases.mean);
  check_knn(lists, side == Side::kUsers ? model_.users.size() : model_.items.size());
}

void LearnedCheck::popularity() const {
  require_no_last();
  check_bias("item_bias", part<Popularity>().shares, model_.items, true);
}

void LearnedCheck::biases(const std::string& what, bool of_users, bool of_items) const {
  const auto& biases = part<Biases>();
  require_no_last();
  const auto check = [&](const char* name, const Array<float>& bias, const IdMap& ids,
                         bool needed) {
    check_bias(name, bias, ids, needed);
    if (!needed && !bias.empty()) bad_data(fmt::format("{}: {} has none", name, what));
  };
  check("user_bias", biases.users, model_.users, of_users);
  check("item_bias", biases.items, model_.items, of_items);
  check_mean("global_mean", biases.mean);
}

void LearnedCheck::item_weights() const {
  const Matrix& weights = part<ItemWeights>().weights;
  require_no_last();
  check_matrix("item_weights", weights, model_.items, model_.items.size(), "items");
}

void validate_parts(const Model& model, const Trained& trained) {
  check_params(model.params);
  algorithm_of(model.params)->check_learned(LearnedCheck(model, trained));
  check_history(model);
  check_iterations(trained.iterations, trained.best_iteration);
  model.titles.validate(model.items.size());
  const auto* factors = std::get_if<const Factors*>(&trained.learned);
  const Factors* of = factors == nullptr ? nullptr : *factors;
  check_features("user_", model.user_features, of, Side::kUsers, model.users.size());
  check_features("item_", model.item_features, of, Side::kItems, model.items.size());
}

bool Model::predicts_ratings() const { return algorithm_of(params)->predicts_ratings(); }

std::optional<double> Model::best_validation() const {
  const auto best = std::ranges::find(iterations, best_iteration, &Iteration::iteration);
  return best == iterations.end() ? validation : best->validation;
}

bool Model::ranks_items() const { return algorithm_of(params)->ranks_items(); }

void Model::validate() const { validate_parts(*this, trained_of(*this)); }

void resume_from(const Model& model, IterationRun& run) {
  const auto& factors = std::get<Factors>(model.learned);
  const bool has_last = model.last.has_value() && !model.iterations.empty();
  run.start = has_last ? &*model.last : &factors;
  run.completed_iterations = has_last ? model.iterations.back().iteration : model.best_iteration;
  run.best = &factors;
  run.best_iteration = model.best_iteration;
  run.history.clear();
  for (const Iteration& report : model.iterations) {
    if (report.iteration <= run.completed_iterations) run.history.push_back(report);
  }
}

void require_same_ids(const Model& model, const Interactions& data) {
  require_same("users", model.users, data.users);
  require_same("items", model.items, data.items);
}

}  // namespace likewise
