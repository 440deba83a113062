// SPDX-License-Identifier: Apache-2.0
/// Brings the interactions of a row to shared memory: a ring of stages, each some interactions with
/// their factor rows, filled while earlier ones are being summed. Every factor row is read once.
#pragma once

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/shape.cuh"
#include "backends/cuda/als/rows/vectors.cuh"
#include "backends/cuda/device/mma.cuh"

namespace likewise::cuda {

/// Copies factor rows of the whole width; a thread copies the same part of every row it copies.
template <class Format, int kStrips>
struct RowCopier {
  using Shape = ShapeOf<Format, kStrips>;
  static constexpr int kRows = kStageRows<Format, kStrips>;
  static constexpr int kPitch = Format::pitch(Shape::kPadded);
  static constexpr int kStageBytes = kRows * kPitch;

  // A factor row is copied by kChunks threads, kPass rows by the block at a time.
  static constexpr int kChunks = Shape::kPadded * Format::kBytes / 16;
  static constexpr int kPass = Shape::kThreads / kChunks;
  static constexpr int kPasses = (kRows + kPass - 1) / kPass;
  static_assert(kPass > 0);
  // Every thread copies in every pass: no need to ask.
  static constexpr bool kExact = Shape::kThreads % kChunks == 0 && kRows % kPass == 0;

  const unsigned char* source;  ///< this thread's part of the table's first row
  std::uint32_t target;         ///< and of the first stage's first row in shared memory
  int first_row;                ///< row of a pass that this thread copies; kRows if none

  __device__ __forceinline__ RowCopier(const RowProblem& problem, unsigned char* memory) {
    const int row = static_cast<int>(threadIdx.x) / kChunks;
    const int chunk = static_cast<int>(threadIdx.x) % kChunks;
    first_row = row < kPass ? row : kRows;
    source = static_cast<const unsigned char*>(problem.table) + chunk * 16;
    asm volatile("" : "+l"(source));  // kept as one address, not put together at every use
    target = shared_address(memory) + row * kPitch + chunk * 16;
  }

  static __device__ __forceinline__ void synchronize() { Shape::synchronize(); }
  /// Whether this warp copies after it has multiplied, not before.
  static __device__ __forceinline__ bool copies_late() { return false; }

  /// Starts this thread's copies of the `left` rows of `columns` into a place of the ring.
  __device__ __forceinline__ void copy(const Index* columns, int left, int place) const {
    const std::uint32_t column_at = shared_address(columns) + first_row * 4;
    const std::uint32_t to = target + place * kStageBytes;
    Index column[kPasses];
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      if (kExact || first_row + i * kPass < kRows) {
        asm volatile("ld.shared.b32 %0, [%1];\n"
                     : "=r"(column[i])
                     : "r"(column_at + i * (kPass * 4)));
      }
    }
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      const int row = first_row + i * kPass;
      if (kExact || row < kRows) {
        copy_16_async(to + i * (kPass * kPitch),
                      source + static_cast<std::size_t>(column[i]) * (kChunks * 16), row < left);
      }
    }
  }
};

/// The ring of a row whose factor rows, or parts of them, a Copier brings.
template <class Format, class Copier>
struct RowRing {
  using Stored = typename Format::Stored;
  using Total = typename Format::Total;

  static constexpr int kStages = 3;
  static constexpr int kRows = Copier::kRows;
  static constexpr int kStageBytes = Copier::kStageBytes;
  /// Weights are written when a stage's copies are still to be started: one place more.
  static constexpr int kWeightStages = kStages + 1;
  static constexpr int kWeightRow = kRows * Format::kBytes;
  static constexpr int kWeightBytes = (1 + Format::kParts) * kWeightRow;
  static constexpr int kColumnBytes = kRows * static_cast<int>(sizeof(Index));
  static constexpr int kBytes =
      kStages * kStageBytes + kWeightStages * kWeightBytes + 2 * kColumnBytes;

  Copier copier;
  const RowEntry* entries;
  int count;
  unsigned char* shared;
  float bound_w;  ///< w is divided by this power of two: then it is at most 1
  float inverse_w;
  float inverse_v;     ///< v is multiplied by this: then it is at most 1
  Total constant = 0;  ///< this thread's part of the row's constant
  // The first kRows threads: what they will write for the next stage, and read for the one after.
  RowEntry ready{0, 0.0F};
  float ready_bias = 0.0F;
  RowEntry coming{0, 0.0F};

  __device__ __forceinline__ RowRing(const RowProblem& problem, const RowTask& task,
                                     const RowBounds& bounds, const Copier& copies,
                                     unsigned char* memory)
      : copier(copies),
        entries(problem.entries + task.begin),
        count(task.count),
        shared(memory),
        bound_w(bounds.w),
        inverse_w(1.0F / bound_w),
        inverse_v(1.0F / bounds.v) {}

  [[nodiscard]] __device__ __forceinline__ unsigned char* weights(int stage) const {
    return shared + kStages * kStageBytes + stage % kWeightStages * kWeightBytes;
  }
  [[nodiscard]] __device__ __forceinline__ Index* columns(int stage) const {
    return reinterpret_cast<Index*>(shared + kStages * kStageBytes + kWeightStages * kWeightBytes +
                                    stage % 2 * kColumnBytes);
  }

  /// Once per stage: the first kRows threads write columns and weights of `stage`, whose entries
  /// came in meanwhile, ask for the biases of the next and for the entries of the one after it.
  __device__ __forceinline__ void bring(const RowProblem& problem, int stage) {
    if (threadIdx.x >= kRows) return;
    const int lane = static_cast<int>(threadIdx.x);
    if (stage >= 0) write(problem, stage, lane);
    ready = coming;
    ready_bias =
        problem.weights.bias == nullptr ? 0.0F : __ldg(problem.weights.bias + ready.column);
    const int next = (stage + 2) * kRows + lane;
    coming = {0, 0.0F};
    if (next < count) {
      const int2 both = __ldg(reinterpret_cast<const int2*>(entries + next));
      coming = {both.x, __int_as_float(both.y)};
    }
  }

  /// w and v of this lane's interaction, v in parts, scaled to at most 1.
  __device__ __forceinline__ void write(const RowProblem& problem, int stage, int lane) {
    const RowWeights& how = problem.weights;
    Stored w = Format::store(0.0F);
    float v = 0.0F;
    if (stage * kRows + lane < count) {
      if (how.explicit_feedback) {
        w = Format::store(1.0F);
        v = rating_target(ready.value, how.mean, ready_bias);
        constant += static_cast<Total>(v) * v;
      } else {
        // v follows the rounded w: the weights differ a little, but fit each other.
        w = Format::store(fabsf(ready.value) * inverse_w);
        if (ready.value > 0.0F) {
          v = like_target(how.slope, Format::value(w) * bound_w);
          constant += v;
        }
      }
      v *= inverse_v;
    }
    columns(stage)[lane] = ready.column;
    auto* to = reinterpret_cast<Stored*>(weights(stage)) + lane;
    *to = w;
#pragma unroll
    for (int part = 0; part < Format::kParts; ++part) {
      to += kRows;
      const Stored stored = Format::store_part(v);
      *to = stored;
      v -= Format::value(stored);
    }
  }

  __device__ __forceinline__ void copy(int stage, int place) const {
    copier.copy(columns(stage), count - stage * kRows, place);
  }

  /// Calls sum(rows, weights, groups) for every stage: shared addresses, and how many groups of
  /// interactions are there.
  template <class Sum>
  __device__ __forceinline__ void run(const RowProblem& problem, Sum sum) {
    const int stages = (count + kRows - 1) / kRows;
    bring(problem, -2);
    bring(problem, -1);
    bring(problem, 0);
    Copier::synchronize();
#pragma unroll
    for (int s = 0; s < kStages - 1; ++s) {
      if (s < stages) copy(s, s);
      commit_copies();
      bring(problem, s + 1);
      Copier::synchronize();
    }
    int place = 0;
    int free_place = kStages - 1;
    for (int s = 0; s < stages; ++s) {
      wait_for_copies<kStages - 2>();
      Copier::synchronize();
      const bool late = Copier::copies_late();
      if (!late && s + kStages - 1 < stages) copy(s + kStages - 1, free_place);
      if (s + kStages < stages) bring(problem, s + kStages);
      sum(shared_address(shared) + place * kStageBytes, weights(s),
          min(kRows, count - s * kRows + Format::kGroup - 1) / Format::kGroup);
      if (late && s + kStages - 1 < stages) copy(s + kStages - 1, free_place);
      commit_copies();
      place = place + 1 == kStages ? 0 : place + 1;
      free_place = free_place + 1 == kStages ? 0 : free_place + 1;
    }
    wait_for_copies<0>();
    Copier::synchronize();
  }

  /// The row's constant, in all threads.
  __device__ __forceinline__ Total sum_constant() const {
    auto* parts = reinterpret_cast<Total*>(shared);
    constexpr int kBringers = (kRows + 31) / 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const Total sum = warp_sum(constant);
    if (warp < kBringers && threadIdx.x % 32 == 0) parts[warp] = sum;
    Copier::synchronize();
    Total total = 0;
#pragma unroll
    for (int i = 0; i < kBringers; ++i) total += parts[i];
    Copier::synchronize();
    return total;
  }
};

}  // namespace likewise::cuda
