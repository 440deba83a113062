// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "data/compressor.h"
#include "data/partial_files.h"
#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

[[noreturn]] void throw_io(const std::string& path, const char* action, int error) {
  const std::string name = path == "-" ? "standard output" : path;
  throw Error(ErrorKind::kIo,
              fmt::format("{}: {}: {}", name, action, std::generic_category().message(error)));
}

/// Retries what a signal interrupted.
template <class Call>
auto uninterrupted(const Call& call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

/// A name of its own beside the target, for O_EXCL; the target's may already be as long as allowed.
fs::path partial_name(const fs::path& target) {
  static std::atomic<unsigned> counter{0};
  constexpr std::size_t kKeep = 180;
  return target.parent_path() / fmt::format(".{}.partial-{}-{}",
                                            target.filename().string().substr(0, kKeep), getpid(),
                                            counter.fetch_add(1));
}

}  // namespace

struct OutputFile::State {
  explicit State(const std::string& path);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void check_usable() const;
  void open_beside(const struct stat* existing);
  void send(std::string_view bytes);   ///< through the compressor, if there is one
  void store(std::string_view bytes);  ///< to the file descriptor
  void flush();
  void close();
  void rename_to_target();

  std::string path;  ///< as the caller wrote it, for messages
  fs::path target;   ///< absolute, links resolved
  fs::path partial;  ///< empty: written directly
  int descriptor = -1;
  std::string buffer;
  bool committed = false;
  bool broken = false;  ///< a write failed: what is there has a gap
  std::unique_ptr<Compressor> compressor;
  std::optional<PartialFileEntry> listed;
};

OutputFile::State::State(const std::string& path_) : path(path_) {
  compressor = make_compressor(path);
  buffer.reserve(kBufferBytes);
  if (path == "-") {
    std::fflush(stdout);  // what was printed before stays before
    descriptor = STDOUT_FILENO;
    return;
  }
  struct stat existing {};
  if (::stat(path.c_str(), &existing) != 0) {
    if (errno != ENOENT) throw_io(path, "cannot create", errno);
    open_beside(nullptr);
  } else if (S_ISDIR(existing.st_mode)) {
    throw_io(path, "cannot write", EISDIR);
  } else if (S_ISREG(existing.st_mode)) {
    if (access(path.c_str(), W_OK) != 0) throw_io(path, "cannot replace", errno);
    open_beside(&existing);
  } else {
    descriptor = uninterrupted([&] { return open(path.c_str(), O_WRONLY | O_CLOEXEC); });
    if (descriptor < 0) throw_io(path, "cannot write", errno);
  }
}

OutputFile::State::~State() {
  if (descriptor > STDERR_FILENO) ::close(descriptor);
  if (!committed && !partial.empty()) unlink(partial.c_str());
}

void OutputFile::State::check_usable() const {
  if (broken) throw Error(ErrorKind::kIo, path + ": an earlier write failed");
}

/// Absolute names: a later change of the working folder must not move the output.
void OutputFile::State::open_beside(const struct stat* existing) {
  if (path.empty() || path.ends_with('/')) throw_io(path, "cannot create", ENOENT);
  std::error_code error;
  target = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) throw_io(path, "cannot create", error.value());
  for (int attempt = 0; attempt < 100; ++attempt) {
    const fs::path name = partial_name(target);
    descriptor = uninterrupted(
        [&] { return open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666); });
    if (descriptor >= 0) {
      partial = name;
      listed.emplace(name.string());
      if (existing != nullptr) fchmod(descriptor, existing->st_mode & 0777);
      return;
    }
    if (errno != EEXIST) break;  // a leftover of a dead process with our number: the next name
  }
  throw_io(path, "cannot create", errno);
}

void OutputFile::State::store(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        uninterrupted([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (written <= 0) {
      broken = true;
      throw_io(path, "cannot write", written < 0 ? errno : EIO);
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

void OutputFile::State::send(std::string_view bytes) {
  if (compressor != nullptr) {
    compressor->write(bytes, [this](std::string_view made) { store(made); });
  } else {
    store(bytes);
  }
}

void OutputFile::State::flush() {
  send(buffer);
  buffer.clear();
}

void OutputFile::State::close() {
  const int closing = std::exchange(descriptor, -1);
  if (closing <= STDERR_FILENO) return;
  if (::close(closing) != 0 && errno != EINTR) throw_io(path, "cannot close", errno);
}

void OutputFile::State::rename_to_target() {
  // Without fsync a crash after the rename could leave an empty file under the final name. Some
  // file systems do not offer it: then there is nothing more to be had.
  if (uninterrupted([&] { return fsync(descriptor); }) != 0 && errno != EINVAL &&
      errno != ENOTSUP) {
    throw_io(path, "cannot write", errno);
  }
  close();
  if (::rename(partial.c_str(), target.c_str()) != 0) throw_io(path, "cannot rename to", errno);
  const int folder = open(target.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder >= 0) {
    fsync(folder);  // the new name itself; the content is safe already
    ::close(folder);
  }
}

OutputFile::OutputFile(const std::string& path) : state_(std::make_unique<State>(path)) {}
OutputFile::~OutputFile() = default;
OutputFile::OutputFile(OutputFile&&) noexcept = default;

void OutputFile::write(std::string_view bytes) {
  if (state_->committed) {
    throw Error(ErrorKind::kInvalidArgument, state_->path + ": write after commit");
  }
  state_->check_usable();
  if (state_->buffer.size() + bytes.size() > kBufferBytes) state_->flush();
  if (bytes.size() >= kBufferBytes) {
    state_->send(bytes);
  } else {
    state_->buffer.append(bytes);
  }
}

void OutputFile::commit() {
  if (state_->committed) return;
  state_->check_usable();
  state_->flush();
  if (state_->compressor != nullptr) {
    state_->compressor->finish([this](std::string_view made) { state_->store(made); });
  }
  if (state_->partial.empty()) {
    state_->close();
  } else {
    state_->rename_to_target();
  }
  state_->committed = true;
  state_->listed.reset();
}

}  // namespace likewise
