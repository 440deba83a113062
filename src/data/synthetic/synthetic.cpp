// SPDX-License-Identifier: Apache-2.0
#include "likewise/synthetic.h"

#include <atomic>
#include <mutex>

#include <fmt/format.h>

#include "core/system/memory.h"
#include "core/system/parallel.h"
#include "core/system/per_thread.h"
#include "data/synthetic/synthetic_model.h"
#include "data/synthetic/synthetic_shape.h"

namespace likewise {
namespace {

constexpr Offset kRowsPerBlock = 256;

/// Bytes at the peak: the result, and beside it the item tables, one scratch for each thread and,
/// before the result, the weights and counts of the users.
double planned_bytes(const SyntheticShape& shape) {
  constexpr double kPerEntry = sizeof(Index) + sizeof(float);
  constexpr double kPerUser = 2 * sizeof(Offset) + sizeof(std::int64_t) + sizeof(float);
  constexpr double kPerItem = 128.0;
  constexpr double kScratchPerItem = 9.0;
  return kPerEntry * static_cast<double>(shape.nnz) + kPerUser * shape.users +
         (kPerItem + kScratchPerItem * thread_count()) * shape.items;
}

void check_memory(const SyntheticShape& shape) {
  check_memory_plan(fmt::format("generating {} users x {} items, {} interactions", shape.users,
                                shape.items, shape.nnz),
                    planned_bytes(shape));
}

void fill(const SyntheticModel& model, CsrMatrix& m, const RunControl& control) {
  PerThread<SyntheticModel::Scratch> scratches;
  std::atomic<Offset> done{0};
  std::mutex reporting;
  parallel_blocks(m.rows, kRowsPerBlock, [&](Offset begin, Offset end, Offset) {
    control.check();
    SyntheticModel::Scratch& scratch = scratches.local();
    for (Offset row = begin; row < end; ++row) {
      const auto first = static_cast<std::size_t>(m.offsets[row]);
      const auto size = static_cast<std::size_t>(m.offsets[row + 1]) - first;
      model.fill_row(static_cast<Index>(row), scratch, m.columns.span().subspan(first, size),
                     m.values.span().subspan(first, size));
    }
    const Offset entries = m.offsets[end] - m.offsets[begin];
    done.fetch_add(entries);
    // Whoever comes while another thread reports goes on: the next report has its entries too.
    if (const std::unique_lock lock(reporting, std::try_to_lock); lock.owns_lock()) {
      control.report("generate", done.load(), m.nnz(), "interactions");
    }
  });
}

}  // namespace

Interactions generate(const SyntheticShape& shape, std::uint64_t seed, const RunControl& control) {
  if (shape.demo) return demo_catalogue(seed).interactions;
  check_shape(shape.users, shape.items, shape.nnz);
  check_memory(shape);
  control.check();
  const SyntheticModel model(shape, seed);
  CsrMatrix matrix{shape.users, shape.items, synthetic_offsets(shape, seed),
                   Array<Index>::uninitialized(shape.nnz), Array<float>::uninitialized(shape.nnz)};
  fill(model, matrix, control);
  return {IdMap::range(shape.users), IdMap::range(shape.items), std::move(matrix), {}};
}

}  // namespace likewise
