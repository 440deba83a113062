// SPDX-License-Identifier: Apache-2.0
/// What only ranks that are threads do; the rest is in ranks_test.cpp.
#include "backends/distributed/transport/thread_ranks.h"

#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"

namespace likewise {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr milliseconds kTimeLimit(20000);

class ThreadRanks : public testing::TestWithParam<int> {};

/// What every rank says at its end; "" for one that went through.
[[nodiscard]] std::vector<std::string> ends_of(int size, milliseconds patience,
                                               const RunControl& control, const RankWork& work) {
  std::vector<std::string> ends(static_cast<std::size_t>(size));
  try {
    run_thread_ranks(size, patience, control, [&](Communicator& ranks, const RunControl& mine) {
      try {
        work(ranks, mine);
      } catch (const std::exception& error) {
        ends[static_cast<std::size_t>(ranks.rank())] = error.what();
        throw;
      }
    });
  } catch (const std::exception& error) {
    ends.emplace_back(error.what());  // what the caller hears
  }
  return ends;
}

/// Until told to stop, as work does that never ends.
void hang_until_stopped(const RunControl& control) {
  while (true) {
    control.check();
    std::this_thread::sleep_for(milliseconds(1));
  }
}

/// Whoever fails gives up memory that others may just be reading: they must be done first.
/// Sanitizers see it where they are not.
TEST(ThreadRanksEnd, MemoryIsKeptWhileOthersReadIt) {
  for (int turn = 0; turn < 30; ++turn) {
    std::atomic<bool> cancel{false};
    RunControl control;
    control.cancel = &cancel;
    const auto ends = ends_of(3, kTimeLimit, control, [&](Communicator& ranks, const RunControl&) {
      while (true) {
        const std::vector<double> own(20000, 1.0);
        std::vector<double> all(60000);
        ranks.all_gather<double>(own, all, std::vector<Offset>(3, 20000));
        ranks.all_reduce(all);
        cancel = true;
      }
    });
    EXPECT_EQ(ends.back(), "interrupted");
  }
}

/// The threads stay, and the calling one is the first of them; a failure is that of its run alone.
TEST_P(ThreadRanks, WorkTogetherAgainAndAgain) {
  const int size = GetParam();
  RankThreads threads(size);
  std::vector<std::thread::id> first(static_cast<std::size_t>(size));
  for (int run = 0; run < 200; ++run) {
    if (run % 50 == 25) std::this_thread::sleep_for(milliseconds(5));  // they fall asleep
    std::vector<std::thread::id> ids(static_cast<std::size_t>(size));
    std::vector<double> sum{0.0};
    const auto work = [&](Communicator& ranks, const RunControl& control) {
      ids[static_cast<std::size_t>(ranks.rank())] = std::this_thread::get_id();
      if (run % 3 == 1 && ranks.rank() == size - 1) throw Error(ErrorKind::kNumerical, "no");
      if (run % 3 != 1) control.check();
      std::vector<double> mine{ranks.rank() + 1.0};
      ranks.all_reduce(mine);
      if (ranks.rank() == 0) sum = mine;
    };
    std::atomic<bool> cancel{false};
    RunControl control;
    control.cancel = run % 2 == 0 ? nullptr : &cancel;
    if (run % 3 == 1) {
      EXPECT_EQ(
          test::error_of(ErrorKind::kNumerical, [&] { threads.run(kTimeLimit, control, work); }),
          "no");
    } else {
      threads.run(kTimeLimit, control, work);
      EXPECT_EQ(sum.front(), size * (size + 1) / 2.0) << run;
    }
    if (run == 0) first = ids;
    EXPECT_EQ(ids, first) << run;
  }
  EXPECT_EQ(first.front(), std::this_thread::get_id());
}

TEST(ThreadRanksEnd, AWishToStopThatIsThereBeforehandIsHeard) {
  const std::atomic<bool> cancel{true};
  RunControl control;
  control.cancel = &cancel;
  bool begun = false;
  const auto work = [&](Communicator&, const RunControl&) { begun = true; };
  EXPECT_EQ(test::error_of(ErrorKind::kCancelled,
                           [&] { run_thread_ranks(1, kTimeLimit, control, work); }),
            "interrupted");
  EXPECT_FALSE(begun);
}

TEST(ThreadRanksEnd, AWishToStopEndsOneRunOnly) {
  RankThreads threads(2);
  for (int run = 0; run < 3; ++run) {
    std::atomic<bool> cancel{false};
    RunControl control;
    control.cancel = &cancel;
    const auto wait = [&](Communicator&, const RunControl& mine) {
      cancel = true;
      hang_until_stopped(mine);
    };
    EXPECT_EQ(
        test::error_of(ErrorKind::kCancelled, [&] { threads.run(kTimeLimit, control, wait); }),
        "interrupted");
    cancel = false;
    threads.run(kTimeLimit, control, [](Communicator& ranks, const RunControl& mine) {
      mine.check();
      ranks.barrier();
    });
  }
}

TEST(ThreadRanksEnd, NoRankAtAllIsAnError) {
  EXPECT_THAT(
      test::error_of(
          ErrorKind::kInvalidArgument,
          [] { run_thread_ranks(0, kTimeLimit, {}, [](Communicator&, const RunControl&) {}); }),
      HasSubstr("not 0"));
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadRanks, testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace likewise
