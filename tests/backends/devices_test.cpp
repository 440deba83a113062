// SPDX-License-Identifier: Apache-2.0
/// Device texts, and what becomes of plug-ins that are missing, broken, foreign or throwing. A fake
/// plug-in (fakes/plugin.cpp) stands for the real one, so no GPU and no CUDA is needed.
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sys/stat.h>
#include <type_traits>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/iteration_run.h"
#include "algorithms/sgd/sgd.h"
#include "backends/cuda/host/cuda_device.h"
#include "backends/cuda/host/load_plugin.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/control.h"
#include "likewise/error.h"
#include "likewise/recommender.h"
#include "likewise/synthetic.h"
#include "likewise/training.h"
#include "tests/backends/fake_plugin.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::FakePlugin;
using test::Variable;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

constexpr const char* kFile = "liblikewise_cuda.so";

std::string refusal(const char* device, ErrorKind kind = ErrorKind::kDevice) {
  return test::error_of(kind, [device] { (void)open_device(device); });
}

AlsParams small_params() {
  AlsParams params;
  params.factors = 6;
  params.iterations = 3;
  return params;
}

/// The only line of device_statuses about CUDA.
std::string cuda_line() {
  const std::vector<DeviceStatus> lines = cuda_statuses();
  EXPECT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines.front().name, "cuda");
  EXPECT_FALSE(lines.front().available);
  return lines.front().description;
}

TEST(Devices, WrongTextsNameTheRightForms) {
  const FakePlugin plugin;
  for (const char* text : {"",        "abacus",      "CUDA",      "cuda0",      "cuda:",
                           "cuda:x",  "cuda:-1",     "cuda:+1",   "cuda: 1",    "cuda:1 ",
                           "cuda:1,", "cuda:,1",     "cuda:1,,3", "cuda:1;2",   "cuda:99999999999",
                           "cpu:0",   "reference:1", "cuda:ALL",  "cuda:all,1", "cuda:1,all"}) {
    EXPECT_THAT(refusal(text, ErrorKind::kInvalidArgument),
                AllOf(HasSubstr("auto, cpu, reference, cuda, cuda:N"), HasSubstr("cuda:all"),
                      HasSubstr("\"" + std::string(text) + "\"")));
  }
}

TEST(Devices, MixturesSayHowSeveralGpusAreNamed) {
  const FakePlugin plugin("several");
  for (const char* text : {"cpu,cuda:1", "cuda:1,cpu", "cuda:1,cuda:3", "cuda,cpu"}) {
    EXPECT_THAT(refusal(text, ErrorKind::kInvalidArgument),
                HasSubstr("\"" + std::string(text) +
                          "\"; several GPUs are named as cuda:0,1, and no other device shares a "
                          "job with them"));
  }
}

TEST(Devices, CudaTakesTheFirstGpuThatCanBeUsed) {
  const FakePlugin plugin;
  const auto device = open_device("cuda");
  EXPECT_EQ(device.name(), "cuda:1");
  EXPECT_EQ(device.description(), "Fine GPU, compute capability 9.0, 140 GiB");
  EXPECT_EQ(open_device("cuda:1").name(), "cuda:1");
}

TEST(Devices, GpusThatCannotBeUsedSayWhy) {
  const FakePlugin plugin;
  EXPECT_EQ(refusal("cuda:0"),
            "device cuda:0: Old GPU, compute capability 7.5, 8 GiB: too old: compute capability "
            "8.0 or newer is needed");
  EXPECT_THAT(refusal("cuda:2"), HasSubstr("closed to programs"));
  EXPECT_THAT(refusal("cuda:3"), HasSubstr("3 GPUs, numbered from 0"));
  EXPECT_EQ(refusal("cuda:1,0"),
            "device cuda:1,0: cuda:0: Old GPU, compute capability 7.5, 8 GiB: too old: compute "
            "capability 8.0 or newer is needed");
  EXPECT_EQ(refusal("cuda:1,7"),
            "device cuda:1,7: there is no GPU 7: this machine has 3 GPUs, numbered from 0; "
            "`likewise info` lists them");
  EXPECT_EQ(refusal("cuda:1,1", ErrorKind::kInvalidArgument),
            "device cuda:1,1: GPU 1 is named twice");
  const FakePlugin worse("none usable");
  EXPECT_THAT(refusal("cuda"), HasSubstr("Old GPU"));
  EXPECT_THAT(refusal("cuda:all"), HasSubstr("device cuda:all: Old GPU"));
  const FakePlugin empty("no GPU");
  EXPECT_EQ(refusal("cuda:0"), "device cuda:0: there is no GPU in this test");
  EXPECT_EQ(refusal("cuda:all"), "device cuda:all: there is no GPU in this test");
}

TEST(SeveralGpus, AreOneDevice) {
  const FakePlugin plugin("several");
  const Device pair = open_device("cuda:3,1");
  EXPECT_EQ(pair.name(), "cuda:3,1");
  EXPECT_EQ(pair.description(), "2 GPUs, each Fine GPU, compute capability 9.0, 140 GiB");
  const Device all = open_device("cuda:all");
  EXPECT_EQ(all.name(), "cuda:1,3,4,5");
  EXPECT_THAT(all.description(),
              AllOf(StartsWith("4 GPUs: cuda:1 Fine GPU, "), HasSubstr("; cuda:5 Other GPU, ")));
}

TEST(SeveralGpus, AllMayBeOne) {
  const FakePlugin plugin;
  const Device all = open_device("cuda:all");
  EXPECT_EQ(all.name(), "cuda:1");
  EXPECT_EQ(all.description(), "Fine GPU, compute capability 9.0, 140 GiB");
}

TEST(SeveralGpus, SayWhatTheyDoTogether) {
  const FakePlugin plugin("several");
  const Device pair = open_device("cuda:1,3");
  for (const Job job : {Job::kAls, Job::kKnn, Job::kTopK, Job::kSgd, Job::kPredictions}) {
    EXPECT_TRUE(pair.status(job).available);
  }
  EXPECT_EQ(test::error_of(ErrorKind::kDevice, [&] { pair.require(Job::kBpr); }),
            "device cuda:1,3 cannot do the job bpr: it runs on one GPU, as cuda:1; several do als, "
            "sgd, neighbours, top-k and predictions together; name a device that can (`likewise "
            "info` says which), or let auto choose");
  EXPECT_THAT(test::error_of(ErrorKind::kDevice,
                             [] { (void)open_device_to_train("cuda:1,3", BprParams()); }),
              HasSubstr("bpr: it runs on one GPU"));
  EXPECT_THAT(test::error_of(ErrorKind::kDevice,
                             [] { (void)open_device_to_train("cuda:all", small_params()); }),
              HasSubstr("als: it takes GPUs of one kind"));
  EXPECT_THAT(test::error_of(ErrorKind::kDevice,
                             [] { (void)open_device_to_train("cuda:all", SgdParams()); }),
              HasSubstr("sgd: it takes GPUs of one kind"));
  const FakePlugin without("no neighbours");
  EXPECT_EQ(open_device("cuda:all").status(Job::kKnn).available, false);
}

/// The lines of a file, in the order of the alphabet.
std::vector<std::string> sorted_lines(const std::string& path) {
  std::vector<std::string> lines;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  std::ranges::sort(lines);
  return lines;
}

TEST(SeveralGpus, EachDoesItsPart) {
  const FakePlugin plugin("several");
  const test::TemporaryFolder folder;
  const Variable used("FAKE_PLUGIN_USED", (folder / "used").c_str());
  const CsrMatrix by_user = test::random_csr(60, 40, 8.0);
  const Device pair = open_device("cuda:1,4");
  const Device cpu = open_device("cpu");
  auto model = std::make_shared<Model>();
  model->params = small_params();
  model->users = IdMap::range(by_user.rows);
  model->items = IdMap::range(by_user.cols);
  model->learned = train_als(by_user.view(), small_params(), pair).factors;
  EXPECT_THAT(sorted_lines(folder / "used"), ElementsAre("als 1,4"));
  const Index users[] = {0, 1, 2};
  const TopKResult shared = Recommender(model, pair).recommend(users, {});
  const TopKResult alone = Recommender(model, cpu).recommend(users, {});
  EXPECT_TRUE(std::ranges::equal(shared.items, alone.items));
  EXPECT_TRUE(std::ranges::equal(shared.scores, alone.scores));
  const std::vector<Index> items{3, 9, 4};
  EXPECT_EQ(Recommender(model, pair).predict(users, items),
            Recommender(model, cpu).predict(users, items));
  const KnnParams params;
  const KnnLists near = train_knn(by_user.view(), params, pair).neighbours;
  EXPECT_TRUE(
      std::ranges::equal(near.rows, train_knn(by_user.view(), params, cpu).neighbours.rows));
  (void)train_sgd(by_user.view(), {}, pair);
  EXPECT_THAT(sorted_lines(folder / "used"),
              ElementsAre("als 1,4", "neighbours 1", "neighbours 4", "predictions 1",
                          "predictions 4", "sgd 1,4", "top-k 1", "top-k 4"));
}

TEST(SeveralGpus, AutoTakesThemWhereThatPays) {
  const CsrMatrix by_user = test::random_csr(60, 40, 8.0);
  for (const bool slow : {false, true}) {
    SCOPED_TRACE(slow);
    const FakePlugin plugin(slow ? "several slow" : "several");
    const test::TemporaryFolder folder;
    const Variable used("FAKE_PLUGIN_USED", (folder / "used").c_str());
    const DeviceChoice choice = open_device_to_train("auto", KnnParams());
    EXPECT_EQ(choice.device.name(), "cuda:1");
    EXPECT_EQ(choice.reason,
              "neighbours on cuda:1,3,4: shared out where one GPU would take more than 0.9 s");
    std::vector<std::string> remarks;
    RunControl control;
    control.on_progress = [&](const ProgressUpdate& update) {
      if (update.unit.empty()) remarks.emplace_back(update.stage);
    };
    const KnnLists near = train_knn(by_user.view(), {}, choice.device, control).neighbours;
    EXPECT_TRUE(std::ranges::equal(
        near.rows, train_knn(by_user.view(), {}, open_device("cpu")).neighbours.rows));
    ASSERT_FALSE(remarks.empty());
    EXPECT_EQ(remarks.front(),
              slow ? "neighbours on 3 of 3 devices: that is expected to be faster than one"
                   : "neighbours on 1 of 3 devices: more are not expected to be faster");
    EXPECT_THAT(sorted_lines(folder / "used"),
                slow ? testing::ElementsAreArray({"neighbours 1", "neighbours 3", "neighbours 4"})
                     : testing::ElementsAreArray({"neighbours 1"}));
  }
  const FakePlugin one;
  EXPECT_EQ(open_device_to_train("auto", KnnParams()).reason, "");
}

/// The remarks of a training that `auto` chose a device for.
template <class Params>
std::vector<std::string> remarks_of(const DeviceChoice& choice, const CsrView& by_user,
                                    const Params& params) {
  std::vector<std::string> remarks;
  IterationRun run;
  run.control.on_progress = [&](const ProgressUpdate& update) {
    if (update.unit.empty()) remarks.emplace_back(update.stage);
  };
  if constexpr (std::is_same_v<Params, AlsParams>) {
    (void)train_als(by_user, params, choice.device, run);
  } else {
    (void)train_sgd(by_user, params, choice.device, run);
  }
  return remarks;
}

template <class Params>
void expect_auto_to_take_those_that_pay(const char* job, const Params& params) {
  const CsrMatrix by_user = test::random_csr(60, 40, 8.0);
  const std::string rule = fmt::format(
      "{} on cuda:1,3,4: shared out where that is expected to save more than 0.7 s", job);
  for (const bool slow : {false, true}) {
    SCOPED_TRACE(slow);
    const FakePlugin plugin(slow ? "several slow" : "several");
    const test::TemporaryFolder folder;
    const Variable used("FAKE_PLUGIN_USED", (folder / "used").c_str());
    const DeviceChoice choice = open_device_to_train("auto", params);
    EXPECT_EQ(choice.device.name(), "cuda:1");
    EXPECT_EQ(choice.reason, rule);
    EXPECT_THAT(remarks_of(choice, by_user.view(), params),
                ElementsAre(fmt::format("{} on {}", job,
                                        slow ? "3 of 3 GPUs: that is expected to be faster than one"
                                             : "1 of 3 GPUs: more are not expected to be faster")));
    // Beside whoever trains, one GPU may have been asked whether it knows the parameters.
    EXPECT_EQ(sorted_lines(folder / "used").back(),
              fmt::format("{} {}", job, slow ? "1,3,4" : "1"));
  }
  // What connects processes is not needed.
  const FakePlugin plugin("several slow");
  const Variable alone("FAKE_PLUGIN_ALONE", "yes");
  EXPECT_THAT(
      remarks_of(open_device_to_train("auto", params), by_user.view(), params),
      ElementsAre(fmt::format("{} on 3 of 3 GPUs: that is expected to be faster than one", job)));
}

TEST(SeveralGpus, AutoTakesThemForAlsWhereThatPays) {
  AlsParams params;
  params.factors = 8;
  params.iterations = 2;
  expect_auto_to_take_those_that_pay("als", params);
}

TEST(SeveralGpus, AutoTakesThemForSgdWhereThatPays) {
  SgdParams params;
  params.iterations = 2;
  params.order = SgdOrder::kAlternating;
  expect_auto_to_take_those_that_pay("sgd", params);
  const FakePlugin plugin("several slow");
  params.order = SgdOrder::kBlocked;
  EXPECT_EQ(open_device_to_train("auto", params).reason, "");
}

TEST(SeveralGpus, SayWhomTheyReach) {
  const FakePlugin plugin("several");
  std::vector<std::string> lines;
  for (const DeviceStatus& line : device_statuses()) {
    for (const std::string& peer : line.peers) lines.push_back(line.name + " " + peer);
  }
  EXPECT_THAT(lines, ElementsAre("cuda:1 cuda:3", "cuda:3 cuda:1", "cuda:3 cuda:4"));
}

TEST(SeveralGpus, EachMayTakeTheMemoryThatIsAllowed) {
  const FakePlugin plugin("several");
  const Device pair = open_device("cuda:1,3", {.device_memory = Offset{100} << 20});
  EXPECT_EQ(job<AlsJob>(pair).plan({1000, 500, 20000}, AlsParams()).available, Offset{100} << 20);
}

/// CUDA's driver would fail there, or hang.
TEST(Devices, AForkedProcessIsToldThatItHasNoGpu) {
  const FakePlugin plugin;
  (void)open_device("cuda");
  const auto ask = [] {
    try {
      (void)open_device("cuda");
    } catch (const Error& error) {
      std::fputs(error.what(), stderr);
      std::_Exit(error.kind() == ErrorKind::kDevice ? 7 : 8);
    }
    std::_Exit(9);
  };
  EXPECT_EXIT(ask(), testing::ExitedWithCode(7), "forked from process .*spawn");
  EXPECT_EQ(open_device("cuda").name(), "cuda:1");
}

TEST(Devices, AutoMakesListsOnTheCpu) {
  const FakePlugin plugin;
  EXPECT_EQ(open_device("auto").name(), "cpu");
}

TEST(Devices, TheDataDecideWhetherAutoTakesAGpu) {
  const FakePlugin plugin;
  const Interactions data = generate(parse_shape("60x40x600"), 1);
  TrainingRequest request;
  EXPECT_FALSE(outline(request).device) << "before the data are there";
  const auto chosen = [&] { return prepare(request, data).device; };
  EXPECT_EQ(chosen().device.name(), "cpu");
  EXPECT_EQ(chosen().reason, "done before a GPU would have started");
  request.algorithm = "auto";
  EXPECT_EQ(chosen().device.name(), "cpu");
  request.algorithm = "popular";
  EXPECT_EQ(chosen().reason, "") << "no device trains it";
  request.algorithm = "als";
  request.parameters = {{"iterations", "1000000"}};
  with_threads(1, [&] { EXPECT_EQ(chosen().device.name(), "cuda:1"); });
  request.parameters = {{"precision", "tf32"}};
  EXPECT_EQ(outline(request).device->device.name(), "cuda:1") << "the CPU does not have it";
  request = {.device_options = {.device_memory = Offset{1} << 30}};
  EXPECT_EQ(outline(request).device->device.name(), "cuda:1") << "the limit is of a GPU";
  request = {.open_device = open_device("cuda")};
  EXPECT_EQ(chosen().device.name(), "cuda:1");
}

TEST(Devices, AutoTrainsOnTheFirstGpuThatCanBeUsed) {
  const FakePlugin plugin;
  const DeviceChoice choice = open_device_to_train("auto", small_params());
  EXPECT_EQ(choice.device.name(), "cuda:1");
  EXPECT_EQ(choice.reason, "");
}

TEST(Devices, AutoTrainsOnTheCpuWhereNoGpuCanBeUsed) {
  for (const char* fault : {"none usable", "no GPU", "search", "version"}) {
    const FakePlugin plugin(fault);
    const DeviceChoice choice = open_device_to_train("auto", small_params());
    EXPECT_EQ(choice.device.name(), "cpu") << fault;
    EXPECT_THAT(choice.reason, HasSubstr("`likewise info` says why")) << fault;
  }
}

TEST(Devices, AutoTrainsOnTheCpuWhatTheGpuCannot) {
  const FakePlugin plugin("refusal");
  const DeviceChoice choice = open_device_to_train("auto", small_params());
  EXPECT_EQ(choice.device.name(), "cpu");
  EXPECT_EQ(choice.reason, "cuda:1: factors: not in this test");
  EXPECT_EQ(test::error_of(ErrorKind::kInvalidArgument,
                           [] { (void)open_device_to_train("cuda", small_params()); }),
            "factors: not in this test");
}

/// The jobs of a device, beside kJobs: who does each; "-" where nobody does.
std::vector<std::string> doers(const Device& device) {
  std::vector<std::string> names;
  for (const Job job : kJobs) {
    const JobStatus status = device.status(job);
    names.push_back(status.available ? status.device : "-");
    EXPECT_EQ(status.reason.empty(), names.back() == device.name());
    if (status.available) {
      EXPECT_NO_THROW(device.require(job));
    } else {
      EXPECT_THROW(device.require(job), Error);
    }
  }
  return names;
}

TEST(Devices, SayWhatTheyCanDo) {
  const FakePlugin plugin;
  EXPECT_THAT(doers(open_device("cpu")), Each("cpu"));
  EXPECT_THAT(doers(open_device("auto")), Each("cpu"));
  EXPECT_THAT(doers(open_device("reference")), Each("reference"));
  EXPECT_THAT(doers(open_device("cuda")),
              ElementsAre("cuda:1", "cuda:1", "-", "-", "-", "cuda:1", "-", "-"));
  for (const DeviceStatus& line : device_statuses()) {
    EXPECT_EQ(line.jobs.size(), line.available ? kJobs.size() : 0U) << line.name;
  }
}

/// What the device does not do nobody does in its place.
TEST(Devices, WhatADeviceByNameLacksIsAnError) {
  const FakePlugin plugin;
  const CsrMatrix by_user = test::random_csr(60, 40, 8.0);
  const auto lists_on = [&](const Device& device) {
    auto model = std::make_shared<Model>();
    model->params = small_params();
    model->users = IdMap::range(by_user.rows);
    model->items = IdMap::range(by_user.cols);
    model->learned = train_als(by_user.view(), small_params(), device).factors;
    const Index users[] = {0, 1};
    return Recommender(model, device).recommend(users, {}).items.size();
  };
  const std::string expected =
      "device cuda:1 cannot do the job top-k: this version does it on the CPU only; name a device "
      "that can (`likewise info` says which), or let auto choose";
  EXPECT_EQ(test::error_of(ErrorKind::kDevice, [&] { (void)lists_on(open_device("cuda")); }),
            expected);
  const Job also[] = {Job::kTopK};
  EXPECT_EQ(test::error_of(ErrorKind::kDevice,
                           [&] { (void)open_device_to_train("cuda", small_params(), {}, also); }),
            expected);
  EXPECT_EQ(lists_on(open_device_to_train("auto", small_params()).device), 20);
}

TEST(Devices, AutoSaysWhatElseTheCpuDoes) {
  const FakePlugin plugin;
  const Job lists[] = {Job::kTopK};
  const DeviceChoice choice = open_device_to_train("auto", small_params(), {}, lists);
  EXPECT_EQ(choice.device.name(), "cuda:1");
  EXPECT_EQ(choice.reason, "top-k on cpu: this version does it on the CPU only");
  EXPECT_THAT(doers(choice.device),
              ElementsAre("cuda:1", "cuda:1", "cpu", "cpu", "cpu", "cuda:1", "cpu", "cpu"));
  const Job search[] = {Job::kKnn};
  EXPECT_EQ(open_device_to_train("auto", KnnParams(), {}, search).reason, "");
}

/// Choosing asks for the job at hand: a GPU without ALS still finds neighbours.
TEST(Devices, AJobThatThePluginLacksIsNoObstacleToOthers) {
  const std::pair<const char*, TrainingParams> lacking[] = {{"no als", small_params()},
                                                            {"no neighbours", KnnParams()}};
  for (const auto& [fault, lost] : lacking) {
    const FakePlugin plugin(fault);
    for (const auto& [other, params] : lacking) {
      const bool lacks = fault == std::string(other);
      const DeviceChoice choice = open_device_to_train("auto", params);
      EXPECT_EQ(choice.device.name(), lacks ? "cpu" : "cuda:1") << fault;
      EXPECT_EQ(choice.reason.empty(), !lacks) << fault;
    }
    const std::string job(std::string_view(fault).substr(3));
    EXPECT_EQ(open_device_to_train("auto", lost).reason,
              "cuda:1 lacks the job " + job + ": this version does it on the CPU only");
    EXPECT_THAT(test::error_of(ErrorKind::kDevice,
                               [&params = lost] { (void)open_device_to_train("cuda", params); }),
                StartsWith("device cuda:1 cannot do the job " + job + ": "));
    EXPECT_EQ(device_statuses()[3].tuning.empty(), job == "als");
  }
}

TEST(Devices, CountingTakesNoJob) {
  const FakePlugin plugin;
  for (const TrainingParams& params :
       {TrainingParams(PopularParams()), TrainingParams(BiasParams())}) {
    EXPECT_EQ(open_device_to_train("auto", params).device.name(), "cpu");
    EXPECT_EQ(open_device_to_train("cuda", params).device.name(), "cuda:1");
  }
}

TEST(Devices, WhatCannotBeTrainedIsRefusedBeforeAnyDataIsRead) {
  const test::TemporaryFolder empty;
  const Variable folder("LIKEWISE_PLUGIN_PATH", (empty / "").c_str());
  AlsParams params = small_params();
  params.precision = Precision::kTf32;
  for (const char* device : {"auto", "cpu", "reference"}) {
    EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                               [&] { (void)open_device_to_train(device, params); }),
                HasSubstr("trains in fp32"));
  }
}

TEST(Devices, AutoNeedsNoPlugin) {
  const test::TemporaryFolder empty;
  const Variable folder("LIKEWISE_PLUGIN_PATH", (empty / "").c_str());
  EXPECT_EQ(open_device().name(), "cpu");
  EXPECT_EQ(open_device_to_train("auto", small_params()).device.name(), "cpu");
}

TEST(Devices, EveryGpuHasALine) {
  const FakePlugin plugin;
  const std::vector<DeviceStatus> lines = device_statuses();
  ASSERT_EQ(lines.size(), 5U);
  EXPECT_EQ(lines[0].name, "cpu");
  EXPECT_EQ(lines[1].name, "reference");
  EXPECT_EQ(lines[2].name, "cuda:0");
  EXPECT_FALSE(lines[2].available);
  EXPECT_THAT(lines[2].description, HasSubstr("too old"));
  EXPECT_EQ(lines[3].name, "cuda:1");
  EXPECT_TRUE(lines[3].available);
  EXPECT_EQ(lines[4].name, "cuda:2");
  EXPECT_FALSE(lines[4].available);
}

TEST(Plugin, Missing) {
  const test::TemporaryFolder empty;
  const Variable folder("LIKEWISE_PLUGIN_PATH", (empty / "").c_str());
  const auto names_all = AllOf(HasSubstr(empty / ""), HasSubstr(kFile), HasSubstr("CUDA toolkit"),
                               HasSubstr("LIKEWISE_PLUGIN_PATH"));
  EXPECT_THAT(cuda_line(), names_all);
  EXPECT_THAT(refusal("cuda"), names_all);
}

TEST(Plugin, WithoutTheVariableTheProgramsFoldersAreSearched) {
  const Variable folder("LIKEWISE_PLUGIN_PATH", nullptr);
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (std::filesystem::exists(here / kFile)) {
    EXPECT_NO_THROW((void)load_cuda_plugin());
  } else {
    EXPECT_THAT(cuda_line(), AllOf(HasSubstr(here.string() + " or "),
                                   HasSubstr(here.parent_path().string() + "/lib/likewise")));
  }
}

TEST(Plugin, FilesThatAreNoneAreNamed) {
  const test::TemporaryFolder place;
  const Variable folder("LIKEWISE_PLUGIN_PATH", (place / "").c_str());
  const std::string path = place / kFile;
  const auto is_refused = [&](const char* why) {
    const auto expected = AllOf(HasSubstr(path), HasSubstr(why));
    EXPECT_THAT(cuda_line(), expected);
    EXPECT_THAT(refusal("cuda"), expected);
    std::filesystem::remove_all(path);
  };
  std::ofstream(path).flush();
  is_refused("cannot be loaded");
  std::ofstream(path) << std::string(4096, 'x');
  is_refused("cannot be loaded");
  std::filesystem::create_directory(path);
  is_refused("cannot be loaded");
  Dl_info library{};  // libstdc++: std::thread::hardware_concurrency(), as the loader finds it
  void* function = dlsym(RTLD_NEXT, "_ZNSt6thread20hardware_concurrencyEv");
  ASSERT_NE(dladdr(function, &library), 0);
  std::filesystem::copy_file(library.dli_fname, path);
  is_refused("undefined symbol");
}

/// The loader maps what a library's headers name: touching what is not there would end the process.
TEST(Plugin, FilesCutShortAreRefused) {
  const test::TemporaryFolder place;
  const Variable folder("LIKEWISE_PLUGIN_PATH", (place / "").c_str());
  const std::filesystem::path whole = std::filesystem::path(LIKEWISE_FAKE_PLUGIN_FOLDER) / kFile;
  const auto size = std::filesystem::file_size(whole);
  std::vector<std::uintmax_t> lengths{0, 1, 16, 63, 64, 100, size - 4096, size - 1};
  for (std::uintmax_t part = 1; part < 16; ++part) lengths.push_back(size * part / 16);
  for (const std::uintmax_t length : lengths) {
    SCOPED_TRACE(length);
    const std::string path = place / kFile;
    std::filesystem::copy_file(whole, path);
    std::filesystem::resize_file(path, length);
    EXPECT_THAT(cuda_line(), AllOf(HasSubstr(path), HasSubstr("cannot be loaded")));
    std::filesystem::remove(path);
  }
}

/// Opening one would wait for a writer.
TEST(Plugin, PipesAreRefused) {
  const test::TemporaryFolder place;
  const Variable folder("LIKEWISE_PLUGIN_PATH", (place / "").c_str());
  const std::string path = place / kFile;
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(cuda_line(), AllOf(HasSubstr(path), HasSubstr("not a regular file")));
}

TEST(Plugin, AnotherBuildIsRefused) {
  for (const char* part : {"interface", "version", "compiler"}) {
    const FakePlugin plugin(part);
    const auto expected = AllOf(HasSubstr(std::string("its ") + part), HasSubstr("another build"));
    EXPECT_THAT(cuda_line(), expected);
    EXPECT_THAT(refusal("cuda:1"), expected);
  }
  const FakePlugin plugin("version");
  EXPECT_THAT(cuda_line(), HasSubstr("0.0.9"));
}

TEST(Plugin, AFailingSearchIsALineNotTheEnd) {
  const FakePlugin plugin("search");
  EXPECT_EQ(cuda_line(), "the GPUs are on fire");
  EXPECT_EQ(open_device("auto").name(), "cpu");
}

TEST(Devices, OnlyGpusHaveAMemoryOfTheirOwn) {
  const FakePlugin plugin;
  for (const char* device : {"auto", "cpu", "reference"}) {
    const std::string message = test::error_of(ErrorKind::kInvalidArgument, [device] {
      (void)open_device(device, {.device_memory = 5000});
    });
    EXPECT_THAT(message, AllOf(HasSubstr("device_memory"), HasSubstr("5000"), HasSubstr(device)));
  }
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [] { (void)open_device("cuda", {.device_memory = -1}); }),
              HasSubstr("-1"));
}

/// The fake GPU has 1 GiB.
TEST(Devices, PlansKeepToTheMemoryThatIsAllowed) {
  const FakePlugin plugin;
  const AlsShape shape{100000, 5000, 10000000};
  const AlsParams params;
  const auto plan_with = [&](Offset memory) {
    return job<AlsJob>(open_device("cuda", {.device_memory = memory})).plan(shape, params);
  };
  EXPECT_EQ(plan_with(0).placement, "everything on the GPU");
  EXPECT_EQ(plan_with(0).available, Offset{1} << 30);
  const MemoryPlan tight = plan_with(Offset{100} << 20);
  EXPECT_THAT(tight.placement, HasSubstr("streamed"));
  EXPECT_LE(tight.total, Offset{100} << 20);
  EXPECT_THAT(test::error_of(ErrorKind::kOutOfMemory, [&] { (void)plan_with(10 << 20); }),
              AllOf(HasSubstr("10.0 MiB"), HasSubstr("fixed side")));
}

TEST(Devices, TheProcessorPlansToo) {
  const auto device = open_device("cpu");
  const AlsParams params;
  const MemoryPlan plan = job<AlsJob>(device).plan({1000, 500, 20000}, params);
  EXPECT_GE(plan.total, 20000 * 8 + 1500 * 64 * 4);
  EXPECT_LE(plan.total, 1 << 20);
  EXPECT_THAT(test::error_of(ErrorKind::kOutOfMemory,
                             [&] {
                               (void)job<AlsJob>(device).plan({2000000000, 2000000000, 1}, params);
                             }),
              AllOf(HasSubstr("2000000000 users"), HasSubstr("GiB")));
}

/// A GPU has no weights below 0: named before anything is trained, with what to do.
TEST(Devices, AGpuRefusesConfidencesBelowOne) {
  const FakePlugin plugin;
  const auto device = open_device("cuda");
  CsrMatrix by_user = test::random_csr(60, 40, 8.0);  // values from 1 to 5
  AlsParams params = small_params();
  params.confidence = Confidence::kGiven;
  EXPECT_NO_THROW((void)train_als(by_user.view(), params, device));
  params.alpha = 0.5;
  const auto refused = [&] {
    return test::error_of(ErrorKind::kBadData,
                          [&] { (void)train_als(by_user.view(), params, device); });
  };
  EXPECT_THAT(refused(), AllOf(HasSubstr("the value 1 of user row "), HasSubstr("confidence 0.5"),
                               HasSubstr("cuda:1"), HasSubstr("the cpu, or with alpha 1 or more")));
  EXPECT_NO_THROW((void)train_als(by_user.view(), params, open_device("cpu")));
  by_user.values[by_user.values.size() - 1] = 0.0F;
  params.alpha = 40.0;
  EXPECT_THAT(refused(), AllOf(HasSubstr("the value 0 of user row 59"), HasSubstr("the cpu")));
  params.confidence = Confidence::kLinear;
  EXPECT_NO_THROW((void)train_als(by_user.view(), params, device));
}

TEST(Plugin, TrainsThroughTheBoundary) {
  const FakePlugin plugin;
  const CsrMatrix by_user = test::random_csr(60, 40, 8.0);
  const auto device = open_device("cuda");
  const IterationResult theirs = train_als(by_user.view(), small_params(), device);
  const IterationResult ours = train_als(by_user.view(), small_params(), open_device("cpu"));
  ASSERT_EQ(theirs.iterations.size(), 3U);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(theirs.iterations[i].objective, ours.iterations[i].objective);
  }
}

TEST(Plugin, ItsErrorsAreOurs) {
  const FakePlugin plugin("training");
  const CsrMatrix by_user = test::random_csr(60, 40, 8.0);
  const auto device = open_device("cuda");
  const std::string message = test::error_of(
      ErrorKind::kNumerical, [&] { (void)train_als(by_user.view(), small_params(), device); });
  EXPECT_EQ(message, "a pivot fell over");
}

TEST(RealPlugin, LoadsAndTellsWhatIsThere) {
  const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  if (!std::filesystem::exists(here / kFile)) GTEST_SKIP() << "built without CUDA";
  const Variable folder("LIKEWISE_PLUGIN_PATH", nullptr);
  const FoundGpus found = load_cuda_plugin().find_gpus();
  EXPECT_EQ(found.gpus.empty(), !found.problem.empty());
  if (found.gpus.empty()) {
    EXPECT_THAT(cuda_line(), HasSubstr("NVIDIA"));
    EXPECT_THAT(refusal("cuda"), StartsWith("device cuda: "));
  }
  for (const DeviceStatus& line : cuda_statuses()) {
    if (!line.available) continue;
    EXPECT_THAT(line.description, HasSubstr("compute capability"));
    EXPECT_EQ(open_device(line.name).name(), line.name);
  }
}

}  // namespace
}  // namespace likewise
