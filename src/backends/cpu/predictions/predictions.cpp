// SPDX-License-Identifier: Apache-2.0
#include "backends/jobs/predictions.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "backends/cpu/jobs.h"
#include "backends/jobs/compare_rows.h"
#include "backends/jobs/knn_rows.h"
#include "backends/jobs/pair_batches.h"
#include "core/linalg/exact_dot.h"
#include "core/system/instruction_set.h"
#include "core/system/parallel.h"
#include "core/system/seconds.h"
#include "likewise/matrix.h"

namespace likewise {
namespace {

class CpuFactorPredictions final : public Predictions {
 public:
  explicit CpuFactorPredictions(const Factors& factors) : factors_(factors) {}

  void of_pairs(std::span<const Index> rows, std::span<const Index> columns, float* out,
                const RunControl& control) const override {
    parallel_blocks(std::ssize(rows), kPairBlock, [&](Offset begin, Offset end, Offset) {
      control.check();
      const auto first = static_cast<std::size_t>(begin);
      const auto count = static_cast<std::size_t>(end - begin);
      rate_pairs(rows.subspan(first, count), columns.subspan(first, count), out + begin);
    });
  }

  double of_rows(std::span<const Index> rows, float* out) const override {
    const Index items = factors_.items.rows();
    const Offset blocks = (items + kItemBlock - 1) / kItemBlock;
    parallel_for(std::ssize(rows) * blocks, 1, [&](Offset task) {
      const Index user = rows[static_cast<std::size_t>(task / blocks)];
      const auto begin = static_cast<Index>(task % blocks) * kItemBlock;
      score_items(user, begin, std::min(begin + kItemBlock, items), out + task / blocks * items);
    });
    return 0.0;
  }

 private:
  static constexpr Index kItemBlock = 1024;
  static constexpr Offset kPairBlock = 1024;

  void rate_pairs(std::span<const Index> users, std::span<const Index> items, float* out) const {
    std::vector<const float*> x(users.size());
    std::vector<const float*> y(users.size());
    std::vector<double> products(users.size());
    for (std::size_t p = 0; p < users.size(); ++p) {
      x[p] = factors_.users.row(users[p]);
      y[p] = factors_.items.row(items[p]);
    }
    kernels::exact_dot_pairs(x.data(), y.data(), padded_stride(factors_.items.cols()),
                             static_cast<Index>(users.size()), products.data());
    for (std::size_t p = 0; p < users.size(); ++p) {
      out[p] = factor_rating(factors_, own_score(factors_, users[p]), items[p], products[p]);
    }
  }

  void score_items(Index user, Index begin, Index end, float* out) const {
    const MatrixView items = factors_.items.view();
    double scores[kItemBlock];
    kernels::exact_dots(factors_.users.row(user), items.row(begin), items.stride,
                        padded_stride(items.cols), end - begin, scores);
    const double own = own_score(factors_, user);
    for (Index i = begin; i < end; ++i) {
      out[i] = factor_rating(factors_, own, i, scores[i - begin]);
    }
  }

  const Factors& factors_;
};

class CpuKnnPredictions final : public Predictions {
 public:
  explicit CpuKnnPredictions(const KnnModel& model) : model_(model), rows_(model.ratings) {
    if (model.kept == nullptr) (void)model_.search();
  }

  void of_pairs(std::span<const Index> rows, std::span<const Index> columns, float* out,
                const RunControl& control) const override {
    for_pair_batches(rows, rows_at_a_time(all()), [&](const PairBatch& batch) {
      const Array<float> similar = asked_similarities(model_, batch.rows);
      parallel_for(std::ssize(batch.rows), 1, [&](Offset r) {
        control.check();
        const auto pairs = batch.pairs_of(static_cast<std::size_t>(r));
        std::vector<Index> asked(pairs.size());
        std::vector<float> predicted(pairs.size());
        std::ranges::transform(pairs, asked.begin(), [&](std::size_t p) { return columns[p]; });
        predict(batch.rows[static_cast<std::size_t>(r)], similar.data() + r * all(), asked,
                predicted.data());
        for (std::size_t i = 0; i < pairs.size(); ++i) out[pairs[i]] = predicted[i];
      });
    });
  }

  double of_rows(std::span<const Index> rows, float* out) const override {
    std::vector<Index> columns(static_cast<std::size_t>(model_.ratings.by_column().rows));
    std::iota(columns.begin(), columns.end(), 0);
    double seconds = 0.0;
    const std::size_t most = rows_at_a_time(all());
    for (std::size_t at = 0; at < rows.size(); at += most) {
      const auto batch = rows.subspan(at, std::min(most, rows.size() - at));
      Array<float> similar;
      seconds += seconds_of([&] { similar = asked_similarities(model_, batch); });
      parallel_for(std::ssize(batch), 1, [&](Offset r) {
        const auto row = static_cast<std::size_t>(r);
        predict(batch[row], similar.data() + r * all(), columns, out + (at + row) * columns.size());
      });
    }
    return seconds;
  }

 private:
  [[nodiscard]] Index all() const { return model_.ratings.by_column().cols; }
  void predict(Index row, const float* similarities, std::span<const Index> columns,
               float* out) const {
    rows_.predict(model_.ratings.level(row), row, similarities, columns, out);
  }

  KnnModel model_;
  KnnRows rows_;
};

}  // namespace

std::unique_ptr<Predictions> make_cpu_predictions(const Factors& factors) {
  (void)chosen_target();  // applies LIKEWISE_ISA before the first kernel runs
  return std::make_unique<CpuFactorPredictions>(factors);
}

std::unique_ptr<Predictions> make_cpu_predictions(const KnnModel& model) {
  return std::make_unique<CpuKnnPredictions>(model);
}

}  // namespace likewise
