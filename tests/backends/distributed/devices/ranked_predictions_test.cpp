// SPDX-License-Identifier: Apache-2.0
/// Predictions over ranks are those of one device, bit-identical.
#include "backends/distributed/devices/ranked_predictions.h"

#include <algorithm>
#include <atomic>
#include <random>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/distributed/devices/ranked_device.h"
#include "likewise/recommender.h"
#include "likewise/synthetic.h"
#include "tests/backends/device_test.h"
#include "tests/backends/distributed/devices/rank_devices.h"
#include "tests/errors.h"
#include "tests/support.h"
#include "training/train.h"

namespace likewise {
namespace {

using testing::HasSubstr;

[[nodiscard]] Device prediction_ranks(const RankDevices& ranks) {
  return make_ranked_device("ranks", [] { return std::string("threads as ranks"); }, ranks, {},
                            {{nullptr, "no", {}}, {nullptr, "no", {}}, "no"});
}

[[nodiscard]] std::shared_ptr<const Model> trained(const TrainingParams& params) {
  const Interactions data = generate(parse_shape("120x70x2000"), 5);
  return std::make_shared<const Model>(train(data, params, open_device("cpu")));
}

[[nodiscard]] std::vector<TrainingParams> models() {
  std::vector<TrainingParams> all;
  AlsParams als = AlsParams::defaults(Feedback::kExplicit);
  als.factors = 9;
  als.iterations = 2;
  all.push_back(als);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    KnnParams neighbours = KnnParams::defaults(Feedback::kExplicit);
    neighbours.side = side;
    all.push_back(neighbours);
    neighbours.predict_from = PredictFrom::kAll;
    all.push_back(neighbours);
  }
  return all;
}

/// Every rating that is missing, in an order of its own.
[[nodiscard]] std::vector<std::tuple<Index, Index, float>> missing(const Recommender& recommender) {
  std::vector<std::tuple<Index, Index, float>> all;
  (void)recommender.predict_missing(
      [&](Side, Index row, std::span<const Index> others, std::span<const float> predictions) {
        for (std::size_t i = 0; i < others.size(); ++i) {
          all.emplace_back(row, others[i], predictions[i]);
        }
      });
  return all;
}

class RankedPredictions : public test::DeviceTest<int> {};

TEST_P(RankedPredictions, AreThoseOfOneDevice) {
  const Device many = prediction_ranks(test::ranks_on(device_name(), GetParam()));
  std::mt19937 random(1);
  for (const TrainingParams& params : models()) {
    const auto model = trained(params);
    const Recommender one(model, open_device("cpu"));
    const Recommender ranked(model, many);
    for (const std::size_t count : {0U, 1U, 2U, 4U, 3000U}) {
      std::vector<Index> users(count);
      std::vector<Index> items(count);
      for (Index& u : users) u = static_cast<Index>(random() % 120);
      for (Index& i : items) i = static_cast<Index>(random() % 70);
      EXPECT_EQ(ranked.predict(users, items), one.predict(users, items)) << count;
    }
    EXPECT_EQ(missing(ranked), missing(one));
  }
}

class FailingPredictions final : public PredictionJob {
 public:
  explicit FailingPredictions(test::Fault fault) : fault_(fault) {}
  [[nodiscard]] std::unique_ptr<Predictions> by_factors(const Factors&) const override {
    return make();
  }
  [[nodiscard]] std::unique_ptr<Predictions> by_knn(const KnnModel&) const override {
    return make();
  }

 private:
  [[nodiscard]] std::unique_ptr<Predictions> make() const {
    class Failing final : public Predictions {
     public:
      explicit Failing(test::Fault fault) : fault_(fault) {}
      void of_pairs(std::span<const Index>, std::span<const Index>, float*,
                    const RunControl& control) const override {
        test::fail(fault_, control);
      }
      double of_rows(std::span<const Index>, float*) const override {
        test::fail(test::Fault::kDeviceLost, {});
      }

     private:
      test::Fault fault_;
    };
    return std::make_unique<Failing>(fault_);
  }

  test::Fault fault_;
};

TEST_P(RankedPredictions, ARankThatFailsEndsAll) {
  const auto model = trained(models().front());
  const std::vector<Index> pairs(100, 3);
  for (const auto& [fault, kind, message] :
       {std::tuple{test::Fault::kThrows, ErrorKind::kNumerical, "a pivot fell over"},
        {test::Fault::kDeviceLost, ErrorKind::kDevice, "lost:0: the GPU fell off the bus"},
        {test::Fault::kHangs, ErrorKind::kCancelled, "interrupted"}}) {
    JobTable jobs = make_cpu_device().jobs().table;
    std::get<Offer<PredictionJob>>(jobs).job = std::make_shared<FailingPredictions>(fault);
    const RankDevices ranks = test::with_failing(GetParam(), std::move(jobs));
    const Recommender recommender(model, prediction_ranks(ranks));
    std::atomic<bool> cancel{false};
    RunControl control;
    control.cancel = &cancel;
    std::jthread caller;  // no rank waits for the one that hangs, only the caller does
    if (fault == test::Fault::kHangs) {
      caller = std::jthread([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
        cancel = true;
      });
    }
    EXPECT_EQ(test::error_of(kind, [&] { (void)recommender.predict(pairs, pairs, control); }),
              message);
    if (fault != test::Fault::kDeviceLost) continue;
    EXPECT_THAT(
        test::error_of(ErrorKind::kDevice,
                       [&] {
                         (void)recommender.predict_missing(
                             [](Side, Index, std::span<const Index>, std::span<const float>) {});
                       }),
        HasSubstr("the GPU fell off the bus"));
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, RankedPredictions, testing::ValuesIn(test::kRankCounts));
INSTANTIATE_TEST_SUITE_P(Cuda, RankedPredictions, testing::ValuesIn(test::kRankCounts));

TEST(RankedDevice, SharesWhatAllOfItsDevicesDo) {
  const Device all = prediction_ranks(test::cpu_ranks(2));
  for (const Job job : {Job::kTopK, Job::kKnn, Job::kPredictions}) {
    EXPECT_TRUE(all.status(job).available);
  }
  EXPECT_EQ(all.status(Job::kBpr).reason, "no");
  JobTable lists = make_cpu_device().jobs().table;
  std::get<Offer<TopKJob>>(lists) = {nullptr, "it has no lists", {}};
  const Device some = prediction_ranks(test::with_failing(2, std::move(lists)));
  EXPECT_FALSE(some.status(Job::kTopK).available);
  EXPECT_EQ(some.status(Job::kTopK).reason, "it has no lists");
  EXPECT_TRUE(some.status(Job::kKnn).available);
}

}  // namespace
}  // namespace likewise
