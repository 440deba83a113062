// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/als/als_long_rows.h"

#include <algorithm>
#include <vector>

#include "backends/jobs/als_solver.h"

namespace likewise {
namespace {

/// An L2 cache holds this much of the fixed side beside everything else.
constexpr Offset kCacheBytes = Offset{1} << 20;

/// A group of rows in lockstep.
class Lockstep {
 public:
  Lockstep(const AlsRowContext& context, const CsrView& matrix, std::span<const Index> rows,
           Matrix& z, const RunControl& control)
      : context_(context),
        matrix_(matrix),
        rows_(rows),
        control_(control),
        count_(static_cast<Index>(rows.size())),
        block_(static_cast<Index>(
            std::max<Offset>(kernels::kPassRows, kCacheBytes / 2 / context.table.row_bytes()))),
        blocks_((Offset{matrix.cols} + block_ - 1) / block_),
        ends_(rows.size() * static_cast<std::size_t>(blocks_)),
        diagonal_(count_, z.cols()),
        inverse_(count_, z.cols()),
        r_(count_, z.cols()),
        p_(count_, z.cols()),
        product_(count_, z.cols()),
        solvers_(rows.size()) {
    for (Index i = 0; i < count_; ++i) {
      const auto values = matrix.row_values(rows[static_cast<std::size_t>(i)]);
      context.set_diagonals(context.regularization(values), std::ssize(values), diagonal_.row(i),
                            inverse_.row(i));
      solvers_[static_cast<std::size_t>(i)] =
          ConjugateGradients({diagonal_.row(i), inverse_.row(i), z.row(i), r_.row(i), p_.row(i),
                              product_.row(i), z.stride()},
                             context.cg_limits(context.least_confidence(values)));
      find_ends(i);
    }
  }

  void run() {
    start();
    while (std::any_of(solvers_.begin(), solvers_.end(),
                       [](const ConjugateGradients& cg) { return !cg.done(); })) {
      step();
    }
  }

  [[nodiscard]] const std::vector<ConjugateGradients>& solvers() const { return solvers_; }

 private:
  /// Where in row i the columns of each block end.
  void find_ends(Index i) {
    const auto columns = matrix_.row_columns(rows_[static_cast<std::size_t>(i)]);
    auto at = columns.begin();
    for (Offset b = 0; b < blocks_; ++b) {
      const Offset end = (b + 1) * block_;
      at = std::lower_bound(at, std::min(at + block_, columns.end()), end);
      ends_[static_cast<std::size_t>(i * blocks_ + b)] = static_cast<Index>(at - columns.begin());
    }
  }

  void start() {
    std::vector<kernels::StartSums> sums(rows_.size());
    std::vector<double> constants(rows_.size(), 0.0);
    for (ConjugateGradients& cg : solvers_) cg.begin();
    pass([&](std::size_t i, const kernels::Segment& s, double constant) {
      const CgVectors& x = solvers_[i].vectors();
      const kernels::StartSums more = kernels::add_residual(s, x.z, x.r);
      sums[i].wqq += more.wqq;
      sums[i].vq += more.vq;
      constants[i] += constant;
    });
    for (std::size_t i = 0; i < solvers_.size(); ++i) solvers_[i].start(sums[i], constants[i]);
  }

  void step() {
    std::vector<double> curvatures(rows_.size(), 0.0);
    std::vector<Offset> sampled(rows_.size(), 0);
    std::vector<Offset> tiles(rows_.size(), 0);
    for (ConjugateGradients& cg : solvers_) {
      if (!cg.done()) cg.before_product();
    }
    pass([&](std::size_t i, const kernels::Segment& s, double) {
      const CgVectors& x = solvers_[i].vectors();
      if (!samples(i)) {
        curvatures[i] += solvers_[i].last() ? kernels::curvature(s, x.p)
                                            : kernels::add_product(s, x.p, x.product);
        return;
      }
      constexpr Offset kStep = kSampleStep;
      Offset count = 0;
      const Offset first = (kStep - tiles[i] % kStep) % kStep;
      tiles[i] += s.padded / kernels::kPassRows;
      curvatures[i] += kernels::curvature(buffer_.sample(s, first, count), x.p);
      sampled[i] += count;
    });
    for (std::size_t i = 0; i < solvers_.size(); ++i) {
      if (solvers_[i].done()) continue;
      const double share = samples(i) ? static_cast<double>(matrix_.row_size(rows_[i])) /
                                            static_cast<double>(sampled[i])
                                      : 1.0;
      solvers_[i].after_product(share * curvatures[i]);
    }
  }

  [[nodiscard]] bool samples(std::size_t i) const {
    return solvers_[i].last() && context_.samples_curvature(matrix_.row_size(rows_[i]));
  }

  /// body(row's place, segment, its constant) for every row that is not done, block by block of the
  /// fixed side.
  template <class Body>
  void pass(const Body& body) {
    for (Offset b = 0; b < blocks_; ++b) {
      control_.check();
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (solvers_[i].done()) continue;
        const std::size_t at = i * static_cast<std::size_t>(blocks_) + static_cast<std::size_t>(b);
        const Index from = b == 0 ? 0 : ends_[at - 1];
        if (from == ends_[at]) continue;
        double constant = 0.0;
        const kernels::Segment s =
            buffer_.fill(context_, matrix_.row_columns(rows_[i]).data() + from,
                         matrix_.row_values(rows_[i]).data() + from, ends_[at] - from, constant);
        body(i, s, constant);
      }
    }
  }

  const AlsRowContext& context_;
  const CsrView& matrix_;
  std::span<const Index> rows_;
  const RunControl& control_;
  Index count_;
  Index block_;  ///< rows of the fixed side that are walked over together
  Offset blocks_;
  std::vector<Index> ends_;  ///< rows x blocks
  Matrix diagonal_;
  Matrix inverse_;
  Matrix r_;
  Matrix p_;
  Matrix product_;
  std::vector<ConjugateGradients> solvers_;
  SegmentBuffer buffer_;
};

}  // namespace

bool is_long_row(Offset count, Offset row_bytes) { return count * row_bytes > kCacheBytes; }

Index solve_long_rows(const AlsRowContext& context, const CsrView& matrix,
                      std::span<const Index> rows, Matrix& z, std::span<double> objective,
                      const RunControl& control) {
  Lockstep group(context, matrix, rows, z, control);
  group.run();
  Index bad = -1;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    objective[i] = group.solvers()[i].objective();
    if (bad < 0 && !group.solvers()[i].positive()) bad = static_cast<Index>(i);
  }
  return bad;
}

}  // namespace likewise
