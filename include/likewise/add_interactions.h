// SPDX-License-Identifier: Apache-2.0
/// More interactions for a trained neighbourhood model, without searching everything again.
#pragma once

#include "likewise/device.h"
#include "likewise/interactions.h"
#include "likewise/model.h"
#include "likewise/read.h"

namespace likewise {

struct AddedInteractions {
  Model model;          ///< exactly what training on all interactions would have given
  Index rows_searched;  ///< users or items compared with all others again
  Offset repeated;      ///< pairs of `more` that the model had already
};

/// `model` with `more`: new users and items join, and a pair that both have becomes what
/// `duplicates` (not kAuto; ReadSummary::policy of the file that `more` is from) makes of two rows:
/// the model is that of one file with the old rows and then the new ones. Only rows whose entries
/// changed, and rows that lost a neighbour by that, are compared with all others again, where a
/// similarity depends on its two rows alone; tfidf, bm25, pearson-baseline and conditional, and
/// log-likelihood when there are new columns, start afresh. Errors: kInvalidArgument for a model
/// without neighbours and for kAuto, kBadData for a pair of both with kError, kCancelled.
[[nodiscard]] AddedInteractions add_interactions(const Model& model, const Interactions& more,
                                                 Duplicates duplicates, const Device& device,
                                                 const RunControl& control = {});

}  // namespace likewise
