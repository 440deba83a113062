// SPDX-License-Identifier: Apache-2.0
/// Variants of ALS on a GPU, and the fastest of them found by measuring (as Gates et al. 2015 did
/// for HPC-ALS; their figure 13).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "likewise/als.h"
#include "likewise/control.h"
#include "likewise/device.h"

namespace likewise {

/// Which of the compiled kernels solve a training's rows on a GPU, and how the rows are assigned to
/// them. Tunings differ in their answers by rounding alone; with one and the same, training on one
/// GPU gives the same bits every time.
struct AlsTuning {
  int columns = 0;     ///< of the tables of factors: zeros fill them up to what a kernel takes
  int short_rows = 0;  ///< rows of at most this many interactions are solved without a matrix
  int one_warp = 0;    ///< of these, those of at most this many get one warp, the others two
  int piece = 4096;    ///< rows of more interactions are summed in pieces of at most as many
  /// No block holds a row's matrix: the numbers above but `columns` mean nothing.
  bool wide = false;
  /// Rows of more than `short_rows` and at most this many are solved without a matrix too, their
  /// factor rows held in registers.
  int held_rows = 0;

  [[nodiscard]] bool operator==(const AlsTuning&) const = default;
};

/// "80 columns, short rows to 192 (one warp to 96), pieces of 4096"
[[nodiscard]] std::string tuning_text(const AlsTuning& tuning);

/// The tuning of a training, and where it comes from, for people.
struct ChosenTuning {
  AlsTuning tuning;
  std::string source;
};

/// A winner.
struct TunedAls {
  AlsParams params;  ///< what counts: feedback, precision, solver, factors and biases
  AlsTuning tuning;
  double seconds = 0.0;  ///< of an iteration of what was measured
};

/// Whether ALS has tunings on this device: it has on GPUs. What follows throws Error(kDevice)
/// where it has none, except for tuning_warning().
[[nodiscard]] bool has_tunings(const Device& device);

/// The tuning that a training of this shape takes: with Precision::kAuto, few interactions are
/// stored in float32, more in float16; AlsSolverKind::kAuto solves rows exactly or not.
[[nodiscard]] ChosenTuning chosen_tuning(const Device& device, const AlsParams& params,
                                         const AlsShape& shape);

/// Keeps winners for later programs, in place of earlier ones for the same work. Returns the file.
/// Throws Error(kIo).
[[nodiscard]] std::string keep_tunings(const Device& device, std::span<const TunedAls> winners);

/// Why a file of winners is ignored, with its name; empty where none is.
[[nodiscard]] std::string tuning_warning(const Device& device);

/// Seconds of an iteration with one tuning.
struct TuningTime {
  AlsTuning tuning;
  double median = 0.0;
  double least = 0.0;
  double most = 0.0;
  double users = 0.0;  ///< median of the users' half-step
  double items = 0.0;  ///< and of the items'
};

struct TuningResult {
  std::vector<TuningTime> times;  ///< in the order of measuring; the first is the built-in tuning's
  std::size_t best = 0;           ///< index of the fastest
};

/// Trains a few iterations with the built-in tuning and with others: first with that of each
/// kernel, then with each assignment of short rows, then with each length of pieces, every time on
/// from the fastest so far. A tuning that wins less than a hundredth is not worth leaving the
/// built-in one. Errors: as train().
[[nodiscard]] TuningResult autotune_als(const CsrView& by_user, const AlsParams& params,
                                        const Device& device, const RunControl& control = {});

}  // namespace likewise
