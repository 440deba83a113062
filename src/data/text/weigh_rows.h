// SPDX-License-Identifier: Apache-2.0
/// What the times of rows say of them: which count at all, and how much. Between reading and
/// merging, on all threads.
#pragma once

#include <string>

#include "data/text/rows.h"
#include "likewise/read.h"

namespace likewise {

/// Why a half-life is refused of ratings.
[[nodiscard]] std::string half_life_of_ratings();

/// Whether the options ask for what only times can tell, beside keeping them.
[[nodiscard]] bool needs_times(const ReadOptions& options);
/// Why there are no times: a column may hold them.
[[nodiscard]] std::string no_column_of_times();
/// Throws kInvalidArgument for options of time that cannot be, or where they, or `policy`, need
/// times and there are none: `without_times` says why, and is empty where there are some.
void check_weighing(const ReadOptions& options, Duplicates policy, const std::string& without_times,
                    const std::string& file);

/// Drops the rows outside of since and until, gives each the value 1 for kCount, and halves values
/// by half_life. Throws kInvalidArgument where nothing is left, or a row lies after `now`. Counts
/// in `summary`, whose policy is known. `file` is for messages.
template <class Row>
void weigh_rows(Staged<Row>& staged, const ReadOptions& options, const std::string& file,
                ReadSummary& summary);

extern template void weigh_rows(Staged<PlainRow>&, const ReadOptions&, const std::string&,
                                ReadSummary&);
extern template void weigh_rows(Staged<TimedRow>&, const ReadOptions&, const std::string&,
                                ReadSummary&);

}  // namespace likewise
