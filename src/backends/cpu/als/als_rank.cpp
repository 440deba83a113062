// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/als/als_rank.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "algorithms/als/weights.h"
#include "backends/distributed/row_exchange.h"

namespace likewise {
namespace {

template <class T>
[[nodiscard]] std::span<const T> read_only(std::span<T> from) {
  return from;
}
[[nodiscard]] std::span<float> numbers_of(Matrix& m) {
  return {m.data(), static_cast<std::size_t>(Offset{m.rows()} * m.stride())};
}
[[nodiscard]] std::span<const float> numbers_of(const Matrix& m) {
  return {m.data(), static_cast<std::size_t>(Offset{m.rows()} * m.stride())};
}

/// What rank 0 makes of the sums over all ranks. One rank makes it, so that the bits are the same
/// on all, whatever processors they have.
[[nodiscard]] AlsBasis shared_basis(Communicator& ranks, std::vector<double> gram,
                                    const AlsParams& params) {
  const Index d = als_width(params);
  AlsBasis basis{{std::vector<double>(static_cast<std::size_t>(d)), Matrix(d, d), Matrix(d, d)},
                 {}};
  if (params.nonnegative && params.feedback == Feedback::kImplicit) basis.gram.resize(gram.size());
  if (ranks.rank() == 0) basis = fixed_basis(std::move(gram), params);
  const auto from_first = [&]<class T>(std::span<T> numbers) {
    std::vector<Offset> counts(static_cast<std::size_t>(ranks.size()), 0);
    counts[0] = std::ssize(numbers);
    const auto mine = static_cast<std::size_t>(counts[static_cast<std::size_t>(ranks.rank())]);
    ranks.all_gather<T>(read_only(numbers).first(mine), numbers, counts);
  };
  from_first(std::span<double>(basis.values));
  from_first(numbers_of(basis.vectors));
  if (!basis.gram.empty()) from_first(std::span<double>(basis.gram));
  for (Index i = 0; i < d; ++i) {
    for (Index j = 0; j < d; ++j) basis.transposed.row(j)[i] = basis.vectors.row(i)[j];
  }
  return basis;
}

/// The rows of the fixed side that a rank's own rows meet, fetched for a half-step.
class FixedRows {
 public:
  virtual ~FixedRows() = default;
  virtual void fetch(Communicator& ranks, std::span<const float> own, Offset numbers,
                     std::span<float> rows) const = 0;
  [[nodiscard]] virtual Index count() const = 0;
};

class AllRows final : public FixedRows {
 public:
  explicit AllRows(const Partition& parts) : parts_(parts) {}
  void fetch(Communicator& ranks, std::span<const float> own, Offset numbers,
             std::span<float> rows) const override {
    ranks.all_gather<float>(own, rows, parts_.counts(numbers));
  }
  [[nodiscard]] Index count() const override { return parts_.rows(); }

 private:
  const Partition& parts_;
};

class NeededRows final : public FixedRows {
 public:
  NeededRows(Communicator& ranks, const Partition& parts, std::vector<Index> needed)
      : exchange_(ranks, parts, std::move(needed)) {}
  void fetch(Communicator& ranks, std::span<const float> own, Offset numbers,
             std::span<float> rows) const override {
    exchange_.fetch(ranks, own, numbers, rows);
  }
  [[nodiscard]] Index count() const override {
    return static_cast<Index>(exchange_.needed().size());
  }

 private:
  RowExchange exchange_;
};

/// Fetches rows of the fixed side, then solves as one that has them all.
class FetchingStep final : public AlsRankStep {
 public:
  FetchingStep(const AlsRankSide& side, int rank, std::unique_ptr<FixedRows> fixed,
               Array<Index> columns)
      : rules_(side.rules),
        fixed_side_(other(side.solved)),
        columns_(std::move(columns)),
        fixed_(std::move(fixed)) {
    CsrView rows = side.rows;
    if (!columns_.empty()) rows.columns = columns_.data();
    rows.cols = fixed_->count();
    step_ = AlsHalfStep(rows, side.solved, side.plan.parts(side.solved).first(rank), rules_);
  }

  AlsSums solve(Communicator& ranks, const AlsFixedPart& fixed, const AlsSolvedRows& rows,
                double objective, const RunControl& control) override {
    const Matrix& own = fixed.own.table();
    Matrix table(fixed_->count(), own.cols());
    fixed_->fetch(ranks, numbers_of(own), own.stride(), numbers_of(table));
    const bool biased = rules_.params.factors < own.cols();
    std::vector<float> bias(biased ? static_cast<std::size_t>(fixed_->count()) : 0);
    if (biased) fixed_->fetch(ranks, fixed.bias, 1, bias);
    const AlsRowContext context = rules_.context(fixed_side_, stored_rows(table), 1.0F,
                                                 fixed.own.basis(), biased ? bias.data() : nullptr,
                                                 fixed.mean, fixed.half_step, rows.are_moved());
    return step_.solve(context, rows, objective, control);
  }

 private:
  const AlsRules& rules_;
  Side fixed_side_;
  Array<Index> columns_;  ///< places in the table; empty where they are row numbers
  std::unique_ptr<FixedRows> fixed_;
  AlsHalfStep step_;
};

/// The columns of `rows` without repetition, rising; `columns` gets each one's place among them.
[[nodiscard]] std::vector<Index> distinct_columns(const CsrView& rows, Array<Index>& columns) {
  std::vector<Index> place(static_cast<std::size_t>(rows.cols), -1);
  for (Offset i = 0; i < rows.nnz(); ++i) place[static_cast<std::size_t>(rows.columns[i])] = 0;
  std::vector<Index> needed;
  for (Index column = 0; column < rows.cols; ++column) {
    Index& at = place[static_cast<std::size_t>(column)];
    if (at < 0) continue;
    at = static_cast<Index>(needed.size());
    needed.push_back(column);
  }
  columns = Array<Index>::uninitialized(rows.nnz());
  for (Offset i = 0; i < rows.nnz(); ++i) {
    columns[i] = place[static_cast<std::size_t>(rows.columns[i])];
  }
  return needed;
}

}  // namespace

std::unique_ptr<AlsRankStep> make_rank_step(Communicator& ranks, const AlsRankSide& side) {
  const Partition& fixed_parts = side.plan.parts(other(side.solved));
  switch (side.plan.exchange(side.solved).chosen) {
    case AlsExchange::kReplicate:
      return std::make_unique<FetchingStep>(side, ranks.rank(),
                                            std::make_unique<AllRows>(fixed_parts), Array<Index>());
    case AlsExchange::kNeeded: {
      Array<Index> columns;
      std::vector<Index> needed = distinct_columns(side.rows, columns);
      return std::make_unique<FetchingStep>(
          side, ranks.rank(), std::make_unique<NeededRows>(ranks, fixed_parts, std::move(needed)),
          std::move(columns));
    }
    case AlsExchange::kSums:
      break;
  }
  return make_summing_step(ranks, side);
}

CpuAlsRank::CpuAlsRank(Communicator& ranks, const AlsRanksPlan& plan, const AlsParams& params,
                       AlsRankPart part, int completed_iterations)
    : rules_(params, plan.shape),
      part_{{part.users, part.items.value()},
            with_changes(std::move(part.start), rules_.moves_starts)},
      half_steps_(2 * Offset{completed_iterations}) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const bool items = side == Side::kItems;
    steps_[items] =
        make_rank_step(ranks, {rules_, plan, side, part_.matrices[items], part_.matrices[!items]});
  }
}

double CpuAlsRank::solve(Communicator& ranks, Side side, const RunControl& control) {
  const Side fixed = other(side);
  Factors& factors = part_.factors;
  AlsFixedSums sums =
      fixed_side_.take({part_.matrices[fixed == Side::kItems], factors.side(fixed),
                        std::as_const(factors).bias(fixed).span(), rules_.shape.interactions},
                       rules_.params);
  ranks.all_reduce(sums.gram);
  fixed_side_.rotate(shared_basis(ranks, std::move(sums.gram), rules_.params));
  ++half_steps_;
  const AlsSolvedRows rows = solved_rows(factors, side, rules_, half_steps_);
  const AlsSums own = steps_[side == Side::kItems]->solve(
      ranks,
      {fixed_side_, std::as_const(factors).bias(fixed).span(), factors.global_mean, half_steps_},
      rows, sums.regularization, control);
  double all[] = {own.objective, own.changes.now, own.changes.before};
  ranks.all_reduce(all);
  if (rows.changes != nullptr) rows.changes->ratio = ChangeSums{all[1], all[2]}.ratio();
  return all[0];
}

}  // namespace likewise
