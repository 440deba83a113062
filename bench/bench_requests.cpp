// SPDX-License-Identifier: Apache-2.0
/// Sends requests to a server of this machine and measures how they are answered, or only holds
/// connections open. One thread, no library: it takes little of the processor that the server has.
///
///     bench_requests PORT FILE CONNECTIONS SECONDS RATE
///     bench_requests PORT hold IDLE SLOW
///
/// FILE holds whole requests, each after its length in decimal digits and a newline; they are sent
/// in turn. RATE: requests a second at fixed times, whose latency counts from the time at which
/// each was due; 0: each connection sends as soon as it has its answer. Prints JSON at the end,
/// which SIGTERM brings forward. `hold` keeps IDLE connections that never say a word and SLOW ones
/// that send a header a byte a second, makes a new one where the server has ended one, and says
/// "held" once all are there.
#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <map>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

volatile std::sig_atomic_t stopped = 0;

/// Latencies in classes one percent wide.
class Latencies {
 public:
  void add(nanoseconds time) {
    const double microseconds = std::max(1.0, static_cast<double>(time.count()) / 1000);
    const auto at = static_cast<std::size_t>(std::log(microseconds) / kStep);
    ++counts_[std::min(at, counts_.size() - 1)];
    ++total_;
    longest_ = std::max(longest_, microseconds);
  }
  /// Milliseconds.
  [[nodiscard]] double quantile(double part) const {
    double left = part * static_cast<double>(total_);
    for (std::size_t c = 0; c < counts_.size(); ++c) {
      left -= static_cast<double>(counts_[c]);
      if (left <= 0) return std::min(longest_, std::exp(kStep * static_cast<double>(c + 1))) / 1000;
    }
    return longest();
  }
  [[nodiscard]] double longest() const { return longest_ / 1000; }

 private:
  static constexpr double kStep = 0.01;
  std::array<std::int64_t, 2048> counts_{};  // up to 13 minutes
  std::int64_t total_ = 0;
  double longest_ = 0;
};

[[noreturn]] void fail(const std::string& what) {
  throw std::runtime_error(fmt::format("{}: {}", what, std::generic_category().message(errno)));
}

/// A connection to the port, of the loopback.
[[nodiscard]] int connect_to(std::uint16_t port) {
  const int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made < 0) fail("socket");
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(made, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) fail("connect");
  const int on = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const linger reset{1, 0};  // leaves no port behind that waits
  setsockopt(made, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
  fcntl(made, F_SETFL, O_NONBLOCK);
  return made;
}

[[nodiscard]] std::vector<std::string> read_requests(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::vector<std::string> all;
  for (std::size_t length = 0; file >> length && file.get() == '\n';) {
    std::string bytes(length, '\0');
    if (!file.read(bytes.data(), static_cast<std::streamsize>(length))) break;
    all.push_back(std::move(bytes));
  }
  if (all.empty() || !file.eof())
    throw std::runtime_error(fmt::format("{} holds no requests", path));
  return all;
}

/// The whole number after `name`, whose case does not matter; -1 where it is not there.
[[nodiscard]] std::int64_t header_number(std::string_view head, std::string_view name) {
  const auto same = [](char a, char b) { return std::tolower(a) == b; };
  const auto* const found = std::search(head.begin(), head.end(), name.begin(), name.end(), same);
  if (found == head.end()) return -1;
  const char* first = found + name.size();
  while (first != head.end() && *first == ' ') ++first;
  std::int64_t number = -1;
  std::from_chars(first, head.end(), number);
  return number;
}

/// What comes of one request after the other.
struct Connection {
  int socket = -1;
  bool busy = false;
  Clock::time_point due;
  std::string_view out;  ///< what is not sent yet
  std::string in;

  /// The status, once the answer is whole; else 0.
  [[nodiscard]] int status() const {
    const std::size_t end = in.find("\r\n\r\n");
    if (end == std::string::npos) return 0;
    const std::string_view head(in.data(), end + 2);
    const std::int64_t length = std::max<std::int64_t>(0, header_number(head, "content-length:"));
    if (in.size() < end + 4 + static_cast<std::size_t>(length)) return 0;
    return std::atoi(in.c_str() + std::min<std::size_t>(9, in.size()));
  }
};

class Load {
 public:
  Load(std::uint16_t port, std::vector<std::string> requests, std::size_t connections, double rate)
      : port_(port), requests_(std::move(requests)), connections_(connections), rate_(rate) {
    for (Connection& one : connections_) {
      open(one);
      free_.push_back(&one);
    }
  }

  void run(double seconds) {
    const auto begin = Clock::now();
    const auto end = begin + nanoseconds(static_cast<std::int64_t>(seconds * 1e9));
    std::int64_t sent = 0;
    while (!stopped && Clock::now() < end) {
      while (!free_.empty() && (rate_ == 0 || due(begin, sent) <= Clock::now())) {
        begin_next(rate_ == 0 ? Clock::now() : due(begin, sent++));
      }
      wait(rate_ == 0 || free_.empty() ? end : std::min(end, due(begin, sent)));
    }
    seconds_ = std::chrono::duration<double>(Clock::now() - begin).count();
    if (rate_ > 0) overdue_ = static_cast<std::int64_t>(seconds_ * rate_) - sent;
  }

  void print() const {
    std::string statuses;
    std::int64_t all = 0;
    for (const auto& [status, count] : statuses_) {
      statuses += fmt::format("{}\"{}\": {}", statuses.empty() ? "" : ", ", status, count);
      all += count;
    }
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const double busy = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                        static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
    fmt::print(
        "{{\"seconds\": {:.3f}, \"answers\": {}, \"rate\": {:.1f}, \"statuses\": {{{}}}, "
        "\"broken\": {}, "
        "\"overdue\": {}, \"bytes\": {}, \"busy\": {:.3f}, \"p50\": {:.3f}, \"p90\": {:.3f}, "
        "\"p99\": {:.3f}, \"p999\": {:.3f}, \"max\": {:.3f}}}\n",
        seconds_, all, static_cast<double>(all) / seconds_, statuses, broken_, overdue_, bytes_,
        busy / seconds_, latencies_.quantile(0.5), latencies_.quantile(0.9),
        latencies_.quantile(0.99), latencies_.quantile(0.999), latencies_.longest());
  }

 private:
  [[nodiscard]] Clock::time_point due(Clock::time_point begin, std::int64_t number) const {
    return begin +
           nanoseconds(static_cast<std::int64_t>(static_cast<double>(number) / rate_ * 1e9));
  }

  void open(Connection& one) {
    one.socket = connect_to(port_);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.ptr = &one;
    if (epoll_ctl(epoll_, EPOLL_CTL_ADD, one.socket, &event) != 0) fail("epoll_ctl");
  }

  void begin_next(Clock::time_point due) {
    Connection& one = *free_.front();
    free_.pop_front();
    one.busy = true;
    one.due = due;
    one.out = requests_[next_++ % requests_.size()];
    send_on(one);
  }

  void send_on(Connection& one) {
    while (!one.out.empty()) {
      const ssize_t count = send(one.socket, one.out.data(), one.out.size(), MSG_NOSIGNAL);
      if (count < 0 && errno == EAGAIN) break;
      if (count < 0) return lose(one);
      one.out.remove_prefix(static_cast<std::size_t>(count));
    }
    watch(one, one.out.empty() ? EPOLLIN : EPOLLIN | EPOLLOUT);
  }

  void watch(Connection& one, unsigned events) {
    if (events == EPOLLIN && !writing_) return;
    writing_ = writing_ || events != EPOLLIN;
    epoll_event event{};
    event.events = events;
    event.data.ptr = &one;
    epoll_ctl(epoll_, EPOLL_CTL_MOD, one.socket, &event);
  }

  void wait(Clock::time_point until) {
    const auto left = std::max(nanoseconds(0), nanoseconds(until - Clock::now()));
    const timespec time{left.count() / 1'000'000'000, left.count() % 1'000'000'000};
    std::array<epoll_event, 256> events{};
    const int count = epoll_pwait2(epoll_, events.data(), events.size(), &time, nullptr);
    for (int e = 0; e < count; ++e) {
      auto& one = *static_cast<Connection*>(events[static_cast<std::size_t>(e)].data.ptr);
      if ((events[static_cast<std::size_t>(e)].events & EPOLLOUT) != 0) send_on(one);
      if ((events[static_cast<std::size_t>(e)].events & ~static_cast<unsigned>(EPOLLOUT)) != 0)
        read(one);
    }
  }

  void read(Connection& one) {
    const ssize_t count = recv(one.socket, buffer_.data(), buffer_.size(), 0);
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return lose(one);
    bytes_ += count;
    one.in.append(buffer_.data(), static_cast<std::size_t>(count));
    if (const int status = one.status()) take(one, status);
  }

  void take(Connection& one, int status) {
    if (status / 100 != 2 && statuses_[status] == 0) {
      fmt::print(stderr, "{}\n", one.in.substr(0, 2000));
    }
    ++statuses_[status];
    latencies_.add(Clock::now() - one.due);
    one.in.clear();
    one.busy = false;
    free_.push_back(&one);
  }

  /// Between two requests a server may end a connection; before its answer that is a failure.
  void lose(Connection& one) {
    close(one.socket);
    one.out = {};
    one.in.clear();
    if (one.busy) {
      ++broken_;
      free_.push_back(&one);
    }
    one.busy = false;
    open(one);
  }

  std::uint16_t port_;
  std::vector<std::string> requests_;
  std::vector<Connection> connections_;
  std::deque<Connection*> free_;
  double rate_;
  int epoll_ = epoll_create1(EPOLL_CLOEXEC);
  std::size_t next_ = 0;
  bool writing_ = false;  ///< whether a request ever did not go out at once
  std::vector<char> buffer_ = std::vector<char>(256 << 10);
  Latencies latencies_;
  std::map<int, std::int64_t> statuses_;
  std::int64_t broken_ = 0;
  std::int64_t overdue_ = 0;
  std::int64_t bytes_ = 0;
  double seconds_ = 0;
};

/// Connections that take room and do nothing with it.
class Held {
 public:
  Held(std::uint16_t port, std::size_t idle, std::size_t slow)
      : port_(port), idle_(idle), sockets_(idle + slow, -1), sent_(idle + slow, 0) {}

  void run() {
    for (std::size_t c = 0; c < sockets_.size(); ++c) renew(c);
    fmt::print("held\n");
    std::fflush(stdout);
    // A tenth of them every tenth of a second.
    for (std::size_t turn = 0; !stopped; ++turn) {
      for (std::size_t c = turn % 10; c < sockets_.size(); c += 10) go_on(c);
      usleep(100'000);
    }
  }

 private:
  void renew(std::size_t c) {
    if (sockets_[c] >= 0) close(sockets_[c]);
    sockets_[c] = connect_to(port_);
    sent_[c] = 0;
  }

  void go_on(std::size_t c) {
    std::array<char, 4096> bytes{};
    const ssize_t count = recv(sockets_[c], bytes.data(), bytes.size(), 0);
    if (count >= 0 || errno != EAGAIN) return renew(c);
    if (c < idle_) return;
    constexpr std::string_view kHeader = "GET /v1/model HTTP/1.1\r\nHost: localhost\r\nX: ";
    const std::size_t at = sent_[c]++;
    const char byte = at < kHeader.size() ? kHeader[at] : 'x';
    if (send(sockets_[c], &byte, 1, MSG_NOSIGNAL) != 1) renew(c);
  }

  std::uint16_t port_;
  std::size_t idle_;
  std::vector<int> sockets_;
  std::vector<std::size_t> sent_;
};

void raise_descriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int run(const std::vector<std::string>& words) {
  raise_descriptors();
  prctl(PR_SET_TIMERSLACK, 1);  // requests leave when they are due
  for (const int signal : {SIGTERM, SIGINT}) std::signal(signal, [](int) { stopped = 1; });
  const auto port = static_cast<std::uint16_t>(std::stoi(words[0]));
  if (words[1] == "hold") {
    Held(port, std::stoul(words.at(2)), std::stoul(words.at(3))).run();
    return 0;
  }
  Load load(port, read_requests(words[1].c_str()), std::stoul(words.at(2)), std::stod(words.at(4)));
  load.run(std::stod(words[3]));
  load.print();
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const bool holds = words.size() == 4 && words[1] == "hold";
  if (words.size() != 5 && !holds) {
    fmt::print(stderr,
               "bench_requests PORT FILE CONNECTIONS SECONDS RATE, or PORT hold IDLE SLOW\n");
    return 2;
  }
  try {
    return run(words);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_requests: {}\n", error.what());
    return 1;
  }
}
