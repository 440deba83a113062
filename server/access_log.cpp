// SPDX-License-Identifier: Apache-2.0
#include "server/access_log.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "likewise/error.h"
#include "server/clock.h"
#include "server/json_text.h"

namespace likewise::server {
namespace {

constexpr std::size_t kMostWaiting = 4 << 20;
constexpr std::chrono::milliseconds kPause{50};

[[nodiscard]] int open_log(const std::string& path) {
  if (path == "-") return STDOUT_FILENO;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0640);
  if (file < 0) {
    throw Error(ErrorKind::kIo, fmt::format("{}: the access log cannot be written: {}", path,
                                            std::strerror(errno)));
  }
  return file;
}

}  // namespace

AccessLog::AccessLog(std::string path, bool personal, Metrics& metrics)
    : path_(std::move(path)), personal_(personal), metrics_(metrics) {
  if (path_.empty()) return;
  file_ = open_log(path_);
  thread_ = std::thread([this] { work(); });
}

AccessLog::~AccessLog() {
  if (file_ < 0) return;
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_one();
  thread_.join();
  if (file_ != STDOUT_FILENO) close(file_);
}

void AccessLog::write(const AccessLine& line) {
  if (file_ < 0) return;
  JsonText text;
  text.begin_object().key("time").value(utc_now());
  text.key("method").value(printable(line.method)).key("operation").value(line.operation);
  text.key("status").value(line.status).key("bytes").value(line.bytes);
  text.key("ms").value(std::round(line.seconds * 1e6) / 1e3);
  if (personal_) text.key("target").value(line.target).key("client").value(line.client);
  text.end_object();
  const std::string made = text.take();
  const std::lock_guard lock(mutex_);
  if (waiting_.size() + made.size() > kMostWaiting) {
    ++metrics_.log_lines_dropped;
    return;
  }
  waiting_ += made;
  waiting_ += '\n';
}

void AccessLog::reopen() {
  const std::lock_guard lock(mutex_);
  reopen_ = true;
}

void AccessLog::work() {
  bool ending = false;
  while (!ending) {
    std::string lines;
    bool again = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kPause, [this] { return ending_; });
      ending = ending_;
      lines.swap(waiting_);
      again = std::exchange(reopen_, false);
    }
    write_out(lines);
    if (!again || file_ == STDOUT_FILENO) continue;
    try {
      const int fresh = open_log(path_);
      close(std::exchange(file_, fresh));
    } catch (const Error&) {
      // The file that was open stays.
    }
  }
}

void AccessLog::write_out(std::string_view lines) const {
  while (!lines.empty()) {
    const ssize_t written = ::write(file_, lines.data(), lines.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      metrics_.log_lines_dropped += std::ranges::count(lines, '\n');
      return;
    }
    lines.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace likewise::server
