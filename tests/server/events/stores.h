// SPDX-License-Identifier: Apache-2.0
/// Stores of events for tests: files, and a PostgreSQL server of its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "server/events/event_store.h"
#include "tests/support.h"

namespace likewise::server::test {

inline Event event(std::string user, std::string item, std::optional<float> value = {},
                   std::string key = {}) {
  return {std::move(user), std::move(item), value, now(), std::move(key)};
}

/// A server in a temporary folder, on a socket there; as an unprivileged user where this one is
/// root, whom PostgreSQL refuses.
class PostgresServer {
 public:
  /// Null where PostgreSQL is not installed, or this program knows none.
  static std::unique_ptr<PostgresServer> start();
  ~PostgresServer();
  PostgresServer(const PostgresServer&) = delete;
  PostgresServer& operator=(const PostgresServer&) = delete;

  void stop();
  void start_again();
  /// The URL of one that is empty.
  [[nodiscard]] std::string fresh_database() const;

 private:
  PostgresServer(std::string programs, bool as_root);
  bool run(const std::string& program, const std::string& arguments) const;

  likewise::test::TemporaryFolder folder_;
  std::string programs_;  ///< folder of initdb and pg_ctl
  std::string prefix_;    ///< of commands
};

#define LIKEWISE_NEEDS_POSTGRES(server)                           \
  if ((server) == nullptr)                                        \
  GTEST_SKIP() << "no PostgreSQL: scripts/setup installs it and " \
                  "libpq-dev"

}  // namespace likewise::server::test
