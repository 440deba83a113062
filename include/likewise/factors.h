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

  [[nodiscard]] Matrix& side(Side s) { return s == Side::kUsers ? users : items; }
  [[nodiscard]] const Matrix& side(Side s) const { return s == Side::kUsers ? users : items; }
  [[nodiscard]] Array<float>& bias(Side s) { return s == Side::kUsers ? user_bias : item_bias; }
  [[nodiscard]] const Array<float>& bias(Side s) const {
    return s == Side::kUsers ? user_bias : item_bias;
  }
  [[nodiscard]] Factors clone() const {
    return {users.clone(), items.clone(), user_bias.clone(), item_bias.clone(), global_mean};
  }
};

}  // namespace likewise
