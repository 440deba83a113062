// SPDX-License-Identifier: Apache-2.0
/// More interactions for a trained neighbourhood model, without searching everything again.
#pragma once

#include "likewise/backend.h"
#include "likewise/interactions.h"
#include "likewise/model.h"

namespace likewise {

struct AddedInteractions {
  Model model;          ///< exactly what training on all interactions would have given
  Index rows_searched;  ///< users or items compared with all others again
};

/// `model` with `more`: new users and items join, a cell that both have takes the newer rating
/// (explicit feedback) or the sum (implicit). Only rows whose entries changed, and rows that lost a
/// neighbour by that, are compared with all others again, where a similarity depends on its two
/// rows alone; tfidf, bm25, pearson-baseline and conditional, and log-likelihood when there are new
/// columns, start afresh. Errors: kInvalidArgument for a model without neighbours, kCancelled.
[[nodiscard]] AddedInteractions add_interactions(const Model& model, const Interactions& more,
                                                 const Backend& backend,
                                                 const RunControl& control = {});

}  // namespace likewise
