// SPDX-License-Identifier: Apache-2.0
/// Training: interactions and parameters become a model.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/interactions.h"
#include "likewise/iteration.h"
#include "likewise/model.h"
#include "likewise/parameters.h"

namespace likewise {

class HeldFile;

/// The device for a training.
struct DeviceChoice {
  Device device;
  std::string reason;  ///< why "auto" took no GPU, or another device for some jobs; else empty
};

/// As open_device(), for a training with these parameters that also does the jobs of `also`. "auto"
/// takes the first GPU that can be used, or the CPU where there is none and where the GPU cannot
/// do it or has nothing to do; the CPU does what the GPU cannot do beside the training. A device
/// by name that lacks one of the jobs throws Error(kDevice), and one that cannot train with these
/// parameters Error(kInvalidArgument) here, before any data is read. A limit of the GPU's memory
/// means nothing where "auto" takes the CPU.
[[nodiscard]] DeviceChoice open_device_to_train(std::string_view device,
                                                const TrainingParams& params,
                                                const DeviceOptions& options = {},
                                                std::span<const Job> also = {});

/// A file that a stopped training goes on from. No other training writes it meanwhile:
/// likewise/held_file.h.
struct Checkpointing {
  std::string path{};  ///< empty: none
  int every = 1;       ///< iterations between two
  /// Of this path, where the caller holds it already, as one who reads it first.
  HeldFile* held = nullptr;
};

/// What goes with a training. `target`, `checkpoint`, `resume`, `on_plan` and `on_iteration` are
/// for algorithms that iterate, as ALS does.
struct TrainingRun {
  RunControl control{};
  /// Set from another thread, from a signal handler or in on_iteration: the training ends after the
  /// iteration under way with the model so far (the best by validation, where there is one), whose
  /// stop_reason is "stopped". Where iterations take longer than half a second, the one under way
  /// is broken off, and the one before it counts; a copy of its factors is kept for that.
  /// Validation is broken off at once, and the iteration before the one measured counts. `resume`
  /// goes on from it, to the model of a training that nobody stopped. Where no iteration has been
  /// done there is no model: Error(kCancelled), as with control.cancel, which ends a training
  /// within an iteration. An algorithm without iterations looks at it before it begins.
  const std::atomic<bool>* stop = nullptr;
  /// Measured after every iteration; the best iteration is kept. Null: the last one is. Of an
  /// algorithm without iterations the model is measured once (Model::validation).
  const Interactions* validation = nullptr;
  std::string validation_metric{};  ///< as parse_metric(); empty: ndcg@10, or rmse of predicted ratings
  /// Validation ranks few items, as EvaluateOptions::candidates and negatives say. For metrics that
  /// rank.
  const Interactions* validation_candidates = nullptr;
  Index validation_negatives = 0;
  /// Of `validation_metric`, which has to be named: training is over after the first iteration
  /// whose validation is as good (stop_reason "target"). Not kept with the model: `resume` goes on
  /// from one that reached its target unless it is asked for a target that the model has reached.
  std::optional<double> target{};
  Checkpointing checkpoint{};
  const Model* resume = nullptr;  ///< a checkpoint or model to go on from
  std::string source{};           ///< for Provenance
  /// Called once before anything is allocated, with what the device says it will take.
  std::function<void(const MemoryPlan&)> on_plan{};
  /// Called after every iteration.
  std::function<void(const TrainingState&)> on_iteration{};
};

/// Trains on `data`, whose ids and matrix the model shares. Deterministic in (data, params):
/// neither threads nor the order of rows in a file matter. With `resume` the model is the one that
/// training without a break would have given; data (users and items) and parameters that a training
/// is begun with must be those of the model, and one that is over already comes back as it is.
/// Errors: kInvalidArgument for parameters outside their range, naming them, and for members of
/// `run` that this algorithm or these parameters have no use for; kNumerical (names side, row and
/// count), kCancelled, kOutOfMemory, kDevice, and kIo for a checkpoint.
[[nodiscard]] Model train(const Interactions& data, const TrainingParams& params,
                          const Device& device, const TrainingRun& run = {});

/// Which tuning of the device a training of these parameters and this shape takes, and where that
/// is from (likewise/autotune.h), in words; empty for algorithms that have no tunings.
[[nodiscard]] std::string tuning_in_use(const Device& device, const TrainingParams& params,
                                        const CsrView& by_user);

/// Whether train() could go on from `earlier` with these parameters, known before any data is read.
/// Throws Error(kInvalidArgument) naming what would have to change.
void require_resumable(const Model& earlier, const TrainingParams& params);

}  // namespace likewise
