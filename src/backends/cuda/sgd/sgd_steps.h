// SPDX-License-Identifier: Apache-2.0
/// Steps of SGD on the GPU (math.md, "Stochastic gradient descent"). Everything is in units
/// near the values' spread s: values, biases and the mean are divided by a unit, factors by its
/// root, so that float16 has room for them; lambda of factors is divided by it, too.
#pragma once

#include <cstdint>

#include "algorithms/sgd/grid.h"
#include "backends/cuda/host/sgd_work.h"
#include "backends/cuda/sgd/sgd_rows.h"

namespace likewise::cuda {

/// Of rows that a group can hold.
inline constexpr int kMostGroupColumns = 1024;

struct SgdSteps {
  const SgdEntry* entries = nullptr;  ///< counted from the first of all
  const SgdTask* tasks = nullptr;     ///< of the launch
  double* losses = nullptr;           ///< of each task
  Index count = 0;                    ///< of tasks
  /// Groups at work at a time, at most; 0: whatever there is room for.
  Index groups = 0;
  Index* counter = nullptr;  ///< with `groups`: of tasks begun, 0 before
  SgdTable own;              ///< of the entries' `user`: lines that no two tasks share
  SgdTable other;            ///< of their `item`
  int columns = 0;
  float mean = 0.0F;
  float rate = 0.0F;
  float bias_rate = 0.0F;  ///< 0: there are no biases
  float square_scale = 0.0F;
  float lambda = 0.0F;
  float bias_lambda = 0.0F;
  bool adaptive = false;
  bool bounded = false;  ///< steps that reach too far are shortened (step_reach)
  bool logistic = false;
  bool nonnegative = false;  ///< steps of factors end at 0
  bool moves_other = true;   ///< else only `own` changes
  bool races = false;        ///< other tasks change the same `other` at the same time
  std::uint32_t random = 0;  ///< to round by; another one in each epoch
};

/// The tasks of one launch.
void take_sgd_steps(bool halves, const SgdSteps& steps, cudaStream_t stream);

}  // namespace likewise::cuda
