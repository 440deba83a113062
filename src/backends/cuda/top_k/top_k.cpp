// SPDX-License-Identifier: Apache-2.0
/// Top-k on one GPU: estimates on the tensor cores make candidates, which are scored exactly.
#include "backends/top_k.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/cpu/top_k/item_panels.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/top_k/top_k_candidates.h"
#include "backends/cuda/top_k/top_k_scores.h"
#include "backends/cuda/top_k/top_k_table.h"
#include "backends/gpu/top_k_plan.h"
#include "core/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace cuda {
namespace {

/// Longer lists are sorted out of all scores.
constexpr Index kMostListed = 2048;
/// Scores of whole rows that are on their way at a time.
constexpr Offset kScoresAtATime = Offset{1} << 24;

/// The best bets first: thresholds rise early, and what follows can be left out. Of distances the
/// length says little.
[[nodiscard]] std::vector<Index> order_of(const MatrixView& items, std::span<const float> item_bias,
                                          ScoreKind score) {
  if (score == ScoreKind::kDot) return packing_order(CentredRows(items, {}), item_bias, score);
  std::vector<Index> order(static_cast<std::size_t>(items.rows));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void require_finite(const MatrixView& rows, std::span<const float> bias, const char* what) {
  std::vector<std::uint8_t> wrong(static_cast<std::size_t>(rows.rows));
  parallel_for(rows.rows, 1024, [&](Offset r) {
    const float* const row = rows.row(static_cast<Index>(r));
    bool finite = bias.empty() || std::isfinite(bias[static_cast<std::size_t>(r)]);
    for (Index j = 0; j < rows.cols; ++j) finite = finite && std::isfinite(row[j]);
    wrong[static_cast<std::size_t>(r)] = finite ? 0 : 1;
  });
  const auto first = std::ranges::find(wrong, 1);
  if (first == wrong.end()) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} {} has a number that is not finite", what, first - wrong.begin()));
}

/// The items that a call may not answer with, on the GPU.
struct DeviceFilter {
  DeviceArray<std::uint8_t> allowed;
  DeviceArray<Offset> offsets;
  DeviceArray<Index> excluded;

  void load(const CsrView& rows, Index first, Index count, Staging& staging, cudaStream_t stream) {
    if (rows.rows == 0) return;
    const Offset begin = rows.offsets[first];
    const Offset end = rows.offsets[first + count];
    if (offsets.size() < count + 1) offsets = DeviceArray<Offset>(count + 1);
    if (excluded.size() < end - begin) excluded = DeviceArray<Index>(end - begin);
    copy_to_device(offsets.data(), rows.offsets + first, count + 1, stream);
    const auto fill = [&](Index* to, Offset from, Offset n) {
      constexpr Offset kBlock = Offset{1} << 16;
      parallel_blocks(n, kBlock, [&](Offset at, Offset last, Offset) {
        std::copy(rows.columns + begin + from + at, rows.columns + begin + from + last, to + at);
      });
    };
    staging.upload(excluded.data(), end - begin, 1, fill, stream);
  }
};

/// A row of scores by place, as a list.
class RowSorter {
 public:
  RowSorter(std::span<const Index> order, const TopKFilter& filter, Index k)
      : order_(order), filter_(filter), k_(k) {}

  [[nodiscard]] std::vector<Candidate> best(const float* scores, Index query) const {
    std::span<const Index> excluded;
    if (filter_.excluded.rows > 0) excluded = filter_.excluded.row_columns(query);
    std::vector<Candidate> all;
    for (std::size_t place = 0; place < order_.size(); ++place) {
      const Index item = order_[place];
      if (!filter_.allowed.empty() && filter_.allowed[static_cast<std::size_t>(item)] == 0) {
        continue;
      }
      if (std::ranges::binary_search(excluded, item)) continue;
      all.push_back({scores[place], item});
    }
    const auto kept = std::min(all.size(), static_cast<std::size_t>(k_));
    std::ranges::partial_sort(all, all.begin() + static_cast<std::ptrdiff_t>(kept), before);
    all.resize(kept);
    return all;
  }

 private:
  std::span<const Index> order_;
  const TopKFilter& filter_;
  Index k_;
};

class CudaScorer final : public Scorer {
 public:
  CudaScorer(const GpuUse& use, const MatrixView& items, std::span<const float> item_bias,
             ScoreKind score)
      : device_(use.devices.front()),
        items_(items),
        item_bias_(item_bias),
        score_(score),
        plan_(settle(use)),
        staging_(Offset{32} << 20) {
    require_finite(items, item_bias, "item");
    order_ = order_of(items, item_bias, score);
    if (score == ScoreKind::kSquaredDistance) centre_ = centre_of(items);
    if (plan_.pieces == 1 && items.rows > 0) table_.emplace(piece(0));
  }

  [[nodiscard]] TopKResult top_k(const MatrixView& queries, Index k, const TopKFilter& filter,
                                 const RunControl& control) const override {
    check_top_k(items_, queries, k, filter);
    TopKResult result = make_top_k_result(queries.rows, k, items_.rows);
    if (result.k == 0 || queries.rows == 0) return result;
    require_finite(queries, {}, "query");
    const std::lock_guard lock(mutex_);
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    DeviceFilter on_device;
    on_device.allowed = to_device(filter.allowed, stream_);
    for (Index at = 0; at < plan_.pieces; ++at) {
      std::optional<TopKItems> own;
      const TopKItems& table = table_ ? *table_ : own.emplace(piece(at));
      search_piece({table, places(at), queries, filter, on_device, control}, at, result);
    }
    return result;
  }

  void score_all(const MatrixView& queries, float* out) const override {
    check_query_width(items_, queries);
    const std::lock_guard lock(mutex_);
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    for (Index at = 0; at < plan_.pieces; ++at) {
      std::optional<TopKItems> own;
      const TopKItems& table = table_ ? *table_ : own.emplace(piece(at));
      const std::span<const Index> order = places(at);
      for (Index first = 0; first < queries.rows; first += plan_.queries) {
        const Index count = std::min(plan_.queries, queries.rows - first);
        TopKQueries loaded(count, table.pitch);
        loaded.load(queries.slice(first, count), table, staging_, stream_);
        std::vector<Index> all(static_cast<std::size_t>(count));
        std::iota(all.begin(), all.end(), 0);
        score_rows(table, loaded, all, [&](std::size_t n, const float* scores) {
          float* const row = out + (Offset{first} + static_cast<Offset>(n)) * items_.rows;
          for (std::size_t place = 0; place < order.size(); ++place) {
            row[order[place]] = scores[place];
          }
        });
      }
    }
  }

 private:
  /// One piece of the items, and what is asked of it.
  struct Search {
    const TopKItems& table;
    std::span<const Index> order;
    const MatrixView& queries;
    const TopKFilter& filter;
    DeviceFilter& on_device;
    const RunControl& control;
  };

  [[nodiscard]] GpuTopKPlan settle(const GpuUse& use) const {
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    return plan_gpu_top_k(items_.rows, items_.cols, available_bytes(use.memory));
  }

  [[nodiscard]] std::span<const Index> places(Index piece) const {
    const Offset rows = items_.rows;
    const auto begin = static_cast<std::size_t>(rows * piece / plan_.pieces);
    const auto end = static_cast<std::size_t>(rows * (piece + 1) / plan_.pieces);
    return std::span(order_).subspan(begin, end - begin);
  }
  [[nodiscard]] TopKItems piece(Index at) const {
    return {items_, item_bias_, score_, centre_, places(at), staging_, stream_};
  }

  [[nodiscard]] static ExactItems exact(const TopKItems& table) {
    return {table.rows.data(), table.bias.size() > 0 ? table.bias.data() : nullptr,
            table.item.data(), table.count,
            table.pitch,       table.distances};
  }

  /// What a batch of queries needs on the GPU.
  struct Batch {
    TopKQueries loaded;
    int room;
    int shares;
    Index k;
    DeviceArray<float> estimates;
    DeviceArray<Index> places;
    DeviceArray<int> counts;
    DeviceArray<Index> items;
    DeviceArray<float> scores;
    DeviceArray<int> found;

    Batch(Index most, const TopKItems& table, Index lists_of)
        : loaded(most, table.pitch),
          room(room_for(lists_of)),
          shares(std::min(shares_for(most, table.count),
                          std::max(1, kMostScored / 2 / (lists_of + 64)))),
          k(lists_of) {
      if (k > kMostListed) return;
      const Offset kept = Offset{most} * shares;
      estimates = DeviceArray<float>(kept * room);
      places = DeviceArray<Index>(kept * room);
      counts = DeviceArray<int>(kept);
      items = DeviceArray<Index>(Offset{most} * k);
      scores = DeviceArray<float>(Offset{most} * k);
      found = DeviceArray<int>(most);
    }
  };

  void search_piece(const Search& search, Index piece, TopKResult& result) const {
    const Index k = std::min<Index>(result.k, search.table.count);
    const Offset bytes = (room_for(k) + Offset{k}) * Offset{sizeof(Candidate)};
    const Index fitting = static_cast<Index>(
        std::clamp<Offset>(plan_.queries * kTopKQueryBytes / bytes, 1, plan_.queries));
    const Index most = std::min(fitting, search.queries.rows);
    Batch batch(most, search.table, k);
    for (Index first = 0; first < search.queries.rows; first += most) {
      search.control.check();
      const Index count = std::min(most, search.queries.rows - first);
      batch.loaded.load(search.queries.slice(first, count), search.table, staging_, stream_);
      std::vector<Index> open;  // queries with more candidates than there is room for
      if (k <= kMostListed) {
        list_candidates(search, first, batch);
        open = take_lists(batch, first, piece == 0, result);
      } else {
        open.resize(static_cast<std::size_t>(count));
        std::iota(open.begin(), open.end(), 0);
      }
      const RowSorter sorter(search.order, search.filter, k);
      score_rows(search.table, batch.loaded, open, [&](std::size_t n, const float* scores) {
        merge(sorter.best(scores, first + open[n]), first + open[n], piece == 0, result);
      });
      search.control.report("score", Offset{piece} * search.queries.rows + first + count,
                            Offset{plan_.pieces} * search.queries.rows, "queries");
    }
  }

  void list_candidates(const Search& search, Index first, Batch& batch) const {
    const TopKItems& table = search.table;
    const TopKQueries& loaded = batch.loaded;
    search.on_device.load(search.filter.excluded, first, loaded.count, staging_, stream_);
    CandidateSearch work;
    work.queries = loaded.halves.data();
    work.numbers = loaded.numbers.data();
    work.query_count = loaded.count;
    work.items = table.halves.data();
    if (table.estimated.size() > 0) work.bias = table.estimated.data();
    work.rest = table.rest.data();
    work.item = table.item.data();
    work.item_count = table.count;
    work.pitch = table.pitch;
    if (search.filter.excluded.rows > 0) {
      work.excluded_offsets = search.on_device.offsets.data();
      work.excluded = search.on_device.excluded.data();
    }
    if (!search.filter.allowed.empty()) work.allowed = search.on_device.allowed.data();
    work.k = batch.k;
    work.kept = {batch.estimates.data(), batch.places.data(), batch.counts.data(), batch.room,
                 batch.shares};
    find_candidates(work, stream_);
    list_best(exact(table), loaded.rows.data(), loaded.count, work.kept,
              {batch.items.data(), batch.scores.data(), batch.found.data(), batch.k}, stream_);
  }

  /// The lists of queries `first`.. to the result; the queries of the batch that have none.
  [[nodiscard]] std::vector<Index> take_lists(const Batch& batch, Index first, bool first_piece,
                                              TopKResult& result) const {
    const Index count = batch.loaded.count;
    const Index k = batch.k;
    std::vector<int> found(static_cast<std::size_t>(count));
    to_host(batch.found, found.data(), count);
    std::vector<Index> open;
    for (Index q = 0; q < count; ++q) {
      if (found[static_cast<std::size_t>(q)] < 0) open.push_back(q);
    }
    if (first_piece && k == result.k) {
      to_host(batch.items, result.items.data() + Offset{first} * k, Offset{count} * k);
      to_host(batch.scores, result.scores.data() + Offset{first} * k, Offset{count} * k);
      for (Index q = 0; q < count; ++q) {
        result.counts[first + q] = std::max(0, found[static_cast<std::size_t>(q)]);
      }
      return open;
    }
    std::vector<Index> items(static_cast<std::size_t>(Offset{count} * k));
    std::vector<float> scores(items.size());
    to_host(batch.items, items.data(), std::ssize(items));
    to_host(batch.scores, scores.data(), std::ssize(scores));
    parallel_for(count, 256, [&](Offset q) {
      const int length = found[static_cast<std::size_t>(q)];
      if (length < 0) return;
      std::vector<Candidate> best(static_cast<std::size_t>(length));
      for (std::size_t at = 0; at < best.size(); ++at) {
        const auto from = static_cast<std::size_t>(q * k) + at;
        best[at] = {scores[from], items[from]};
      }
      merge(best, first + static_cast<Index>(q), first_piece, result);
    });
    return open;
  }

  template <class T>
  void to_host(const DeviceArray<T>& from, T* to, Offset count) const {
    constexpr Offset kBlock = Offset{1} << 16;
    const auto drain = [&](const T* part, Offset begin, Offset n) {
      parallel_blocks(n, kBlock, [&](Offset at, Offset end, Offset) {
        std::copy(part + at, part + end, to + begin + at);
      });
    };
    staging_.download(from.data(), count, 1, drain, stream_);
  }

  /// take(n, scores by place) for queries which[n] of those loaded. Called from many threads.
  template <class Take>
  void score_rows(const TopKItems& table, const TopKQueries& loaded,
                  const std::vector<Index>& which, const Take& take) const {
    if (which.empty()) return;
    const DeviceArray<Index> rows = to_device(which, stream_);
    const Offset at_a_time = std::clamp<Offset>(kScoresAtATime / std::max<Index>(1, table.count), 1,
                                                std::min<Offset>(rows.size(), 65'535));
    DeviceArray<float> scores(at_a_time * table.count);
    std::vector<float> on_host(static_cast<std::size_t>(scores.size()));
    for (Offset first = 0; first < rows.size(); first += at_a_time) {
      const Offset count = std::min(at_a_time, rows.size() - first);
      score_all_items(exact(table), loaded.rows.data(), rows.data() + first,
                      static_cast<Index>(count), scores.data(), stream_);
      to_host(scores, on_host.data(), count * table.count);
      parallel_for(count, 1, [&](Offset n) {
        take(static_cast<std::size_t>(first + n), on_host.data() + n * table.count);
      });
    }
  }

  /// What one piece says, with what the pieces before it said.
  static void merge(std::span<const Candidate> best, Index query, bool first, TopKResult& result) {
    if (first) return write_answer(best, query, result);
    std::vector<Candidate> all(best.begin(), best.end());
    for (Index at = 0; at < result.counts[query]; ++at) {
      const Offset from = Offset{query} * result.k + at;
      all.push_back({result.scores[from], result.items[from]});
    }
    std::ranges::sort(all, before);
    all.resize(std::min(all.size(), static_cast<std::size_t>(result.k)));
    write_answer(all, query, result);
  }

  int device_;
  MatrixView items_;
  std::span<const float> item_bias_;
  ScoreKind score_;
  std::vector<float> centre_;
  GpuTopKPlan plan_;
  std::vector<Index> order_;
  mutable std::mutex mutex_;  ///< one call at a time uses what follows
  Stream stream_;
  mutable Staging staging_;
  std::optional<TopKItems> table_;  ///< where all items fit
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Scorer> make_cuda_scorer(const GpuUse& use, const MatrixView& items,
                                         std::span<const float> item_bias, ScoreKind score) {
  check_item_table(items, item_bias, score);
  return std::make_unique<cuda::CudaScorer>(use, items, item_bias, score);
}

}  // namespace likewise
