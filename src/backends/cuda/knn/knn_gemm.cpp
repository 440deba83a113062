// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/knn/knn_gemm.h"

#include <algorithm>

#include "retrieval/knn_lists.h"

namespace likewise::cuda {
namespace {

constexpr Offset kCosinesAtATime = Offset{1} << 26;

[[nodiscard]] Index rows_at_a_time(const DenseRows& table) {
  const Offset steps = kCosinesAtATime / table.rows / DenseRows::kStep;
  return static_cast<Index>(
      std::min<Offset>(table.rows, std::max<Offset>(1, steps) * DenseRows::kStep));
}

}  // namespace

GemmSearch::GemmSearch(const GpuRows& rows)
    : rows_(rows.rows),
      cols_(rows.cols),
      table_(make_dense(rows, stream_)),
      batch_(rows_at_a_time(table_)),
      room_(std::min(table_.rows, Index{kMostCandidates})),
      cosines_(Offset{batch_} * table_.rows),
      least_(batch_),
      counts_(batch_),
      candidates_(Offset{batch_} * room_),
      found_(rows_) {}

std::optional<KnnLists> GemmSearch::find(const PairNumbers& formula, const GpuRowStats& stats,
                                         const Index* rank_of, Index k, bool by_rank,
                                         const SearchPart& part, const RunControl& control) {
  // Whole tiles.
  const auto cut = [&](int number) {
    const Index tiles = table_.rows / DenseRows::kStep;
    return static_cast<Index>(Offset{tiles} * number / part.of) * DenseRows::kStep;
  };
  const Index first = std::min(rows_, cut(part.number));
  const Index end = std::min(rows_, cut(part.number + 1));
  if (lists_.size() < Offset{rows_} * k) lists_ = PinnedArray<Candidate>(Offset{rows_} * k);
  CandidateTask task{.cosines = cosines_.data(),
                     .cosine_pitch = table_.rows,
                     .error = cosine_error(table_),
                     .weights = table_.weights.data(),
                     .pitch = table_.cols,
                     .cols = cols_,
                     .rank_of = rank_of,
                     .formula = formula,
                     .stats = stats,
                     .least = least_.data(),
                     .counts = counts_.data(),
                     .candidates = candidates_.data(),
                     .room = room_,
                     .k = k,
                     .by_rank = by_rank};
  std::fill_n(found_.data(), rows_, 0);
  for (task.first = first; task.first < end; task.first += task.count) {
    control.check();
    task.count = std::min(batch_, end - task.first);
    task.found = found_.data() + task.first;
    task.lists = lists_.data() + Offset{task.first} * k;
    find_cosines(table_, task.first, std::min(batch_, cut(part.number + 1) - task.first),
                 cosines_.data(), stream_);
    list_candidates(task, stream_);
    stream_.synchronize();
    if (std::any_of(task.found, task.found + task.count, [](Index n) { return n < 0; })) {
      return std::nullopt;
    }
    control.report("neighbours", task.first - first + task.count, end - first, "rows");
  }
  return pack_knn_lists(rows_, [&](Index row) {
    return std::span<const Candidate>(lists_.data() + Offset{row} * k,
                                      static_cast<std::size_t>(found_.data()[row]));
  });
}

}  // namespace likewise::cuda
