// SPDX-License-Identifier: Apache-2.0
#include "model/checksum.h"

#include <new>

#include <fmt/format.h>
// Inlined: the library's own functions are built for the oldest processor.
#define XXH_INLINE_ALL
#include <xxhash.h>

namespace likewise {

struct Checksum::State {
  XXH3_state_t* xxh = nullptr;
};

Checksum::Checksum()
    : state_(new State{XXH3_createState()}, [](State* gone) {
        XXH3_freeState(gone->xxh);
        delete gone;
      }) {
  if (state_->xxh == nullptr) throw std::bad_alloc();
  XXH3_128bits_reset(state_->xxh);
}

void Checksum::update(std::string_view bytes) {
  XXH3_128bits_update(state_->xxh, bytes.data(), bytes.size());
}

std::string Checksum::digits() const {
  const XXH128_hash_t hash = XXH3_128bits_digest(state_->xxh);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string file_checksum(std::span<const std::byte> file, std::size_t header_end,
                          std::string_view stated) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  Checksum sum;
  const std::size_t at = text.substr(0, header_end).find(stated);
  if (at == std::string_view::npos) {
    sum.update(text);  // spelled with escapes: then it cannot match either
    return sum.digits();
  }
  sum.update(text.substr(0, at));
  sum.update(std::string(stated.size(), '0'));
  sum.update(text.substr(at + stated.size()));
  return sum.digits();
}

}  // namespace likewise
