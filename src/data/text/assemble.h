// SPDX-License-Identifier: Apache-2.0
/// The second half of reading: rows to the matrix.
///
/// Rows are dealt out to buckets of neighbouring users, in file order; each bucket fits a cache and
/// is sorted and freed of duplicates on its own; then the buckets are laid end to end. Every step
/// gives back the memory of the step before as it goes, so the rows exist about once.
#pragma once

#include <string>

#include "data/text/rows.h"
#include "likewise/control.h"
#include "likewise/interactions.h"
#include "likewise/read.h"

namespace likewise {

/// `duplicates` is not kAuto. Counts the merged rows in `summary`. `file` is for messages.
template <class Row>
[[nodiscard]] Interactions assemble(Staged<Row> staged, Duplicates duplicates,
                                    const std::string& file, ReadSummary& summary,
                                    const RunControl& control);

extern template Interactions assemble(Staged<PlainRow>, Duplicates, const std::string&,
                                      ReadSummary&, const RunControl&);
extern template Interactions assemble(Staged<TimedRow>, Duplicates, const std::string&,
                                      ReadSummary&, const RunControl&);

}  // namespace likewise
