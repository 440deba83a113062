// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <chrono>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/events/event_store.h"
#include "server/events/live.h"
#include "tests/errors.h"
#include "tests/server/events/stores.h"

namespace likewise::server {
namespace {

using namespace std::chrono_literals;
using test::event;

TEST(PostgresStore, RefusesAUrlThatIsNone) {
  if (!has_postgres()) GTEST_SKIP() << "this program was built without PostgreSQL";
  EXPECT_THAT(likewise::test::error_of(
                  ErrorKind::kInvalidArgument,
                  [] { static_cast<void>(open_event_store("postgresql://h:port:x/likes?a=b")); }),
              testing::HasSubstr("postgresql://h:port:x/likes"));
}

/// Waits up to ten seconds for what is to come.
template <class Holds>
[[nodiscard]] bool comes(const Holds& holds) {
  const auto end = std::chrono::steady_clock::now() + 10s;
  while (!holds()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(20ms);
  }
  return true;
}

[[nodiscard]] bool can_be_read(EventStore& store) {
  try {
    return store.newest() > 0;
  } catch (const StoreError&) {
    return false;
  }
}

/// Under load the database goes away at once and comes back: what was acknowledged is there, once.
TEST(PostgresStore, IsGoneAndBackUnderLoad) {
  const auto server = test::PostgresServer::start();
  LIKEWISE_NEEDS_POSTGRES(server);
  const std::string url = server->fresh_database();
  Live live(open_event_store(url), {.poll = 20ms});
  live.serve({{"2026-01-01T00:00:00Z", {}}});
  std::atomic<bool> stop{false};
  std::atomic<int> acknowledged{0};
  std::atomic<int> refused{0};
  std::vector<std::set<std::string>> keys(3);
  std::vector<std::thread> writers;
  for (std::size_t w = 0; w < keys.size(); ++w) {
    writers.emplace_back([&, w] {
      for (int i = 0; !stop; ++i) {
        const std::string key = std::to_string(w) + "-" + std::to_string(i);
        try {
          static_cast<void>(live.append({event("user" + std::to_string(w), key, 1.0F, key)}));
          keys[w].insert(key);
          ++acknowledged;
        } catch (const StoreError& error) {
          EXPECT_EQ(error.reason(), StoreError::Reason::kUnavailable);
          ++refused;
          std::this_thread::sleep_for(5ms);
        }
      }
    });
  }
  EXPECT_TRUE(comes([&] { return acknowledged > 50; }));
  server->stop();
  EXPECT_TRUE(comes([&] { return refused > 10; }));
  EXPECT_FALSE(live.figures().store_up());
  EXPECT_FALSE(live.since("user0", {}).likes.empty());  // answers go on
  server->start_again();
  const int before = acknowledged;
  EXPECT_TRUE(comes([&] { return acknowledged > before + 50; }));
  stop = true;
  for (std::thread& writer : writers) writer.join();
  EventStore& store = live.store();
  EXPECT_TRUE(comes([&] { return can_be_read(store); }));  // reading comes back within a second
  EXPECT_TRUE(comes([&] { return live.figures().store_up(); }));
  std::multiset<std::string> stored;
  for (const StoredEvent& one : store.read(0, store.newest(), 1'000'000)) {
    stored.insert(one.event.key);
  }
  for (const auto& some : keys) {
    for (const std::string& key : some) EXPECT_EQ(stored.count(key), 1U) << key;
  }
}

TEST(PostgresStore, ReplicasHearOfEachOthersEvents) {
  const auto server = test::PostgresServer::start();
  LIKEWISE_NEEDS_POSTGRES(server);
  const std::string url = server->fresh_database();
  const ModelMark mark{"2026-01-01T00:00:00Z", {}};
  Live here(open_event_store(url), {.poll = 20ms});
  Live there(open_event_store(url), {.poll = 20ms});
  here.serve({mark});
  there.serve({mark});
  static_cast<void>(here.append({event("ann", "a")}));
  static_cast<void>(there.append({event("ann", "b")}));
  EXPECT_TRUE(comes([&] { return there.since("ann", mark).likes.size() == 2; }));
  EXPECT_TRUE(comes([&] { return here.since("ann", mark).likes.size() == 2; }));
  EXPECT_EQ(here.erase("ann").events, 2);
  EXPECT_TRUE(comes([&] { return there.since("ann", mark).erased; }));
  EXPECT_TRUE(there.since("ann", mark).likes.empty());
}

/// A server that starts while the database is away answers, and hears of events when it is there.
TEST(PostgresStore, IsWaitedFor) {
  const auto server = test::PostgresServer::start();
  LIKEWISE_NEEDS_POSTGRES(server);
  const std::string url = server->fresh_database();
  const ModelMark mark{"2026-01-01T00:00:00Z", {}};
  static_cast<void>(open_event_store(url)->append({event("ann", "a")}));
  server->stop();
  std::mutex mutex;
  std::vector<std::string> told;
  const auto say = [&](const std::string& line) {
    const std::lock_guard lock(mutex);
    told.push_back(line);
  };
  Live live(open_event_store(url), {.poll = 20ms, .say = say});
  live.serve({mark});
  EXPECT_TRUE(live.since("ann", mark).likes.empty());
  EXPECT_FALSE(live.figures().store_up());
  server->start_again();
  EXPECT_TRUE(comes([&] { return live.since("ann", mark).likes.size() == 1; }));
  EXPECT_TRUE(comes([&] {
    const std::lock_guard lock(mutex);
    return told.size() == 2;
  }));
  EXPECT_THAT(told, testing::ElementsAre(testing::HasSubstr("answers do without new events: "),
                                         "events are read again"));
}

TEST(PostgresStore, IsRefusedWhereTheProgramHasNone) {
  if (has_postgres()) GTEST_SKIP() << "this program was built with PostgreSQL";
  EXPECT_THAT(likewise::test::error_of(
                  ErrorKind::kInvalidArgument,
                  [] { static_cast<void>(open_event_store("postgresql://db/likes")); }),
              testing::HasSubstr("built without PostgreSQL"));
}

}  // namespace
}  // namespace likewise::server
