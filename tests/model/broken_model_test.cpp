// SPDX-License-Identifier: Apache-2.0
/// Files that are not good models: each must be refused with a message that names the fault.
#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/error.h"
#include "tests/model/model_support.h"

namespace likewise {
namespace {

using test::Ids;
using test::ModelParts;
using json = nlohmann::ordered_json;

/// 5 users, 9 items, explicit with biases, text ids: every kind of tensor.
const std::string& good_file() {
  static const std::string bytes = [] {
    const test::TemporaryFolder folder;
    save_model(test::make_model({5, 9, 7, Ids::kText, true}), folder / "model");
    return test::read_file(folder / "model");
  }();
  return bytes;
}

std::string good_integers() {
  const test::TemporaryFolder folder;
  save_model(test::make_model({5, 9, 16, Ids::kIntegers, true}), folder / "model");
  return test::read_file(folder / "model");
}

void expect_refused(const std::string& bytes, const std::string& part) {
  try {
    (void)test::model_from_string(bytes);
    ADD_FAILURE() << "accepted; expected: " << part;
  } catch (const Error& fault) {
    EXPECT_EQ(fault.kind(), ErrorKind::kBadData) << fault.what();
    EXPECT_THAT(fault.what(), testing::HasSubstr(part));
  }
}

/// A change to a good model's header or data; the checksum is made right again, so that what is
/// found is the fault itself.
struct Fault {
  const char* name;
  std::function<void(ModelParts&)> change;
  const char* message;
};

void PrintTo(const Fault& fault, std::ostream* out) { *out << fault.name; }

/// Changes one parameter inside the metadata's JSON text.
auto parameter(const char* name, const json& value) {
  return [name, value](ModelParts& m) {
    auto parameters = json::parse(m.metadata()["parameters"].get<std::string>());
    if (value.is_discarded()) {
      parameters.erase(name);
    } else {
      parameters[name] = value;
    }
    m.metadata()["parameters"] = parameters.dump();
  };
}

auto metadata(const char* name, const char* value) {
  return [=](ModelParts& m) { m.metadata()[name] = value; };
}

auto without_metadata(const char* name) {
  return [=](ModelParts& m) { m.metadata().erase(name); };
}

/// Another name: the bytes stay covered, the tensor is gone.
auto without_tensor(const char* name) {
  return [=](ModelParts& m) {
    m.header["renamed"] = m.header[name];
    m.header.erase(name);
  };
}

auto tensor(const char* name, const char* field, const json& value) {
  return [=](ModelParts& m) { m.header[name][field] = value; };
}

template <class T>
auto number(const char* name, std::size_t index, T value) {
  return [=](ModelParts& m) { m.set<T>(name, index, value); };
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

const Fault kFaults[] = {
    // The container.
    {"UnknownDtype", tensor("user_bias", "dtype", "F128"),
     "'user_bias' has the unknown dtype 'F128'"},
    {"DtypeIsNumber", tensor("user_bias", "dtype", 4), "the dtype is not a string"},
    {"NoDtype", [](ModelParts& m) { m.header["user_bias"].erase("dtype"); }, "has no dtype"},
    {"NoShape", [](ModelParts& m) { m.header["user_bias"].erase("shape"); }, "has no shape"},
    {"NoOffsets", [](ModelParts& m) { m.header["user_bias"].erase("data_offsets"); },
     "has no data_offsets"},
    {"TensorIsList", [](ModelParts& m) { m.header["user_bias"] = json::array(); },
     "'user_bias' is not described by an object"},
    {"ShapeIsText", tensor("user_bias", "shape", "5"), "shape is not a list"},
    {"ShapeIsNegative", tensor("user_bias", "shape", {-5}), "-5, not a natural number"},
    {"ShapeIsFraction", tensor("user_bias", "shape", {5.5}), "5.5, not a natural number"},
    {"ShapeIsHuge", tensor("user_bias", "shape", {18446744073709551615ULL}),
     "not a natural number"},
    {"ShapeOverflows", tensor("user_factors", "shape", {4611686018427387904, 4611686018427387904}),
     "overflows"},
    {"ShapeIsLarger", tensor("user_factors", "shape", {6, 7}), "needs 168 bytes"},
    {"ThreeOffsets", tensor("user_bias", "data_offsets", {0, 1, 2}), "two rising numbers"},
    {"OffsetsFall", tensor("user_bias", "data_offsets", {64, 0}), "two rising numbers"},
    {"OffsetsOutside", tensor("user_bias", "data_offsets", {1000000, 1000020}), "cut short"},
    {"Overlap", tensor("item_bias", "data_offsets", {0, 36}), "the one before it ends at"},
    {"Hole", [](ModelParts& m) { m.header.erase("_pad.0"); }, "the one before it ends at"},
    {"BytesAtTheEnd", [](ModelParts& m) { m.data += "more"; }, "4 bytes after the last tensor"},
    {"CutAtTheEnd", [](ModelParts& m) { m.data.pop_back(); }, "cut short"},
    {"MetadataIsList", [](ModelParts& m) { m.metadata() = json::array(); },
     "__metadata__ is not an object"},
    {"MetadataIsNumber", [](ModelParts& m) { m.metadata()["best_iteration"] = 2; },
     "metadata 'best_iteration' is not a string"},
    // What the file says of itself.
    {"NoMetadata", [](ModelParts& m) { m.header.erase("__metadata__"); }, "not a likewise model"},
    {"OtherFormat", metadata("format", "pt"), "not a likewise model"},
    {"NewerFormat", metadata("format_version", "2"), "update likewise"},
    {"FormatZero", metadata("format_version", "0"), "'format_version' is 0"},
    {"FormatIsText", metadata("format_version", "1x"), "'format_version' is not a number"},
    {"NoChecksum", without_metadata("checksum"), "metadata 'checksum' is missing"},
    {"NoAlgorithm", without_metadata("algorithm"), "metadata 'algorithm' is missing"},
    {"UnknownAlgorithm", metadata("algorithm", "svd"), "unknown algorithm 'svd'"},
    {"NoVersion", without_metadata("likewise_version"), "'likewise_version' is missing"},
    {"MeanIsNan", metadata("global_mean", "nan"), "global_mean"},
    {"MeanIsEmpty", metadata("global_mean", ""), "'global_mean' is not a number"},
    {"MeanIsHuge", metadata("global_mean", "1e99"), "'global_mean' is not a number in range"},
    {"SpreadIsNegative", metadata("trained_spread", "-1"), "'trained_spread' is -1"},
    {"SpreadIsInfinite", metadata("trained_spread", "inf"), "'trained_spread' is inf"},
    {"SpreadIsEmpty", metadata("trained_spread", ""), "'trained_spread' is not a number"},
    {"BestIsLater", metadata("best_iteration", "3"), "best_iteration is 3 of 2"},
    {"BestIsNegative", metadata("best_iteration", "-1"), "best_iteration is -1"},
    {"ValidationIsText", metadata("validation", R"("1")"), "'validation' is not a number"},
    {"ValidationIsNoJson", metadata("validation", "good"), "'validation' is not valid JSON"},
    {"IterationsAreText", metadata("iterations", "none"), "'iterations' is not valid JSON"},
    {"SearchIsNoJson", metadata("search", "some"), "'search' is not valid JSON"},
    {"SearchIsList", metadata("search", "[]"), "'search' is not an object"},
    {"SearchWithoutMetric", metadata("search", "{}"), "metric is missing"},
    {"SearchTrialsAreMany",
     metadata(
         "search",
         R"({"metric":"rmse","value":1,"baseline":"bias","baseline_value":1,"trials":4294967296})"),
     "trials is not a natural number"},
    {"UpdatesAreText", metadata("updates", "some"), "'updates' is not valid JSON"},
    {"UpdatesAreObject", metadata("updates", "{}"), "'updates' is not a list"},
    {"UpdateIsNumber", metadata("updates", "[1]"), "'updates' is not a list of objects"},
    {"UpdateWithoutSizes", metadata("updates", "[{}]"), "interactions is not a natural number"},
    {"UpdateBelowNothing",
     metadata("updates", R"([{"interactions":1,"users":-1,"items":0,"iterations":1}])"),
     "users is not a natural number"},
    {"UpdateTooLong",
     metadata("updates", R"([{"interactions":1,"users":0,"items":0,"iterations":10001}])"),
     "iterations is not a natural number"},
    {"UpdateByNumber",
     metadata("updates", R"([{"interactions":1,"users":0,"items":0,"iterations":1,"by":2}])"),
     "by is not text"},
    {"IterationsAreObject", metadata("iterations", "{}"), "'iterations' is not a list"},
    {"IterationIsNumber", metadata("iterations", "[1]"), "not a list of objects"},
    {"IterationWithoutTime", metadata("iterations", R"([{"iteration":1,"objective":1}])"),
     "seconds is missing"},
    {"IterationIsNegative",
     metadata("iterations", R"([{"iteration":-1,"objective":1,"seconds":1}])"),
     "iteration is not a natural number"},
    {"ObjectiveIsText", metadata("iterations", R"([{"iteration":1,"objective":"1","seconds":1}])"),
     "objective is not a number"},
    {"IterationsFall", metadata("iterations", R"([{"iteration":2,"objective":1,"seconds":1},
                                {"iteration":2,"objective":1,"seconds":1}])"),
     "number 2 follows 2"},
    {"DeepJson", metadata("iterations", "[[[[[[[[[[[[1]]]]]]]]]]]]"), "nested too deeply"},
    // Parameters.
    {"NoParameters", without_metadata("parameters"), "'parameters' is missing"},
    {"ParametersAreList", metadata("parameters", "[]"), "'parameters' is not an object"},
    {"ParameterTwice", metadata("parameters", R"({"alpha":1,"alpha":2})"), "'alpha' twice"},
    {"AlphaIsText", parameter("alpha", "1"), "alpha is not a number"},
    {"AlphaOutOfRange", parameter("alpha", -1.0), "parameters: alpha"},
    {"FactorsTooLarge", parameter("factors", 4294967303), "factors is not an integer in range"},
    {"FactorsFarTooLarge", parameter("factors", 18446744073709551615ULL),
     "factors is not an integer"},
    {"FactorsTooSmall", parameter("factors", -9223372036854775807LL), "factors is not an integer"},
    {"FactorsDiffer", parameter("factors", 8), "user_factors is 5 x 7, it must be 5 x 8"},
    {"UnknownSolver", parameter("solver", "qr"), "solver is not one of its choices"},
    {"SolverIsNumber", parameter("solver", 1), "solver is not a string"},
    {"BiasesAreText", parameter("biases", "on"), "biases is neither true nor false"},
    {"SeedIsNegative", parameter("seed", -1), "seed is not a natural number"},
    // Tensors.
    {"NoUserFactors", without_tensor("user_factors"), "tensor 'user_factors' is missing"},
    {"NoItemFactors", without_tensor("item_factors"), "tensor 'item_factors' is missing"},
    {"NoOffsetsTensor", without_tensor("history.offsets"), "'history.offsets' is missing"},
    {"NoColumns", without_tensor("history.columns"), "'history.columns' is missing"},
    {"NoValues", without_tensor("history.values"), "'history.values' is missing"},
    {"NoItemIds", without_tensor("item_ids.chars"), "'item_ids.chars' is missing"},
    {"WrongDtype", tensor("user_factors", "dtype", "I32"), "'user_factors' is I32, it must be F32"},
    {"OtherDtype", tensor("user_factors", "dtype", "U32"), "'user_factors' is U32, it must be F32"},
    {"WrongRank", tensor("user_factors", "shape", {35}), "it must have 2 dimensions"},
    {"WrongRankOfBias", tensor("user_bias", "shape", {5, 1}), "it must have 1 dimension"},
    {"TurnedFactors", tensor("user_factors", "shape", {7, 5}), "user_factors is 7 x 5"},
    {"HugeEmptyFactors",
     [](ModelParts& m) {
       m.header["user_factors"] = {
           {"dtype", "F32"}, {"shape", {2147483647, 0}}, {"data_offsets", {0, 0}}};
       m.header["rest"] = {{"dtype", "U8"}, {"shape", {140}}, {"data_offsets", {0, 140}}};
       m.metadata()["user_ids"] = "range";
     },
     "too large"},
    {"RangeWithoutFactors",
     [](ModelParts& m) {
       m.header["user_factors"] = {
           {"dtype", "F32"}, {"shape", {2000000000, 0}}, {"data_offsets", {0, 0}}};
       m.header["rest"] = {{"dtype", "U8"}, {"shape", {140}}, {"data_offsets", {0, 140}}};
       m.metadata()["user_ids"] = "range";
     },
     "range needs factors"},
    {"FactorIsNan", number("user_factors", 8, kNan), "user_factors: row 1"},
    {"FactorIsInfinite", number("item_factors", 62, -kInfinity), "item_factors: row 8"},
    {"BiasIsNan", number("item_bias", 3, kNan), "item_bias: the number of row 3"},
    {"ShortBias",
     [](ModelParts& m) {
       m.header["user_bias"]["shape"] = {4};
       m.header["user_bias"]["data_offsets"][1] =
           m.header["user_bias"]["data_offsets"][1].get<int>() - 4;
       m.header["rest"] = m.header["user_bias"];
       m.header["rest"]["shape"] = {1};
       m.header["rest"]["data_offsets"] = {m.header["user_bias"]["data_offsets"][1].get<int>(),
                                           m.header["user_bias"]["data_offsets"][1].get<int>() + 4};
     },
     "user_bias has 4 numbers for 5 ids"},
    // Ids.
    {"UnknownIdKind", metadata("user_ids", "uuid"), "it must be range, integers or text"},
    {"NoIdKind", without_metadata("item_ids"), "metadata 'item_ids' is missing"},
    {"IdsNotSorted", number<char>("user_ids.chars", 0, '~'), "user_ids: text id"},
    {"IdOffsetFalls", number<Offset>("user_ids.offsets", 3, 0), "user_ids: text ids: the offset"},
    {"IdOffsetOutside", number<Offset>("user_ids.offsets", 2, Offset{1} << 60),
     "user_ids: text ids: the offset"},
    {"IdOffsetsDoNotSpan", number<Offset>("item_ids.offsets", 9, 3), "item_ids: text ids"},
    {"IdOffsetsDoNotStart", number<Offset>("item_ids.offsets", 0, 1), "item_ids: text ids"},
    {"RangeOfOtherSize", metadata("user_ids", "integers"),
     "user_ids: tensor 'user_ids' is missing"},
    // Titles.
    {"NoTitleChars", without_tensor("item_titles.chars"), "'item_titles.chars' is missing"},
    {"NoTitleOffsets", without_tensor("item_titles.offsets"), "'item_titles.offsets' is missing"},
    {"TitlesAreText", tensor("item_titles.chars", "dtype", "I8"), "it must be U8"},
    {"TitleOffsetsStartLate", number<Offset>("item_titles.offsets", 0, 1),
     "item_titles.offsets does not start at 0"},
    {"TitleOffsetFalls", number<Offset>("item_titles.offsets", 4, 0),
     "item_titles.offsets falls after item 3"},
    {"TitleOffsetOutside", number<Offset>("item_titles.offsets", 4, Offset{1} << 60),
     "item_titles.offsets falls after item 4"},
    {"TitleOffsetsDoNotSpan", number<Offset>("item_titles.offsets", 9, 87),
     "item_titles.offsets ends at 87 of 88"},
    {"TitleNotUtf8", number<char>("item_titles.chars", 1, '\xff'), "title of item 0 is not UTF-8"},
    {"TitleWithControl", number<char>("item_titles.chars", 0, '\x1b'),
     "title of item 0 holds a control character"},
    {"TitleCutInACharacter", number<Offset>("item_titles.offsets", 1, 2),
     "title of item 0 is not UTF-8"},
    {"ShortTitleOffsets",
     [](ModelParts& m) {
       auto& offsets = m.header["item_titles.offsets"];
       const auto end = offsets["data_offsets"][1].get<int>();
       m.header["rest"] = offsets;
       m.header["rest"]["shape"] = {1};
       m.header["rest"]["data_offsets"] = {end - 8, end};
       offsets["shape"] = {9};
       offsets["data_offsets"][1] = end - 8;
     },
     "item_titles.offsets has 9 numbers for 9 items"},
    // History.
    {"ColumnOutside", number<Index>("history.columns", 0, 9), "history: row"},
    {"ColumnNegative", number<Index>("history.columns", 0, -1), "history: row"},
    {"ColumnTwice",
     [](ModelParts& m) {
       m.set<Index>("history.columns", 1, 0), m.set<Index>("history.columns", 0, 0);
     },
     "history: row"},
    {"ValueIsNan", number("history.values", 2, kNan), "history: row"},
    {"HistoryStartsLate", number<Offset>("history.offsets", 0, 1), "first offset is not 0"},
    {"HistoryFalls", number<Offset>("history.offsets", 2, -7), "history: the offset after row"},
    {"HistoryRises", number<Offset>("history.offsets", 2, Offset{1} << 40), "history: the offset"},
    {"HistoryEndsLate", number<Offset>("history.offsets", 5, Offset{1} << 40),
     "history.offsets ends at 1099511627776"},
};

class BrokenModel : public testing::TestWithParam<Fault> {};

TEST_P(BrokenModel, IsRefused) {
  ModelParts parts(good_file());
  GetParam().change(parts);
  expect_refused(parts.sealed(), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Faults, BrokenModel, testing::ValuesIn(kFaults),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(BrokenModelFile, TheUnchangedPartsAreAccepted) {
  ModelParts parts(good_file());
  EXPECT_EQ(parts.sealed(), good_file());
  (void)test::model_from_string(parts.sealed());
}

TEST(BrokenModelFile, IntegerIdsMustRise) {
  ModelParts parts(good_integers());
  parts.set<std::int64_t>("item_ids", 4, 1LL << 62);
  expect_refused(parts.sealed(), "item_ids: id");
}

TEST(BrokenModelFile, IntegerIdsMustBeAsManyAsFactors) {
  ModelParts parts(good_integers());
  parts.header["item_factors"]["shape"] = {18, 8};
  expect_refused(parts.sealed(), "item_factors is 18 x 8, it must be 9 x 16");
}

TEST(BrokenModelFile, PopularModelsNeedItemBiases) {
  const test::TemporaryFolder folder;
  save_model(test::make_model({5, 9, 0, Ids::kText, false}), folder / "model");
  ModelParts parts(test::read_file(folder / "model"));
  without_tensor("item_bias")(parts);
  expect_refused(parts.sealed(), "item_bias has 0 numbers for 9 ids");
}

TEST(BrokenModelFile, HeadersThatAreNotJson) {
  const std::string data(64, '\0');
  expect_refused("", "too short");
  expect_refused("1234567", "too short");
  expect_refused(std::string(8, '\0'), "not a safetensors file");
  expect_refused(std::string(100, '\xff'), "not a safetensors file");
  expect_refused("user,item,value\n1,2,3\n", "it is text, not a model");
  expect_refused("PAR1" + std::string(100, '\0'), "it is a Parquet file, not a model");
  expect_refused(ModelParts::join("[1]", data), "does not begin with '{'");
  expect_refused(ModelParts::join("{", data), "not valid JSON");
  expect_refused(ModelParts::join("{}}", data), "not valid JSON");
  expect_refused(ModelParts::join("{\"a\":\"\xff\"}", data), "not valid JSON");
  expect_refused(ModelParts::join("{\"a\":1e999}", data), "not valid JSON");
  expect_refused(ModelParts::join("{\"a\":1}", data), "'a' is not described by an object");
  expect_refused(ModelParts::join("{}", data), "64 bytes after the last tensor");
  expect_refused(ModelParts::join("{}", ""), "not a likewise model");
  expect_refused(ModelParts::join("{" + std::string(1 << 20, '['), data), "not valid JSON");
  expect_refused(ModelParts::join("{\"a\":" + std::string(1 << 20, '['), data),
                 "nested too deeply");
}

TEST(BrokenModelFile, ManySmallValuesAreRefusedQuickly) {
  // Work per value must not grow with the values before it: quadratic, this would run for hours.
  std::string text = R"({"a":[{})";
  for (int i = 0; i < 300'000; ++i) text += ",{}";
  text += "]}";
  expect_refused(ModelParts::join(text, ""), "'a' is not described by an object");
}

TEST(BrokenModelFile, NamesThatComeTwice) {
  std::string text = ModelParts(good_file()).header.dump();
  text.insert(text.size() - 1, R"(,"user_bias":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})");
  expect_refused(ModelParts::join(text, ModelParts(good_file()).data), "'user_bias' twice");
}

TEST(BrokenModelFile, OtherProgramsFiles) {
  expect_refused("\x1f\x8b\x08 and more", "gzip");
  expect_refused("\x28\xb5\x2f\xfd and more", "zstd");
  expect_refused("PK\x03\x04 and more", "zip archive");
}

TEST(BrokenModelFile, EveryTruncationIsRefused) {
  const std::string& good = good_file();
  for (std::size_t length = 0; length < good.size(); ++length) {
    try {
      (void)test::model_from_string(good.substr(0, length));
      FAIL() << "accepted at " << length << " of " << good.size();
    } catch (const Error& fault) {
      EXPECT_EQ(fault.kind(), ErrorKind::kBadData) << length << ": " << fault.what();
    }
  }
}

TEST(BrokenModelFile, EveryChangedByteIsRefused) {
  std::string bytes = good_file();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    const char good = bytes[at];
    const int bit = static_cast<int>(at % 8);  // every bit and every place
    bytes[at] = static_cast<char>(good ^ (1 << bit));
    try {
      (void)test::model_from_string(bytes);
      FAIL() << "accepted with bit " << bit << " of byte " << at << " changed";
    } catch (const Error& fault) {
      EXPECT_EQ(fault.kind(), ErrorKind::kBadData) << at << ": " << fault.what();
    }
    bytes[at] = good;
  }
}

TEST(BrokenModelFile, MovedHeaderEndIsRefused) {
  // A space less of padding: without the length in the checksum the same bytes in another order.
  const auto length_of = [](const std::string& bytes) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    return length;
  };
  test::ModelParts parts(good_file());
  std::string bytes = parts.sealed();
  if (bytes[7 + length_of(bytes)] != ' ') {  // it fits without: a letter more does not
    parts.metadata()["source"] = parts.metadata()["source"].get<std::string>() + "x";
    bytes = parts.sealed();
  }
  std::uint64_t length = length_of(bytes);
  ASSERT_EQ(bytes[7 + length], ' ');
  --length;
  std::memcpy(bytes.data(), &length, sizeof(length));
  expect_refused(bytes + "x", "");
}

TEST(BrokenModelFile, ErrorsNameTheFile) {
  const test::TemporaryFolder folder;
  std::string bytes = good_file();
  bytes.back() ^= 1;
  test::write_file(folder / "changed", bytes);
  test::write_file(folder / "empty", "");
  const auto message = [&](const std::string& path, ErrorKind kind) -> std::string {
    try {
      (void)load_model(path);
    } catch (const Error& fault) {
      EXPECT_EQ(fault.kind(), kind) << fault.what();
      EXPECT_THAT(fault.what(), testing::HasSubstr(path));
      return fault.what();
    }
    return "accepted";
  };
  EXPECT_THAT(message(folder / "changed", ErrorKind::kBadData), testing::HasSubstr("checksum"));
  EXPECT_THAT(message(folder / "empty", ErrorKind::kBadData), testing::HasSubstr("0 bytes"));
  EXPECT_THAT(message(folder / "absent", ErrorKind::kNotFound), testing::HasSubstr("No such file"));
  EXPECT_THAT(message(folder / "empty/x", ErrorKind::kNotFound), testing::HasSubstr("empty/x"));
  EXPECT_THAT(message("/dev/null", ErrorKind::kIo), testing::HasSubstr("not a regular file"));
  EXPECT_THAT(message(folder / "", ErrorKind::kIo), testing::HasSubstr("not a regular file"));
}

}  // namespace
}  // namespace likewise
