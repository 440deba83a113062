// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "binding.h"
#include "likewise/features.h"

namespace likewise::python {

/// A table for Python, and what reading it met.
struct Tags {
  FeatureTable table;
  FeatureSummary summary;
};

/// Of (users, items, regularization), each of them perhaps None.
[[nodiscard]] FeatureTables tables_of(const nb::tuple& features);
/// A dict for each side; None for one without a table.
[[nodiscard]] nb::dict dict_of(const LearnedTables& learned);

}  // namespace likewise::python
