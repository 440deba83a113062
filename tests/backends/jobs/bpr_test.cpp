// SPDX-License-Identifier: Apache-2.0
/// BPR: the reference against calculus, the CPU against the reference, and what it learns.
#include "algorithms/bpr/bpr.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <set>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/task_arena.h>

#include "algorithms/bpr/cells.h"
#include "algorithms/iteration_run.h"
#include "backends/cuda/host/bpr_work.h"
#include "backends/jobs/device_jobs.h"
#include "core/random.h"
#include "likewise/bpr.h"
#include "likewise/device.h"
#include "likewise/error.h"
#include "likewise/matrix.h"
#include "tests/backends/device_test.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise::bpr_test {
namespace {

using testing::HasSubstr;

/// Users and items of two camps, which like their own five times as often as the other's.
CsrMatrix camps(Index users = 400, Index items = 200) {
  CounterRandom random(7, kStreamSynthetic, 0);
  std::vector<test::Entry> likes;
  for (Index u = 0; u < users; ++u) {
    for (Index i = 0; i < items; ++i) {
      const bool same = u % 2 == i % 2;
      if (random.uniform() < (same ? 0.15 : 0.03)) likes.push_back({u, i, 1.0F});
    }
  }
  return test::make_csr(users, items, likes);
}

BprParams small() {
  BprParams params;
  params.factors = 12;
  params.iterations = 6;
  return params;
}

void expect_near(const Factors& a, const Factors& b, double tolerance) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    ASSERT_EQ(a.side(side).rows(), b.side(side).rows());
    for (Index r = 0; r < a.side(side).rows(); ++r) {
      for (Index j = 0; j < a.side(side).cols(); ++j) {
        ASSERT_NEAR(a.side(side).row(r)[j], b.side(side).row(r)[j], tolerance) << "row " << r;
      }
    }
  }
  ASSERT_EQ(a.item_bias.size(), b.item_bias.size());
  for (Offset i = 0; i < a.item_bias.size(); ++i) {
    ASSERT_NEAR(a.item_bias[i], b.item_bias[i], tolerance);
  }
}

/// The loss of one user, who likes item 0 and not item 1.
double loss_of(const Factors& f, double lambda) {
  double margin = double{f.item_bias[0]} - double{f.item_bias[1]};
  double squares = double{f.item_bias[0]} * double{f.item_bias[0]} +
                   double{f.item_bias[1]} * double{f.item_bias[1]};
  for (Index c = 0; c < f.users.cols(); ++c) {
    const double x = f.users.row(0)[c];
    const double i = f.items.row(0)[c];
    const double j = f.items.row(1)[c];
    margin += x * (i - j);
    squares += x * x + i * i + j * j;
  }
  return std::log1p(std::exp(-margin)) + 0.5 * lambda * squares;
}

/// By finite differences.
TEST(Bpr, AStepIsAgainstTheGradient) {
  BprParams p;
  p.factors = 3;
  p.regularization = 0.3;
  p.learning_rate = 1e-3;
  const std::vector<test::Entry> cells{{0, 0, 1.0F}};
  const CsrMatrix m = test::make_csr(1, 2, cells);
  Factors start{Matrix(1, 3), Matrix(2, 3), {}, Array<float>(2), 0.0F};
  for (Index c = 0; c < 3; ++c) {
    start.users.row(0)[c] = 0.4F - 0.3F * static_cast<float>(c);
    start.items.row(0)[c] = 0.2F * static_cast<float>(c);
    start.items.row(1)[c] = 0.5F - 0.1F * static_cast<float>(c);
  }
  start.item_bias[0] = -0.2F;
  start.item_bias[1] = 0.6F;
  for (const char* device : {"reference", "cpu"}) {
    SCOPED_TRACE(device);
    const auto solver = job<BprJob>(open_device(device)).make_solver(m.view(), p, start.clone());
    EXPECT_NEAR(solver->epoch(1, {}), loss_of(start, 0.0), 1e-6);
    const Factors moved = solver->factors().clone();
    const auto check = [&](const std::function<const float&(const Factors&)>& at) {
      constexpr double kStep = 1e-2;
      Factors up = start.clone();
      Factors down = start.clone();
      const_cast<float&>(at(up)) += static_cast<float>(kStep);
      const_cast<float&>(at(down)) -= static_cast<float>(kStep);
      const double slope =
          (loss_of(up, 0.3) - loss_of(down, 0.3)) / (double{at(up)} - double{at(down)});
      EXPECT_NEAR((double{at(moved)} - double{at(start)}) / p.learning_rate, -slope, 1e-3);
    };
    for (Index c = 0; c < 3; ++c) {
      check([&](const Factors& f) -> const float& { return f.users.row(0)[c]; });
      for (const Index i : {0, 1}) {
        check([&](const Factors& f) -> const float& { return f.items.row(i)[c]; });
      }
    }
    for (const Offset i : {0, 1}) {
      check([&](const Factors& f) -> const float& { return f.item_bias[i]; });
    }
  }
}

/// Of every width: in registers, and longer ones.
TEST(Bpr, EqualsTheReference) {
  const CsrMatrix m = camps();
  for (const BprNegatives negatives : {BprNegatives::kUniform, BprNegatives::kPopular}) {
    for (const int factors : {1, 12, 16, 40, 64, 90, 128, 150}) {
      SCOPED_TRACE(fmt::format("{} factors", factors));
      BprParams p = small();
      p.factors = factors;
      p.iterations = 3;
      p.negatives = negatives;
      p.biases = factors != 16;
      if (factors == 40) p.liked_draws = BprLikedDraws::kSkip;
      const IterationResult expected = train_bpr(m.view(), p, open_device("reference"));
      const IterationResult found = train_bpr(m.view(), p, open_device("cpu"));
      expect_near(found.factors, expected.factors, 2e-5);
      for (std::size_t t = 0; t < found.iterations.size(); ++t) {
        const double want = expected.iterations[t].objective;
        EXPECT_NEAR(found.iterations[t].objective, want, 1e-5 * want);
      }
    }
  }
}

TEST(Bpr, DoesNotDependOnThreads) {
  const CsrMatrix m = camps(900, 700);
  const auto with = [&](std::size_t threads) {
    const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, threads);
    tbb::task_arena arena(static_cast<int>(threads));
    return arena.execute([&] { return train_bpr(m.view(), small(), open_device("cpu")); });
  };
  const IterationResult one = with(1);
  for (const std::size_t threads : {2, 7}) {
    const IterationResult many = with(threads);
    expect_near(many.factors, one.factors, 0.0);
    EXPECT_EQ(many.iterations.back().objective, one.iterations.back().objective);
  }
}

TEST(Bpr, GoesOnWhereItWas) {
  const CsrMatrix m = camps();
  BprParams p = small();
  const IterationResult whole = train_bpr(m.view(), p, open_device("cpu"));
  p.iterations = 2;
  const IterationResult part = train_bpr(m.view(), p, open_device("cpu"));
  p.iterations = 6;
  IterationRun rest;
  rest.start = &part.factors;
  rest.completed_iterations = 2;
  rest.history = part.iterations;
  expect_near(train_bpr(m.view(), p, open_device("cpu"), rest).factors, whole.factors, 0.0);
}

/// A user's camp is ranked above the other one.
void expect_camps(const Factors& f, double share) {
  Offset right = 0;
  Offset all = 0;
  for (Index u = 0; u < f.users.rows(); ++u) {
    for (Index i = 0; i + 1 < f.items.rows(); i += 2) {
      const auto score = [&](Index item) {
        return f.item_bias[item] + std::inner_product(f.users.row_span(u).begin(),
                                                      f.users.row_span(u).end(),
                                                      f.items.row_span(item).begin(), 0.0F);
      };
      ++all;
      right += (score(i) > score(i + 1)) == (u % 2 == 0) ? 1 : 0;
    }
  }
  EXPECT_GT(static_cast<double>(right), share * static_cast<double>(all));
}

TEST(Bpr, RanksWhatWasPlanted) {
  BprParams p = small();
  p.factors = 4;
  p.iterations = 60;
  p.regularization = 0.05;
  const IterationResult result = train_bpr(camps().view(), p, open_device("cpu"));
  EXPECT_LT(result.iterations.back().objective, 0.8 * result.iterations.front().objective);
  expect_camps(result.factors, 0.9);
}

#ifndef LIKEWISE_PLAIN_THREADS
TEST(Bpr, RacingRanksItToo) {
  BprParams p = small();
  p.factors = 4;
  p.iterations = 60;
  p.regularization = 0.05;
  const double ordered =
      train_bpr(camps().view(), p, open_device("cpu")).iterations.back().objective;
  p.order = BprOrder::kRacing;
  const IterationResult result = train_bpr(camps().view(), p, open_device("cpu"));
  EXPECT_NEAR(result.iterations.back().objective, ordered, 0.05 * ordered);
  expect_camps(result.factors, 0.9);
}
#endif

/// On a GPU, which has the racing order only. Its matrices are larger: groups that race are many.
class BprOnGpu : public test::DeviceTest<int> {
 protected:
  static BprParams racing() {
    BprParams p = small();
    p.factors = GetParam();
    p.order = BprOrder::kRacing;
    p.regularization = 0.05;
    return p;
  }
};

/// Each way to draw negatives, in either precision: the ranking is learned, and the loss ends where
/// that of the ordered training does.
TEST_P(BprOnGpu, RanksWhatWasPlanted) {
  const CsrMatrix m = camps(3000, 600);
  for (const BprNegatives negatives : {BprNegatives::kUniform, BprNegatives::kPopular}) {
    for (const BprLikedDraws draws : {BprLikedDraws::kRedraw, BprLikedDraws::kSkip}) {
      for (const SgdPrecision precision : {SgdPrecision::kFp16, SgdPrecision::kFp32}) {
        SCOPED_TRACE(fmt::format("{} {} {}", int(negatives), int(draws), int(precision)));
        BprParams p = racing();
        p.iterations = 30;
        p.negatives = negatives;
        p.liked_draws = draws;
        BprParams ordered = p;
        ordered.order = BprOrder::kBlocked;
        const double wanted =
            train_bpr(m.view(), ordered, open_device("cpu")).iterations.back().objective;
        p.precision = precision;
        const IterationResult result = train_bpr(m.view(), p, device());
        EXPECT_NEAR(result.iterations.back().objective, wanted, 0.1 * wanted);
        expect_camps(result.factors, 0.9);
      }
    }
  }
}

/// Likes that are part of more: what only the whole knows is no negative, and items that stay do.
TEST_P(BprOnGpu, KnowsTheWhole) {
  const CsrMatrix all = camps(300, 40);
  std::vector<test::Entry> kept;
  for (Index u = 0; u < all.rows; ++u) {
    const auto items = all.view().row_columns(u);
    for (const Index i : items) {
      if (i < 20) kept.push_back({u, i, 1.0F});
    }
  }
  const CsrMatrix part = test::make_csr(all.rows, all.cols, kept);
  std::vector<test::Entry> everything;  // but item 39, the only negative that is left
  for (Index u = 0; u < all.rows; ++u) {
    for (Index i = 0; i < 39; ++i) everything.push_back({u, i, 1.0F});
  }
  const CsrMatrix known = test::make_csr(all.rows, all.cols, everything);
  const CsrView known_view = known.view();
  const std::vector<Offset> counts(40, 100);
  for (const BprNegatives negatives : {BprNegatives::kUniform, BprNegatives::kPopular}) {
    BprParams p = racing();
    p.negatives = negatives;
    p.regularization = 0.0;
    p.precision = SgdPrecision::kFp32;
    Factors start;
    start.users =
        draw_rows(entry_counts(known_view, Side::kUsers), p.factors, 0.1, 1, kStreamUserFactors);
    start.items =
        draw_rows(entry_counts(known_view, Side::kItems), p.factors, 0.1, 1, kStreamItemFactors);
    for (float& x : start.items.row_span(39)) x = 0.1F;
    start.item_bias = Array<float>(40);
    std::vector<std::uint8_t> changes(40, 1);
    changes[3] = 0;
    const Factors before = start.clone();
    const auto solver = job<BprJob>(device()).make_solver(part.view(), p, std::move(start),
                                                          {&known_view, counts, changes});
    (void)solver->epoch(1, {});
    const Factors& after = solver->factors();
    for (Index i = 0; i < 40; ++i) {
      const bool moves = (i < 20 && i != 3) || i == 39;
      EXPECT_EQ(after.item_bias[i] != 0.0F, moves) << "item " << i;
      EXPECT_EQ(std::ranges::equal(after.items.row_span(i), before.items.row_span(i)), !moves)
          << "item " << i;
    }
    EXPECT_LT(after.item_bias[39], 0.0F);
  }
}

TEST_P(BprOnGpu, RefusesWhatItCannot) {
  const auto refused = [&](const BprParams& p) {
    return test::error_of(ErrorKind::kInvalidArgument,
                          [&] { (void)train_bpr(camps().view(), p, device()); });
  };
  EXPECT_THAT(refused(small()), HasSubstr("order racing"));
  BprParams p = racing();
  p.factors = 1025;
  EXPECT_THAT(refused(p), HasSubstr("up to 1024"));
}

INSTANTIATE_TEST_SUITE_P(Cuda, BprOnGpu, testing::Values(5, 64, 200));

/// Tasks of a GPU have every like once.
TEST(GpuBprWork, HasEveryLikeOnce) {
  const CsrMatrix m = camps();
  std::vector<int> seen(static_cast<std::size_t>(m.nnz()));
  for (const BprTask& task : bpr_tasks(m.view())) {
    EXPECT_GE(task.count, 1);
    EXPECT_LE(task.count, kBprTask);
    EXPECT_GE(task.begin, m.offsets[task.user]);
    EXPECT_LE(task.begin + task.count, m.offsets[task.user + 1]);
    for (Index at = 0; at < task.count; ++at) ++seen[static_cast<std::size_t>(task.begin + at)];
  }
  EXPECT_THAT(seen, testing::Each(1));
}

TEST(GpuBprWork, AnOrderHasEveryTurnOnce) {
  CounterRandom random(3, kStreamSynthetic, 0);
  std::set<Index> firsts;
  for (const Index count : {1, 2, 30, 97, 1000}) {
    const TurnOrder order(count, random);
    std::set<Index> seen;
    for (Index turn = 0; turn < count; ++turn) seen.insert(order.at(turn));
    EXPECT_EQ(std::ssize(seen), count);
    EXPECT_GE(*seen.begin(), 0);
    EXPECT_LT(*seen.rbegin(), count);
    firsts.insert(order.at(count - 1));
  }
  EXPECT_GT(firsts.size(), 2U);
}

TEST(GpuBprPlan, SaysWhatDoesNotFit) {
  const SgdShape shape{1'000'000, 100'000, 300'000'000};
  BprParams p;
  p.factors = 128;
  EXPECT_LE(plan_gpu_bpr(shape, p, 2, Offset{64} << 30).total, Offset{64} << 30);
  EXPECT_THAT(test::error_of(ErrorKind::kOutOfMemory,
                             [&] { (void)plan_gpu_bpr(shape, p, 2, Offset{1} << 30); }),
              AllOf(HasSubstr("likes by user"), HasSubstr("use fewer factors")));
}

TEST(Bpr, RefusesWhatCannotBeRanked) {
  const auto refused = [](const CsrMatrix& m) {
    return test::error_of(ErrorKind::kBadData,
                          [&] { (void)train_bpr(m.view(), small(), open_device("cpu")); });
  };
  const std::vector<test::Entry> everything{{0, 0, 1.0F}, {0, 1, 2.0F}};
  EXPECT_THAT(refused(test::make_csr(1, 2, everything)), HasSubstr("no user has both"));
  const std::vector<test::Entry> dislikes{{0, 0, -1.0F}, {1, 1, 0.0F}};
  EXPECT_THAT(refused(test::make_csr(2, 3, dislikes)), HasSubstr("values above 0"));
  BprParams p = small();
  p.learning_rate = 1e12;
  EXPECT_THAT(test::error_of(ErrorKind::kNumerical,
                             [&] { (void)train_bpr(camps().view(), p, open_device("cpu")); }),
              HasSubstr("smaller learning_rate"));
  p.feedback = Feedback::kExplicit;
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument, [&] { p.validate(); }),
              HasSubstr("feedback must be implicit"));
}

/// Values of 0 or less are no likes, and such cells may be drawn as negatives.
TEST(Bpr, LearnsFromLikesAlone) {
  const CsrMatrix likes = camps();
  std::vector<test::Entry> cells;
  CounterRandom random(1, kStreamSynthetic, 1);
  for (Index u = 0; u < likes.rows; ++u) {
    const std::span<const Index> columns = likes.view().row_columns(u);
    for (Index i = 0; i < likes.cols; ++i) {
      const bool liked = std::ranges::binary_search(columns, i);
      if (liked || random.uniform() < 0.2) cells.push_back({u, i, liked ? 2.0F : -1.0F});
    }
  }
  const CsrMatrix both = test::make_csr(likes.rows, likes.cols, cells);
  expect_near(train_bpr(both.view(), small(), open_device("cpu")).factors,
              train_bpr(likes.view(), small(), open_device("cpu")).factors, 0.0);
}

/// Known likes are never drawn, and all else is.
TEST(Bpr, NegativesAreWhatIsNotKnown) {
  const std::vector<SgdEntry> known{{0, 3, 1.0F}, {0, 5, 1.0F}, {0, 9, 1.0F}};
  CounterRandom random(1, kStreamBprNegatives, 0);
  std::set<Index> drawn;
  for (int time = 0; time < 500; ++time) {
    const Index item = draw_negative({2, 10}, known, random);
    ASSERT_GE(item, 2);
    ASSERT_LT(item, 10);
    drawn.insert(item);
  }
  EXPECT_EQ(drawn, (std::set<Index>{2, 4, 6, 7, 8}));
  const std::vector<Offset> counts{0, 0, 3, 1, 0, 1, 0, 0};  // of items 2 to 9
  const PopularItems popular(2, counts);
  Offset fours = 0;
  for (int time = 0; time < 4000; ++time) {
    const Index item = draw_negative({2, 10, &popular}, known, random);
    ASSERT_TRUE(item == 4 || item == 7);
    fours += item == 4 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(fours), 3000.0, 150.0);
  EXPECT_EQ(draw_negative({3, 4}, known, random), -1);
  // With one try each, a known item is drawn in 4 of 5 cases.
  const std::vector<Offset> mostly_known{0, 1, 1, 1, 0, 0, 0, 2};
  const PopularItems five(2, mostly_known);
  Offset without = 0;
  for (int time = 0; time < 4000; ++time) {
    const Index item = draw_negative({2, 10, &five, 1}, known, random);
    ASSERT_TRUE(item == 4 || item == -1);
    without += item == -1 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(without), 3200.0, 150.0);
}

/// Every place of the table is as likely as another: over an even grid of random numbers each item
/// comes as often as it is liked.
TEST(Bpr, PopularItemsComeAsOftenAsTheyAreLiked) {
  for (const std::vector<Offset>& counts :
       {std::vector<Offset>{5}, {1, 1, 1}, {0, 7, 0, 1}, {1000, 1, 3, 0, 250, 250, 496}}) {
    const PopularItems popular(10, counts);
    const Offset all = std::accumulate(counts.begin(), counts.end(), Offset{0});
    std::vector<Offset> drawn(counts.size());
    constexpr Offset kPlaces = 1 << 9;  // upper bits choose the place, lower ones the alias
    constexpr Offset kShares = 1 << 11;
    for (Offset place = 0; place < kPlaces; ++place) {
      for (Offset share = 0; share < kShares; ++share) {
        const auto random =
            (static_cast<std::uint64_t>(place) << 55U) | (static_cast<std::uint64_t>(share) << 21U);
        ++drawn[static_cast<std::size_t>(popular.item(random) - 10)];
      }
    }
    for (std::size_t at = 0; at < counts.size(); ++at) {
      const double want = static_cast<double>(counts[at]) / static_cast<double>(all);
      EXPECT_NEAR(static_cast<double>(drawn[at]) / (kPlaces * kShares), want, 0.004) << at;
      EXPECT_EQ(drawn[at] == 0, counts[at] == 0) << at;
    }
  }
  EXPECT_TRUE(PopularItems(0, std::vector<Offset>{0, 0}).empty());
}

/// A like whose draw is liked too takes no step: with popular negatives where all likes are of one
/// user, that is each of them.
TEST(Bpr, LikedDrawsAreDrawnAgainOrSkipped) {
  std::vector<test::Entry> likes;
  for (Index i = 0; i < 6; ++i) likes.push_back({0, i, 1.0F});
  likes.push_back({1, 6, 1.0F});
  const CsrMatrix m = test::make_csr(2, 8, likes);
  for (const char* device : {"reference", "cpu"}) {
    std::vector<double> losses;
    for (const BprLikedDraws draws : {BprLikedDraws::kRedraw, BprLikedDraws::kSkip}) {
      BprParams p = small();
      p.negatives = BprNegatives::kPopular;
      p.liked_draws = draws;
      p.learning_rate = 1e-9;
      p.iterations = 200;
      const IterationResult result = train_bpr(m.view(), p, open_device(device));
      double sum = 0.0;
      for (const Iteration& one : result.iterations) sum += one.objective / std::log(2.0);
      losses.push_back(sum / 200.0);  // steps an epoch: factors near 0 have a loss of log 2 each
    }
    // User 0 finds item 6 in 1 of 7 draws, user 1 another item in 6 of 7.
    EXPECT_NEAR(losses[0], 7.0, 0.1) << device;
    EXPECT_NEAR(losses[1], 6.0 / 7.0 + 6.0 / 7.0, 0.25) << device;
  }
}

/// Users with five likes each, a third of whom has the hit, which makes up `1 / 15` of all likes.
CsrMatrix with_a_hit() {
  CounterRandom random(3, kStreamSynthetic, 0);
  std::vector<test::Entry> likes;
  for (Index u = 0; u < 960; ++u) {
    std::set<Index> items;
    if (u % 3 == 0) items.insert(0);
    while (items.size() < 5) items.insert(1 + static_cast<Index>(random.below(639)));
    for (const Index i : items) likes.push_back({u, i, 1.0F});
  }
  return test::make_csr(960, 640, likes);
}

/// How often each item is drawn in so many epochs, of the cells of all of them. Factors stay near
/// 0, so a step moves both biases by half a rate.
std::vector<double> draws_of(const CsrMatrix& m, BprParams p, const char* device) {
  p.factors = 1;
  p.regularization = 0.0;
  p.learning_rate = 1e-7;
  p.init_stddev = 1e-6;
  const IterationResult result = train_bpr(m.view(), p, open_device(device));
  double steps = 0.0;
  for (const Iteration& one : result.iterations) steps += one.objective / std::log(2.0);
  EXPECT_NEAR(steps, static_cast<double>(p.iterations) * static_cast<double>(m.nnz()),
              1e-3 * steps);  // no like goes without
  const std::vector<Offset> likes = entry_counts(m.view(), Side::kItems);
  std::vector<double> drawn;
  for (std::size_t i = 0; i < likes.size(); ++i) {
    drawn.push_back(static_cast<double>(likes[i]) -
                    2.0 * double{result.factors.item_bias[static_cast<Offset>(i)]} /
                        (p.learning_rate * p.iterations));
  }
  return drawn;
}

/// Also where one item has more likes than a stripe.
TEST(Bpr, UniformNegativesAreUniform) {
  const CsrMatrix m = with_a_hit();
  BprParams p;
  p.iterations = 64;
  for (const char* device : {"reference", "cpu"}) {
    const std::vector<double> drawn = draws_of(m, p, device);
    // 640 users without the hit draw it for each of 5 likes as one of 635 items.
    EXPECT_NEAR(drawn[0], 640.0 * 5.0 / 635.0, 1.0) << device;
    for (std::size_t i = 1; i < drawn.size(); ++i) {
      // 64 epochs have a standard deviation of 0.35. Nothing is drawn that nobody likes.
      if (drawn[i] != 0.0) {
        EXPECT_NEAR(drawn[i], 7.5, 2.5) << i;
      }
    }
  }
}

TEST(Bpr, PopularNegativesAreDrawnAsOftenAsTheyAreLiked) {
  const CsrMatrix m = with_a_hit();
  BprParams p;
  p.iterations = 64;
  p.negatives = BprNegatives::kPopular;
  for (const char* device : {"reference", "cpu"}) {
    const double of_hit = draws_of(m, p, device)[0];
    // 3200 likes of users without it draw it in about 1 of 15 cases.
    EXPECT_NEAR(of_hit, 3200.0 / 15.0, 15.0) << device;
  }
}

TEST(Bpr, StripesAreAlike) {
  const CsrMatrix m = with_a_hit();
  BprParams p;
  const SgdGrid uniform = make_bpr_grid(m.view(), p, {});
  EXPECT_EQ(uniform.stripes, 32);
  for (std::size_t q = 0; q < 32; ++q) {
    EXPECT_EQ(uniform.items.begin[q + 1] - uniform.items.begin[q], 20);
  }
  p.negatives = BprNegatives::kPopular;
  const SgdGrid popular = make_bpr_grid(m.view(), p, {});
  EXPECT_EQ(popular.stripes, 6);  // of 800 likes each, the hit has 320
  for (std::size_t q = 0; q < 6; ++q) {
    Offset likes = 0;
    for (Index at = popular.items.begin[q]; at < popular.items.begin[q + 1]; ++at) {
      likes += popular.items.count[at];
    }
    EXPECT_NEAR(static_cast<double>(likes), 800.0, 8.0);
  }
  for (const Side side : {Side::kUsers, Side::kItems}) {  // each row once
    const SgdSide& rows = side == Side::kUsers ? popular.users : popular.items;
    std::vector<Index> sorted(rows.row.begin(), rows.row.end());
    std::ranges::sort(sorted);
    for (std::size_t at = 0; at < sorted.size(); ++at)
      EXPECT_EQ(sorted[at], static_cast<Index>(at));
  }
  // Growing: what is drawn follows the likes of the whole.
  std::vector<Offset> whole(640, 1);
  whole[5] = 640;
  EXPECT_EQ(make_bpr_grid(m.view(), p, whole).stripes, 1);
}

/// With factors that know the camps, nearly all likes are hits but those of the other camp.
TEST(Bpr, HitsAreLikesAboveADrawnItem) {
  const std::vector<test::Entry> cells{{0, 0, 1.0F}, {0, 1, 1.0F}, {0, 2, -1.0F}, {1, 3, 1.0F}};
  const CsrMatrix m = test::make_csr(2, 4, cells);
  Factors f{Matrix(2, 1), Matrix(4, 1), {}, Array<float>(4), 0.0F};
  for (Index u = 0; u < 2; ++u) f.users.row(u)[0] = 1.0F;
  const float scores[] = {3.0F, 1.0F, 2.0F, 0.0F};
  for (Index i = 0; i < 4; ++i) {
    f.items.row(i)[0] = scores[i] / 2.0F;
    f.item_bias[i] = scores[i] / 2.0F;
  }
  BprParams p;
  Offset correct = 0;
  for (int epoch = 1; epoch <= 4000; ++epoch) {
    const BprHits hits = sample_hits(m.view(), f, p, epoch);
    ASSERT_EQ(hits.skipped, 0);
    correct += hits.correct;
  }
  // User 0 meets items 2 and 3: item 0 is above both, item 1 above one. User 1's like is last.
  EXPECT_NEAR(static_cast<double>(correct), 6000.0, 150.0);
  p.negatives = BprNegatives::kPopular;
  p.liked_draws = BprLikedDraws::kSkip;
  BprHits all;
  for (int epoch = 1; epoch <= 3000; ++epoch) {
    const BprHits hits = sample_hits(m.view(), f, p, epoch);
    all.correct += hits.correct;
    all.skipped += hits.skipped;
  }
  // Of items 0, 1 and 3: user 0 goes without in 2 of 3 draws, user 1 in 1 of 3.
  EXPECT_NEAR(static_cast<double>(all.skipped), 5000.0, 150.0);
  EXPECT_NEAR(static_cast<double>(all.correct), 2000.0, 150.0);
}

/// Over as many epochs as stripes each meets each once, and in an epoch none is in two pairs.
TEST(StripePairs, EachMeetsEachOnce) {
  for (const Index stripes : {1, 2, 4, 16, 34}) {
    std::set<std::pair<Index, Index>> met;
    for (int epoch = 1; epoch <= stripes; ++epoch) {
      std::vector<int> uses(static_cast<std::size_t>(stripes));
      for (const StripePair& pair : stripe_pairs(stripes, epoch)) {
        ++uses[static_cast<std::size_t>(pair.first)];
        if (pair.second != pair.first) ++uses[static_cast<std::size_t>(pair.second)];
        EXPECT_TRUE(met.insert(std::minmax(pair.first, pair.second)).second);
      }
      EXPECT_THAT(uses, testing::Each(1)) << "epoch " << epoch << " of " << stripes;
    }
    EXPECT_EQ(std::ssize(met), std::ptrdiff_t{stripes} * (stripes + 1) / 2);
  }
}

}  // namespace
}  // namespace likewise::bpr_test
