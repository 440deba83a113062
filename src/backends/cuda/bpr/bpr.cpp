// SPDX-License-Identifier: Apache-2.0
/// BPR on one GPU: likes, factors and what is drawn from stay there.
#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/bpr/cells.h"
#include "backends/cuda/bpr/bpr_steps.h"
#include "backends/cuda/host/bpr_work.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/linalg/fixed_sum.h"
#include "backends/cuda/sgd/sgd_side.h"
#include "backends/cuda/sgd/sgd_steps.h"
#include "core/random.h"
#include "likewise/error.h"

namespace likewise {
namespace cuda {
namespace {

/// Rows of the smaller side for each group: fewer would lose too many steps to the race.
constexpr Index kRowsOfAGroup = 2;

[[nodiscard]] bool in_halves(const BprParams& params) {
  return params.precision != SgdPrecision::kFp32;
}

[[nodiscard]] std::vector<Index> counted_from_0(Index count) {
  std::vector<Index> numbers(static_cast<std::size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

/// The rows of a matrix on the GPU.
struct DeviceLikes {
  DeviceArray<Offset> offsets;
  DeviceArray<Index> items;

  DeviceLikes(const CsrView& likes, cudaStream_t stream)
      : offsets(Offset{likes.rows} + 1), items(likes.nnz()) {
    copy_to_device(offsets.data(), likes.offsets, offsets.size(), stream);
    copy_to_device(items.data(), likes.columns, items.size(), stream);
  }
};

class CudaBprSolver final : public BprSolver {
 public:
  CudaBprSolver(int device, const CsrView& likes, const BprParams& params, Factors start,
                const BprWhole& whole)
      : device_(device),
        params_(params),
        halves_(in_halves(params)),
        factors_(std::move(start)),
        user_order_(counted_from_0(likes.rows)),
        item_order_(counted_from_0(likes.cols)),
        staging_(Offset{32} << 20),
        likes_(likes, stream_),
        users_({0, likes.rows}, 0, columns(), halves_, user_order_),
        items_({0, likes.cols}, 0, columns(), halves_, item_order_) {
    users_.upload(factors_, Side::kUsers, std::vector<float>(user_order_.size()), {}, staging_,
                  stream_);
    items_.upload(factors_, Side::kItems, std::vector<float>(item_order_.size()), {}, staging_,
                  stream_);
    load_tasks(likes);
    load_popular(likes, whole);
    if (whole.likes != nullptr) known_.emplace(*whole.likes, stream_);
    changes_ = to_device(whole.changes, stream_);
    stream_.synchronize();
  }

  double epoch(int number, const RunControl& control) override {
    control.check();
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    on_host_ = false;
    const DeviceLikes& known = known_ ? *known_ : likes_;
    BprSteps steps;
    steps.likes = likes_.items.data();
    steps.known_offsets = known.offsets.data();
    steps.known = known.items.data();
    steps.tasks = tasks_.data();
    steps.losses = losses_.data();
    steps.count = static_cast<Index>(tasks_.size());
    steps.groups = std::max<Index>(1, std::min(users_.rows(), items_.rows()) / kRowsOfAGroup);
    steps.item_count = items_.rows();
    if (popular_.size() > 0) steps.popular = popular_.data();
    steps.tries = tries_of(params_);
    steps.changes = changes_.data();
    steps.users = users_.table();
    steps.items = items_.table();
    steps.columns = columns();
    steps.rate = static_cast<float>(params_.learning_rate);
    steps.lambda = static_cast<float>(params_.regularization);
    steps.biased = params_.biases;
    CounterRandom random(params_.seed, kStreamBprNegatives, static_cast<std::uint64_t>(number));
    steps.random = random.next_u64();
    steps.order = TurnOrder(steps.count, random);
    take_bpr_steps(halves_, steps, stream_);
    FixedSum::run(losses_.data(), losses_.size(), partial_.data(), sum_.data(), stream_);
    copy_to_host(host_sum_.data(), sum_.data(), 1, stream_);
    stream_.synchronize();
    return *host_sum_.data();
  }

  const Factors& factors() override {
    if (!on_host_) {
      LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
      users_.download({0, users_.rows()}, factors_, Side::kUsers, {}, staging_, stream_);
      items_.download({0, items_.rows()}, factors_, Side::kItems, {}, staging_, stream_);
      on_host_ = true;
    }
    return factors_;
  }
  Factors take_factors() override {
    (void)factors();
    return std::move(factors_);
  }

 private:
  [[nodiscard]] int columns() const { return gpu_sgd_columns(params_.factors); }

  void load_tasks(const CsrView& likes) {
    const std::vector<BprTask> tasks = bpr_tasks(likes);
    tasks_ = to_device(tasks, stream_);
    losses_ = DeviceArray<double>(tasks_.size());
  }

  void load_popular(const CsrView& likes, const BprWhole& whole) {
    if (params_.negatives != BprNegatives::kPopular) return;
    const PopularItems popular(
        0, whole.item_counts.empty() ? entry_counts(likes, Side::kItems) : whole.item_counts);
    popular_ = to_device(popular.places(), stream_);
  }

  int device_;
  BprParams params_;
  bool halves_;
  Factors factors_;
  bool on_host_ = true;
  std::vector<Index> user_order_;
  std::vector<Index> item_order_;
  Stream stream_;
  Staging staging_;
  DeviceLikes likes_;
  std::optional<DeviceLikes> known_;
  SgdSideTable users_;
  SgdSideTable items_;
  DeviceArray<BprTask> tasks_;
  DeviceArray<double> losses_;
  DeviceArray<PopularItems::Place> popular_;
  DeviceArray<std::uint8_t> changes_;
  DeviceArray<double> partial_{FixedSum::kBlocks};
  DeviceArray<double> sum_{1};
  PinnedArray<double> host_sum_{1};
};

/// Of a matrix without likes: every row stays what it is, and a GPU has nothing to do.
class EmptyBprSolver final : public BprSolver {
 public:
  explicit EmptyBprSolver(Factors start) : factors_(std::move(start)) {}
  double epoch(int, const RunControl& control) override {
    control.check();
    return 0.0;
  }
  const Factors& factors() override { return factors_; }
  Factors take_factors() override { return std::move(factors_); }

 private:
  Factors factors_;
};

void refuse_what_is_missing(const BprParams& params) {
  if (params.order != BprOrder::kRacing) {
    throw Error(ErrorKind::kInvalidArgument,
                "order: GPUs train bpr in the order racing in this version, not blocked; ask for "
                "it, or take the cpu");
  }
  if (params.factors > kMostGroupColumns) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("factors: GPUs train bpr up to {} in this version, not {}; use the cpu",
                            kMostGroupColumns, params.factors));
  }
}

[[nodiscard]] MemoryPlan resolve(const GpuUse& use, const SgdShape& shape,
                                 const BprParams& params) {
  LIKEWISE_CUDA_CHECK(cudaSetDevice(use.devices.front()));
  return plan_gpu_bpr(shape, params, in_halves(params) ? 2 : 4, available_bytes(use.memory));
}

}  // namespace
}  // namespace cuda

MemoryPlan plan_cuda_bpr(const GpuUse& use, const SgdShape& shape, const BprParams& params) {
  cuda::refuse_what_is_missing(params);
  if (shape.interactions == 0) return {};
  return cuda::resolve(use, shape, params);
}

std::unique_ptr<BprSolver> make_cuda_bpr_solver(const GpuUse& use, const CsrView& likes,
                                                const BprParams& params, Factors start,
                                                const BprWhole& whole) {
  cuda::refuse_what_is_missing(params);
  if (likes.nnz() == 0) return std::make_unique<cuda::EmptyBprSolver>(std::move(start));
  (void)cuda::resolve(use, {likes.rows, likes.cols, likes.nnz()}, params);
  return std::make_unique<cuda::CudaBprSolver>(use.devices.front(), likes, params, std::move(start),
                                               whole);
}

}  // namespace likewise
