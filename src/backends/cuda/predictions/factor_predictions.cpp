// SPDX-License-Identifier: Apache-2.0
/// Predictions from factors on one GPU, where the factors of all users and items lie.
#include <algorithm>
#include <mutex>
#include <vector>

#include "backends/cuda/host/prediction_plan.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/predictions/factor_ratings.h"
#include "backends/cuda/predictions/row_download.h"
#include "core/system/parallel.h"

namespace likewise {
namespace cuda {
namespace {

class CudaFactorPredictions final : public Predictions {
 public:
  CudaFactorPredictions(const GpuUse& use, const Factors& factors)
      : device_(use.devices.front()), factors_(factors), plan_(resolve(use)) {
    const Index items = factors.items.rows();
    users_ = upload(factors.users.view());
    items_ = upload(factors.items.view());
    user_bias_ = to_device(factors.user_bias.span(), stream_);
    item_bias_ = to_device(factors.item_bias.span(), stream_);
    asked_ = DeviceArray<Index>(plan_.rows);
    own_ = DeviceArray<double>(plan_.rows);
    ratings_ = DeviceArray<float>(Offset{plan_.rows} * items);
    pair_users_ = DeviceArray<Index>(kPairsAtATime);
    pair_items_ = DeviceArray<Index>(kPairsAtATime);
    pair_ratings_ = DeviceArray<float>(kPairsAtATime);
    stream_.synchronize();
  }

  void of_pairs(std::span<const Index> rows, std::span<const Index> columns, float* out,
                const RunControl& control) const override {
    const std::lock_guard lock(mutex_);
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    for (Offset at = 0; at < std::ssize(rows); at += kPairsAtATime) {
      control.check();
      const Offset count = std::min(kPairsAtATime, std::ssize(rows) - at);
      copy_to_device(pair_users_.data(), rows.data() + at, count, stream_);
      copy_to_device(pair_items_.data(), columns.data() + at, count, stream_);
      rate_pairs(tables(), pair_users_.data(), pair_items_.data(), static_cast<Index>(count),
                 pair_ratings_.data(), stream_);
      copy_to_host(out + at, pair_ratings_.data(), count, stream_);
      stream_.synchronize();
    }
  }

  double of_rows(std::span<const Index> rows, float* out) const override {
    const std::lock_guard lock(mutex_);
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    const Offset items = factors_.items.rows();
    for (Offset at = 0; at < std::ssize(rows); at += plan_.rows) {
      const auto count = static_cast<Index>(std::min<Offset>(plan_.rows, std::ssize(rows) - at));
      const auto batch =
          rows.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count));
      std::vector<double> own(batch.size());
      std::ranges::transform(batch, own.begin(),
                             [&](Index user) { return own_score(factors_, user); });
      copy_to_device(asked_.data(), batch.data(), count, stream_);
      copy_to_device(own_.data(), own.data(), count, stream_);
      download_.rows(
          ratings_.data(), count, items, stream_,
          [&](Index first, Index n) {
            rate_rows(tables(), asked_.data() + first, own_.data() + first, n,
                      ratings_.data() + first * items, stream_);
          },
          out + at * items);
    }
    return 0.0;
  }

  [[nodiscard]] MemoryPlan memory() const override { return plan_.memory; }

 private:
  [[nodiscard]] GpuFactorPlan resolve(const GpuUse& use) const {
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    return plan_gpu_factor_predictions(
        {factors_.users.rows(), factors_.items.rows(), factors_.items.cols()},
        available_bytes(use.memory));
  }

  [[nodiscard]] DeviceArray<float> upload(const MatrixView& rows) const {
    DeviceArray<float> table(Offset{rows.rows} * plan_.pitch);
    const auto fill = [&](float* to, Offset first, Offset count) {
      parallel_for(count, 256, [&](Offset r) {
        float* const row = to + r * plan_.pitch;
        std::copy_n(rows.row(static_cast<Index>(first + r)), rows.cols, row);
        std::fill(row + rows.cols, row + plan_.pitch, 0.0F);
      });
    };
    download_.staging().upload(table.data(), rows.rows, plan_.pitch, fill, stream_);
    return table;
  }

  [[nodiscard]] FactorTables tables() const {
    return {users_.data(),        items_.data(),         user_bias_.data(),     item_bias_.data(),
            factors_.global_mean, factors_.items.rows(), factors_.items.cols(), plan_.pitch};
  }

  int device_;
  const Factors& factors_;
  GpuFactorPlan plan_;
  mutable std::mutex mutex_;  ///< one call at a time uses what follows
  Stream stream_;
  mutable RowDownload download_;
  DeviceArray<float> users_;
  DeviceArray<float> items_;
  DeviceArray<float> user_bias_;  ///< none: no memory, a null pointer
  DeviceArray<float> item_bias_;
  mutable DeviceArray<Index> asked_;
  mutable DeviceArray<double> own_;
  mutable DeviceArray<float> ratings_;
  mutable DeviceArray<Index> pair_users_;
  mutable DeviceArray<Index> pair_items_;
  mutable DeviceArray<float> pair_ratings_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Predictions> make_cuda_predictions(const GpuUse& use, const Factors& factors) {
  return std::make_unique<cuda::CudaFactorPredictions>(use, factors);
}

}  // namespace likewise
