// SPDX-License-Identifier: Apache-2.0
#include "output/interrupt.h"

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <initializer_list>
#include <poll.h>
#include <string_view>
#include <sys/time.h>
#include <unistd.h>

#include "likewise/model.h"
#include "likewise/write.h"

namespace likewise::cli {
namespace {

struct StopSignal {
  int number;
  const char* name;
};
constexpr std::array<StopSignal, 4> kStopSignals = {
    {{SIGINT, "SIGINT"}, {SIGTERM, "SIGTERM"}, {SIGHUP, "SIGHUP"}, {SIGXCPU, "SIGXCPU"}}};

/// How long the work may take to stop by itself: all in all an answer comes within a second.
constexpr itimerval kPatience{{0, 0}, {0, 600'000}};
/// How long a thread waits for the end of the process where another has the last word. No longer:
/// the handler may have interrupted that other one itself.
constexpr int kOthersLastWord = 200;  // ms
constexpr int kFailed = 1;

std::atomic<bool> stop_requested{false};
std::atomic<const char*> stop_name{""};
std::atomic<bool> last_word_claimed{false};
std::atomic<const char*> line_start{""};  ///< takes a progress bar off the terminal
static_assert(std::atomic<bool>::is_always_lock_free &&
                  std::atomic<const char*>::is_always_lock_free,
              "signal handlers set them");

/// Without waiting: a pipe that nobody empties must not hold up the end.
void write_if_possible(std::string_view text) {
  pollfd stream{STDERR_FILENO, POLLOUT, 0};
  if (poll(&stream, 1, 0) == 1) (void)!::write(STDERR_FILENO, text.data(), text.size());
}

/// Everything in here is allowed in a signal handler. The handlers block all signals meanwhile, a
/// closed pipe's too.
[[noreturn]] void end_now(std::initializer_list<const char*> message) {
  remove_partial_files();
  if (claim_last_word()) {
    std::array<char, 1024> line{};
    std::size_t size = 0;
    const auto append = [&](const char* piece) {
      for (; *piece != '\0' && size + 1 < line.size(); ++piece) line[size++] = *piece;
    };
    append(line_start);
    for (const char* piece : message) append(piece);
    line[size++] = '\n';
    write_if_possible({line.data(), size});
  } else {
    poll(nullptr, 0, kOthersLastWord);
  }
  _exit(kFailed);
}

[[noreturn]] void end_interrupted() { end_now({"likewise: interrupted (", stop_name.load(), ")"}); }

void on_stop_signal(int number) {
  if (stop_requested.load()) end_interrupted();
  for (const StopSignal& signal : kStopSignals) {
    if (signal.number == number) stop_name = signal.name;
  }
  stop_requested = true;
  const int saved = errno;
  setitimer(ITIMER_REAL, &kPatience, nullptr);  // a plain system call
  errno = saved;
}

void on_end_of_patience(int) { end_interrupted(); }

/// A page of a mapped file that is not there any more; all else is a fault of the program.
void on_bus_error(int number, siginfo_t* info, void*) {
  if (info->si_code == BUS_ADRERR) {
    const char* model = model_file_at(info->si_addr);
    end_now({"likewise: ", model != nullptr ? model : "the program or one of its libraries",
             ": cannot be read any more: it was cut short while in use, or its disk failed; put a "
             "whole file in its place by renaming and run again"});
  }
  std::signal(number, SIG_DFL);
  raise(number);
}

void handle(int number, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigfillset(&action.sa_mask);
  sigaction(number, &action, nullptr);
}

/// As under nohup, or a shell's `&`.
bool ignored_by_parent(int number) {
  struct sigaction action = {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

void handle_bus_errors() {
  struct sigaction action = {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO;
  sigfillset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

void unblock(int number) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

}  // namespace

void install_signal_handlers() {
  if (isatty(STDERR_FILENO) == 1) line_start = "\r\033[K";
  handle(SIGALRM, on_end_of_patience);
  unblock(SIGALRM);
  for (const StopSignal& signal : kStopSignals) {
    if (ignored_by_parent(signal.number)) continue;
    handle(signal.number, on_stop_signal);
  }
  std::signal(SIGPIPE, SIG_DFL);  // some parents leave it ignored
  std::signal(SIGXFSZ, SIG_IGN);  // write() says EFBIG then
  handle_bus_errors();
}

const std::atomic<bool>& interrupted() { return stop_requested; }

const char* stop_signal() { return stop_name; }

bool claim_last_word() { return !last_word_claimed.exchange(true); }

}  // namespace likewise::cli
