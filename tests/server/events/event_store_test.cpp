// SPDX-License-Identifier: Apache-2.0
#include "server/events/event_store.h"

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/events/sqlite.h"
#include "tests/errors.h"
#include "tests/server/events/stores.h"

namespace likewise::server {
namespace {

using likewise::test::error_of;
using test::event;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(Event, IsRefusedWithASentence) {
  const auto refused = [](const Event& one) {
    return error_of(ErrorKind::kInvalidArgument, [&] { check_event(one, now()); });
  };
  check_event(event("ann", "Amélie", 4.5F), now());
  EXPECT_EQ(refused(event("", "a")), "user is empty");
  EXPECT_EQ(refused(event("ann", std::string(257, 'x'))), "item has 257 bytes: 256 are the most");
  EXPECT_THAT(refused(event("a\nb", "x")), HasSubstr("user 'a\\x0ab' has characters"));
  EXPECT_THAT(refused(event("ann", std::string("a\0b", 3))), HasSubstr("characters"));
  EXPECT_THAT(refused(event("ann", "\xFF")), HasSubstr("characters"));
  EXPECT_THAT(refused(event("ann", "a", NAN)), HasSubstr("value nan is not a number"));
  EXPECT_THAT(refused(event("ann", "a", 1e7F)), HasSubstr("at most 1000000 in size"));
  Event later = event("ann", "a");
  later.time = now() * 1000;
  EXPECT_THAT(refused(later), HasSubstr("in the future: it counts seconds since 1970"));
  later.time = -1;
  EXPECT_THAT(refused(later), HasSubstr("before 1970"));
}

/// Both kinds of store; PostgreSQL's server is one for all cases.
class AnyStore : public testing::TestWithParam<const char*> {
 protected:
  static void TearDownTestSuite() { postgres.reset(); }

  void SetUp() override {
    if (std::string_view(GetParam()) == "sqlite") {
      where_ = folder_ / "events.sqlite";
      return;
    }
    if (!postgres) postgres = test::PostgresServer::start();
    LIKEWISE_NEEDS_POSTGRES(postgres);
    where_ = postgres->fresh_database();
  }
  [[nodiscard]] std::unique_ptr<EventStore> open() const { return open_event_store(where_); }

  likewise::test::TemporaryFolder folder_;
  std::string where_;
  static inline std::unique_ptr<test::PostgresServer> postgres;
};

INSTANTIATE_TEST_SUITE_P(, AnyStore, testing::Values("sqlite", "postgres"),
                         [](const auto& one) { return std::string(one.param); });

[[nodiscard]] std::vector<std::string> items_of(const std::vector<StoredEvent>& events) {
  std::vector<std::string> items;
  for (const StoredEvent& one : events) items.push_back(one.event.item);
  return items;
}

TEST_P(AnyStore, KeepsWhatItAcknowledged) {
  std::string id;
  {
    const auto store = open();
    id = store->id();
    EXPECT_EQ(id.size(), 32U);
    const Appended appended =
        store->append({event("ann", "a \"quoted\" \\ {item}", 4.5F), event("bob", "Amélie")});
    EXPECT_THAT(appended.events, ElementsAre(testing::Field(&StoredEvent::position, 1),
                                             testing::Field(&StoredEvent::position, 2)));
    static_cast<void>(store->append({event("ann", "c", -1.0F, "key")}));
  }
  const auto store = open();
  EXPECT_EQ(store->id(), id);
  EXPECT_EQ(store->newest(), 3);
  EXPECT_EQ(store->count(), 3);
  const std::vector<StoredEvent> all = store->read(0, 3, 100);
  EXPECT_THAT(items_of(all), ElementsAre("a \"quoted\" \\ {item}", "Amélie", "c"));
  EXPECT_EQ(all[0].event.value, 4.5F);
  EXPECT_EQ(all[1].event.value, std::nullopt);
  EXPECT_EQ(all[2].event.value, -1.0F);
  EXPECT_EQ(all[2].event.key, "key");
  EXPECT_NEAR(static_cast<double>(all[0].event.time), static_cast<double>(now()), 60e6);
  EXPECT_THAT(items_of(store->read(0, 3, 1)), ElementsAre(all[0].event.item));
  EXPECT_THAT(items_of(store->read(1, 2, 9)), ElementsAre("Amélie"));
  EXPECT_THAT(items_of(store->read_user("ann", 0)), ElementsAre(all[0].event.item, "c"));
  EXPECT_THAT(items_of(store->read_user("ann", 1)), ElementsAre("c"));
  EXPECT_TRUE(store->read_user("nobody", 0).empty());
}

TEST_P(AnyStore, OfOneKeyTheFirstEventIsKept) {
  const auto store = open();
  EXPECT_EQ(store->append({event("ann", "a", {}, "k"), event("ann", "b", {}, "k")}).stored(), 1);
  const Appended again = store->append({event("ann", "c", {}, "k"), event("ann", "d")});
  EXPECT_EQ(again.events[0].position, 0);
  EXPECT_GT(again.events[1].position, 0);
  EXPECT_THAT(items_of(store->read_user("ann", 0)), ElementsAre("a", "d"));
}

TEST_P(AnyStore, ErasedUsersAreGoneAndRemembered) {
  const auto store = open();
  static_cast<void>(store->append({event("ann", "a"), event("bob", "b"), event("ann", "c")}));
  const EventStore::Erased erased = store->erase("ann", 70);
  EXPECT_EQ(erased.events, 2);
  EXPECT_EQ(erased.erasure.position, 4);
  EXPECT_EQ(store->erase("nobody", 80).events, 0);
  EXPECT_THAT(items_of(store->read(0, store->newest(), 10)), ElementsAre("b"));
  ASSERT_EQ(store->erasures(0).size(), 2U);
  EXPECT_EQ(store->erasures(0)[0].user, "ann");
  EXPECT_EQ(store->erasures(4)[0].user, "nobody");
  EXPECT_EQ(store->append({event("ann", "d")}).events[0].position, 6);
}

TEST_P(AnyStore, OfAUserTheLastErasureIsKept) {
  const auto store = open();
  static_cast<void>(store->append({event("ann", "a")}));
  static_cast<void>(store->erase("ann", 70));
  static_cast<void>(store->append({event("ann", "b")}));
  const EventStore::Erased again = store->erase("ann", 60);  // by a clock that is behind
  EXPECT_EQ(again.events, 1);
  EXPECT_EQ(again.erasure.time, 70);
  ASSERT_EQ(store->erasures(0).size(), 1U);
  EXPECT_EQ(store->erasures(0)[0].position, 4);
  EXPECT_EQ(store->erasures(0)[0].time, 70);
  EXPECT_EQ(store->erase("ann", 90).erasure.time, 90);
  EXPECT_EQ(store->erasures(0).size(), 1U);
}

TEST_P(AnyStore, CompactingKeepsWhatIsNewAndWhoCameBack) {
  const auto store = open();
  static_cast<void>(store->append({event("ann", "a"), event("bob", "b")}));
  store->erase("ann", 70);
  static_cast<void>(store->append({event("ann", "c"), event("bob", "d"), event("bob", "e")}));
  EXPECT_EQ(store->compact(5, now() - kPerSecond * 3600, 0), 0);  // they came a moment ago
  EXPECT_EQ(store->compact(5, now() + kPerSecond, 70), 2);
  EXPECT_THAT(items_of(store->read(0, store->newest(), 10)), ElementsAre("c", "e"));
  EXPECT_EQ(store->compact(4, now() + kPerSecond, 71), 1);  // a model of after the erasure
  EXPECT_THAT(items_of(store->read(0, store->newest(), 10)), ElementsAre("e"));
  static_cast<void>(store->compact(store->newest(), now() + kPerSecond, 0));
  EXPECT_EQ(store->append({event("bob", "f")}).events[0].position, 7);  // none is used again
}

/// Whoever reads up to newest() has missed nothing, whoever else writes.
TEST_P(AnyStore, SeveralServersShareIt) {
  constexpr int kEach = 40;
  const auto one = open();
  const auto two = open();
  const auto reader = open();
  std::atomic<int> running{2};
  const auto write = [&](EventStore& store, const std::string& user) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        for (int i = 0; i < kEach; ++i) {
          static_cast<void>(store.append({event(user, fmt::format("{}-{}", t, i))}));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    --running;
  };
  std::thread first([&] { write(*one, "ann"); });
  std::thread second([&] { write(*two, "bob"); });
  Position followed = 0;
  std::set<std::string> seen;
  while (running > 0 || followed < reader->newest()) {
    const Position newest = reader->newest();
    for (const StoredEvent& found : reader->read(followed, newest, 100'000)) {
      EXPECT_TRUE(seen.insert(found.event.user + found.event.item).second);
    }
    followed = newest;
  }
  first.join();
  second.join();
  EXPECT_EQ(seen.size(), std::size_t{4 * kEach});
  EXPECT_EQ(one->id(), two->id());
}

TEST_P(AnyStore, ALargeBatchIsOneTransaction) {
  const auto store = open();
  std::vector<Event> events;
  for (int i = 0; i < 30'000; ++i) events.push_back(event(std::to_string(i % 100), "x", 1.0F));
  EXPECT_EQ(store->append(std::move(events)).stored(), 30'000);
  EXPECT_EQ(store->count(), 30'000);
  EXPECT_EQ(store->read_user("7", 0).size(), 300U);
}

TEST(EventStore, RefusesWhatHoldsNoEvents) {
  const likewise::test::TemporaryFolder folder;
  const std::string text = folder / "text";
  std::ofstream(text) << "user,item\n" << std::string(5000, 'x');
  EXPECT_THAT(error_of(ErrorKind::kBadData, [&] { static_cast<void>(open_event_store(text)); }),
              HasSubstr("is no SQLite file"));
  const std::string other = folder / "other.sqlite";
  SqliteConnection(other).run("CREATE TABLE songs(name)");
  EXPECT_THAT(error_of(ErrorKind::kBadData, [&] { static_cast<void>(open_event_store(other)); }),
              HasSubstr("not one of events"));
  EXPECT_THAT(
      error_of(ErrorKind::kIo, [&] { static_cast<void>(open_event_store(folder / "no/folder")); }),
      testing::AllOf(HasSubstr("events cannot be stored or read"), HasSubstr("No such file")));
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument,
                       [&] { static_cast<void>(open_event_store("mysql://there")); }),
              HasSubstr("postgresql://"));
}

TEST(EventStore, PasswordsAreNotShown) {
  EXPECT_EQ(shown_place("postgresql://ann:secret@db:5432/likes?sslmode=require"),
            "postgresql://db:5432/likes");
  EXPECT_EQ(shown_place("postgresql:///likes?password=secret"), "postgresql:///likes");
  EXPECT_EQ(shown_place("events.sqlite"), "events.sqlite");
}

/// Files of this process end at `bytes` while it lives.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallDisk() { setrlimit(RLIMIT_FSIZE, &before_); }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit before_{};
};

TEST(EventStore, AFullDiskRefusesAndComesBack) {
  const likewise::test::TemporaryFolder folder;
  const auto store = open_event_store(folder / "events.sqlite");
  Offset acknowledged = 0;
  {
    const SmallDisk disk(200'000);
    const auto fill = [&] {
      for (int i = 0; i < 1000; ++i) {
        static_cast<void>(store->append({event("ann", fmt::format("{:0100}", i))}));
        ++acknowledged;
      }
    };
    try {
      fill();
      ADD_FAILURE() << "the disk did not fill up";
    } catch (const StoreError& error) {
      EXPECT_EQ(error.reason(), StoreError::Reason::kFull) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("there is no room"));
    }
    EXPECT_GT(acknowledged, 0);
    EXPECT_EQ(store->count(), acknowledged);  // reading goes on
    EXPECT_THROW(fill(), StoreError);
  }
  static_cast<void>(store->append({event("ann", "room again")}));
  EXPECT_EQ(store->count(), acknowledged + 1);
}

TEST(EventStore, AFileThatIsNotInItsPlaceTakesNothing) {
  const likewise::test::TemporaryFolder folder;
  const std::string path = folder / "events.sqlite";
  const auto store = open_event_store(path);
  static_cast<void>(store->append({event("ann", "a")}));
  const auto refused = [&](const auto& work) {
    try {
      work();
    } catch (const StoreError& error) {
      EXPECT_EQ(error.reason(), StoreError::Reason::kUnavailable);
      return std::string(error.what());
    }
    return std::string("it was taken");
  };
  const auto append = [&] { static_cast<void>(store->append({event("ann", "b")})); };
  const auto is_away = testing::AllOf(HasSubstr(path), HasSubstr("moved, removed or replaced"));
  std::filesystem::rename(path, folder / "away");
  EXPECT_THAT(refused(append), is_away);
  EXPECT_THAT(refused([&] { static_cast<void>(store->newest()); }), is_away);
  EXPECT_THAT(refused([&] { static_cast<void>(store->erase("ann", 0)); }), is_away);
  EXPECT_FALSE(std::filesystem::exists(path));  // none is made in its place
  std::filesystem::copy_file(folder / "away", path);
  EXPECT_THAT(refused(append), is_away);
  std::filesystem::rename(folder / "away", path);
  append();
  EXPECT_THAT(items_of(store->read_user("ann", 0)), ElementsAre("a", "b"));
}

}  // namespace
}  // namespace likewise::server
