// SPDX-License-Identifier: Apache-2.0
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include "data/write/compressor.h"
#include "data/write/held_file.h"
#include "data/write/output_target.h"
#include "data/write/partial_files.h"
#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 18;

}  // namespace

struct OutputFile::State {
  State(const std::string& path, HeldFile* held);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  void check_usable() const;
  void open_beside(const OutputTarget& found);
  void send(std::string_view bytes);   ///< through the compressor, if there is one
  void store(std::string_view bytes);  ///< to the file descriptor
  void flush();
  void close();
  void rename_to_target();

  std::string path;               ///< as the caller wrote it, for messages
  std::filesystem::path target;   ///< absolute: a later change of the working folder moves nothing
  std::filesystem::path partial;  ///< empty: written directly
  int descriptor = -1;
  HeldFile* held;
  std::string buffer;
  bool committed = false;
  bool broken = false;  ///< a write failed: what is there has a gap
  std::unique_ptr<Compressor> compressor;
  std::optional<PartialFileEntry> listed;
};

OutputFile::State::State(const std::string& path_, HeldFile* held_) : path(path_), held(held_) {
  compressor = make_compressor(path);
  buffer.reserve(kBufferBytes);
  const OutputTarget found = find_output(path);
  if (found.kind == OutputTarget::Kind::kFile) {
    open_beside(found);
  } else if (found.kind == OutputTarget::Kind::kDescriptor) {
    std::fflush(stdout);  // what was printed before stays before
    descriptor = fcntl(found.descriptor, F_DUPFD_CLOEXEC, 0);
  } else {
    descriptor = uninterrupted([&] { return open(found.path.c_str(), O_WRONLY | O_CLOEXEC); });
  }
  if (descriptor < 0) throw_output_error(path, "cannot write", errno);
}

OutputFile::State::~State() {
  if (!committed && !partial.empty()) unlink(partial.c_str());
  if (descriptor >= 0) ::close(descriptor);  // and with it the lock of the partial file
}

void OutputFile::State::check_usable() const {
  if (broken) throw Error(ErrorKind::kIo, path + ": an earlier write failed");
}

void OutputFile::State::open_beside(const OutputTarget& found) {
  if (found.exists && access(found.path.c_str(), W_OK) != 0) {
    throw_output_error(path, "cannot replace", errno);
  }
  const Partial made = make_partial(found.path, PartialKind::kFile);
  if (made.descriptor < 0) throw_output_error(path, "cannot create", errno);
  descriptor = made.descriptor;
  target = found.path;
  partial = made.path;
  listed.emplace(partial.string());
  if (found.exists) fchmod(descriptor, found.mode & 0777);
}

void OutputFile::State::store(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        uninterrupted([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (written <= 0) {
      broken = true;
      throw_output_error(path, "cannot write", written < 0 ? errno : EIO);
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
  if (::close(std::exchange(descriptor, -1)) != 0 && errno != EINTR) {
    throw_output_error(path, "cannot close", errno);
  }
}

void OutputFile::State::rename_to_target() {
  // Without fsync a crash after the rename could leave an empty file under the final name. Some
  // file systems do not offer it: then there is nothing more to be had.
  if (uninterrupted([&] { return fsync(descriptor); }) != 0 && errno != EINVAL &&
      errno != ENOTSUP) {
    throw_output_error(path, "cannot write", errno);
  }
  // Closing may be the first to know of an error, and has to come before the rename; the second
  // descriptor keeps the lock till after it.
  const int locked = fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  close();
  descriptor = locked;
  const bool renamed =
      held != nullptr ? held->state().replace_by(partial, locked) : take_place(partial, target);
  if (!renamed) {
    throw_output_error(path, "cannot rename to", errno);
  }
  sync_folder(target.parent_path());  // the new name itself; the content is safe already
}

OutputFile::OutputFile(const std::string& path) : state_(std::make_unique<State>(path, nullptr)) {}
OutputFile::OutputFile(HeldFile& file) : state_(std::make_unique<State>(file.path(), &file)) {}
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

void check_output(const std::string& path) {
  const OutputTarget target = find_output(path);
  if (target.kind == OutputTarget::Kind::kFile) {
    remove_abandoned_partials(target.path.parent_path());
    const OutputFile attempt(path);  // what the system really lets us do; without commit it goes
  } else if (target.kind == OutputTarget::Kind::kDevice) {
    if (access(target.path.c_str(), W_OK) != 0) throw_output_error(path, "cannot write", errno);
  } else {
    const int flags = fcntl(target.descriptor, F_GETFL);
    const bool closed_to_us = flags < 0 || (flags & O_ACCMODE) == O_RDONLY;
    if (closed_to_us) throw_output_error(path, "cannot write", EBADF);
  }
}

}  // namespace likewise
