// SPDX-License-Identifier: Apache-2.0
/// `Factors`: what factor models learn. The score of user u and item i is
///
///     score(u, i) = global_mean + user_bias[u] + item_bias[i] + x_u . y_i
///
/// where missing biases count as 0.
#pragma once

#include "likewise/array.h"
#include "likewise/matrix.h"
#include "likewise/types.h"

namespace likewise {

struct Factors {
  Matrix users;            ///< x, users x factors
  Matrix items;            ///< y, items x factors
  Array<float> user_bias;  ///< empty, or one per user
  Array<float> item_bias;  ///< empty, or one per item
  float global_mean = 0.0F;
  /// What the adaptive steps of SGD go on with: sums of the mean squares of a row's gradients,
  /// which scores do not depend on. Empty, or one per row.
  Array<float> user_squares{};
  Array<float> item_squares{};

  [[nodiscard]] Matrix& side(Side s) { return s == Side::kUsers ? users : items; }
  [[nodiscard]] const Matrix& side(Side s) const { return s == Side::kUsers ? users : items; }
  [[nodiscard]] Array<float>& bias(Side s) { return s == Side::kUsers ? user_bias : item_bias; }
  [[nodiscard]] const Array<float>& bias(Side s) const {
    return s == Side::kUsers ? user_bias : item_bias;
  }
  [[nodiscard]] Array<float>& squares(Side s) {
    return s == Side::kUsers ? user_squares : item_squares;
  }
  [[nodiscard]] const Array<float>& squares(Side s) const {
    return s == Side::kUsers ? user_squares : item_squares;
  }
  [[nodiscard]] Factors clone() const {
    return {users.clone(), items.clone(),        user_bias.clone(),   item_bias.clone(),
            global_mean,   user_squares.clone(), item_squares.clone()};
  }
  /// The same memory, as Array::share().
  [[nodiscard]] Factors share() const {
    return {users.share(), items.share(),        user_bias.share(),   item_bias.share(),
            global_mean,   user_squares.share(), item_squares.share()};
  }
};

}  // namespace likewise
