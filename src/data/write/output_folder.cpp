// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <chrono>
#include <deque>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "data/write/output_target.h"
#include "data/write/partial_files.h"
#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

namespace fs = std::filesystem;

/// Renames that are undone, the last one first, unless all of them went well.
class Renames {
 public:
  explicit Renames(std::string folder) : folder_(std::move(folder)) {}
  ~Renames() {
    for (auto at = done_.rbegin(); at != done_.rend(); ++at) {
      ::rename(at->second.c_str(), at->first.c_str());
    }
  }
  Renames(const Renames&) = delete;
  Renames& operator=(const Renames&) = delete;

  void rename(const fs::path& from, const fs::path& to) {
    done_.reserve(done_.size() + 1);  // nothing may fail between the rename and its entry
    std::pair<fs::path, fs::path> entry(from, to);
    if (::rename(from.c_str(), to.c_str()) != 0) {
      throw_output_error(folder_, "cannot put files in place", errno);
    }
    done_.push_back(std::move(entry));
  }
  void keep() { done_.clear(); }

 private:
  std::string folder_;
  std::vector<std::pair<fs::path, fs::path>> done_;
};

/// The lock of a folder while files are put in place: moments.
class FolderLock {
 public:
  FolderLock(const std::string& name, const fs::path& folder)
      : descriptor_(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw_output_error(name, "cannot open", errno);
    constexpr int kAttempts = 25;
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      // File systems without locks: two writers at once are nobody's wish, and go unseen there.
      if (flock(descriptor_, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    close(descriptor_);
    throw Error(ErrorKind::kIo,
                fmt::format("{}: another process has the folder locked; run again when it is done, "
                            "or name another folder",
                            name));
  }
  ~FolderLock() { close(descriptor_); }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

}  // namespace

struct OutputFolder::State {
  State(const std::string& path_, std::vector<std::string> names_)
      : path(path_), names(std::move(names_)) {}
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void find_target();
  void make_parents(const fs::path& folder);
  void make_staging();
  [[nodiscard]] std::string shown(const std::string& name) const;
  [[nodiscard]] struct stat check_replaceable(const std::string& name) const;
  void check_missing() const;
  [[nodiscard]] bool appear();
  void replace();

  std::string path;  ///< as the caller wrote it, for messages
  std::vector<std::string> names;
  fs::path target;     ///< absolute, links followed
  bool exists = true;  ///< whether it did at the beginning
  std::vector<fs::path> made_parents;
  Partial staging;
  std::deque<PartialFileEntry> listed;  ///< all that a signal handler should take away
  std::vector<std::string> unwanted;
  bool committed = false;
};

OutputFolder::State::~State() {
  std::error_code ignored;
  if (staging.descriptor >= 0) {
    fs::remove_all(staging.path, ignored);
    close(staging.descriptor);
  }
  if (committed) return;
  for (auto made = made_parents.rbegin(); made != made_parents.rend(); ++made) rmdir(made->c_str());
}

void OutputFolder::State::find_target() {
  if (path.empty()) throw Error(ErrorKind::kInvalidArgument, "an output folder's name is empty");
  struct stat facts {};
  exists = ::stat(path.c_str(), &facts) == 0;
  if (!exists && errno != ENOENT) throw_output_error(path, "cannot make the folder", errno);
  if (exists && !S_ISDIR(facts.st_mode)) {
    throw Error(ErrorKind::kIo, path + ": is a file, and a folder is needed; name another");
  }
  const std::string bare = path.substr(0, path.find_last_not_of('/') + 1);
  if (!exists && ::lstat(bare.c_str(), &facts) == 0) {
    throw Error(ErrorKind::kIo, path + ": is a link to nothing; remove it or name another folder");
  }
  std::error_code failed;
  target = fs::weakly_canonical(fs::absolute(path, failed), failed);
  if (failed) throw_output_error(path, "cannot make the folder", failed.value());
  if (!target.has_filename() && target.has_relative_path()) target = target.parent_path();
}

void OutputFolder::State::make_parents(const fs::path& folder) {
  const auto make = [&] {
    if (mkdir(folder.c_str(), 0777) != 0) return errno == EEXIST;
    made_parents.push_back(folder);
    listed.emplace_back(folder.string());
    return true;
  };
  if (make()) return;
  if (errno == ENOENT && folder.has_relative_path()) {
    make_parents(folder.parent_path());
    if (make()) return;
  }
  throw_output_error(path, "cannot make the folder", errno);
}

/// Inside a folder that is there: the one above may belong to others, or be another disk.
void OutputFolder::State::make_staging() {
  if (!exists) make_parents(target.parent_path());
  const fs::path beside = exists ? target / target.filename() : target;
  remove_abandoned_partials(beside.parent_path());
  staging = make_partial(beside, PartialKind::kFolder);
  if (staging.descriptor < 0) throw_output_error(path, "cannot write into the folder", errno);
  listed.emplace_back(staging.path.string());
}

std::string OutputFolder::State::shown(const std::string& name) const {
  return (fs::path(path) / name).string();
}

/// The facts of the file of this name in the folder, st_nlink = 0 where there is none. Links are
/// not followed: a file cannot move to where they lead without a moment in between.
struct stat OutputFolder::State::check_replaceable(const std::string& name) const {
  const fs::path file = target / name;
  struct stat facts {};
  if (::lstat(file.c_str(), &facts) != 0) {
    if (errno == ENOENT) return {};
    throw_output_error(shown(name), "cannot replace", errno);
  }
  if (!S_ISREG(facts.st_mode)) {
    throw Error(ErrorKind::kIo, fmt::format("{}: is no plain file, and would be replaced; remove "
                                            "it or name another folder",
                                            shown(name)));
  }
  if (access(file.c_str(), W_OK) != 0) {
    throw_output_error(shown(name), "cannot replace", errno);
  }
  return facts;
}

void OutputFolder::State::check_missing() const {
  for (const std::string& name : unwanted) {
    struct stat facts {};
    if (::lstat((target / name).c_str(), &facts) != 0) continue;
    throw Error(ErrorKind::kIo,
                fmt::format("{}: is there already and would not fit the files beside it; remove it "
                            "or name another folder",
                            shown(name)));
  }
}

/// False where the folder is there by now.
bool OutputFolder::State::appear() {
  if (::rename(staging.path.c_str(), target.c_str()) == 0) {
    close(std::exchange(staging.descriptor, -1));  // it is partial no more
    return true;
  }
  if (errno == EEXIST || errno == ENOTEMPTY) return false;
  throw_output_error(path, "cannot make the folder", errno);
}

/// First all old files go, then all new ones come.
void OutputFolder::State::replace() {
  const FolderLock lock(path, target);
  check_missing();
  const TakingPlaces undisturbed;
  Renames renames(path);
  const auto sync_folders = [&] {
    fs::path last;
    for (const std::string& name : names) {
      const fs::path folder = (target / name).parent_path();
      if (folder != last) sync_folder(folder);
      last = folder;
    }
  };
  for (std::size_t i = 0; i < names.size(); ++i) {
    const struct stat old = check_replaceable(names[i]);
    if (old.st_nlink == 0) continue;
    chmod((staging.path / names[i]).c_str(), old.st_mode & 0777);
    renames.rename(target / names[i], staging.path / fmt::format("replaced-{}", i));
  }
  sync_folders();  // a crash of the machine must not bring an old one back beside a new one
  for (auto name = names.rbegin(); name != names.rend(); ++name) {
    make_parents((target / *name).parent_path());
    renames.rename(staging.path / *name, target / *name);
  }
  renames.keep();
  sync_folders();
  for (std::size_t i = 0; i < names.size(); ++i) {
    unlink((staging.path / fmt::format("replaced-{}", i)).c_str());
  }
}

OutputFolder::OutputFolder(const std::string& path, std::vector<std::string> names)
    : state_(std::make_unique<State>(path, std::move(names))) {
  state_->find_target();
  for (const std::string& name : state_->names) (void)state_->check_replaceable(name);
  state_->make_staging();
}
OutputFolder::~OutputFolder() = default;
OutputFolder::OutputFolder(OutputFolder&&) noexcept = default;

void OutputFolder::write(const std::string& name,
                         const std::function<void(const std::string&)>& writer) {
  const std::string staged = (state_->staging.path / name).string();
  const std::string folder = fs::path(staged).parent_path().string();
  if (mkdir(folder.c_str(), 0777) == 0) {
    state_->listed.emplace_back(folder);
  } else if (errno != EEXIST) {
    throw_output_error(state_->shown(name), "cannot create", errno);
  }
  state_->listed.emplace_back(staged);
  try {
    writer(staged);
  } catch (const Error& error) {
    std::string message = error.what();  // with the name that the file will have
    if (message.starts_with(staged)) message.replace(0, staged.size(), state_->shown(name));
    throw Error(error.kind(), message);
  }
}

void OutputFolder::require_missing(const std::string& name) {
  state_->unwanted.push_back(name);
  state_->check_missing();
}

void OutputFolder::commit() {
  if (state_->committed) return;
  sync_folder(state_->staging.path);
  if (state_->exists || !state_->appear()) {
    state_->replace();
  } else {
    sync_folder(state_->target.parent_path());
  }
  state_->committed = true;
  state_->listed.clear();
}

}  // namespace likewise
