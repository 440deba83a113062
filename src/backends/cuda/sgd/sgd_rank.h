// SPDX-License-Identifier: Apache-2.0
/// One GPU of an SGD training: all of it, where there is but one.
#pragma once

#include <memory>
#include <optional>

#include "backends/cuda/distributed/device_communicator.h"
#include "backends/cuda/host/plugin.h"
#include "backends/cuda/sgd/sgd_feed.h"
#include "backends/cuda/sgd/sgd_rows.h"
#include "backends/cuda/sgd/sgd_side.h"
#include "backends/distributed/sgd_parts.h"
#include "likewise/control.h"

namespace likewise::cuda {

struct SgdSteps;

[[nodiscard]] inline bool is_half(const SgdParams& params) {
  return params.precision != SgdPrecision::kFp32;
}

/// What all GPUs of a training share, found before anything is put on one.
struct CudaSgdPlan : SgdParts {
  SgdParams params;
  double spread = 1.0;  ///< of the values
  SgdUnits units;
  SgdGrid grid;            ///< with entries only for `blocked`
  SgdRowEntries lines[2];  ///< of the users, except for `blocked`; of the items, for `alternating`
  bool bounded = false;    ///< SgdWhole's

  [[nodiscard]] const SgdSide& side(Side which) const {
    return which == Side::kUsers ? grid.users : grid.items;
  }
  [[nodiscard]] const SgdRowEntries& lines_of(Side which) const {
    return lines[static_cast<std::size_t>(which)];
  }
  /// Rows of a side that the tables of a rank have.
  [[nodiscard]] SgdSpan held(Side which, int rank) const;
};

/// For `ranks` GPUs, or fewer where not all would have a stripe. Throws Error(kInvalidArgument) for
/// an order that they cannot share.
[[nodiscard]] CudaSgdPlan plan_sgd(const CsrView& by_user, const SgdParams& params,
                                   const SgdWhole& whole, int ranks);

/// What GPU `rank` holds.
[[nodiscard]] GpuSgdShare share_of(const CudaSgdPlan& plan, int rank);

class CudaSgdRank {
 public:
  /// By the rank's thread. `plan` must outlive the rank, except for the entries in it; the only
  /// rank takes them. `gpus` connects the ranks; null where there is but one. `start` are the
  /// factors of all rows.
  CudaSgdRank(int device, CudaSgdPlan& plan, int rank, const GpuSgdPlan& memory,
              const Factors& start, std::unique_ptr<DeviceCommunicator> gpus);
  ~CudaSgdRank();
  CudaSgdRank(const CudaSgdRank&) = delete;
  CudaSgdRank& operator=(const CudaSgdRank&) = delete;

  /// As SgdSolver::epoch(): with several GPUs a collective call, which returns the same objective,
  /// that of all rows, on all of them, and after an error of no use. `ranks` is null where the rank
  /// is the only one.
  double epoch(Communicator* ranks, int number, double learning_rate, const RunControl& control);
  /// Its rows of both sides, to where they belong.
  void store(Factors& to);
  /// What it has received in all epochs so far; of `blocked` the bytes only.
  [[nodiscard]] const RankTraffic& traffic() const { return traffic_; }

 private:
  /// One side: what it is moved by, and the pieces of its long rows.
  struct MovedSide {
    Side side;
    SgdSpan held;  ///< rows of the table
    SgdSpan own;   ///< of these the rank's own
    SgdSideTable table;
    DeviceArray<float> weights;         ///< count^nu, of the rows held
    DeviceArray<double> terms;          ///< of the regularization
    std::optional<SgdDeviceWork> work;  ///< whose `user` are its rows
    DeviceArray<SgdLongRow> long_rows;  ///< of its own
    DeviceArray<float> piece_shares;    ///< of a line in its row
    Timestamp sent;                     ///< when its rows could go to the other GPUs
    Timestamp arrived;                  ///< when theirs were here

    MovedSide(const CudaSgdPlan& plan, Side which, int rank);
  };

  [[nodiscard]] const SgdParams& params() const { return plan_.params; }
  [[nodiscard]] float lambda() const;
  [[nodiscard]] float least_factor() const;
  [[nodiscard]] bool passes_items() const;

  void load_side(MovedSide& moved, const Factors& start);
  void load_pieces(MovedSide& moved);
  void load_work(CudaSgdPlan& plan, const GpuSgdPlan& memory, int rank);
  double take_epoch(int number, double learning_rate, const RunControl& control);
  [[nodiscard]] SgdSteps steps(MovedSide& moved, MovedSide& other, int epoch,
                               double learning_rate) const;
  void move(MovedSide& moved, MovedSide& other, int epoch, double learning_rate,
            const RunControl& control);
  void measure(MovedSide& measured, const SgdSpan& rows);
  void share_rows(MovedSide& moved);
  void pass_on_items(Index turn);
  void wait_for_others();
  [[nodiscard]] double objective();
  void note_traffic();

  int device_;
  const CudaSgdPlan& plan_;
  int rank_;
  int columns_;
  bool half_;
  float global_mean_;
  std::unique_ptr<DeviceCommunicator> gpus_;
  Stream stream_;
  Staging staging_;
  SgdFeed feed_;
  MovedSide users_;
  MovedSide items_;
  DeviceArray<Index> counter_{1};  ///< of tasks that racing groups have begun
  DeviceArray<double> partial_;
  DeviceArray<double> sums_{3};
  PinnedArray<double> host_sums_{3};
  RankTraffic traffic_;
};

}  // namespace likewise::cuda
