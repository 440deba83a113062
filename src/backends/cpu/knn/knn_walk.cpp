// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/knn/knn_walk.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "algorithms/knn/placed_rows.h"
#include "backends/jobs/knn_rows.h"
#include "core/lazy.h"
#include "core/system/instruction_set.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

using kernels::kWordColumns;
using kernels::WalkStart;
using kernels::WalkSums;
using kernels::WeightedRow;

/// Words of a block: their sums stay in the first cache.
constexpr Index kBlockWords = 16;

/// What a thread needs for a row.
struct Scratch {
  std::vector<std::uint64_t> keys;
  std::vector<std::uint64_t> sorted;
  std::vector<WeightedRow> near;
  std::vector<WalkSums> sums;
  std::vector<std::uint32_t> left;
  std::vector<std::uint64_t> open;
  std::vector<Offset> open_columns;  ///< of each block
};

/// Sorts by the upper 32 bits, keeping the order of what is equal there; `other` has the same size.
void sort_by_similarity(std::vector<std::uint64_t>& keys, std::vector<std::uint64_t>& other) {
  constexpr std::size_t kFew = 512;
  if (keys.size() < kFew) {
    std::ranges::sort(keys);  // the lower bits rise
    return;
  }
  constexpr unsigned kDigit = 11;
  constexpr std::size_t kValues = std::size_t{1} << kDigit;
  constexpr std::size_t kDigits = 3;
  const auto digit = [](std::uint64_t key, std::size_t d) {
    return static_cast<std::size_t>(key >> (32 + d * kDigit)) % kValues;
  };
  std::uint32_t counts[kDigits][kValues] = {};
  for (const std::uint64_t key : keys) {
    for (std::size_t d = 0; d < kDigits; ++d) ++counts[d][digit(key, d)];
  }
  other.resize(keys.size());
  for (std::size_t d = 0; d < kDigits; ++d) {
    std::exclusive_scan(counts[d], counts[d] + kValues, counts[d], 0U);
    for (const std::uint64_t key : keys) other[counts[d][digit(key, d)]++] = key;
    keys.swap(other);
  }
}

/// Whom x may ask, best first, ties to the smaller row.
void sort_rows(Index own, std::span<const float> similarities, Scratch& scratch) {
  scratch.keys.clear();
  for (std::size_t v = 0; v < similarities.size(); ++v) {
    if (similarities[v] == 0.0F || static_cast<Index>(v) == own) continue;
    scratch.keys.push_back(KnnRatings::key_of(similarities[v], static_cast<std::uint32_t>(v)));
  }
  sort_by_similarity(scratch.keys, scratch.sorted);
  scratch.near.resize(scratch.keys.size());
  std::ranges::transform(scratch.keys, scratch.near.begin(), [&](std::uint64_t key) {
    const auto v = static_cast<std::uint32_t>(key);
    return WeightedRow{static_cast<Index>(v), similarities[v]};
  });
}

}  // namespace

KnnWalk::KnnWalk(const KnnRatings& ratings) : ratings_(ratings) {
  (void)chosen_target();  // applies LIKEWISE_ISA before the first kernel runs
  PlacedRows placed = place_rows(ratings);
  places_.resize(placed.columns.size());
  for (std::size_t place = 0; place < places_.size(); ++place) {
    places_[static_cast<std::size_t>(placed.columns[place])] = static_cast<Index>(place);
  }
  cut_into_words(placed.rows.view());
  deviations_ = std::move(placed.rows.values);
}

void KnnWalk::cut_into_words(const CsrView& rows) {
  const Index words = (rows.cols + kWordColumns - 1) / kWordColumns;
  // No more starts than entries, except for a few.
  block_words_ = kBlockWords;
  const auto blocks = [&] { return (words + block_words_ - 1) / block_words_; };
  while (Offset{rows.rows} * blocks() > rows.nnz() && block_words_ < words) block_words_ *= 2;
  blocks_ = blocks();
  const auto word_of = [&](Offset entry) { return rows.columns[entry] / kWordColumns; };
  const auto begins_word = [&](Index row, Offset entry) {
    return entry == rows.offsets[row] || word_of(entry) != word_of(entry - 1);
  };
  std::vector<Offset> first_words(static_cast<std::size_t>(rows.rows) + 1);
  parallel_for(rows.rows, 64, [&](Offset row) {
    Offset count = 0;
    for (Offset e = rows.offsets[row]; e < rows.offsets[row + 1]; ++e) {
      count += begins_word(static_cast<Index>(row), e) ? 1 : 0;
    }
    first_words[static_cast<std::size_t>(row) + 1] = count;
  });
  std::partial_sum(first_words.begin(), first_words.end(), first_words.begin());
  words_.resize(static_cast<std::size_t>(first_words.back()));
  masks_.resize(words_.size());
  starts_.resize(static_cast<std::size_t>(Offset{rows.rows} * (blocks_ + 1)));
  parallel_for(rows.rows, 64, [&](Offset row) {
    WalkStart* start = starts_.data() + row * (blocks_ + 1);
    WalkStart* const last = start + blocks_;
    Offset word = first_words[static_cast<std::size_t>(row)] - 1;
    Index block = 0;  // the next that has no start yet
    for (Offset e = rows.offsets[row]; e < rows.offsets[row + 1]; ++e) {
      if (begins_word(static_cast<Index>(row), e)) {
        ++word;
        words_[static_cast<std::size_t>(word)] = static_cast<std::uint32_t>(word_of(e));
        for (; block <= word_of(e) / block_words_; ++block) *start++ = {word, e};
      }
      masks_[static_cast<std::size_t>(word)] |= std::uint64_t{1}
                                                << (rows.columns[e] % kWordColumns);
    }
    for (; start <= last; ++start) *start = {word + 1, rows.offsets[row + 1]};
  });
}

bool KnnWalk::pays(const KnnRatings& ratings, std::span<const Index> columns) {
  // predict() looks at every rater of a column; a walk sorts the rows and looks at some words of
  // theirs.
  const CsrView by_column = ratings.by_column();
  Offset raters = 0;
  for (const Index column : columns) raters += by_column.row_size(column);
  return raters > 8 * Offset{by_column.cols};
}

void KnnWalk::predict(const RowLevel& x, Index own, const float* similarities,
                      std::span<const Index> columns, float* out) const {
  thread_local Scratch scratch;
  const CsrView by_column = ratings_.by_column();
  const auto asks = [&](Index column) {
    return static_cast<std::uint32_t>(
        std::min<Offset>(ratings_.numbers().most_asked, by_column.row_size(column)));
  };
  sort_rows(own, {similarities, static_cast<std::size_t>(by_column.cols)}, scratch);
  const Offset words = Offset{blocks_} * block_words_;
  scratch.sums.resize(static_cast<std::size_t>(words * kWordColumns));
  scratch.left.resize(scratch.sums.size());
  scratch.open.assign(static_cast<std::size_t>(words), 0);
  scratch.open_columns.assign(static_cast<std::size_t>(blocks_), 0);
  for (const Index column : columns) {
    const auto place = static_cast<std::size_t>(places_[static_cast<std::size_t>(column)]);
    scratch.sums[place] = {};
    scratch.left[place] = asks(column);
    const std::size_t word = place / kWordColumns;
    const std::uint64_t bit = std::uint64_t{1} << (place % kWordColumns);
    if (scratch.left[place] == 0 || (scratch.open[word] & bit) != 0) continue;
    scratch.open[word] |= bit;
    ++scratch.open_columns[word / static_cast<std::size_t>(block_words_)];
  }
  const kernels::WalkRows rows{starts_.data(), blocks_, words_.data(), masks_.data(),
                               deviations_.data()};
  for (Index block = 0; block < blocks_; ++block) {
    const Offset open = scratch.open_columns[static_cast<std::size_t>(block)];
    if (open == 0) continue;
    kernels::walk_block(rows, block, scratch.near, open,
                        {scratch.sums.data(), scratch.left.data(), scratch.open.data()});
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const auto place = static_cast<std::size_t>(places_[static_cast<std::size_t>(columns[i])]);
    const WalkSums& sums = scratch.sums[place];
    out[i] = ratings_.rating(x, ratings_.raters(columns[i]),
                             {sums.products, sums.weights, asks(columns[i]) - scratch.left[place]});
  }
}

struct KnnRows::Walk {
  Lazy<KnnWalk> tables;
};

KnnRows::KnnRows(const KnnRatings& ratings) : ratings_(ratings), walk_(std::make_unique<Walk>()) {}

KnnRows::~KnnRows() = default;

void KnnRows::predict(const RowLevel& x, Index own, const float* similarities,
                      std::span<const Index> columns, float* out) const {
  if (KnnWalk::pays(ratings_, columns)) {
    const KnnWalk& walk = walk_->tables.get([&] { return std::make_unique<KnnWalk>(ratings_); });
    return walk.predict(x, own, similarities, columns, out);
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out[i] = ratings_.predict(x, own, ratings_.raters(columns[i]), similarities);
  }
}

}  // namespace likewise
