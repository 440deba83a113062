// SPDX-License-Identifier: Apache-2.0
/// Top-k on one GPU: estimates on the tensor cores make candidates, which are scored exactly.
#include "retrieval/top_k.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/device/event.h"
#include "backends/cuda/host/top_k_plan.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/top_k/top_k_candidates.h"
#include "backends/cuda/top_k/top_k_scores.h"
#include "backends/cuda/top_k/top_k_table.h"
#include "core/first_bad.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "retrieval/top_k_order.h"

namespace likewise {
namespace cuda {
namespace {

/// Longer lists are sorted out of all scores.
constexpr Index kMostListed = 2048;
/// Scores of whole rows that are on their way at a time.
constexpr Offset kScoresAtATime = Offset{1} << 24;
/// Numbers that a thread copies in one go.
constexpr Offset kCopiedAtATime = Offset{1} << 16;
/// Lists, too.
constexpr Offset kListsAtATime = 256;
/// The best bets first: thresholds rise early, and what follows can be left out. Of distances the
/// length says little.
[[nodiscard]] std::vector<Index> order_of(const MatrixView& items, std::span<const float> item_bias,
                                          ScoreKind score) {
  if (score == ScoreKind::kDot) return packing_order(CentredRows(items, {}), item_bias, score);
  std::vector<Index> order(static_cast<std::size_t>(items.rows));
  std::iota(order.begin(), order.end(), 0);
  return order;
}

void require_finite(const MatrixView& items, std::span<const float> bias) {
  const Offset first = first_bad(items.rows, [&](Offset r) {
    const float* const row = items.row(static_cast<Index>(r));
    bool finite = bias.empty() || std::isfinite(bias[static_cast<std::size_t>(r)]);
    for (Index j = 0; j < items.cols; ++j) finite = finite && std::isfinite(row[j]);
    return !finite;
  });
  if (first < 0) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("item {} has a number that is not finite", first));
}

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

/// What a batch of queries needs on the GPU.
struct Batch {
  Batch(Index queries_, Offset lists_, Index pitch, Index k_, Offset words_)
      : most(queries_),
        lists(lists_),
        k(k_),
        words(words_),
        room(room_for(k)),
        loaded(most, pitch),
        offsets(words > 0 ? most + 1 : 0),
        denied(most * words),
        wrong(1),
        wrong_on_host(1) {
    if (k > kMostListed) return;
    places = DeviceArray<KeptPlace>(lists * room);
    counts = DeviceArray<int>(lists);
    answers = DeviceArray<Index>(most * TopKLists::words_of(k));
  }
  /// Bytes of one query.
  [[nodiscard]] static Offset bytes(Index k, Offset words) {
    return room_for(k) * Offset{sizeof(KeptPlace)} + k * Offset{sizeof(Candidate)} +
           words * Offset{sizeof(std::uint64_t)};
  }
  [[nodiscard]] bool serves(Index queries, Offset of_lists, Index of_k, Offset of_words) const {
    return queries <= most && of_lists <= lists && of_k == k && of_words == words;
  }

  Index most;    ///< queries
  Offset lists;  ///< of candidates: one for each query and share of the items
  Index k;
  Offset words;  ///< of a query's denied places; 0: alike for all
  int room;
  TopKQueries loaded;
  DeviceArray<Offset> offsets;
  DeviceArray<Index> excluded;  ///< or two numbers of 16 bits in each
  DeviceArray<std::uint64_t> denied;
  DeviceArray<int> wrong;  ///< 1: queries or their filter are not what they should be
  PinnedArray<int> wrong_on_host;
  DeviceArray<KeptPlace> places;
  DeviceArray<int> counts;
  DeviceArray<Index> answers;  ///< TopKLists
  Event uploaded;
  Event listed;
};

/// Copies on a stream of their own.
struct Copies {
  Stream stream;
  Staging staging{Offset{8} << 20};
};

class CudaScorer final : public Scorer {
 public:
  CudaScorer(const GpuUse& use, const MatrixView& items, std::span<const float> item_bias,
             ScoreKind score)
      : device_(use.devices.front()),
        items_(items),
        item_bias_(item_bias),
        score_(score),
        plan_(resolve(use)) {
    require_finite(items, item_bias);
    order_ = order_of(items, item_bias, score);
    if (score == ScoreKind::kSquaredDistance) centre_ = centre_of(items);
    if (plan_.pieces == 1 && items.rows > 0) table_.emplace(piece(0));
  }

  [[nodiscard]] TopKResult top_k(const MatrixView& queries, Index k, const TopKFilter& filter,
                                 const RunControl& control) const override {
    check_top_k(items_, queries, k, filter);
    TopKResult result = room_for_top_k(queries.rows, k, items_.rows);
    search(queries, filter, control, result);
    return result;
  }

  void top_k_into(const MatrixView& queries, const TopKFilter& filter, const RunControl& control,
                  TopKResult& result) const override {
    check_top_k(items_, queries, result.k, filter);
    search(queries, filter, control, result);
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
        loaded.load(queries.slice(first, count), up_.staging, stream_);
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
    const DeviceArray<std::uint64_t>& alike;
    const RunControl& control;
    Index piece;
    bool fills;  ///< the result is written from end to end, and has to be touched
  };

  void search(const MatrixView& queries, const TopKFilter& filter, const RunControl& control,
              TopKResult& result) const {
    if (result.k == 0 || queries.rows == 0) return set_zero(result);
    // Where the lists of the GPU are the result they fill it.
    const bool filled = plan_.pieces == 1 && result.k <= kMostListed;
    if (!filled) set_zero(result);
    const std::lock_guard lock(mutex_);
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    const DeviceArray<std::uint8_t> allowed = to_device(filter.allowed, up_.stream);
    for (Index at = 0; at < plan_.pieces; ++at) {
      std::optional<TopKItems> own;
      const TopKItems& table = table_ ? *table_ : own.emplace(piece(at));
      const DeviceArray<std::uint64_t> alike =
          denied_places(table, allowed.size() > 0 ? allowed.data() : nullptr, up_.stream);
      search_piece({table, places(at), queries, filter, alike, control, at, filled}, result);
    }
  }

  [[nodiscard]] GpuTopKPlan resolve(const GpuUse& use) const {
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    return plan_gpu_top_k(items_.rows, items_.cols, queries_at_a_time(),
                          available_bytes(use.memory));
  }

  [[nodiscard]] std::span<const Index> places(Index piece) const {
    const Offset rows = items_.rows;
    const auto begin = static_cast<std::size_t>(rows * piece / plan_.pieces);
    const auto end = static_cast<std::size_t>(rows * (piece + 1) / plan_.pieces);
    return std::span(order_).subspan(begin, end - begin);
  }
  [[nodiscard]] TopKItems piece(Index at) const {
    return {items_, item_bias_, score_, centre_, places(at), up_.staging, stream_};
  }

  [[nodiscard]] static ExactItems exact(const TopKItems& table) {
    return {table.rows.data(), table.bias.size() > 0 ? table.bias.data() : nullptr,
            table.item.data(), table.count,
            table.pitch,       table.distances};
  }

  [[nodiscard]] static int shares_of(Index queries, const TopKItems& table, Index k) {
    return std::min(shares_for(queries, table.count), std::max(1, kMostScored / 2 / (k + 64)));
  }

  /// Two batches, each for as many queries as there is memory for and the GPU can use at a time.
  void make_room(const Search& search, Index k) const {
    const Offset words = search.filter.excluded.rows > 0 ? search.table.words() : 0;
    const auto fitting = static_cast<Index>(std::clamp<Offset>(
        plan_.queries * kTopKQueryBytes / Batch::bytes(k, words), 1, plan_.queries));
    const Index most = std::min(fitting, search.queries.rows);
    const Offset lists = most * std::min<Offset>(shares_of(most, search.table, k), fitting / most);
    for (auto& batch : batches_) {
      if (batch && batch->serves(most, lists, k, words)) continue;
      batch.reset();
      batch.emplace(most, lists, search.table.pitch, k, words);
    }
  }

  void search_piece(const Search& search, TopKResult& result) const {
    const Index k = std::min<Index>(result.k, search.table.count);
    make_room(search, k);
    // While one batch is searched, the next is brought and the last is taken. What does not fill a
    // batch comes first: nothing is searched beside its way here.
    const Index most = batches_.front()->most;
    const Index rows = search.queries.rows;
    const Index turns = (rows - 1) / most + 1;
    const auto end_of = [&](Index turn) { return rows - (turns - 1 - turn) * most; };
    Index first = 0;  // of the batch before
    for (Index turn = 0; turn <= turns; ++turn) {
      search.control.check();
      const Index now = turn == 0 ? 0 : end_of(turn - 1);
      if (turn < turns) {
        begin(search, now, end_of(turn) - now, *batches_[static_cast<std::size_t>(turn % 2)]);
      }
      if (search.fills && turn == std::min(1, turns - 1)) touch(result);
      if (turn > 0) {
        finish(search, first, *batches_[static_cast<std::size_t>((turn - 1) % 2)], result);
        search.control.report("score", Offset{search.piece} * rows + now,
                              Offset{plan_.pieces} * rows, "queries");
      }
      first = now;
    }
  }

  void begin(const Search& search, Index first, Index count, Batch& batch) const {
    fill_zero(batch.wrong.data(), 1, up_.stream);
    batch.loaded.load(search.queries.slice(first, count), up_.staging, up_.stream);
    if (batch.words > 0) {
      const bool small = items_.rows <= std::numeric_limits<std::uint16_t>::max();
      small ? deny<std::uint16_t>(search, first, count, batch)
            : deny<Index>(search, first, count, batch);
    }
    batch.uploaded.record(up_.stream);
    batch.uploaded.hold(stream_);
    batch.loaded.round(search.table, batch.wrong.data(), stream_);
    if (batch.k <= kMostListed) list_candidates(search, batch);
    copy_to_host(batch.wrong_on_host.data(), batch.wrong.data(), 1, stream_);
    batch.listed.record(stream_);
  }

  /// Says what is wrong.
  [[noreturn]] void refuse(const Search& search) const {
    check_top_k_numbers(items_, search.queries, search.filter);
    throw std::logic_error("nothing is wrong with the numbers that a GPU refused");
  }

  static void set_zero(TopKResult& result) {
    const auto each_block = [](auto& array) {
      parallel_blocks(array.size(), kCopiedAtATime, [&](Offset begin, Offset end, Offset) {
        std::fill(array.begin() + begin, array.begin() + end, 0);
      });
    };
    each_block(result.items);
    each_block(result.scores);
    each_block(result.counts);
  }

  /// Has the pages of a new result in memory, while the GPU computes.
  static void touch(TopKResult& result) {
    const auto each_page = [](auto& array) {
      constexpr Offset kPage = 4096 / sizeof(array[0]);
      parallel_blocks(array.size(), 512 * kPage, [&](Offset begin, Offset end, Offset) {
        for (Offset at = begin; at < end; at += kPage) array[at] = {};
      });
    };
    each_page(result.items);
    each_page(result.scores);
  }

  /// The denied places of queries, from the items that are excluded for each: in portions.
  template <class Number>
  void deny(const Search& search, Index first, Index count, Batch& batch) const {
    const CsrView& rows = search.filter.excluded;
    std::atomic<bool> beyond = false;  // what a Number can be
    copy_to_device(batch.offsets.data(), rows.offsets + first, count + 1, up_.stream);
    for (Index done = 0; done < count;) {
      const Offset begin = rows.offsets[first + done];
      const Offset* const end =
          std::upper_bound(rows.offsets + first + done + 1, rows.offsets + first + count + 1,
                           begin + plan_.excluded);
      const Index next = std::max(done + 1, static_cast<Index>(end - rows.offsets - first - 1));
      const Offset length = rows.offsets[first + next] - begin;
      if (batch.excluded.size() < length) {
        batch.excluded = DeviceArray<Index>(std::max(length, plan_.excluded));
      }
      auto* const excluded = reinterpret_cast<Number*>(batch.excluded.data());
      const auto fill = [&](Number* to, Offset from, Offset n) {
        parallel_blocks(n, kCopiedAtATime, [&](Offset at, Offset last, Offset) {
          std::uint32_t bits = 0;
          for (Offset i = at; i < last; ++i) {
            const auto item = static_cast<std::uint32_t>(rows.columns[begin + from + i]);
            to[i] = static_cast<Number>(item);
            bits |= item;
          }
          if (bits > static_cast<std::uint32_t>(std::numeric_limits<Number>::max())) beyond = true;
        });
      };
      up_.staging.upload(excluded, length, 1, fill, up_.stream);
      deny_excluded(search.table, search.alike.data(), batch.offsets.data() + done, excluded,
                    next - done, batch.denied.data() + Offset{done} * batch.words,
                    batch.wrong.data(), up_.stream);
      done = next;
    }
    if (beyond) refuse(search);
  }

  void list_candidates(const Search& search, Batch& batch) const {
    const TopKItems& table = search.table;
    const TopKQueries& loaded = batch.loaded;
    CandidateSearch work;
    work.queries = loaded.halves.data();
    work.numbers = loaded.numbers.data();
    work.query_count = loaded.count;
    work.items = table.halves.data();
    if (table.estimated.size() > 0) work.bias = table.estimated.data();
    work.rest = table.rest.data();
    work.item_count = table.count;
    work.pitch = table.pitch;
    work.denied = search.alike.data();
    if (batch.words > 0) {
      work.denied = batch.denied.data();
      work.denied_pitch = batch.words;
    }
    work.k = batch.k;
    const int shares = static_cast<int>(
        std::min<Offset>(shares_of(loaded.count, table, batch.k), batch.lists / loaded.count));
    work.kept = {batch.places.data(), batch.counts.data(), batch.room, shares};
    work.sampled = sampled_tiles(batch.k, batch.room, shares, table.count);
    work.spread = table.distances;
    find_candidates(work, stream_);
    list_best(exact(table), loaded.rows.data(), loaded.count, work.kept,
              {batch.answers.data(), batch.k}, stream_);
  }

  void finish(const Search& search, Index first, const Batch& batch, TopKResult& result) const {
    batch.listed.wait();
    if (batch.wrong_on_host.data()[0] != 0) refuse(search);
    std::vector<Index> open;  // queries with more candidates than there is room for
    if (batch.k <= kMostListed) {
      open = take_lists(batch, first, search.piece == 0, result);
    } else {
      open.resize(static_cast<std::size_t>(batch.loaded.count));
      std::iota(open.begin(), open.end(), 0);
    }
    const RowSorter sorter(search.order, search.filter, batch.k);
    score_rows(search.table, batch.loaded, open, [&](std::size_t n, const float* scores) {
      const Index query = first + open[n];
      merge(sorter.best(scores, query), query, search.piece == 0, result);
    });
  }

  /// The lists of queries `first`.. to the result; the queries of the batch that have none.
  [[nodiscard]] std::vector<Index> take_lists(const Batch& batch, Index first, bool first_piece,
                                              TopKResult& result) const {
    const Index k = batch.k;
    std::vector<std::uint8_t> is_open(static_cast<std::size_t>(batch.loaded.count));
    const auto drain = [&](const Index* words, Offset begin, Offset n) {
      parallel_for(n, kListsAtATime, [&](Offset i) {
        const Index* const items = words + i * TopKLists::words_of(k);
        const auto* const scores = reinterpret_cast<const float*>(items + k);
        const Index found = items[2 * k];
        const auto query = static_cast<Index>(first + begin + i);
        is_open[static_cast<std::size_t>(begin + i)] = found < 0 ? 1 : 0;
        if (first_piece && k == result.k) {
          std::copy_n(items, k, result.items.data() + Offset{query} * k);
          std::copy_n(scores, k, result.scores.data() + Offset{query} * k);
          result.counts[query] = std::max(0, found);
        } else if (found >= 0) {
          std::vector<Candidate> best(static_cast<std::size_t>(found));
          for (std::size_t at = 0; at < best.size(); ++at) best[at] = {scores[at], items[at]};
          merge(best, query, first_piece, result);
        }
      });
    };
    down_.staging.download(batch.answers.data(), batch.loaded.count, TopKLists::words_of(k), drain,
                           down_.stream);
    std::vector<Index> open;
    for (Index q = 0; q < batch.loaded.count; ++q) {
      if (is_open[static_cast<std::size_t>(q)] != 0) open.push_back(q);
    }
    return open;
  }

  template <class T>
  static void to_host(const DeviceArray<T>& from, T* to, Offset count, Copies& down) {
    const auto drain = [&](const T* part, Offset begin, Offset n) {
      parallel_blocks(n, kCopiedAtATime, [&](Offset at, Offset end, Offset) {
        std::copy(part + at, part + end, to + begin + at);
      });
    };
    down.staging.download(from.data(), count, 1, drain, down.stream);
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
      scored_.record(stream_);
      scored_.hold(down_.stream);
      to_host(scores, on_host.data(), count * table.count, down_);
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
  mutable Copies up_;
  mutable Copies down_;
  mutable Event scored_;
  mutable std::array<std::optional<Batch>, 2> batches_;  ///< of the last call
  std::optional<TopKItems> table_;                       ///< where all items fit
};

}  // namespace
}  // namespace cuda

std::unique_ptr<Scorer> make_cuda_scorer(const GpuUse& use, const MatrixView& items,
                                         std::span<const float> item_bias, ScoreKind score) {
  check_item_table(items, item_bias, score);
  return std::make_unique<cuda::CudaScorer>(use, items, item_bias, score);
}

}  // namespace likewise
