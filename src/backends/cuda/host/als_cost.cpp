// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/als_cost.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace likewise {
namespace {

/// So many rows of so many interactions; the other side has `fixed_rows`.
struct Rows {
  double interactions;
  double rows;
  double fixed_rows;
};
/// About the users and the items of Netflix's data.
constexpr std::array kRows{
    Rows{8, 40e3, 18e3},     Rows{24, 60e3, 18e3},     Rows{40, 40e3, 18e3},
    Rows{56, 30e3, 18e3},    Rows{72, 30e3, 18e3},     Rows{88, 30e3, 18e3},
    Rows{112, 40e3, 18e3},   Rows{144, 30e3, 18e3},    Rows{176, 25e3, 18e3},
    Rows{256, 70e3, 18e3},   Rows{512, 55e3, 18e3},    Rows{1024, 25e3, 18e3},
    Rows{2048, 5e3, 18e3},   Rows{72, 1.5e3, 480e3},   Rows{176, 3.5e3, 480e3},
    Rows{600, 4.5e3, 480e3}, Rows{2500, 4.5e3, 480e3}, Rows{12e3, 2.5e3, 480e3},
    Rows{40e3, 1e3, 480e3},  Rows{120e3, 250, 480e3}};

constexpr double kSteps = 6;  ///< of conjugate gradients, the first residual included

// Fitted to an H200; clocks where nothing else is said.
constexpr double kProducts = 1.25;      ///< of the time that tensor cores would take at full rate
constexpr double kReads = 1.4;          ///< of the time that shared memory would take
constexpr double kOneWarpStep = 970;    ///< latency of a step of 65 to 96 columns, one warp
constexpr double kLongStep = 1280;      ///< latency of a step of a row that has four warps
constexpr double kLargeStep = 2700;     ///< of four warps with more than 128 columns
constexpr double kLongestStep = 2700;   ///< that has nine or sixteen
constexpr double kShortStep = 600;      ///< of a row without a matrix, one warp
constexpr double kShortBarriers = 380;  ///< more with two
constexpr double kShortTile = 45;       ///< of 16 interactions by 16 columns in such a step
constexpr double kHeldTile = 49;        ///< of such a tile of a held row, all steps
constexpr double kVectors = 5;          ///< of a step's vectors: 16 columns of each warp

constexpr double kSharedBytes = 128;  ///< bytes of shared memory a clock
constexpr double kBlockBytes = 1024;  ///< of shared memory that a block costs beside its own
constexpr int kWarpsOfProducts = 24;  ///< that registers leave room for

/// The numbers of an H200 where a driver tells none.
[[nodiscard]] GpuSpecs with_defaults(GpuSpecs specs) {
  if (specs.multiprocessors <= 0) specs.multiprocessors = 132;
  if (specs.clock <= 0) specs.clock = 1.98e9;
  if (specs.bandwidth <= 0) specs.bandwidth = 4.9e12;
  if (specs.cache <= 0) specs.cache = 60 << 20;
  if (specs.shared_memory <= 0) specs.shared_memory = 228 << 10;
  return specs;
}

/// A GPU as the formulas below see it: all rates are of a multiprocessor and a clock.
class GpuCosts {
 public:
  GpuCosts(int major, int minor, const GpuSpecs& specs, Precision precision)
      : clocks_(specs.multiprocessors * specs.clock),
        memory_rate_(specs.bandwidth / clocks_),
        cache_(static_cast<double>(specs.cache)),
        shared_memory_(static_cast<double>(specs.shared_memory)),
        tensor_rate_(half_products(major, minor) / share(precision)),
        number_bytes_(precision == Precision::kFp16 || precision == Precision::kBf16 ? 2 : 4) {}

  [[nodiscard]] double seconds(double clocks) const { return clocks / clocks_; }
  [[nodiscard]] double memory_rate() const { return memory_rate_; }
  /// Bytes a clock from wherever such a table is.
  [[nodiscard]] double gather_rate(double table_bytes) const {
    constexpr double kCacheRate = 38;  // measured as 10 TB/s
    return table_bytes < 0.7 * cache_ ? kCacheRate : memory_rate_;
  }
  [[nodiscard]] double tensor_rate() const { return tensor_rate_; }
  [[nodiscard]] double number_bytes() const { return number_bytes_; }
  /// Blocks that shared memory has room for.
  [[nodiscard]] double blocks(double bytes) const {
    return std::max(1.0, std::floor(shared_memory_ / (bytes + kBlockBytes)));
  }

 private:
  /// Float16 multiply-adds that mma.sync does a clock.
  [[nodiscard]] static double half_products(int major, int minor) {
    if (major == 9) return 1228;  // three fifths of what warp groups would get
    if (major == 10 || (major == 8 && minor == 0)) return 1024;
    return 512;
  }
  /// How many of them a multiply-add of this precision is worth: fp32 is three of tf32.
  [[nodiscard]] static double share(Precision precision) {
    return precision == Precision::kFp32 ? 6 : precision == Precision::kTf32 ? 2 : 1;
  }

  double clocks_;  ///< of all multiprocessors, a second
  double memory_rate_;
  double cache_;
  double shared_memory_;
  double tensor_rate_;
  double number_bytes_;
};

/// Clocks of a multiprocessor for a row whose matrix is summed into the registers of a block
/// (cuda/als/rows/shape.cuh) and solved there.
[[nodiscard]] double long_row(const GpuCosts& machine, const AlsWork& work, const AlsTuning& tuning,
                              double interactions) {
  constexpr double kStrip = 16;
  const double strips = tuning.columns / kStrip;
  const bool large_tiles =
      work.precision == Precision::kFp16 && !work.exact && has_large_tiles(tuning.columns);
  const double tile = large_tiles ? 6 : 4;
  const double side = std::ceil(strips / tile);
  const double each = std::ceil(strips / side);
  const double warps = side * side;
  // Products of 16 x 8 of the busiest warp; strips that all warps read.
  const double products = std::max(each * (each + 1), side > 1 ? tile * each : 0.0);
  const double reads = side * each + (warps - side) * (each + std::min(tile / 2, each));
  const double sum = kProducts * warps * products * 128 / machine.tensor_rate() +
                     kReads * reads * kStrip * machine.number_bytes() / kSharedBytes;
  const double stage = (side > 1 ? 64 : 32) * machine.number_bytes() / 2;
  const double by_registers = side == 1   ? (large_tiles ? 8 : 12)
                              : side == 2 ? (large_tiles ? 2 : 3)
                                          : 1;
  const double blocks =
      std::min(by_registers, machine.blocks(3 * stage * (tuning.columns * 2 + 16)));
  const double f = tuning.columns;
  const double step = side == 1   ? (large_tiles ? kOneWarpStep : 0)
                      : side == 2 ? (large_tiles ? kLargeStep : kLongStep)
                                  : kLongestStep;
  const double solve =
      work.exact ? f * f * f / 6 / kSharedBytes + f * 200 / blocks : kSteps * step / blocks;
  const double pieces = std::ceil(interactions / tuning.piece);
  const double piece_bytes = pieces > 1 ? 2 * pieces * warps * 32 * 80 * sizeof(float) : 0.0;
  return interactions * sum + solve + piece_bytes / machine.memory_rate();
}

/// Interactions that shared memory is set aside for (cuda/als_rows.h).
[[nodiscard]] double shared_rows(double interactions) {
  constexpr std::array kSizes{32.0, 48.0, 64.0, 80.0, 96.0, 128.0, 160.0, 192.0};
  const auto* found = std::ranges::lower_bound(kSizes, interactions);
  return found == kSizes.end() ? interactions : *found;
}

/// Of a row that is solved matrix-free, its factor rows in shared memory.
[[nodiscard]] double short_row(const GpuCosts& machine, const AlsTuning& tuning,
                               double interactions) {
  const double f = tuning.columns;
  const double size = shared_rows(interactions);
  const double warps = size > tuning.one_warp ? 2 : 1;
  const double bytes = size * (2 * f + 24) + warps * (12 * f + 64);
  const double blocks = std::min(machine.blocks(bytes), kWarpsOfProducts / warps);
  const double tiles = std::ceil(interactions / 16) * f / 16;
  const double latency = kShortStep + (warps - 1) * kShortBarriers + tiles / warps * kShortTile;
  return kSteps *
         (2 * interactions * 2 * f / kSharedBytes + latency / blocks + warps * kVectors * f / 16);
}

/// Of a row that is solved matrix-free, its factor rows in registers.
[[nodiscard]] double held_row(const AlsTuning& tuning, double interactions) {
  return kHeldTile * tuning.columns / 16 * interactions / 16;
}

/// Of a row of a wide table: matrix-free from memory or cache, or by a matrix in memory,
/// whichever is cheaper (cuda/als_wide.cpp).
[[nodiscard]] double wide_row(const GpuCosts& machine, const AlsWork& work, const AlsTuning& tuning,
                              const Rows& rows) {
  constexpr double kTile = 64;
  constexpr double kPasses = 5;
  constexpr double kColumn = 0.08;  // clocks of a pass
  constexpr double kEfficiency = 0.6;
  const double f = tuning.columns;
  const double row_bytes = f * machine.number_bytes();
  const double side = std::ceil(f / kTile);
  const double matrix_bytes = side * (side + 1) / 2 * kTile * kTile * sizeof(float);
  const double passes = work.exact ? side + 1 : kPasses;
  const double by_matrix = (1 + passes) * matrix_bytes / machine.memory_rate() +
                           rows.interactions * side * (side + 1) * kTile * kTile / 2 /
                               (kEfficiency * machine.tensor_rate());
  if (work.exact) return by_matrix;
  const double matrix_free = rows.interactions * kPasses *
                             std::max(row_bytes / machine.gather_rate(row_bytes * rows.fixed_rows),
                                      std::ceil(f / 128) * 128 * kColumn);
  return std::min(by_matrix, matrix_free);
}

}  // namespace

double estimated_seconds(const GpuInfo& gpu, const AlsWork& work, const AlsTuning& tuning) {
  const GpuCosts machine(gpu.major, gpu.minor, with_defaults(gpu.specs), work.precision);
  double clocks = 0.0;
  for (const Rows& rows : kRows) {
    const double one = tuning.wide ? wide_row(machine, work, tuning, rows)
                       : rows.interactions <= tuning.short_rows
                           ? short_row(machine, tuning, rows.interactions)
                       : rows.interactions <= tuning.held_rows
                           ? held_row(tuning, rows.interactions)
                           : long_row(machine, work, tuning, rows.interactions);
    clocks += rows.rows * one;
  }
  return machine.seconds(clocks);
}

double estimated_seconds(const GpuInfo& gpu, const AlsWork& work, const AlsTuning& tuning,
                         Offset interactions) {
  double both_ways = 0.0;
  for (const Rows& rows : kRows) both_ways += rows.rows * rows.interactions;
  return estimated_seconds(gpu, work, tuning) * 2.0 * static_cast<double>(interactions) / both_ways;
}

}  // namespace likewise
