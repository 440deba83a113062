// SPDX-License-Identifier: Apache-2.0
/// The checksum of a model file: XXH3-128 of the whole file, in which the 32 hexadecimal digits
/// that state it count as zeros. So header, metadata and data are all covered.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace likewise {

inline constexpr const char* kChecksumKey = "checksum";
inline constexpr std::string_view kNoChecksum = "00000000000000000000000000000000";

/// XXH3-128 of bytes that come in parts.
class Checksum {
 public:
  Checksum();
  void update(std::string_view bytes);
  /// 32 lower-case hexadecimal digits.
  [[nodiscard]] std::string digits() const;

 private:
  struct State;
  std::unique_ptr<State, void (*)(State*)> state_;
};

/// The checksum of a file that states `stated` somewhere in its first `header_end` bytes.
[[nodiscard]] std::string file_checksum(std::span<const std::byte> file, std::size_t header_end,
                                        std::string_view stated);

}  // namespace likewise
