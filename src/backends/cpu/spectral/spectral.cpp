// SPDX-License-Identifier: Apache-2.0
/// Randomised block Krylov iteration (Musco and Musco 2015): an orthonormal basis Q of
///   W, (A'A) W, (A'A)^2 W, ...  with random W,
/// and of the eigenvectors of Q' A'A Q the largest. A'A times a block is two sparse products.
#include <algorithm>
#include <cmath>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "algorithms/spectral/normalised.h"
#include "backends/cpu/jobs.h"
#include "backends/jobs/host_plan.h"
#include "core/linalg/dense.h"
#include "core/linalg/dense_kernels.h"
#include "core/random.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

/// Rows of dense blocks that a task takes.
constexpr Index kRows = 512;
/// Parts whose sums are added up in their order.
constexpr Offset kParts = 16;
/// The basis is this many times as wide as what is asked for.
constexpr Index kWidening = 3;
/// Blocks are a fourth as wide: narrower ones find more for as many products, and each walks
/// through the entries again.
constexpr Index kBlocksOfFactors = 4;
/// And the basis has at least so many of them: fewer do not converge.
constexpr Index kLeastBlocks = 8;
/// Directions that are no longer than this share of the longest are rounding.
constexpr double kLeastLength = 1e-5;

/// A times x, a row of sums for each row of A.
void multiply_sparse(const CsrView& a, const Matrix& x, Matrix& out) {
  const Index width = x.stride();
  parallel_for(a.rows, 16, [&](Offset r) {
    const auto row = static_cast<Index>(r);
    float* const sum = out.row(row);
    std::fill_n(sum, width, 0.0F);
    const auto columns = a.row_columns(row);
    const auto values = a.row_values(row);
    for (std::size_t e = 0; e < columns.size(); ++e) {
      const float value = values[e];
      const float* const from = x.row(columns[e]);
      for (Index j = 0; j < width; ++j) sum[j] += value * from[j];
    }
  });
}

/// X'Y (x.cols x y.cols), in float32 within blocks of rows and in double precision over them.
[[nodiscard]] std::vector<double> cross(const Matrix& x, const Matrix& y) {
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

/// Y += X C, C x.cols x y.cols.
void add_product(const Matrix& x, const Matrix& c, Matrix& y) {
  parallel_blocks(x.rows(), kRows, [&](Offset begin, Offset end, Offset) {
    const auto first = static_cast<Index>(begin);
    kernels::multiply({static_cast<Index>(end - begin), y.cols(), x.cols(), x.row(first),
                       x.stride(), 1, c.data(), c.stride(), y.row(first), y.stride(), true});
  });
}

/// An orthonormal basis of the columns of Y, without those that are rounding: Y E L^(-1/2), where
/// Y'Y = E L E'.
[[nodiscard]] Matrix orthonormal(const Matrix& y, double least_square) {
  const Index width = y.cols();
  const Eigenbasis basis = eigenbasis(cross(y, y), width);
  const auto kept = static_cast<Index>(
      std::ranges::count_if(basis.values, [&](double value) { return value > least_square; }));
  Matrix map(width, kept);
  for (Index f = 0; f < kept; ++f) {
    const Index from = width - 1 - f;
    const double scale = 1.0 / std::sqrt(basis.values[static_cast<std::size_t>(from)]);
    for (Index i = 0; i < width; ++i) {
      map.row(i)[f] = static_cast<float>(double{basis.vectors.row(i)[from]} * scale);
    }
  }
  Matrix q(y.rows(), kept);
  if (kept > 0) add_product(y, map, q);
  return q;
}

[[nodiscard]] double longest_square(const Matrix& y) {
  const std::vector<double> gram = cross(y, y);
  double longest = 0.0;
  for (std::size_t i = 0; i < gram.size(); i += static_cast<std::size_t>(y.cols()) + 1) {
    longest = std::max(longest, gram[i]);
  }
  return longest;
}

constexpr Index kLeastBlock = 16;

/// Columns of a block.
[[nodiscard]] Index block_width(Index items, int factors) {
  return std::min(items, std::max(kLeastBlock, std::min(items, factors) / kBlocksOfFactors));
}

/// Columns of the basis.
[[nodiscard]] Index krylov_width(Index items, int factors) {
  const Offset wanted = std::min<Offset>(items, factors);
  const Offset most = std::max<Offset>(kWidening * wanted + kLeastBlock,
                                       Offset{kLeastBlocks} * block_width(items, factors));
  return static_cast<Index>(std::min<Offset>(items, most));
}

class Krylov {
 public:
  Krylov(const CsrView& a, int factors, std::uint64_t seed) : a_(a), by_item_(transpose(a)) {
    most_ = krylov_width(a.cols, factors);
    start_ = {block_width(a.cols, factors), seed};
  }

  /// Widens the basis until it is as wide as it shall be. Where A'A does not lead out of it, as of
  /// users and items that fall apart into more groups than a block has columns, another random
  /// block does.
  void widen(const RunControl& control) {
    while (width_ < most_) {
      control.check();
      const bool starts = next_.cols() == 0;
      if (starts) next_ = random_block(a_.cols, start_);
      take_next();
      if (basis_.back().cols() == 0) {
        basis_.pop_back();
        next_ = Matrix();
        if (starts) return;
        continue;
      }
      Matrix image = times(basis_.back());
      add_images(image);
      next_ = std::move(image);
      control.report("spectral", std::min(width_, most_), most_, "columns");
    }
  }

  /// The eigenvectors of Q' A'A Q, mapped to items.
  [[nodiscard]] SpectralFactors largest(int factors) const {
    const Eigenbasis ritz = eigenbasis(rayleigh(), width_);
    std::vector<double> values(static_cast<std::size_t>(factors));
    Matrix v(a_.cols, factors);
    const Index found = std::min<Index>(width_, factors);
    for (Index f = 0; f < found; ++f) {
      values[static_cast<std::size_t>(f)] = ritz.values[static_cast<std::size_t>(width_ - 1 - f)];
    }
    Index first = 0;
    for (const Matrix& q : basis_) {
      Matrix map(q.cols(), factors);
      for (Index i = 0; i < q.cols(); ++i) {
        for (Index f = 0; f < found; ++f)
          map.row(i)[f] = ritz.vectors.row(first + i)[width_ - 1 - f];
      }
      add_product(q, map, v);
      first += q.cols();
    }
    SpectralFactors result{singular_values(std::move(values)), std::move(v)};
    settle_columns(result);
    return result;
  }

  [[nodiscard]] bool empty() const { return width_ == 0; }

 private:
  static constexpr std::uint32_t kStream = 0x53504543;  // of the first block

  struct Start {
    Index width = 0;
    std::uint64_t seed = 0;
    std::uint32_t drawn = 0;  ///< random blocks so far
  };

  [[nodiscard]] static Matrix random_block(Index rows, Start& start) {
    Matrix w(rows, start.width);
    const std::uint32_t stream = kStream + start.drawn++;
    parallel_for(rows, 256, [&](Offset row) {
      CounterRandom random(start.seed, stream, static_cast<std::uint64_t>(row));
      for (float& x : w.row_span(static_cast<Index>(row))) x = static_cast<float>(random.normal());
    });
    return w;
  }

  /// What is new of the next block becomes a block of the basis. Twice: what rounding leaves of the
  /// old directions is large beside a short new one.
  void take_next() {
    const double longest = longest_square(next_);
    remove_basis(next_);
    Matrix q = orthonormal(next_, kLeastLength * kLeastLength * longest);
    remove_basis(q);
    if (q.cols() > 0) q = orthonormal(q, 0.25);
    width_ += q.cols();
    basis_.push_back(std::move(q));
  }

  /// Y -= Q Q'Y
  void remove_basis(Matrix& y) const {
    for (const Matrix& q : basis_) {
      if (q.cols() == 0 || y.cols() == 0) continue;
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
  }

  /// A'A Q
  [[nodiscard]] Matrix times(const Matrix& q) const {
    Matrix of_users(a_.rows, q.cols());
    multiply_sparse(a_, q, of_users);
    Matrix image(a_.cols, q.cols());
    multiply_sparse(by_item_.view(), of_users, image);
    return image;
  }

  /// The last columns of Q' A'A Q.
  void add_images(const Matrix& image) {
    for (const Matrix& q : basis_) images_.push_back(cross(q, image));
  }

  [[nodiscard]] std::vector<double> rayleigh() const {
    const auto n = static_cast<std::size_t>(width_);
    std::vector<double> h(n * n);
    auto block = images_.begin();
    std::size_t column = 0;
    for (std::size_t j = 0; j < basis_.size(); ++j) {
      const auto columns = static_cast<std::size_t>(basis_[j].cols());
      std::size_t row = 0;
      for (std::size_t i = 0; i <= j; ++i, ++block) {
        const auto rows = static_cast<std::size_t>(basis_[i].cols());
        for (std::size_t r = 0; r < rows; ++r) {
          for (std::size_t c = 0; c < columns; ++c) {
            const double x = (*block)[r * columns + c];
            h[(row + r) * n + column + c] = h[(column + c) * n + row + r] = x;
          }
        }
        row += rows;
      }
      column += columns;
    }
    return h;
  }

  const CsrView a_;
  CsrMatrix by_item_;
  Index most_ = 0;
  Index width_ = 0;
  Start start_;
  Matrix next_;
  std::vector<Matrix> basis_;
  std::vector<std::vector<double>> images_;  ///< Q_i' A'A Q_j of j = 0, 1, ... and i <= j
};

class CpuSpectral final : public SpectralJob {
 public:
  [[nodiscard]] MemoryPlan plan(const SpectralShape& shape) const override {
    return spectral_plan(shape, krylov_width(shape.items, shape.factors));
  }
  [[nodiscard]] SpectralFactors decompose(const CsrView& by_user, int factors, std::uint64_t seed,
                                          const RunControl& control) const override {
    SpectralFactors none{std::vector<double>(static_cast<std::size_t>(factors)),
                         Matrix(by_user.cols, factors)};
    if (by_user.nnz() == 0) return none;
    const CsrMatrix a = normalised(by_user);
    Krylov krylov(a.view(), factors, seed);
    krylov.widen(control);
    return krylov.empty() ? std::move(none) : krylov.largest(factors);
  }
};

}  // namespace

std::unique_ptr<SpectralJob> make_cpu_spectral() { return std::make_unique<CpuSpectral>(); }

}  // namespace likewise
