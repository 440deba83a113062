// SPDX-License-Identifier: Apache-2.0
/// Files: compression, what the system refuses, and real data sets.
#include <cmath>
#include <fstream>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>
#include <zlib.h>
#include <zstd.h>

#include "likewise/control.h"
#include "tests/data/text/read_support.h"
#include "tests/support.h"

namespace likewise::test {
namespace {

using testing::HasSubstr;

std::string gzip(const std::string& text) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, text.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string zstd(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  out.resize(ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3));
  return out;
}

/// Ratings of three formats; several hundred rows, so that streams have a middle.
std::vector<std::string> samples() {
  std::vector<std::string> texts{"userId,movieId,rating\n", "",
                                 "%%MatrixMarket matrix coordinate real general\n50 50 900\n"};
  for (int i = 0; i < 900; ++i) {
    texts[0] += fmt::format("{},{},{}\r\n", i % 50, i / 50, i % 10);
    texts[1] += fmt::format("user {}\titem {}\t{}\n", i % 50, i / 50, i % 10);
    texts[2] += fmt::format("{} {} {}\n", i % 50 + 1, i / 50 + 1, i % 10);
  }
  return texts;
}

TEST(ReadCompressed, GivesTheSameAsPlain) {
  for (const std::string& text : samples()) {
    const auto plain = read_text(text);
    const std::string a = text.substr(0, 300);
    const std::string b = text.substr(300);
    for (const std::string& packed : {gzip(text), zstd(text), gzip(a) + gzip(b), zstd(a) + zstd(b),
                                      gzip(a) + gzip("") + gzip(b),
                                      std::string("\x50\x2a\x4d\x18\x03\0\0\0abc", 11) + zstd(text),
                                      gzip(text) + std::string(700, '\0')}) {
      expect_same(read_text(packed), plain);
      expect_same(read_text(packed, {}, nullptr, tiny_blocks(17)), plain);
    }
  }
  ReadSummary summary;
  (void)read_text(gzip(samples()[0]), {}, &summary);
  EXPECT_EQ(summary.format, "csv, gzip, header userId,movieId,rating");
  (void)read_text(zstd(samples()[1]), {}, &summary);
  EXPECT_EQ(summary.format, "tsv, zstd, no header");
}

TEST(ReadCompressed, RefusesDamage) {
  const std::string text = samples()[0];
  for (const std::size_t keep : {11, 100, 400}) {
    EXPECT_THAT(bad_data(gzip(text).substr(0, keep)),
                HasSubstr("file.csv: the gzip data ends early"));
    EXPECT_THAT(bad_data(zstd(text).substr(0, keep)),
                HasSubstr("file.csv: the zstd data ends early"));
  }
  std::string broken = gzip(text);
  broken[broken.size() - 6] ^= 1;  // checksum
  EXPECT_THAT(bad_data(broken), HasSubstr("the gzip data is broken: incorrect data check"));
  broken = zstd(text);
  broken[4] ^= '\xff';
  EXPECT_THAT(bad_data(broken), HasSubstr("the zstd data is broken"));
  EXPECT_THAT(bad_data(gzip(text) + "junk"), HasSubstr("foreign bytes follow the gzip data"));
  EXPECT_THAT(bad_data(gzip("")), HasSubstr("is empty"));
}

TEST(ReadCompressed, ABombStopsEarly) {
  const std::string zeros(std::size_t{16} << 20, '\0');
  EXPECT_THAT(bad_data(gzip(zeros)), HasSubstr("is not text"));
  EXPECT_THAT(bad_data(zstd("1,2,3\n" + std::string(std::size_t{16} << 20, '1'))),
              HasSubstr("file.csv:2: the line is longer"));
}

TEST(ReadFiles, SaysWhatTheSystemRefuses) {
  const TemporaryFolder folder;
  const auto error = [](ErrorKind kind, const std::string& path) {
    return error_of(kind, [&] { (void)read_interactions(path); });
  };
  const std::string missing = folder / "missing.csv";
  EXPECT_EQ(error(ErrorKind::kNotFound, missing),
            missing + ": cannot open: No such file or directory");
  EXPECT_EQ(error(ErrorKind::kBadData, folder / ""),
            (folder / "") + ": the folder holds no file with rows");
  const std::string empty = folder / "empty.csv";
  std::ofstream(empty).close();
  EXPECT_EQ(error(ErrorKind::kBadData, empty), empty + ": is empty");
  const std::string locked = folder / "locked.csv";
  std::ofstream(locked) << "1,2,3\n";
  std::filesystem::permissions(locked, std::filesystem::perms::none);
  if (geteuid() != 0) {
    EXPECT_THAT(error(ErrorKind::kIo, locked), HasSubstr("cannot open: Permission denied"));
  }
}

TEST(ReadFiles, SaysWhatIsNoFileInAFolder) {
  const TemporaryFolder folder;
  std::ofstream(folder / "rows.csv") << "1,2,3\n";
  const auto error = [&] {
    return error_of(ErrorKind::kIo, [&] { (void)read_interactions(folder / ""); });
  };
  std::filesystem::create_symlink("nothing", folder / "link");
  EXPECT_THAT(error(), HasSubstr("holds 'link', which is no file that can be read (No such file"));
  std::filesystem::remove(folder / "link");
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_THAT(error(), HasSubstr("holds 'pipe', which is no file that can be read"));
  std::filesystem::remove(folder / "pipe");
  EXPECT_EQ(read_interactions(folder / "").users.size(), 1);
  std::filesystem::permissions(folder / "", std::filesystem::perms::none);
  if (geteuid() != 0) {
    EXPECT_THAT(error(), HasSubstr("cannot read the folder: Permission denied"));
  }
  std::filesystem::permissions(folder / "", std::filesystem::perms::owner_all);
}

TEST(ReadFiles, ReadsAFile) {
  const TemporaryFolder folder;
  const std::string path = folder / "ratings.csv";
  std::ofstream(path) << samples()[0];
  ReadSummary summary;
  expect_same(read_interactions(path, {}, &summary), read_text(samples()[0]));
  EXPECT_THAT(summary.columns, testing::ElementsAre("column 1 (userId)", "column 2 (movieId)",
                                                    "column 3 (rating)", ""));
}

class RealData : public testing::Test {
 protected:
  void SetUp() override { LIKEWISE_NEEDS_DATA(data_); }
  /// Reads with 1, 2 and 5 threads, which must agree.
  Interactions read(const std::string& name, const ReadOptions& options = {}) {
    Interactions result;
    for (const int threads : {1, 2, 5}) {
      with_threads(threads, [&] {
        auto again = read_interactions((data_ / name).string(), options, &summary_);
        if (threads > 1) expect_same(again, result);
        result = std::move(again);
      });
    }
    validate(result.by_user.view(), name.c_str());
    return result;
  }
  void expect_shape(const Interactions& data, Index users, Index items, Offset nnz) const {
    EXPECT_EQ(data.users.size(), users);
    EXPECT_EQ(data.items.size(), items);
    EXPECT_EQ(data.by_user.nnz(), nnz);
    EXPECT_EQ(data.by_user.nnz() + summary_.duplicates, summary_.rows);
  }
  /// How often each whole value 1..5 occurs.
  static std::vector<int> histogram(const Interactions& data) {
    std::vector<int> counts(5);
    for (const float value : data.by_user.values) ++counts.at(static_cast<std::size_t>(value) - 1);
    return counts;
  }

  std::filesystem::path data_ = data_folder();
  ReadSummary summary_;
};

TEST_F(RealData, MovieLens100k) {
  const auto data = read("ml-100k/u.data", {.keep_times = true});
  expect_shape(data, 943, 1682, 100000);
  EXPECT_EQ(histogram(data), (std::vector{6110, 11370, 27145, 34174, 21201}));
  EXPECT_EQ(times(data).at({"196", "242"}), 881250949);
  expect_shape(read("ml-100k/u1.base.gz"), 943, 1650, 80000);
}

TEST_F(RealData, MovieLens1M) {
  const auto data = read("ml-1m/ratings_notime.dat.gz");
  expect_shape(data, 6040, 3706, 1000209);
  EXPECT_EQ(histogram(data), (std::vector{56174, 107557, 261197, 348971, 226310}));
  EXPECT_EQ(summary_.format, "separated by '::', gzip, no header");
  const auto timed = read("ml-1m/ratings_users_1_2999_with_time.dat.gz", {.keep_times = true});
  expect_shape(timed, 2999, 3615, 487650);
  EXPECT_TRUE(timed.has_times());
}

TEST_F(RealData, MovieLensLatestSmall) {
  const auto data = read("ml-latest-small/ratings.csv.gz", {.keep_times = true});
  expect_shape(data, 671, 9066, 100004);
  EXPECT_EQ(cells(data).at({"1", "31"}), 2.5F);
  EXPECT_TRUE(data.has_times());
}

TEST_F(RealData, GoodbooksHasDuplicatesAndTheBookFirst) {
  const auto data = read("goodbooks-10k/ratings.csv.gz");
  expect_shape(data, 53424, 10000, 981756 - 2278);
  EXPECT_EQ(summary_.rows, 981756);
  EXPECT_EQ(summary_.duplicates, 2278);
  (void)error_of(ErrorKind::kBadData, [&] {
    (void)read_interactions((data_ / "goodbooks-10k/ratings.csv.gz").string(),
                            {.duplicates = Duplicates::kError});
  });
}

TEST_F(RealData, Latin1TitlesAreIds) {
  const auto data = read("ml-100k/u.item", {.columns = {"2", "1"}});  // title, film
  EXPECT_FALSE(data.users.is_integer());
  EXPECT_TRUE(data.users.find("Misérables, Les (1995)") == std::nullopt);  // this source is UTF-8
  EXPECT_TRUE(data.users.find("Mis\xe9rables, Les (1995)").has_value());
}

}  // namespace
}  // namespace likewise::test
