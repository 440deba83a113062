// SPDX-License-Identifier: Apache-2.0
/// Files that do not fit are refused while they are read, with the figures.
#include "data/text/reading_plan.h"

#include <sys/resource.h>

#include <fmt/format.h>

#include "core/system/memory.h"
#include "tests/data/text/read_support.h"

namespace likewise::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr std::uint64_t kPlenty = std::uint64_t{1} << 50;

TEST(ReadingPlan, ExpectsWhatTheRestOfTheFilePromises) {
  EXPECT_EQ(expected_rows({.rows = 1000, .consumed = 0, .total = 0}), 1000);     // a pipe
  EXPECT_EQ(expected_rows({.rows = 1000, .consumed = 50, .total = 50}), 1000);   // the end
  EXPECT_EQ(expected_rows({.rows = 1000, .consumed = 10, .total = 110}), 6000);  // half of 10,000
}

TEST(ReadingPlan, RefusesWhatCannotFit) {
  const RowsSoFar seen{.rows = 1000,
                       .row_bytes = 12,
                       .result_bytes = 8,
                       .id_bytes = 500,
                       .consumed = 10,
                       .total = 110};
  const Offset fill = 5000 * 12 + 500 + 6000 * 8;
  const Offset reserve = 5000 * 12 + 500 + 6000 * 12;
  check_reading_plan(seen, "a.csv", fill, reserve);
  EXPECT_THAT(error_of(ErrorKind::kOutOfMemory,
                       [&] { check_reading_plan(seen, "a.csv", fill - 1, kPlenty); }),
              AllOf(HasSubstr("a.csv: needs at least 106.0 KiB more memory"),
                    HasSubstr("1000 rows so far, 6000 or more expected"),
                    HasSubstr("106.0 KiB are available")));
  EXPECT_THAT(error_of(ErrorKind::kOutOfMemory,
                       [&] { check_reading_plan(seen, "a.csv", kPlenty, reserve - 1); }),
              HasSubstr("129.4 KiB are available"));
}

/// Memory that allows about 4,000 of 100,000 rows.
TEST(ReadingPlan, IsCheckedAlongTheWay) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += fmt::format("{},{},1\n", i % 1000, i / 1000);
  ReadTuning tuning = tiny_blocks(4096);
  tuning.plan_bytes = 12'000;
  tuning.pages = [] { return std::uint64_t{200'000}; };
  for (const bool times : {false, true}) {
    Offset reached = 0;
    const RunControl control{
        nullptr, [&](const ProgressUpdate& update) { reached = std::max(reached, update.done); }};
    const std::string message = error_of(ErrorKind::kOutOfMemory, [&] {
      (void)read_source(memory_source(text), "file.csv", {.keep_times = times}, nullptr, control,
                        tuning);
    });
    EXPECT_THAT(message, AllOf(HasSubstr("file.csv: needs at least"), HasSubstr("rows so far")));
    EXPECT_LT(reached, static_cast<Offset>(text.size()) / 2);  // early
  }
  tuning.pages = [] { return std::uint64_t{4'000'000}; };
  EXPECT_EQ(read_text(text, {}, nullptr, tuning).by_user.nnz(), 100'000);
}

TEST(ReadingPlan, CountsIds) {
  std::string text;
  for (int i = 0; i < 5'000; ++i) text += fmt::format("user {:0>200},item,1\n", i);
  ReadTuning tuning = tiny_blocks(4096);
  tuning.plan_bytes = 12'000;
  tuning.pages = [] { return std::uint64_t{400'000}; };
  EXPECT_THAT(
      error_of(ErrorKind::kOutOfMemory, [&] { (void)read_text(text, {}, nullptr, tuning); }),
      HasSubstr("needs at least"));
}

TEST(AvailableMemory, KnowsLimitsOfTheProcess) {
  for (const auto limit : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit before{};
    ASSERT_EQ(getrlimit(limit, &before), 0);
    constexpr rlim_t kLimit = rlim_t{1} << 47;  // all addresses: a sanitizer reserves many
    if (before.rlim_cur != RLIM_INFINITY) GTEST_SKIP() << "this process has a limit already";
    rlimit lower = before;
    lower.rlim_cur = kLimit;
    ASSERT_EQ(setrlimit(limit, &lower), 0);
    const std::uint64_t available = available_addresses();
    ASSERT_EQ(setrlimit(limit, &before), 0);
    EXPECT_LT(available, kLimit);
    // Other programs may take memory between the two readings, but not at each try.
    bool at_most_pages = false;
    for (int tries = 0; tries < 100 && !at_most_pages; ++tries) {
      at_most_pages = available_memory() <= available_pages();
    }
    EXPECT_TRUE(at_most_pages);
  }
}

}  // namespace
}  // namespace likewise::test
