// SPDX-License-Identifier: Apache-2.0
/// Cutting into blocks, threads, progress and cancellation: none of them may change the result.
#include <atomic>

#include <fmt/format.h>

#include "likewise/control.h"
#include "tests/data/text/read_support.h"

namespace likewise::test {
namespace {

using testing::HasSubstr;

/// Quoted and plain fields, LF and CRLF, blank lines, duplicates, no line end at the end.
std::string awkward(bool text_ids) {
  std::string text = "user,item,rating,time\n";
  for (int i = 0; i < 400; ++i) {
    const int user = i * 37 % 50;
    const int item = i * 11 % 23;
    text += text_ids && i > 200 ? fmt::format("\"u,{}\",\"\"\"i{}\",{}.5,{}", user, item, i % 5, i)
                                : fmt::format("{},{},{}.5,{}", user, item, i % 5, i);
    text += i % 3 == 0 ? "\r\n" : i % 7 == 0 ? "\n\n" : "\n";
  }
  return text + "9,9,1,1";
}

TEST(ReadBlocks, AnyBlockSizeGivesTheSame) {
  for (const bool text_ids : {false, true}) {
    const std::string text = awkward(text_ids);
    ReadSummary summary;
    const auto whole = read_text(text, {.keep_times = true}, &summary);
    EXPECT_EQ(summary.rows, 401);
    EXPECT_EQ(whole.users.is_integer(), !text_ids);
    for (const std::size_t bytes : {1, 2, 3, 7, 16, 61, 1000}) {
      ReadSummary cut;
      expect_same(read_text(text, {.keep_times = true}, &cut, tiny_blocks(bytes)), whole);
      EXPECT_EQ(cut.rows, summary.rows);
      EXPECT_EQ(cut.duplicates, summary.duplicates);
    }
  }
}

TEST(ReadBlocks, AnyThreadCountGivesTheSame) {
  for (const Duplicates policy : {Duplicates::kSum, Duplicates::kLast, Duplicates::kMax}) {
    const std::string text = awkward(true);
    const auto once = read_text(text, {.duplicates = policy, .keep_times = true});
    for (const int threads : {1, 2, 5}) {
      with_threads(threads, [&] {
        expect_same(
            read_text(text, {.duplicates = policy, .keep_times = true}, nullptr, tiny_blocks(40)),
            once);
      });
    }
  }
}

TEST(ReadBlocks, ManyBucketsGiveTheSameAsOne) {
  // 300,000 rows of 30,000 users fall into several buckets; the order of the file is scrambled.
  std::string text;
  constexpr int kRows = 300000;
  double sum = 0;
  for (int i = 0; i < kRows; ++i) {
    const auto n = static_cast<int>(std::int64_t{i} * 7919 % kRows);
    text += fmt::format("{},{},{}\n", n / 10, n % 10, n % 97);
    sum += n % 97;
  }
  for (const int threads : {1, 5}) {
    with_threads(threads, [&] {
      const auto data = read_text(text, {}, nullptr, {.block_bytes = 20000});
      validate(data.by_user.view(), "result");
      ASSERT_EQ(data.by_user.rows, kRows / 10);
      ASSERT_EQ(data.by_user.nnz(), kRows);
      double total = 0;
      for (Offset at = 0; at < kRows; ++at) {
        ASSERT_EQ(data.by_user.columns[at], at % 10);
        ASSERT_EQ(data.by_user.values[at], static_cast<float>(at % 97));
        total += data.by_user.values[at];
      }
      EXPECT_EQ(total, sum);
    });
  }
}

TEST(ReadBlocks, TheFirstFaultOfTheFileIsReported) {
  std::string text;
  for (int i = 1; i <= 500; ++i) text += i % 100 == 0 ? "1,2,bad\r\n" : "1,2,3\n\n";
  for (const std::size_t bytes : {1, 13, 64, 4096}) {
    for (const int threads : {1, 5}) {
      with_threads(threads, [&] {
        EXPECT_THAT(bad_data(text, {}, tiny_blocks(bytes)),
                    HasSubstr("file.csv:199: the value 'bad'"));
        ReadSummary summary;
        (void)read_text(text, {.on_bad_row = BadRows::kSkip}, &summary, tiny_blocks(bytes));
        EXPECT_THAT(summary.first_bad_row, HasSubstr("file.csv:199: the value 'bad'"));
        EXPECT_EQ(summary.bad_rows, 5);
      });
    }
  }
}

TEST(ReadBlocks, ReportsProgressAndStops) {
  const std::string text = awkward(false);
  std::atomic<bool> cancel{false};
  std::vector<Offset> done;
  RunControl control;
  control.cancel = &cancel;
  control.on_progress = [&](const ProgressUpdate& update) {
    EXPECT_EQ(update.stage, "read");
    EXPECT_EQ(update.total, static_cast<Offset>(text.size()));
    done.push_back(update.done);
  };
  (void)read_source(memory_source(text), "f", {}, nullptr, control, tiny_blocks(500));
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_GT(done.size(), 5U);
  EXPECT_EQ(done.back(), static_cast<Offset>(text.size()));

  control.on_progress = [&](const ProgressUpdate& update) { cancel = update.done > 1000; };
  (void)error_of(ErrorKind::kCancelled, [&] {
    (void)read_source(memory_source(text), "f", {}, nullptr, control, tiny_blocks(500));
  });
}

}  // namespace
}  // namespace likewise::test
