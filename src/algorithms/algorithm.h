// SPDX-License-Identifier: Apache-2.0
/// What the library asks of an algorithm. Each has a room of its own, src/algorithms/NAME, whose
/// NAME.cpp derives one class from AlgorithmOf and answers there: but for the choice of `auto`,
/// nothing else of the library knows one algorithm from another. What has a usual answer has it
/// here, for those that agree with it.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/memory.h"
#include "likewise/model.h"
#include "likewise/parameters.h"
#include "likewise/update.h"

namespace likewise {

class FoldInSolver;
class LearnedCheck;
class Learning;
struct Refined;
class SavedParts;
struct UpdateTask;

/// The parameters that somebody gave, by their names.
class GivenNames {
 public:
  explicit GivenNames(std::span<const std::string> names) : names_(names) {}
  [[nodiscard]] bool has(std::string_view name) const {
    return std::ranges::find(names_, name) != names_.end();
  }

 private:
  std::span<const std::string> names_;
};

/// What an update does where nobody says.
struct UsualUpdate {
  int iterations = 0;  ///< 0: it has none
  bool has_rate = false;
};

/// An algorithm with its parameters. Thread-safe.
class Algorithm {
 public:
  virtual ~Algorithm() = default;
  Algorithm(const Algorithm&) = delete;
  Algorithm& operator=(const Algorithm&) = delete;

  /// As algorithm_name().
  [[nodiscard]] virtual std::string_view name() const = 0;

  // ---- Parameters and data

  /// As with_data_defaults().
  [[nodiscard]] virtual TrainingParams data_default_params(const CsrView& by_user,
                                                           const GivenNames& given) const = 0;
  /// Whether data_default_params() looks at the data for this one, which may come out as the
  /// default. Of parameters that were not given.
  [[nodiscard]] virtual bool follows_data(std::string_view /*parameter*/,
                                          const GivenNames& /*given*/) const {
    return false;
  }
  /// The same parameters, with what a training takes for those that are absent.
  [[nodiscard]] virtual TrainingParams with_usual_values() const = 0;
  /// Throws Error(kBadData) that names value, user and item for one beyond what it can compute
  /// with.
  virtual void check_values(const CsrView& /*by_user*/) const {}

  // ---- What it needs of a device

  /// The job that trains; nothing where counting will do.
  [[nodiscard]] virtual std::optional<Job> training_job() const { return std::nullopt; }
  /// Throws Error where the device has the job and these parameters are beyond it.
  virtual void require_taken(const Device& /*device*/) const {}
  /// Whether a training may be worth the start of several GPUs.
  [[nodiscard]] virtual bool gains_by_gpus() const { return false; }
  /// What a training will take; no parts where the device plans nothing.
  [[nodiscard]] virtual MemoryPlan memory(const Device& /*device*/,
                                          const CsrView& /*by_user*/) const {
    return {};
  }
  /// The launch settings of the device, and where they are from; empty where there are none to
  /// speak of.
  [[nodiscard]] virtual std::string tuning(const Device& /*device*/,
                                           const CsrView& /*by_user*/) const {
    return {};
  }
  /// The job that makes lists.
  [[nodiscard]] virtual Job lists_job() const { return Job::kTopK; }
  /// The job that predicts; nothing where counting or adding up lists will do.
  [[nodiscard]] virtual std::optional<Job> predictions_job() const { return std::nullopt; }

  // ---- Training

  /// By learning.at_once() or learning.by_iterations().
  virtual void learn(const Learning& learning) const = 0;

  /// About how many seconds of a core a training on these data takes (algorithms/cost.h).
  [[nodiscard]] virtual double core_seconds(const CsrView& by_user) const = 0;

  /// The same by a form that costs less, of those that have one: for searches that are short of
  /// time.
  [[nodiscard]] virtual std::optional<TrainingParams> cheaper_form() const { return std::nullopt; }

  /// Whether it learns Factors.
  [[nodiscard]] virtual bool learns_factors() const { return false; }

  // ---- What was learned, which decides who answers (serving/predictor.h)

  /// Says check.factors(), or what else it learns.
  virtual void check_learned(const LearnedCheck& check) const = 0;
  /// Takes saved.factors(), or what else it learns.
  [[nodiscard]] virtual Learned load_learned(SavedParts& saved) const = 0;

  /// Of those that learn a Neighbourhood: how its lists make scores. The usual answer adds up the
  /// lists of a user's items, each times the value that the item has.
  [[nodiscard]] virtual KnnParams scores_of_lists() const { return {}; }
  /// Of those that learn Baselines: how outside users get a bias.
  [[nodiscard]] virtual BiasParams scores_of_biases() const { return {}; }
  /// Of those that learn Factors: single rows of `side` against the other one. Throws
  /// Error(kInvalidArgument) where there is no such solver.
  [[nodiscard]] virtual std::unique_ptr<FoldInSolver> fold_in_solver(const Model& model,
                                                                     const Factors& factors,
                                                                     Side side) const;

  // ---- Models that grow (likewise/update.h)

  /// `by`: as UpdateOptions.
  [[nodiscard]] virtual UsualUpdate usual_update(std::optional<UpdateBy> /*by*/) const {
    return {};
  }
  [[nodiscard]] virtual bool has_ways_to_update() const { return false; }
  /// Throws Error(kInvalidArgument) where its models are not updated in this way.
  virtual void require_update_by(UpdateBy by) const;
  /// The parameters of steps of SGD that can refine its models, where they can.
  [[nodiscard]] virtual std::optional<SgdParams> update_steps() const { return std::nullopt; }
  [[nodiscard]] virtual Refined update(const UpdateTask& task) const = 0;

  // ---- What its answers are

  /// As Model::predicts_ratings().
  [[nodiscard]] virtual bool predicts_ratings() const = 0;
  /// As Model::ranks_items().
  [[nodiscard]] virtual bool ranks_items() const { return true; }
  /// As advice_on_lists().
  [[nodiscard]] virtual std::string advice_on_lists() const { return {}; }

 protected:
  Algorithm() = default;
};

/// What rooms derive from: an algorithm whose parameters are `Params`.
template <class Params>
class AlgorithmOf : public Algorithm {
 public:
  /// Borrowed.
  explicit AlgorithmOf(const Params& params) : params_(params) {}

  [[nodiscard]] TrainingParams data_default_params(const CsrView& /*by_user*/,
                                                   const GivenNames& /*given*/) const override {
    return params_;
  }
  [[nodiscard]] TrainingParams with_usual_values() const override { return params_; }

 protected:
  [[nodiscard]] const Params& params() const { return params_; }

 private:
  const Params& params_;
};

/// The algorithm of these parameters, which must outlive it.
[[nodiscard]] std::unique_ptr<const Algorithm> algorithm_of(const TrainingParams& params);
std::unique_ptr<const Algorithm> algorithm_of(TrainingParams&& params) = delete;

/// A line of the table of algorithms (algorithms.cpp), which each room has in its header.
struct AlgorithmRow {
  std::string_view name;
  std::string_view help;
  TrainingParams (*defaults)(Feedback);
  std::size_t alternative;  ///< of TrainingParams
};

template <class Params>
[[nodiscard]] TrainingParams usual_params(Feedback feedback) {
  if constexpr (requires { Params::defaults(feedback); }) {
    return Params::defaults(feedback);
  } else {
    return Params{feedback};
  }
}

template <class Params>
[[nodiscard]] constexpr AlgorithmRow algorithm_row(
    std::string_view name, std::string_view help,
    TrainingParams (*defaults)(Feedback) = usual_params<Params>) {
  return {name, help, defaults, TrainingParams(Params{}).index()};
}

}  // namespace likewise
