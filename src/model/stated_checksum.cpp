// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/model_checksum.h"
#include "model/checksum.h"
#include "model/known_formats.h"
#include "model/mapped_file.h"
#include "model/model_metadata.h"
#include "model/safetensors.h"

namespace likewise {

std::string model_checksum(const std::string& path) {
  const MappedFile file = map_file(path);
  try {
    refuse_known_formats(file.bytes);
    return require(safetensors::parse(file.bytes).metadata, kChecksumKey);
  } catch (const Error& fault) {
    throw Error(fault.kind(), fmt::format("{}: cannot load the model: {}", path, fault.message()));
  }
}

}  // namespace likewise
