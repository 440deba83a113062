// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_factor_tables.h"

#include "core/system/parallel.h"

namespace likewise::cuda {
namespace {

constexpr Offset kGrain = 512;  ///< rows that a thread copies in one go
constexpr Side kSides[] = {Side::kUsers, Side::kItems};

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
    if (is_resident()) upload(side, 0, rows, tables_[s].data(), compute);
    if (!setup.biased) continue;
    biases_[s] = DeviceArray<float>(rows);
    copy_to_device(biases_[s].data(), host.bias(side).data(), rows, compute);
  }
}

float* AlsFactorTables::open(Side side, Index first, Index count, bool with_content) {
  if (is_resident()) {
    return tables_[side == Side::kItems].data() + Offset{first} * setup_.padded;
  }
  turn_ ^= 1U;
  used_[turn_].wait();
  float* const table = tables_[turn_].data();
  if (with_content) {
    upload(side, first, count, table, up_);
    loaded_.record(up_);
    loaded_.hold(compute_);
  }
  return table;
}

void AlsFactorTables::close(Side side, Index first, Index count) {
  if (is_resident()) return;
  used_[turn_].record(compute_);
  finish();
  leaving_ = {side, first, count, turn_};
}

void AlsFactorTables::finish() {
  if (!leaving_) return;
  const Rows rows = *leaving_;
  leaving_.reset();
  used_[rows.turn].hold(down_);
  download(rows.side, rows.first, rows.count, tables_[rows.turn].data(), down_);
}

void AlsFactorTables::fetch() {
  for (const Side side : kSides) {
    const auto s = static_cast<std::size_t>(side == Side::kItems);
    const Index rows = host_.side(side).rows();
    if (is_resident()) download(side, 0, rows, tables_[s].data(), compute_);
    if (setup_.biased) copy_to_host(host_.bias(side).data(), biases_[s].data(), rows, compute_);
  }
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(compute_));
}

void AlsFactorTables::upload(Side side, Index first, Index count, float* to, cudaStream_t stream) {
  const Matrix& from = host_.side(side);
  const int padded = setup_.padded;
  const auto fill = [&](float* lines, Offset begin, Offset n) {
    parallel_for(n, kGrain, [&](Offset i) {
      const float* row = from.row(static_cast<Index>(first + begin + i));
      float* line = lines + i * padded;
      std::fill(std::copy_n(row, from.cols(), line), line + padded, 0.0F);
      if (setup_.biased) line[from.cols()] = 1.0F;
    });
  };
  staging_.upload(to, count, padded, fill, stream);
}

void AlsFactorTables::download(Side side, Index first, Index count, const float* from,
                               cudaStream_t stream) {
  Matrix& to = host_.side(side);
  const auto drain = [&](const float* lines, Offset begin, Offset n) {
    parallel_for(n, kGrain, [&](Offset i) {
      std::copy_n(lines + i * setup_.padded, to.cols(),
                  to.row(static_cast<Index>(first + begin + i)));
    });
  };
  Staging& staging = is_resident() ? staging_ : returning_;
  staging.download(from, count, setup_.padded, drain, stream);
}

}  // namespace likewise::cuda
