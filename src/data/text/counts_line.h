// SPDX-License-Identifier: Apache-2.0
/// A first line that holds the counts of users, items and rows ("943 1682 80000"), as LIBMF and
/// MyMediaLite write it, and would otherwise be taken for an interaction of 80000.
///
/// What the line is, is decided by what follows it. It agrees where the third number is that of the
/// rows that follow, and no more users and items follow than the first two say. It stands out where
/// the third number is more than ten times every value that follows, which no rating does, or where
/// the line does not have the fields of a row.
///
///     agrees   stands out
///     yes      yes          counts: passed over
///     no       no           a row
///     yes      no           may be either ("3 3 5" above five ratings): an error
///     no       yes          counts of something else, or a row that is out of scale: an error
///
/// Where it may be either, but all three numbers are exactly those of what follows and the third is
/// above every value ("5 5 21" above 21 ratings of 1 to 5), it is counts.
///
/// The two errors are a row where the third number is below one of the first two: data rarely have
/// fewer rows than users or items.
#pragma once

#include <optional>
#include <string_view>

#include "data/text/format.h"
#include "data/text/rows.h"

namespace likewise {

/// The counts that a first line may hold: three whole numbers, possible as such (no pair twice),
/// between delimiters or blanks.
[[nodiscard]] std::optional<CountsLine> possible_counts(std::string_view line, Delimiter delimiter);

/// What was staged after format.counts, of which `summary` counts the rows: whether it is counts,
/// and no row. Throws kBadData where that cannot be told. `users` and `items` of `staged` are the
/// tables of threads.
template <class Row>
[[nodiscard]] bool is_counts(const FileFormat& format, const Staged<Row>& staged,
                             const ReadSummary& summary);

extern template bool is_counts(const FileFormat&, const Staged<PlainRow>&, const ReadSummary&);
extern template bool is_counts(const FileFormat&, const Staged<TimedRow>&, const ReadSummary&);

}  // namespace likewise
