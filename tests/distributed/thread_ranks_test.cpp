// SPDX-License-Identifier: Apache-2.0
/// What ranks exchange, and how they end together.
#include "distributed/thread_ranks.h"

#include <atomic>
#include <chrono>
#include <cmath>
#include <stdexcept>
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

constexpr milliseconds kShort(1000);
constexpr milliseconds kLong(20000);

class ThreadRanks : public testing::TestWithParam<int> {};

TEST_P(ThreadRanks, GatherPartsOfAnySize) {
  const int size = GetParam();
  std::vector<Offset> counts;
  std::vector<int> expected;
  for (int r = 0; r < size; ++r) {
    counts.push_back(r == 1 ? 0 : 2 * r + 1);
    for (Offset i = 0; i < counts.back(); ++i) expected.push_back(100 * r + static_cast<int>(i));
  }
  run_thread_ranks(size, kLong, {}, [&](Communicator& ranks, const RunControl&) {
    ASSERT_EQ(ranks.size(), size);
    std::vector<int> own;
    for (Offset i = 0; i < counts[static_cast<std::size_t>(ranks.rank())]; ++i) {
      own.push_back(100 * ranks.rank() + static_cast<int>(i));
    }
    std::vector<int> all(expected.size(), -1);
    ranks.all_gather<int>(own, all, counts);
    EXPECT_EQ(all, expected);
  });
}

/// Numbers of very different sizes: another order would give other bits.
[[nodiscard]] double number(int rank, std::size_t i) {
  return std::sin(1.0 + 7.0 * rank + static_cast<double>(i)) * std::pow(10.0, (rank * 5 + 3) % 8);
}

[[nodiscard]] double sum_in_order(int size, std::size_t i) {
  double sum = number(0, i);
  for (int r = 1; r < size; ++r) sum += number(r, i);
  return sum;
}

TEST_P(ThreadRanks, SumsAreInTheOrderOfTheRanks) {
  const int size = GetParam();
  for (const std::size_t n : {0, 1, 7, 1000}) {
    std::vector<Offset> counts(static_cast<std::size_t>(size), 0);
    counts.back() = static_cast<Offset>(n / 2);
    counts.front() += static_cast<Offset>(n - n / 2);
    run_thread_ranks(size, kLong, {}, [&](Communicator& ranks, const RunControl&) {
      std::vector<double> mine;
      for (std::size_t i = 0; i < n; ++i) mine.push_back(number(ranks.rank(), i));
      std::vector<double> part(
          static_cast<std::size_t>(counts[static_cast<std::size_t>(ranks.rank())]));
      ranks.reduce_scatter(mine, part, counts);
      const std::size_t first = ranks.rank() == 0 ? 0 : n - part.size();
      for (std::size_t i = 0; i < part.size(); ++i) {
        ASSERT_EQ(part[i], sum_in_order(size, first + i)) << i;
      }
      ranks.all_reduce(mine);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(mine[i], sum_in_order(size, i)) << i;
    });
  }
}

TEST_P(ThreadRanks, ShiftGoesAroundTheRing) {
  const int size = GetParam();
  run_thread_ranks(size, kLong, {}, [&](Communicator& ranks, const RunControl&) {
    for (int distance = 1; distance < size; ++distance) {
      const int from = (ranks.rank() + size - distance) % size;
      const std::vector<int> out(static_cast<std::size_t>(ranks.rank()), ranks.rank());
      std::vector<int> in(static_cast<std::size_t>(from), -1);
      ranks.shift<int>(distance, out, in);
      EXPECT_EQ(in, std::vector<int>(static_cast<std::size_t>(from), from));
    }
  });
}

TEST_P(ThreadRanks, ABarrierWaitsForAll) {
  const int size = GetParam();
  std::atomic<int> before{0};
  run_thread_ranks(size, kLong, {}, [&](Communicator& ranks, const RunControl&) {
    for (int turn = 1; turn <= 50; ++turn) {
      ++before;
      ranks.barrier();
      EXPECT_GE(before.load(), turn * size);
      ranks.barrier();
    }
  });
}

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
void hang(const RunControl& control) {
  while (true) {
    control.check();
    std::this_thread::sleep_for(milliseconds(1));
  }
}

TEST_P(ThreadRanks, ARankThatThrowsEndsAllWithItsReason) {
  const int size = GetParam();
  const int bad = size / 2;
  const auto ends = ends_of(size, kLong, {}, [&](Communicator& ranks, const RunControl&) {
    ranks.barrier();
    if (ranks.rank() == bad) throw Error(ErrorKind::kNumerical, "row 7 is singular");
    std::vector<double> one{1.0};
    ranks.all_reduce(one);
    ranks.barrier();
  });
  ASSERT_EQ(std::ssize(ends), size + 1);
  EXPECT_EQ(ends.back(), "row 7 is singular");
  for (int r = 0; r < size; ++r) {
    if (r == bad) continue;
    EXPECT_EQ(ends[static_cast<std::size_t>(r)], "rank " + std::to_string(bad) + " of " +
                                                     std::to_string(size) + ": row 7 is singular");
  }
}

TEST(ThreadRanksEnd, KindsAndOtherExceptionsArePassedOn) {
  std::atomic<int> numerical{0};
  const auto work = [&](Communicator& ranks, const RunControl&) {
    if (ranks.rank() == 0) throw Error(ErrorKind::kNumerical, "no");
    try {
      ranks.barrier();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kNumerical) ++numerical;
      throw;
    }
  };
  (void)test::error_of(ErrorKind::kNumerical, [&] { run_thread_ranks(3, kLong, {}, work); });
  EXPECT_EQ(numerical, 2);
  EXPECT_THROW(run_thread_ranks(2, kLong, {},
                                [](Communicator& ranks, const RunControl&) {
                                  if (ranks.rank() == 1) throw std::out_of_range("far");
                                  ranks.barrier();
                                }),
               std::out_of_range);
}

TEST_P(ThreadRanks, ARankThatHangsIsNamed) {
  const int size = GetParam();
  if (size == 1) GTEST_SKIP() << "nobody waits for it";
  const auto begin = std::chrono::steady_clock::now();
  const auto ends = ends_of(size, kShort, {}, [&](Communicator& ranks, const RunControl& control) {
    if (ranks.rank() == size - 1) hang(control);
    std::vector<double> one{1.0};
    ranks.all_reduce(one);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  const std::string missing = "rank " + std::to_string(size - 1) + " of " + std::to_string(size) +
                              " did not come to all_reduce within 1 s";
  ASSERT_EQ(std::ssize(ends), size + 1);
  EXPECT_THAT(ends.back(), HasSubstr(missing));
  for (int r = 0; r + 1 < size; ++r) EXPECT_EQ(ends[static_cast<std::size_t>(r)], ends.back());
}

TEST(ThreadRanksEnd, AllThatHangAreNamed) {
  const auto ends = ends_of(4, kShort, {}, [](Communicator& ranks, const RunControl& control) {
    if (ranks.rank() % 2 == 1) hang(control);
    ranks.barrier();
  });
  EXPECT_THAT(ends.back(), HasSubstr("ranks 1, 3 of 4 did not come to barrier"));
}

TEST_P(ThreadRanks, ARankThatLeavesIsNamed) {
  const int size = GetParam();
  if (size == 1) GTEST_SKIP() << "nobody waits for it";
  const auto ends = ends_of(size, kLong, {}, [](Communicator& ranks, const RunControl&) {
    if (ranks.rank() == 0) return;
    ranks.barrier();
  });
  EXPECT_THAT(ends.back(),
              HasSubstr("rank 0 of " + std::to_string(size) + " ended before barrier"));
}

TEST_P(ThreadRanks, AbortEndsAll) {
  const int size = GetParam();
  const auto ends = ends_of(size, kLong, {}, [&](Communicator& ranks, const RunControl& control) {
    if (ranks.rank() == size - 1) ranks.abort("the executor was lost");
    if (ranks.rank() == 0) hang(control);
    ranks.barrier();
  });
  const std::string said = "rank " + std::to_string(size - 1) + " of " + std::to_string(size) +
                           ": the executor was lost";
  EXPECT_EQ(ends.back(), said);
  for (int r = 1; r < size; ++r) EXPECT_EQ(ends[static_cast<std::size_t>(r)], said);
  EXPECT_EQ(ends.front(), "interrupted");
}

TEST_P(ThreadRanks, AWishToStopReachesAll) {
  std::atomic<bool> cancel{false};
  RunControl control;
  control.cancel = &cancel;
  EXPECT_EQ(test::error_of(ErrorKind::kCancelled,
                           [&] {
                             run_thread_ranks(GetParam(), kLong, control,
                                              [&](Communicator& ranks, const RunControl& mine) {
                                                if (ranks.rank() == 0) {
                                                  cancel = true;
                                                  hang(mine);
                                                }
                                                while (true) ranks.barrier();
                                              });
                           }),
            "interrupted");
}

TEST(ThreadRanksEnd, DifferentCallsAreAnError) {
  const auto ends = ends_of(2, kLong, {}, [](Communicator& ranks, const RunControl&) {
    std::vector<double> two(2, 1.0);
    if (ranks.rank() == 0) ranks.barrier();
    ranks.all_reduce(two);
  });
  EXPECT_THAT(ends.back(), testing::AllOf(HasSubstr("barrier"), HasSubstr("all_reduce (2)")));
  const auto sizes = ends_of(2, kLong, {}, [](Communicator& ranks, const RunControl&) {
    std::vector<double> some(static_cast<std::size_t>(3 + ranks.rank()), 1.0);
    ranks.all_reduce(some);
  });
  EXPECT_THAT(sizes.back(), testing::AllOf(HasSubstr("(3)"), HasSubstr("(4)")));
}

TEST(ThreadRanksEnd, SizesThatDoNotFitAreAnError) {
  const auto shifted = ends_of(3, kLong, {}, [](Communicator& ranks, const RunControl&) {
    const std::vector<int> out(ranks.rank() == 1 ? 5 : 4, 1);
    std::vector<int> in(4);
    ranks.shift<int>(1, out, in);
  });
  EXPECT_THAT(shifted.back(), HasSubstr("rank 1 sends 20 bytes to rank 2, which expects 16"));
  const auto gathered = ends_of(2, kLong, {}, [](Communicator& ranks, const RunControl&) {
    const std::vector<int> own(2, 1);
    std::vector<int> all(5);
    ranks.all_gather<int>(own, all, std::vector<Offset>{2, 3});
  });
  EXPECT_THAT(gathered.back(), HasSubstr("rank 1 calls all_gather with 2 numbers of its own"));
}

/// Whoever fails gives up memory that others may just be reading: they must be done first.
/// Sanitizers see it where they are not.
TEST(ThreadRanksEnd, MemoryIsKeptWhileOthersReadIt) {
  for (int turn = 0; turn < 30; ++turn) {
    std::atomic<bool> cancel{false};
    RunControl control;
    control.cancel = &cancel;
    const auto ends = ends_of(3, kLong, control, [&](Communicator& ranks, const RunControl&) {
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
      EXPECT_EQ(test::error_of(ErrorKind::kNumerical, [&] { threads.run(kLong, control, work); }),
                "no");
    } else {
      threads.run(kLong, control, work);
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
  EXPECT_EQ(
      test::error_of(ErrorKind::kCancelled, [&] { run_thread_ranks(1, kLong, control, work); }),
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
      hang(mine);
    };
    EXPECT_EQ(test::error_of(ErrorKind::kCancelled, [&] { threads.run(kLong, control, wait); }),
              "interrupted");
    cancel = false;
    threads.run(kLong, control, [](Communicator& ranks, const RunControl& mine) {
      mine.check();
      ranks.barrier();
    });
  }
}

TEST(ThreadRanksEnd, NoRankAtAllIsAnError) {
  EXPECT_THAT(test::error_of(
                  ErrorKind::kInvalidArgument,
                  [] { run_thread_ranks(0, kLong, {}, [](Communicator&, const RunControl&) {}); }),
              HasSubstr("not 0"));
}

INSTANTIATE_TEST_SUITE_P(Sizes, ThreadRanks, testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace likewise
