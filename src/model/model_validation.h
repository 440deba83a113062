// SPDX-License-Identifier: Apache-2.0
/// The rules of a valid model, also while its factors belong to a training in progress.
#pragma once

#include <span>
#include <variant>

#include "likewise/model.h"

namespace likewise {

template <class Variant>
struct Borrowed;
template <class... Kinds>
struct Borrowed<std::variant<Kinds...>> {
  using Type = std::variant<const Kinds*...>;
};
/// What was learned, owned by others.
using BorrowedLearned = Borrowed<Learned>::Type;

/// What training produces for a model.
struct Trained {
  BorrowedLearned learned;
  const Factors* last = nullptr;  ///< of the newest iteration, where another is the best
  std::span<const Iteration> iterations;
  int best_iteration = 0;
};

/// What every model file has room for: score = mean + user bias + item bias + x . y, of which a
/// kind of model may have a part only.
struct LinearPart {
  MatrixView users;  ///< x; no rows where there are no factors
  MatrixView items;
  std::span<const float> user_bias;
  std::span<const float> item_bias;
  float mean = 0.0F;
  std::span<const float> user_squares{};
  std::span<const float> item_squares{};
  const RowChanges* user_changes = nullptr;
  const RowChanges* item_changes = nullptr;
};
[[nodiscard]] LinearPart linear_part(const Factors& factors);
[[nodiscard]] LinearPart linear_part(const BorrowedLearned& learned);

/// The model's own.
[[nodiscard]] inline Trained trained_of(const Model& model) {
  const auto borrow = [](const auto& learned) { return BorrowedLearned(&learned); };
  return {std::visit(borrow, model.learned), model.last ? &*model.last : nullptr, model.iterations,
          model.best_iteration};
}

/// Model::validate() with `trained` in place of the model's own.
void validate_parts(const Model& model, const Trained& trained);

}  // namespace likewise
