// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_factor_tables.h"

#include <span>
#include <utility>
#include <vector>

#include "core/system/parallel.h"

namespace likewise::cuda {
namespace {

constexpr Offset kGrain = 512;  ///< rows that a thread copies in one go

}  // namespace

AlsFactorTables::AlsFactorTables(const AlsSetup& setup, Factors& host, Staging& staging,
                                 cudaStream_t compute)
    : setup_(setup),
      host_(host),
      staging_(staging),
      returning_(Offset{std::max(host.users.rows(), host.items.rows())} * setup.padded *
                 Offset{sizeof(float)}),
      compute_(compute) {
  for (const Side side : kSides) {
    const auto s = static_cast<std::size_t>(side == Side::kItems);
    const Index rows = host.side(side).rows();
    tables_[s] =
        DeviceArray<float>(Offset{is_resident() ? rows : setup.plan.block_rows} * setup.padded);
    if (is_resident()) upload(side, 0, rows, false, tables_[s].data(), compute);
    if (!setup.biased) continue;
    biases_[s] = DeviceArray<float>(rows);
    copy_to_device(biases_[s].data(), host.bias(side).data(), rows, compute);
  }
}

float* AlsFactorTables::open(Side side, Index first, Index count, Content content) {
  if (is_resident()) {
    return tables_[side == Side::kItems].data() + Offset{first} * setup_.padded;
  }
  turn_ ^= 1U;
  used_[turn_].wait();
  float* const table = tables_[turn_].data();
  if (content != Content::kNothing) {
    upload(side, first, count, content == Content::kStarts, table, up_);
    loaded_.record(up_);
    loaded_.hold(compute_);
  }
  return table;
}

void AlsFactorTables::close(Side side, Index first, Index count, Content content) {
  if (is_resident()) return;
  used_[turn_].record(compute_);
  hand_back();
  leaving_ = {side, first, count, turn_, content == Content::kStarts};
}

ChangeSums AlsFactorTables::finish() {
  hand_back();
  return std::exchange(changes_, {});
}

void AlsFactorTables::hand_back() {
  if (!leaving_) return;
  const Rows rows = *leaving_;
  leaving_.reset();
  used_[rows.turn].hold(down_);
  download(rows, tables_[rows.turn].data(), down_);
}

void AlsFactorTables::fetch() {
  for (const Side side : kSides) {
    const auto s = static_cast<std::size_t>(side == Side::kItems);
    const Index rows = host_.side(side).rows();
    if (is_resident()) download({side, 0, rows, 0, false}, tables_[s].data(), compute_);
    if (setup_.biased) copy_to_host(host_.bias(side).data(), biases_[s].data(), rows, compute_);
  }
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(compute_));
}

void AlsFactorTables::upload(Side side, Index first, Index count, bool moved, float* to,
                             cudaStream_t stream) {
  const Matrix& from = host_.side(side);
  const RowChanges& changes = host_.changes(side);
  const int padded = setup_.padded;
  const auto fill = [&](float* lines, Offset begin, Offset n) {
    parallel_for(n, kGrain, [&](Offset i) {
      const Offset at = first + begin + i;
      const float* row = from.row(static_cast<Index>(at));
      float* line = lines + i * padded;
      std::fill(std::copy_n(row, from.cols(), line), line + padded, 0.0F);
      if (moved) {
        const std::uint16_t* change = changes.numbers.data() + at * from.cols();
        for (Index c = 0; c < from.cols(); ++c) {
          line[c] = moved_start(row[c], changes.ratio, change[c]);
        }
      }
      if (setup_.biased) line[from.cols()] = 1.0F;
    });
  };
  staging_.upload(to, count, padded, fill, stream);
}

void AlsFactorTables::download(const Rows& rows, const float* from, cudaStream_t stream) {
  Matrix& to = host_.side(rows.side);
  Array<std::uint16_t>& changes = host_.changes(rows.side).numbers;
  const auto drain = [&](const float* lines, Offset begin, Offset n) {
    std::vector<ChangeSums> sums(rows.counts ? static_cast<std::size_t>(n) : 0);
    parallel_for(n, kGrain, [&](Offset i) {
      const Offset at = rows.first + begin + i;
      const float* line = lines + i * setup_.padded;
      const std::span<float> row = to.row_span(static_cast<Index>(at));
      if (rows.counts) {
        sums[static_cast<std::size_t>(i)] =
            note_changes(row, line, changes.data() + at * to.cols());
      }
      std::copy_n(line, to.cols(), row.begin());
    });
    for (const ChangeSums& of_row : sums) changes_ += of_row;
  };
  Staging& staging = is_resident() ? staging_ : returning_;
  staging.download(from, rows.count, setup_.padded, drain, stream);
}

}  // namespace likewise::cuda
