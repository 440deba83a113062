// SPDX-License-Identifier: Apache-2.0
/// What was learned, by its kind: what an algorithm asks of a model that is checked, and of a file
/// that is loaded (Algorithm::check_learned, Algorithm::load_learned).
#pragma once

#include <string>
#include <vector>

#include "likewise/model.h"
#include "model/model_validation.h"

namespace likewise {

/// Says of which kind what was learned has to be. All throw Error(kBadData) where it is of another,
/// where sizes do not fit the model's users and items, and for numbers that are not finite.
class LearnedCheck {
 public:
  LearnedCheck(const Model& model, const Trained& trained) : model_(model), trained_(trained) {}

  /// What a training goes on with.
  struct State {
    bool squares = false;  ///< sums of squares
    int changes = 0;       ///< factors of a row whose changes may be there; 0: none
  };
  void factors(int width, const State& state) const;
  /// Lists of the rows of `side`.
  void neighbourhood(Side side, bool has_baselines) const;
  void popularity() const;
  /// `what` has biases of these sides, and of no others.
  void biases(const std::string& what, bool of_users, bool of_items) const;
  void item_weights() const;

 private:
  void require_no_last() const;
  template <class Kind>
  [[nodiscard]] const Kind& part() const;

  const Model& model_;
  const Trained& trained_;
};

/// The same of a model file, each at most once; numbers are LearnedCheck's. Throw Error(kBadData)
/// for tensors that are missing, or of the wrong type.
class SavedParts {
 public:
  virtual ~SavedParts() = default;
  [[nodiscard]] virtual Factors factors() = 0;
  [[nodiscard]] virtual Knn knn() = 0;
  [[nodiscard]] virtual Popularity popularity() = 0;
  [[nodiscard]] virtual Biases biases() = 0;
  [[nodiscard]] virtual ItemWeights item_weights() = 0;
};

}  // namespace likewise
