// SPDX-License-Identifier: Apache-2.0
/// Rows in memory give what the same rows in a file give.
#include "likewise/make_interactions.h"

#include <cmath>
#include <limits>
#include <random>

#include <fmt/format.h>

#include "likewise/write.h"
#include "tests/data/text/read_support.h"
#include "tests/support.h"

namespace likewise::test {
namespace {

using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::min();

/// Rows as text; what a file and columns of text say of them is the same.
struct TextRows {
  std::vector<std::string> users;
  std::vector<std::string> items;
  std::vector<float> values;
  std::vector<std::int64_t> times;
  bool with_values = true;
  bool with_times = true;

  [[nodiscard]] std::string csv() const {
    std::string text = "user,item";
    if (with_values) text += ",rating";
    if (with_times) text += ",time";
    text += '\n';
    for (std::size_t r = 0; r < users.size(); ++r) {
      append_field(text, users[r], ',');
      text += ',';
      append_field(text, items[r], ',');
      if (with_values) text += fmt::format(",{}", values[r]);
      if (with_times) text += fmt::format(",{}", times[r]);
      text += '\n';
    }
    return text;
  }
  [[nodiscard]] ValueSpan value_span() const {
    return with_values ? std::span(values) : std::span<const float>();
  }
  [[nodiscard]] TimeColumn time_column() const {
    return {with_times ? std::span(times) : std::span<const std::int64_t>(), {}};
  }
};

enum class IdKind { kIntegers, kText, kMixed };

std::string random_id(IdKind kind, std::mt19937_64& random) {
  const auto number = static_cast<std::int64_t>(random() % 30) - 5;
  if (kind == IdKind::kIntegers) return std::to_string(number * 1'000'000'007);
  const char* const kForms[] = {"{}", "0{}", "a{}", " {}", "{},\"x\"", "\xff{}", "\xc3\xa4 {}"};
  const std::size_t forms = kind == IdKind::kMixed ? 7 : 1;
  return fmt::format(fmt::runtime(kForms[random() % forms]), number);
}

TextRows random_rows(IdKind users, IdKind items, double bad, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::bernoulli_distribution is_bad(bad / 4);
  TextRows rows;
  rows.with_values = seed % 5 != 0;
  rows.with_times = seed % 3 != 0;
  const std::int64_t kSizes[] = {1, 1'000, 1'000'000, 1'000'000'000};
  for (int r = 0; r < 400; ++r) {
    rows.users.push_back(is_bad(random) ? "" : random_id(users, random));
    rows.items.push_back(is_bad(random) ? "" : random_id(items, random));
    rows.values.push_back(is_bad(random) ? kNan
                                         : std::ldexp(static_cast<float>(random() % 1000) - 300.0F,
                                                      static_cast<int>(random() % 40) - 20));
    // Odd seeds have one unit, so the file has one form.
    const std::int64_t size = kSizes[seed % 2 == 0 ? random() % 4 : seed % 4];
    const auto second = static_cast<std::int64_t>(1'000'000'000 + random() % 500'000'000);
    const auto part = static_cast<std::int64_t>(random()) % size;
    const std::int64_t time = (random() % 3 == 0 ? -second : second) * size + part;
    rows.times.push_back(is_bad(random) ? kNoTime : time);
  }
  return rows;
}

struct Made {
  std::string error;
  Interactions data;
  ReadSummary summary;
};

template <class Make>
Made made(const Make& make) {
  Made result;
  try {
    result.data = make(&result.summary);
  } catch (const Error& error) {
    result.error = error.what();
  }
  return result;
}

void expect_same_result(const Made& file, const Made& memory) {
  ASSERT_EQ(file.error.empty(), memory.error.empty()) << file.error << " / " << memory.error;
  if (!file.error.empty()) return;
  expect_same_entries(file.data, memory.data);
  EXPECT_EQ(file.data.time_form, memory.data.time_form);
  EXPECT_EQ(file.summary.rows, memory.summary.rows);
  EXPECT_EQ(file.summary.bad_rows, memory.summary.bad_rows);
  EXPECT_EQ(file.summary.first_bad_row.empty(), memory.summary.first_bad_row.empty());
  EXPECT_EQ(file.summary.duplicates, memory.summary.duplicates);
  EXPECT_EQ(file.summary.policy, memory.summary.policy);
  EXPECT_EQ(file.summary.below_min_value, memory.summary.below_min_value);
  EXPECT_EQ(file.summary.below_min_count, memory.summary.below_min_count);
}

/// All ids one after the other, as Arrow has them.
template <class Integer>
struct ArrowText {
  std::vector<Integer> offsets{0};
  std::string bytes;
  explicit ArrowText(const std::vector<std::string>& ids) {
    for (const std::string& id : ids) {
      bytes += id;
      offsets.push_back(static_cast<Integer>(bytes.size()));
    }
  }
  [[nodiscard]] IdColumn column() const { return TextColumn{std::span(offsets), bytes}; }
};

/// Ids as codes into keys that come in any order; some keys come twice, and some are no row's: one
/// of them is no integer, and neither it nor an empty one makes text of the others.
template <class Code>
struct Coded {
  std::vector<std::string> keys;
  std::vector<Code> codes;
  std::vector<std::string_view> views;
  ArrowText<std::int32_t> arrow;

  Coded(const std::vector<std::string>& ids, std::uint64_t seed)
      : keys(shuffled_keys(ids, seed)), views(keys.begin(), keys.end()), arrow(keys) {
    std::mt19937_64 random(seed);
    const auto count = static_cast<Code>(keys.size());
    const auto random_key = [&] { return random() % keys.size(); };
    for (const std::string& id : ids) {
      if (id.empty() && random() % 2 == 0) {
        const Code kMissing[] = {-1, count, std::numeric_limits<Code>::min(),
                                 std::numeric_limits<Code>::max()};
        codes.push_back(kMissing[random() % 4]);
        continue;
      }
      std::size_t at = random_key();  // of two keys that are the same, either
      while (keys[at] != id) at = (at + 1) % keys.size();
      codes.push_back(static_cast<Code>(at));
    }
  }
  [[nodiscard]] IdColumn of_views() const { return EncodedColumn{std::span(codes), views}; }
  [[nodiscard]] IdColumn of_arrow() const {
    return EncodedColumn{std::span(codes), std::get<TextColumn>(arrow.column())};
  }

 private:
  static std::vector<std::string> shuffled_keys(const std::vector<std::string>& ids,
                                                std::uint64_t seed) {
    std::vector<std::string> keys(ids);
    std::ranges::sort(keys);
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    for (std::size_t i = 0, twice = keys.size() / 3; i < twice; ++i) keys.push_back(keys[2 * i]);
    for (const char* unused : {"", "nobody's", "123456789012"}) keys.emplace_back(unused);
    std::ranges::shuffle(keys, std::mt19937_64(seed));
    return keys;
  }
};

std::vector<ReadOptions> all_policies(std::uint64_t seed) {
  std::vector<ReadOptions> all;
  for (const auto duplicates : {Duplicates::kAuto, Duplicates::kSum, Duplicates::kLast,
                                Duplicates::kMax, Duplicates::kError}) {
    for (const BadRows bad : {BadRows::kFail, BadRows::kSkip}) {
      ReadOptions options{.duplicates = duplicates, .on_bad_row = bad};
      all.push_back(options);
      if (seed % 4 != 0) options.min_value = 0.5;
      options.min_user_count = static_cast<Index>(seed % 5);
      options.min_item_count = static_cast<Index>(seed % 7);
      all.push_back(options);
    }
  }
  return all;
}

void compare_with_file(const TextRows& rows, std::uint64_t seed) {
  const std::string csv = rows.csv();
  const std::vector<std::string_view> users(rows.users.begin(), rows.users.end());
  const std::vector<std::string_view> items(rows.items.begin(), rows.items.end());
  const ArrowText<std::int32_t> few_bytes(rows.users);
  const ArrowText<std::int64_t> many_bytes(rows.items);
  const Coded<std::int32_t> user_codes(rows.users, seed);
  const Coded<std::int64_t> item_codes(rows.items, seed + 1);
  for (const ReadOptions& options : all_policies(seed)) {
    ReadOptions of_file = options;
    of_file.keep_times = true;
    const Made file = made([&](ReadSummary* summary) { return read_text(csv, of_file, summary); });
    expect_same_result(file, made([&](ReadSummary* summary) {
                         return make_interactions(std::span(users), std::span(items),
                                                  rows.value_span(), rows.time_column(), options,
                                                  summary);
                       }));
    expect_same_result(file, made([&](ReadSummary* summary) {
                         return make_interactions(few_bytes.column(), many_bytes.column(),
                                                  rows.value_span(), rows.time_column(), options,
                                                  summary);
                       }));
    expect_same_result(file, made([&](ReadSummary* summary) {
                         return make_interactions(user_codes.of_views(), item_codes.of_arrow(),
                                                  rows.value_span(), rows.time_column(), options,
                                                  summary);
                       }));
    expect_same_result(file, made([&](ReadSummary* summary) {
                         return make_interactions(few_bytes.column(), item_codes.of_views(),
                                                  rows.value_span(), rows.time_column(), options,
                                                  summary);
                       }));
  }
}

TEST(MakeInteractions, TextIsWhatAFileOfItIs) {
  const IdKind kKinds[] = {IdKind::kIntegers, IdKind::kText, IdKind::kMixed};
  for (std::uint64_t seed = 0; seed < 36; ++seed) {
    SCOPED_TRACE(seed);
    const double bad = seed % 2 == 0 ? 0.0 : 0.05;
    compare_with_file(random_rows(kKinds[seed % 3], kKinds[seed / 3 % 3], bad, seed), seed);
  }
}

TEST(MakeInteractions, TextThatSpellsIntegersStaysText) {
  const std::vector<std::string> names{"10", "9", "-3", "100", "9"};
  const std::vector<std::string_view> users(names.begin(), names.end());
  const std::vector<std::int64_t> items{3, 2, 1, 0, 5};
  const ArrowText<std::int32_t> arrow(names);
  const Coded<std::int32_t> coded(names, 5);
  for (const IdColumn& column : {IdColumn(std::span<const std::string_view>(users)), arrow.column(),
                                 IdColumn(coded.of_views()), IdColumn(coded.of_arrow())}) {
    const Interactions data = make_interactions(column, std::span<const std::int64_t>(items));
    EXPECT_FALSE(data.users.is_integer());
    EXPECT_TRUE(data.items.is_integer());
    ASSERT_EQ(data.users.size(), 4);
    EXPECT_EQ(data.users.name(0), "-3");  // by value
    EXPECT_EQ(data.users.name(1), "9");
    EXPECT_EQ(data.users.name(3), "100");
    EXPECT_EQ(data.users.find("10"), 2);
    EXPECT_EQ(data.users.find(std::int64_t{10}), 2);
    EXPECT_EQ(data.users.find("010"), std::nullopt);
    const Interactions as_in_files = make_interactions(column, std::span<const std::int64_t>(items),
                                                       {}, {}, {.whole_ids = true});
    EXPECT_TRUE(as_in_files.users.is_integer());
    EXPECT_EQ(as_in_files.users.integers()[0], -3);
  }
}

TEST(MakeInteractions, IntegersAreWhatAFileOfThemIs) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    TextRows rows = random_rows(IdKind::kIntegers, IdKind::kIntegers, 0.0, seed);
    std::vector<std::int64_t> users;
    std::vector<std::int64_t> items;
    std::vector<double> values;
    for (std::size_t r = 0; r < rows.users.size(); ++r) {
      if (seed % 2 == 0 && r % 17 == 0) rows.values[r] = kNan;
      users.push_back(std::stoll(rows.users[r]));
      items.push_back(std::stoll(rows.items[r]));
      values.push_back(rows.values[r]);
    }
    if (!rows.with_values) values.clear();
    // Codes into keys that fall, the smallest of which nobody has.
    std::vector<std::int64_t> keys(users);
    keys.push_back(-std::int64_t{1} << 60);
    std::ranges::sort(keys, std::greater());
    std::vector<std::int32_t> codes;
    for (const std::int64_t user : users) {
      codes.push_back(static_cast<std::int32_t>(std::ranges::find(keys, user) - keys.begin()));
    }
    const EncodedColumn encoded{std::span(codes), std::span<const std::int64_t>(keys)};
    for (const ReadOptions& options : all_policies(seed)) {
      ReadOptions of_file = options;
      of_file.keep_times = true;
      const Made file =
          made([&](ReadSummary* summary) { return read_text(rows.csv(), of_file, summary); });
      for (const IdColumn& of_users :
           {IdColumn(std::span<const std::int64_t>(users)), IdColumn(encoded)}) {
        expect_same_result(file, made([&](ReadSummary* summary) {
                             return make_interactions(of_users,
                                                      std::span<const std::int64_t>(items), values,
                                                      rows.time_column(), options, summary);
                           }));
      }
    }
  }
}

/// Entries in random order with repetitions, as numbers and as sparse rows.
TEST(MakeInteractions, SparseRowsAreWhatTheirEntriesAre) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 30; ++round) {
    const Index rows = 1 + static_cast<Index>(random() % 40);
    const Index cols = 1 + static_cast<Index>(random() % 20);
    std::vector<std::int64_t> offsets{0};
    std::vector<Index> users;
    std::vector<Index> columns;
    std::vector<double> values;
    std::vector<std::int64_t> times;
    for (Index row = 0; row < rows; ++row) {
      const auto count = random() % 3 == 0 ? 0 : random() % 12;
      for (std::uint64_t i = 0; i < count; ++i) {
        users.push_back(row);
        columns.push_back(static_cast<Index>(random() % static_cast<std::uint64_t>(cols + 1)));
        values.push_back(random() % 20 == 0 ? std::nan("") : static_cast<double>(random() % 9) / 2);
        times.push_back(static_cast<std::int64_t>(random() % 1000));
      }
      offsets.push_back(std::ssize(users));
    }
    if (users.empty()) continue;
    const std::vector<std::int32_t> short_offsets(offsets.begin(), offsets.end());
    const std::vector<std::int64_t> long_columns(columns.begin(), columns.end());
    const TimeColumn when{times, TimeForm::kMilliseconds};
    for (const ReadOptions& options : all_policies(static_cast<std::uint64_t>(round))) {
      const Made entries = made([&](ReadSummary* summary) {
        return make_interactions(IndexColumn{std::span(users), rows},
                                 IndexColumn{std::span(columns), cols}, values, when, options,
                                 summary);
      });
      expect_same_result(entries, made([&](ReadSummary* summary) {
                           return make_interactions(CsrColumns{offsets, std::span(columns), cols},
                                                    values, when, options, summary);
                         }));
      expect_same_result(entries, made([&](ReadSummary* summary) {
                           return make_interactions(CsrColumns{short_offsets, long_columns, cols},
                                                    values, when, options, summary);
                         }));
    }
  }
}

TEST(MakeInteractions, IndicesKeepTheirShapeUnlessFiltered) {
  const std::vector<Index> users{4, 0, 4};
  const std::vector<Index> items{1, 1, 6};
  const IndexColumn of_users{std::span(users), 7};
  const IndexColumn of_items{std::span(items), 9};
  const Interactions all = make_interactions(of_users, of_items);
  EXPECT_EQ(all.by_user.rows, 7);
  EXPECT_EQ(all.by_user.cols, 9);
  EXPECT_EQ(cells(all), (Cells{{{"0", "1"}, 1.0F}, {{"4", "1"}, 1.0F}, {{"4", "6"}, 1.0F}}));
  const Interactions some = make_interactions(of_users, of_items, {}, {}, {.min_user_count = 1});
  EXPECT_EQ(cells(some), cells(all));
  EXPECT_EQ(some.users.size(), 2);
  EXPECT_EQ(some.items.size(), 2);
}

TEST(MakeInteractions, DoesNotDependOnThreads) {
  std::mt19937_64 random(3);
  std::vector<std::string> ids;
  std::vector<std::int64_t> items;
  std::vector<float> values;
  for (int r = 0; r < 60'000; ++r) {
    ids.push_back(fmt::format("u{}", random() % 5000));
    items.push_back(static_cast<std::int64_t>(random() % 700));
    values.push_back(r % 14'001 == 14'000 ? kNan : static_cast<float>(random() % 5));
  }
  const ArrowText<std::int64_t> text(ids);
  const Coded<std::int32_t> coded(ids, 4);
  const auto make = [&](int threads, BadRows bad, bool encoded = false) {
    Made result;
    with_threads(threads, [&] {
      result = made([&](ReadSummary* summary) {
        return make_interactions(encoded ? coded.of_arrow() : text.column(),
                                 std::span<const std::int64_t>(items), values, {},
                                 {.duplicates = Duplicates::kSum, .on_bad_row = bad}, summary);
      });
    });
    return result;
  };
  const Made one = make(1, BadRows::kSkip);
  EXPECT_EQ(one.summary.bad_rows, 4);
  for (const int threads : {2, 5}) expect_same_result(one, make(threads, BadRows::kSkip));
  for (const int threads : {1, 2, 5}) {
    expect_same_result(one, make(threads, BadRows::kSkip, true));
  }
  for (const int threads : {1, 2, 5}) {
    EXPECT_THAT(make(threads, BadRows::kFail).error, HasSubstr("position 14000: the value nan"));
  }
}

std::string refused(ErrorKind kind, const IdColumn& users, const IdColumn& items,
                    const ValueSpan& values = {}, const TimeColumn& times = {},
                    const ReadOptions& options = {}) {
  return error_of(kind, [&] { (void)make_interactions(users, items, values, times, options); });
}

const std::vector<std::int64_t> kThree{7, 8, 9};
const IdColumn kIds = std::span(kThree);

TEST(MakeInteractions, BadRowsAreNamed) {
  const auto bad = [](const IdColumn& users, const IdColumn& items, const ValueSpan& values = {},
                      const TimeColumn& times = {}) {
    return refused(ErrorKind::kBadData, users, items, values, times);
  };
  const std::vector<std::string_view> texts{"a", "", "c"};
  const std::vector<Index> indices{1, -2, 3};
  const std::vector<std::int64_t> large{1, 2, std::int64_t{1} << 32};
  const IdColumn hole = std::span(texts);
  EXPECT_EQ(
      bad(hole, kIds),
      "interactions in memory: position 1: the user id is empty; correct the row, or skip bad "
      "rows with on_bad_row skip");
  EXPECT_THAT(bad(kIds, hole), HasSubstr("position 1: the item id is empty"));
  EXPECT_THAT(bad(IndexColumn{indices, 4}, kIds), HasSubstr("the user -2 is not in [0, 4)"));
  EXPECT_THAT(bad(kIds, IndexColumn{large, 3}),
              HasSubstr("position 2: the item 4294967296 is not in [0, 3)"));
  const std::vector<std::int64_t> codes{2, 0, -1};
  const EncodedColumn encoded{codes, std::span<const std::string_view>(texts)};
  EXPECT_EQ(bad(encoded, kIds),
            "interactions in memory: position 2: the user is missing; "
            "correct the row, or skip bad rows with on_bad_row skip");
  EXPECT_THAT(bad(kIds, EncodedColumn{large, std::span(kThree)}),
              HasSubstr("position 2: the item is missing: its code 4294967296 is not in [0, 3)"));
  const std::vector<std::int32_t> to_a_hole{0, 2, 1};
  EXPECT_THAT(bad(EncodedColumn{to_a_hole, std::span<const std::string_view>(texts)}, kIds),
              HasSubstr("position 2: the user id is empty"));
  const std::vector<std::int32_t> nothing(3, -1);
  EXPECT_THAT(refused(ErrorKind::kBadData, EncodedColumn{nothing, std::span(kThree)}, kIds, {}, {},
                      {.on_bad_row = BadRows::kSkip}),
              HasSubstr("all 3 rows are bad"));
  const std::vector<float> values{1, 2, kNan};
  EXPECT_THAT(bad(kIds, kIds, values), HasSubstr("position 2: the value nan is not a finite"));
  const std::vector<double> too_large{1, -1e39, 2};
  EXPECT_THAT(bad(kIds, kIds, too_large),
              HasSubstr("position 1: the value -1e+39 is not a finite"));
  const std::vector<double> too_small{0, 1e-45, -1e-46};
  EXPECT_THAT(bad(kIds, kIds, too_small),
              HasSubstr("position 2: the value -1e-46 is not a finite 32-bit number (0, or from"));
  const std::vector<std::int64_t> times{5, 300'000'000'000, kNoTime};
  EXPECT_THAT(bad(kIds, kIds, {}, {times, TimeForm::kSeconds}),
              HasSubstr("position 1: the time 300000000000 is missing or out of range"));
  EXPECT_THAT(bad(kIds, kIds, {}, {times, {}}),
              HasSubstr("position 2: the time is missing or out of range"));
  const std::vector<float> all(3, kNan);
  EXPECT_THAT(refused(ErrorKind::kBadData, kIds, kIds, all, {}, {.on_bad_row = BadRows::kSkip}),
              HasSubstr("all 3 rows are bad; the first one: interactions in memory: position 0"));
  const std::vector<std::int64_t> twice{1, 1, 2};
  const std::vector<std::int64_t> same{5, 5, 5};
  EXPECT_THAT(refused(ErrorKind::kBadData, std::span(twice), std::span(same), {}, {},
                      {.duplicates = Duplicates::kError}),
              HasSubstr("interactions in memory: several rows hold user '1' and item '5'"));
}

TEST(MakeInteractions, ColumnsThatDoNotFitAreRefused) {
  const auto bad = [](const IdColumn& users, const IdColumn& items, const ValueSpan& values = {},
                      const TimeColumn& times = {}, const ReadOptions& options = {}) {
    return refused(ErrorKind::kInvalidArgument, users, items, values, times, options);
  };
  const std::vector<float> two{1, 2};
  EXPECT_THAT(bad(kIds, std::span(kThree).first(2)), HasSubstr("there are 3 users for 2 items"));
  const std::vector<std::int32_t> one_code{0};
  EXPECT_THAT(bad(kIds, EncodedColumn{one_code, std::span(kThree)}),
              HasSubstr("there are 3 users for 1 items"));
  EXPECT_THAT(bad(kIds, kIds, two), HasSubstr("there are 2 values for 3 users and items"));
  EXPECT_THAT(bad(kIds, kIds, {}, {std::span(kThree).first(1), {}}),
              HasSubstr("there are 1 times"));
  EXPECT_THAT(bad(kIds, kIds, {}, {kThree, TimeForm::kDate}), HasSubstr("times are numbers"));
  EXPECT_THAT(bad(IndexColumn{kThree, -1}, kIds), HasSubstr("users: the count is -1"));
  EXPECT_THAT(bad(kIds, kIds, {}, {}, {.values = Values::kRequired}),
              HasSubstr("values are needed"));
  for (const ReadOptions& options :
       {ReadOptions{.columns = {"1", "2"}}, ReadOptions{.delimiter = ","},
        ReadOptions{.header = Header::kNo}, ReadOptions{.values = Values::kUnused},
        ReadOptions{.keep_times = true}, ReadOptions{.format = Format::kAdjacency}}) {
    EXPECT_THAT(bad(kIds, kIds, {}, {}, options), HasSubstr("is an option of files"));
  }
  EXPECT_THAT(bad(kIds, kIds, {}, {}, {.min_user_count = -1}), HasSubstr("min_user_count must be"));
  const std::vector<std::int64_t> none;
  EXPECT_THAT(refused(ErrorKind::kBadData, std::span(none), std::span(none)), HasSubstr("no rows"));
}

TEST(MakeInteractions, BrokenOffsetsAreRefused) {
  const std::string bytes = "abcdef";
  const auto text = [&](std::vector<std::int32_t> offsets) {
    return refused(ErrorKind::kInvalidArgument, TextColumn{std::span(offsets), bytes}, kIds);
  };
  EXPECT_THAT(text({0, 2, 1, 3}), HasSubstr("users: offset 2 is 1, less than the 2 before it"));
  const std::vector<std::int32_t> codes{0, 0, 0};
  const std::vector<std::int64_t> falling{0, 4, 2};
  EXPECT_THAT(refused(ErrorKind::kInvalidArgument,
                      EncodedColumn{std::span(codes), TextColumn{std::span(falling), bytes}}, kIds),
              HasSubstr("users: offset 2 is 2, less than the 4 before it"));
  EXPECT_THAT(text({-1, 2, 2, 3}), HasSubstr("users: the first offset is -1"));
  EXPECT_THAT(text({0, 2, 4, 7}), HasSubstr("the last offset is 7, but there are only 6"));
  const auto rows = [&](std::vector<std::int64_t> offsets) {
    const std::vector<Index> columns{0, 1, 0};
    return error_of(ErrorKind::kInvalidArgument, [&] {
      (void)make_interactions(CsrColumns{offsets, columns, 2});
    });
  };
  EXPECT_THAT(rows({}), HasSubstr("there are no offsets"));
  EXPECT_THAT(rows({0, 3, 2, 3}), HasSubstr("offset 2 is 2, less than the 3 before it"));
  EXPECT_THAT(rows({0, 4}), HasSubstr("the last offset is 4, but there are only 3"));
  EXPECT_THAT(rows({0, 2}), HasSubstr("the offsets go from 0 to 2, but the columns from 0 to 3"));
  EXPECT_THAT(rows({1, 3}), HasSubstr("the offsets go from 1 to 3"));
}

TEST(MakeInteractions, CanBeStoppedAndFollowed) {
  std::atomic<bool> cancel{true};
  const RunControl stopped{&cancel, {}};
  EXPECT_THAT(error_of(ErrorKind::kCancelled,
                       [&] { (void)make_interactions(kIds, kIds, {}, {}, {}, nullptr, stopped); }),
              HasSubstr("interrupted"));
  Offset done = 0;
  const RunControl followed{nullptr, [&](const ProgressUpdate& update) { done = update.done; }};
  ReadSummary summary;
  (void)make_interactions(kIds, kIds, {}, {kThree, {}}, {}, &summary, followed);
  EXPECT_EQ(done, 3);
  EXPECT_EQ(summary.format, "memory");
  EXPECT_EQ(summary.columns, (std::vector<std::string>{"users", "items", "", "times"}));
}

}  // namespace
}  // namespace likewise::test
