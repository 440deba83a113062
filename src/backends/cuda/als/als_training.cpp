// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_training.h"

#include <algorithm>
#include <span>
#include <vector>

#include "algorithms/als/weights.h"
#include "backends/cuda/als/tables/als_tables.h"
#include "backends/cuda/linalg/fixed_sum.h"
#include "backends/jobs/als_changes.h"
#include "backends/jobs/als_errors.h"
#include "backends/jobs/als_solver.h"

namespace likewise::cuda {
namespace {

constexpr int kAutoSteps = 100;

/// What the longest copies take.
[[nodiscard]] Offset staging_bytes(const AlsRows& rows, const Factors& factors, int padded) {
  const Offset nnz = std::max(rows.users.nnz(), rows.items ? rows.items->nnz() : 0);
  const Index most_rows = std::max(factors.users.rows(), factors.items.rows());
  return std::max(nnz * Offset{sizeof(RowEntry)},
                  Offset{most_rows} * padded * Offset{sizeof(float)});
}

}  // namespace

bool takes_double_rows(const AlsSetup& setup) {
  return setup.exact && setup.is_explicit() && !setup.params.nonnegative;
}

AlsTraining::AlsTraining(int device, const AlsRows& rows, const AlsSetup& setup, Factors start,
                         int completed_iterations, std::unique_ptr<AlsLink> link)
    : device_(device),
      setup_(setup),
      factors_(with_changes(std::move(start), setup.moves_starts)),
      half_steps_(2 * Offset{completed_iterations}),
      link_(std::move(link)),
      staging_(staging_bytes(rows, factors_, setup.padded)),
      data_(rows, setup_, link_.get(), staging_, stream_),
      tables_(setup_, factors_, staging_, stream_),
      starts_(setup_, factors_, staging_, stream_),
      feed_(setup_.params, is_streamed() ? setup_.plan.portion_entries : 0, staging_, stream_),
      fixed_side_(setup_, std::max(data_.totals().shape.users, data_.totals().shape.items),
                  link_.get(), stream_),
      most_rows_(std::max({1, factors_.users.rows(), factors_.items.rows()})),
      solutions_(Offset{setup_.plan.block_rows} * setup_.padded),
      row_numbers_(most_rows_),
      piece_sums_(data_.sums()),
      piece_constants_(data_.constants()),
      partial_(FixedSum::kBlocks),
      outcome_(1),
      host_outcomes_(link_ == nullptr ? 1 : link_->gpus().size()) {
  fill_zero(outcome_.data(), 1, stream_);
  fill_zero(solutions_.data(), solutions_.size(), stream_);
  if (takes_double_rows(setup_)) {
    double_rows_.emplace(std::min(setup_.plan.block_rows, most_rows_), setup_.padded);
  }
  stream_.synchronize();
}

AlsTraining::~AlsTraining() {
  if (link_ != nullptr) link_->gpus().give_up();  // memory cannot go while the GPU waits for others
}

double AlsTraining::solve(Side side, const RunControl& control) {
  control.check();
  LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
  on_host_ = false;
  fixed_side_.prepare(other(side), data_, tables_, scratch(), control, stream_);
  if (link_ != nullptr) link_->wait(may_wait(side));
  solve_rows_of(side, control);
  ++half_steps_;
  return read_outcome(side, control);
}

const Factors& AlsTraining::factors() {
  if (!on_host_) {
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    tables_.fetch();
    starts_.fetch(stream_);
    on_host_ = true;
  }
  return factors_;
}

Factors AlsTraining::take_factors() {
  (void)factors();
  return std::move(factors_);
}

/// All that is the same for all blocks and portions.
RowProblem AlsTraining::make_problem(Side side) {
  const AlsSide& solved = data_.side(side);
  const AlsParams& params = setup_.params;
  RowProblem problem;
  problem.regularization = solved.plan.regularization.data();
  problem.largest = solved.plan.largest.data();
  problem.offsets = solved.rows.offsets.data();
  problem.weights = {setup_.is_explicit(), like_slope(cell_form(params)), factors_.global_mean,
                     nullptr, data_.totals().target_scale};
  fixed_side_.describe(problem);
  const bool moved = counts_changes() && factors_.changes(side).ratio > 0.0F;
  const Index fewest = std::min(data_.totals().shape.users, data_.totals().shape.items);
  problem.limits = params.solver == AlsSolverKind::kCg
                       ? RowLimits{params.cg_steps, 0.0F, static_cast<float>(params.cg_tolerance),
                                   params.plain_steps()}
                       : RowLimits{kAutoSteps, static_cast<float>(auto_accuracy(
                                                   params.feedback, half_steps_, fewest, moved))};
  problem.limits.samples = samples_curvature(params);
  problem.exact = setup_.exact;
  problem.warm =
      problem.bounded > 0 || (!setup_.exact && (half_steps_ >= 2 || problem.limits.plain));
  if (double_rows_) problem.hard = double_rows_->queue();
  problem.objectives = row_numbers_.data();
  problem.failed_row = &outcome_.data()->failed_row;
  problem.piece_sums = piece_sums_.data();
  problem.piece_constants = piece_constants_.data();
  return problem;
}

/// Block by block: its rows into the basis, solved portion by portion, and back.
void AlsTraining::solve_rows_of(Side side, const RunControl& control) {
  AlsSide& solved = data_.side(side);
  const Index rows = solved.rows.rows;
  RowProblem problem = make_problem(side);
  fill_zero(row_numbers_.data(), rows, stream_);
  LIKEWISE_CUDA_CHECK(cudaMemsetAsync(problem.failed_row, 0x7f, sizeof(int), stream_));
  const std::vector<RowPortion>& portions = solved.plan.portions;
  std::size_t portion = 0;
  using Content = AlsFactorTables::Content;
  const Content content = counts_changes() ? Content::kStarts
                          : problem.warm   ? Content::kRows
                                           : Content::kNothing;
  starts_.begin(counts_changes());
  if (rows == 0) fixed_side_.bring_rows(stream_);
  for (Index first = 0; first < rows; first += std::min(setup_.plan.block_rows, rows - first)) {
    control.check();
    const Index count = std::min(setup_.plan.block_rows, rows - first);
    const TableRows block{side, first, count, tables_.open(side, first, count, content)};
    if (problem.warm) enter(block);
    if (first == 0) fixed_side_.bring_rows(stream_);
    problem.solutions = moved_back(solutions_.data(), Offset{first} * setup_.padded);
    for (; portion < portions.size() && portions[portion].first_row < first + count; ++portion) {
      control.check();
      problem.entries = feed_.open(solved.rows, portions[portion]);
      solve_portion(setup_.precision, problem, solved.plan, portion, setup_.tuning, stream_);
      if (double_rows_) {
        double_rows_->solve(setup_.precision, problem, portions[portion], stream_);
      }
      feed_.close();
    }
    leave(block);
    tables_.close(side, first, count, content);
  }
  streamed_changes_ = tables_.finish();
  starts_.add_up(rows, partial_.data(), &outcome_.data()->changes, stream_);
  FixedSum::run(row_numbers_.data(), rows, partial_.data(), &outcome_.data()->rows, stream_);
}

bool AlsTraining::counts_changes() const {
  return setup_.moves_starts && likewise::counts_changes(half_steps_ + 1);
}

void AlsTraining::enter(const TableRows& rows) {
  if (setup_.biased) {
    put_column(rows.table, rows.count, setup_.padded, setup_.params.factors,
               tables_.bias(rows.side) + rows.first, stream_);
  }
  starts_.enter(rows, fixed_side_, solutions_.data(), stream_);
}

void AlsTraining::leave(const TableRows& rows) {
  starts_.leave(rows, fixed_side_, solutions_.data(),
                data_.side(rows.side).rows.offsets.data() + rows.first, stream_);
  if (setup_.biased) {
    take_bias(rows.table, rows.count, setup_.padded, setup_.params.factors,
              tables_.bias(rows.side) + rows.first, stream_);
  }
}

bool AlsTraining::may_wait(Side side) const {
  constexpr std::size_t kInFlight = 2;  // EntryFeed waits for others
  return is_streamed() || setup_.tuning.wide || double_rows_ ||
         data_.side(side).plan.portions.size() > kInFlight;
}

bool AlsTraining::starts_early() const {
  return link_ == nullptr ? !is_streamed() : link_->may_go_ahead();
}

void AlsTraining::fetch_outcomes(Side side, const RunControl& control) {
  Outcome* const own = host_outcomes_.data() + rank();
  copy_to_host(own, outcome_.data(), 1, stream_);
  fixed_side_.fetch_status(other(side), stream_);
  outcome_done_.record(stream_);
  if (starts_early()) fixed_side_.start(side, data_, tables_, scratch(), control, stream_);
  if (link_ == nullptr) {
    outcome_done_.wait();
    own->changes += streamed_changes_;
    return;
  }
  DeviceCommunicator& gpus = link_->gpus();
  if (starts_early()) {
    gpus.wait_for(outcome_done_);
  } else {
    gpus.follow(stream_);
    gpus.wait();
  }
  link_->note_traffic(starts_early() && fixed_side_.starts_all());
  own->changes += streamed_changes_;
  const Outcome mine = *own;
  gpus.share_on_host(std::as_bytes(std::span(&mine, 1)),
                     std::as_writable_bytes(std::span(
                         host_outcomes_.data(), static_cast<std::size_t>(host_outcomes_.size()))));
}

double AlsTraining::read_outcome(Side side, const RunControl& control) {
  constexpr int kNone = 0x7f7f7f7f;
  fetch_outcomes(side, control);
  fixed_side_.check(other(side));
  double objective = 0.0;
  ChangeSums changes;
  for (Index r = 0; r < host_outcomes_.size(); ++r) {
    const Outcome& one = host_outcomes_.data()[r];
    objective += one.rows + one.regularization;
    changes += one.changes;
    if (one.failed_row == kNone) continue;
    if (r == rank()) throw_failed_row(side, one.failed_row);
    break;  // that rank throws
  }
  if (setup_.moves_starts && likewise::counts_changes(half_steps_)) {
    factors_.changes(side).ratio = changes.ratio();
  }
  return objective;
}

void AlsTraining::throw_failed_row(Side side, Index row) {
  Offset range[2];
  copy_to_host(range, data_.side(side).rows.offsets.data() + row, 2, stream_);
  stream_.synchronize();
  const Index first = link_ == nullptr ? 0 : link_->first_row(side);
  throw_singular(side, first + row, range[1] - range[0], 0);
}

}  // namespace likewise::cuda
