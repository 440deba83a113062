// SPDX-License-Identifier: Apache-2.0
/// Reading from any source of bytes: what `read_interactions` does once the file is open.
#pragma once

#include <string>

#include "data/bytes/block_stream.h"
#include "data/bytes/byte_source.h"
#include "likewise/read.h"

namespace likewise {

/// `file` is the name in messages.
[[nodiscard]] Interactions read_source(ByteSourcePtr raw, const std::string& file,
                                       const ReadOptions& options, ReadSummary* summary,
                                       const RunControl& control, const ReadTuning& tuning = {});

/// What `read_pairs` does likewise.
[[nodiscard]] Pairs read_pairs_of(ByteSourcePtr raw, const std::string& file,
                                  const ReadOptions& options, ReadSummary* summary,
                                  const RunControl& control, const ReadTuning& tuning = {});

}  // namespace likewise
