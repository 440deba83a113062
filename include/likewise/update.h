// SPDX-License-Identifier: Apache-2.0
/// Models that grow: more interactions for a trained model, at the price of what they touch.
///
/// New users and items join; rows with a new interaction are refined; all other rows keep their
/// numbers, bit-identical. math.md ("Models that grow") says what is minimised.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/interactions.h"
#include "likewise/memory.h"
#include "likewise/model.h"
#include "likewise/read.h"

namespace likewise {

/// How models of ALS are refined. kAls: least squares, each row over its whole history. kSgd:
/// explicit feedback only, steps of SGD over the new ratings (Tan et al. 2018).
enum class UpdateBy { kAls, kSgd };
inline constexpr std::string_view kUpdateByNames[] = {"als", "sgd"};

struct UpdateOptions {
  /// What a pair becomes that model and interactions both have, as in one file with the old rows
  /// and then the new ones. Not kAuto: ReadSummary::policy of the file that they are from.
  Duplicates duplicates = Duplicates::kLast;
  std::optional<UpdateBy> by{};  ///< of als only; absent: kAls
  /// Rounds of als, epochs of SGD and BPR, from 1 to 10 000; absent: usual_update_iterations().
  std::optional<int> iterations{};
  /// Of steps of SGD and BPR, 1e-15 to 1e15; absent: the one that training had come to, a
  /// quarter of it for BPR, and 0.05 where a model of ALS is refined.
  std::optional<double> learning_rate{};
  std::string source{};  ///< for Provenance
  /// Called before anything is allocated, with what the device says it will take.
  std::function<void(const MemoryPlan&)> on_plan{};
};

struct UpdatedModel {
  Model model;
  Offset repeated = 0;  ///< pairs of the new interactions that the model had already
  Index users = 0;  ///< rows refined, those of new users included; 0 where a side is not learned
  Index items = 0;
};

/// `model` with `more`. Deterministic, whatever the number of threads, except for SGD and BPR that
/// race.
///
/// als: rounds of all touched users solved against the items as they are, then of all touched items
/// against the users, each over its whole history. sgd, bpr: epochs over the new interactions
/// alone. All others: exactly the model that training on all would have
/// given; of the neighbourhoods only rows whose entries changed, and rows that lost a neighbour by
/// that, are compared with all others, where a similarity depends on its two rows alone (tfidf,
/// bm25, pearson-baseline, conditional and rp3, and log-likelihood when there are new columns,
/// start afresh).
///
/// Errors: kInvalidArgument for options outside their range or that the model has no use for,
/// kAuto, and a checkpoint of a training under way; kBadData for no interactions at all, values
/// that the model's training would refuse, and a pair of both with Duplicates::kError; kNumerical,
/// kCancelled, kOutOfMemory, kDevice.
[[nodiscard]] UpdatedModel update_model(const Model& model, const Interactions& more,
                                        const UpdateOptions& options, const Device& device,
                                        const RunControl& control = {});

/// Throws what update_model() would say of the options, before any data is read.
void require_updatable(const Model& model, const UpdateOptions& options);

/// Iterations where UpdateOptions says nothing; 0 where the algorithm has none.
[[nodiscard]] int usual_update_iterations(const Model& model, const UpdateOptions& options);

/// What the device is asked to do: parameters for open_device_to_train().
[[nodiscard]] TrainingParams params_of_update(const Model& model, const UpdateOptions& options);

}  // namespace likewise
