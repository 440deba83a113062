// SPDX-License-Identifier: Apache-2.0
/// Any bytes as a model file. The checksum is not verified: it would stop every changed byte before
/// the checks that must hold without it.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "likewise/error.h"
#include "model/model_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // Aligned as a mapped file is, and not a byte longer than the input: reading past it is seen.
  void* copy = nullptr;
  if (posix_memalign(&copy, 64, size == 0 ? 1 : size) != 0) return 0;
  const std::shared_ptr<void> owner(copy, std::free);
  if (size > 0) std::memcpy(copy, data, size);
  try {
    const likewise::Model model = likewise::model_from_bytes(
        owner, {static_cast<std::byte*>(copy), size}, likewise::VerifyChecksum::kNo);
    // A model that passes must be safe to walk through.
    double sum = 0.0;
    for (likewise::Index user = 0; user < model.history.rows; ++user) {
      for (const likewise::Index item : model.history.view().row_columns(user)) {
        sum += static_cast<double>(model.items.name(item).size());
        if (model.factors.items.cols() > 0) sum += model.factors.items.row(item)[0];
      }
    }
    for (likewise::Index user = 0; user < model.users.size(); ++user) {
      if (model.users.find(model.users.name(user)) != user) std::abort();
    }
    [[maybe_unused]] volatile const double used = sum;
  } catch (const likewise::Error& fault) {
    if (fault.kind() != likewise::ErrorKind::kBadData) std::abort();
  }
  return 0;
}
