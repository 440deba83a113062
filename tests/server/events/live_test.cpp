// SPDX-License-Identifier: Apache-2.0
#include "server/events/live.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/als.h"
#include "likewise/device.h"
#include "likewise/ease.h"
#include "server/events/fold_events.h"
#include "server/events/updater.h"
#include "tests/errors.h"
#include "tests/server/events/stores.h"
#include "training/train.h"

namespace likewise::server {
namespace {

using test::event;
using testing::ElementsAre;
using testing::IsEmpty;
using Ids = std::vector<std::string>;

/// ann, bob and cy with a to e.
[[nodiscard]] Model model_of(const TrainingParams& params) {
  Interactions data;
  data.users = IdMap::from_text(Ids{"ann", "bob", "cy"});
  data.items = IdMap::from_text(Ids{"a", "b", "c", "d", "e"});
  const std::vector<likewise::test::Entry> entries{{0, 0, 1.0F}, {0, 1, 1.0F}, {1, 1, 2.0F},
                                                   {1, 2, 1.0F}, {2, 0, 1.0F}, {2, 3, 1.0F}};
  data.by_user = likewise::test::make_csr(3, 5, entries);
  return train(data, params, open_device("cpu"));
}

[[nodiscard]] Model ease_model() {
  EaseParams params;
  return model_of(params);
}

class LiveTest : public testing::Test {
 protected:
  [[nodiscard]] std::unique_ptr<EventStore> open() const { return open_event_store(path_); }
  likewise::test::TemporaryFolder folder_;
  std::string path_ = folder_ / "events.sqlite";
  std::string model_path_ = folder_ / "model.safetensors";
};

[[nodiscard]] Ids items_of(const Since& since) {
  Ids items;
  for (const Like& like : since.likes) items.push_back(like.item);
  return items;
}

TEST_F(LiveTest, EventsCountAtOnceAndAfterAStart) {
  const ModelMark mark = mark_of(ease_model());
  {
    Live live(open());
    live.serve({mark});
    static_cast<void>(live.append({event("ann", "c"), event("new", "d")}));
    EXPECT_THAT(items_of(live.since("ann", mark)), ElementsAre("c"));
    EXPECT_EQ(live.figures().accepted, 2);
    EXPECT_TRUE(live.figures().store_up());
  }
  Live again(open());
  again.serve({mark});
  EXPECT_THAT(items_of(again.since("ann", mark)), ElementsAre("c"));
  EXPECT_THAT(items_of(again.since("new", mark)), ElementsAre("d"));
  EXPECT_EQ(again.history("new").size(), 1U);
}

TEST_F(LiveTest, EventsAreInTheOrderOfTheirTimes) {
  Live live(open());
  live.serve({{}});
  Event late = event("ann", "c", 5.0F);
  Event early = event("ann", "c", 1.0F);
  early.time -= 10 * kPerSecond;
  static_cast<void>(live.append({late, early}));
  EXPECT_EQ(live.since("ann", {}).likes[0].value, 1.0F);
  EXPECT_EQ(live.since("ann", {}).likes[1].value, 5.0F);
}

TEST_F(LiveTest, AUserIsWhatTheModelKnowsAndWhatCameSince) {
  const Model model = ease_model();
  const auto who = [&](const std::string& user, const Since& since, Duplicates how) {
    return who_is(model, user, since, how);
  };
  const Since some{false, {{"b", 3.0F}, {"e", {}}, {"unheard of", {}}}};
  const auto row = std::get<FoldInRow>(who("bob", some, Duplicates::kSum));
  EXPECT_THAT(row.columns, ElementsAre(1, 2, 4));
  EXPECT_THAT(row.values, ElementsAre(5.0F, 1.0F, 1.0F));
  EXPECT_THAT(std::get<FoldInRow>(who("bob", some, Duplicates::kLast)).values,
              ElementsAre(3.0F, 1.0F, 1.0F));
  EXPECT_THAT(std::get<FoldInRow>(who("new", some, Duplicates::kSum)).columns, ElementsAre(1, 4));
  const Since unheard{false, {{"unheard of", {}}}};
  EXPECT_EQ(std::get<Index>(who("bob", unheard, Duplicates::kSum)), 1);
  EXPECT_EQ(std::get<Index>(who("bob", {}, Duplicates::kSum)), 1);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(who("new", unheard, Duplicates::kSum)));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(who("bob", {true, {}}, Duplicates::kSum)));
  EXPECT_THAT(std::get<FoldInRow>(who("bob", {true, some.likes}, Duplicates::kSum)).columns,
              ElementsAre(1, 4));
}

TEST_F(LiveTest, AnErasedUserIsUnknownToOlderModelsOnly) {
  const Model model = ease_model();
  Live live(open());
  live.serve({mark_of(model)});
  static_cast<void>(live.append({event("ann", "c")}));
  EXPECT_EQ(live.erase("ann").events, 1);
  EXPECT_TRUE(live.since("ann", mark_of(model)).erased);
  EXPECT_THAT(live.since("ann", mark_of(model)).likes, IsEmpty());
  static_cast<void>(live.append({event("ann", "d")}));
  EXPECT_THAT(items_of(live.since("ann", mark_of(model))), ElementsAre("d"));
  const ModelMark younger{"2999-01-01T00:00:00Z", {}};
  EXPECT_FALSE(live.since("ann", younger).erased);
  EXPECT_THAT(items_of(live.since("ann", younger)), ElementsAre("d"));
}

/// Whatever the clocks of the machines that train and serve.
TEST_F(LiveTest, AnErasureHoldsForAllModelsThatAreServed) {
  Live live(open());
  const ModelMark ahead{"2999-01-01T00:00:00Z", {}};
  const ModelMark undated{"no date", {}};
  live.serve({ahead, undated});
  static_cast<void>(live.erase("ann"));
  EXPECT_TRUE(live.since("ann", ahead).erased);
  EXPECT_TRUE(live.since("ann", undated).erased);
  EXPECT_FALSE(live.since("ann", {"2999-01-01T00:00:01Z", {}}).erased);
  EXPECT_FALSE(live.since("bob", ahead).erased);
}

/// Reads fail and stores fail one without the other: each is said once, in its own words.
TEST_F(LiveTest, SaysWhatFails) {
  struct Store final : EventStore {
    bool reads = true;
    bool stores = true;
    static void fail(bool works) {
      if (!works) throw StoreError(StoreError::Reason::kFull, "/private/place: full", "full");
    }
    std::string id() override { return "store"; }
    void submit(std::vector<Event>, WhenAppended done) override {
      Appended appended;
      try {
        fail(stores);
      } catch (...) {
        appended.error = std::current_exception();
      }
      done(std::move(appended));
    }
    Position newest() override { return fail(reads), 0; }
    std::vector<StoredEvent> read(Position, Position, Offset) override { return {}; }
    std::vector<StoredEvent> read_user(const std::string&, Position) override { return {}; }
    Offset count() override { return 0; }
    Erased erase(const std::string&, Microseconds) override { return fail(stores), Erased{}; }
    std::vector<Erasure> erasures(Position) override { return {}; }
    Offset compact(Position, Microseconds, Microseconds) override { return 0; }
  };
  auto made = std::make_unique<Store>();
  Store& store = *made;
  std::vector<std::string> said;
  Live live(std::move(made), {.poll = std::chrono::hours(1),
                              .say = [&](const std::string& line) { said.push_back(line); }});
  const auto look = [&] { live.serve({{}}); };
  look();
  EXPECT_TRUE(live.figures().store_up());
  store.stores = false;
  EXPECT_THROW(static_cast<void>(live.append({event("ann", "a")})), StoreError);
  EXPECT_THROW(static_cast<void>(live.erase("ann")), StoreError);
  look();
  EXPECT_TRUE(live.figures().readable);
  EXPECT_FALSE(live.figures().writable);
  EXPECT_FALSE(live.figures().store_up());
  store.reads = false;
  look();
  look();
  EXPECT_FALSE(live.figures().readable);
  store.stores = store.reads = true;
  static_cast<void>(live.append({event("ann", "a")}));
  EXPECT_FALSE(live.figures().store_up());
  look();
  EXPECT_TRUE(live.figures().store_up());
  EXPECT_THAT(said, ElementsAre("events are refused: /private/place: full",
                                "answers do without new events: /private/place: full",
                                "events are stored again", "events are read again"));
}

/// Two events of one user, at values that the sums of ridge regression cannot hold beside 1.
TEST_F(LiveTest, AnUpdateGoesOnWithoutWhatTheModelCannotLearn) {
  save_model(ease_model(), model_path_);
  Live live(open());
  static_cast<void>(live.append({event("ann", "c"), event("mallory", "a", 1e6F), event("bob", "d"),
                                 event("mallory", "b", 1e6F), event("dora", "e")}));
  const FoldReport report = fold_events(model_path_, live.store(), {});
  EXPECT_EQ(report.events, 3);
  EXPECT_EQ(report.position, 5);
  EXPECT_EQ(report.set_aside.events, 2);
  EXPECT_THAT(report.set_aside.users, ElementsAre("mallory"));
  EXPECT_THAT(report.set_aside.reason, testing::HasSubstr("cannot be told from"));
  const Model model = load_model(model_path_);
  EXPECT_TRUE(model.users.find("dora").has_value());
  EXPECT_FALSE(model.users.find("mallory").has_value());
  EXPECT_EQ(history_of(model, 0).columns.size(), 3U);
  EXPECT_EQ(fold_events(model_path_, live.store(), {}).events, 0);  // they do not come again
}

TEST_F(LiveTest, WhereAModelCanLearnNobodyThatIsAnError) {
  save_model(ease_model(), model_path_);
  Live live(open());
  static_cast<void>(live.append({event("mallory", "a", 1e6F), event("mallory", "b", 1e6F)}));
  const auto reason = likewise::test::error_of(ErrorKind::kNumerical, [&] {
    static_cast<void>(fold_events(model_path_, live.store(), {}));
  });
  EXPECT_THAT(reason, testing::HasSubstr("cannot be told from"));
  static_cast<void>(live.append({event("ann", "c")}));  // from here on there is somebody
  EXPECT_EQ(fold_events(model_path_, live.store(), {}).events, 1);
}

TEST_F(LiveTest, AnUpdateLearnsEachEventOnce) {
  save_model(ease_model(), model_path_);
  Live live(open());
  live.serve({mark_of(load_model(model_path_))});
  static_cast<void>(live.append({event("ann", "b"), event("dora", "f"), event("dora", "a")}));
  const FoldReport report = fold_events(model_path_, live.store(), {});
  EXPECT_EQ(report.events, 3);
  EXPECT_EQ(report.new_users, 1);
  EXPECT_EQ(report.new_items, 1);
  EXPECT_EQ(report.set_aside.events, 0);
  const FoldReport again = fold_events(model_path_, live.store(), {});
  EXPECT_EQ(again.events, 0);
  EXPECT_EQ(again.position, 3);  // which the file says

  const Model model = load_model(model_path_);
  EXPECT_TRUE(model.users.find("dora").has_value());
  EXPECT_TRUE(model.items.find("f").has_value());
  const FoldInRow ann = history_of(model, *model.users.find("ann"));
  EXPECT_THAT(ann.values, ElementsAre(1.0F, 2.0F));  // a, and b for a second time
  const ModelMark mark = mark_of(model);
  EXPECT_EQ(learned_of(mark, live.store().id()), 3);

  live.serve({mark});
  EXPECT_THAT(live.since("ann", mark).likes, IsEmpty());
  EXPECT_THAT(items_of(live.since("ann", mark_of(ease_model()))), ElementsAre("b"));
  static_cast<void>(live.append({event("ann", "e")}));
  EXPECT_THAT(items_of(live.since("ann", mark)), ElementsAre("e"));
  live.serve({mark});  // nobody asks the first model any more
  EXPECT_THAT(items_of(live.since("ann", mark)), ElementsAre("e"));
  EXPECT_EQ(live.figures().in_memory, 2);
  live.serve({mark_of(ease_model())});  // a model that has learned nothing: all is read again
  EXPECT_THAT(items_of(live.since("ann", mark_of(ease_model()))), ElementsAre("b", "e"));
}

TEST_F(LiveTest, AnUpdateLeavesOutWhoWasErased) {
  save_model(ease_model(), model_path_);
  Live live(open());
  live.erase("ann");
  static_cast<void>(live.append({event("ann", "c"), event("bob", "d")}));
  EXPECT_EQ(fold_events(model_path_, live.store(), {}).events, 1);
  const ModelMark mark = mark_of(load_model(model_path_));
  live.serve({mark});
  live.serve({mark});
  EXPECT_TRUE(live.since("ann", mark).erased);
  EXPECT_THAT(items_of(live.since("ann", mark)), ElementsAre("c"));
}

TEST_F(LiveTest, ADifferentStoreIsAnother) {
  save_model(ease_model(), model_path_);
  Live live(open());
  static_cast<void>(live.append({event("ann", "c")}));
  static_cast<void>(fold_events(model_path_, live.store(), {}));
  const auto other = open_event_store(folder_ / "other.sqlite");
  static_cast<void>(other->append({event("ann", "d")}));
  EXPECT_EQ(fold_events(model_path_, *other, {}).events, 1);
  const Model model = load_model(model_path_);
  EXPECT_EQ(mark_of(model).learned.size(), 2U);
  EXPECT_EQ(history_of(model, 0).columns.size(), 4U);
}

TEST_F(LiveTest, AFailedUpdateKeepsTheFileAndSaysSo) {
  save_model(ease_model(), model_path_);
  Live live(open());
  static_cast<void>(live.append({event("ann", "c")}));
  std::atomic<int> failed{0};
  std::string reason;
  {
    Updater updater(
        live.store(), {.files = {folder_ / "missing"}, .every = std::chrono::milliseconds(20)},
        [](std::size_t, const FoldReport&) { throw Error(ErrorKind::kBadData, "broken"); },
        [&](std::size_t file, const std::string& why) {
          if (failed++ == 0) reason = std::to_string(file) + ": " + why;
        });
    while (failed < 2) std::this_thread::yield();
    EXPECT_GE(updater.figures(0).failures, 1);
    EXPECT_EQ(updater.figures(0).updates, 0);
  }
  EXPECT_THAT(reason, testing::StartsWith("0: "));
  EXPECT_THAT(reason, testing::HasSubstr("missing"));
}

TEST_F(LiveTest, AnUpdaterUpdatesAgainAndAgainAndCompacts) {
  save_model(ease_model(), model_path_);
  Live live(open());
  std::atomic<int> updates{0};
  Updater updater(
      live.store(),
      {.files = {model_path_}, .every = std::chrono::milliseconds(20), .compact = true},
      [&](std::size_t, const FoldReport&) { ++updates; },
      [](std::size_t, const std::string& why) { ADD_FAILURE() << why; });
  for (int round = 1; round <= 2; ++round) {
    static_cast<void>(live.append({event("ann", "c")}));
    while (updates < round) std::this_thread::yield();
  }
  EXPECT_EQ(live.store().count(), 2);  // they are younger than a day
}

/// The file says what it has learned: a start with nothing new compacts too.
TEST_F(LiveTest, AnUpdaterCompactsWhatWasLearnedBeforeItsStart) {
  save_model(ease_model(), model_path_);
  struct Watched final : EventStore {
    std::unique_ptr<EventStore> store;
    std::atomic<Position> upto{0};
    std::atomic<Microseconds> trained{0};
    std::string id() override { return store->id(); }
    void submit(std::vector<Event> events, WhenAppended done) override {
      store->submit(std::move(events), std::move(done));
    }
    Position newest() override { return store->newest(); }
    std::vector<StoredEvent> read(Position after, Position end, Offset most) override {
      return store->read(after, end, most);
    }
    std::vector<StoredEvent> read_user(const std::string& user, Position after) override {
      return store->read_user(user, after);
    }
    Offset count() override { return store->count(); }
    Erased erase(const std::string& user, Microseconds at) override {
      return store->erase(user, at);
    }
    std::vector<Erasure> erasures(Position after) override { return store->erasures(after); }
    Offset compact(Position learned, Microseconds, Microseconds then) override {
      trained = then;
      upto = learned;
      return 0;
    }
  };
  Watched store;
  store.store = open();
  static_cast<void>(store.append({event("ann", "c"), event("bob", "d")}));
  static_cast<void>(fold_events(model_path_, store, {}));
  Updater updater(
      store, {.files = {model_path_}, .every = std::chrono::milliseconds(10), .compact = true},
      [](std::size_t, const FoldReport&) { ADD_FAILURE() << "nothing is new"; },
      [](std::size_t, const std::string& why) { ADD_FAILURE() << why; });
  while (store.upto == 0) std::this_thread::yield();
  EXPECT_EQ(store.upto, 2);
  EXPECT_EQ(store.trained, trained_at(mark_of(load_model(model_path_))));
  EXPECT_GT(store.trained, 0);
}

}  // namespace
}  // namespace likewise::server
