// SPDX-License-Identifier: Apache-2.0
/// The K nearest rows on one GPU. The rows go there once and stay; lists come back.
#include "likewise/knn.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "algorithms/knn/similarity.h"
#include "backends/cuda/host/gpu_knn_cost.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/knn/gpu_search.h"
#include "backends/cuda/knn/knn_gemm.h"
#include "backends/cuda/knn/knn_search.h"
#include "core/system/parallel.h"
#include "retrieval/knn_lists.h"
#include "retrieval/nearest_rows.h"

namespace likewise {
namespace cuda {
namespace {

/// Between two looks at whether to stop: entries of rows compared, bytes of lists or scores.
constexpr Offset kEntriesAtATime = Offset{1} << 25;
constexpr Offset kBytesAtATime = Offset{1} << 28;
/// Bytes of the sums of queries that come in parts, and entries of a part at least.
constexpr Offset kPartBytes = Offset{1} << 26;
constexpr Offset kLeastPart = 1024;

/// Statistics of some rows, on the GPU.
class RowStatsOnGpu {
 public:
  RowStatsOnGpu() = default;
  /// `row_at(i)`: whose statistics are the i-th of `count`.
  template <class RowAt>
  RowStatsOnGpu(std::span<const RowStats> stats, std::size_t count, const RowAt& row_at,
                cudaStream_t stream)
      : count_(count) {
    std::vector<double> numbers(4 * count);
    for (std::size_t i = 0; i < count; ++i) {
      const RowStats& row = stats[static_cast<std::size_t>(row_at(i))];
      numbers[i] = row.norm;
      numbers[count + i] = row.count;
      numbers[2 * count + i] = row.damped_count;
      numbers[3 * count + i] = row.noise;
    }
    numbers_ = to_device(numbers, stream);
  }

  [[nodiscard]] const double* norms() const { return numbers_.data(); }
  [[nodiscard]] const double* counts() const { return numbers_.data() + count_; }
  [[nodiscard]] const double* damped_counts() const { return numbers_.data() + 2 * count_; }
  [[nodiscard]] const double* noises() const { return numbers_.data() + 3 * count_; }

 private:
  std::size_t count_ = 0;
  DeviceArray<double> numbers_;
};

/// What a search takes beside the rows; kept from one to the next, as memory costs more than a
/// small search.
struct SearchMemory {
  Stream stream;
  DeviceArray<unsigned int> next{1};
  DeviceArray<Candidate> lists;
  DeviceArray<Index> found;
  DeviceArray<std::uint64_t> keys;
  DeviceArray<QueryPart> parts;
  DeviceArray<float> part_sums;
  DeviceArray<unsigned int> arrived;
};

/// Rows first, first + step, ... of a list that has the longest first.
struct Queries {
  std::span<const Index> rows;
  Index first = 0;
  Index step = 1;
  Index count = 0;

  [[nodiscard]] Index row(Index place) const {
    return rows[static_cast<std::size_t>(first + place * step)];
  }
  /// Where the one at `at` of the list stands among them; -1: nowhere.
  [[nodiscard]] Index place_of(Index at) const {
    return at >= first && (at - first) % step == 0 ? (at - first) / step : -1;
  }
};

/// Lists of queries, at most k long.
struct QueryLists {
  QueryLists(Index queries, Index most)
      : k(most), lists(Array<Candidate>::uninitialized(Offset{queries} * most)), found(queries) {}
  [[nodiscard]] std::span<const Candidate> of(Index place) const {
    return {lists.data() + Offset{place} * k, static_cast<std::size_t>(found[place])};
  }

  Index k;
  Array<Candidate> lists;
  Array<Index> found;
};

class CudaKnnSearch final : public GpuSearch {
 public:
  CudaKnnSearch(int device, const GpuInfo& gpu, const SimilarityProblem& problem)
      : device_(device),
        gpu_(gpu),
        formula_(problem.formula()),
        rows_(problem.rows()),
        order_(by_falling_length(rows_.weights)) {
    if (rows_.weights.nnz() == 0) return;
    const Stream stream;
    gpu_rows_ = upload(rows_.weights, stream);
    stats_ = RowStatsOnGpu(
        rows_.stats, order_.size(), [&](std::size_t rank) { return order_[rank]; }, stream);
    x_log_x_ = to_device(formula_.logarithms, stream);
    ranks_.resize(order_.size());
    for (std::size_t rank = 0; rank < order_.size(); ++rank) {
      ranks_[static_cast<std::size_t>(order_[rank])] = static_cast<Index>(rank);
    }
    rank_of_ = to_device(ranks_, stream);
    row_at_ = to_device(order_, stream);
    in_float_ = exact_in_float(stream);
    ties_ = tie_rule(formula_, rows_);
    common_ = common_entries(gpu_rows_, stream);
  }

  [[nodiscard]] KnnLists find_part(const SearchPart& part, Index k,
                                   const RunControl& control) const override {
    const Index rows = rows_.weights.rows;
    k = std::min(k, std::max<Index>(0, rows - 1));
    if (k == 0 || rows_.weights.nnz() == 0) {
      return pack_knn_lists(rows, [](Index) { return std::span<const Candidate>(); });
    }
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    if (ties_ == TieRule::kCount) {
      const KnnLists found = find_similar(part, std::min(k + 1, rows - 1), control);
      return settle_ties(rows_.weights, found, k,
                         [&](const RowsWithTies& ties) { return find_tied(ties, k, control); });
    }
    KnnLists found = find_similar(part, k, control);
    if (ties_ == TieRule::kLongerRow) {
      parallel_for(found.rows.size(), Offset{1} << 14, [&](Offset e) {
        found.rows[e] = order_[static_cast<std::size_t>(found.rows[e])];
      });
    }
    return found;
  }

  void similarities(const WeightedRows& queries, float* out) const override {
    const Index rows = rows_.weights.rows;
    const Offset numbers = Offset{queries.weights.rows} * rows;
    if (numbers == 0) return;
    if (rows_.weights.nnz() == 0 || queries.weights.nnz() == 0) {
      std::fill_n(out, numbers, 0.0F);
      return;
    }
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    const Stream stream;
    const GpuRows asked = upload(queries.weights, stream);
    const RowStatsOnGpu stats(
        queries.stats, queries.stats.size(), [](std::size_t i) { return i; }, stream);
    // An outside row's weights may not be multiples of what the others are.
    SearchTask task = task_over(segments(sums_of(formula_.sums), 8));
    task.offsets = asked.offsets.data();
    task.columns = asked.columns.data();
    task.weights = asked.weights.data();
    task.norms = stats.norms();
    task.counts = stats.counts();
    task.noises = stats.noises();
    score_all(task, queries.weights.rows, out, stream);
  }

  void similarities_on_gpu(std::span<const Index> rows, float* out,
                           const Stream& stream) const override {
    if (rows.empty()) return;
    if (rows_.weights.nnz() == 0) {
      fill_zero(out, std::ssize(rows) * rows_.weights.rows, stream);
      return stream.synchronize();
    }
    const DeviceArray<Index> order = to_device(rows, stream);
    const RowStatsOnGpu stats = stats_of(rows, stream);
    SearchTask task = task_of_rows(segments(sums_of(formula_.sums), number_bytes()), order, stats);
    task.count = static_cast<Index>(rows.size());
    task.scores = out;
    DeviceArray<unsigned int> next(1);
    fill_zero(next.data(), 1, stream);
    task.next = next.data();
    search_rows(task, search_blocks(task.plan), stream);
    stream.synchronize();
  }

 private:
  /// Whether every sum over common entries is exact in float32: the weights are multiples of a
  /// power of two and their squares stay small.
  [[nodiscard]] bool exact_in_float(cudaStream_t stream) const {
    const int places = binary_places(gpu_rows_.weights, stream);
    if (places > 8) return false;
    double largest = 0.0;
    for (const RowStats& row : rows_.stats) {
      largest = std::max({largest, row.norm * row.norm, row.count});
    }
    return std::ldexp(largest, 2 * places) < 0x1p24;
  }

  /// Of a sum.
  [[nodiscard]] int number_bytes() const { return in_float_ ? 4 : 8; }

  [[nodiscard]] RowStatsOnGpu stats_of(std::span<const Index> rows, const Stream& stream) const {
    return {rows_.stats, rows.size(), [&](std::size_t i) { return rows[i]; }, stream};
  }

  /// The entries for so many sums in numbers of so many bytes; made when they are first wanted.
  [[nodiscard]] const SegmentTable& segments(int sums, int number_bytes) const {
    const std::lock_guard lock(mutex_);
    std::optional<SegmentTable>& table = segments_[{sums, number_bytes}];
    if (!table) {
      const Stream stream;
      const TilePlan plan =
          plan_tiles(rows_.weights.rows, sums, number_bytes, search_shared_memory());
      table = make_segments(gpu_rows_, rank_of_, plan, stream);
    }
    return *table;
  }

  [[nodiscard]] PairNumbers gpu_formula() const {
    PairNumbers formula = formula_;
    formula.x_log_x = x_log_x_.data();
    return formula;
  }
  [[nodiscard]] GpuRowStats gpu_stats() const {
    return {stats_.norms(), stats_.counts(), stats_.damped_counts(), stats_.noises(),
            row_at_.data()};
  }

  [[nodiscard]] SearchTask task_over(const SegmentTable& table) const {
    SearchTask task;
    task.rows = rows_.weights.rows;
    task.cols = rows_.weights.cols;
    task.plan = table.plan;
    task.starts = table.starts.data();
    task.entries = table.entries.data();
    task.formula = gpu_formula();
    task.stats = gpu_stats();
    return task;
  }

  /// Rows of the problem, listed in `order`, against all.
  [[nodiscard]] SearchTask task_of_rows(const SegmentTable& table, const DeviceArray<Index>& order,
                                        const RowStatsOnGpu& stats) const {
    SearchTask task = task_over(table);
    task.offsets = gpu_rows_.offsets.data();
    task.columns = gpu_rows_.columns.data();
    task.weights = gpu_rows_.weights.data();
    task.order = order.data();
    task.norms = stats.norms();
    task.counts = stats.counts();
    task.noises = stats.noises();
    return task;
  }

  /// The k most similar, k >= 1, ties to the smaller row; by ranks, ties to the smaller one, where
  /// the longer row is the nearer.
  [[nodiscard]] KnnLists find_similar(const SearchPart& part, Index k,
                                      const RunControl& control) const {
    if (!takes_products(k, control)) return find_sparse(part, k, control);
    if (std::optional<KnnLists> lists = find_by_gemm(part, k, control)) return std::move(*lists);
    // Other parts may have theirs by products, which are cut in another way: only a whole search is
    // sure to have the rows that they leave.
    return find_sparse({}, k, control);
  }

  /// A part: every so many-th, as rows next to each other in the order of lengths cost about the
  /// same.
  [[nodiscard]] Queries queries_of(const SearchPart& part) const {
    const Index rows = rows_.weights.rows;
    const Index count = std::max(0, rows - part.number + part.of - 1) / part.of;
    return {order_, part.number, part.of, count};
  }

  /// Says what it chose.
  [[nodiscard]] bool takes_products(Index k, const RunControl& control) const {
    const TilePlan plan = plan_tiles(rows_.weights.rows, sums_of(formula_.sums), number_bytes(),
                                     search_shared_memory());
    const KnnWork work{rows_.weights.rows,
                       rows_.weights.cols,
                       rows_.weights.nnz(),
                       common_,
                       plan.sums,
                       plan.tiles,
                       k,
                       gemm_can(gpu_formula(), k)};
    const KnnCost cost = gpu_knn_cost(work, gpu_);
    control.remark(describe(cost));
    return cost.takes_dense();
  }

  [[nodiscard]] KnnLists find_sparse(const SearchPart& part, Index k,
                                     const RunControl& control) const {
    const Queries queries = queries_of(part);
    SearchTask task =
        task_of_rows(segments(sums_of(formula_.sums), number_bytes()), row_at_, stats_);
    task.by_rank = ties_ == TieRule::kLongerRow;
    const QueryLists lists = find_all(task, queries, k, "neighbours", control);
    return pack_knn_lists(rows_.weights.rows, [&](Index row) {
      const Index place = queries.place_of(ranks_[static_cast<std::size_t>(row)]);
      return place < 0 ? std::span<const Candidate>() : lists.of(place);
    });
  }

  /// As FindTied, k at most; they are counted again.
  [[nodiscard]] std::vector<std::vector<Index>> find_tied(const RowsWithTies& ties, Index k,
                                                          const RunControl& control) const {
    std::vector<std::size_t> places(ties.rows.size());
    std::iota(places.begin(), places.end(), std::size_t{0});
    std::ranges::sort(places, {}, [&](std::size_t place) {
      return ranks_[static_cast<std::size_t>(ties.rows[place])];
    });
    std::vector<Index> rows;
    std::vector<float> similarities;
    for (const std::size_t place : places) {
      rows.push_back(ties.rows[place]);
      similarities.push_back(ties.similarities[place]);
    }
    constexpr int kLeastSums = 4;  // the first of four counts common entries
    const Stream stream;
    const DeviceArray<Index> order = to_device(rows, stream);
    const DeviceArray<float> tied = to_device(similarities, stream);
    const RowStatsOnGpu stats = stats_of(rows, stream);
    SearchTask task = task_of_rows(
        segments(std::max(kLeastSums, sums_of(formula_.sums)), number_bytes()), order, stats);
    task.tied = tied.data();
    const QueryLists lists =
        find_all(task, {rows, 0, 1, static_cast<Index>(rows.size())}, k, "ties", control);
    std::vector<std::vector<Index>> found(places.size());
    for (std::size_t i = 0; i < places.size(); ++i) {
      for (const Candidate& one : lists.of(static_cast<Index>(i))) {
        found[places[i]].push_back(one.item);
      }
    }
    return found;
  }

  /// Nothing where a row has too many candidates. What it needs is made when it is first wanted.
  [[nodiscard]] std::optional<KnnLists> find_by_gemm(const SearchPart& part, Index k,
                                                     const RunControl& control) const {
    const std::lock_guard lock(products_mutex_);
    if (!gemm_) gemm_.emplace(gpu_rows_);
    return gemm_->find(gpu_formula(), gpu_stats(), rank_of_.data(), k, ties_ == TieRule::kLongerRow,
                       part, control);
  }

  /// How many of the ranks from the `done`-th on are compared without a look at whether to stop.
  [[nodiscard]] Index batch_size(const Queries& queries, Index done, Index k) const {
    const Offset most = std::max<Offset>(1, kBytesAtATime / (Offset{k} * 8));
    Offset entries = 0;
    Index end = done;
    while (end < queries.count && end - done < most && entries < kEntriesAtATime) {
      entries += rows_.weights.row_size(queries.row(end));
      ++end;
    }
    return end - done;
  }

  /// The longest queries of a batch in parts: those that would take a block more than half of its
  /// share of all, which the others would wait for.
  [[nodiscard]] std::vector<QueryPart> long_parts(const Queries& queries, Index done, Index count,
                                                  int sums_of_pair, int blocks) const {
    if (!in_float_) return {};
    Offset entries = 0;
    for (Index q = 0; q < count; ++q) entries += rows_.weights.row_size(queries.row(done + q));
    const Offset piece = std::max(kLeastPart, entries / blocks / 4);
    const Offset sums = Offset{sums_of_pair} * rows_.weights.rows * Offset{sizeof(float)};
    std::vector<QueryPart> parts;
    for (Index q = 0; q < std::min<Offset>(count, kPartBytes / sums); ++q) {
      const Index row = queries.row(done + q);
      const Offset size = rows_.weights.row_size(row);
      if (size <= 2 * piece) break;  // all others are as short
      const auto number = static_cast<Index>((size + piece - 1) / piece);
      const Offset begin = rows_.weights.offsets[row];
      for (Index p = 0; p < number; ++p) {
        parts.push_back({q, number, begin + size * p / number, begin + size * (p + 1) / number});
      }
    }
    return parts;
  }

  [[nodiscard]] QueryLists find_all(SearchTask& task, const Queries& queries, Index k,
                                    const char* stage, const RunControl& control) const {
    const Index count = queries.count;
    QueryLists lists(count, k);
    if (count == 0) return lists;
    const std::lock_guard lock(memory_mutex_);
    if (!memory_) memory_.emplace();
    SearchMemory& memory = *memory_;
    const Stream& stream = memory.stream;
    task.k = k;
    task.key_capacity = key_capacity(k);
    const int blocks = search_blocks(task.plan);
    const auto most =
        static_cast<Index>(std::min<Offset>(count, kBytesAtATime / (Offset{task.k} * 8) + 1));
    task.next = memory.next.data();
    task.lists = room_for(memory.lists, Offset{most} * k);
    task.found = room_for(memory.found, most);
    task.spare_keys = room_for(
        memory.keys, task.key_capacity > kSharedKeys ? Offset{blocks} * task.key_capacity : 0);
    // Short lists are copied with what lies behind them.
    fill_zero(task.lists, Offset{most} * k, stream);
    task.step = queries.step;
    for (Index done = 0; done < count; done += task.count) {
      control.check();
      task.first = queries.first + done * queries.step;
      task.count = batch_size(queries, done, k);
      const std::vector<QueryPart> parts =
          long_parts(queries, done, task.count, task.plan.sums, blocks);
      task.part_count = static_cast<Index>(parts.size());
      task.shared = parts.empty() ? 0 : parts.back().query + 1;
      const Offset sums = Offset{task.shared} * task.plan.sums * task.rows;
      task.parts = upload_into(memory.parts, parts.data(), std::ssize(parts), stream);
      task.part_sums = room_for(memory.part_sums, sums);
      task.arrived = room_for(memory.arrived, task.shared);
      fill_zero(task.part_sums, sums, stream);
      fill_zero(task.arrived, task.shared, stream);
      fill_zero(task.next, 1, stream);
      search_rows(task, blocks, stream);
      copy_to_host(lists.lists.data() + Offset{done} * k, task.lists, Offset{task.count} * k,
                   stream);
      copy_to_host(lists.found.data() + done, task.found, task.count, stream);
      stream.synchronize();
      control.report(stage, done + task.count, count, "rows");
    }
    return lists;
  }

  void score_all(SearchTask& task, Index queries, float* out, const Stream& stream) const {
    const int blocks = search_blocks(task.plan);
    const Index most =
        static_cast<Index>(std::clamp<Offset>(kBytesAtATime / (Offset{task.rows} * 4), 1, queries));
    DeviceArray<unsigned int> next(1);
    DeviceArray<float> scores(Offset{most} * task.rows);
    task.next = next.data();
    task.scores = scores.data();
    for (task.first = 0; task.first < queries; task.first += task.count) {
      task.count = std::min(most, queries - task.first);
      fill_zero(next.data(), 1, stream);
      search_rows(task, blocks, stream);
      copy_to_host(out + Offset{task.first} * task.rows, scores.data(),
                   Offset{task.count} * task.rows, stream);
      stream.synchronize();
    }
  }

  int device_;
  GpuInfo gpu_;
  const PairFormula& formula_;
  WeightedRows rows_;
  std::vector<Index> order_;  ///< rank -> row
  std::vector<Index> ranks_;  ///< row -> rank
  GpuRows gpu_rows_;
  RowStatsOnGpu stats_;
  DeviceArray<double> x_log_x_;
  DeviceArray<Index> rank_of_;
  DeviceArray<Index> row_at_;
  bool in_float_ = false;
  TieRule ties_ = TieRule::kSmallerRow;
  double common_ = 0.0;  ///< pairs of entries in one column
  mutable std::mutex mutex_;
  /// By the number of sums and the bytes of each.
  mutable std::map<std::pair<int, int>, std::optional<SegmentTable>> segments_;
  mutable std::mutex memory_mutex_;
  mutable std::optional<SearchMemory> memory_;
  mutable std::mutex products_mutex_;
  mutable std::optional<GemmSearch> gemm_;
};

}  // namespace

std::unique_ptr<GpuSearch> make_gpu_search(int device, const GpuInfo& gpu,
                                           const SimilarityProblem& problem) {
  LIKEWISE_CUDA_CHECK(cudaSetDevice(device));
  return std::make_unique<CudaKnnSearch>(device, gpu, problem);
}

Offset gpu_search_bytes(const SimilarityProblem& problem) {
  const CsrView weights = problem.rows().weights;
  // Of float64 sums, which take more tiles; the entries lie there by row and by tile.
  const TilePlan plan =
      plan_tiles(weights.rows, sums_of(problem.formula().sums), 8, search_shared_memory());
  constexpr Offset kEntry = sizeof(SlotEntry);
  constexpr Offset kRow = 4 * sizeof(double) + 2 * sizeof(Index) + sizeof(Offset);
  constexpr Offset kScratch = kPartBytes + (Offset{1} << 20);  // of sums over the segments
  return 2 * kEntry * weights.nnz() + kRow * (Offset{weights.rows} + 1) +
         Offset{sizeof(Offset)} * (Offset{plan.tiles} * weights.cols + 1) +
         Offset{sizeof(double)} * std::ssize(problem.formula().logarithms) + kScratch;
}

}  // namespace cuda

std::unique_ptr<KnnSearch> make_cuda_knn_search(int device, const GpuInfo& gpu,
                                                const SimilarityProblem& problem) {
  return cuda::make_gpu_search(device, gpu, problem);
}

}  // namespace likewise
