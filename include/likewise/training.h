// SPDX-License-Identifier: Apache-2.0
/// Training: a request becomes a plan, and the plan a model.
///
///     const TrainingPlan plan = prepare({.parameters = {{"factors", "32"}}}, data);
///     const Model model = train(plan, data);
///
/// A request says what somebody asked for, a plan all that follows: what nobody asked for is
/// decided by prepare(), and nowhere else.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/interactions.h"
#include "likewise/iteration.h"
#include "likewise/memory.h"
#include "likewise/model.h"
#include "likewise/parameters.h"

namespace likewise {

class HeldFile;

/// The device for a training.
struct DeviceChoice {
  Device device;
  std::string reason{};  ///< why "auto" took no GPU, or another device for some jobs; else empty
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

/// The algorithm of a request that leaves it to the data.
inline constexpr std::string_view kAutoAlgorithm = "auto";

/// A parameter that a request names.
struct AskedParameter {
  std::string name;  ///< as ParameterInfo::name; "feedback" is one of them
  std::string text;  ///< as set_parameter() reads it
  /// Somebody chose it. Otherwise it is the front door's own default, which may have no effect
  /// beside the others.
  bool chosen = true;

  friend bool operator==(const AskedParameter&, const AskedParameter&) = default;
};

/// How a training is measured as it goes, or once where the algorithm has no iterations.
struct ValidationRequest {
  std::string metric{};         ///< as parse_metric(); empty: ndcg@10, or rmse of predicted ratings
  bool has_candidates = false;  ///< ranks TrainingRun::validation_candidates alone
  Index negatives = 0;          ///< ranks each held-out item among so many random ones
  std::optional<double> target{};  ///< of `metric`, which has to be named: see TrainingRun

  friend bool operator==(const ValidationRequest&, const ValidationRequest&) = default;
};

/// What is asked of a training.
struct TrainingRequest {
  /// One of algorithm_names() or "auto"; empty: als, or that of the model to resume.
  std::string algorithm{};
  std::vector<AskedParameter> parameters{};
  std::string device = "auto";          ///< as open_device(); of "auto" with_device() decides
  std::optional<Device> open_device{};  ///< in place of `device`: one that is open
  DeviceOptions device_options{};       ///< for `device`
  std::optional<ValidationRequest> validation{};
  bool has_lists = false;         ///< the device has to make lists of the model besides
  const Model* resume = nullptr;  ///< a checkpoint or model to go on from; borrowed
};

/// The request of these parameters: those that differ from default_params() count as chosen.
[[nodiscard]] TrainingRequest request_of(const TrainingParams& params);

/// The parameters of a request before its data: as asked, over the algorithm's defaults; of "auto",
/// some algorithm's of the right feedback. Throws Error(kInvalidArgument) for parameters that the
/// algorithm does not have, are outside their range or would do nothing beside the others, and for
/// a training that cannot be resumed.
[[nodiscard]] TrainingParams asked_params(const TrainingRequest& request);

/// What is known of a training before its data.
struct TrainingOutline {
  TrainingParams params;                 ///< as asked_params()
  std::optional<DeviceChoice> device{};  ///< nothing: "auto", and with_device() decides by the data
};

/// Throws what prepare() would say without looking at the data: as asked_params(), and
/// Error(kDevice) for a device that cannot do what is asked.
[[nodiscard]] TrainingOutline outline(const TrainingRequest& request);

/// The outline with its device. Where "auto" left it open: the CPU, where it is expected to have
/// trained on these data before a GPU has started; else as open_device_to_train().
[[nodiscard]] TrainingOutline with_device(const TrainingRequest& request, TrainingOutline outline,
                                          const CsrView& by_user);

/// All that is decided of a training.
struct TrainingPlan {
  TrainingParams params;
  std::string algorithm_reason{};  ///< where the data chose the algorithm
  DeviceChoice device;
  std::string tuning{};  ///< of the device, and where it is from; empty where there are none
  MemoryPlan memory{};   ///< what the device will take; no parts where nothing is planned
  std::optional<ValidationRequest> validation{};  ///< with its metric named
  const Model* resume = nullptr;                  ///< borrowed

  /// Of the parameters that have an effect those that are not the algorithm's defaults.
  std::vector<ParameterOrigin> origins{};

  /// Sentences on what is odd about the values: zeros, dislikes, ratings that are all alike.
  std::vector<std::string> notes{};
  /// What is to be known of a training on such values, and is as many want it: sizes that nothing
  /// looks at.
  std::vector<std::string> remarks{};
};

/// The plan for people, a line each: algorithm, device, parameters, memory, with the reasons.
[[nodiscard]] std::string describe(const TrainingPlan& plan);

/// Decides all that `request` leaves open: the algorithm ("auto": math.md, "The choice of
/// auto"), the parameters that suit the data (math.md, "Values that suit the data"), the
/// device, its tuning, what is validated. Throws as outline(), Error(kOutOfMemory) with the
/// figures where the training does not fit the device, and Error(kBadData) for no interactions and
/// for implicit feedback whose values are all 0.
[[nodiscard]] TrainingPlan prepare(const TrainingRequest& request, const Interactions& data);
/// The same with the outline of this request, whose device is taken; of no interactions, too.
[[nodiscard]] TrainingPlan prepare(const TrainingRequest& request, TrainingOutline outline,
                                   const Interactions& data);

/// A file that a stopped training goes on from. No other training writes it meanwhile:
/// likewise/model.h.
struct Checkpointing {
  std::string path{};  ///< empty: none
  int every = 1;       ///< iterations between two
  /// Of this path, where the caller holds it already, as one who reads it first.
  HeldFile* held = nullptr;
};

/// What goes with a training. `checkpoint` is for algorithms that iterate, as ALS does.
struct TrainingRun {
  /// Algorithms that iterate call on_iteration, and the others control.on_progress.
  RunControl control{};
  /// Set from another thread, from a signal handler or in on_iteration: the training ends after the
  /// iteration under way with the model so far (the best by validation, where there is one), whose
  /// stop_reason is "stopped". Where iterations take longer than half a second, the one under way
  /// is broken off, and the one before it counts; a copy of its factors is kept for that.
  /// Validation is broken off at once, and the iteration before the one measured counts. A request
  /// to resume goes on from it, to the model of a training that nobody stopped. Where no iteration
  /// has been done there is no model: Error(kCancelled), as with control.cancel, which ends a
  /// training within an iteration. An algorithm without iterations looks at it before it begins.
  const std::atomic<bool>* stop = nullptr;
  /// Measured after every iteration; the best iteration is kept. Null: the last one is. Of an
  /// algorithm without iterations the model is measured once (Model::validation). With a target
  /// training is over after the first iteration whose validation is as good (stop_reason "target");
  /// the target is not kept with the model: resuming goes on from one that reached its target
  /// unless it asks for a target that the model has reached.
  const Interactions* validation = nullptr;
  /// Validation ranks these alone (EvaluateOptions::candidates). For metrics that rank.
  const Interactions* validation_candidates = nullptr;
  /// Of an algorithm that learns factors by iterations: where it starts in place of those that it
  /// would draw; borrowed. Not with a model to resume.
  const Factors* start = nullptr;
  Checkpointing checkpoint{};
  std::string source{};  ///< for Provenance
  /// Called after every iteration; never by an algorithm without iterations.
  std::function<void(const TrainingState&)> on_iteration{};
};

/// Trains on `data`, which the plan was made for and whose ids and matrix the model shares.
/// Deterministic in (data, plan): neither threads nor the order of rows in a file matter. A model
/// that is resumed becomes the one that training without a break would have given, bit-identical
/// where it is a checkpoint or was stopped; data (users and items) and parameters that a training
/// is begun with must be those of the model, and one that is over already comes back as it is.
/// Errors: kInvalidArgument for members of `run` that the plan has no use for, or that it lacks;
/// kNumerical (names side, row and count), kCancelled, kOutOfMemory, kDevice, and kIo for a
/// checkpoint.
[[nodiscard]] Model train(const TrainingPlan& plan, const Interactions& data,
                          const TrainingRun& run = {});

/// A sentence where next to nothing is left of the factors that als, sgd or bpr learned: where they
/// add a thousandth at most to any score, of a like or of the standard deviation of the ratings.
[[nodiscard]] std::vector<std::string> notes_on(const Model& model);

}  // namespace likewise
