// SPDX-License-Identifier: Apache-2.0
/// Lists by dense weights on one GPU, where B lies between calls.
#include <algorithm>
#include <mutex>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "backends/cuda/device/staging.h"
#include "backends/cuda/ease/weight_sums.h"
#include "backends/cuda/host/weight_lists_plan.h"
#include "backends/cuda/jobs.h"
#include "core/system/parallel.h"
#include "retrieval/top_k.h"

namespace likewise {
namespace cuda {
namespace {

constexpr Offset kWeightStaging = Offset{32} << 20;
/// Rows of weights, and lists, that a thread copies in one go.
constexpr Offset kRowsAtATime = 16;
constexpr Offset kListsAtATime = 256;

/// Rows of a matrix from `first` on, that with the most entries first.
[[nodiscard]] std::vector<Index> longest_first(const CsrView& rows, Index first, Index count) {
  std::vector<Index> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{},
                           [&](Index row) { return rows.row_size(first + row); });
  return order;
}

/// The k best of a row of scores.
[[nodiscard]] std::vector<Candidate> best_of(std::span<const float> scores, Index k) {
  std::vector<Candidate> all;
  for (std::size_t item = 0; item < scores.size(); ++item) {
    if (scores[item] != kNoScore) all.push_back({scores[item], static_cast<Index>(item)});
  }
  const auto kept = std::min(all.size(), static_cast<std::size_t>(k));
  std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept), before);
  all.resize(kept);
  return all;
}

class CudaWeightLists final : public WeightLists {
 public:
  CudaWeightLists(const GpuUse& use, const MatrixView& weights)
      : device_(use.devices.front()), items_(weights), plan_(resolve(use)) {
    weights_ = DeviceArray<float>(Offset{weights.rows} * plan_.pitch);
    const auto fill = [&](float* to, Offset first, Offset count) {
      parallel_for(count, kRowsAtATime, [&](Offset r) {
        float* const line = to + r * plan_.pitch;
        const float* const row = weights.row(static_cast<Index>(first + r));
        std::fill(std::copy_n(row, weights.cols, line), line + plan_.pitch, 0.0F);
      });
    };
    staging_.upload(weights_.data(), weights.rows, plan_.pitch, fill, stream_);
    stream_.synchronize();
  }

  [[nodiscard]] TopKResult top_k(const CsrView& histories, Index k, const TopKFilter& filter,
                                 const RunControl& control) const override {
    check_top_k(items_, {nullptr, histories.rows, histories.cols, histories.cols}, k, filter);
    TopKResult result = make_top_k_result(histories.rows, k, items_.rows);
    if (result.k == 0 || histories.rows == 0) return result;
    const std::lock_guard lock(mutex_);
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    const DeviceArray<std::uint8_t> allowed = to_device(filter.allowed, stream_);
    for (Index first = 0; first < histories.rows;) {
      control.check();
      const Index end = end_of_histories(plan_, histories, filter.excluded, first);
      list(histories, {first, end}, filter.excluded, allowed.data(), result);
      control.report("score", end, histories.rows, "queries");
      first = end;
    }
    return result;
  }

 private:
  /// Histories [first, end).
  struct Rows {
    Index first;
    Index end;
    [[nodiscard]] Index count() const { return end - first; }
  };

  [[nodiscard]] WeightListsPlan resolve(const GpuUse& use) const {
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    return plan_gpu_weight_lists(items_.rows, available_bytes(use.memory));
  }

  void list(const CsrView& histories, Rows rows, const CsrView& excluded,
            const std::uint8_t* allowed, TopKResult& result) const {
    const std::vector<Index> order = longest_first(histories, rows.first, rows.count());
    WeightSums sums = load(histories, rows, order);
    sums.allowed = allowed;
    if (excluded.rows > 0) load_excluded(excluded, rows, sums);
    float* const scores = room_for(scores_, Offset{rows.count()} * plan_.pitch);
    int* const infinite = room_for(infinite_, rows.count());
    fill_zero(infinite, rows.count(), stream_);
    sum_weights(sums, scores, infinite, stream_);
    if (result.k > kMostGpuListed) return sort_out(scores, infinite, rows, result);
    Index* const answers = room_for(answers_, rows.count() * TopKLists::words_of(result.k));
    list_scores(sums, scores, infinite, {answers, result.k}, stream_);
    take_lists(answers, rows, result);
  }

  [[nodiscard]] WeightSums load(const CsrView& histories, Rows rows,
                                const std::vector<Index>& order) const {
    const Offset begin = histories.offsets[rows.first];
    const Offset entries = histories.offsets[rows.end] - begin;
    WeightSums sums;
    sums.weights = weights_.data();
    sums.items = items_.rows;
    sums.pitch = plan_.pitch;
    sums.rows = rows.count();
    sums.order = upload_into(order_, order.data(), rows.count(), stream_);
    sums.offsets =
        upload_into(offsets_, histories.offsets + rows.first, Offset{rows.count()} + 1, stream_);
    sums.entry_items = upload_into(entry_items_, histories.columns + begin, entries, stream_);
    sums.values = upload_into(values_, histories.values + begin, entries, stream_);
    return sums;
  }

  void load_excluded(const CsrView& excluded, Rows rows, WeightSums& sums) const {
    const Offset begin = excluded.offsets[rows.first];
    sums.excluded_offsets = upload_into(excluded_offsets_, excluded.offsets + rows.first,
                                        Offset{rows.count()} + 1, stream_);
    sums.excluded = upload_into(excluded_, excluded.columns + begin,
                                excluded.offsets[rows.end] - begin, stream_);
  }

  void take_lists(const Index* answers, Rows rows, TopKResult& result) const {
    static_assert(KeptPlaces::kTooMany == kUndecided);
    const Index k = result.k;
    const auto drain = [&](const Index* words, Offset begin, Offset n) {
      parallel_for(n, kListsAtATime, [&](Offset i) {
        const Index* const items = words + i * TopKLists::words_of(k);
        const Offset query = rows.first + begin + i;
        std::copy_n(items, k, result.items.data() + query * k);
        std::copy_n(reinterpret_cast<const float*>(items + k), k, result.scores.data() + query * k);
        result.counts[query] = items[2 * Offset{k}];
      });
    };
    staging_.download(answers, rows.count(), TopKLists::words_of(k), drain, stream_);
  }

  /// Lists that are too long for the GPU.
  void sort_out(const float* scores, const int* infinite, Rows rows, TopKResult& result) const {
    std::vector<int> open(static_cast<std::size_t>(rows.count()));
    copy_to_host(open.data(), infinite, rows.count(), stream_);
    stream_.synchronize();
    const auto drain = [&](const float* lines, Offset begin, Offset n) {
      parallel_for(n, 1, [&](Offset i) {
        const auto query = static_cast<Index>(rows.first + begin + i);
        const std::span line(lines + i * plan_.pitch, static_cast<std::size_t>(items_.rows));
        write_answer(best_of(line, result.k), query, result);
        if (open[static_cast<std::size_t>(begin + i)] != 0) result.counts[query] = kUndecided;
      });
    };
    staging_.download(scores, rows.count(), plan_.pitch, drain, stream_);
  }

  int device_;
  MatrixView items_;  ///< of which only the shape is asked
  WeightListsPlan plan_;
  mutable std::mutex mutex_;  ///< one call at a time uses what follows
  Stream stream_;
  mutable Staging staging_{kWeightStaging};
  DeviceArray<float> weights_;
  mutable DeviceArray<Index> order_;
  mutable DeviceArray<Offset> offsets_;
  mutable DeviceArray<Index> entry_items_;
  mutable DeviceArray<float> values_;
  mutable DeviceArray<Offset> excluded_offsets_;
  mutable DeviceArray<Index> excluded_;
  mutable DeviceArray<float> scores_;
  mutable DeviceArray<int> infinite_;
  mutable DeviceArray<Index> answers_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<WeightLists> make_cuda_weight_lists(const GpuUse& use, const MatrixView& weights) {
  return std::make_unique<cuda::CudaWeightLists>(use, weights);
}

}  // namespace likewise
