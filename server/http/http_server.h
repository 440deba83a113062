// SPDX-License-Identifier: Apache-2.0
/// `HttpServer`: sockets around a Front. One thread reads and writes for all connections and
/// waits for none of them; workers compute.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "server/access_log.h"
#include "server/front.h"
#include "server/http/client.h"

namespace likewise::server {

/// "127.0.0.1:8080", "[::1]:8080", "0.0.0.0:80".
struct Address {
  std::string host = "127.0.0.1";
  std::uint16_t port = 8080;

  [[nodiscard]] bool is_loopback() const;
  [[nodiscard]] std::string text() const;
};
/// Throws Error(kInvalidArgument). Port 0: one that is free.
[[nodiscard]] Address read_address(const std::string& text);

class HttpServer {
 public:
  /// Listens at once, and SIGTERM, SIGINT and SIGHUP are its own from then on. Throws Error(kIo)
  /// with the system's reason.
  HttpServer(Front& front, Service& service, AccessLog& log, const Address& address, int threads);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  /// With the port that was free, where 0 was asked for.
  [[nodiscard]] const Address& address() const;
  /// Whose X-Forwarded-For says who asks; before run().
  void trust(TrustedProxies proxies);
  /// Called at SIGHUP.
  void on_hangup(std::function<void()> call);
  /// Serves until SIGTERM or SIGINT, and then finishes what is under way, within the limit of
  /// time. A second signal ends at once.
  void run();

  class Impl;

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace likewise::server
