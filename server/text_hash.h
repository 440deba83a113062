// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace likewise::server {

/// FNV-1a (Fowler, Noll, Vo), then the last step of SplitMix64 (Steele et al. 2014), which spreads
/// it over all bits. The same on every machine.
[[nodiscard]] inline std::uint64_t hash_of(std::string_view text, std::uint64_t seed = 0) {
  std::uint64_t hash = 0xCBF29CE484222325U ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3U;
  hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9U;
  hash = (hash ^ (hash >> 27)) * 0x94D049BB133111EBU;
  return hash ^ (hash >> 31);
}

}  // namespace likewise::server
