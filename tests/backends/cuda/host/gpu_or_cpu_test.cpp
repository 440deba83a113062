// SPDX-License-Identifier: Apache-2.0
/// Who trains at once by `auto`.
#include "backends/cuda/host/gpu_or_cpu.h"

#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/jobs.h"
#include "likewise/error.h"
#include "tests/csr_entries.h"

namespace likewise {
namespace {

class EmptyLists final : public WeightLists {
  [[nodiscard]] TopKResult top_k(const CsrView&, Index, const TopKFilter&,
                                 const RunControl&) const override {
    return {};
  }
};

/// A GPU for so many items at most, whose weights are all 2.
class GpuOfTwos final : public EaseJob {
 public:
  explicit GpuOfTwos(Index most) : most_(most) {}
  [[nodiscard]] MemoryPlan plan(const EaseShape& shape) const override {
    if (shape.items > most_) throw Error(ErrorKind::kOutOfMemory, "the GPU is full");
    MemoryPlan plan;
    plan.placement = "on the GPU";
    return plan;
  }
  [[nodiscard]] Matrix dense_weights(const CsrView& by_user, const EaseSystem&,
                                     const RunControl&) const override {
    Matrix twos(by_user.cols, 1);
    for (Index i = 0; i < by_user.cols; ++i) twos.row(i)[0] = 2.0F;
    return twos;
  }
  [[nodiscard]] KnnLists local_weights(const CsrView& by_user, const EaseSystem&, const KnnLists&,
                                       const RunControl&) const override {
    return {Array<Offset>(Offset{by_user.cols} + 1), {}, {}};
  }
  [[nodiscard]] std::unique_ptr<WeightLists> make_lists(const MatrixView& weights,
                                                        Offset) const override {
    if (weights.cols > most_) throw Error(ErrorKind::kOutOfMemory, "the GPU is full");
    return std::make_unique<EmptyLists>();
  }

 private:
  Index most_;
};

[[nodiscard]] std::shared_ptr<const EaseJob> job_with(Index most) {
  return make_gpu_or_cpu(GpuAndCpu<EaseJob>{std::make_shared<GpuOfTwos>(most), make_cpu_ease()});
}

/// Who says what: a machine of one thread.
[[nodiscard]] std::string placement(const EaseJob& job, const EaseShape& shape) {
  std::string text;
  with_threads(1, [&] { text = job.plan(shape).placement; });
  return text;
}

TEST(GpuOrCpu, TheGpuTakesWhatIsWorthItsStartAndFits) {
  const auto job = job_with(9000);
  EXPECT_EQ(placement(*job, {100, 8000, 1000, 0}), "on the GPU");
  EXPECT_THAT(placement(*job, {100, 3000, 1000, 0}), testing::HasSubstr("machine"));
  EXPECT_THAT(placement(*job, {100, 9500, 1000, 0}), testing::HasSubstr("machine"));
  EXPECT_THAT(placement(*job, {100, 8000, 1000, 50}), testing::HasSubstr("machine"));
  EXPECT_EQ(placement(*job, {100, 8000, 1000, 300}), "on the GPU");
  EXPECT_THAT(placement(*job, {100, 9500, 1000, 300}), testing::HasSubstr("machine"));
}

TEST(GpuOrCpu, ATrainingRemarksWhoDoesIt) {
  const CsrMatrix few = test::make_csr(2, 3, std::vector<test::Entry>{{0, 0, 1}, {1, 2, 1}});
  std::vector<std::string> remarks;
  RunControl control;
  control.on_progress = [&](const ProgressUpdate& update) {
    if (update.unit.empty()) remarks.emplace_back(update.stage);
  };
  const Matrix weights =
      job_with(9000)->dense_weights(few.view(), {.regularization = 1.0}, control);
  EXPECT_EQ(weights.cols(), 3);
  EXPECT_THAT(remarks, testing::ElementsAre("ease on the cpu: too little work for a GPU"));
}

/// A GPU whose factors are all 2.
class SpectralOfTwos final : public SpectralJob {
 public:
  [[nodiscard]] MemoryPlan plan(const SpectralShape&) const override {
    MemoryPlan plan;
    plan.placement = "on the GPU";
    return plan;
  }
  [[nodiscard]] SpectralFactors decompose(const CsrView& by_user, int factors, std::uint64_t,
                                          const RunControl&) const override {
    return SpectralFactors::none(by_user.cols, factors);
  }
  [[nodiscard]] Matrix users(const CsrView& by_user, std::span<const double>,
                             const Matrix& items) const override {
    Matrix twos(by_user.rows, items.cols());
    for (Index u = 0; u < by_user.rows; ++u) twos.row(u)[0] = 2.0F;
    return twos;
  }
};

TEST(GpuOrCpu, SpectralFactorsOfFewUsersAreTheProcessors) {
  const auto job = make_gpu_or_cpu(
      GpuAndCpu<SpectralJob>{std::make_shared<SpectralOfTwos>(), make_cpu_spectral()});
  with_threads(1, [&] {
    EXPECT_EQ(job->plan({138000, 27000, 20000000, 512}).placement, "on the GPU");
    EXPECT_THAT(job->plan({100, 50, 1000, 8}).placement, testing::HasSubstr("machine"));
  });
  const CsrMatrix few = test::make_csr(2, 3, std::vector<test::Entry>{{0, 0, 1}, {1, 2, 1}});
  EXPECT_GT(job->decompose(few.view(), 1, 1, {}).singular[0], 0.0);
  EXPECT_EQ(job->users(few.view(), std::vector<double>(3, 1.0), Matrix(3, 1)).row(0)[0], 0.0F);
}

TEST(GpuOrCpu, ListsOfManyAreWorthTheWayOfTheWeights) {
  const auto job = job_with(50'000);
  const auto makes = [&](Index items, Offset entries) {
    bool made = false;
    const MatrixView weights{nullptr, items, items, padded_stride(items)};
    with_threads(2, [&] {
      const auto lists = job->make_lists(weights, entries);
      made = dynamic_cast<const EmptyLists*>(lists.get()) != nullptr;
    });
    return made;
  };
  EXPECT_TRUE(makes(41'000, 1'000'000));
  EXPECT_FALSE(makes(41'000, 50'000)) << "not worth the way of the weights";
  EXPECT_FALSE(makes(4'000, 500'000)) << "not worth the start";
  EXPECT_FALSE(makes(60'000, 2'000'000)) << "the GPU is full";
}

TEST(GpuOrCpu, MoreThreadsAreWorthMore) {
  with_threads(1, [] { EXPECT_TRUE(gpu_pays(1.5)); });
  with_threads(2, [] { EXPECT_FALSE(gpu_pays(1.5)); });
}

}  // namespace
}  // namespace likewise
