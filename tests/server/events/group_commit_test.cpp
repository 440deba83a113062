// SPDX-License-Identifier: Apache-2.0
#include "server/events/group_commit.h"

#include <atomic>
#include <future>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "tests/server/events/stores.h"

namespace likewise::server {
namespace {

using test::event;

/// Positions from 1, after the gate has opened.
class GatedCommits {
 public:
  explicit GatedCommits(std::shared_future<void> gate)
      : commits_([this, gate](const std::vector<Event>& events) {
          begun_.store(true);
          gate.wait();
          std::vector<Position> positions;
          for (std::size_t e = 0; e < events.size(); ++e) positions.push_back(++last_);
          return positions;
        }) {}
  GroupCommit& commits() { return commits_; }
  void wait_until_begun() const {
    while (!begun_.load()) std::this_thread::yield();
  }
  [[nodiscard]] Position last() const { return last_; }

 private:
  std::atomic<bool> begun_ = false;
  std::atomic<Position> last_ = 0;
  GroupCommit commits_;
};

TEST(GroupCommit, BetweenGroupsAllThatWasCommittedWasHandedOn) {
  std::promise<void> gate;
  std::atomic<int> handed_on = 0;
  GatedCommits gated(gate.get_future().share());
  const auto submit = [&] {
    gated.commits().submit({event("ann", "a"), event("ann", "b")}, [&](const Appended& done) {
      EXPECT_EQ(done.error, nullptr);
      handed_on += static_cast<int>(done.events.size());
    });
  };
  submit();
  gated.wait_until_begun();
  submit();  // the next group
  std::future<Position> seen = std::async(std::launch::async, [&] {
    return gated.commits().between_groups([&] {
      EXPECT_EQ(handed_on, gated.last());
      return gated.last();
    });
  });
  EXPECT_EQ(seen.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  gate.set_value();
  EXPECT_GE(seen.get(), 2);
  EXPECT_EQ(gated.commits().between_groups([&] { return gated.last(); }), 4);
  EXPECT_EQ(handed_on, 4);
}

TEST(GroupCommit, AnErrorOfALookIsTheCallers) {
  GroupCommit commits(
      [](const std::vector<Event>& events) { return std::vector<Position>(events.size(), 1); });
  EXPECT_THROW(static_cast<void>(commits.between_groups(
                   []() -> Position { throw std::runtime_error("no such table"); })),
               std::runtime_error);
  std::promise<void> done;
  commits.submit({event("ann", "a")}, [&](const Appended&) { done.set_value(); });
  done.get_future().get();
}

}  // namespace
}  // namespace likewise::server
