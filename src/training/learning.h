// SPDX-License-Identifier: Apache-2.0
/// A training under way, as an algorithm sees it (Algorithm::learn): data, device, and the two ways
/// to learn, which validate, report and resume for it.
#pragma once

#include <functional>

#include "algorithms/iteration_run.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/iteration.h"
#include "likewise/model.h"
#include "training/iterate.h"
#include "training/train.h"

namespace likewise {

class Learning {
 public:
  /// `model` has all but what is to be learned, and gets that. All are borrowed.
  Learning(const Interactions& data, const Device& device, const ResolvedRun& run, Model& model)
      : data_(data), device_(device), run_(run), model_(model) {}

  /// Users x items.
  [[nodiscard]] CsrView by_user() const { return data_.by_user.view(); }
  [[nodiscard]] const Device& device() const { return device_; }
  [[nodiscard]] const RunControl& control() const { return run_.control; }

  /// Without iterations: what is learned is measured once.
  void at_once(const std::function<Learned()>& train) const;

  /// By iterations: `train` is iterate() with the algorithm's Trainer.
  void by_iterations(const Stopping& stopping,
                     const std::function<IterationResult(const IterationRun&)>& train) const;

 private:
  const Interactions& data_;
  const Device& device_;
  const ResolvedRun& run_;
  Model& model_;
};

}  // namespace likewise
