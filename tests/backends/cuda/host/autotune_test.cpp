// SPDX-License-Identifier: Apache-2.0
/// The search for the fastest tuning, on a tuner with a clock of its own: its solvers take as long
/// as they are told to.
#include "likewise/autotune.h"

#include <atomic>
#include <functional>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/jobs/device_jobs.h"
#include "likewise/error.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using Cost = std::function<int(const AlsTuning&)>;  ///< seconds of a half-step

class WaitingSolver final : public AlsSolver {
 public:
  WaitingSolver(int seconds, double& clock, Factors start)
      : seconds_(seconds), clock_(clock), factors_(std::move(start)) {}
  double solve(Side, const RunControl& control) override {
    control.check();
    clock_ += seconds_;
    return 0.0;
  }
  const Factors& factors() override { return factors_; }
  Factors take_factors() override { return std::move(factors_); }

 private:
  int seconds_;
  double& clock_;
  Factors factors_;
};

class WaitingTuner final : public AlsTuner {
 public:
  explicit WaitingTuner(Cost cost) : cost_(std::move(cost)) {}
  [[nodiscard]] std::vector<AlsTuning> variants(const AlsParams&) const override {
    std::vector<AlsTuning> all;
    for (const int columns : {16, 32, 48}) {
      for (const int short_rows : {0, 64}) {
        for (const int piece : {4096, 1024}) {
          all.push_back({columns, short_rows, short_rows, piece});
        }
      }
    }
    all.push_back({16, 0, 0, 4096, true});
    return all;
  }
  [[nodiscard]] std::vector<AlsTuning> built_in(const AlsParams&) const override {
    return {{16, 64, 64, 4096}, {32, 64, 64, 4096}, {48, 64, 64, 4096}, {16, 0, 0, 4096, true}};
  }
  [[nodiscard]] ChosenTuning choose(const AlsParams& params, const AlsShape&) const override {
    return {built_in(params).front(), "built in"};
  }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_solver(const CsrView&, const AlsParams& params,
                                                       Factors start,
                                                       const AlsTuning& tuning) const override {
    EXPECT_EQ(start.users.cols(), params.factors);
    return std::make_unique<WaitingSolver>(cost_(tuning), clock_, std::move(start));
  }
  [[nodiscard]] double now() const override { return clock_; }
  [[nodiscard]] std::string keep(std::span<const TunedAls>) const override { return {}; }
  [[nodiscard]] std::string source() const override { return {}; }
  [[nodiscard]] std::string warning() const override { return {}; }

 private:
  Cost cost_;
  mutable double clock_ = 0.0;
};

class WaitingAls final : public AlsJob {
 public:
  explicit WaitingAls(Cost cost) : tuner_(std::move(cost)) {}
  [[nodiscard]] MemoryPlan plan(const AlsShape&, const AlsParams&) const override { return {}; }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_solver(const CsrView& by_user,
                                                       const AlsParams& params, Factors start,
                                                       int) const override {
    return tuner_.make_solver(by_user, params, std::move(start), {});
  }
  [[nodiscard]] const AlsTuner* tuner() const override { return &tuner_; }

 private:
  WaitingTuner tuner_;
};

[[nodiscard]] Device waiting(Cost cost) {
  JobTable jobs;
  std::get<Offer<AlsJob>>(jobs).job = std::make_shared<WaitingAls>(std::move(cost));
  return make_device(
      "waiting", [] { return std::string(); }, jobs);
}

[[nodiscard]] TuningResult tune(const Cost& cost) {
  const CsrMatrix by_user = test::random_csr(10, 8, 3.0);
  return autotune_als(by_user.view(), {}, waiting(cost));
}

TEST(Autotune, FindsTheBestOfEachThing) {
  const TuningResult found = tune([](const AlsTuning& t) {
    return (t.wide ? 9 : 0) + (t.columns == 48 ? 1 : 4) + (t.short_rows == 0 ? 1 : 4) +
           (t.piece == 1024 ? 1 : 4);
  });
  EXPECT_EQ(found.times.front().tuning, (AlsTuning{16, 64, 64, 4096}));
  EXPECT_EQ(found.times[found.best].tuning, (AlsTuning{48, 0, 0, 1024}));
  EXPECT_EQ(found.times.size(), 6U);  // not all thirteen
  for (const TuningTime& one : found.times) {
    EXPECT_GT(one.least, 0.0);
    EXPECT_LE(one.least, one.median);
    EXPECT_LE(one.median, one.most);
  }
}

TEST(Autotune, ABuiltInTuningThatIsTheBestStays) {
  const TuningResult found = tune([](const AlsTuning& t) {
    return t == AlsTuning{16, 64, 64, 4096} ? 1 : 4;
  });
  EXPECT_EQ(found.best, 0U);
}

TEST(Autotune, AWideKernelHasNothingToDeal) {
  const TuningResult found = tune([](const AlsTuning& t) { return t.wide ? 1 : 4; });
  EXPECT_TRUE(found.times[found.best].tuning.wide);
  EXPECT_EQ(found.times.size(), 4U);
}

TEST(Autotune, CanBeStopped) {
  const CsrMatrix by_user = test::random_csr(10, 8, 3.0);
  std::atomic<bool> stop = false;
  RunControl control{&stop, [&](const ProgressUpdate& update) { stop = update.done == 2; }};
  try {
    (void)autotune_als(by_user.view(), {}, waiting([](const AlsTuning&) { return 0; }), control);
    ADD_FAILURE() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCancelled);
  }
}

TEST(Autotune, WrongParametersAreRefused) {
  const CsrMatrix by_user = test::random_csr(10, 8, 3.0);
  AlsParams params;
  params.factors = 0;
  EXPECT_THROW(
      (void)autotune_als(by_user.view(), params, waiting([](const AlsTuning&) { return 0; })),
      Error);
}

TEST(Autotune, WhereNothingIsTunedThereIsNoTuning) {
  const CsrMatrix by_user = test::random_csr(10, 8, 3.0);
  for (const Device& device : {open_device("cpu"), make_device("nothing", {}, {})}) {
    EXPECT_FALSE(has_tunings(device));
    EXPECT_EQ(tuning_warning(device), "");
    const auto refusal = [&](const auto& call) {
      EXPECT_THAT(test::error_of(ErrorKind::kDevice, call),
                  testing::StartsWith(fmt::format("device {}: ", device.name())));
    };
    refusal([&] { (void)autotune_als(by_user.view(), {}, device); });
    refusal([&] { (void)chosen_tuning(device, {}, {}); });
    refusal([&] { (void)keep_tunings(device, {}); });
  }
}

TEST(Autotune, TuningsInWords) {
  EXPECT_EQ(tuning_text({80, 192, 96, 4096}),
            "80 columns, short rows to 192 (one warp to 96), pieces of 4096");
  EXPECT_EQ(tuning_text({64, 64, 64, 2048}), "64 columns, short rows to 64, pieces of 2048");
  EXPECT_EQ(tuning_text({272, 0, 0, 4096, true}), "272 columns, wide");
  EXPECT_EQ(tuning_text({256, 0, 0, 4096}), "256 columns, pieces of 4096");
}

}  // namespace
}  // namespace likewise
