// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "algorithms/als/weights.h"
#include "backends/cuda/als/als_entries.h"
#include "backends/cuda/als/als_side.h"
#include "backends/cuda/als/tables/als_columns.h"
#include "backends/cuda/device/attributes.h"
#include "backends/cuda/host/als_tuning.h"
#include "core/system/parallel.h"

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

[[nodiscard]] Array<Offset> copy_of(std::span<const Offset> offsets) {
  Array<Offset> copy = Array<Offset>::uninitialized(static_cast<Offset>(offsets.size()));
  std::ranges::copy(offsets, copy.begin());
  return copy;
}

[[nodiscard]] DeviceArray<Offset> upload_offsets(const CsrView& matrix, Staging& staging,
                                                 cudaStream_t stream) {
  DeviceArray<Offset> offsets(Offset{matrix.rows} + 1);
  constexpr Offset kBlock = Offset{1} << 16;
  const auto fill = [&](Offset* to, Offset first, Offset count) {
    parallel_blocks(count, kBlock, [&](Offset begin, Offset end, Offset) {
      std::copy(matrix.offsets + first + begin, matrix.offsets + first + end, to + begin);
    });
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
      padded(chosen.columns),
      moves_starts(chosen.wide && !exact && given.solver == AlsSolverKind::kAuto &&
                   !is_explicit()) {}

AlsData::AlsData(const AlsRows& rows, const AlsSetup& setup, AlsLink* link, Staging& staging,
                 cudaStream_t stream) {
  const bool streamed = setup.plan.placement != Placement::kResident;
  if (streamed) {
    load_streamed(rows, staging, stream);
  } else {
    load_resident(rows, setup, link, staging, stream);
  }
  totals_ = rows.totals != nullptr ? *rows.totals
                                   : find_totals(rows.users, item_offsets_.span(), setup.params);
  const TaskLimits limits{rows_without_matrix(setup.tuning), setup.tuning.piece,
                          setup.plan.block_rows, setup.plan.portion_entries, portion_work(setup)};
  const std::span<const Offset> by_row[] = {offsets_of(rows.users), item_offsets_.span()};
  EntryFeed feed(setup.params, streamed ? setup.plan.portion_entries : 0, staging, stream);
  for (const int s : {0, 1}) {
    AlsSide& side = sides_[s];
    side.plan = plan_rows(side.rows, by_row[s], totals_.shape.interactions, setup.params,
                          setup.tuning, limits, feed, staging, stream);
    if (!setup.is_explicit()) find_largest(side, feed, stream);
  }
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void AlsData::load_resident(const AlsRows& rows, const AlsSetup& setup, AlsLink* link,
                            Staging& staging, cudaStream_t stream) {
  const auto load = [&](const CsrView& matrix) {
    DeviceRows loaded{matrix.rows,
                      matrix.cols,
                      matrix.nnz(),
                      upload_offsets(matrix, staging, stream),
                      DeviceArray<RowEntry>(matrix.nnz()),
                      {}};
    load_entries(matrix, 0, loaded.nnz, setup.params, loaded.entries.data(), staging, stream);
    return loaded;
  };
  sides_[0].rows = load(rows.users);
  if (rows.items) {
    sides_[1].rows = load(*rows.items);
    item_offsets_ = copy_of(offsets_of(*rows.items));
    return;
  }
  const Offset at_once = setup.plan.transpose_entries;
  sides_[1].rows =
      link == nullptr
          ? transpose_rows(sides_[0].rows, offsets_of(rows.users), at_once, stream)
          : exchange_columns(sides_[0].rows, offsets_of(rows.users), at_once, *link, stream);
  item_offsets_ = Array<Offset>::uninitialized(sides_[1].rows.offsets.size());
  copy_to_host(item_offsets_.data(), sides_[1].rows.offsets.data(), item_offsets_.size(), stream);
  LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
}

void AlsData::load_streamed(const AlsRows& rows, Staging& staging, cudaStream_t stream) {
  if (!rows.items) by_item_ = transpose(rows.users);
  const CsrView both[] = {rows.users, rows.items ? *rows.items : by_item_.view()};
  item_offsets_ = copy_of(offsets_of(both[1]));
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
