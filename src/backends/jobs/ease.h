// SPDX-License-Identifier: Apache-2.0
/// The job `ease`: item-item weights by ridge regression (docs/reference/math.md, "Weights by ridge
/// regression"). What every device is tested against: src/backends/reference/ease.cpp.
#pragma once

#include <memory>

#include "algorithms/ease/ease_scales.h"
#include "backends/jobs/top_k.h"
#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/knn.h"
#include "likewise/matrix.h"
#include "likewise/memory.h"

namespace likewise {

/// How large a training is; without candidates it is of dense weights.
struct EaseShape {
  Index users = 0;
  Index items = 0;
  Offset interactions = 0;
  Index candidates = 0;
};

/// Lists by dense weights B that a device makes itself. Thread-safe.
///
/// Item j scores the sum of x_i B_ij over the entries of a history x, in their order, in double
/// precision and rounded once: the same number on every device.
class WeightLists {
 public:
  /// The count of a history whose scores have to be added up by the processor: one may not be a
  /// finite number, or estimates do not tell the best, or it is one of too few histories.
  static constexpr Index kUndecided = -1;

  virtual ~WeightLists() = default;
  /// The k best items of each history, a row of items (k >= 0 may exceed them). `filter` has a row
  /// for each history, or none. Errors: kOutOfMemory, kDevice, kCancelled.
  [[nodiscard]] virtual TopKResult top_k(const CsrView& histories, Index k,
                                         const TopKFilter& filter,
                                         const RunControl& control) const = 0;
};

/// Makes item-item weights. Thread-safe; the same bits for any number of threads.
class EaseJob {
 public:
  static constexpr Job kJob = Job::kEase;
  virtual ~EaseJob() = default;

  /// What it will take beside the interactions. Throws Error(kOutOfMemory) with the figures where
  /// that is not there.
  [[nodiscard]] virtual MemoryPlan plan(const EaseShape& shape) const = 0;

  /// B (items x items), its diagonal 0: a history x scores x B. Items without entries have rows and
  /// columns of zeros. Holds one items x items matrix, which becomes B.
  /// Errors: kNumerical naming an item where G + L is singular to float32, kOutOfMemory,
  /// kCancelled.
  [[nodiscard]] virtual Matrix dense_weights(const CsrView& by_user, const EaseSystem& system,
                                             const RunControl& control) const = 0;

  /// Column j of B from the candidates of item j alone (j itself is none, others count once): what
  /// dense_weights() would give if there were no other items,
  ///   B_Cj = D_C^(-s) (S_CC + L_CC)^-1 S_Cj n_j^s    (the symmetric S: algorithms/ease)
  /// The list of an item j holds (i, B_ij), the largest first, of equal ones the smaller item, and
  /// no zeros. Errors as above, where the matrix of the candidates of an item is singular.
  [[nodiscard]] virtual KnnLists local_weights(const CsrView& by_user, const EaseSystem& system,
                                               const KnnLists& candidates,
                                               const RunControl& control) const = 0;

  /// What makes lists by B (items x items), which must outlive it. Null where the processor is to
  /// add up (serving/item_weights_predictor.h): on the reference, and where `auto` finds that
  /// histories of so many entries are not worth the way of B to a GPU. Errors: kOutOfMemory where B
  /// does not fit into the device's memory, kDevice.
  [[nodiscard]] virtual std::unique_ptr<WeightLists> make_lists(const MatrixView& /*weights*/,
                                                                Offset /*entries*/) const {
    return nullptr;
  }
};

}  // namespace likewise
