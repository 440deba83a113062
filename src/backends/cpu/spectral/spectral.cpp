// SPDX-License-Identifier: Apache-2.0
/// Spectral factors by block Krylov iteration; A'A times a block is two sparse products.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "algorithms/spectral/krylov.h"
#include "algorithms/spectral/user_sums.h"
#include "backends/cpu/jobs.h"
#include "backends/jobs/host_plan.h"
#include "core/linalg/dense_kernels.h"
#include "core/linalg/row_sums.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

/// Rows of dense blocks that a task takes.
constexpr Index kRows = 512;
/// Parts whose sums are added up in their order.
constexpr Offset kParts = 16;

/// A times x, a row of sums for each row of A.
void multiply_sparse(const CsrView& a, const Matrix& x, Matrix& out) {
  parallel_for(a.rows, 16, [&](Offset r) {
    const auto row = static_cast<Index>(r);
    kernels::sum_rows(a.row_columns(row), a.row_values(row).data(), x.view(), out.row(row));
  });
}

/// Where the blocks of a Krylov iteration lie: in the machine's memory.
class CpuBlocks {
 public:
  using Block = Matrix;

  explicit CpuBlocks(CsrMatrix a) : a_(std::move(a)), by_item_(transpose(a_.view())) {}

  [[nodiscard]] static Block upload(Matrix x) { return x; }
  [[nodiscard]] static Matrix download(Block x) { return x; }
  [[nodiscard]] Block zeros(Index columns) const { return {a_.cols, columns}; }

  [[nodiscard]] Block image(const Block& q) const {
    Matrix of_users(a_.rows, q.cols());
    multiply_sparse(a_.view(), q, of_users);
    Matrix image(a_.cols, q.cols());
    multiply_sparse(by_item_.view(), of_users, image);
    return image;
  }

  /// In float32 within blocks of rows and in double precision over them.
  [[nodiscard]] static std::vector<double> cross(const Block& x, const Block& y) {
    const auto numbers = static_cast<std::size_t>(x.cols()) * static_cast<std::size_t>(y.cols());
    const Offset blocks = (x.rows() + kRows - 1) / kRows;
    std::vector<std::vector<double>> parts(static_cast<std::size_t>(std::min(kParts, blocks)));
    parallel_for(std::ssize(parts), 1, [&](Offset part) {
      auto& sum = parts[static_cast<std::size_t>(part)];
      sum.assign(numbers, 0.0);
      Matrix product(x.cols(), y.cols());
      for (Offset block = part; block < blocks; block += kParts) {
        const auto first = static_cast<Index>(block * kRows);
        kernels::multiply({x.cols(), y.cols(), std::min(kRows, x.rows() - first), x.row(first), 1,
                           x.stride(), y.row(first), y.stride(), product.data(), product.stride()});
        for (Index i = 0; i < x.cols(); ++i) {
          for (Index j = 0; j < y.cols(); ++j) {
            sum[static_cast<std::size_t>(Offset{i} * y.cols() + j)] += double{product.row(i)[j]};
          }
        }
      }
    });
    std::vector<double> total(numbers);
    for (const auto& part : parts) {
      for (std::size_t i = 0; i < numbers; ++i) total[i] += part[i];
    }
    return total;
  }

  static void remove(const Block& q, Block& y) {
    const std::vector<double> shares = cross(q, y);
    Matrix negative(q.cols(), y.cols());
    for (Index i = 0; i < q.cols(); ++i) {
      for (Index j = 0; j < y.cols(); ++j) {
        negative.row(i)[j] =
            -static_cast<float>(shares[static_cast<std::size_t>(Offset{i} * y.cols() + j)]);
      }
    }
    add_product(q, negative, y);
  }

  static void add_product(const Block& x, const Matrix& c, Block& y) {
    parallel_blocks(x.rows(), kRows, [&](Offset begin, Offset end, Offset) {
      const auto first = static_cast<Index>(begin);
      kernels::multiply({static_cast<Index>(end - begin), y.cols(), x.cols(), x.row(first),
                         x.stride(), 1, c.data(), c.stride(), y.row(first), y.stride(), true});
    });
  }

  [[nodiscard]] static Eigenbasis eigenbasis(std::vector<double> h, Index width) {
    return likewise::eigenbasis(std::move(h), width);
  }

 private:
  CsrMatrix a_;
  CsrMatrix by_item_;
};

class CpuSpectral final : public SpectralJob {
 public:
  [[nodiscard]] MemoryPlan plan(const SpectralShape& shape) const override {
    return spectral_plan(shape, KrylovWidths(shape.items, shape.factors).basis);
  }
  [[nodiscard]] SpectralFactors decompose(const CsrView& by_user, int factors, std::uint64_t seed,
                                          const RunControl& control) const override {
    if (by_user.nnz() == 0) return SpectralFactors::none(by_user.cols, factors);
    const CpuBlocks blocks(normalised(by_user));
    Krylov<CpuBlocks> krylov(blocks, by_user.cols, factors, seed);
    krylov.widen(control);
    return krylov.largest(factors);
  }
  [[nodiscard]] Matrix users(const CsrView& by_user, std::span<const double> scale,
                             const Matrix& items) const override {
    return user_sums(by_user, scale, items);
  }
};

}  // namespace

std::unique_ptr<SpectralJob> make_cpu_spectral() { return std::make_unique<CpuSpectral>(); }

}  // namespace likewise
