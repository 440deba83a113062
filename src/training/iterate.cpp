// SPDX-License-Identifier: Apache-2.0
#include "training/iterate.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "algorithms/iteration_run.h"
#include "core/system/parallel.h"
#include "core/system/seconds.h"
#include "likewise/error.h"

namespace likewise {
namespace {

[[nodiscard]] bool better(double value, std::optional<double> best, bool higher_is_better) {
  if (!best || std::isnan(*best)) return true;
  return higher_is_better ? value > *best : value < *best;
}

[[nodiscard]] bool reaches(const Iteration& one, double target, bool higher_is_better) {
  if (!one.validation) return false;
  return higher_is_better ? *one.validation >= target : *one.validation <= target;
}

/// `to` becomes a copy of `from`, in the memory that it has where that is as large.
template <class T>
void copy(std::span<const T> from, std::span<T> to) {
  parallel_blocks(std::ssize(from), Offset{1} << 18, [&](Offset begin, Offset end, Offset) {
    std::copy(from.begin() + begin, from.begin() + end, to.begin() + begin);
  });
}
template <class T>
void copy(const Array<T>& from, Array<T>& to) {
  if (to.size() != from.size()) to = Array<T>::uninitialized(from.size());
  copy(from.span(), to.span());
}
void copy(const Matrix& from, Matrix& to) {
  const Offset numbers = Offset{from.rows()} * from.stride();
  if (to.rows() != from.rows() || to.cols() != from.cols()) {
    to = Matrix(Array<float>::uninitialized(numbers), from.rows(), from.cols());
  }
  const auto count = static_cast<std::size_t>(numbers);
  copy(std::span<const float>(from.data(), count), std::span<float>(to.data(), count));
}
void copy(const Factors& from, Factors& to) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    copy(from.side(side), to.side(side));
    copy(from.bias(side), to.bias(side));
    copy(from.squares(side), to.squares(side));
    copy(from.changes(side).numbers, to.changes(side).numbers);
    to.changes(side).ratio = from.changes(side).ratio;
  }
  to.global_mean = from.global_mean;
}

/// The best iteration by validation, and its factors while a later one is the newest. Those of a
/// resumed training are borrowed.
class BestIteration {
 public:
  explicit BestIteration(const IterationRun& run) : validation_(run.validation) {
    if (!validation_.evaluate) return;
    iteration_ = resumed_best(run.history, validation_, run.best_iteration);
    if (iteration_ == 0) return;
    value_ = std::ranges::find(run.history, iteration_, &Iteration::iteration)->validation;
    borrowed_ = iteration_ == run.completed_iterations ? run.start : run.best;
  }

  void consider(const Iteration& now, const TrainingState& state) {
    if (!now.validation || !better(*now.validation, value_, validation_.higher_is_better)) {
      return;
    }
    value_ = now.validation;
    iteration_ = now.iteration;
    copy(state.factors(), owned_);
    borrowed_ = nullptr;
  }

  [[nodiscard]] bool found() const { return value_.has_value(); }
  [[nodiscard]] int iteration() const { return iteration_; }
  [[nodiscard]] const Factors& factors() const {
    return borrowed_ != nullptr ? *borrowed_ : owned_;
  }
  [[nodiscard]] Factors take() {
    return borrowed_ != nullptr ? borrowed_->clone() : std::move(owned_);
  }

 private:
  const Validation& validation_;
  std::optional<double> value_;
  int iteration_ = 0;
  const Factors* borrowed_ = nullptr;
  Factors owned_;
};

/// One step, its time and objective.
[[nodiscard]] Iteration timed_step(Trainer& trainer, int number, const RunControl& control) {
  Iteration report;
  report.iteration = number;
  report.seconds = seconds_of([&] { report.objective = trainer.step(control); });
  if (!std::isfinite(report.objective)) {
    throw Error(ErrorKind::kNumerical,
                fmt::format("the objective of iteration {} is not finite: use a larger "
                            "regularization or smaller values",
                            number));
  }
  return report;
}

[[nodiscard]] bool is_stopped(const IterationRun& run) {
  return run.stop != nullptr && run.stop->load(std::memory_order_relaxed);
}

/// Whether it is how what was under way ended when the stop came.
[[nodiscard]] bool stopped_by(const Error& error, const IterationRun& run) {
  return error.kind() == ErrorKind::kCancelled && is_stopped(run);
}

/// An iteration that takes longer is broken off by `run.stop`, so that stopping is prompt: if
/// keeping the factors to fall back on, which large tables of a GPU are long in, takes less than a
/// quarter of it.
constexpr double kSlow = 0.5;  // seconds
constexpr double kTimesKeeping = 4;

/// Steps that a stop may break off, and the factors to fall back on.
class PromptStop {
 public:
  explicit PromptStop(const IterationRun& run) : run_(run) {}

  /// The control of the next step: a stop cancels the first one, and those after a slow one.
  [[nodiscard]] RunControl control(int iterations_done) const {
    RunControl control = run_.control;
    const bool prompt = run_.stop != nullptr && control.cancel == nullptr;
    if (prompt && (iterations_done == 0 || is_kept_)) control.cancel = run_.stop;
    return control;
  }
  void keep(const Iteration& now, const TrainingState& state) {
    is_kept_ = run_.stop != nullptr && now.seconds > std::max(kSlow, kTimesKeeping * keeping_);
    if (is_kept_) keeping_ = seconds_of([&] { copy(state.factors(), kept_); });
  }
  /// Whether an error is that of a step broken off after a whole iteration.
  [[nodiscard]] bool explains(const Error& error) const {
    return is_kept_ && stopped_by(error, run_);
  }
  [[nodiscard]] Factors take() { return std::move(kept_); }

 private:
  const IterationRun& run_;
  bool is_kept_ = false;  ///< `kept_` are those of the newest iteration
  double keeping_ = 0.0;  ///< seconds that it took the last time
  Factors kept_;
};

/// The newest iteration, which is the best until validation says otherwise. Asks the trainer for
/// factors at the first call only, and never where nobody looks.
[[nodiscard]] TrainingState state_of(Trainer& trainer, std::span<const Iteration> iterations,
                                     const Stopping& stopping, const Validation& validation) {
  const auto fetch = [&trainer,
                      fetched = static_cast<const Factors*>(nullptr)]() mutable -> const Factors& {
    if (fetched == nullptr) fetched = &trainer.factors();
    return *fetched;
  };
  return {iterations, stopping.iterations,         validation.metric,
          fetch,      iterations.back().iteration, nullptr};
}

}  // namespace

const Iteration* best_by_validation(std::span<const Iteration> iterations, bool higher_is_better) {
  const Iteration* best = nullptr;
  for (const Iteration& one : iterations) {
    if (!one.validation) continue;
    if (best == nullptr || better(*one.validation, best->validation, higher_is_better)) best = &one;
  }
  return best;
}

const Iteration* first_to_reach(std::span<const Iteration> iterations, double target,
                                bool higher_is_better) {
  const auto found = std::ranges::find_if(
      iterations, [&](const Iteration& one) { return reaches(one, target, higher_is_better); });
  return found == iterations.end() ? nullptr : &*found;
}

std::vector<double> elapsed_seconds(std::span<const Iteration> iterations) {
  std::vector<double> elapsed;
  double sum = 0.0;
  for (const Iteration& one : iterations) elapsed.push_back(sum += one.seconds);
  return elapsed;
}

std::string stop_reason(std::span<const Iteration> iterations, const Stopping& stopping,
                        const Validation& validation, int best_iteration) {
  if (iterations.empty()) return {};
  const Iteration& now = iterations.back();
  const auto best = std::ranges::lower_bound(iterations, best_iteration, {}, &Iteration::iteration);
  if (validation.target && best != iterations.end() &&
      reaches(*best, *validation.target, validation.higher_is_better)) {
    return "target";
  }
  if (stopping.patience > 0 && now.validation &&
      now.iteration - best_iteration >= stopping.patience) {
    return "patience";
  }
  if (stopping.tolerance > 0.0 && iterations.size() > 1) {
    const double before = iterations[iterations.size() - 2].objective;
    if (before - now.objective < stopping.tolerance * std::abs(before)) return "tolerance";
  }
  return now.iteration >= stopping.iterations ? "iterations" : "";
}

int resumed_best(std::span<const Iteration> iterations, const Validation& validation,
                 int best_kept) {
  const Iteration* best = best_by_validation(iterations, validation.higher_is_better);
  const int number = best == nullptr ? 0 : best->iteration;
  if (number == 0 || number == iterations.back().iteration || number == best_kept) return number;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("iteration {} was the best of the {} to resume, but its factors were not "
                          "kept: go on from another checkpoint, or without validation",
                          number, iterations.back().iteration));
}

IterationResult iterate(Trainer& trainer, const Stopping& stopping, const IterationRun& run) {
  if (run.validation.target && !run.validation.evaluate) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("target {} needs validation data to be measured on", *run.validation.target));
  }
  IterationResult result{{}, run.history, 0, {}};
  int newest = run.completed_iterations;
  BestIteration best(run);
  PromptStop prompt(run);
  bool broken_off = false;
  bool unmeasured = false;
  const auto best_so_far = [&] { return best.found() ? best.iteration() : newest; };
  result.stop_reason = stop_reason(result.iterations, stopping, run.validation, best_so_far());
  while (result.stop_reason.empty() && newest < stopping.iterations) {
    if (is_stopped(run)) {
      if (newest == 0) throw Error(ErrorKind::kCancelled, "interrupted");
      result.stop_reason = "stopped";
      break;
    }
    run.control.report("train", newest, stopping.iterations, "iterations");
    try {
      result.iterations.push_back(timed_step(trainer, newest + 1, prompt.control(newest)));
    } catch (const Error& error) {
      if (!prompt.explains(error)) throw;
      result.stop_reason = "stopped";
      broken_off = true;
      break;
    }
    ++newest;
    Iteration& now = result.iterations.back();
    TrainingState state = state_of(trainer, result.iterations, stopping, run.validation);
    if (run.validation.evaluate) {
      try {
        now.validation = run.validation.evaluate(state.factors());
      } catch (const Error& error) {
        // An iteration that was not measured does not count.
        if (!best.found() || !stopped_by(error, run)) throw;
        result.iterations.pop_back();
        --newest;
        result.stop_reason = "stopped";
        unmeasured = true;
        break;
      }
    }
    best.consider(now, state);
    prompt.keep(now, state);
    if (best_so_far() != newest) {
      state.best_iteration = best.iteration();
      state.best = &best.factors();
    }
    if (run.on_iteration) run.on_iteration(state);
    result.stop_reason = stop_reason(result.iterations, stopping, run.validation, best_so_far());
  }
  if (result.stop_reason.empty()) result.stop_reason = "iterations";
  run.control.report("train", stopping.iterations, stopping.iterations, "iterations");

  const bool newest_wins = best_so_far() == newest && !unmeasured;
  const auto newest_factors = [&] { return broken_off ? prompt.take() : trainer.take(); };
  result.factors = newest_wins ? newest_factors() : best.take();
  if (result.stop_reason != "stopped") {
    // Nobody is expected to go on from a whole training, and a model is smaller without.
    for (const Side side : {Side::kUsers, Side::kItems}) result.factors.changes(side) = {};
  }
  result.best_iteration = best_so_far();
  return result;
}

}  // namespace likewise
