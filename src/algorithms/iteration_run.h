// SPDX-License-Identifier: Apache-2.0
/// What an algorithm that iterates is given, and what it gives back.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "likewise/control.h"
#include "likewise/factors.h"
#include "likewise/iteration.h"
#include "likewise/memory.h"

namespace likewise {

/// A metric that the caller computes from the factors after each iteration.
struct Validation {
  std::string metric;  ///< e.g. "ndcg@10"
  bool higher_is_better = true;
  std::function<double(const Factors&)> evaluate;  ///< empty: no validation
  /// Training is over after the first iteration that is as good: at least so much, or at most where
  /// lower is better.
  std::optional<double> target{};
};

/// Where training goes on from, and what it hands back between iterations.
struct IterationRun {
  RunControl control;
  const std::atomic<bool>* stop = nullptr;  ///< ends after the iteration under way (TrainingRun)
  Validation validation;
  const Factors* start = nullptr;  ///< first factors; absent: drawn from the seed
  int completed_iterations = 0;    ///< iterations already in `start` (resume)
  std::vector<Iteration> history;  ///< their reports (resume)
  const Factors* best = nullptr;   ///< of the best of them, where that is not the last (resume)
  int best_iteration = 0;          ///< which one that is (resume)
  /// Called once before anything is allocated, with what the device says it will take.
  std::function<void(const MemoryPlan&)> on_plan;
  /// Called after every iteration: progress lines, checkpoints.
  std::function<void(const TrainingState&)> on_iteration;
};

struct IterationResult {
  Factors factors;  ///< of the best iteration by validation, else of the last
  std::vector<Iteration> iterations;
  int best_iteration = 0;   ///< whose factors these are
  std::string stop_reason;  ///< "target", "iterations", "tolerance", "patience" or "stopped"
};

}  // namespace likewise
