// SPDX-License-Identifier: Apache-2.0
#include "algorithms/rows_with_entries.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "algorithms/row_counts.h"
#include "core/placed_error.h"
#include "core/system/parallel.h"
#include "training/growth.h"

namespace likewise {
namespace {

[[nodiscard]] std::vector<Index> not_empty(const std::vector<Offset>& counts) {
  std::vector<Index> rows;
  for (std::size_t row = 0; row < counts.size(); ++row) {
    if (counts[row] > 0) rows.push_back(static_cast<Index>(row));
  }
  return rows;
}

[[nodiscard]] Array<float> zeros_like(const Array<float>& some, Index rows) {
  return some.empty() ? Array<float>() : Array<float>(rows);
}

[[nodiscard]] RowChanges zeros_like(const RowChanges& some, Index rows, Index wanted) {
  return {Array<std::uint16_t>(some.width(rows) * wanted), some.ratio};
}

/// What is shown of a training: the factors of all rows in the place of those with entries.
class ShownRun {
 public:
  ShownRun(const RowsWithEntries& rows, const IterationRun& run) : rows_(rows), shown_(run) {
    if (run.start != nullptr) shown_.start = &start_.emplace(rows.part_of(*run.start));
    if (run.best != nullptr) shown_.best = &best_.emplace(rows.part_of(*run.best));
    if (run.validation.evaluate) {
      shown_.validation.evaluate = [&](const Factors& part) {
        return run.validation.evaluate(rows_.among_all(part));
      };
    }
    if (run.on_iteration) {
      shown_.on_iteration = [&](const TrainingState& state) { show(state, run.on_iteration); };
    }
  }

  [[nodiscard]] const IterationRun& run() const { return shown_; }

 private:
  void show(const TrainingState& part,
            const std::function<void(const TrainingState&)>& on_iteration) const {
    TrainingState state = part;
    std::optional<Factors> newest;
    state.factors = [&]() -> const Factors& {
      if (!newest) newest = rows_.among_all(part.factors());
      return *newest;
    };
    std::optional<Factors> best;
    if (part.best != nullptr) state.best = &best.emplace(rows_.among_all(*part.best));
    on_iteration(state);
  }

  const RowsWithEntries& rows_;
  IterationRun shown_;
  std::optional<Factors> start_;
  std::optional<Factors> best_;
};

}  // namespace

RowsWithEntries::RowsWithEntries(const CsrView& by_user)
    : users_(not_empty(row_counts(by_user))),
      items_(not_empty(column_counts(by_user))),
      all_users_(by_user.rows),
      all_items_(by_user.cols),
      are_all_(count(Side::kUsers) == all_users_ && count(Side::kItems) == all_items_) {}

CsrMatrix RowsWithEntries::part_of(const CsrView& by_user) const {
  std::vector<Index> place(static_cast<std::size_t>(all_items_));
  for (std::size_t at = 0; at < items_.size(); ++at) {
    place[static_cast<std::size_t>(items_[at])] = static_cast<Index>(at);
  }
  const Offset entries = by_user.nnz();
  CsrMatrix part{count(Side::kUsers), count(Side::kItems), Array<Offset>(std::ssize(users_) + 1),
                 Array<Index>::uninitialized(entries),
                 Array<float>::copy_of({by_user.values, static_cast<std::size_t>(entries)})};
  for (std::size_t at = 0; at < users_.size(); ++at) {
    part.offsets[static_cast<Offset>(at) + 1] = by_user.offsets[users_[at] + 1];
  }
  parallel_for(entries, Offset{1} << 16, [&](Offset e) {
    part.columns[e] = place[static_cast<std::size_t>(by_user.columns[e])];
  });
  return part;
}

Factors RowsWithEntries::part_of(const Factors& all) const {
  Factors part = side_rows(all, Side::kUsers, users_);
  Factors items = side_rows(all, Side::kItems, items_);
  part.items = std::move(items.items);
  part.item_bias = std::move(items.item_bias);
  part.item_squares = std::move(items.item_squares);
  part.item_changes = std::move(items.item_changes);
  return part;
}

Factors RowsWithEntries::among_all(const Factors& part) const {
  Factors all;
  all.global_mean = part.global_mean;
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const Index rows = side == Side::kUsers ? all_users_ : all_items_;
    all.side(side) = Matrix(rows, part.side(side).cols());
    all.bias(side) = zeros_like(part.bias(side), rows);
    all.squares(side) = zeros_like(part.squares(side), rows);
    all.changes(side) = zeros_like(part.changes(side), part.side(side).rows(), rows);
    put_rows(part, side, of(side), all);
  }
  return all;
}

std::vector<Index> rows_learned_from(const CsrView& history, const Factors& factors, Side side) {
  if (history.nnz() > 0) return RowsWithEntries(history).of(side);
  std::vector<Index> rows;
  for (Index row = 0; row < factors.side(side).rows(); ++row) {
    const auto x = factors.side(side).row_span(row);
    if (std::ranges::any_of(x, [](float value) { return value != 0.0F; })) rows.push_back(row);
  }
  return rows;
}

IterationResult train_rows_with_entries(
    const CsrView& by_user, const IterationRun& run,
    const std::function<IterationResult(const CsrView&, const IterationRun&)>& train) {
  const RowsWithEntries rows(by_user);
  const bool drawn_by_caller = run.start != nullptr && run.completed_iterations == 0;
  if (rows.are_all() || drawn_by_caller || by_user.nnz() == 0) return train(by_user, run);
  const CsrMatrix part = rows.part_of(by_user);
  const ShownRun shown(rows, run);
  const auto row_among_all = [&](Side side, Index row) {
    return rows.of(side)[static_cast<std::size_t>(row)];
  };
  IterationResult result =
      renumbering(row_among_all, [&] { return train(part.view(), shown.run()); });
  result.factors = rows.among_all(result.factors);
  return result;
}

}  // namespace likewise
