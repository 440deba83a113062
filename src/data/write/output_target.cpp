// SPDX-License-Identifier: Apache-2.0
#include "data/write/output_target.h"

#include <charconv>
#include <fcntl.h>
#include <optional>
#include <string_view>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

namespace fs = std::filesystem;

/// What to do about an error of the system, behind a semicolon.
const char* remedy(int code) {
  switch (code) {
    case ENOENT:
      return "; make its folder first, or choose another one";
    case ENOTDIR:
      return "; a part of the path in front of a / is a file: choose another one";
    case ENAMETOOLONG:
      return "; choose a shorter name";
    case ELOOP:
      return "; its links lead in a circle: choose another name";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose a place where you may write";
    default:
      return "";
  }
}

/// The number N of /proc/PID/fd/N, this process's own.
std::optional<int> own_descriptor(const fs::path& path) {
  const std::string folder = path.parent_path().string();
  if (!folder.starts_with(fmt::format("/proc/{}/", getpid())) || !folder.ends_with("/fd")) {
    return std::nullopt;
  }
  const std::string name = path.filename().string();
  int number = -1;
  const auto [end, failed] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (failed != std::errc{} || end != name.data() + name.size()) return std::nullopt;
  return number;
}

/// The file that opening `path` would open or make: absolute, without links. A descriptor of this
/// process keeps its name under /proc, whatever it is open on.
fs::path without_links(fs::path path, std::error_code& failed) {
  constexpr int kMostLinks = 40;  // as Linux has it
  for (int links = 0; links <= kMostLinks; ++links) {
    const fs::path folder = path.has_parent_path() ? path.parent_path() : ".";
    const fs::path whole = fs::canonical(folder, failed);
    if (failed) return {};
    path = whole / path.filename();
    if (own_descriptor(path)) return path;
    std::error_code no_link;
    const fs::path next = fs::read_symlink(path, no_link);
    if (no_link) return path;
    path = whole / next;  // an absolute one stands alone
  }
  failed = std::make_error_code(std::errc::too_many_symbolic_link_levels);
  return {};
}

bool is_link(const std::string& path) {
  struct stat facts {};
  return lstat(path.c_str(), &facts) == 0 && S_ISLNK(facts.st_mode);
}

[[noreturn]] void throw_unusable(const std::string& path, const char* why) {
  throw Error(ErrorKind::kIo, fmt::format("{}: {}", path, why));
}

/// Where `path` leads, which is neither a folder nor named like one.
fs::path place_of(const std::string& path) {
  std::error_code failed;
  fs::path place = without_links(path, failed);
  if (!failed) return place;
  if (failed == std::errc::no_such_file_or_directory && is_link(path)) {
    throw_unusable(path,
                   "is a link into a folder that is not there; make that, or remove the link");
  }
  throw_output_error(path, "cannot create", failed.value());
}

/// Two of these are read or written in turn by design: terminals, /dev/null, a service's socket.
bool may_be_shared(mode_t mode) { return S_ISCHR(mode) || S_ISSOCK(mode); }

}  // namespace

void throw_output_error(const std::string& path, const char* action, int code) {
  const std::string name = path == "-" ? "standard output" : path;
  throw Error(ErrorKind::kIo,
              fmt::format("{}: {}: {}{}", name, action, std::generic_category().message(code),
                          path == "-" ? "" : remedy(code)));
}

OutputTarget find_output(const std::string& path) {
  using Kind = OutputTarget::Kind;
  if (path.empty()) throw Error(ErrorKind::kInvalidArgument, "an output's name is empty");
  if (path == "-") return {.kind = Kind::kDescriptor, .path = {}, .descriptor = STDOUT_FILENO};
  struct stat facts {};
  const bool exists = ::stat(path.c_str(), &facts) == 0;
  if (!exists && errno != ENOENT) throw_output_error(path, "cannot create", errno);
  if (exists && S_ISDIR(facts.st_mode)) throw_unusable(path, "is a folder; name a file in it");
  if (!exists && path.ends_with('/')) {
    throw_unusable(path, "ends in / as the name of a folder does; name a file");
  }
  OutputTarget target{.path = place_of(path), .exists = exists, .mode = facts.st_mode};
  if (const auto descriptor = own_descriptor(target.path)) {
    target.kind = Kind::kDescriptor;
    target.descriptor = *descriptor;
  } else if (exists && !S_ISREG(facts.st_mode)) {
    target.kind = Kind::kDevice;
  }
  return target;
}

void sync_folder(const fs::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return;
  fsync(descriptor);
  close(descriptor);
}

std::string file_identity(const std::string& path) {
  const auto text = [](const struct stat& facts) {
    return fmt::format("{}:{}", facts.st_dev, facts.st_ino);
  };
  struct stat facts {};
  if (::stat(path.c_str(), &facts) == 0) return may_be_shared(facts.st_mode) ? "" : text(facts);
  std::error_code failed;
  const fs::path place = without_links(path, failed);
  const bool can_be = !failed && ::stat(place.parent_path().c_str(), &facts) == 0;
  if (!can_be || !S_ISDIR(facts.st_mode)) return "";
  return text(facts) + "/" + place.filename().string();
}

}  // namespace likewise
