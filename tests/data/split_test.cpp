// SPDX-License-Identifier: Apache-2.0
#include "likewise/split.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "likewise/control.h"
#include "tests/data/text/read_support.h"
#include "tests/support.h"

namespace likewise::test {
namespace {

using testing::HasSubstr;

/// 60 users; user u has u interactions, with few different times, so that ties are common.
Interactions example() {
  std::string text = "user,item,value,time\n";
  for (int u = 1; u <= 60; ++u) {
    for (int i = 0; i < u; ++i)
      text += fmt::format("{},{},{},{}\n", u, i * 7 % 61, i + 1, i * u % 13);
  }
  return read_text(text, {.keep_times = true});
}

std::string error_from(const Interactions& all, const SplitOptions& options) {
  return error_of(ErrorKind::kInvalidArgument, [&] { (void)split(all, options); });
}

/// The parts are disjoint, together the whole, and of the same shape.
void expect_partition(const Interactions& all, const Split& parts) {
  Cells both = cells(parts.train);
  const Cells test = cells(parts.test);
  EXPECT_EQ(both.size() + test.size(), static_cast<std::size_t>(all.by_user.nnz()));
  both.insert(test.begin(), test.end());
  EXPECT_EQ(both, cells(all));
  for (const Interactions* part : {&parts.train, &parts.test}) {
    EXPECT_EQ(part->users.size(), all.users.size());
    EXPECT_EQ(part->items.size(), all.items.size());
    EXPECT_EQ(part->has_times(), all.has_times());
  }
}

TEST(Split, RandomTakesTheExactShare) {
  const Interactions all = example();
  for (const double share : {0.001, 0.2, 0.5, 0.999}) {
    const auto parts = split(all, {.test = share});
    ASSERT_EQ(parts.size(), 1U);
    expect_partition(all, parts[0]);
    EXPECT_EQ(parts[0].test.by_user.nnz(),
              std::llround(share * static_cast<double>(all.by_user.nnz())));
  }
}

TEST(Split, RandomIsSpreadOverUsers) {
  const auto parts = split(example(), {.test = 0.5});
  Offset first_half = 0;
  for (Index user = 0; user < 42; ++user) first_half += parts[0].test.by_user.view().row_size(user);
  EXPECT_NEAR(static_cast<double>(first_half), 42 * 43 / 4.0,
              70.0);  // 5 standard deviations of 451.5
}

TEST(Split, SeedsDiffer) {
  const Interactions all = example();
  const auto cells_of = [&](std::uint64_t seed) {
    return cells(split(all, {.seed = seed})[0].test);
  };
  EXPECT_EQ(cells_of(1), cells_of(1));
  EXPECT_NE(cells_of(1), cells_of(2));
}

TEST(Split, PerUserTakesAShareOfEveryUser) {
  const Interactions all = example();
  for (const double share : {0.01, 0.2, 0.5, 0.99}) {
    const auto parts = split(all, {.method = SplitMethod::kPerUser, .test = share});
    ASSERT_EQ(parts.size(), 1U);
    expect_partition(all, parts[0]);
    for (Index user = 0; user < 60; ++user) {
      const auto own = std::max<Index>(1, std::llround(share * (user + 1)));
      EXPECT_EQ(parts[0].test.by_user.view().row_size(user), std::min(own, user));
    }
  }
}

TEST(Split, PerUserTakesSoManyRowsOfEveryUserWithMore) {
  const Interactions all = example();
  for (const Index rows : {1, 5}) {
    const auto parts = split(all, {.method = SplitMethod::kPerUser, .rows = rows});
    expect_partition(all, parts[0]);
    for (Index user = 0; user < 60; ++user) {
      EXPECT_EQ(parts[0].test.by_user.view().row_size(user), user + 1 <= rows ? 0 : rows);
    }
  }
}

TEST(Split, PerUserDraws) {
  // One of four rows, 2000 times: each place about 500 times (standard deviation 19).
  std::string text;
  for (int u = 0; u < 2000; ++u) {
    for (int i = 0; i < 4; ++i) text += fmt::format("{},{}\n", u, i);
  }
  const Interactions all = read_text(text);
  std::vector<int> drawn(4);
  const auto parts = split(all, {.method = SplitMethod::kPerUser, .rows = 1});
  for (const Index item : parts[0].test.by_user.columns) ++drawn[static_cast<std::size_t>(item)];
  for (const int count : drawn) EXPECT_NEAR(count, 500, 100);
  const auto cells_of = [&](std::uint64_t seed) {
    return cells(split(all, {.method = SplitMethod::kPerUser, .seed = seed})[0].test);
  };
  EXPECT_EQ(cells_of(1), cells_of(1));
  EXPECT_NE(cells_of(1), cells_of(2));
}

TEST(Split, PerUserNamesWhatCannotBe) {
  const Interactions all = example();
  EXPECT_THAT(error_from(all, {.method = SplitMethod::kPerUser, .test = 1.0}), HasSubstr("(0, 1)"));
  const Interactions ones = read_text("a,x\nb,y\nc,x\n");
  EXPECT_THAT(
      error_from(ones, {.method = SplitMethod::kPerUser, .test = 0.2}),
      testing::AllOf(HasSubstr("test 0.2: no user has enough"), HasSubstr("method random draws")));
  EXPECT_THAT(error_from(all, {.method = SplitMethod::kPerUser, .rows = -1}),
              HasSubstr("rows = -1"));
  EXPECT_THAT(error_from(all, {.method = SplitMethod::kPerUser, .rows = 60}),
              HasSubstr("rows = 60"));
  EXPECT_THAT(error_from(all, {.rows = 2}), HasSubstr("per-user"));
}

TEST(Split, LastTakesTheNewestOfEveryUser) {
  const Interactions all = example();
  for (const Index last : {1, 3}) {
    const auto parts = split(all, {.method = SplitMethod::kLast, .last = last});
    expect_partition(all, parts[0]);
    const auto train_times = times(parts[0].train);
    std::map<std::string, std::int64_t> newest_train;
    for (const auto& [cell, time] : train_times) {
      auto& newest = newest_train.emplace(cell.first, time).first->second;
      newest = std::max(newest, time);
    }
    for (const auto& [cell, time] : times(parts[0].test))
      EXPECT_GE(time, newest_train.at(cell.first));
    for (Index user = 0; user < 60; ++user) {
      EXPECT_EQ(parts[0].test.by_user.view().row_size(user), user + 1 <= last ? 0 : last);
    }
  }
}

/// Of four rows, three are equally new: each is held out of about 667 of 2000 users (standard
/// deviation 21), the older one never.
TEST(Split, LastDrawsAmongEquallyNewOnes) {
  std::string text = "user,item,time\n";
  for (int u = 0; u < 2000; ++u) {
    for (int i = 0; i < 4; ++i) text += fmt::format("{},{},{}\n", u, i, i == 3 ? 4 : 5);
  }
  const auto all = read_text(text, {.keep_times = true});
  const auto tested = [&](std::uint64_t seed) {
    return cells(split(all, {.method = SplitMethod::kLast, .seed = seed})[0].test);
  };
  std::map<std::string, int> drawn;
  for (const auto& [cell, value] : tested(42)) ++drawn[cell.second];
  EXPECT_EQ(drawn.count("3"), 0U);
  for (const char* item : {"0", "1", "2"}) EXPECT_NEAR(drawn[item], 667, 110) << item;
  EXPECT_EQ(tested(1), tested(1));
  EXPECT_NE(tested(1), tested(2));
  const auto three = split(all, {.method = SplitMethod::kLast, .last = 3});
  EXPECT_EQ(three[0].test.by_user.nnz(), 6000);
  for (const auto& [cell, value] : cells(three[0].test)) EXPECT_NE(cell.second, "3");
}

TEST(Split, TimeCutsOnce) {
  const Interactions all = example();
  for (const double share : {0.01, 0.3, 0.99}) {
    const auto parts = split(all, {.method = SplitMethod::kTime, .test = share});
    expect_partition(all, parts[0]);
    EXPECT_EQ(parts[0].test.by_user.nnz(),
              std::llround(share * static_cast<double>(all.by_user.nnz())));
    EXPECT_LE(*std::max_element(parts[0].train.times.begin(), parts[0].train.times.end()),
              *std::min_element(parts[0].test.times.begin(), parts[0].test.times.end()));
  }
}

TEST(Split, FoldsCoverEverythingOnce) {
  const Interactions all = example();
  for (const int folds : {2, 7, 100}) {
    const auto parts = split(all, {.method = SplitMethod::kKFold, .folds = folds});
    ASSERT_EQ(parts.size(), static_cast<std::size_t>(folds));
    Cells seen;
    for (const Split& fold : parts) {
      const Cells test = cells(fold.test);
      const auto least = static_cast<std::size_t>(all.by_user.nnz() / folds);
      EXPECT_TRUE(test.size() == least || test.size() == least + 1) << test.size();
      for (const auto& cell : test) EXPECT_TRUE(seen.insert(cell).second);
      if (folds == 7) expect_partition(all, fold);
    }
    EXPECT_EQ(seen, cells(all));
  }
  const SplitOptions options{.method = SplitMethod::kKFold, .folds = 7};
  expect_same(split_fold(all, options, 3).test, split(all, options)[3].test);
}

TEST(Split, DoesNotDependOnThreads) {
  const Interactions all = example();
  for (const SplitMethod method : {SplitMethod::kRandom, SplitMethod::kLast, SplitMethod::kTime,
                                   SplitMethod::kKFold, SplitMethod::kPerUser}) {
    const auto once = split(all, {.method = method});
    for (const int threads : {1, 2, 5}) {
      with_threads(threads, [&] {
        const auto again = split(all, {.method = method});
        for (std::size_t i = 0; i < once.size(); ++i) expect_same(again[i].test, once[i].test);
      });
    }
  }
}

TEST(Split, NamesWhatIsWrong) {
  const Interactions all = example();
  for (const double share : {0.0, 1.0, -1.0, std::nan("")}) {
    EXPECT_THAT(error_from(all, {.test = share}), HasSubstr("test must be in (0, 1)"));
  }
  EXPECT_THAT(error_from(all, {.method = SplitMethod::kLast, .last = 0}),
              HasSubstr("last must be"));
  EXPECT_THAT(error_from(all, {.method = SplitMethod::kLast, .last = 99}),
              HasSubstr("no user has more"));
  EXPECT_THAT(error_from(all, {.method = SplitMethod::kKFold, .folds = 1}),
              HasSubstr("folds must be in [2, 1000]"));
  EXPECT_THAT(error_from(all, {.test = 1e-9}), HasSubstr("leaves the test part empty"));
  EXPECT_THAT(error_from(all, {.test = 1 - 1e-9}), HasSubstr("leaves the training part empty"));
  const Interactions timeless = read_text("1,2,3\n4,5,6\n");
  for (const SplitMethod method : {SplitMethod::kLast, SplitMethod::kTime}) {
    EXPECT_THAT(error_from(timeless, {.method = method}), HasSubstr("needs times"));
  }
  EXPECT_THAT(error_from(timeless, {.method = SplitMethod::kKFold}),
              HasSubstr("only 2 interactions"));
  EXPECT_THAT(error_from(Interactions{}, {}), HasSubstr("empty"));
}

TEST(Split, OfRealDataIsExact) {
  const auto data = data_folder();
  LIKEWISE_NEEDS_DATA(data);
  const auto all = read_interactions((data / "ml-100k/u.data").string(), {.keep_times = true});
  EXPECT_EQ(split(all, {})[0].test.by_user.nnz(), 20000);
  EXPECT_EQ(split(all, {.method = SplitMethod::kLast})[0].test.by_user.nnz(), 943);
  EXPECT_EQ(split(all, {.method = SplitMethod::kTime})[0].test.by_user.nnz(), 20000);
}

}  // namespace
}  // namespace likewise::test
