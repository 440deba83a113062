// SPDX-License-Identifier: Apache-2.0
/// What ranks exchange, and how they end together, whatever they are.
#include <atomic>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backends/distributed/rank_kinds.h"
#include "tests/errors.h"

namespace likewise {
namespace {

using std::chrono::milliseconds;
using test::RankKind;
using test::run_ranks;
using testing::HasSubstr;

constexpr milliseconds kShort(1000);
constexpr milliseconds kLong(20000);

class Ranks : public testing::TestWithParam<std::tuple<RankKind, int>> {
 protected:
  void SetUp() override {
    if (!test::has_ranks(kind())) GTEST_SKIP() << "this machine has no address of the kind";
  }
  [[nodiscard]] static RankKind kind() { return std::get<0>(GetParam()); }
  [[nodiscard]] static int size() { return std::get<1>(GetParam()); }
};

class KindsOfRanks : public testing::TestWithParam<RankKind> {
 protected:
  [[nodiscard]] static RankKind kind() { return GetParam(); }
};

TEST_P(Ranks, GatherPartsOfAnySize) {
  const int size = Ranks::size();
  std::vector<Offset> counts;
  std::vector<int> expected;
  for (int r = 0; r < size; ++r) {
    counts.push_back(r == 1 ? 0 : 2 * r + 1);
    for (Offset i = 0; i < counts.back(); ++i) expected.push_back(100 * r + static_cast<int>(i));
  }
  run_ranks(kind(), size, kLong, {}, [&](Communicator& ranks, const RunControl&) {
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

TEST_P(Ranks, SumsAreInTheOrderOfTheRanks) {
  const int size = Ranks::size();
  for (const std::size_t n : {0, 1, 7, 1000}) {
    std::vector<Offset> counts(static_cast<std::size_t>(size), 0);
    counts.back() = static_cast<Offset>(n / 2);
    counts.front() += static_cast<Offset>(n - n / 2);
    run_ranks(kind(), size, kLong, {}, [&](Communicator& ranks, const RunControl&) {
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

TEST_P(Ranks, ShiftGoesAroundTheRing) {
  const int size = Ranks::size();
  run_ranks(kind(), size, kLong, {}, [&](Communicator& ranks, const RunControl&) {
    for (int distance = 1; distance < size; ++distance) {
      const int from = (ranks.rank() + size - distance) % size;
      const std::vector<int> out(static_cast<std::size_t>(ranks.rank()), ranks.rank());
      std::vector<int> in(static_cast<std::size_t>(from), -1);
      ranks.shift<int>(distance, out, in);
      EXPECT_EQ(in, std::vector<int>(static_cast<std::size_t>(from), from));
    }
  });
}

TEST_P(Ranks, ABarrierWaitsForAll) {
  const int size = Ranks::size();
  std::atomic<int> before{0};
  run_ranks(kind(), size, kLong, {}, [&](Communicator& ranks, const RunControl&) {
    for (int turn = 1; turn <= 50; ++turn) {
      ++before;
      ranks.barrier();
      EXPECT_GE(before.load(), turn * size);
      ranks.barrier();
    }
  });
}

/// What every rank says at its end; "" for one that went through.
[[nodiscard]] std::vector<std::string> ends_of(RankKind kind, int size, milliseconds patience,
                                               const RunControl& control, const RankWork& work) {
  std::vector<std::string> ends(static_cast<std::size_t>(size));
  try {
    run_ranks(kind, size, patience, control, [&](Communicator& ranks, const RunControl& mine) {
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

TEST_P(Ranks, ARankThatThrowsEndsAllWithItsReason) {
  const int size = Ranks::size();
  const int bad = size / 2;
  const auto ends = ends_of(kind(), size, kLong, {}, [&](Communicator& ranks, const RunControl&) {
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

TEST_P(KindsOfRanks, KindsAndOtherExceptionsArePassedOn) {
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
  (void)test::error_of(ErrorKind::kNumerical, [&] { run_ranks(kind(), 3, kLong, {}, work); });
  EXPECT_EQ(numerical, 2);
  EXPECT_THROW(run_ranks(kind(), 2, kLong, {},
                         [](Communicator& ranks, const RunControl&) {
                           if (ranks.rank() == 1) throw std::out_of_range("far");
                           ranks.barrier();
                         }),
               std::out_of_range);
}

TEST_P(Ranks, ARankThatHangsIsNamed) {
  const int size = Ranks::size();
  if (size == 1) GTEST_SKIP() << "nobody waits for it";
  const auto begin = std::chrono::steady_clock::now();
  const auto ends =
      ends_of(kind(), size, kShort, {}, [&](Communicator& ranks, const RunControl& control) {
        if (ranks.rank() == size - 1) hang(control);
        std::vector<double> one{1.0};
        ranks.all_reduce(one);
      });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
  const std::string missing = "rank " + std::to_string(size - 1) + " of " + std::to_string(size) +
                              " did not come to all_reduce within 1 s";
  ASSERT_EQ(std::ssize(ends), size + 1);
  EXPECT_THAT(ends.back(), HasSubstr(missing));
  for (int r = 0; r + 1 < size; ++r) {
    EXPECT_THAT(ends[static_cast<std::size_t>(r)], HasSubstr(missing));
  }
}

TEST_P(KindsOfRanks, AllThatHangAreNamed) {
  const auto ends =
      ends_of(kind(), 4, kShort, {}, [](Communicator& ranks, const RunControl& control) {
        if (ranks.rank() % 2 == 1) hang(control);
        ranks.barrier();
      });
  EXPECT_THAT(ends.back(), HasSubstr("ranks 1, 3 of 4 did not come to barrier"));
}

TEST_P(Ranks, ARankThatLeavesIsNamed) {
  const int size = Ranks::size();
  if (size == 1) GTEST_SKIP() << "nobody waits for it";
  const auto ends = ends_of(kind(), size, kLong, {}, [](Communicator& ranks, const RunControl&) {
    if (ranks.rank() == 0) return;
    ranks.barrier();
  });
  EXPECT_THAT(ends.back(),
              HasSubstr("rank 0 of " + std::to_string(size) + " ended before barrier"));
}

TEST_P(Ranks, AbortEndsAll) {
  const int size = Ranks::size();
  const auto ends =
      ends_of(kind(), size, kLong, {}, [&](Communicator& ranks, const RunControl& control) {
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

TEST_P(Ranks, AWishToStopReachesAll) {
  std::atomic<bool> cancel{false};
  RunControl control;
  control.cancel = &cancel;
  EXPECT_EQ(test::error_of(ErrorKind::kCancelled,
                           [&] {
                             run_ranks(kind(), size(), kLong, control,
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

TEST_P(KindsOfRanks, DifferentCallsAreAnError) {
  const auto ends = ends_of(kind(), 2, kLong, {}, [](Communicator& ranks, const RunControl&) {
    std::vector<double> two(2, 1.0);
    if (ranks.rank() == 0) ranks.barrier();
    ranks.all_reduce(two);
  });
  EXPECT_THAT(ends.back(), testing::AllOf(HasSubstr("barrier"), HasSubstr("all_reduce (2)")));
  const auto sizes = ends_of(kind(), 2, kLong, {}, [](Communicator& ranks, const RunControl&) {
    std::vector<double> some(static_cast<std::size_t>(3 + ranks.rank()), 1.0);
    ranks.all_reduce(some);
  });
  EXPECT_THAT(sizes.back(), testing::AllOf(HasSubstr("(3)"), HasSubstr("(4)")));
}

TEST_P(KindsOfRanks, SizesThatDoNotFitAreAnError) {
  const auto shifted = ends_of(kind(), 3, kLong, {}, [](Communicator& ranks, const RunControl&) {
    const std::vector<int> out(ranks.rank() == 1 ? 5 : 4, 1);
    std::vector<int> in(4);
    ranks.shift<int>(1, out, in);
  });
  EXPECT_THAT(shifted.back(), HasSubstr("rank 1 sends 20 bytes to rank 2, which expects 16"));
  const auto gathered = ends_of(kind(), 2, kLong, {}, [](Communicator& ranks, const RunControl&) {
    const std::vector<int> own(2, 1);
    std::vector<int> all(5);
    ranks.all_gather<int>(own, all, std::vector<Offset>{2, 3});
  });
  EXPECT_THAT(gathered.back(), HasSubstr("rank 1 calls all_gather with 2 numbers of its own"));
}

constexpr RankKind kKinds[] = {RankKind::kThreads, RankKind::kSockets, RankKind::kSockets6};

INSTANTIATE_TEST_SUITE_P(Kinds, Ranks,
                         testing::Combine(testing::ValuesIn(kKinds), testing::Values(1, 2, 3, 5)));
INSTANTIATE_TEST_SUITE_P(Kinds, KindsOfRanks,
                         testing::Values(RankKind::kThreads, RankKind::kSockets));

}  // namespace
}  // namespace likewise
