// SPDX-License-Identifier: Apache-2.0
#include "data/partial_files.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

#include "likewise/write.h"

namespace likewise {
namespace {

constexpr std::size_t kSlots = 256;

// Whoever takes a pointer out of its slot owns it: the handler never sees a freed name. Plain C
// strings, because the handler may neither allocate nor lock.
using Slot = std::atomic<char*>;
static_assert(Slot::is_always_lock_free, "a signal handler must not wait for a lock");
constinit std::array<Slot, kSlots> slots{};

}  // namespace

PartialFileEntry::PartialFileEntry(const std::string& absolute_path) : slot_(kSlots) {
  char* name = strdup(absolute_path.c_str());
  if (name == nullptr) return;
  for (std::size_t i = 0; i < kSlots; ++i) {
    char* expected = nullptr;
    if (slots[i].compare_exchange_strong(expected, name)) {
      slot_ = i;
      return;
    }
  }
  std::free(name);
}

PartialFileEntry::~PartialFileEntry() {
  if (slot_ < kSlots) std::free(slots[slot_].exchange(nullptr));
}

void remove_partial_files() noexcept {
  const int saved = errno;
  for (Slot& slot : slots) {
    // Not freed: free() may hold the lock that the interrupted thread waits with.
    if (const char* name = slot.exchange(nullptr)) unlink(name);
  }
  errno = saved;
}

}  // namespace likewise
