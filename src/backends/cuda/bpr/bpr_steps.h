// SPDX-License-Identifier: Apache-2.0
/// Steps of BPR on the GPU (math.md, "Bayesian personalised ranking"). Groups race: rows of
/// items are read while others write them.
#pragma once

#include <cstdint>

#include "algorithms/bpr/popularity.h"
#include "backends/cuda/host/bpr_work.h"
#include "backends/cuda/sgd/sgd_rows.h"

namespace likewise::cuda {

struct BprSteps {
  const Index* likes = nullptr;  ///< items that rise
  // What users like that is no negative, by row and item.
  const Offset* known_offsets = nullptr;
  const Index* known = nullptr;

  const BprTask* tasks = nullptr;
  double* losses = nullptr;  ///< of each of these
  Index count = 0;           ///< of them
  TurnOrder order;           ///< theirs; another one in each epoch
  Index groups = 0;          ///< at work at a time, at most

  Index item_count = 0;                          ///< to draw from
  const PopularItems::Place* popular = nullptr;  ///< of each; null: all items alike
  int tries = 0;                                 ///< draws for a like, at most
  const std::uint8_t* changes = nullptr;         ///< by item: 0 where it stays; null: all change

  SgdTable users;
  SgdTable items;
  int columns = 0;
  float rate = 0.0F;
  float lambda = 0.0F;
  bool biased = true;
  std::uint64_t random = 0;  ///< another one in each epoch
};

/// A step for each like for which a negative is found.
void take_bpr_steps(bool halves, const BprSteps& steps, cudaStream_t stream);

}  // namespace likewise::cuda
