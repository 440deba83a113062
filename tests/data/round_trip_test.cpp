// SPDX-License-Identifier: Apache-2.0
/// Whatever is written reads back the same, or is refused by the reader; never something else.
#include <algorithm>
#include <array>
#include <fstream>
#include <random>
#include <set>

#include <fmt/format.h>

#include "data/text/fields.h"
#include "likewise/write.h"
#include "tests/csr_entries.h"
#include "tests/data/text/read_support.h"
#include "tests/support.h"

namespace likewise::test {
namespace {

using Random = std::mt19937_64;

/// Pieces of ids that mean something to some reader.
constexpr std::array<std::string_view, 36> kPieces = {
    " ",  "\t", "\"", "\"\"", ",",    ";",    "|",    "::",  ":",      "#",      "%",    "'",
    "\r", "\\", "+",  "-",    "0",    "00",   "7",    "1e5", ".",      "nan",    "user", "item",
    "a",  "b",  "é",  "\xe9", "\xff", "\x01", "\x7f", "=",   "rating", "userId", "\\n",  "日本"};

std::string random_id(Random& random, bool line_feeds) {
  std::string id;
  const std::size_t pieces = random() % 50 == 0 ? 2000 : 1 + random() % 5;
  for (std::size_t i = 0; i < pieces; ++i) id += kPieces[random() % kPieces.size()];
  if (line_feeds && random() % 8 == 0) id.insert(random() % (id.size() + 1), "\n");
  return id;
}

std::string id_of(std::uint64_t kind, Random& random, bool line_feeds) {
  if (kind == 3) return fmt::format("20{:02}-01-{:02}", random() % 90 + 10, random() % 28 + 1);
  if (kind == 4) return fmt::format("{} {}", random() % 1000, random() % 7);
  const bool number = kind == 1 || (kind == 2 && random() % 2 == 0);
  return number ? fmt::format("{}", static_cast<int>(random() % 2000) - 1000)
                : random_id(random, line_feeds);
}

/// Users and items of random ids: awkward text in `kind` 0, whole numbers in 1, all sorts in 2,
/// dates in 3, numbers between blanks in 4.
Interactions random_interactions(Random& random, bool line_feeds) {
  const auto kind = random() % 5;
  const auto ids = [&] {
    std::set<std::string> names;
    const std::size_t count = 1 + random() % 12;
    while (names.size() < count) {
      names.insert(id_of(kind, random, line_feeds));
    }
    return std::vector<std::string>(names.begin(), names.end());
  };
  const auto users = ids();
  const auto items = ids();
  std::vector<Entry>
      entries;  // every user and every item has one, so that they are all in the file
  std::set<std::pair<Index, Index>> used;
  const auto most = std::max(users.size(), items.size());
  for (std::size_t i = 0; i < most; ++i) {
    const std::pair cell(static_cast<Index>(i % users.size()),
                         static_cast<Index>(i % items.size()));
    if (!used.insert(cell).second) continue;
    entries.push_back(
        {cell.first, cell.second, static_cast<float>(random() % 1000) / 8.0F - 10.0F});
  }
  const auto csr =
      make_csr(static_cast<Index>(users.size()), static_cast<Index>(items.size()), entries);
  Interactions data{IdMap::from_text(users), IdMap::from_text(items), csr.clone(), {}};
  if (random() % 2 == 0) {
    data.times = Array<Time>(data.by_user.nnz());
    for (Time& time : data.times) {
      time = Time(static_cast<std::int64_t>(random() % 3'000'000'000),
                  random() % 3 == 0 ? 125'000 : 0);
    }
  }
  return data;
}

std::map<std::pair<std::string, std::string>, Time> moments(const Interactions& data) {
  std::map<std::pair<std::string, std::string>, Time> result;
  for (Index user = 0; user < data.by_user.rows && data.has_times(); ++user) {
    for (Offset at = data.by_user.offsets[user]; at < data.by_user.offsets[user + 1]; ++at) {
      result[{data.users.name(user), data.items.name(data.by_user.columns[at])}] = data.times[at];
    }
  }
  return result;
}

bool holds_line_feeds(const Interactions& data) {
  const auto in = [](const IdMap& ids) {
    for (Index i = 0; i < ids.size(); ++i) {
      if (ids.name(i).find('\n') != std::string::npos) return true;
    }
    return false;
  };
  return in(data.users) || in(data.items);
}

TEST(RoundTrip, InteractionsWithAnyIds) {
  const TemporaryFolder folder;
  Random random(11);
  const char* kNames[] = {"a.csv", "a.tsv", "a.csv.gz", "a.tsv.zst"};
  for (int i = 0; i < 400; ++i) {
    const Interactions data = random_interactions(random, i % 4 == 0);
    const std::string path = folder / kNames[random() % 4];
    if (holds_line_feeds(data) && path.find(".tsv") != std::string::npos) {
      EXPECT_THAT(error_of(ErrorKind::kBadData, [&] { write_interactions(data, path); }),
                  testing::HasSubstr("has a line break, which tab-separated text cannot hold"));
      continue;
    }
    write_interactions(data, path);
    const Interactions back = read_interactions(path, {.keep_times = true});
    ASSERT_EQ(cells(back), cells(data)) << i << ' ' << path;
    ASSERT_EQ(moments(back), moments(data)) << i << ' ' << path;
  }
}

TEST(RoundTrip, AZeroByteIsRefused) {
  std::string line;
  EXPECT_THAT(
      error_of(ErrorKind::kBadData, [&] { append_field(line, std::string_view("a\0b", 3), ','); }),
      testing::HasSubstr("zero byte"));
}

TEST(RoundTrip, AnEmptyIdIsRefused) {
  const TemporaryFolder folder;
  const std::array entries{Entry{0, 0, 1.0F}};
  const Interactions data{IdMap::from_text(std::array{std::string()}),
                          IdMap::from_text(std::array{std::string("x")}),
                          make_csr(1, 1, entries),
                          {}};
  write_interactions(data, folder / "a.csv");
  EXPECT_THAT(error_of(ErrorKind::kBadData, [&] { (void)read_interactions(folder / "a.csv"); }),
              testing::HasSubstr("a.csv:2: the user id, column 1 (user), is empty"));
}

TEST(RoundTrip, AFieldIsTheTextThatWasAppended) {
  Random random(12);
  for (int i = 0; i < 20'000; ++i) {
    const char delimiter = random() % 2 == 0 ? ',' : '\t';
    std::vector<std::string> fields(1 + random() % 4);
    for (std::string& field : fields) {
      field = random() % 9 == 0 ? "" : random_id(random, delimiter == ',');
    }
    std::string line;
    for (std::size_t f = 0; f < fields.size(); ++f) {
      if (f > 0) line += delimiter;
      append_field(line, fields[f], delimiter);
    }
    std::vector<std::string> back;
    ASSERT_EQ(split_line(line, {Delimiter::kByte, delimiter}, back), LineFault::kNone) << line;
    ASSERT_EQ(back, fields) << line;
  }
}

TEST(RoundTrip, MatrixMarketKeepsPositionsAndValues) {
  const TemporaryFolder folder;
  Random random(13);
  for (int i = 0; i < 50; ++i) {
    Interactions data = random_interactions(random, true);
    write_interactions(data, folder / "a.mtx");
    const Interactions back = read_interactions(folder / "a.mtx");
    EXPECT_EQ(back.by_user.rows, data.by_user.rows);
    EXPECT_TRUE(std::ranges::equal(back.by_user.columns, data.by_user.columns));
    EXPECT_TRUE(std::ranges::equal(back.by_user.values, data.by_user.values));
  }
}

TEST(RoundTrip, LinesOfIdsAreTakenAsTheyAre) {
  const TemporaryFolder folder;
  Random random(14);
  std::vector<std::string> ids;
  for (int i = 0; i < 500; ++i) {
    std::string id = random_id(random, false);
    if (!id.ends_with('\r')) ids.push_back(std::move(id));  // would be the line's end
  }
  {
    std::ofstream file(folder / "ids.txt", std::ios::binary);
    for (std::size_t i = 0; i < ids.size(); ++i) file << ids[i] << (i % 3 == 0 ? "\r\n" : "\n");
  }
  std::vector<std::string> back;
  for_each_line(folder / "ids.txt", [&](std::string_view id, Offset) { back.emplace_back(id); });
  EXPECT_EQ(back, ids);
}

}  // namespace
}  // namespace likewise::test
