// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_starts.h"

#include <algorithm>
#include <cstddef>

#include "backends/cuda/als/tables/als_tables.h"
#include "backends/cuda/linalg/fixed_sum.h"

namespace likewise::cuda {

AlsStarts::AlsStarts(const AlsSetup& setup, Factors& host, Staging& staging, cudaStream_t stream)
    : setup_(setup),
      host_(host),
      staging_(staging),
      most_rows_(std::max(host.users.rows(), host.items.rows())) {
  if (!setup.moves_starts || setup.plan.placement == Placement::kStreamedTables) return;
  for (const Side side : kSides) {
    const Array<std::uint16_t>& numbers = host.changes(side).numbers;
    auto& changes = changes_[side == Side::kItems];
    changes = DeviceArray<std::uint16_t>(numbers.size());
    const auto fill = [&](std::uint16_t* to, Offset first, Offset n) {
      std::copy_n(numbers.data() + first, n, to);
    };
    staging_.upload(changes.data(), numbers.size(), 1, fill, stream);
  }
  chunk_ = DeviceArray<float>(Offset{std::clamp(most_rows_, 1, kChunk)} * setup.padded);
  sums_ = DeviceArray<double>(2 * Offset{std::max(1, most_rows_)});
}

Offset AlsStarts::scratch_bytes(int padded, Index most_rows) {
  return Offset{std::min(most_rows, kChunk)} * padded * Offset{sizeof(float)} +
         2 * Offset{most_rows} * Offset{sizeof(double)};
}

template <class Inside, class Work>
void AlsStarts::by_chunks(const TableRows& rows, Inside* inside, const Work& work) {
  std::uint16_t* const changes = changes_[rows.side == Side::kItems].data();
  for (Index done = 0; done < rows.count; done += std::min(kChunk, rows.count - done)) {
    const Offset numbers = Offset{done} * setup_.padded;
    const TableRows chunk{rows.side, rows.first + done, std::min(kChunk, rows.count - done),
                          rows.table + numbers};
    work(chunk, inside + numbers, changes + Offset{chunk.first} * setup_.params.factors);
  }
}

void AlsStarts::enter(const TableRows& rows, const AlsFixedSide& fixed, float* inside,
                      cudaStream_t stream) {
  const float ratio = host_.changes(rows.side).ratio;
  if (!counts_ || ratio == 0.0F) return fixed.enter(rows.table, rows.count, inside, stream);
  by_chunks(rows, inside, [&](const TableRows& chunk, float* to, const std::uint16_t* changes) {
    move_starts(chunk.table, chunk.count, setup_.padded, setup_.params.factors, changes, ratio,
                chunk_.data(), stream);
    fixed.enter(chunk_.data(), chunk.count, to, stream);
  });
}

void AlsStarts::leave(const TableRows& rows, const AlsFixedSide& fixed, const float* inside,
                      const Offset* offsets, cudaStream_t stream) {
  const auto solve = [&](const float* from, Index count, const Offset* of, float* to) {
    fixed.leave(from, count, to, stream);
    clear_empty_rows(to, count, setup_.padded, setup_.width, of, stream);
  };
  if (!counts_) return solve(inside, rows.count, offsets, rows.table);
  by_chunks(rows, inside, [&](const TableRows& chunk, const float* from, std::uint16_t* changes) {
    solve(from, chunk.count, offsets + (chunk.first - rows.first), chunk_.data());
    keep_changes(chunk_.data(), chunk.count, setup_.padded, setup_.params.factors, chunk.table,
                 changes, sums_.data() + chunk.first, sums_.data() + most_rows_ + chunk.first,
                 stream);
  });
}

void AlsStarts::add_up(Index rows, double* partial, ChangeSums* sums, cudaStream_t stream) {
  if (!counts_) return fill_zero(sums, 1, stream);
  FixedSum::run(sums_.data(), rows, partial, &sums->now, stream);
  FixedSum::run(sums_.data() + most_rows_, rows, partial, &sums->before, stream);
}

void AlsStarts::fetch(cudaStream_t stream) {
  for (const Side side : kSides) {
    const DeviceArray<std::uint16_t>& changes = changes_[side == Side::kItems];
    Array<std::uint16_t>& numbers = host_.changes(side).numbers;
    const auto drain = [&](const std::uint16_t* from, Offset first, Offset n) {
      std::copy_n(from, n, numbers.data() + first);
    };
    staging_.download(changes.data(), changes.size(), 1, drain, stream);
  }
}

}  // namespace likewise::cuda
