// SPDX-License-Identifier: Apache-2.0
#include "server/mcp/lines.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <poll.h>
#include <unistd.h>

#include <climits>
#include <fmt/format.h>

#include "likewise/error.h"
#include "server/mcp/messages.h"

namespace likewise::server::mcp {
namespace {

[[noreturn]] void fail(const char* what) {
  throw Error(ErrorKind::kIo, fmt::format("{}: {}", what, std::strerror(errno)));
}

int signal_pipe = -1;  ///< where the handler writes

void on_signal(int) {
  const int saved = errno;
  (void)!::write(signal_pipe, "", 1);
  errno = saved;
}

/// Descriptors that are waited for together with a signal.
class Streams {
 public:
  Streams() {
    if (pipe2(ends_.data(), O_CLOEXEC | O_NONBLOCK) != 0) fail("a pipe cannot be made");
    signal_pipe = ends_[1];
    struct sigaction action = {};
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);  // the second signal ends at once
    sigaction(SIGTERM, &action, nullptr);
    sigaction(SIGINT, &action, nullptr);
    std::signal(SIGPIPE, SIG_IGN);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  /// Waits until `descriptor` can be read or written; false where a signal came.
  [[nodiscard]] bool wait(int descriptor, short for_what) {
    std::array<pollfd, 2> all = {{{descriptor, for_what, 0}, {ends_[0], POLLIN, 0}}};
    while (poll(all.data(), all.size(), -1) < 0) {
      if (errno != EINTR) fail("standard input and output cannot be waited for");
    }
    return all[1].revents == 0;
  }

 private:
  std::array<int, 2> ends_{};
};

struct Line {
  std::string text{};
  bool too_long = false;
};

/// Lines of bounded length; of one that is longer nothing is kept.
class LineReader {
 public:
  LineReader(Streams& streams, int input, std::size_t longest)
      : streams_(streams), input_(input), longest_(longest) {}

  /// Nothing at the end.
  [[nodiscard]] std::optional<Line> next() {
    std::size_t end = buffer_.find('\n', begin_);
    while (end == std::string::npos) {
      const std::size_t kept = keep_rest();
      if (!read_more()) return last();
      end = buffer_.find('\n', kept);
    }
    Line line = take(end);
    begin_ = end + 1;
    return line;
  }

 private:
  /// Drops what was taken, and the beginning of a line that is too long. Returns what is left.
  std::size_t keep_rest() {
    buffer_.erase(0, begin_);
    begin_ = 0;
    if (buffer_.size() > longest_) {
      too_long_ = true;
      buffer_.clear();
    }
    return buffer_.size();
  }

  [[nodiscard]] Line take(std::size_t end) {
    Line line{buffer_.substr(begin_, end - begin_), too_long_ || end - begin_ > longest_};
    too_long_ = false;
    return line;
  }

  [[nodiscard]] std::optional<Line> last() {
    if (buffer_.empty() && !too_long_) return {};
    Line line = take(buffer_.size());
    buffer_.clear();
    return line;
  }

  /// False at the end, and where a signal came: what was begun is dropped then.
  [[nodiscard]] bool read_more() {
    std::array<char, 64 << 10> piece{};
    ssize_t count = 0;
    do {
      if (!streams_.wait(input_, POLLIN)) {
        buffer_.clear();
        too_long_ = false;
        return false;
      }
      count = ::read(input_, piece.data(), piece.size());
    } while (count < 0 && (errno == EINTR || errno == EAGAIN));
    if (count < 0) fail("standard input cannot be read");
    buffer_.append(piece.data(), static_cast<std::size_t>(count));
    return count > 0;
  }

  Streams& streams_;
  int input_;
  std::size_t longest_;
  std::string buffer_;
  std::size_t begin_ = 0;  ///< of the next line
  bool too_long_ = false;  ///< whether the line's beginning was dropped
};

/// False where nobody reads, or a signal came. In pieces that a pipe takes whole, so that a signal
/// is noticed where it is full.
[[nodiscard]] bool write_all(Streams& streams, int output, std::string_view text) {
  while (!text.empty()) {
    if (!streams.wait(output, POLLOUT)) return false;
    const std::size_t piece = std::min<std::size_t>(text.size(), PIPE_BUF);
    const ssize_t count = ::write(output, text.data(), piece);
    if (count < 0 && errno == EPIPE) return false;
    if (count < 0 && errno != EINTR && errno != EAGAIN) fail("standard output cannot be written");
    text.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  }
  return true;
}

[[nodiscard]] bool is_blank(std::string_view text) {
  return text.find_first_not_of(" \t\r") == std::string_view::npos;
}

}  // namespace

void serve_lines(const Service& service, int input, int output) {
  Streams streams;
  const std::size_t longest = service.limits().body;
  LineReader lines(streams, input, longest);
  Session session;
  while (const auto line = lines.next()) {
    if (is_blank(line->text) && !line->too_long) continue;
    auto reply = line->too_long
                     ? refuse_unread(fmt::format("the line is longer than {} bytes",
                                                 with_commas(static_cast<Offset>(longest))))
                     : answer_text(service, session, line->text);
    if (reply && !write_all(streams, output, *reply + "\n")) return;
  }
}

}  // namespace likewise::server::mcp
