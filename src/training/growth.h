// SPDX-License-Identifier: Apache-2.0
/// What all kinds of models need to grow: model and new interactions in one numbering, and parts of
/// matrices and factors.
#pragma once

#include <span>
#include <vector>

#include "likewise/titles.h"
#include "likewise/update.h"
#include "training/merge_interactions.h"

namespace likewise {

/// A model's users, items and history with the new ones among them.
struct Growth {
  UnionOfIds users;
  UnionOfIds items;
  CsrMatrix history;
  Offset repeated = 0;
  std::vector<Index> touched_users;  ///< rows with a new interaction, rising
  std::vector<Index> touched_items;

  [[nodiscard]] const UnionOfIds& ids(Side side) const {
    return side == Side::kUsers ? users : items;
  }
  [[nodiscard]] const std::vector<Index>& touched(Side side) const {
    return side == Side::kUsers ? touched_users : touched_items;
  }
};
[[nodiscard]] Growth grow(const Model& model, const Interactions& more, Duplicates duplicates);

/// One update under way.
struct UpdateTask {
  const Model& model;
  const Interactions& more;
  const Growth& growth;
  const UpdateOptions& options;
  const Device& device;
  const RunControl& control;
  int iterations = 0;  ///< asked for, or the usual ones
};

/// What came out of it.
struct Refined {
  Learned learned;
  Index users = 0;
  Index items = 0;
};

/// Some rows of a matrix, or some of its columns. `rows` and `columns` rise.
[[nodiscard]] CsrMatrix rows_of(const CsrView& matrix, std::span<const Index> rows);
[[nodiscard]] CsrMatrix columns_of(const CsrView& matrix, std::span<const Index> columns);

/// The new interactions with the values that they have in the merged history: touched users x
/// `columns`, which holds the touched items and rises.
[[nodiscard]] CsrMatrix new_cells(const UpdateTask& task, std::span<const Index> columns);

/// The model's factors at their new places; new rows are zero. Throws Error(kInvalidArgument) where
/// the model has not the biases that its parameters ask for.
[[nodiscard]] Factors placed_factors(const UpdateTask& task, bool user_biases, bool item_biases);

/// Some rows of a side: its factors, biases, squares and changes. put_rows() is the way back.
[[nodiscard]] Factors side_rows(const Factors& from, Side side, std::span<const Index> rows);
void put_rows(const Factors& from, Side side, std::span<const Index> rows, Factors& to);

/// `rows` that the model did not have.
[[nodiscard]] std::vector<Index> new_rows(const UpdateTask& task, Side side);

/// The rows whose flag is set, rising.
[[nodiscard]] std::vector<Index> rows_with(const std::vector<bool>& flags);

/// Titles of the items that had one, where these are now: item i is at places[i] of `items`.
[[nodiscard]] Titles titles_at(const Titles& titles, const std::vector<Index>& places, Index items);

/// Numbers of 0, 1, ..., size - 1.
[[nodiscard]] std::vector<Index> all_rows(Index size);

/// The spread of the values that the model was trained on, or, of a model of nothing, of those that
/// it has now.
[[nodiscard]] double trained_spread(const UpdateTask& task, const SgdParams& params);

}  // namespace likewise
