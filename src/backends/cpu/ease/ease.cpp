// SPDX-License-Identifier: Apache-2.0
/// EASE on the CPU: S row by row, its inverse in place, and B in the same place.
#include <algorithm>
#include <memory>
#include <vector>

#include "algorithms/ease/ease_scales.h"
#include "backends/cpu/ease/ease_gram.h"
#include "backends/cpu/ease/local_ease.h"
#include "backends/cpu/ease/weight_lists.h"
#include "backends/cpu/jobs.h"
#include "backends/cpu/pool.h"
#include "backends/jobs/host_plan.h"
#include "core/linalg/dense_inverse.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

/// The upper triangle of S + L. Items of a block lie beside one another, so that what a block
/// writes into other items' rows fills lines of the cache.
template <class Gram>
void fill_system(const Gram& gram, const EaseScales& scales, const RunControl& control, Matrix& s) {
  // Memory that has never been written is handed out here: rows in order, not as sums come.
  parallel_blocks(s.rows(), 512, [&](Offset begin, Offset end, Offset) {
    for (auto i = static_cast<Index>(begin); i < end; ++i) s.row(i)[0] = 0.0F;
  });
  Pool<Array<typename Gram::Sum>> pool;
  parallel_blocks(s.rows(), 16, [&](Offset begin, Offset end, Offset) {
    control.check();
    auto sums = pool.take([&] { return gram.make_sums(); });
    for (auto i = static_cast<Index>(begin); i < end; ++i) {
      double diagonal = 0.0;
      gram.row(gram.number(i), *sums, [&](Index number, double value) {
        const Index j = gram.item(number);
        if (j == i) diagonal = value;
        s.row(std::min(i, j))[std::max(i, j)] = static_cast<float>(value);
      });
      s.row(i)[i] = static_cast<float>(scales.damped(diagonal));
    }
    pool.give_back(std::move(sums));
  });
}

[[nodiscard]] std::vector<float> least_pivots(const Matrix& s) {
  std::vector<float> least(static_cast<std::size_t>(s.rows()));
  for (Index i = 0; i < s.rows(); ++i) {
    least[static_cast<std::size_t>(i)] = static_cast<float>(kLeastPivot) * s.row(i)[i];
  }
  return least;
}

/// B_ij = n_i^(-s) (-Q_ij) n_j^s / Q_jj from the upper triangle of -Q, in its place.
void make_weights(const EaseScales& scales, Matrix& q) {
  constexpr Index kBlock = 64;
  const Index n = q.rows();
  std::vector<float> of_row(static_cast<std::size_t>(n));
  std::vector<float> of_column(of_row.size());
  for (Index i = 0; i < n; ++i) {
    const auto at = static_cast<std::size_t>(i);
    of_row[at] = static_cast<float>(scales.row[at]);
    of_column[at] = static_cast<float>(scales.of_column(at, -double{q.row(i)[i]}));
  }
  // Block (I, J) above the diagonal, and the one below, belong to the task of I.
  parallel_blocks(n, kBlock, [&](Offset begin, Offset end, Offset) {
    for (auto first = static_cast<Index>(begin); first < n; first += kBlock) {
      const Index last = std::min(n, first + kBlock);
      for (auto i = static_cast<Index>(begin); i < end; ++i) {
        const auto r = static_cast<std::size_t>(i);
        if (first == begin) q.row(i)[i] = 0.0F;
        for (Index j = std::max(first, i + 1); j < last; ++j) {
          const auto c = static_cast<std::size_t>(j);
          const float value = q.row(i)[j];
          q.row(i)[j] = of_row[r] * value * of_column[c];
          q.row(j)[i] = of_row[c] * value * of_column[r];
        }
      }
    }
  });
}

class CpuEase final : public EaseJob {
 public:
  [[nodiscard]] MemoryPlan plan(const EaseShape& shape) const override {
    return ease_plan(shape, sizeof(float));
  }
  [[nodiscard]] Matrix dense_weights(const CsrView& by_user, const EaseSystem& system,
                                     const RunControl& control) const override {
    const EaseScales scales = make_ease_scales(by_user, system);
    Matrix b(by_user.cols, by_user.cols);
    with_ease_gram(by_user, scales,
                   [&](const auto& gram) { fill_system(gram, scales, control, b); });
    const Index bad = negative_inverse(b, least_pivots(b), "ease", control);
    if (bad >= 0) refuse_singular_ease(bad, system);
    make_weights(scales, b);
    return b;
  }

  [[nodiscard]] KnnLists local_weights(const CsrView& by_user, const EaseSystem& system,
                                       const KnnLists& candidates,
                                       const RunControl& control) const override {
    return local_ease(by_user, system, candidates, control);
  }

  [[nodiscard]] std::unique_ptr<WeightLists> make_lists(const MatrixView& weights,
                                                        Offset /*entries*/) const override {
    return make_cpu_weight_lists(weights);
  }
};

}  // namespace

std::unique_ptr<EaseJob> make_cpu_ease() { return std::make_unique<CpuEase>(); }

}  // namespace likewise
