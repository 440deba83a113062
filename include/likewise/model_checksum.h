// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace likewise {

/// What a model file says its checksum is, 32 hexadecimal digits; load_model() verifies it. Reads
/// the header alone. Throws Error(kNotFound), Error(kIo), or Error(kBadData) for a file that is no
/// model.
[[nodiscard]] std::string model_checksum(const std::string& path);

}  // namespace likewise
