// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/transport/socket_ranks.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <mutex>
#include <netdb.h>
#include <netinet/in.h>
#include <optional>
#include <poll.h>
#include <string_view>
#include <sys/socket.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <utility>

#include <fmt/format.h>

#include "backends/distributed/partition.h"
#include "backends/distributed/piece.h"
#include "backends/distributed/transport/sockets.h"
#include "likewise/error.h"

namespace likewise {
namespace {

using Clock = std::chrono::steady_clock;

enum class Call : std::uint32_t { kGather, kShift, kReduce, kReduceScatter, kBarrier };
constexpr std::string_view kCallNames[] = {"all_gather", "shift", "all_reduce", "reduce_scatter",
                                           "barrier"};

/// Before each part of a call.
struct Header {
  std::uint32_t magic = kMagic;
  Call call = Call::kBarrier;
  std::int64_t number = 0;  ///< of the exchange, from 1
  std::int64_t size = 0;    ///< numbers of all ranks, or the distance: the same on all
  std::int64_t bytes = 0;   ///< that follow
  static constexpr std::uint32_t kMagic = 0x4b52574c;
};

/// What the connection of ends carries, once.
struct End {
  std::uint32_t failed = 0;
  std::uint32_t kind = 0;
  std::array<char, 2040> reason{};
};

/// What goes to one other rank and comes from it in an exchange; it is told and heard in any case.
struct Parcel {
  int peer = 0;
  bool sends = true;
  bool receives = true;
  std::span<const std::byte> out;
  std::span<std::byte> in;
};

/// How far a parcel is.
struct Progress {
  Header header;
  std::size_t sent = 0;  ///< of header and part
  Header heard;
  std::size_t received = 0;
};

void check_job(const SocketJob& job) {
  const auto require = [](bool fits, const std::string& message) {
    if (!fits) throw Error(ErrorKind::kInvalidArgument, message);
  };
  require_ranks(static_cast<int>(job.addresses.size()));
  require(job.rank >= 0 && job.rank < static_cast<int>(job.addresses.size()),
          fmt::format("rank {} is not in a job of {} ranks", job.rank, job.addresses.size()));
  require(!job.token.empty() && job.token.size() <= 64,
          fmt::format("a token has 1 to 64 bytes, not {}", job.token.size()));
}

}  // namespace

class SocketRanks::Mesh {
 public:
  Mesh(SocketListener listener, SocketJob job, const RunControl& control)
      : job_(std::move(job)), control_(control) {
    check_job(job_);
    Connections made = connect_all(listener.descriptor(), {job_.rank, size(), job_.token},
                                   job_.addresses, job_.connect_patience, control);
    calls_ = std::move(made.calls);
    ends_ = std::move(made.ends);
    done_.resize(calls_.size(), false);
    watcher_ = std::jthread([this] { watch(); });
  }
  ~Mesh() {
    say_end({});
    ending_.store(true, std::memory_order_relaxed);
  }  // the watcher ends before the rest
  Mesh(const Mesh&) = delete;
  Mesh& operator=(const Mesh&) = delete;

  [[nodiscard]] int rank() const { return job_.rank; }
  [[nodiscard]] int size() const { return static_cast<int>(job_.addresses.size()); }
  [[nodiscard]] const std::atomic<bool>& stop() const { return stop_; }

  /// Notes the first failure, tells the others and lets long work stop.
  void fail(ErrorKind kind, std::string message) {
    {
      const std::lock_guard lock(mutex_);
      if (failure_) return;
      failure_.emplace(kind, std::move(message));
    }
    stop_.store(true, std::memory_order_relaxed);
    say_end(failure_);
  }
  void check() const {
    const std::lock_guard lock(mutex_);
    if (failure_) throw Error(failure_->kind(), failure_->what());
  }

  /// One exchange with others at once. Throws where it fails, as everybody else then does.
  void exchange(Call call, Offset size_of_call, std::span<const Parcel> parcels) {
    check();
    ++number_;
    std::vector<Progress> all(parcels.size());
    for (std::size_t i = 0; i < parcels.size(); ++i) {
      all[i].header = {Header::kMagic, call, number_, size_of_call, std::ssize(parcels[i].out)};
    }
    auto last_move = Clock::now();
    std::vector<pollfd> wanted(parcels.size());
    while (true) {
      bool moved = false;
      bool over = true;
      for (std::size_t i = 0; i < parcels.size(); ++i) {
        moved = send_more(parcels[i], all[i]) || moved;
        moved = receive_more(parcels[i], all[i]) || moved;
        wanted[i] = {calls_[at(parcels[i].peer)].get(), events_of(parcels[i], all[i]), 0};
        over = over && wanted[i].events == 0;
        if (wanted[i].events == 0) wanted[i].fd = -1;
      }
      if (over) return;
      check();
      if (moved) {
        last_move = Clock::now();
        continue;
      }
      if (Clock::now() - last_move >= job_.patience) give_up(call, parcels, all);
      poll(wanted.data(), wanted.size(), static_cast<int>(kSocketLook.count()));
    }
  }

  /// Fails and throws.
  [[noreturn]] void fail_call(std::string message) {
    fail(ErrorKind::kDevice, std::move(message));
    check();
    throw Error(ErrorKind::kDevice, "the ranks ended");  // not reached: there is a failure
  }

 private:
  [[nodiscard]] static std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

  [[nodiscard]] static short events_of(const Parcel& parcel, const Progress& one) {
    int events = 0;
    if (parcel.sends && one.sent < sizeof(Header) + parcel.out.size()) events |= POLLOUT;
    if (parcel.receives && one.received < sizeof(Header) + parcel.in.size()) events |= POLLIN;
    return static_cast<short>(events);
  }

  /// Whether bytes moved.
  bool send_more(const Parcel& parcel, Progress& one) {
    bool moved = false;
    while ((events_of(parcel, one) & POLLOUT) != 0) {
      const auto header = std::as_bytes(std::span(&one.header, 1));
      const bool in_header = one.sent < header.size();
      const SocketMove move = send_some(
          calls_[at(parcel.peer)].get(),
          in_header ? header.subspan(one.sent) : parcel.out.subspan(one.sent - header.size()));
      if (move.state == SocketState::kClosed) lose(parcel.peer, one.header.call);
      if (move.state == SocketState::kWait) break;
      one.sent += move.bytes;
      moved = true;
    }
    return moved;
  }

  bool receive_more(const Parcel& parcel, Progress& one) {
    bool moved = false;
    while ((events_of(parcel, one) & POLLIN) != 0) {
      const auto header = std::as_writable_bytes(std::span(&one.heard, 1));
      const bool in_header = one.received < header.size();
      const SocketMove move =
          receive_some(calls_[at(parcel.peer)].get(),
                       in_header ? header.subspan(one.received)
                                 : parcel.in.subspan(one.received - header.size()));
      if (move.state == SocketState::kClosed) lose(parcel.peer, one.header.call);
      if (move.state == SocketState::kWait) break;
      one.received += move.bytes;
      moved = true;
      if (in_header && one.received == header.size()) check_heard(parcel, one);
    }
    return moved;
  }

  /// The header of another rank against one's own. Nothing was allocated by what it says.
  void check_heard(const Parcel& parcel, const Progress& one) {
    const Header& theirs = one.heard;
    const Header& mine = one.header;
    const auto call = static_cast<std::size_t>(theirs.call);
    if (theirs.magic != Header::kMagic || call >= std::size(kCallNames)) {
      fail_call(
          fmt::format("what rank {} sends to rank {} is no call of a rank", parcel.peer, rank()));
    }
    if (theirs.call != mine.call || theirs.size != mine.size || theirs.number != mine.number) {
      fail_call(fmt::format("rank {} calls {} ({}) and rank {} {} ({})", rank(),
                            kCallNames[static_cast<std::size_t>(mine.call)], mine.size, parcel.peer,
                            kCallNames[call], theirs.size));
    }
    if (theirs.bytes != std::ssize(parcel.in)) {
      fail_call(unexpected_bytes(parcel.peer, theirs.bytes, rank(), std::ssize(parcel.in)).what());
    }
  }

  /// The connection to a rank closed in the middle of a call: for a reason that its other
  /// connection tells soon, if it can.
  [[noreturn]] void lose(int peer, Call call) {
    const auto soon = Clock::now() + std::chrono::seconds(1);
    while (Clock::now() < soon) {
      check();
      {
        const std::lock_guard lock(mutex_);
        if (done_[at(peer)]) break;
      }
      poll(nullptr, 0, 1);
    }
    const std::string_view name = kCallNames[static_cast<std::size_t>(call)];
    bool done = false;
    {
      const std::lock_guard lock(mutex_);
      done = done_[at(peer)];
    }
    fail_call(done ? fmt::format("rank {} of {} ended before {}, where rank {} waits", peer, size(),
                                 name, rank())
                   : lost_text(peer));
  }

  [[nodiscard]] std::string lost_text(int peer) const {
    return fmt::format("rank {} of {} at {} was lost: its process ended, or the network to it",
                       peer, size(), job_.addresses[at(peer)]);
  }

  [[noreturn]] void give_up(Call call, std::span<const Parcel> parcels,
                            std::span<const Progress> all) {
    std::vector<int> silent;
    std::vector<int> full;
    for (std::size_t i = 0; i < parcels.size(); ++i) {
      const short events = events_of(parcels[i], all[i]);
      if ((events & POLLIN) != 0) silent.push_back(parcels[i].peer);
      if ((events & POLLOUT) != 0) full.push_back(parcels[i].peer);
    }
    std::vector<int>& missing = silent.empty() ? full : silent;
    std::ranges::sort(missing);
    fail_call(fmt::format("{} of {} did not come to {} within {:.3g} s of rank {}",
                          ranks_text(missing), size(), kCallNames[static_cast<std::size_t>(call)],
                          std::chrono::duration<double>(job_.patience).count(), rank()));
  }

  /// Tells all others, once, how this rank ends. Nobody is waited for.
  void say_end(const std::optional<Error>& failure) {
    if (said_.exchange(true)) return;
    End end;
    if (failure) {
      end.failed = 1;
      end.kind = static_cast<std::uint32_t>(failure->kind());
      const std::string_view reason = failure->what();
      std::copy_n(reason.begin(), std::min(reason.size(), end.reason.size() - 1),
                  end.reason.begin());
    }
    for (const Socket& socket : ends_) {
      if (socket.open()) (void)send_some(socket.get(), std::as_bytes(std::span(&end, 1)));
    }
  }

  /// Listens for the ends of others, and for the caller's wish to stop.
  void watch() {
    std::vector<End> heard(ends_.size());
    std::vector<std::size_t> have(ends_.size(), 0);
    std::vector<pollfd> wanted;
    for (const Socket& socket : ends_) wanted.push_back({socket.get(), POLLIN, 0});
    while (!ending_.load(std::memory_order_relaxed)) {
      try {
        control_.check();
      } catch (const Error& error) {
        fail(error.kind(), error.what());
      }
      if (poll(wanted.data(), wanted.size(), static_cast<int>(kSocketLook.count())) <= 0) continue;
      for (std::size_t r = 0; r < wanted.size(); ++r) {
        if (wanted[r].revents == 0) continue;
        const auto rest = std::as_writable_bytes(std::span(&heard[r], 1)).subspan(have[r]);
        const SocketMove move = receive_some(ends_[r].get(), rest);
        have[r] += move.bytes;
        if (move.state == SocketState::kClosed) {
          fail(ErrorKind::kDevice, lost_text(static_cast<int>(r)));
        } else if (have[r] == sizeof(End)) {
          hear_end(r, heard[r]);
        } else {
          continue;
        }
        wanted[r].fd = -1;
      }
    }
  }

  void hear_end(std::size_t rank, const End& end) {
    if (end.failed == 0) {
      const std::lock_guard lock(mutex_);
      done_[rank] = true;
      return;
    }
    const std::string_view all(end.reason.data(), end.reason.size());
    const auto kind = std::min(end.kind, static_cast<std::uint32_t>(ErrorKind::kCancelled));
    fail(static_cast<ErrorKind>(kind), printable_message(all.substr(0, all.find('\0'))));
  }

  SocketJob job_;
  RunControl control_;
  std::vector<Socket> calls_;
  std::vector<Socket> ends_;
  std::int64_t number_ = 0;
  mutable std::mutex mutex_;
  std::optional<Error> failure_;
  std::vector<bool> done_;  ///< by rank: it said that it is
  std::atomic<bool> stop_{false};
  std::atomic<bool> said_{false};
  std::atomic<bool> ending_{false};
  std::jthread watcher_;
};

SocketListener::SocketListener(const std::string& host, int port) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  const auto refuse = [&](const std::string& why) {
    return Error(ErrorKind::kIo, fmt::format("a rank cannot listen at {}: {}",
                                             address_text(host.empty() ? "*" : host, port), why));
  };
  const std::string service = std::to_string(port);
  const char* const name = host.empty() ? nullptr : host.c_str();
  if (const int error = getaddrinfo(name, service.c_str(), &hints, &found); error != 0) {
    throw refuse(gai_strerror(error));
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  int error = 0;
  // Of all addresses, IPv6 takes IPv4 as well.
  for (const int family : {AF_INET6, AF_INET}) {
    for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
      if (at->ai_family != family) continue;
      const int made = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      if (made >= 0) {
        const int off = 0;
        if (family == AF_INET6) (void)setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
        if (bind(made, at->ai_addr, at->ai_addrlen) == 0 && listen(made, SOMAXCONN) == 0) {
          socket_ = made;
          return;
        }
      }
      error = errno;
      if (made >= 0) (void)close(made);
    }
  }
  throw refuse(std::error_code(error, std::generic_category()).message());
}

SocketListener::~SocketListener() {
  if (socket_ >= 0) (void)close(socket_);
}

int SocketListener::port() const {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  (void)getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &length);
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<const sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<const sockaddr_in&>(address).sin_port);
}

std::string address_text(const std::string& host, int port) {
  const bool is_number = host.find(':') != std::string::npos && host.front() != '[';
  return is_number ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

SocketRanks::SocketRanks(SocketListener listener, SocketJob job, const RunControl& control)
    : mesh_(std::make_unique<Mesh>(std::move(listener), std::move(job), control)) {}
SocketRanks::~SocketRanks() = default;

int SocketRanks::rank() const { return mesh_->rank(); }
int SocketRanks::size() const { return mesh_->size(); }
const std::atomic<bool>& SocketRanks::stop() const { return mesh_->stop(); }
void SocketRanks::check() const { mesh_->check(); }

void SocketRanks::fail(ErrorKind kind, const std::string& reason) {
  mesh_->fail(kind, fmt::format("rank {} of {}: {}", rank(), size(), reason));
}
void SocketRanks::abort(const std::string& reason) { fail(ErrorKind::kDevice, reason); }

void SocketRanks::barrier() {
  std::vector<Parcel> parcels;
  for (int other = 0; other < size(); ++other) {
    if (other != rank()) parcels.push_back({other, true, true, {}, {}});
  }
  mesh_->exchange(Call::kBarrier, 0, parcels);
}

void SocketRanks::all_reduce(std::span<double> values) {
  // Each rank adds up its share of the numbers, then all get all shares.
  const Offset n = std::ssize(values);
  const auto begin = [&](int r) { return n * r / size(); };
  const auto share = [&](int r) { return piece(values, begin(r), begin(r + 1)); };
  const std::size_t mine = share(rank()).size();
  std::vector<double> parts(mine * static_cast<std::size_t>(size() - 1));
  std::vector<Parcel> parcels;
  std::vector<std::span<const double>> in_order;
  for (int other = 0; other < size(); ++other) {
    if (other == rank()) {
      in_order.push_back(share(rank()));
      continue;
    }
    const std::span<double> in = std::span(parts).subspan(parcels.size() * mine, mine);
    parcels.push_back({other, true, true, std::as_bytes(share(other)), std::as_writable_bytes(in)});
    in_order.push_back(in);
  }
  mesh_->exchange(Call::kReduce, n, parcels);
  const std::span<double> sums = share(rank());
  for (std::size_t i = 0; i < mine; ++i) {
    double sum = in_order[0][i];
    for (std::size_t r = 1; r < in_order.size(); ++r) sum += in_order[r][i];
    sums[i] = sum;
  }
  for (Parcel& parcel : parcels) {
    parcel.out = std::as_bytes(sums);
    parcel.in = std::as_writable_bytes(share(parcel.peer));
  }
  mesh_->exchange(Call::kReduce, n, parcels);
}

void SocketRanks::reduce_scatter(std::span<const double> all, std::span<double> own,
                                 std::span<const Offset> counts) {
  const std::vector<Offset> begins = part_begins(counts);
  const auto me = static_cast<std::size_t>(rank());
  check_parts("reduce_scatter", counts, std::ssize(own), std::ssize(all));
  // In rounds, so that what comes from all others takes 64 MiB and no more.
  const Offset most = std::max<Offset>(1, (Offset{1} << 23) / size());
  const Offset longest = *std::ranges::max_element(counts);
  std::vector<double> parts(
      static_cast<std::size_t>(std::min(most, counts[me]) * Offset{size() - 1}));
  for (Offset first = 0; first == 0 || first < longest; first += most) {
    const auto round = [&](int r, std::span<const double> of) {
      const Offset count = counts[static_cast<std::size_t>(r)];
      return piece(of, std::min(first, count), std::min(first + most, count));
    };
    const auto part_of = [&](int r) {
      return round(r, piece(all, begins[static_cast<std::size_t>(r)],
                            begins[static_cast<std::size_t>(r) + 1]));
    };
    const std::size_t mine = part_of(rank()).size();
    std::vector<Parcel> parcels;
    std::vector<std::span<const double>> in_order;
    for (int other = 0; other < size(); ++other) {
      if (other == rank()) {
        in_order.push_back(part_of(rank()));
        continue;
      }
      const std::span<double> in = std::span(parts).subspan(parcels.size() * mine, mine);
      parcels.push_back(
          {other, true, true, std::as_bytes(part_of(other)), std::as_writable_bytes(in)});
      in_order.push_back(in);
    }
    mesh_->exchange(Call::kReduceScatter, begins.back(), parcels);
    const std::span<double> sums =
        own.subspan(static_cast<std::size_t>(std::min(first, counts[me])), mine);
    for (std::size_t i = 0; i < mine; ++i) {
      double sum = in_order[0][i];
      for (std::size_t r = 1; r < in_order.size(); ++r) sum += in_order[r][i];
      sums[i] = sum;
    }
  }
}

void SocketRanks::check_parts(std::string_view call, std::span<const Offset> counts, Offset own,
                              Offset all) {
  try {
    require_parts(*this, call, counts, own, all);
  } catch (const Error& error) {
    mesh_->fail_call(error.what());
  }
}

void SocketRanks::gather_bytes(std::span<const std::byte> own, std::span<std::byte> all,
                               std::span<const Offset> counts, std::size_t size_of_one) {
  const std::vector<Offset> begins = part_begins(counts);
  const auto one = static_cast<Offset>(size_of_one);
  check_parts("all_gather", counts, std::ssize(own) / one, std::ssize(all) / one);
  const auto place = [&](int r) {
    return piece(all, begins[static_cast<std::size_t>(r)] * one,
                 begins[static_cast<std::size_t>(r) + 1] * one);
  };
  std::vector<Parcel> parcels;
  for (int other = 0; other < size(); ++other) {
    if (other != rank()) parcels.push_back({other, true, true, own, place(other)});
  }
  mesh_->exchange(Call::kGather, begins.back(), parcels);
  if (!own.empty() && own.data() != place(rank()).data()) {
    std::ranges::copy(own, place(rank()).begin());
  }
}

void SocketRanks::shift_bytes(int distance, std::span<const std::byte> out,
                              std::span<std::byte> in) {
  const int to = (rank() + distance) % size();
  const int from = (rank() - distance + size()) % size();
  std::vector<Parcel> parcels;
  if (to == from) {
    parcels.push_back({to, true, true, out, in});
  } else {
    parcels.push_back({to, true, false, out, {}});
    parcels.push_back({from, false, true, {}, in});
  }
  mesh_->exchange(Call::kShift, distance, parcels);
}

void run_socket_rank(SocketRanks& ranks, const RankWork& work) {
  RunControl control;
  control.cancel = &ranks.stop();
  try {
    work(ranks, control);
  } catch (const Error& error) {
    ranks.check();  // a failure that was there before is the cause of this one
    ranks.fail(error.kind(), error.what());
    throw;
  } catch (const std::exception& error) {
    ranks.check();
    ranks.fail(ErrorKind::kDevice, error.what());
    throw;
  }
}

}  // namespace likewise
