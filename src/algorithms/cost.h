// SPDX-License-Identifier: Apache-2.0
/// About how long trainings take, from counts alone: for decisions that must be the same on every
/// machine. The rates are those of a core of the machine of docs/experiments/defaults.md, "Number
/// of factors"; that of dense products is an estimate.
#pragma once

namespace likewise {

/// Multiplications and additions a second: of products of dense matrices, and of single entries,
/// which wait for memory.
inline constexpr double kDenseRate = 4e10;
inline constexpr double kEntryRate = 5e8;
/// Of ALS: in the part of a row that all rows share, and in that of its entries.
inline constexpr double kSharedRate = 6.5e9;
inline constexpr double kRowRate = 1.8e9;
/// Of ALS that solves rows exactly, and of one whose factors are nonnegative: multiply-adds a
/// second of their matrices and solutions.
inline constexpr double kExactRate = 3e10;
inline constexpr double kNonnegativeRate = 1e10;
/// Seconds that a search for neighbours takes for a row, whatever it has.
inline constexpr double kSecondsOfRow = 2.5e-4;

/// Of an iteration of ALS with f factors by its usual solver: f^2 additions for each user and item,
/// and f for each entry, from both sides.
[[nodiscard]] inline double als_seconds(double rows, double entries, double factors) {
  return rows * factors * factors / kSharedRate + 2.0 * entries * factors / kRowRate;
}

/// Of an epoch of SGD, and of one of BPR: an update reads and writes two or three rows.
[[nodiscard]] inline double sgd_seconds(double entries, double factors) {
  return 3.0 * entries * factors / kSharedRate;
}

}  // namespace likewise
