// SPDX-License-Identifier: Apache-2.0
/// SGD on one GPU. The factors stay there between epochs; ratings that do not fit pass through it.
#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/sgd/setup.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/linalg/fixed_sum.h"
#include "backends/cuda/sgd/sgd_feed.h"
#include "backends/cuda/sgd/sgd_rows.h"
#include "backends/cuda/sgd/sgd_side.h"
#include "backends/cuda/sgd/sgd_steps.h"
#include "core/random.h"
#include "likewise/error.h"

namespace likewise {
namespace cuda {
namespace {

/// Rows of the smaller side for each team that races: fewer would lose too many steps.
constexpr Index kRowsOfARacer = 2;

[[nodiscard]] bool is_half(const SgdParams& params) {
  return params.precision != SgdPrecision::kFp32;
}

/// Powers of two, so that nothing is rounded on the way: of the values' spread, which is 1 for the
/// logistic loss, and of its root.
[[nodiscard]] SgdUnits units_of(double spread) {
  const double root = std::exp2(std::round(0.5 * std::log2(spread)));
  return {static_cast<float>(root), static_cast<float>(root * root)};
}

/// What a training is made from, found before anything is put on the GPU.
struct Prepared {
  SgdGrid grid;
  SgdRowEntries users;  ///< empty for `blocked`
  SgdRowEntries items;  ///< `alternating` only

  Prepared(const CsrView& by_user, const SgdParams& params, const SgdWhole& whole) {
    const bool blocked = params.order == SgdOrder::kBlocked;
    const SgdShape shape{by_user.rows, by_user.cols, by_user.nnz()};
    grid = make_sgd_grid(by_user, blocked ? gpu_sgd_stripes(shape) : 1, params.seed, whole);
    if (blocked) return;
    users = entries_by_row(grid, Side::kUsers);
    if (params.order == SgdOrder::kAlternating) items = entries_by_row(grid, Side::kItems);
    if (params.order == SgdOrder::kRacing) turn_lines(users, params.seed);
    grid.entries = {};
  }
};

/// One side: what it is moved by, and the pieces of its long rows.
struct MovedSide {
  const SgdSide& order;
  SgdSideTable table;
  DeviceArray<float> weights;         ///< count^nu
  DeviceArray<double> terms;          ///< of the regularization
  std::optional<SgdDeviceWork> work;  ///< whose `user` are its rows
  DeviceArray<SgdLongRow> long_rows;
  DeviceArray<float> piece_shares;  ///< of a line in its row

  MovedSide(const SgdSide& side, const SgdRowEntries& rows, int columns, bool halves)
      : order(side),
        table(static_cast<Index>(side.row.size() + std::ssize(rows.piece_of)), columns, halves,
              side.row.span()) {}
};

class CudaSgdSolver final : public SgdSolver {
 public:
  CudaSgdSolver(int device, const CsrView& by_user, const SgdParams& params, Factors start,
                const SgdWhole& whole, const GpuSgdPlan& plan)
      : device_(device),
        params_(params),
        spread_(whole.spread ? *whole.spread : value_spread(by_user, params).spread),
        units_(units_of(spread_)),
        columns_(gpu_sgd_columns(params.factors)),
        half_(is_half(params)),
        factors_(std::move(start)),
        prepared_(by_user, params, whole),
        staging_(Offset{32} << 20),
        feed_(plan.streamed ? plan.portion : 0, staging_, stream_),
        users_(prepared_.grid.users, prepared_.users, columns_, half_),
        items_(prepared_.grid.items, prepared_.items, columns_, half_) {
    load_side(Side::kUsers);
    load_side(Side::kItems);
    in_units(prepared_.users.entries);
    in_units(prepared_.items.entries);
    in_units(prepared_.grid.entries);
    if (params.order == SgdOrder::kBlocked) {
      users_.work = feed_.load(work_by_block(prepared_.grid, plan.portion));
      prepared_.grid.entries = {};
    } else {
      load_pieces(users_, prepared_.users);
      users_.work = feed_.load(work_by_line(std::move(prepared_.users), plan.portion));
    }
    if (params.order == SgdOrder::kAlternating) {
      load_pieces(items_, prepared_.items);
      items_.work = feed_.load(work_by_line(std::move(prepared_.items), plan.portion));
    }
    measure(users_);
    measure(items_);
    stream_.synchronize();
  }

  double epoch(int number, double learning_rate, const RunControl& control) override {
    control.check();
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    on_host_ = false;
    move(users_, items_, number, learning_rate, control);
    if (items_.work) {
      move(items_, users_, number, learning_rate, control);
    } else {
      measure(items_);  // which moved beside the users
    }
    return objective();
  }

  const Factors& factors() override {
    if (!on_host_) {
      LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
      users_.table.download(factors_, Side::kUsers, units_, staging_, stream_);
      items_.table.download(factors_, Side::kItems, units_, staging_, stream_);
      on_host_ = true;
    }
    return factors_;
  }
  Factors take_factors() override {
    (void)factors();
    return std::move(factors_);
  }

 private:
  [[nodiscard]] MovedSide& side(Side which) { return which == Side::kUsers ? users_ : items_; }

  void load_side(Side which) {
    MovedSide& moved = side(which);
    const Offset rows = moved.order.row.size();
    std::vector<float> shares(static_cast<std::size_t>(rows));
    std::vector<float> weights(static_cast<std::size_t>(rows));
    for (Offset at = 0; at < rows; ++at) {
      const Offset count = moved.order.count[at];
      const double share = rating_decay(1.0, params_.regularization_exponent, count);
      shares[static_cast<std::size_t>(at)] = static_cast<float>(share);
      weights[static_cast<std::size_t>(at)] =
          static_cast<float>(share * static_cast<double>(count));
    }
    moved.table.upload(factors_, which, shares, units_, staging_, stream_);
    moved.weights = to_device(weights, stream_);
    moved.terms = DeviceArray<double>(rows);
  }

  void load_pieces(MovedSide& moved, const SgdRowEntries& rows) const {
    const std::vector<SgdPieces> all = pieces_of(rows);
    if (all.empty()) return;
    std::vector<SgdLongRow> long_rows;
    std::vector<float> shares(static_cast<std::size_t>(rows.lines()), 1.0F);
    for (const SgdPieces& pieces : all) {
      long_rows.push_back({pieces.row, pieces.first, pieces.last, 0.0F});
      const auto share = [&](Index line) {
        shares[static_cast<std::size_t>(line)] = static_cast<float>(
            static_cast<double>(rows.size(line)) / static_cast<double>(pieces.entries));
      };
      share(pieces.row);
      for (Index line = pieces.first; line < pieces.last; ++line) share(line);
    }
    moved.long_rows = to_device(long_rows, stream_);
    moved.piece_shares = to_device(shares, stream_);
  }

  void in_units(Array<SgdEntry>& entries) const {
    for (SgdEntry& entry : entries) entry.value /= units_.bias;
  }

  void move(MovedSide& moved, MovedSide& other, int epoch, double learning_rate,
            const RunControl& control) {
    SgdDeviceWork& work = *moved.work;
    const auto long_rows = static_cast<Index>(moved.long_rows.size());
    split_rows(half_, moved.table.table(), moved.long_rows.data(), long_rows, columns_, stream_);
    SgdSteps steps;
    steps.own = moved.table.table();
    steps.other = other.table.table();
    steps.columns = columns_;
    steps.mean = factors_.global_mean / units_.bias;
    const StepScales scales = step_scales(spread_ / double{units_.bias}, params_.factors);
    steps.rate = static_cast<float>(learning_rate * scales.rate);
    steps.bias_rate = params_.biases ? static_cast<float>(learning_rate) : 0.0F;
    steps.square_scale = static_cast<float>(scales.square);
    steps.lambda = lambda();
    steps.bias_lambda = static_cast<float>(bias_lambda(params_));
    steps.adaptive = is_adaptive(params_);
    steps.logistic = params_.loss == SgdLoss::kLogistic;
    steps.moves_other = params_.order != SgdOrder::kAlternating;
    steps.races = params_.order == SgdOrder::kRacing;
    if (steps.races) {
      steps.teams = std::max(1, std::min(users_.table.rows(), items_.table.rows()) / kRowsOfARacer);
    }
    steps.random = static_cast<std::uint32_t>(
        CounterRandom(params_.seed, kStreamSgdRounding, static_cast<std::uint64_t>(epoch))
            .next_u64());
    for (const SgdLaunch& launch : work.host.launches) {
      control.check();
      steps.entries = feed_.open(work, launch);
      steps.tasks = work.tasks.data() + launch.first_task;
      steps.losses = work.losses.data() + launch.first_task;
      if (steps.teams > 0) {
        steps.counter = counter_.data();
        fill_zero(counter_.data(), 1, stream_);
      }
      steps.count = launch.end_task - launch.first_task;
      take_sgd_steps(half_, steps, stream_);
      feed_.close();
    }
    join_rows(half_, moved.table.table(), moved.long_rows.data(), long_rows, columns_,
              moved.piece_shares.data(), stream_);
    measure(moved);
  }

  [[nodiscard]] float lambda() const {
    return static_cast<float>(params_.regularization / double{units_.bias});
  }

  void measure(MovedSide& measured) {
    measure_rows(half_, measured.table.table(), measured.table.rows(), columns_,
                 measured.weights.data(), lambda(),
                 params_.biases ? static_cast<float>(bias_lambda(params_)) : 0.0F,
                 measured.terms.data(), stream_);
  }

  [[nodiscard]] double objective() {
    double* const sums = sums_.data();
    const DeviceArray<double>& losses = users_.work->losses;
    FixedSum::run(losses.data(), losses.size(), partial_.data(), sums, stream_);
    FixedSum::run(users_.terms.data(), users_.terms.size(), partial_.data(), sums + 1, stream_);
    FixedSum::run(items_.terms.data(), items_.terms.size(), partial_.data(), sums + 2, stream_);
    copy_to_host(host_sums_.data(), sums, 3, stream_);
    stream_.synchronize();
    const double* const host = host_sums_.data();
    return double{units_.bias} * double{units_.bias} * (host[0] + host[1] + host[2]);
  }

  int device_;
  SgdParams params_;
  double spread_;
  SgdUnits units_;
  int columns_;
  bool half_;
  Factors factors_;
  bool on_host_ = true;
  Prepared prepared_;
  Stream stream_;
  Staging staging_;
  SgdFeed feed_;
  MovedSide users_;
  MovedSide items_;
  DeviceArray<Index> counter_{1};  ///< of tasks that racing teams have begun
  DeviceArray<double> partial_{FixedSum::kBlocks};
  DeviceArray<double> sums_{3};
  PinnedArray<double> host_sums_{3};
};

/// Of a matrix without entries: every row stays what it is, and a GPU has nothing to do.
class EmptySgdSolver final : public SgdSolver {
 public:
  explicit EmptySgdSolver(Factors start) : factors_(std::move(start)) {}
  double epoch(int, double, const RunControl& control) override {
    control.check();
    return 0.0;
  }
  const Factors& factors() override { return factors_; }
  Factors take_factors() override { return std::move(factors_); }

 private:
  Factors factors_;
};

[[nodiscard]] GpuSgdPlan settle(const GpuUse& use, const SgdShape& shape, const SgdParams& params) {
  LIKEWISE_CUDA_CHECK(cudaSetDevice(use.devices.front()));
  return plan_gpu_sgd(shape, params, is_half(params) ? 2 : 4, available_bytes(use.memory));
}

void refuse_what_is_missing(const SgdParams& params) {
  if (params.order == SgdOrder::kSerial) {
    throw Error(ErrorKind::kInvalidArgument,
                "order: serial is one rating after the other, which a GPU is not for; take "
                "blocked, alternating or racing, or the cpu");
  }
  if (params.factors > kMostTeamColumns) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("factors: GPUs train up to {} by SGD in this version, not {}; use the "
                            "cpu",
                            kMostTeamColumns, params.factors));
  }
}

}  // namespace
}  // namespace cuda

MemoryPlan plan_cuda_sgd(const GpuUse& use, const SgdShape& shape, const SgdParams& params) {
  cuda::refuse_what_is_missing(params);
  if (shape.interactions == 0) return {};
  return cuda::settle(use, shape, params).memory;
}

std::unique_ptr<SgdSolver> make_cuda_sgd_solver(const GpuUse& use, const CsrView& by_user,
                                                const SgdParams& params, Factors start,
                                                const SgdWhole& whole) {
  cuda::refuse_what_is_missing(params);
  if (by_user.nnz() == 0) return std::make_unique<cuda::EmptySgdSolver>(std::move(start));
  const GpuSgdPlan plan = cuda::settle(use, {by_user.rows, by_user.cols, by_user.nnz()}, params);
  return std::make_unique<cuda::CudaSgdSolver>(use.devices.front(), by_user, params,
                                               std::move(start), whole, plan);
}

}  // namespace likewise
