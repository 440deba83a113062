// SPDX-License-Identifier: Apache-2.0
/// `IdEncoder`: ids that come one at a time, as codes beside the different ids: the EncodedColumn
/// that make_interactions() takes.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "likewise/make_interactions.h"
#include "likewise/types.h"

namespace likewise {

/// Codes are 0, 1, 2, ... in the order in which ids first come. All ids of one encoder are text, or
/// all are integers. One thread at a time.
class IdEncoder {
 public:
  IdEncoder();
  ~IdEncoder();
  IdEncoder(IdEncoder&&) noexcept;
  IdEncoder& operator=(IdEncoder&&) noexcept;

  /// The code of an id, new or known; text is copied. Throws Error(kBadData) beyond 2^31 - 1 ids,
  /// and Error(kInvalidArgument) for an integer among text or text among integers.
  [[nodiscard]] Index code(std::string_view id);
  [[nodiscard]] Index code(std::int64_t id);

  [[nodiscard]] Index size() const;  ///< how many different ids came

  /// A column of codes that this encoder gave out, -1 for a missing id. Borrows both.
  [[nodiscard]] EncodedColumn column(std::span<const std::int32_t> codes) const;

 private:
  struct Tables;
  std::unique_ptr<Tables> tables_;
};

}  // namespace likewise
