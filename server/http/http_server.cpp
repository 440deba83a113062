// SPDX-License-Identifier: Apache-2.0
#include "server/http/http_server.h"

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <csignal>
#include <fcntl.h>
#include <list>
#include <mutex>
#include <optional>
#include <sys/resource.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <fmt/format.h>

#include "likewise/error.h"
#include "server/http/rates.h"
#include "server/http/request_reader.h"
#include "server/workers.h"

namespace likewise::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Code = boost::system::error_code;

/// What a read may bring at once.
constexpr std::size_t kRead = 64 << 10;
/// Bodies and answers up to this size are not counted among those under way.
constexpr std::size_t kSmall = 16 << 10;
/// How often deadlines are looked at.
constexpr std::chrono::milliseconds kSweep{100};
/// How long a refused client may take to notice.
constexpr std::chrono::milliseconds kLinger{1000};
/// Descriptors that are not connections.
constexpr std::size_t kOwnDescriptors = 64;
/// Threads that wait for a disk: one while the other makes the next commit ready.
constexpr int kStoringThreads = 2;

[[nodiscard]] IpBytes ip_of(const asio::ip::address& address) {
  const bool is_v4 = address.is_v4();
  const auto mapped =
      is_v4 ? asio::ip::make_address_v6(asio::ip::v4_mapped, address.to_v4()) : address.to_v6();
  return mapped.to_bytes();
}

/// Of large answers that are gone.
void give_memory_back() {
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

/// Bytes under way, up to a limit.
class Room {
 public:
  explicit Room(std::size_t most) : most_(most) {}
  /// One alone has room, whatever its size.
  [[nodiscard]] bool take(std::size_t bytes) {
    if (bytes > 0 && taken_ > 0 && taken_ + bytes > most_) return false;
    taken_ += bytes;
    highest_ = std::max(highest_, taken_);
    return true;
  }
  /// Whether nothing is under way any more, of more than a quarter of the limit.
  bool give(std::size_t bytes) {
    taken_ -= bytes;
    return bytes > 0 && taken_ == 0 && std::exchange(highest_, 0) > most_ / 4;
  }

 private:
  std::size_t most_;
  std::size_t taken_ = 0;
  std::size_t highest_ = 0;  ///< since there was nothing
};

/// As many descriptors as the system lets this process have.
[[nodiscard]] std::size_t raise_descriptors() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  limit.rlim_cur = limit.rlim_max;
  (void)setrlimit(RLIMIT_NOFILE, &limit);
  (void)getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<std::size_t>(limit.rlim_cur);
}

}  // namespace

class Connection;

/// What a connection waits for, or does. In the first of them for a time that is the same for all.
enum class State { kIdle, kHeader, kBody, kWrite, kLinger, kAnswer, kClosed };

/// Shared by all connections; used by the one thread that reads and writes, but for deliver().
class HttpServer::Impl {
 public:
  Impl(Front& front, Service& service, AccessLog& log, const Address& address, int threads);

  void run();

  // For connections.
  [[nodiscard]] const Limits& limits() const { return service_.limits(); }
  void move(Connection& connection, State to);
  void remove(Connection& connection);

  Front& front_;
  Service& service_;
  AccessLog& log_;
  asio::io_context io_{1};
  Rates rates_;
  TrustedProxies proxies_;
  Room bodies_;     ///< of requests until they are answered
  Room answering_;  ///< of answers until they are taken
  std::vector<char> read_buffer_ = std::vector<char>(kRead);
  Address address_;
  std::function<void()> hangup_;
  std::unique_ptr<Workers> workers_;
  std::unique_ptr<Workers> storing_;  ///< for what waits for a disk

 private:
  struct Delivery {
    std::shared_ptr<void> asker;
    Reply reply;
  };

  void listen(const Address& address);
  void accept_next();
  void on_accept(const Code& error);
  void admit(tcp::socket socket);
  void refuse_without_descriptor();
  [[nodiscard]] std::list<Connection*>& in(State state) {
    return in_[static_cast<std::size_t>(state)];
  }
  [[nodiscard]] bool evict_idle();
  void sweep();
  void wait_for_signals();
  void begin_to_end();
  void end();
  void deliver(std::shared_ptr<void> asker, Reply reply);
  void take_deliveries();
  void stop_if_done();

  tcp::acceptor acceptor_{io_};
  tcp::socket next_{io_};
  asio::steady_timer sweep_timer_{io_};
  asio::steady_timer retry_timer_{io_};
  asio::steady_timer end_timer_{io_};
  asio::signal_set signals_{io_};
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections_;
  /// Of each state those that are in it, the longest first. What is too late is at the front: no
  /// look at all of them is needed.
  std::array<std::list<Connection*>, static_cast<std::size_t>(State::kClosed)> in_;
  std::size_t most_connections_ = 0;
  int spare_descriptor_ = -1;
  std::mutex deliveries_mutex_;
  std::vector<Delivery> deliveries_;
};

/// A client, from its first byte to its last. Reads a request, has it answered, writes the answer,
/// and reads the next: what a client sends meanwhile waits in the system's buffers.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpServer::Impl& server, tcp::socket socket, const IpBytes& peer)
      : server_(server),
        socket_(std::move(socket)),
        peer_(peer),
        client_(client_of(peer)),
        reader_(server.limits()) {}

  void start() { wait_for_request(); }
  [[nodiscard]] bool is_late(Clock::time_point now) const { return now >= deadline_; }
  /// Ends it: it has taken too long.
  void end_late();
  void close();
  void finish(Reply reply);
  /// Answers with this before anything was read, and ends.
  void turn_away(const Fault& fault) {
    arrived_ = Clock::now();
    refuse(fault);
  }
  [[nodiscard]] State state() const { return state_; }

  std::list<Connection*>::iterator place;  ///< among those of its state

 private:
  void enter(State state, std::chrono::milliseconds time = {}) {
    server_.move(*this, state);
    state_ = state;
    deadline_ = Clock::now() + time;
  }
  /// Whether bytes that come belong to a request.
  [[nodiscard]] bool reads() const {
    return state_ == State::kIdle || state_ == State::kHeader || state_ == State::kBody;
  }
  void wait_for_request();
  void wait_readable();
  void on_readable(const Code& error);
  void read_on(std::string_view bytes);
  [[nodiscard]] bool look_at_header();
  [[nodiscard]] bool make_room_for_body();
  void say_continue();
  void answer();
  void compute(Task task, Cost cost);
  void refuse(const Fault& fault);
  void write_on();
  void on_written();
  void linger();
  void drain(const Code& error);
  void log(const Reply& reply);
  void free_body_room() { server_.bodies_.give(std::exchange(body_room_, 0)); }
  void free_answer() {
    std::string().swap(body_);
    if (server_.answering_.give(std::exchange(answer_room_, 0))) give_memory_back();
  }

  HttpServer::Impl& server_;
  tcp::socket socket_;
  IpBytes peer_;
  Client client_;  ///< who asks; through a proxy each request may be of another one
  RequestReader reader_;
  State state_ = State::kAnswer;  ///< until it is known what is to be done with it
  Clock::time_point deadline_;
  Clock::time_point arrived_;
  std::optional<Route> route_;  ///< once the header is there
  std::string ahead_;           ///< bytes of requests after this one
  std::string head_out_;        ///< the answer's header
  std::string body_;            ///< and its body
  std::size_t written_ = 0;     ///< of both
  std::size_t body_room_ = 0;
  std::size_t answer_room_ = 0;
  bool alive_ = true;  ///< whether another request may follow
  bool head_ = false;
};

void Connection::wait_for_request() {
  reader_ = RequestReader(server_.limits());
  route_.reset();
  if (!ahead_.empty()) {
    enter(State::kHeader, server_.limits().header_time);
    // Behind what others wait for: a client with many requests must not hold them up.
    asio::post(server_.io_, [self = shared_from_this()] {
      if (!self->reads()) return;
      const std::string bytes = std::exchange(self->ahead_, {});
      self->read_on(bytes);
    });
    return;
  }
  std::string().swap(ahead_);
  std::string().swap(head_out_);
  enter(State::kIdle, server_.limits().idle);
  wait_readable();
}

void Connection::wait_readable() {
  socket_.async_wait(tcp::socket::wait_read,
                     [self = shared_from_this()](const Code& error) { self->on_readable(error); });
}

void Connection::on_readable(const Code& error) {
  if (!reads()) return;  // it was too late, and has its answer
  if (error) return close();
  Code code;
  const std::size_t count = socket_.read_some(asio::buffer(server_.read_buffer_), code);
  if (code == asio::error::would_block) return wait_readable();
  if (code) return close();
  if (state_ == State::kIdle) enter(State::kHeader, server_.limits().header_time);
  read_on({server_.read_buffer_.data(), count});
}

void Connection::read_on(std::string_view bytes) {
  arrived_ = Clock::now();
  try {
    // What the parser did not take is the beginning of something longer.
    const std::string joined = ahead_.empty() ? std::string() : ahead_ + std::string(bytes);
    std::string_view rest = ahead_.empty() ? bytes : std::string_view(joined);
    ahead_.clear();
    while (!rest.empty() && !reader_.done()) {
      const std::size_t taken = reader_.put(rest);
      rest.remove_prefix(taken);
      if (taken == 0) break;
    }
    ahead_ = rest;
  } catch (...) {
    return refuse(current_fault());
  }
  if (!reader_.header_done()) return wait_readable();
  if (state_ == State::kHeader && !look_at_header()) return;
  if (!make_room_for_body()) return;
  if (reader_.done()) return answer();
  wait_readable();
}

/// Who asks too often or may not ask has its answer before the body is read: then false.
bool Connection::look_at_header() {
  enter(State::kBody, server_.limits().body_time);
  const HttpRequest header = reader_.request();
  head_ = header.method == "HEAD";
  if (!server_.proxies_.empty()) {
    client_ = client_of(server_.proxies_.client_behind(peer_, reader_.forwarded_for()));
  }
  route_ = server_.front_.route(header);
  if (!route_->is_probe && !server_.rates_.admit(client_.key)) {
    route_->reply = server_.front_.refusal(
        {FaultKind::kTooManyRequests,
         fmt::format("more than {} requests a second", server_.limits().rate)},
        route_->operation);
  }
  if (reader_.done()) return true;
  if (route_->reply) {
    alive_ = false;
    finish(std::move(*route_->reply));
    return false;
  }
  if (reader_.expects_word()) say_continue();
  return true;
}

/// For what has come of it: a length that is only said holds nothing.
bool Connection::make_room_for_body() {
  const std::size_t bytes = reader_.body_bytes();
  if (bytes > 0 && !route_->takes_body && !reader_.done()) {
    refuse({FaultKind::kInvalidArgument, "parameters are in the address, not in a body"});
    return false;
  }
  const std::size_t more = bytes > kSmall ? bytes - body_room_ : 0;
  if (!server_.bodies_.take(more)) {
    refuse({FaultKind::kUnavailable, "too many large bodies are under way"});
    return false;
  }
  body_room_ += more;
  return true;
}

void Connection::say_continue() {
  Code code;  // a few bytes, into a buffer of the system that is empty
  (void)socket_.write_some(asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")), code);
}

void Connection::answer() {
  alive_ = reader_.keeps_alive() && !server_.service_.ending();
  auto taken = server_.front_.take(reader_.request(), *route_);
  reader_.drop_body();
  if (auto* reply = std::get_if<Reply>(&taken)) return finish(std::move(*reply));
  auto& task = std::get<Task>(taken);
  const Operation& operation = server_.service_.operations()[task.operation];
  if (operation.cost != Cost::kAtOnce) return compute(std::move(task), operation.cost);
  const Json* requests[] = {&task.request};
  finish(server_.front_.reply_to(
      task.operation, std::move(answer_checked(server_.service_, operation, requests).front())));
}

void Connection::compute(Task task, Cost cost) {
  enter(State::kAnswer);
  const std::size_t operation = task.operation;
  Waiting waiting{shared_from_this(), std::move(task), arrived_};
  Workers& workers = cost == Cost::kStored ? *server_.storing_ : *server_.workers_;
  if (workers.add(waiting)) return;
  finish(server_.front_.reply_to(
      operation, Fault(FaultKind::kUnavailable, "the server is busy: too many requests wait")));
}

void Connection::finish(Reply reply) {
  if (state_ == State::kClosed) return;
  free_body_room();
  if (server_.service_.ending()) alive_ = false;
  const std::size_t bytes = head_ ? 0 : reply.body.size();
  if (bytes > kSmall) {
    if (server_.answering_.take(bytes)) {
      answer_room_ = bytes;
    } else {
      reply = server_.front_.refusal(
          {FaultKind::kUnavailable, "too many large answers wait for those who asked"},
          reply.operation);
    }
  }
  log(reply);
  head_out_ = head_of(reply, alive_);
  if (!head_) body_ = std::move(reply.body);
  written_ = 0;
  enter(State::kWrite, server_.limits().write_time);
  write_on();
}

void Connection::refuse(const Fault& fault) {
  alive_ = false;
  head_ = false;
  finish(
      server_.front_.refusal(fault, route_ ? route_->operation : server_.service_.no_operation()));
}

void Connection::log(const Reply& reply) {
  const double seconds = seconds_since(arrived_);
  server_.service_.metrics().count_request(reply.operation, reply.status, seconds);
  const HttpRequest request = route_ ? reader_.request() : HttpRequest{};
  server_.log_.write({request.method, request.target,
                      server_.service_.operation_name(reply.operation), client_.address,
                      reply.status, reply.body.size(), seconds});
}

void Connection::write_on() {
  while (written_ < head_out_.size() + body_.size()) {
    const std::size_t of_head = std::min(written_, head_out_.size());
    const std::array<asio::const_buffer, 2> left{asio::buffer(head_out_) + of_head,
                                                 asio::buffer(body_) + (written_ - of_head)};
    Code code;
    written_ += socket_.write_some(left, code);
    if (code == asio::error::would_block) {
      if (written_ > 0) body_.shrink_to_fit();  // it has up to twice its size, and is here to stay
      socket_.async_wait(tcp::socket::wait_write, [self = shared_from_this()](const Code& error) {
        if (self->state_ == State::kClosed) return;
        if (error) return self->close();
        self->write_on();
      });
      return;
    }
    if (code) return close();
  }
  on_written();
}

void Connection::on_written() {
  free_answer();
  if (alive_) return wait_for_request();
  linger();
}

/// What a client still sends is read and dropped for a moment: an end that leaves bytes unread
/// would take the answer back.
void Connection::linger() {
  Code code;
  socket_.shutdown(tcp::socket::shutdown_send, code);
  if (code) return close();
  enter(State::kLinger, kLinger);
  drain({});
}

void Connection::drain(const Code& error) {
  if (state_ == State::kClosed) return;
  if (error) return close();
  Code code;
  const std::size_t count = socket_.read_some(asio::buffer(server_.read_buffer_), code);
  if ((code && code != asio::error::would_block) || (!code && count == 0)) return close();
  socket_.async_wait(tcp::socket::wait_read,
                     [self = shared_from_this()](const Code& next) { self->drain(next); });
}

void Connection::end_late() {
  if (state_ == State::kHeader || state_ == State::kBody) {
    const bool header = state_ == State::kHeader;
    const auto limit = header ? server_.limits().header_time : server_.limits().body_time;
    return refuse({FaultKind::kTimeout,
                   fmt::format("the {} did not come within {} s", header ? "header" : "body",
                               static_cast<double>(limit.count()) / 1000)});
  }
  close();
}

void Connection::close() {
  if (state_ == State::kClosed) return;
  const auto kept = shared_from_this();  // until this is over
  free_body_room();
  free_answer();
  Code code;
  socket_.close(code);
  server_.remove(*this);
  state_ = State::kClosed;
}

HttpServer::Impl::Impl(Front& front, Service& service, AccessLog& log, const Address& address,
                       int threads)
    : front_(front),
      service_(service),
      log_(log),
      rates_(service.limits().rate),
      bodies_(service.limits().bodies),
      answering_(service.limits().answering) {
  const std::size_t descriptors = raise_descriptors();
  most_connections_ =
      std::min(service.limits().connections,
               descriptors > 2 * kOwnDescriptors ? descriptors - kOwnDescriptors : kOwnDescriptors);
  spare_descriptor_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  listen(address);
  std::signal(SIGPIPE, SIG_IGN);  // a log that nobody reads any more is no reason to end
  // Before anybody knows that it serves: a signal that comes before run() is waiting for it.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) signals_.add(signal);
  const Workers::Deliver reply_to = [this](std::shared_ptr<void> asker, Reply reply) {
    deliver(std::move(asker), std::move(reply));
  };
  workers_ = std::make_unique<Workers>(front, threads, reply_to);
  storing_ = std::make_unique<Workers>(front, kStoringThreads, reply_to);
}

void HttpServer::Impl::listen(const Address& address) {
  address_ = address;
  Code code;
  const asio::ip::address host = asio::ip::make_address(address.host, code);
  if (code) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("'{}' is no address of this machine: give it in numbers",
                            printable(address.host)));
  }
  const tcp::endpoint endpoint(host, address.port);
  acceptor_.open(endpoint.protocol(), code);
  if (!code) acceptor_.set_option(tcp::acceptor::reuse_address(true), code);
  if (!code) acceptor_.bind(endpoint, code);
  if (!code) acceptor_.listen(4096, code);
  if (code) {
    throw Error(ErrorKind::kIo,
                fmt::format("cannot listen at {}: {}", address.text(), code.message()));
  }
  address_.port = acceptor_.local_endpoint().port();
}

void HttpServer::Impl::run() {
  wait_for_signals();
  sweep();
  accept_next();
  io_.run();
  workers_.reset();
  storing_.reset();
}

void HttpServer::Impl::accept_next() {
  acceptor_.async_accept(next_, [this](const Code& error) { on_accept(error); });
}

void HttpServer::Impl::on_accept(const Code& error) {
  if (error == asio::error::operation_aborted || !acceptor_.is_open()) return;
  if (!error) {
    admit(std::exchange(next_, tcp::socket(io_)));
    return accept_next();
  }
  if (error == asio::error::no_descriptors || error.value() == ENFILE) {
    if (!evict_idle()) refuse_without_descriptor();
  }
  retry_timer_.expires_after(std::chrono::milliseconds(10));
  retry_timer_.async_wait([this](const Code& stopped) {
    if (!stopped) accept_next();
  });
}

void HttpServer::Impl::admit(tcp::socket socket) {
  Code code;
  const auto remote = socket.remote_endpoint(code);
  if (code) return;  // gone already
  socket.non_blocking(true, code);
  socket.set_option(tcp::no_delay(true), code);
  const bool room = connections_.size() < most_connections_ || evict_idle();
  auto connection = std::make_shared<Connection>(*this, std::move(socket), ip_of(remote.address()));
  connection->place = in(State::kAnswer).insert(in(State::kAnswer).end(), connection.get());
  connections_.emplace(connection.get(), connection);
  service_.metrics().connections = std::ssize(connections_);
  if (room) return connection->start();
  ++service_.metrics().connections_refused;
  connection->turn_away({FaultKind::kUnavailable, "too many connections are open"});
}

/// The descriptor kept for this lets a client be told, where there is none for it.
void HttpServer::Impl::refuse_without_descriptor() {
  ++service_.metrics().connections_refused;
  ::close(std::exchange(spare_descriptor_, -1));
  Code code;
  tcp::socket socket(io_);
  acceptor_.non_blocking(true, code);
  acceptor_.accept(socket, code);
  if (!code) {
    const std::string bytes = bytes_of(
        front_.refusal({FaultKind::kUnavailable, "too many connections are open"}), false, false);
    socket.non_blocking(true, code);
    (void)socket.write_some(asio::buffer(bytes), code);
    socket.shutdown(tcp::socket::shutdown_send, code);
  }
  socket.close(code);
  spare_descriptor_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

bool HttpServer::Impl::evict_idle() {
  if (in(State::kIdle).empty()) return false;
  ++service_.metrics().connections_evicted;
  in(State::kIdle).front()->close();
  return true;
}

void HttpServer::Impl::move(Connection& connection, State to) {
  in(to).splice(in(to).end(), in(connection.state()), connection.place);
}

void HttpServer::Impl::remove(Connection& connection) {
  in(connection.state()).erase(connection.place);
  connections_.erase(&connection);
  service_.metrics().connections = std::ssize(connections_);
  stop_if_done();
}

void HttpServer::Impl::sweep() {
  const auto now = Clock::now();
  for (const State state :
       {State::kIdle, State::kHeader, State::kBody, State::kWrite, State::kLinger}) {
    while (!in(state).empty() && in(state).front()->is_late(now)) {
      in(state).front()->end_late();
    }
  }
  sweep_timer_.expires_after(kSweep);
  sweep_timer_.async_wait([this](const Code& stopped) {
    if (!stopped) sweep();
  });
}

void HttpServer::Impl::wait_for_signals() {
  signals_.async_wait([this](const Code& error, int signal) {
    if (error) return;
    if (signal == SIGHUP) {
      if (hangup_) hangup_();
    } else if (service_.ending()) {
      return io_.stop();
    } else {
      begin_to_end();
    }
    wait_for_signals();
  });
}

/// From here on /readyz says so, and each answer is the last of its connection. Who sends requests
/// here has the time of draining to send them elsewhere.
void HttpServer::Impl::begin_to_end() {
  service_.begin_to_end();
  if (limits().drain.count() == 0) return end();
  end_timer_.expires_after(limits().drain);
  end_timer_.async_wait([this](const Code& stopped) {
    if (!stopped) end();
  });
}

void HttpServer::Impl::end() {
  Code code;
  acceptor_.close(code);
  while (!in(State::kIdle).empty()) in(State::kIdle).front()->close();
  end_timer_.expires_after(limits().shutdown);
  end_timer_.async_wait([this](const Code& stopped) {
    if (!stopped) io_.stop();
  });
  stop_if_done();
}

void HttpServer::Impl::stop_if_done() {
  if (service_.ending() && !acceptor_.is_open() && connections_.empty()) io_.stop();
}

void HttpServer::Impl::deliver(std::shared_ptr<void> asker, Reply reply) {
  bool first = false;
  {
    const std::lock_guard lock(deliveries_mutex_);
    first = deliveries_.empty();
    deliveries_.push_back({std::move(asker), std::move(reply)});
  }
  if (first) asio::post(io_, [this] { take_deliveries(); });
}

void HttpServer::Impl::take_deliveries() {
  std::vector<Delivery> all;
  {
    const std::lock_guard lock(deliveries_mutex_);
    all.swap(deliveries_);
  }
  for (Delivery& one : all) {
    std::static_pointer_cast<Connection>(one.asker)->finish(std::move(one.reply));
  }
}

HttpServer::HttpServer(Front& front, Service& service, AccessLog& log, const Address& address,
                       int threads)
    : impl_(std::make_unique<Impl>(front, service, log, address, threads)) {}

HttpServer::~HttpServer() = default;

const Address& HttpServer::address() const { return impl_->address_; }
void HttpServer::trust(TrustedProxies proxies) { impl_->proxies_ = std::move(proxies); }
void HttpServer::on_hangup(std::function<void()> call) { impl_->hangup_ = std::move(call); }
void HttpServer::run() { impl_->run(); }

}  // namespace likewise::server
