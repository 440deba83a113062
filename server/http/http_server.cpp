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
#include <sys/resource.h>
#include <unistd.h>
#include <unordered_map>
#include <utility>
#include <vector>

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
/// Bodies up to this size are not counted among those under way.
constexpr std::size_t kSmallBody = 16 << 10;
/// How often deadlines are looked at.
constexpr std::chrono::milliseconds kSweep{100};
/// How long a refused client may take to notice.
constexpr std::chrono::milliseconds kLinger{1000};
/// Descriptors that are not connections.
constexpr std::size_t kOwnDescriptors = 64;
/// Threads that wait for a disk: one while the other makes the next commit ready.
constexpr int kStoringThreads = 2;

/// One for all requests of an address; of IPv6 the network, which is what a client has.
[[nodiscard]] std::string client_key(const asio::ip::address& address) {
  if (address.is_v4()) return address.to_string();
  const auto bytes = address.to_v6().to_bytes();
  return {reinterpret_cast<const char*>(bytes.data()), 8};
}

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
  [[nodiscard]] bool take_body_room(std::size_t bytes);
  void give_body_room(std::size_t bytes) { bodies_ -= bytes; }

  Front& front_;
  Service& service_;
  AccessLog& log_;
  asio::io_context io_{1};
  Rates rates_;
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
  std::size_t bodies_ = 0;  ///< bytes under way
  int spare_descriptor_ = -1;
  std::mutex deliveries_mutex_;
  std::vector<Delivery> deliveries_;
};

/// A client, from its first byte to its last. Reads a request, has it answered, writes the answer,
/// and reads the next: what a client sends meanwhile waits in the system's buffers.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(HttpServer::Impl& server, tcp::socket socket, std::string client)
      : server_(server),
        socket_(std::move(socket)),
        client_(std::move(client)),
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
  void free_body_room() { server_.give_body_room(std::exchange(body_room_, 0)); }

  HttpServer::Impl& server_;
  tcp::socket socket_;
  std::string client_;
  RequestReader reader_;
  State state_ = State::kAnswer;  ///< until it is known what is to be done with it
  Clock::time_point deadline_;
  Clock::time_point arrived_;
  std::string ahead_;  ///< bytes of requests after this one
  std::string out_;
  std::size_t written_ = 0;
  std::size_t body_room_ = 0;
  bool alive_ = true;  ///< whether another request may follow
  bool head_ = false;
  bool said_continue_ = false;
};

void Connection::wait_for_request() {
  reader_ = RequestReader(server_.limits());
  said_continue_ = false;
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
  std::string().swap(out_);
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
  if (reader_.header_done() && state_ == State::kHeader && !make_room_for_body()) return;
  if (reader_.done()) return answer();
  wait_readable();
}

bool Connection::make_room_for_body() {
  enter(State::kBody, server_.limits().body_time);
  const std::size_t bytes = reader_.done() ? 0 : reader_.body_bytes();
  if (bytes > kSmallBody) {
    if (!server_.take_body_room(bytes)) {
      refuse({FaultKind::kUnavailable, "too many large bodies are under way"});
      return false;
    }
    body_room_ = bytes;
  }
  if (!said_continue_ && reader_.expects_word()) say_continue();
  return true;
}

void Connection::say_continue() {
  said_continue_ = true;
  Code code;  // a few bytes, into a buffer of the system that is empty
  (void)socket_.write_some(asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")), code);
}

void Connection::answer() {
  free_body_room();
  const HttpRequest request = reader_.request();
  alive_ = reader_.keeps_alive() && !server_.service_.ending();
  head_ = request.method == "HEAD";
  if (!server_.rates_.admit(client_)) {
    return finish(server_.front_.refusal(
        {FaultKind::kTooManyRequests,
         fmt::format("more than {} requests a second", server_.limits().rate)}));
  }
  auto taken = server_.front_.take(request);
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
  if (server_.service_.ending()) alive_ = false;
  log(reply);
  out_ = bytes_of(reply, alive_, head_);
  written_ = 0;
  enter(State::kWrite, server_.limits().write_time);
  write_on();
}

void Connection::refuse(const Fault& fault) {
  free_body_room();
  alive_ = false;
  head_ = false;
  finish(server_.front_.refusal(fault));
}

void Connection::log(const Reply& reply) {
  const double seconds = seconds_since(arrived_);
  server_.service_.metrics().count_request(reply.operation, reply.status, seconds);
  const auto& operations = server_.service_.operations();
  const bool read = reader_.done();
  const HttpRequest request = read ? reader_.request() : HttpRequest{};
  server_.log_.write({request.method, request.target,
                      reply.operation < operations.size() ? operations[reply.operation].name
                                                          : std::string_view("none"),
                      client_, reply.status, reply.body.size(), seconds});
}

void Connection::write_on() {
  while (written_ < out_.size()) {
    Code code;
    written_ +=
        socket_.write_some(asio::buffer(out_.data() + written_, out_.size() - written_), code);
    if (code == asio::error::would_block) {
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
  Code code;
  socket_.close(code);
  server_.remove(*this);
  state_ = State::kClosed;
}

HttpServer::Impl::Impl(Front& front, Service& service, AccessLog& log, const Address& address,
                       int threads)
    : front_(front), service_(service), log_(log), rates_(service.limits().rate) {
  const std::size_t descriptors = raise_descriptors();
  most_connections_ =
      std::min(service.limits().connections,
               descriptors > 2 * kOwnDescriptors ? descriptors - kOwnDescriptors : kOwnDescriptors);
  spare_descriptor_ = open("/dev/null", O_RDONLY | O_CLOEXEC);
  listen(address);
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
  std::signal(SIGPIPE, SIG_IGN);  // a log that nobody reads any more is no reason to end
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) signals_.add(signal);
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
  auto connection =
      std::make_shared<Connection>(*this, std::move(socket), client_key(remote.address()));
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

bool HttpServer::Impl::take_body_room(std::size_t bytes) {
  if (bodies_ + bytes > limits().bodies) return false;
  bodies_ += bytes;
  return true;
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
      end();
    }
    wait_for_signals();
  });
}

void HttpServer::Impl::end() {
  service_.begin_to_end();
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
  if (service_.ending() && connections_.empty()) io_.stop();
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
void HttpServer::on_hangup(std::function<void()> call) { impl_->hangup_ = std::move(call); }
void HttpServer::run() { impl_->run(); }

}  // namespace likewise::server
