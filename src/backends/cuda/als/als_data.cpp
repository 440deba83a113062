// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "algorithms/als/weights.h"
#include "backends/cuda/als/als_entries.h"
#include "backends/cuda/als/als_side.h"
#include "backends/cuda/device/attributes.h"
#include "backends/gpu/als_tuning.h"
#include "core/parallel.h"

namespace likewise::cuda {
namespace {

/// Launches are cut so that a portion stays under this: whoever cancels waits for two of them.
constexpr double kPortionSeconds = 0.25;

/// Products of a multiprocessor in a second, at the least.
[[nodiscard]] double product_rate(const AlsSetup& setup) {
  switch (setup.precision) {
    case Precision::kFp32:
      return 1e11;
    case Precision::kTf32:
      return 3e11;
    default:
      return 1e12;
  }
}

[[nodiscard]] double portion_work(const AlsSetup& setup) {
  const double products = 2.0 * setup.padded * setup.padded;  // for each interaction
  return kPortionSeconds * multiprocessor_count() * product_rate(setup) / products;
}

[[nodiscard]] std::span<const Offset> offsets_of(const CsrView& matrix) {
  return {matrix.offsets, static_cast<std::size_t>(matrix.rows) + 1};
}

[[nodiscard]] float largest_value(const CsrView& matrix) {
  constexpr Offset kBlock = Offset{1} << 18;
  const Offset blocks = (matrix.nnz() + kBlock - 1) / kBlock;
  std::vector<float> largest(static_cast<std::size_t>(blocks));
  parallel_blocks(matrix.nnz(), kBlock, [&](Offset begin, Offset end, Offset block) {
    float most = 0.0F;
    for (Offset i = begin; i < end; ++i) most = std::max(most, std::abs(matrix.values[i]));
    largest[static_cast<std::size_t>(block)] = most;
  });
  return largest.empty() ? 0.0F : *std::ranges::max_element(largest);
}

[[nodiscard]] DeviceArray<Offset> upload_offsets(const CsrView& matrix, Staging& staging,
                                                 cudaStream_t stream) {
  DeviceArray<Offset> offsets(Offset{matrix.rows} + 1);
  const auto fill = [&](Offset* to, Offset first, Offset count) {
    std::copy_n(matrix.offsets + first, count, to);
  };
  staging.upload(offsets.data(), offsets.size(), 1, fill, stream);
  return offsets;
}

}  // namespace

AlsSetup::AlsSetup(const AlsParams& given, const AlsTuning& chosen)
    : params(given),
      tuning(chosen),
      exact(als_work(given).exact),
      precision(als_work(given).precision),
      width(als_width(given)),
      biased(width > given.factors),
      padded(chosen.columns) {}

AlsData::AlsData(const CsrView& by_user, const AlsSetup& setup, Staging& staging,
                 cudaStream_t stream) {
  if (setup.plan.placement == Placement::kResident) {
    load_resident(by_user, setup, staging, stream);
  } else {
    load_streamed(by_user, staging, stream);
  }
  const TaskLimits limits{setup.tuning.short_rows, setup.tuning.piece, setup.plan.block_rows,
                          setup.plan.portion_entries, portion_work(setup)};
  const std::span<const Offset> by_row[] = {offsets_of(by_user), item_offsets_.span()};
  const bool streamed = setup.plan.placement != Placement::kResident;
  EntryFeed feed(setup.params, streamed ? setup.plan.portion_entries : 0, staging, stream);
  for (const int s : {0, 1}) {
    AlsSide& side = sides_[s];
    side.plan =
        plan_rows(side.rows, by_row[s], setup.params, setup.tuning, limits, feed, staging, stream);
    if (!setup.is_explicit()) find_largest(side, feed, stream);
  }
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
  if (setup.is_explicit()) {
    const float largest = largest_value(by_user);
    target_scale_ = std::exp2(std::ceil(std::log2(std::max(1e-30F, 4.0F * largest))));
  }
}

void AlsData::load_resident(const CsrView& by_user, const AlsSetup& setup, Staging& staging,
                            cudaStream_t stream) {
  DeviceRows& users = sides_[0].rows;
  users = {by_user.rows,
           by_user.cols,
           by_user.nnz(),
           upload_offsets(by_user, staging, stream),
           DeviceArray<RowEntry>(by_user.nnz()),
           {}};
  load_entries(by_user, 0, users.nnz, setup.params, users.entries.data(), staging, stream);
  sides_[1].rows = transpose_rows(users, offsets_of(by_user), setup.plan.transpose_entries, stream);
  item_offsets_ = Array<Offset>::uninitialized(Offset{by_user.cols} + 1);
  copy_to_host(item_offsets_.data(), sides_[1].rows.offsets.data(), item_offsets_.size(), stream);
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void AlsData::load_streamed(const CsrView& by_user, Staging& staging, cudaStream_t stream) {
  by_item_ = transpose(by_user);
  item_offsets_ = by_item_.offsets.clone();
  const CsrView both[] = {by_user, by_item_.view()};
  for (const int s : {0, 1}) {
    sides_[s].rows = {
        both[s].rows, both[s].cols, both[s].nnz(), upload_offsets(both[s], staging, stream),
        {},           both[s]};
  }
}

void AlsData::find_largest(AlsSide& side, EntryFeed& feed, cudaStream_t stream) {
  RowPlan& plan = side.plan;
  plan.largest = DeviceArray<float>(side.rows.rows);
  fill_zero(plan.largest.data(), side.rows.rows, stream);
  for (std::size_t portion = 0; portion < plan.portions.size(); ++portion) {
    const RowEntry* entries = feed.open(side.rows, plan.portions[portion]);
    raise_largest(plan, portion, entries, plan.largest.data(), stream);
    feed.close();
  }
  round_largest(plan.largest.data(), side.rows.rows, stream);
}

}  // namespace likewise::cuda
