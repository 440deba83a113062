// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "likewise/error.h"
#include "likewise/read.h"
#include "likewise/synthetic.h"
#include "likewise/write.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::content;
using test::Entry;
using test::make_csr;

/// Plain and gzip: zlib reads both.
std::string unpacked(const std::string& path) {
  if (path.ends_with(".zst")) {
    const std::string packed = content(path);
    std::string text(std::size_t{1} << 24, '\0');
    const std::size_t n = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
    if (ZSTD_isError(n)) throw std::runtime_error(ZSTD_getErrorName(n));
    return text.substr(0, n);
  }
  const gzFile file = gzopen(path.c_str(), "rb");
  std::string text(std::size_t{1} << 24, '\0');
  text.resize(static_cast<std::size_t>(gzread(file, text.data(), 1 << 24)));
  gzclose(file);
  return text;
}

/// Records of fields, by the letter of RFC 4180.
std::vector<std::vector<std::string>> parse(const std::string& text, char delimiter) {
  std::vector<std::vector<std::string>> records{{""}};
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    std::string& field = records.back().back();
    if (quoted) {
      if (text[i] != '"') {
        field += text[i];
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        field += text[++i];
      } else {
        quoted = false;
      }
    } else if (text[i] == '"') {
      quoted = true;
    } else if (text[i] == delimiter) {
      records.back().emplace_back();
    } else if (text[i] == '\n') {
      records.push_back({""});
    } else {
      field += text[i];
    }
  }
  records.pop_back();  // the last line ends in a line break
  return records;
}

Interactions with_ids(std::vector<std::string> users, std::vector<std::string> items,
                      std::span<const Entry> entries) {
  const auto rows = static_cast<Index>(users.size());
  const auto cols = static_cast<Index>(items.size());
  return {IdMap::from_text(users), IdMap::from_text(items), make_csr(rows, cols, entries), {}};
}

void expect_round_trip(const Interactions& data, const std::string& path, char delimiter) {
  write_interactions(data, path);
  const auto records = parse(unpacked(path), delimiter);
  const CsrView m = data.by_user.view();
  ASSERT_EQ(static_cast<Offset>(records.size()), m.nnz() + 1);
  const std::size_t fields = data.has_times() ? 4 : 3;
  ASSERT_EQ(records[0].size(), fields);
  std::size_t at = 1;
  for (Index row = 0; row < m.rows; ++row) {
    for (Offset i = m.offsets[row]; i < m.offsets[row + 1]; ++i, ++at) {
      ASSERT_EQ(records[at].size(), fields);
      ASSERT_EQ(records[at][0], data.users.name(row));
      ASSERT_EQ(records[at][1], data.items.name(m.columns[i]));
      ASSERT_EQ(std::stof(records[at][2]), m.values[i]);
      if (data.has_times()) {
        ASSERT_EQ(std::stoll(records[at][3]), data.times[i].seconds());
      }
    }
  }
}

TEST(WriteInteractions, TheTextIsThis) {
  const test::TemporaryFolder folder;
  const std::array entries{Entry{0, 1, 5.0F}, Entry{1, 0, 0.5F}, Entry{1, 1, 1e10F},
                           Entry{1, 2, -2.0F}};
  Interactions data{IdMap::range(2), IdMap::range(3), make_csr(2, 3, entries), {}};
  write_interactions(data, folder / "a.csv");
  EXPECT_EQ(content(folder / "a.csv"), "user,item,value\n0,1,5\n1,0,0.5\n1,1,1e+10\n1,2,-2\n");
  write_interactions(data, folder / "a.mtx");
  EXPECT_EQ(content(folder / "a.mtx"),
            "%%MatrixMarket matrix coordinate real general\n2 3 4\n1 2 5\n2 1 0.5\n2 2 1e+10\n"
            "2 3 -2\n");
  const std::array times{Time(0), Time(1'700'000'000), Time(-5), Time(9, 250'000'000)};
  data.times = Array<Time>::copy_of(times);
  write_interactions(data, folder / "a.tsv");
  EXPECT_EQ(content(folder / "a.tsv"),
            "user\titem\tvalue\ttime\n0\t1\t5\t0\n1\t0\t0.5\t1700000000\n1\t1\t1e+10\t-5\n"
            "1\t2\t-2\t9.25\n");
}

TEST(WriteInteractions, AwkwardIdsComeBack) {
  const test::TemporaryFolder folder;
  const std::array entries{Entry{0, 0, 1.0F}, Entry{1, 1, 1.25F}, Entry{2, 2, 3.0F},
                           Entry{3, 3, 16777216.0F}, Entry{4, 4, 0.1F}};
  const Interactions data = with_ids({"a,b", "say \"so\"", "two\nlines", "tab\tbed", "Zo\xC3\xAB"},
                                     {"", "\"", "plain name", ",", "\r\n"}, entries);
  expect_round_trip(data, folder / "a.csv", ',');
  // No line breaks between tabs.
  expect_round_trip(with_ids({"a,b", "say \"so\"", "one\rline", "tab\tbed", "Zo\xC3\xAB"},
                             {"", "\"", "plain name", ",", "\r"}, entries),
                    folder / "a.tsv", '\t');
}

TEST(WriteInteractions, ValuesComeBackToTheBit) {
  const test::TemporaryFolder folder;
  const std::vector<float> values{0.0F,  -0.0F,     1.0F / 3.0F, 9.0F,
                                  10.0F, 1e-45F,    3.4e38F,     -1e-5F,
                                  9.5F,  123456.0F, 16777217.0F, 1.17549435e-38F};
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < values.size(); ++i) entries.push_back({0, Index(i), values[i]});
  const auto size = static_cast<Index>(values.size());
  const Interactions data{IdMap::range(1), IdMap::range(size), make_csr(1, size, entries), {}};
  write_interactions(data, folder / "v.csv");
  const auto records = parse(content(folder / "v.csv"), ',');
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(std::strtof(records[i + 1][2].c_str(), nullptr)),
              std::bit_cast<std::uint32_t>(values[i]))
        << records[i + 1][2];
  }
}

TEST(WriteInteractions, EveryFormatOverManyBlocks) {
  const test::TemporaryFolder folder;
  Interactions data = generate(parse_shape("3000x400x200k"));  // four blocks, the last not full
  for (const char* name : {"a.csv", "a.csv.gz", "a.csv.zst", "noextension"}) {
    expect_round_trip(data, folder / name, ',');
  }
  expect_round_trip(data, folder / "a.tsv.gz", '\t');
  data.times = Array<Time>(data.by_user.nnz());
  for (Offset i = 0; i < data.times.size(); ++i) data.times[i] = Time(1'600'000'000 + i);
  expect_round_trip(data, folder / "a.tsv", '\t');
}

TEST(WriteInteractions, TheReaderGivesItBack) {
  const test::TemporaryFolder folder;
  const Interactions demo = generate(parse_shape("demo"));  // text ids, some beyond ASCII
  for (const char* name : {"a.csv", "a.tsv.gz", "a.csv.zst"}) {
    write_interactions(demo, folder / name);
    const Interactions back = read_interactions(folder / name);
    EXPECT_TRUE(std::ranges::equal(back.users.chars(), demo.users.chars()));
    EXPECT_TRUE(std::ranges::equal(back.items.chars(), demo.items.chars()));
    EXPECT_TRUE(std::ranges::equal(back.by_user.offsets, demo.by_user.offsets));
    EXPECT_TRUE(std::ranges::equal(back.by_user.columns, demo.by_user.columns));
    EXPECT_TRUE(std::ranges::equal(back.by_user.values, demo.by_user.values));
  }
}

TEST(WriteInteractions, MatrixMarketHoldsPositions) {
  const test::TemporaryFolder folder;
  const Interactions data = generate(parse_shape("300x40x2000"));
  write_interactions(data, folder / "a.mtx.gz");
  std::istringstream text(unpacked(folder / "a.mtx.gz"));
  std::string banner;
  std::getline(text, banner);
  Offset rows = 0, cols = 0, nnz = 0;
  text >> rows >> cols >> nnz;
  EXPECT_EQ(rows, 300);
  EXPECT_EQ(cols, 40);
  ASSERT_EQ(nnz, 2000);
  std::vector<Entry> entries(2000);
  for (Entry& e : entries) {
    text >> e.row >> e.col >> e.value;
    --e.row;
    --e.col;
  }
  const CsrMatrix back = make_csr(300, 40, entries);
  EXPECT_TRUE(std::ranges::equal(back.columns, data.by_user.columns));
  EXPECT_TRUE(std::ranges::equal(back.values, data.by_user.values));
}

TEST(WriteInteractions, EmptyDataAndEmptyRows) {
  const test::TemporaryFolder folder;
  const Interactions none{IdMap::range(0), IdMap::range(0), make_csr(0, 0, {}), {}};
  write_interactions(none, folder / "none.csv");
  EXPECT_EQ(content(folder / "none.csv"), "user,item,value\n");
  write_interactions(none, folder / "none.mtx");
  EXPECT_EQ(content(folder / "none.mtx"), "%%MatrixMarket matrix coordinate real general\n0 0 0\n");
  const std::array entries{Entry{2, 1, 1.0F}, Entry{5, 0, 1.0F}};
  const Interactions gaps{IdMap::range(8), IdMap::range(2), make_csr(8, 2, entries), {}};
  write_interactions(gaps, folder / "gaps.csv");
  EXPECT_EQ(content(folder / "gaps.csv"), "user,item,value\n2,1,1\n5,0,1\n");
}

TEST(WriteInteractions, FailuresLeaveTheOldFile) {
  const test::TemporaryFolder folder;
  const Interactions data = generate(parse_shape("3000x400x200k"));
  const Interactions small = generate(parse_shape("3x4x5"));
  write_interactions(small, folder / "a.csv");
  const std::string old = content(folder / "a.csv");
  std::atomic<bool> cancel{false};
  const RunControl control{&cancel, [&](const ProgressUpdate&) { cancel = true; }};
  EXPECT_THROW(write_interactions(data, folder / "a.csv", control), Error);
  EXPECT_EQ(content(folder / "a.csv"), old);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / ""), {}), 1);
  EXPECT_THROW(write_interactions(data, "/dev/full"), Error);
  Interactions torn = generate(parse_shape("3x4x5"));
  torn.users = IdMap::range(2);
  EXPECT_THROW(write_interactions(torn, folder / "b.csv"), Error);
}

TEST(WriteInteractions, AnExtensionThatIsNotKnownIsRefused) {
  const test::TemporaryFolder folder;
  const std::array entries{test::Entry{0, 0, 1.0F}};
  const Interactions data{IdMap::range(1), IdMap::range(1), test::make_csr(1, 1, entries), {}};
  for (const char* name : {"a.parquet", "a.json", "a.xlsx", "a.jsonl", "a.CSV", "a.csv.bz2",
                           "a.parquet.gz", "a.txt", "a."}) {
    EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                               [&] { write_interactions(data, folder / name); }),
                testing::HasSubstr("end the name in .csv, .tsv, .mtx"))
        << name;
    EXPECT_FALSE(std::filesystem::exists(folder / name));
  }
}

}  // namespace
}  // namespace likewise
