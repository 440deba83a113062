// SPDX-License-Identifier: Apache-2.0
#include "output/messages.h"

#include <cerrno>
#include <csignal>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

namespace likewise::cli {
namespace {

/// While it lives, a closed pipe is this thread's error and not the end of the process.
class ClosedPipesAreErrors {
 public:
  ClosedPipesAreErrors() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~ClosedPipesAreErrors() {
    const timespec no_wait{};
    while (met_ && sigtimedwait(&pipe_, nullptr, &no_wait) < 0 && errno == EINTR) {
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  ClosedPipesAreErrors(const ClosedPipesAreErrors&) = delete;
  ClosedPipesAreErrors& operator=(const ClosedPipesAreErrors&) = delete;
  void met_one() { met_ = true; }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool met_ = false;
};

}  // namespace

void occupy_closed_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    // The root folder is always there, and refuses to be read or written as a file also by its
    // names /dev/stdin, /dev/stdout and /dev/stderr. open() takes the lowest free number.
    if (fcntl(stream, F_GETFD) < 0) (void)open("/", O_RDONLY | O_DIRECTORY);
  }
}

void print_message(std::string_view text) {
  ClosedPipesAreErrors guard;
  while (!text.empty()) {
    const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0 && errno == EPIPE) guard.met_one();
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace likewise::cli
