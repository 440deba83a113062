// SPDX-License-Identifier: Apache-2.0
/// An ALS training as one GPU does it: of all rows, or of those of a rank. What fits stays on the
/// GPU between half-steps, the rest passes through it (gpu_plan.h); the host sees the objective.
#pragma once

#include <memory>
#include <optional>

#include "backends/cuda/als/als_entries.h"
#include "backends/cuda/als/als_fixed_side.h"
#include "backends/cuda/als/als_starts.h"
#include "backends/cuda/als/tables/als_double_rows.h"
#include "likewise/control.h"

namespace likewise::cuda {

class AlsTraining {
 public:
  /// On the current GPU, which is number `device`. `rows` name what must outlive it; `start` has
  /// their factors. `link` leads to the other GPUs, all of which are made together; null: there are
  /// none.
  AlsTraining(int device, const AlsRows& rows, const AlsSetup& setup, Factors start,
              int completed_iterations, std::unique_ptr<AlsLink> link);
  ~AlsTraining();
  AlsTraining(const AlsTraining&) = delete;
  AlsTraining& operator=(const AlsTraining&) = delete;

  /// As AlsSolver::solve(): with a link a collective call, with the objective of all rows. The
  /// first of several GPUs that have a row without a solution throws.
  double solve(Side side, const RunControl& control);
  [[nodiscard]] const Factors& factors();
  [[nodiscard]] Factors take_factors();
  [[nodiscard]] AlsLink* link() { return link_.get(); }

 private:
  /// Numbers that a half-step hands to the host.
  struct Outcome {
    double rows = 0.0;            ///< the rows' objectives
    double regularization = 0.0;  ///< of the fixed side
    ChangeSums changes{};         ///< of its own rows
    int failed_row = 0;
  };

  [[nodiscard]] AlsFixedSide::Scratch scratch() {
    return {solutions_.data(), row_numbers_.data(), &outcome_.data()->regularization};
  }
  [[nodiscard]] bool is_streamed() const { return setup_.plan.placement != Placement::kResident; }
  [[nodiscard]] RowProblem make_problem(Side side);
  void solve_rows_of(Side side, const RunControl& control);
  [[nodiscard]] bool counts_changes() const;
  void enter(const TableRows& rows);
  void leave(const TableRows& rows);
  /// Whether the host may wait for the stream while rows are being solved.
  [[nodiscard]] bool may_wait(Side side) const;
  [[nodiscard]] int rank() const { return link_ == nullptr ? 0 : link_->rank(); }
  /// Whether the GPU goes on with the next half-step while the host hears of this one.
  [[nodiscard]] bool starts_early() const;
  void fetch_outcomes(Side side, const RunControl& control);
  [[nodiscard]] double read_outcome(Side side, const RunControl& control);
  [[noreturn]] void throw_failed_row(Side side, Index row);

  int device_;
  AlsSetup setup_;
  Factors factors_;
  bool on_host_ = true;
  Offset half_steps_;  ///< done so far, those before the start included
  Stream stream_;
  std::unique_ptr<AlsLink> link_;
  Staging staging_;
  AlsData data_;  ///< first: what it takes in passing is planned to be free afterwards
  AlsFactorTables tables_;
  AlsStarts starts_;
  ChangeSums streamed_changes_;  ///< of the half-step, where tables are streamed
  EntryFeed feed_;
  AlsFixedSide fixed_side_;
  Index most_rows_;
  DeviceArray<float> solutions_;     ///< of a block
  DeviceArray<double> row_numbers_;  ///< objectives of the rows, or their regularization
  DeviceArray<float> piece_sums_;
  DeviceArray<double> piece_constants_;
  std::optional<DoubleRows> double_rows_;
  DeviceArray<double> partial_;
  DeviceArray<Outcome> outcome_;
  Event outcome_done_;
  PinnedArray<Outcome> host_outcomes_;  ///< of all ranks
};

/// Only explicit rows have nothing but lambda where their ratings say nothing.
[[nodiscard]] bool takes_double_rows(const AlsSetup& setup);

}  // namespace likewise::cuda
