// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/error.h"
#include "likewise/version.h"
#include "tests/learned.h"
#include "tests/model/model_support.h"

namespace likewise {
namespace {

using test::Ids;
using test::make_model;
using test::ModelShape;

void expect_same_params(const AlsParams& a, const AlsParams& b) {
  EXPECT_EQ(a.feedback, b.feedback);
  EXPECT_EQ(a.factors, b.factors);
  EXPECT_EQ(a.iterations, b.iterations);
  EXPECT_EQ(a.regularization, b.regularization);
  EXPECT_EQ(a.regularization_exponent, b.regularization_exponent);
  EXPECT_EQ(a.regularization_count, b.regularization_count);
  EXPECT_EQ(a.alpha, b.alpha);
  EXPECT_EQ(a.confidence, b.confidence);
  EXPECT_EQ(a.epsilon, b.epsilon);
  EXPECT_EQ(a.unobserved_weight, b.unobserved_weight);
  EXPECT_EQ(a.biases, b.biases);
  EXPECT_EQ(a.init_stddev, b.init_stddev);
  EXPECT_EQ(a.solver, b.solver);
  EXPECT_EQ(a.cg_steps, b.cg_steps);
  EXPECT_EQ(a.cg_tolerance, b.cg_tolerance);
  EXPECT_EQ(a.cg_preconditioner, b.cg_preconditioner);
  EXPECT_EQ(a.precision, b.precision);
  EXPECT_EQ(a.tolerance, b.tolerance);
  EXPECT_EQ(a.patience, b.patience);
  EXPECT_EQ(a.seed, b.seed);
}

void expect_same_model(const Model& a, const Model& b) {
  EXPECT_EQ(a.algorithm(), b.algorithm());
  test::expect_same_ids(a.users, b.users);
  test::expect_same_ids(a.items, b.items);
  ASSERT_EQ(a.learned.index(), b.learned.index());
  if (a.factors() != nullptr) {
    test::expect_same_factors(*a.factors(), *b.factors());
  } else {
    test::expect_same_bytes(std::get<Popularity>(a.learned).shares.span(),
                            std::get<Popularity>(b.learned).shares.span(), "shares");
  }
  EXPECT_EQ(a.history.rows, b.history.rows);
  EXPECT_EQ(a.history.cols, b.history.cols);
  test::expect_same_bytes(a.history.offsets.span(), b.history.offsets.span(), "offsets");
  test::expect_same_bytes(a.history.columns.span(), b.history.columns.span(), "columns");
  test::expect_same_bytes(a.history.values.span(), b.history.values.span(), "values");
  test::expect_same_bytes(a.titles.chars.span(), b.titles.chars.span(), "titles");
  test::expect_same_bytes(a.titles.offsets.span(), b.titles.offsets.span(), "titles");
  if (const auto* als = std::get_if<AlsParams>(&a.params)) {
    expect_same_params(*als, std::get<AlsParams>(b.params));
  }
  EXPECT_EQ(a.feedback(), b.feedback());
  EXPECT_EQ(a.validation_metric, b.validation_metric);
  EXPECT_EQ(a.stop_reason, b.stop_reason);
  ASSERT_EQ(a.last.has_value(), b.last.has_value());
  if (a.last) test::expect_same_factors(*a.last, *b.last);
  test::expect_same_iterations(a.iterations, b.iterations);
  EXPECT_EQ(a.best_iteration, b.best_iteration);
  EXPECT_EQ(b.provenance.likewise_version, kVersion);
  EXPECT_EQ(a.provenance.created, b.provenance.created);
  EXPECT_EQ(a.provenance.source, b.provenance.source);
  EXPECT_EQ(a.provenance.device, b.provenance.device);
  ASSERT_EQ(a.provenance.updates.size(), b.provenance.updates.size());
  for (std::size_t i = 0; i < a.provenance.updates.size(); ++i) {
    const ModelUpdate& left = a.provenance.updates[i];
    const ModelUpdate& right = b.provenance.updates[i];
    EXPECT_EQ(std::tie(left.created, left.source, left.device, left.interactions, left.users,
                       left.items, left.iterations, left.by),
              std::tie(right.created, right.source, right.device, right.interactions, right.users,
                       right.items, right.iterations, right.by));
  }
}

/// LIKEWISE_KEEP_MODELS=FOLDER leaves the files there for tests/python/test_model_file.py.
void keep(const std::string& path, const std::string& name) {
  const char* folder = std::getenv("LIKEWISE_KEEP_MODELS");
  if (folder == nullptr) return;
  std::filesystem::create_directories(folder);
  std::filesystem::copy_file(path, std::filesystem::path(folder) / (name + ".safetensors"),
                             std::filesystem::copy_options::overwrite_existing);
}

class RoundTrip : public testing::TestWithParam<ModelShape> {};

TEST_P(RoundTrip, IsExact) {
  const test::TemporaryFolder folder;
  const ModelShape shape = GetParam();
  const Model model = make_model(shape);
  save_model(model, folder / "model");
  expect_same_model(model, load_model(folder / "model"));
  keep(folder / "model", fmt::format("{}x{}x{}-ids{}{}", shape.users, shape.items, shape.factors,
                                     static_cast<int>(shape.ids), shape.biases ? "-biases" : ""));
}

TEST_P(RoundTrip, SavesTheSameBytesTwice) {
  const test::TemporaryFolder folder;
  save_model(make_model(GetParam()), folder / "first");
  save_model(load_model(folder / "first"), folder / "second");
  EXPECT_EQ(test::read_file(folder / "first"), test::read_file(folder / "second"));
}

std::vector<ModelShape> shapes() {
  std::vector<ModelShape> all;
  for (const Index factors : {0, 1, 7, 16, 33, 64}) {
    for (const Ids ids : {Ids::kRange, Ids::kIntegers, Ids::kText}) {
      all.push_back({5, 9, factors, ids, false});
      all.push_back({70, 33, factors, ids, true});
    }
    all.push_back({0, 0, factors, Ids::kText, false});
    all.push_back({0, 4, factors, Ids::kRange, true});
    all.push_back({4, 0, factors, Ids::kIntegers, true});
    all.push_back({1, 1, factors, Ids::kRange, false});
  }
  all.push_back({5000, 3, 100, Ids::kIntegers, true});  // more than one packing buffer
  all.push_back({20, 3, 4096, Ids::kRange, false});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Model, RoundTrip, testing::ValuesIn(shapes()), [](const auto& test) {
  const ModelShape& s = test.param;
  return fmt::format("n{}_{}x{}x{}_ids{}{}", test.index, s.users, s.items, s.factors,
                     static_cast<int>(s.ids), s.biases ? "_biases" : "");
});

TEST(Model, MapsFactorsAndHistoryInPlace) {
  const test::TemporaryFolder folder;
  save_model(make_model({50, 40, 32, Ids::kIntegers, false}), folder / "model");
  Model model = load_model(folder / "model");
  const std::string before = test::read_file(folder / "model");
  const auto distance = reinterpret_cast<std::intptr_t>(test::factors_of(model).items.data()) -
                        reinterpret_cast<std::intptr_t>(test::factors_of(model).users.data());
  EXPECT_EQ(distance, 50 * 32 * 4) << "both lie in the mapped file, one after the other";
  test::factors_of(model).users.row(3)[5] = 123.0F;  // private: the file keeps its number
  EXPECT_EQ(test::read_file(folder / "model"), before);
  // The mapping lives as long as any array of it.
  const Model moved = std::move(model);
  std::filesystem::remove(folder / "model");
  EXPECT_EQ(test::factors_of(moved).users.row(3)[5], 123.0F);
  moved.validate();
}

TEST(Model, SavesOverTheFileThatItIsMappedFrom) {
  const test::TemporaryFolder folder;
  save_model(make_model({50, 40, 32, Ids::kIntegers, false}), folder / "model");
  Model model = load_model(folder / "model");
  model.best_iteration = 1;
  save_model(model, folder / "model");
  const Model again = load_model(folder / "model");
  EXPECT_EQ(again.best_iteration, 1);
  expect_same_model(model, again);
}

TEST(Model, EveryTensorIsAligned) {
  const test::TemporaryFolder folder;
  save_model(make_model({5, 9, 7, Ids::kText, true}), folder / "model");
  const std::string bytes = test::read_file(folder / "model");
  const test::ModelParts parts(bytes);
  EXPECT_EQ((bytes.size() - parts.data.size()) % 64, 0U);
  int tensors = 0;
  for (const auto& [name, tensor] : parts.header.items()) {
    if (name == "__metadata__" || name.starts_with("_pad.")) continue;
    EXPECT_EQ(tensor["data_offsets"][0].get<std::size_t>() % 64, 0U) << name;
    ++tensors;
  }
  EXPECT_EQ(tensors, 13);
}

TEST(Model, ReadsFilesOfOtherWritersThatAreNotAligned) {
  const test::TemporaryFolder folder;
  const Model model = make_model({5, 9, 16, Ids::kText, true});
  save_model(model, folder / "model");
  test::ModelParts parts(test::read_file(folder / "model"));
  // One byte in front moves everything off alignment.
  parts.data.insert(0, 1, 'x');
  for (auto& [name, tensor] : parts.header.items()) {
    if (name == "__metadata__") continue;
    for (auto& offset : tensor["data_offsets"]) offset = offset.get<std::size_t>() + 1;
  }
  parts.header["extra"] = {{"dtype", "BOOL"}, {"shape", {1, 1}}, {"data_offsets", {0, 1}}};
  test::write_file(folder / "shifted", parts.sealed());
  expect_same_model(model, load_model(folder / "shifted"));
}

TEST(Model, UnknownMetadataAndParametersAreIgnored) {
  const test::TemporaryFolder folder;
  save_model(make_model({}), folder / "model");
  test::ModelParts parts(test::read_file(folder / "model"));
  parts.metadata()["note"] = "by hand";
  auto parameters = nlohmann::json::parse(parts.metadata()["parameters"].get<std::string>());
  parameters["momentum"] = 0.5;
  parts.metadata()["parameters"] = parameters.dump();
  expect_same_model(make_model({}), test::model_from_string(parts.sealed()));
}

TEST(Model, MeasurementsThatAreNotFiniteComeBackAsNan) {
  const test::TemporaryFolder folder;
  Model model = make_model({});
  model.iterations[1].validation = std::nan("");
  model.iterations[1].objective = HUGE_VAL;
  save_model(model, folder / "model");
  const Model back = load_model(folder / "model");
  EXPECT_TRUE(std::isnan(*back.iterations[1].validation));
  EXPECT_TRUE(std::isnan(back.iterations[1].objective));
  EXPECT_EQ(back.iterations[0].validation, std::nullopt);
}

TEST(Model, VeryLongTrainingsKeepTheirLastReports) {
  const test::TemporaryFolder folder;
  Model model = make_model({});
  model.iterations.clear();
  for (int i = 1; i <= 70000; ++i) model.iterations.push_back({i, -1e300 / i, 1e-300 / i, 1.0 / i});
  model.best_iteration = 70000;
  save_model(model, folder / "model");
  const Model back = load_model(folder / "model");
  test::expect_same_iterations(back.iterations, std::span(model.iterations).last(65536));
}

TEST(Model, OfManyUpdatesTheLastAreKept) {
  const test::TemporaryFolder folder;
  Model model = make_model({});
  for (int i = 0; i < 8195; ++i) {
    model.provenance.updates.push_back({"", "new.csv", "", Offset{i}, 1, 2, 3});
  }
  save_model(model, folder / "model");
  const std::vector<ModelUpdate> back = load_model(folder / "model").provenance.updates;
  ASSERT_EQ(back.size(), 8192U);
  EXPECT_EQ(back.front().interactions, 3);
  EXPECT_EQ(back.back().interactions, 8194);
}

TEST(Model, TheSearchForItsParametersIsKept) {
  const test::TemporaryFolder folder;
  Model model = make_model({});
  save_model(model, folder / "model");
  EXPECT_FALSE(load_model(folder / "model").provenance.search);
  EXPECT_EQ(load_model(folder / "model").provenance.choice, "");
  model.provenance.choice = "a user has 20 interactions";
  model.provenance.search =
      ModelSearch{"ndcg@10", 0.25, "popular", 0.125, 40, 12.5, "40", "random 0.1", 1ULL << 63U};
  save_model(model, folder / "model");
  EXPECT_EQ(load_model(folder / "model").provenance.choice, "a user has 20 interactions");
  const ModelSearch back = load_model(folder / "model").provenance.search.value();
  EXPECT_EQ(std::tie(back.metric, back.value, back.baseline, back.baseline_value, back.trials,
                     back.seconds, back.budget, back.validation, back.seed),
            std::make_tuple("ndcg@10", 0.25, "popular", 0.125, 40, 12.5, "40", "random 0.1",
                            1ULL << 63U));
}

TEST(Model, TextThatIsNotUtf8IsReplaced) {
  const test::TemporaryFolder folder;
  Model model = make_model({});
  model.provenance.source = "caf\xe9.csv";
  save_model(model, folder / "model");
  EXPECT_EQ(load_model(folder / "model").provenance.source, "caf\xef\xbf\xbd.csv");
  model.provenance.updates = {{"", "caf\xe9.csv", "", 1, 0, 0, 0}};
  save_model(model, folder / "model");
  EXPECT_EQ(load_model(folder / "model").provenance.updates[0].source, "caf\xef\xbf\xbd.csv");
}

TEST(Model, FailedSavesLeaveTheOldFile) {
  const test::TemporaryFolder folder;
  Model model = make_model({});
  save_model(model, folder / "model");
  const std::string before = test::read_file(folder / "model");
  test::factors_of(model).items.row(2)[1] = std::nanf("");
  EXPECT_THROW(save_model(model, folder / "model"), Error);
  EXPECT_EQ(test::read_file(folder / "model"), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(
                              std::filesystem::path(folder / "model").parent_path()),
                          {}),
            1);
}

TEST(Model, FullDiskIsAnError) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  try {
    save_model(make_model({5000, 300, 64, Ids::kText, true}), "/dev/full");
    FAIL() << "a full disk went unnoticed";
  } catch (const Error& fault) {
    EXPECT_EQ(fault.kind(), ErrorKind::kIo);
    EXPECT_THAT(fault.what(), testing::HasSubstr("/dev/full"));
  }
}

TEST(Model, CompressedNamesAreRefused) {
  const test::TemporaryFolder folder;
  for (const char* name : {"model.gz", "model.zst"}) {
    try {
      save_model(make_model({}), folder / name);
      FAIL() << name;
    } catch (const Error& fault) {
      EXPECT_EQ(fault.kind(), ErrorKind::kInvalidArgument);
    }
    EXPECT_FALSE(std::filesystem::exists(folder / name));
  }
}

}  // namespace
}  // namespace likewise
