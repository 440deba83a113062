// SPDX-License-Identifier: Apache-2.0
/// The first half of reading: text to rows, on all threads, while the source is read (and
/// decompressed) ahead of them. Only a few blocks of text exist at any time.
#pragma once

#include "data/bytes/block_stream.h"
#include "data/text/format.h"
#include "data/text/rows.h"
#include "likewise/control.h"
#include "likewise/read.h"

namespace likewise {

/// `source` stands at the file's first byte. Fills rows, bad_rows and first_bad_row of `summary`.
template <class Row>
[[nodiscard]] Staged<Row> stage_rows(ByteSource& source, const FileFormat& format,
                                     const ReadOptions& options, const ReadTuning& tuning,
                                     ReadSummary& summary, const RunControl& control);

/// Puts the line format.counts, which is a row after all, before the rows that were staged.
template <class Row>
void add_first_line(Staged<Row>& staged, const FileFormat& format, const ReadOptions& options,
                    const ReadTuning& tuning, ReadSummary& summary);

extern template void add_first_line(Staged<PlainRow>&, const FileFormat&, const ReadOptions&,
                                    const ReadTuning&, ReadSummary&);
extern template void add_first_line(Staged<TimedRow>&, const FileFormat&, const ReadOptions&,
                                    const ReadTuning&, ReadSummary&);

extern template Staged<PlainRow> stage_rows(ByteSource&, const FileFormat&, const ReadOptions&,
                                            const ReadTuning&, ReadSummary&, const RunControl&);
extern template Staged<TimedRow> stage_rows(ByteSource&, const FileFormat&, const ReadOptions&,
                                            const ReadTuning&, ReadSummary&, const RunControl&);

}  // namespace likewise
