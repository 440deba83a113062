// SPDX-License-Identifier: Apache-2.0
/// What predictions take of a GPU is what they said before.
#include <memory>

#include <gtest/gtest.h>

// The formulas of similarity.h are for rows of the host here, not of the GPU.
#pragma nv_diag_suppress 20014
#include "algorithms/knn/knn_prediction.h"
#include "algorithms/knn/similarity.h"
#include "backends/cuda/device/gpus.h"
#include "backends/cuda/jobs.h"
#include "tests/backends/cuda/cuda_support.h"
#include "tests/support.h"

namespace likewise::cuda {
namespace {

/// Allocations come in pages of 2 MiB, and there are about thirty.
constexpr Offset kPages = Offset{64} << 20;

[[nodiscard]] Offset free_bytes() {
  std::size_t free = 0;
  std::size_t all = 0;
  LIKEWISE_CUDA_CHECK(cudaMemGetInfo(&free, &all));
  return static_cast<Offset>(free);
}

class PredictionMemory : public test::CudaTest {
 protected:
  /// `make` makes predictions, which rate some pairs and rows.
  template <class Make>
  static void expect_planned(Index rows, Index columns, const Make& make) {
    const std::vector<Index> some{0, rows / 2, rows - 1};
    const std::vector<Index> others{columns - 1, 0, columns / 2};
    std::vector<float> out(some.size() * static_cast<std::size_t>(columns));
    const auto ask = [&](const Predictions& predictions) {
      predictions.of_pairs(some, others, out.data(), {});
      (void)predictions.of_rows(some, out.data());
    };
    ask(*make());  // what kernels take stays
    const Offset before = free_bytes();
    const std::unique_ptr<Predictions> predictions = make();
    ask(*predictions);
    const Offset taken = before - free_bytes();
    const Offset planned = predictions->memory().total;
    EXPECT_LE(taken, planned + kPages);
    EXPECT_GE(taken + kPages, planned);
    EXPECT_GT(planned, 4 * kPages);  // or this would say little
  }
};

GpuUse first_gpu() {
  GpuUse use;
  use.devices = {0};
  return use;
}

TEST_F(PredictionMemory, OfFactorsIsPlanned) {
  Factors factors{Matrix(900'000, 64), Matrix(40'000, 64), Array<float>(900'000),
                  Array<float>(40'000), 3.5F};
  expect_planned(900'000, 40'000, [&] { return make_cuda_predictions(first_gpu(), factors); });
}

TEST_F(PredictionMemory, OfNeighboursIsPlanned) {
  const CsrMatrix by_user = likewise::test::random_csr(6'000, 50'000, 300.0, 3);
  const GpuInfo gpu = find_gpus().gpus.front();
  for (const Side side : {Side::kUsers, Side::kItems}) {
    KnnParams params = KnnParams::defaults(Feedback::kExplicit);
    params.side = side;
    params.prediction = Prediction::kCentred;
    params.similarity = Similarity::kPearson;
    const Biases none;
    const SimilarityProblem problem(by_user.view(), params, none);
    const KnnRatings ratings(by_user.view(), params, none);
    const KnnModel model{problem, ratings, nullptr, {}};
    const bool of_users = side == Side::kUsers;
    expect_planned(of_users ? by_user.rows : by_user.cols, of_users ? by_user.cols : by_user.rows,
                   [&] { return make_cuda_predictions(first_gpu(), gpu, model); });
  }
}

}  // namespace
}  // namespace likewise::cuda
