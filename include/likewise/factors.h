// SPDX-License-Identifier: Apache-2.0
/// `Factors`: what factor models learn. The score of user u and item i is
///
///     score(u, i) = global_mean + user_bias[u] + item_bias[i] + x_u . y_i
///
/// where missing biases count as 0.
#pragma once

#include <cstdint>

#include "likewise/array.h"
#include "likewise/matrix.h"
#include "likewise/types.h"

namespace likewise {

/// How the last iteration of ALS changed the rows of a side, from which the next one goes on
/// (math.md, "How the rows are solved"). Scores do not depend on it.
struct RowChanges {
  Array<std::uint16_t> numbers{};  ///< bfloat16, rows x factors, or empty
  float ratio = 0.0F;              ///< the share that the next change may repeat, from 0 to 1

  /// Numbers of each of so many rows.
  [[nodiscard]] Offset width(Index rows) const { return rows == 0 ? 0 : numbers.size() / rows; }
  [[nodiscard]] RowChanges clone() const { return {numbers.clone(), ratio}; }
  [[nodiscard]] RowChanges share() const { return {numbers.share(), ratio}; }
};

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
  /// What ALS goes on with, in checkpoints and in models whose training was stopped.
  RowChanges user_changes{};
  RowChanges item_changes{};

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
  [[nodiscard]] RowChanges& changes(Side s) {
    return s == Side::kUsers ? user_changes : item_changes;
  }
  [[nodiscard]] const RowChanges& changes(Side s) const {
    return s == Side::kUsers ? user_changes : item_changes;
  }
  [[nodiscard]] Factors clone() const {
    return {users.clone(),        items.clone(),        user_bias.clone(),
            item_bias.clone(),    global_mean,          user_squares.clone(),
            item_squares.clone(), user_changes.clone(), item_changes.clone()};
  }
  /// The same memory, as Array::share().
  [[nodiscard]] Factors share() const {
    return {users.share(),        items.share(),        user_bias.share(),
            item_bias.share(),    global_mean,          user_squares.share(),
            item_squares.share(), user_changes.share(), item_changes.share()};
  }
};

}  // namespace likewise
