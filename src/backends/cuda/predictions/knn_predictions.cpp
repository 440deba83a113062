// SPDX-License-Identifier: Apache-2.0
/// Predictions from neighbours on one GPU: similarities are computed there and stay there.
#include <algorithm>
#include <mutex>
#include <vector>

#include "algorithms/knn/placed_rows.h"
#include "algorithms/knn/similarity.h"
#include "backends/cuda/host/prediction_plan.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/knn/gpu_search.h"
#include "backends/cuda/predictions/knn_ratings.h"
#include "backends/cuda/predictions/row_download.h"
#include "backends/jobs/pair_batches.h"
#include "core/system/parallel.h"
#include "core/system/seconds.h"

namespace likewise {
namespace cuda {
namespace {

/// The lists that predictions are made from, on the GPU.
struct KeptOnGpu {
  DeviceArray<Offset> offsets;
  DeviceArray<Index> rows;
  DeviceArray<float> similarities;
};

/// What belongs to RatingTables.
struct TablesOnGpu {
  DeviceArray<RowLevel> levels;
  DeviceArray<ColumnLevel> column_levels;
  DeviceArray<Offset> starts;
  DeviceArray<Index> places;
  DeviceArray<float> deviations;
  DeviceArray<Index> column_of;
  DeviceArray<Offset> offsets;
  DeviceArray<Index> raters;
  DeviceArray<float> rater_deviations;
};

template <class T>
[[nodiscard]] DeviceArray<T> copy_of(const T* from, Offset count, cudaStream_t stream) {
  return to_device(std::span<const T>(from, static_cast<std::size_t>(count)), stream);
}

/// Where the cells of each row begin, and the end of the last.
[[nodiscard]] std::vector<Offset> cell_starts(const CsrView& rows, const GpuRatingPlan& plan) {
  const Offset width = Offset{kStripColumns} * plan.strips_of_cell;
  std::vector<Offset> starts(static_cast<std::size_t>(Offset{rows.rows} * (plan.cells + 1)));
  parallel_for(rows.rows, 64, [&](Offset row) {
    Offset* const start = starts.data() + row * (plan.cells + 1);
    const auto places = rows.row_columns(static_cast<Index>(row));
    auto at = places.begin();
    for (Index cell = 0; cell <= plan.cells; ++cell) {
      at = std::lower_bound(at, places.end(), cell * width);
      start[cell] = rows.offsets[row] + (at - places.begin());
    }
  });
  return starts;
}

class CudaKnnPredictions final : public Predictions {
 public:
  CudaKnnPredictions(const GpuUse& use, const GpuInfo& gpu, const KnnModel& model)
      : device_(use.devices.front()), model_(model), plan_(resolve(use)) {
    if (model.kept == nullptr) {
      search_ = make_gpu_search(device_, gpu, model.problem);
    } else {
      const KnnLists& kept = *model.kept;
      kept_ = {copy_of(kept.offsets.data(), kept.offsets.size(), stream_),
               copy_of(kept.rows.data(), kept.rows.size(), stream_),
               copy_of(kept.similarities.data(), kept.similarities.size(), stream_)};
    }
    upload();
    const Offset most = plan_.rows;
    asked_ = DeviceArray<Index>(most);
    similarities_ = DeviceArray<float>(most * all());
    near_ = DeviceArray<std::uint64_t>(most * plan_.keys);
    ratings_ = DeviceArray<float>(most * columns());
    pair_rows_ = DeviceArray<Index>(kPairsAtATime);
    pair_columns_ = DeviceArray<Index>(kPairsAtATime);
    pair_ratings_ = DeviceArray<float>(kPairsAtATime);
    spare_keys_ = DeviceArray<std::uint64_t>(Offset{plan_.pair_blocks} * plan_.pair_keys);
  }

  void of_pairs(std::span<const Index> rows, std::span<const Index> columns, float* out,
                const RunControl& control) const override {
    const std::lock_guard lock(mutex_);
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    for_pair_batches(rows, static_cast<std::size_t>(plan_.rows), [&](const PairBatch& batch) {
      control.check();
      const RatingRows asked = load(batch.rows);
      std::vector<Index> places;  // of the pairs' rows in the batch
      for (std::size_t r = 0; r < batch.rows.size(); ++r) {
        places.insert(places.end(), batch.pairs_of(r).size(), static_cast<Index>(r));
      }
      const std::size_t begin = batch.starts.front();
      for (std::size_t at = 0; at < places.size(); at += kPairsAtATime) {
        const std::size_t count =
            std::min(static_cast<std::size_t>(kPairsAtATime), places.size() - at);
        rate(asked, std::span(places).subspan(at, count), batch.order.subspan(begin + at, count),
             columns, out);
      }
    });
  }

  double of_rows(std::span<const Index> rows, float* out) const override {
    const std::lock_guard lock(mutex_);
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    double seconds = 0.0;
    const auto most = static_cast<std::size_t>(plan_.rows);
    for (std::size_t at = 0; at < rows.size(); at += most) {
      const auto batch = rows.subspan(at, std::min(most, rows.size() - at));
      RatingRows asked;
      seconds += seconds_of([&] { asked = load(batch); });
      sort_near(tables_, asked, stream_);
      download_.rows(
          ratings_.data(), asked.count, columns(), stream_,
          [&](Index first, Index count) {
            walk_rows(tables_, asked, first, count, ratings_.data(), stream_);
          },
          out + static_cast<Offset>(at) * columns());
    }
    return seconds;
  }

  [[nodiscard]] MemoryPlan memory() const override { return plan_.memory; }

 private:
  [[nodiscard]] Index all() const { return model_.ratings.by_column().cols; }
  [[nodiscard]] Index columns() const { return model_.ratings.by_column().rows; }

  [[nodiscard]] GpuRatingPlan resolve(const GpuUse& use) const {
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    const CsrView by_column = model_.ratings.by_column();
    GpuRatingShape shape;
    shape.rows = all();
    shape.columns = columns();
    shape.entries = by_column.nnz();
    for (Index c = 0; c < columns(); ++c) {
      shape.longest = std::max(shape.longest, by_column.row_size(c));
    }
    shape.most_asked = model_.ratings.numbers().most_asked;
    if (model_.kept != nullptr) shape.kept = model_.kept->rows.size();
    shape.search = model_.kept == nullptr ? gpu_search_bytes(model_.problem) : 0;
    return plan_gpu_knn_predictions(shape, available_bytes(use.memory));
  }

  void upload() {
    const KnnRatings& ratings = model_.ratings;
    const CsrView by_column = ratings.by_column();
    std::vector<RowLevel> levels(static_cast<std::size_t>(all()));
    for (Index r = 0; r < all(); ++r) levels[static_cast<std::size_t>(r)] = ratings.level(r);
    std::vector<ColumnLevel> column_levels(static_cast<std::size_t>(columns()));
    for (Index c = 0; c < columns(); ++c) {
      column_levels[static_cast<std::size_t>(c)] = {ratings.column_bias(c),
                                                    by_column.row_size(c) > 0};
    }
    const PlacedRows placed = place_rows(ratings);
    own_.levels = to_device(levels, stream_);
    own_.column_levels = to_device(column_levels, stream_);
    own_.starts = to_device(cell_starts(placed.rows.view(), plan_), stream_);
    own_.places = copy_of(placed.rows.columns.data(), placed.rows.nnz(), stream_);
    own_.deviations = copy_of(placed.rows.values.data(), placed.rows.nnz(), stream_);
    own_.column_of = to_device(placed.columns, stream_);
    own_.offsets = columns() == 0 ? DeviceArray<Offset>()
                                  : copy_of(by_column.offsets, Offset{columns()} + 1, stream_);
    own_.raters = copy_of(by_column.columns, by_column.nnz(), stream_);
    own_.rater_deviations = copy_of(by_column.values, by_column.nnz(), stream_);
    tables_ = {ratings.numbers(),
               all(),
               columns(),
               own_.levels.data(),
               own_.column_levels.data(),
               plan_.strips,
               plan_.strips_of_cell,
               plan_.cells,
               own_.starts.data(),
               own_.places.data(),
               own_.deviations.data(),
               own_.column_of.data(),
               own_.offsets.data(),
               own_.raters.data(),
               own_.rater_deviations.data()};
  }

  /// Some rows with their similarities, not yet sorted.
  [[nodiscard]] RatingRows load(std::span<const Index> rows) const {
    const auto count = static_cast<Index>(rows.size());
    copy_to_device(asked_.data(), rows.data(), count, stream_);
    if (search_ != nullptr) {
      search_->similarities_on_gpu(rows, similarities_.data(), stream_);
    } else {
      scatter_kept(kept_.offsets.data(), kept_.rows.data(), kept_.similarities.data(),
                   asked_.data(), count, all(), similarities_.data(), stream_);
      stream_.synchronize();
    }
    return {asked_.data(), count, similarities_.data(), near_.data(), plan_.keys};
  }

  /// Pairs numbers[i] of all, whose rows have these places.
  void rate(const RatingRows& rows, std::span<const Index> places,
            std::span<const std::size_t> numbers, std::span<const Index> columns,
            float* out) const {
    std::vector<Index> asked(numbers.size());
    std::ranges::transform(numbers, asked.begin(), [&](std::size_t p) { return columns[p]; });
    std::vector<float> ratings(numbers.size());
    const Offset count = std::ssize(numbers);
    copy_to_device(pair_rows_.data(), places.data(), count, stream_);
    copy_to_device(pair_columns_.data(), asked.data(), count, stream_);
    const RatingPairs pairs{pair_rows_.data(), pair_columns_.data(), static_cast<Index>(count),
                            plan_.pair_keys,   spare_keys_.data(),   plan_.pair_blocks};
    rate_pairs(tables_, rows, pairs, pair_ratings_.data(), stream_);
    copy_to_host(ratings.data(), pair_ratings_.data(), count, stream_);
    stream_.synchronize();
    for (std::size_t i = 0; i < numbers.size(); ++i) out[numbers[i]] = ratings[i];
  }

  int device_;
  KnnModel model_;
  GpuRatingPlan plan_;
  mutable std::mutex mutex_;  ///< one call at a time uses what follows
  Stream stream_;
  mutable RowDownload download_;
  std::unique_ptr<GpuSearch> search_;  ///< null: predictions are made from the kept lists
  KeptOnGpu kept_;
  TablesOnGpu own_;
  RatingTables tables_;
  mutable DeviceArray<Index> asked_;
  mutable DeviceArray<float> similarities_;
  mutable DeviceArray<std::uint64_t> near_;
  mutable DeviceArray<float> ratings_;
  mutable DeviceArray<Index> pair_rows_;
  mutable DeviceArray<Index> pair_columns_;
  mutable DeviceArray<float> pair_ratings_;
  mutable DeviceArray<std::uint64_t> spare_keys_;
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Predictions> make_cuda_predictions(const GpuUse& use, const GpuInfo& gpu,
                                                   const KnnModel& model) {
  return std::make_unique<cuda::CudaKnnPredictions>(use, gpu, model);
}

}  // namespace likewise
