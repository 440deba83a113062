// SPDX-License-Identifier: Apache-2.0
#include "tests/server/events/stores.h"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

#include <fmt/format.h>

namespace likewise::server::test {
namespace {

/// Of the newest version that is installed.
[[nodiscard]] std::string postgres_programs() {
  const std::filesystem::path versions = "/usr/lib/postgresql";
  std::vector<std::string> found;
  if (!std::filesystem::exists(versions)) return {};
  for (const auto& version : std::filesystem::directory_iterator(versions)) {
    if (std::filesystem::exists(version.path() / "bin/initdb")) {
      found.push_back((version.path() / "bin").string());
    }
  }
  return found.empty() ? "" : *std::ranges::max_element(found);
}

}  // namespace

std::unique_ptr<PostgresServer> PostgresServer::start() {
  if (!has_postgres()) return nullptr;
  const std::string programs = postgres_programs();
  if (programs.empty()) return nullptr;
  return std::unique_ptr<PostgresServer>(new PostgresServer(programs, geteuid() == 0));
}

PostgresServer::PostgresServer(std::string programs, bool as_root)
    : programs_(std::move(programs)), prefix_(as_root ? "runuser -u postgres -- " : "") {
  if (as_root && std::system(fmt::format("chown postgres {}", folder_ / "").c_str()) != 0) {
    throw std::runtime_error("chown failed");
  }
  if (!run("initdb", "-D {0}/data -A trust -U likewise --no-sync --no-locale -E UTF8")) {
    throw std::runtime_error("initdb failed: " + likewise::test::content(folder_ / "log"));
  }
  start_again();
}

PostgresServer::~PostgresServer() { stop(); }

bool PostgresServer::run(const std::string& program, const std::string& arguments) const {
  const std::string folder = folder_ / "";
  return std::system(fmt::format("cd / && {}{}/{} {} > {}/log 2>&1", prefix_, programs_, program,
                                 fmt::format(fmt::runtime(arguments), folder), folder)
                         .c_str()) == 0;
}

void PostgresServer::stop() { run("pg_ctl", "-D {0}/data -m immediate -w stop"); }

void PostgresServer::start_again() {
  if (!run("pg_ctl",
           "-D {0}/data -l {0}/server.log -w -o \"-k {0} -c listen_addresses='' "
           "-c max_connections=20 -c shared_buffers=16MB\" start")) {
    throw std::runtime_error("pg_ctl failed: " + likewise::test::content(folder_ / "log"));
  }
}

std::string PostgresServer::fresh_database() const {
  static int number = 0;
  const std::string name = fmt::format("test{}", ++number);
  if (!run("createdb", "-h {0} -U likewise " + name)) throw std::runtime_error("createdb failed");
  return fmt::format("postgresql:///{}?host={}&user=likewise", name, folder_ / "");
}

}  // namespace likewise::server::test
