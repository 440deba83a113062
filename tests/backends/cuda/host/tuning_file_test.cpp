// SPDX-License-Identifier: Apache-2.0
/// Kept tunings: written and read back, and every way in which a file may be wrong.
#include "backends/cuda/host/tuning_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "likewise/error.h"
#include "tests/support.h"

namespace likewise {
namespace {

using Json = nlohmann::json;
using testing::HasSubstr;

const TuningOwner kOwner{"Fine \"GPU\" / 2", 9, 0, 13000};

[[nodiscard]] Tunings some_tunings() {
  return {{{{Feedback::kImplicit, Precision::kFp16, false, 64}, {64, 64, 64, 4096}, 0.0066},
           {{Feedback::kExplicit, Precision::kFp32, true, 101}, {128, 0, 0, 2048}, 1.25},
           {{Feedback::kImplicit, Precision::kFp16, false, 500}, {512, 0, 0, 4096, true}, 0.5}},
          "2026-11-21T01:02:03Z"};
}

void expect_equal(const Tunings& a, const Tunings& b) {
  EXPECT_EQ(a.measured, b.measured);
  ASSERT_EQ(a.winners.size(), b.winners.size());
  for (std::size_t i = 0; i < a.winners.size(); ++i) {
    EXPECT_EQ(a.winners[i].work.feedback, b.winners[i].work.feedback);
    EXPECT_EQ(a.winners[i].work.precision, b.winners[i].work.precision);
    EXPECT_EQ(a.winners[i].work.exact, b.winners[i].work.exact);
    EXPECT_EQ(a.winners[i].work.width, b.winners[i].work.width);
    EXPECT_EQ(a.winners[i].tuning, b.winners[i].tuning);
    EXPECT_EQ(a.winners[i].seconds, b.winners[i].seconds);
  }
}

void write(const std::string& path, const Tunings& tunings) {
  HeldFile file = hold_tunings(path);
  write_tunings(file, kOwner, tunings);
}

/// The text of a file with some_tunings().
[[nodiscard]] std::string good_text() {
  const test::TemporaryFolder place;
  const std::string path = place / "kept.json";
  write(path, some_tunings());
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

[[nodiscard]] std::string refusal(const std::string& text, const TuningOwner& owner = kOwner) {
  try {
    (void)parse_tunings(text, owner);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kBadData);
    return error.what();
  }
  ADD_FAILURE() << "taken: " << text;
  return {};
}

TEST(TuningFile, ReadsBackWhatWasWritten) {
  const test::TemporaryFolder place;
  const std::string path = place / "made/for/it/kept.json";
  write(path, some_tunings());
  expect_equal(read_tunings(path, kOwner), some_tunings());
  write(path, {{}, "later"});
  EXPECT_TRUE(read_tunings(path, kOwner).winners.empty());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place / "made/for/it"), {}), 1);
}

TEST(TuningFile, NoFileIsNoTunings) {
  const test::TemporaryFolder place;
  EXPECT_TRUE(read_tunings(place / "none.json", kOwner).winners.empty());
  EXPECT_TRUE(read_tunings("", kOwner).winners.empty());
}

TEST(TuningFile, FilesThatCannotBeReadOrWrittenAreNamed) {
  const test::TemporaryFolder place;
  const std::string folder = place / "";
  try {
    (void)read_tunings(folder, kOwner);
    ADD_FAILURE() << "a folder was read";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr(folder));
  }
  std::ofstream(place / "file").flush();
  EXPECT_THROW(write(place / "file/kept.json", {}), Error);
  EXPECT_THROW(write("", {}), Error);
}

TEST(TuningFile, AnotherGpuDriverOrBuildIsRefused) {
  const std::string text = good_text();
  const std::vector<std::pair<const char*, TuningOwner>> others{
      {"gpu", {"Other", 9, 0, 13000}},
      {"compute_capability", {kOwner.gpu, 9, 1, 13000}},
      {"compute_capability", {kOwner.gpu, 8, 0, 13000}},
      {"driver", {kOwner.gpu, 9, 0, 13010}}};
  for (const auto& [what, owner] : others) EXPECT_THAT(refusal(text, owner), HasSubstr(what));
  for (const char* what : {"format", "likewise", "plugin"}) {
    Json changed = Json::parse(text);
    changed[what] = "another";
    EXPECT_THAT(refusal(changed.dump()), HasSubstr(what));
  }
}

TEST(TuningFile, MissingAndWildFieldsAreNamed) {
  const Json good = Json::parse(good_text());
  const std::vector<Json> wild{nullptr,
                               true,
                               -1,
                               1.5,
                               1e300,
                               -1e300,
                               "",
                               "fp64",
                               "\x01",
                               "nan",
                               {},
                               Json::array(),
                               18446744073709551615U,
                               9223372036854775807,
                               2147483648U};
  for (const auto& [name, value] : good.items()) {
    Json less = good;
    less.erase(name);
    EXPECT_THAT(refusal(less.dump()), HasSubstr(name));
    if (name == "measured") continue;  // any text will do
    for (const Json& other : wild) {
      if (other == Json::array() && name == "tunings") continue;
      Json changed = good;
      changed[name] = other;
      EXPECT_THAT(refusal(changed.dump()), HasSubstr(name));
    }
  }
  for (const auto& [name, value] : good["tunings"][1].items()) {
    Json less = good;
    less["tunings"][1].erase(name);
    EXPECT_THAT(refusal(less.dump()), HasSubstr(name));
    for (const Json& other : wild) {
      if (name == "seconds" && other.is_number() && other.get<double>() > 0)
        continue;  // is never used
      Json changed = good;
      changed["tunings"][1][name] = other;
      EXPECT_THAT(refusal(changed.dump()), HasSubstr(name));
    }
  }
}

TEST(TuningFile, BrokenTextIsRefused) {
  for (const char* text : {"", " ", "{", "}", "[]", "null", "7", "\"text\"", "{\"a\":1,\"a\":2}",
                           "\xff\xfe{}", "{\"format\":1}"}) {
    (void)refusal(text);
  }
  (void)refusal(std::string(100'000, '['));
  (void)refusal(std::string(1000, '{'));
}

/// Bytes of a good file cut off, taken out, doubled and changed: each comes out whole and within
/// its ranges, or as an error.
TEST(TuningFile, DamagedFilesNeverCrash) {
  const std::string good = good_text();
  std::mt19937_64 random(7);
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  int refused = 0;
  constexpr int kTrials = 20'000;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::string text = good;
    for (std::size_t changes = 1 + below(3); changes > 0 && !text.empty(); --changes) {
      const std::size_t at = below(text.size());
      switch (below(5)) {
        case 0:
          text.resize(at);
          break;
        case 1:
          text.erase(at, 1 + below(20));
          break;
        case 2:
          text.insert(at, text.substr(below(text.size()), 1 + below(20)));
          break;
        case 3:
          text[at] = static_cast<char>(random());
          break;
        default:
          text[at] = "0123456789-eE.{}[],:\""[below(21)];
      }
    }
    try {
      for (const Winner& one : parse_tunings(text, kOwner).winners) {
        EXPECT_GE(one.work.width, 1);
        EXPECT_GE(one.tuning.columns, 1);
        EXPECT_GE(one.tuning.short_rows, 0);
        EXPECT_GE(one.tuning.one_warp, 0);
        EXPECT_GE(one.tuning.piece, 1);
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kBadData);
      ++refused;
    }
  }
  EXPECT_GT(refused, kTrials / 2);
}

TEST(TuningFile, EveryGpuHasItsOwnNameInTheCacheFolder) {
  const std::string path = tuning_path(kOwner);
  EXPECT_THAT(path, HasSubstr("/likewise/als-Fine--GPU----2-9.0.json"));
  EXPECT_NE(path, tuning_path({kOwner.gpu, 8, 0, 13000}));
  EXPECT_EQ(path, tuning_path({kOwner.gpu, 9, 0, 12000}));
  const TuningOwner sly{"../../etc/passwd", 9, 0, 13000};
  EXPECT_THAT(tuning_path(sly), HasSubstr("/likewise/als-..-..-etc-passwd-9.0.json"));
}

TEST(TuningFile, WorkIsTheSameInStepsOfSixteen) {
  const AlsWork work{Feedback::kImplicit, Precision::kFp16, false, 64};
  const auto with = [&](const std::function<void(AlsWork&)>& change) {
    AlsWork changed = work;
    change(changed);
    return same_work(work, changed);
  };
  EXPECT_TRUE(with([](AlsWork&) {}));
  EXPECT_TRUE(with([](AlsWork& w) { w.width = 49; }));
  EXPECT_FALSE(with([](AlsWork& w) { w.width = 48; }));
  EXPECT_FALSE(with([](AlsWork& w) { w.width = 65; }));
  EXPECT_FALSE(with([](AlsWork& w) { w.exact = true; }));
  EXPECT_FALSE(with([](AlsWork& w) { w.feedback = Feedback::kExplicit; }));
  EXPECT_FALSE(with([](AlsWork& w) { w.precision = Precision::kBf16; }));
}

}  // namespace
}  // namespace likewise
