// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/als/als_long_rows.h"

#include <algorithm>
#include <vector>

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
    for (ConjugateGradients& cg : solvers_) {
      if (!cg.done()) cg.before_product();
    }
    pass([&](std::size_t i, const kernels::Segment& s, double) {
      const ConjugateGradients& cg = solvers_[i];
      const CgVectors& x = cg.vectors();
      curvatures[i] +=
          cg.last() ? kernels::curvature(s, x.p) : kernels::add_product(s, x.p, x.product);
    });
    for (std::size_t i = 0; i < solvers_.size(); ++i) {
      if (!solvers_[i].done()) solvers_[i].after_product(curvatures[i]);
    }
  }

  /// body(row's place, segment, its constant) for every row that is not done, block by block of the
  /// fixed side.
  template <class Body>
  void pass(const Body& body) {
    const auto block = static_cast<Index>(
        std::max<Offset>(kernels::kTileRows, kCacheBytes / 2 / context_.table.row_bytes()));
    std::vector<Offset> position(rows_.size(), 0);
    for (Offset begin = 0; begin < matrix_.cols; begin += block) {
      control_.check();
      for (std::size_t i = 0; i < rows_.size(); ++i) {
        if (solvers_[i].done()) continue;
        const auto columns = matrix_.row_columns(rows_[i]);
        const auto from = columns.begin() + position[i];
        const auto to =
            std::lower_bound(from, std::min(from + block, columns.end()), begin + block);
        if (from == to) continue;
        double constant = 0.0;
        const kernels::Segment s =
            buffer_.fill(context_, columns.data() + position[i],
                         matrix_.row_values(rows_[i]).data() + position[i], to - from, constant);
        position[i] += to - from;
        body(i, s, constant);
      }
    }
  }

  const AlsRowContext& context_;
  const CsrView& matrix_;
  std::span<const Index> rows_;
  const RunControl& control_;
  Index count_;
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
