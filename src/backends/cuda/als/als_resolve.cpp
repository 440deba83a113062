// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_resolve.h"

#include <algorithm>

#include <fmt/format.h>

#include "algorithms/als/weights.h"
#include "backends/cuda/als/als_starts.h"
#include "backends/cuda/als/als_training.h"
#include "backends/cuda/als/tables/als_double_rows.h"
#include "backends/cuda/als/tables/als_tables.h"
#include "backends/cuda/als/wide/als_wide.h"
#include "backends/cuda/host/als_tuning.h"
#include "likewise/error.h"

namespace likewise::cuda {
namespace {

/// That the sums of a piece take.
[[nodiscard]] Offset sum_floats(const AlsSetup& setup) {
  return setup.tuning.wide ? slot_floats(setup.padded) : piece_floats(setup.padded);
}

/// Bytes of small matrices that are there in any training, and of the other ranks' Gram matrices.
[[nodiscard]] Offset workspace_bytes(int padded, int ranks) {
  const Offset square = Offset{padded} * padded;
  const Offset others = ranks > 1 ? Offset{sizeof(double)} * ranks * square : 0;
  return GramSum::bytes(padded) + 80 * square + others + (Offset{1} << 16);
}

[[nodiscard]] GpuAlsNeeds needs_of(const AlsShare& share, const AlsSetup& setup) {
  const AlsShape& part = share.part;
  const AlsShape& whole = share.whole;
  GpuAlsNeeds needs;
  needs.shape = part;
  needs.columns = setup.padded;
  needs.stored_bytes = stored_bytes(setup.precision);
  needs.has_biases = setup.biased;
  needs.piece = setup.tuning.piece;
  needs.piece_bytes = sum_floats(setup) * Offset{sizeof(float)} + Offset{sizeof(double)};
  needs.task_bytes = sizeof(RowTask);
  needs.workspace = workspace_bytes(setup.padded, share.ranks);
  if (share.ranks > 1) needs.fixed_rows = std::max(whole.users, whole.items);
  if (takes_double_rows(setup)) {
    needs.workspace += DoubleRows::bytes(std::max(part.users, part.items), setup.padded);
  }
  if (setup.params.nonnegative) {
    needs.workspace += nonnegative_floats(setup.padded) * Offset{sizeof(float)};
  }
  if (setup.moves_starts) {
    needs.change_bytes = setup.params.factors * Offset{sizeof(std::uint16_t)};
    needs.workspace += AlsStarts::scratch_bytes(setup.padded, std::max(part.users, part.items));
  }
  if (setup.tuning.wide) {
    needs.longest_row = std::min<Offset>(part.interactions, std::max(whole.users, whole.items));
    needs.task_bytes *= 2;  // for what sums a row, and what solves it
    needs.slots = most_wide_slots(setup.padded);
    needs.workspace += part.interactions / 8;  // where rows meet chunks of the table
    if (!setup.exact && has_dense_rows(setup.precision, setup.padded)) {
      needs.workspace += most_dense_bytes(part.interactions);
    }
  }
  return needs;
}

}  // namespace

AlsSetup resolve_als(const AlsShare& share, const AlsParams& params, const AlsTuning& tuning,
                     Offset available) {
  AlsSetup setup(params, tuning);
  setup.plan = plan_gpu_als(needs_of(share, setup), available);
  return setup;
}

void refuse_als_params(const AlsParams& params) {
  if (params.nonnegative && als_work(params).precision != Precision::kFp32) {
    throw Error(ErrorKind::kInvalidArgument,
                "precision: GPUs train nonnegative factors in fp32; use auto or fp32");
  }
  const int most = kMostPadded - (als_width(params) - params.factors);
  if (params.factors > most) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("factors: GPUs train up to {} in this version, not {}; use the cpu",
                            most, params.factors));
  }
}

}  // namespace likewise::cuda
