// SPDX-License-Identifier: Apache-2.0
/// Decompression as a stream: memory stays bounded whatever a file claims to hold.
#pragma once

#include <string>

#include "data/bytes/byte_source.h"

namespace likewise {

struct Decompressed {
  ByteSourcePtr source;
  const char* compression;  ///< "", "gzip" or "zstd"
};

/// Looks at the first bytes: gzip (any number of members) and zstd (any number of frames) are
/// decompressed, anything else passes as it is. `name` is for messages. Reading throws kBadData on
/// broken or truncated streams; known foreign formats (zip, xz, Parquet, ...) are refused by name.
[[nodiscard]] Decompressed decompress(ByteSourcePtr raw, const std::string& name);

}  // namespace likewise
