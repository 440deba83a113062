// SPDX-License-Identifier: Apache-2.0
#include "data/write/held_file.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <fcntl.h>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "data/write/file_lock.h"
#include "data/write/output_target.h"
#include "likewise/error.h"

namespace likewise {
namespace {

namespace fs = std::filesystem;

constexpr auto kBetweenLooks = std::chrono::milliseconds(50);

/// Whoever puts a file in the place of another one has the lock of that one meanwhile.
class Replacing {
 public:
  explicit Replacing(const fs::path& target) {
    do {
      if (descriptor_ >= 0) ::close(descriptor_);
      descriptor_ = open_to_lock(target);
      if (descriptor_ < 0) return;  // nothing is there
      lock(descriptor_, LockUse::kReplacing);
    } while (!is_at(target, descriptor_));
  }
  ~Replacing() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Replacing(const Replacing&) = delete;
  Replacing& operator=(const Replacing&) = delete;

 private:
  int descriptor_ = -1;
};

/// Where another file has come to be meanwhile it stays, on the file systems that can tell.
[[nodiscard]] bool take_free_place(const fs::path& partial, const fs::path& target) {
  if (renameat2(AT_FDCWD, partial.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) == 0) {
    return true;
  }
  const bool unknown = errno == EINVAL || errno == ENOSYS;
  return unknown && ::rename(partial.c_str(), target.c_str()) == 0;
}

}  // namespace

HeldFile::State::State(const std::string& path_) : path(path_) {
  const OutputTarget found = find_output(path);
  if (found.kind == OutputTarget::Kind::kFile) target = found.path;
}

HeldFile::State::~State() {
  if (descriptor >= 0) ::close(descriptor);
}

bool HeldFile::State::try_to_hold() {
  while (!target.empty()) {
    const int there = open_to_lock(target);
    if (there < 0) return true;  // nothing yet, or nothing that could be read either
    if (!try_lock(there, LockUse::kHolding)) {
      ::close(there);
      return false;
    }
    if (is_at(target, there)) {
      descriptor = there;
      fstat(descriptor, &facts);
      return true;
    }
    ::close(there);  // another one came in between
  }
  return true;
}

void HeldFile::State::refuse() const {
  throw Error(ErrorKind::kIo,
              fmt::format("{}: another program has it in hand, to write it again; wait until that "
                          "is done, or name another file",
                          path));
}

void HeldFile::State::require_unchanged() const {
  struct stat now {};
  if (lstat(target.c_str(), &now) != 0) return;  // taken away: nothing is lost
  const bool same = descriptor >= 0 && now.st_dev == facts.st_dev && now.st_ino == facts.st_ino &&
                    now.st_size == facts.st_size && now.st_mtim.tv_sec == facts.st_mtim.tv_sec &&
                    now.st_mtim.tv_nsec == facts.st_mtim.tv_nsec;
  if (same) return;
  throw Error(ErrorKind::kIo,
              fmt::format("{}: another program has written it meanwhile: nothing was written over "
                          "that; run the same again, on what is there now, or name another file",
                          path));
}

bool HeldFile::State::replace_by(const fs::path& partial, int partial_descriptor) {
  const Replacing alone(target);
  require_unchanged();
  struct stat there {};
  const bool is_new = lstat(target.c_str(), &there) != 0;
  const int next = fcntl(partial_descriptor, F_DUPFD_CLOEXEC, 0);
  (void)try_lock(next, LockUse::kHolding);  // nobody else knows its name
  if (!(is_new ? take_free_place(partial, target)
               : ::rename(partial.c_str(), target.c_str()) == 0)) {
    const int reason = errno;
    ::close(next);
    if (reason == EEXIST) require_unchanged();
    errno = reason;
    return false;
  }
  if (descriptor >= 0) ::close(descriptor);
  descriptor = next;
  fstat(descriptor, &facts);
  return true;
}

bool take_place(const fs::path& partial, const fs::path& target) {
  const Replacing alone(target);
  return ::rename(partial.c_str(), target.c_str()) == 0;
}

HeldFile::HeldFile(const std::string& path) : state_(std::make_unique<State>(path)) {
  if (!state_->try_to_hold()) state_->refuse();
}

HeldFile::HeldFile(const std::string& path, const RunControl& control,
                   const std::function<void()>& on_wait)
    : state_(std::make_unique<State>(path)) {
  for (bool first = true; !state_->try_to_hold(); first = false) {
    control.check();
    if (first && on_wait) on_wait();
    std::this_thread::sleep_for(kBetweenLooks);
  }
}

HeldFile::~HeldFile() = default;
HeldFile::HeldFile(HeldFile&&) noexcept = default;

const std::string& HeldFile::path() const { return state_->path; }

}  // namespace likewise
