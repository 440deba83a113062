// SPDX-License-Identifier: Apache-2.0
#include "data/write/partial_files.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "data/write/file_lock.h"
#include "likewise/write.h"

namespace likewise {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = ".likewise-partial-";

/// ".model.likewise-partial-PID-N"; only the beginning of the target's name, which may be as long
/// as a name can be.
fs::path partial_path(const fs::path& target) {
  static std::atomic<unsigned> counter{0};
  constexpr std::size_t kKeep = 80;
  return target.parent_path() / fmt::format(".{}{}{}-{}",
                                            target.filename().string().substr(0, kKeep), kMark,
                                            getpid(), counter.fetch_add(1));
}

bool is_partial_name(std::string_view name) {
  const std::size_t at = name.rfind(kMark);
  return name.starts_with('.') && at != name.npos &&
         name.substr(at + kMark.size()).find_first_not_of("0123456789-") == name.npos;
}

/// A new file or an empty folder; -1 and errno where it cannot be made.
int make_new(const fs::path& path, PartialKind kind) {
  if (kind == PartialKind::kFile) {
    return open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  if (mkdir(path.c_str(), 0777) != 0) return -1;
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) {
    const int reason = errno;
    rmdir(path.c_str());
    errno = reason;
  }
  return descriptor;
}

/// False where another process has the lock. File systems without locks have none to lose: nobody
/// can take them for abandoned there.
bool lock(int descriptor) {
  return flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
}

void remove_if_abandoned(const fs::path& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0) return;
  struct stat facts {};
  const bool ours = fstat(descriptor, &facts) == 0 && facts.st_uid == geteuid() &&
                    (S_ISREG(facts.st_mode) || S_ISDIR(facts.st_mode));
  // A lock that cannot be had for another reason than its owner says nothing about the owner.
  if (ours && flock(descriptor, LOCK_EX | LOCK_NB) == 0 && is_at(path, descriptor)) {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  close(descriptor);
}

constexpr std::size_t kSlots = 256;

// Whoever takes a pointer out of its slot owns it: the handler never sees a freed name. Plain C
// strings, because the handler may neither allocate nor lock.
using Slot = std::atomic<char*>;
static_assert(Slot::is_always_lock_free, "a signal handler must not wait for a lock");
constinit std::array<Slot, kSlots> slots{};
constinit std::atomic<int> taking_places{0};

}  // namespace

Partial make_partial(const fs::path& target, PartialKind kind) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    const fs::path path = partial_path(target);
    const int descriptor = make_new(path, kind);
    if (descriptor < 0 && (errno == EEXIST || errno == EINTR)) continue;
    // Before it was locked another process may have thought it abandoned: then on to the next.
    if (descriptor < 0 || (lock(descriptor) && is_at(path, descriptor))) return {path, descriptor};
    close(descriptor);
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  errno = EEXIST;
  return {};
}

void remove_abandoned_partials(const fs::path& folder) noexcept try {
  std::error_code failed;
  fs::directory_iterator entry(folder, failed);
  for (; !failed && entry != fs::directory_iterator(); entry.increment(failed)) {
    if (is_partial_name(entry->path().filename().native())) remove_if_abandoned(entry->path());
  }
} catch (const std::bad_alloc&) {
  // What is abandoned may stay: nobody takes it for a result.
}

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

TakingPlaces::TakingPlaces() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before_);
  ++taking_places;
}

TakingPlaces::~TakingPlaces() {
  --taking_places;
  pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

void remove_partial_files() noexcept {
  const int saved = errno;
  constexpr int kMostMilliseconds = 300;
  const timespec millisecond{0, 1'000'000};
  for (int i = 0; i < kMostMilliseconds && taking_places > 0; ++i) nanosleep(&millisecond, nullptr);
  // Not freed: free() may hold the lock that the interrupted thread waits with.
  std::array<const char*, kSlots> names;
  for (std::size_t i = 0; i < kSlots; ++i) names[i] = slots[i].exchange(nullptr);
  for (bool more = true; more;) {  // folders go when what was in them has gone
    more = false;
    for (const char*& name : names) {
      if (name == nullptr || (unlink(name) != 0 && rmdir(name) != 0)) continue;
      name = nullptr;
      more = true;
    }
  }
  errno = saved;
}

}  // namespace likewise
