// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/transport/sockets.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "backends/distributed/communicator.h"
#include "likewise/error.h"
#include "likewise/version.h"

namespace likewise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kProtocol = 1;
constexpr std::array<char, 8> kMagic{'L', 'I', 'K', 'E', 'R', 'A', 'N', 'K'};

/// The first bytes of a connection, from the rank that connects.
struct Hello {
  std::array<char, 8> magic = kMagic;
  std::uint32_t protocol = kProtocol;
  std::uint32_t channel = 0;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::array<char, 24> version{};
  std::array<char, 64> token{};
};
/// The answer: nothing, or why not.
struct Answer {
  std::array<char, 256> refusal{};
};

template <std::size_t N>
void put(std::string_view text, std::array<char, N>& to) {
  std::copy_n(text.begin(), std::min(text.size(), N - 1), to.begin());
}
/// Of a peer, which may have sent anything.
template <std::size_t N>
[[nodiscard]] std::string text_of(const std::array<char, N>& from) {
  return printable({from.data(), strnlen(from.data(), N)}, N);
}

[[nodiscard]] bool same_token(const std::array<char, 64>& a, const std::array<char, 64>& b) {
  unsigned difference = 0;  // as long for any two
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b[i]);
  }
  return difference == 0;
}

[[nodiscard]] std::string system_text(int error) {
  return std::error_code(error, std::generic_category()).message();
}

[[nodiscard]] Error device_error(const std::string& message) {
  return {ErrorKind::kDevice, message};
}

[[nodiscard]] std::string seconds_text(std::chrono::milliseconds time) {
  return fmt::format("{:.3g} s", std::chrono::duration<double>(time).count());
}

void make_quick(int socket) {
  const int on = 1;
  (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  (void)setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
}

/// How many connections may wait until they have said who they are: a quarter of the descriptors
/// that the process may have, so that the ranks' own and the files of others find theirs.
[[nodiscard]] std::size_t most_strangers() {
  constexpr rlim_t kMost = 1024;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return kMost;
  return std::clamp<rlim_t>(limit.rlim_cur / 4, 1, kMost);
}

/// Until the socket is ready, the time is over (false) or the caller asked to stop (throws).
[[nodiscard]] bool wait_for(int socket, short events, Clock::time_point deadline,
                            const RunControl& control) {
  while (true) {
    control.check();
    pollfd wanted{socket, events, 0};
    if (poll(&wanted, 1, static_cast<int>(kSocketLook.count())) > 0) return true;
    if (Clock::now() >= deadline) return false;
  }
}

/// All of it, or false where the connection or the time ended.
[[nodiscard]] bool send_all(int socket, std::span<const std::byte> bytes,
                            Clock::time_point deadline, const RunControl& control) {
  while (!bytes.empty()) {
    const SocketMove move = send_some(socket, bytes);
    if (move.state == SocketState::kClosed) return false;
    bytes = bytes.subspan(move.bytes);
    if (move.state == SocketState::kWait && !wait_for(socket, POLLOUT, deadline, control)) {
      return false;
    }
  }
  return true;
}
[[nodiscard]] bool receive_all(int socket, std::span<std::byte> bytes, Clock::time_point deadline,
                               const RunControl& control) {
  while (!bytes.empty()) {
    const SocketMove move = receive_some(socket, bytes);
    if (move.state == SocketState::kClosed) return false;
    bytes = bytes.subspan(move.bytes);
    if (move.state == SocketState::kWait && !wait_for(socket, POLLIN, deadline, control)) {
      return false;
    }
  }
  return true;
}

template <class T>
[[nodiscard]] std::span<std::byte> bytes_of(T& value) {
  return std::as_writable_bytes(std::span(&value, 1));
}

struct HostAndPort {
  std::string host;
  std::string port;
};
[[nodiscard]] HostAndPort parse_address(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  const auto refuse = [&] {
    return Error(ErrorKind::kInvalidArgument,
                 fmt::format("\"{}\" is no address of a rank: host:port, or [IPv6 address]:port",
                             printable(address)));
  };
  if (colon == std::string::npos || colon == 0 || colon + 1 == address.size()) throw refuse();
  std::string host = address.substr(0, colon);
  if (host.front() == '[') {
    if (host.size() < 3 || host.back() != ']') throw refuse();
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string::npos) {
    throw refuse();
  }
  return {host, address.substr(colon + 1)};
}

/// One attempt at each of the address's meanings; `why` says what the last one ended with.
[[nodiscard]] Socket connect_once(const HostAndPort& to, Clock::time_point deadline,
                                  const RunControl& control, std::string& why) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int error = getaddrinfo(to.host.c_str(), to.port.c_str(), &hints, &found); error != 0) {
    why = gai_strerror(error);
    return {};
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    Socket socket(::socket(at->ai_family, at->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!socket.open()) {
      why = system_text(errno);
      continue;
    }
    int error = connect(socket.get(), at->ai_addr, at->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      // An address that does not answer is given up in time for the next one.
      const auto soon = std::min(deadline, Clock::now() + std::chrono::seconds(5));
      error = ETIMEDOUT;
      if (wait_for(socket.get(), POLLOUT, soon, control)) {
        socklen_t length = sizeof error;
        if (getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
      }
    }
    if (error == 0) return socket;
    why = system_text(error);
  }
  return {};
}

/// Makes the connections of one rank.
class Greeter {
 public:
  Greeter(int listener, const Greeting& self, const std::vector<std::string>& addresses,
          std::chrono::milliseconds patience, const RunControl& control)
      : listener_(listener),
        self_(self),
        addresses_(addresses),
        patience_(patience),
        deadline_(Clock::now() + patience),
        control_(control) {
    const auto size = static_cast<std::size_t>(self.size);
    made_.calls.resize(size);
    made_.ends.resize(size);
    hello_.rank = self.rank;
    hello_.size = self.size;
    put(kVersion, hello_.version);
    std::copy_n(self.token.begin(), self.token.size(), hello_.token.begin());
  }

  [[nodiscard]] Connections run() {
    for (int other = 0; other < self_.rank; ++other) {
      for (const Channel channel : {Channel::kCalls, Channel::kEnds}) {
        place(channel, other) = greet(other, channel);
      }
    }
    accept_others();
    return std::move(made_);
  }

 private:
  struct Pending {
    Socket socket;
    Hello hello;
    std::size_t have = 0;
  };

  [[nodiscard]] Socket& place(Channel channel, int rank) {
    return (channel == Channel::kCalls ? made_.calls : made_.ends)[static_cast<std::size_t>(rank)];
  }

  [[nodiscard]] Socket greet(int other, Channel channel) {
    const HostAndPort to = parse_address(addresses_[static_cast<std::size_t>(other)]);
    std::string why = "no answer";
    while (true) {
      control_.check();
      Socket socket = connect_once(to, deadline_, control_, why);
      if (socket.open()) {
        make_quick(socket.get());
        Hello hello = hello_;
        hello.channel = static_cast<std::uint32_t>(channel);
        Answer answer;
        if (send_all(socket.get(), bytes_of(hello), deadline_, control_) &&
            receive_all(socket.get(), bytes_of(answer), deadline_, control_)) {
          if (answer.refusal[0] != '\0') throw device_error(text_of(answer.refusal));
          return socket;
        }
        why = "it did not answer a rank of this job";
      }
      if (Clock::now() >= deadline_) {
        throw device_error(fmt::format(
            "rank {} of {} at {} could not be reached within {} of rank {}: {}", other, self_.size,
            addresses_[static_cast<std::size_t>(other)], seconds_text(patience_), self_.rank, why));
      }
      poll(nullptr, 0, static_cast<int>(kSocketLook.count()));
    }
  }

  [[nodiscard]] std::vector<int> missing() {
    std::vector<int> ranks;
    for (int other = self_.rank + 1; other < self_.size; ++other) {
      if (!place(Channel::kCalls, other).open() || !place(Channel::kEnds, other).open()) {
        ranks.push_back(other);
      }
    }
    return ranks;
  }

  void accept_others() {
    std::vector<Pending> pending;
    while (!missing().empty()) {
      control_.check();
      if (Clock::now() >= deadline_) {
        throw device_error(fmt::format("{} of {} did not connect to rank {} within {}{}",
                                       ranks_text(missing()), self_.size, self_.rank,
                                       seconds_text(patience_), no_descriptor_text()));
      }
      std::vector<pollfd> wanted{{listener_, POLLIN, 0}};
      for (const Pending& one : pending) wanted.push_back({one.socket.get(), POLLIN, 0});
      if (poll(wanted.data(), wanted.size(), static_cast<int>(kSocketLook.count())) <= 0) continue;
      for (std::size_t i = pending.size(); i-- > 0;) {
        if (wanted[i + 1].revents != 0 && hear(pending[i])) {
          pending.erase(pending.begin() + static_cast<std::ptrdiff_t>(i));
        }
      }
      if (wanted[0].revents != 0) take_new(pending);
    }
  }

  /// Takes connections as long as some wait. One that says who it is at once is never in danger;
  /// of those that are silent the oldest go where there are too many, or no descriptor is left:
  /// a rank that was among them connects again.
  void take_new(std::vector<Pending>& pending) {
    constexpr int kAtOnce = 256;  // then those that wait are looked at again
    for (int taken = 0; taken < kAtOnce; ++taken) {
      Socket socket(accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      accept_error_ = socket.open() ? 0 : errno;
      if (!socket.open()) {
        if (!no_descriptor()) return;
        if (pending.empty()) {  // others of this process have them all: wait until one is free
          poll(nullptr, 0, static_cast<int>(kSocketLook.count()));
          return;
        }
        // Half as many from now on, so that others find a descriptor, too.
        most_strangers_ = std::max<std::size_t>(1, pending.size() / 2);
        leave_at_most(most_strangers_ - 1, pending);
        continue;
      }
      Pending one{std::move(socket), {}, 0};
      if (hear(one)) continue;
      leave_at_most(most_strangers_ - 1, pending);
      pending.push_back(std::move(one));
    }
  }

  /// Closes the oldest.
  static void leave_at_most(std::size_t count, std::vector<Pending>& pending) {
    if (pending.size() <= count) return;
    pending.erase(pending.begin(), pending.end() - static_cast<std::ptrdiff_t>(count));
  }

  [[nodiscard]] bool no_descriptor() const {
    return accept_error_ == EMFILE || accept_error_ == ENFILE || accept_error_ == ENOBUFS ||
           accept_error_ == ENOMEM;
  }
  [[nodiscard]] std::string no_descriptor_text() const {
    if (!no_descriptor()) return {};
    return fmt::format(
        ": connections cannot be taken ({}); raise the limit of open files (ulimit -n)",
        system_text(accept_error_));
  }

  /// Whether this connection has been dealt with: taken, or closed.
  [[nodiscard]] bool hear(Pending& from) {
    const SocketMove move =
        receive_some(from.socket.get(), bytes_of(from.hello).subspan(from.have));
    if (move.state == SocketState::kClosed) return true;
    from.have += move.bytes;
    const Hello& hello = from.hello;
    const std::size_t begun = std::min(from.have, kMagic.size());
    if (!std::equal(kMagic.begin(), kMagic.begin() + begun, hello.magic.begin())) return true;
    if (from.have < sizeof(Hello)) return false;
    if (!same_token(hello.token, hello_.token)) return true;
    const std::string refusal = refuse(hello);
    Answer answer;
    put(refusal, answer.refusal);
    const bool sent = send_all(from.socket.get(), bytes_of(answer), deadline_, control_);
    if (!refusal.empty()) throw device_error(refusal);
    if (!sent) return true;
    make_quick(from.socket.get());
    place(static_cast<Channel>(hello.channel), hello.rank) = std::move(from.socket);
    return true;
  }

  [[nodiscard]] std::string refuse(const Hello& hello) const {
    const std::string version = text_of(hello.version);
    if (version != kVersion || hello.protocol != kProtocol) {
      return fmt::format(
          "rank {} has likewise {} (protocol {}) and rank {} {} (protocol {}): "
          "install one version on all machines",
          hello.rank, version, hello.protocol, self_.rank, kVersion, kProtocol);
    }
    if (hello.size != self_.size || hello.rank <= self_.rank || hello.rank >= self_.size ||
        hello.channel > static_cast<std::uint32_t>(Channel::kEnds)) {
      return fmt::format("rank {} of {} connects to rank {} of {}: not the ranks of one job",
                         hello.rank, hello.size, self_.rank, self_.size);
    }
    return {};
  }

  int listener_;
  const Greeting& self_;
  const std::vector<std::string>& addresses_;
  std::chrono::milliseconds patience_;
  Clock::time_point deadline_;
  const RunControl& control_;
  Hello hello_;
  std::size_t most_strangers_ = most_strangers();
  int accept_error_ = 0;  ///< of the last accept
  Connections made_;
};

}  // namespace

Socket& Socket::operator=(Socket&& from) noexcept {
  if (this != &from) {
    close();
    descriptor_ = std::exchange(from.descriptor_, -1);
  }
  return *this;
}

void Socket::close() {
  if (descriptor_ >= 0) (void)::close(std::exchange(descriptor_, -1));
}

SocketMove send_some(int socket, std::span<const std::byte> bytes) {
  const ssize_t sent = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) return {SocketState::kMoved, static_cast<std::size_t>(sent)};
  const bool again = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  return {again ? SocketState::kWait : SocketState::kClosed, 0};
}

SocketMove receive_some(int socket, std::span<std::byte> bytes) {
  const ssize_t got = recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
  if (got > 0) return {SocketState::kMoved, static_cast<std::size_t>(got)};
  if (got == 0) return {SocketState::kClosed, 0};
  const bool again = errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
  return {again ? SocketState::kWait : SocketState::kClosed, 0};
}

Connections connect_all(int listener, const Greeting& self,
                        const std::vector<std::string>& addresses,
                        std::chrono::milliseconds patience, const RunControl& control) {
  return Greeter(listener, self, addresses, patience, control).run();
}

}  // namespace likewise
