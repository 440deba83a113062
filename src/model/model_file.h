// SPDX-License-Identifier: Apache-2.0
/// A model from bytes that are already in memory: what load_model does after mapping the file.
#pragma once

#include <cstddef>
#include <memory>
#include <span>

#include "likewise/model.h"

namespace likewise {

enum class VerifyChecksum { kNo, kYes };

/// `owner` keeps `bytes` alive; the model may point into them. kNo is for fuzzing, which would
/// otherwise never get past the checksum. Throws Error(kBadData) without a path.
[[nodiscard]] Model model_from_bytes(const std::shared_ptr<void>& owner, std::span<std::byte> bytes,
                                     VerifyChecksum verify = VerifyChecksum::kYes);

}  // namespace likewise
