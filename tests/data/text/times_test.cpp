// SPDX-License-Identifier: Apache-2.0
/// Times: what is read is what is kept and written.
#include "data/text/times.h"

#include <array>
#include <random>

#include <fmt/format.h>

#include "likewise/split.h"
#include "likewise/write.h"
#include "tests/data/text/read_support.h"
#include "tests/support.h"

namespace likewise::test {
namespace {

using testing::HasSubstr;

std::string written(Time time, TimeForm form) {
  std::array<char, kMostTimeChars> text{};
  return {text.data(), put_time(text.data(), time, form)};
}

TEST(Times, AreReadToTheNanosecond) {
  struct Case {
    const char* text;
    Time time;
    TimeForm form;
  };
  const Case kCases[] = {
      {"978300760", Time(978300760), TimeForm::kSeconds},
      {"+5", Time(5), TimeForm::kSeconds},
      {"978300760.9", Time(978300760, 900'000'000), TimeForm::kSeconds},
      {"978300760.123456789", Time(978300760, 123'456'789), TimeForm::kSeconds},
      {"978300760.1234567899", Time(978300760, 123'456'789), TimeForm::kSeconds},
      {"1.25e9", Time(1'250'000'000), TimeForm::kSeconds},
      {"-5", Time(-5), TimeForm::kSeconds},
      {"-5.25", Time(-6, 750'000'000), TimeForm::kSeconds},
      {"-0.5", Time(-1, 500'000'000), TimeForm::kSeconds},
      {"99999999999", Time(99'999'999'999), TimeForm::kSeconds},
      {"978300760123", Time(978300760, 123'000'000), TimeForm::kMilliseconds},
      {"-978300760123", Time(-978300761, 877'000'000), TimeForm::kMilliseconds},
      {"978300760123.25", Time(978300760, 123'250'000), TimeForm::kSeconds},
      {"978300760123456", Time(978300760, 123'456'000), TimeForm::kMicroseconds},
      {"978300760123456789", Time(978300760, 123'456'789), TimeForm::kNanoseconds},
      {"1970-01-01", Time(0), TimeForm::kDate},
      {"0001-01-01", Time(-62'135'596'800), TimeForm::kDate},
      {"9999-12-31", Time(253'402'214'400), TimeForm::kDate},
      {"2000-02-29", Time(951'782'400), TimeForm::kDate},
      {"2009-05-04T23:08:57Z", Time(1'241'478'537), TimeForm::kDateTime},
      {"2009-05-04 23:08:57", Time(1'241'478'537), TimeForm::kDateTime},
      {"2009-05-04T23:08:57.123456+02:00", Time(1'241'471'337, 123'456'000), TimeForm::kDateTime},
      {"2009-05-04T23:08-0130", Time(1'241'483'880), TimeForm::kDateTime},
      {"2009-05-04 23:08:57.5 UTC", Time(1'241'478'537, 500'000'000), TimeForm::kDateTime},
      {"1969-12-31T23:59:59.999999999Z", Time(-1, 999'999'999), TimeForm::kDateTime},
  };
  for (const Case& c : kCases) {
    const auto parsed = parse_time(c.text);
    ASSERT_TRUE(parsed.has_value()) << c.text;
    EXPECT_EQ(parsed->time, c.time) << c.text;
    EXPECT_EQ(parsed->form, c.form) << c.text;
    const auto again = parse_time(written(parsed->time, parsed->form));
    ASSERT_TRUE(again.has_value()) << c.text;
    EXPECT_EQ(again->time, c.time) << c.text;
  }
}

TEST(Times, WhatIsNoneIsNamed) {
  for (const std::string bad : {"2001-02-29",
                                "2001-13-01",
                                "yesterday",
                                "2001-01-01T25:00",
                                "2001-01-01X",
                                "+-5",
                                "--5",
                                "2001-01-01T10:00+",
                                "",
                                "nan",
                                "inf",
                                "2001-1-1",
                                "2001-01-01T10:00:00.",
                                "1e300",
                                "0x10",
                                "10000-01-01",
                                "0000-01-01",
                                "0001-01-01T00:00+01:00",
                                "9999-12-31T23:59-01:00",
                                "9223372036854775808"}) {
    EXPECT_THAT(bad_data("user,item,time\n1,2," + bad + "\n", {.keep_times = true}),
                HasSubstr("file.csv:2: the time '" + bad + "', column 3 (time)"));
  }
}

TEST(Times, MomentsAreNoYearsOrDaysWithoutDashes) {
  for (const char* text : {"2005", "1999", "20050131", "19991231", "200501312359", ""}) {
    EXPECT_FALSE(parse_moment(text)) << text;
  }
  EXPECT_EQ(parse_moment("2005-01-31"), Time(1107129600));
  EXPECT_EQ(parse_moment("86400"), Time(86400));
  EXPECT_EQ(parse_moment("1107129600"), Time(1107129600));
  EXPECT_EQ(parse_moment("10000000"), Time(10000000));
}

TEST(Times, DatesOfDigitsHaveTheirFormat) {
  EXPECT_EQ(format_of_digits("2005"), "%Y");
  EXPECT_EQ(format_of_digits("20050131"), "%Y%m%d");
  EXPECT_EQ(format_of_digits("200501312359"), "%Y%m%d%H%M");
  EXPECT_EQ(format_of_digits("20050131235960"), "%Y%m%d%H%M%S");
  for (const char* text :
       {"", "205", "1899", "2100", "20051301", "20050132", "2005013", "200501312400", "2005-01-31",
        "978300760", "1107129600", "1107129600000"}) {
    EXPECT_EQ(format_of_digits(text), "") << text;
  }
}

TEST(Times, OrderIsThatOfMoments) {
  EXPECT_LT(Time(-1, 999'999'999), Time(0));
  EXPECT_LT(Time(5, 1), Time(5, 2));
  EXPECT_LT(Time(4'294'967'295, 7), Time(4'294'967'296));
  EXPECT_LT(Time(-4'294'967'297), Time(-4'294'967'296));
  EXPECT_GT(Time(0), Time(-62'135'596'800, 5));
}

TEST(Times, WhatWouldNotReadBackInItsFormIsWrittenInAnother) {
  EXPECT_EQ(written(Time(5), TimeForm::kMilliseconds), "5");  // 5000 would be 5000 seconds
  EXPECT_EQ(written(Time(978300760, 5), TimeForm::kMilliseconds), "978300760.000000005");
  EXPECT_EQ(written(Time(253'402'214'400), TimeForm::kSeconds), "9999-12-31T00:00:00Z");
  EXPECT_EQ(written(Time(86'400, 5), TimeForm::kDate), "1970-01-02T00:00:00.000000005Z");
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument,
                       [] { (void)written(Time(1'000'000'000'000), TimeForm::kSeconds); }),
              HasSubstr("1000000000000 seconds since 1970"));
}

TEST(Times, AnyMomentReadsBackInEveryForm) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20'000; ++i) {
    const auto span = std::int64_t{1} << (random() % 38);
    const auto seconds = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(span));
    const std::uint32_t steps[] = {0, 1, 1'000, 1'000'000, 500'000'000};
    const auto nanoseconds = static_cast<std::uint32_t>(random() % 1000) * steps[random() % 5];
    const Time time(random() % 4 == 0 ? std::max(-seconds, std::int64_t{-62'135'596'800}) : seconds,
                    nanoseconds % 1'000'000'000);
    for (int form = 0; form <= static_cast<int>(TimeForm::kDateTime); ++form) {
      const std::string text = written(time, static_cast<TimeForm>(form));
      const auto back = parse_time(text);
      ASSERT_TRUE(back.has_value()) << text;
      ASSERT_EQ(back->time, time) << text;
    }
  }
}

/// The file's rows of `--method last`-like splits, read again, are the rows that were read.
TEST(Times, AreWrittenAsTheyWereRead) {
  const TemporaryFolder folder;
  const std::vector<std::vector<std::string>> kColumns = {
      {"978300760", "5", "-7"},
      {"978300760.25", "978300760.5", "12"},
      {"978300760123", "978300760124", "1478300760000"},
      {"978300760123456", "978300760123457", "978300760000000"},
      {"978300760123456789", "978300760123456790", "978300760000000000"},
      {"2001-02-03", "1969-12-31", "2024-02-29"},
      {"2001-02-03T04:05:06Z", "2001-02-03T04:05:06.000001Z", "1960-01-01T00:00:00.5Z"},
  };
  for (const auto& column : kColumns) {
    std::string text = "user,item,value,time\n";
    for (std::size_t i = 0; i < column.size(); ++i) {
      text += fmt::format("1,{},5,{}\n", i, column[i]);
    }
    const Interactions data = read_text(text, {.keep_times = true});
    write_interactions(data, folder / "a.csv");
    std::string content;
    for_each_line(folder / "a.csv", [&](std::string_view line, Offset) {
      content += line;
      content += '\n';
    });
    EXPECT_EQ(content, text);
  }
  // Several forms in one file: other texts, the same moments.
  const Interactions mixed = read_text(
      "user,item,time\n1,2,978300760123\n1,3,2001-02-03\n1,4,978300760.5\n1,5,9999-12-31\n",
      {.keep_times = true});
  write_interactions(mixed, folder / "b.csv");
  expect_same(read_interactions(folder / "b.csv", {.keep_times = true}), mixed);
}

TEST(Times, PartsOfASecondDecideWhatIsNewest) {
  for (const auto& [older, newer] :
       {std::pair("978300760.25", "978300760.5"), std::pair("978300760123", "978300760124"),
        std::pair("978300760123456", "978300760123457"),
        std::pair("978300760123456788", "978300760123456789"),
        std::pair("2001-02-03T04:05:06.1Z", "2001-02-03T04:05:06.2Z")}) {
    const auto data =
        read_text(fmt::format("user,item,time\n1,7,{}\n1,3,{}\n1,9,{}\n", older, newer, older),
                  {.keep_times = true});
    const auto parts = split(data, {.method = SplitMethod::kLast});
    EXPECT_EQ(cells(parts[0].test), (Cells{{{"1", "3"}, 1.0F}})) << newer;
    const auto by_time = split(data, {.method = SplitMethod::kTime, .test = 0.34});
    EXPECT_EQ(cells(by_time[0].test), (Cells{{{"1", "3"}, 1.0F}})) << newer;
    const auto merged =
        read_text(fmt::format("user,item,value,time\n1,3,5,{}\n1,3,4,{}\n", newer, older),
                  {.duplicates = Duplicates::kMax, .keep_times = true});
    EXPECT_EQ(merged.times[0], parse_time(newer)->time);
  }
}

}  // namespace
}  // namespace likewise::test
