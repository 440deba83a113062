// SPDX-License-Identifier: Apache-2.0
/// Randomised block Krylov iteration (Musco and Musco 2015): an orthonormal basis Q of
///   W, (A'A) W, (A'A)^2 W, ...  with random W,
/// and of the eigenvectors of Q' A'A Q the largest. Devices differ in where blocks lie and who
/// multiplies them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "algorithms/spectral/normalised.h"
#include "core/linalg/dense.h"
#include "core/random.h"
#include "core/system/parallel.h"
#include "likewise/control.h"

namespace likewise {

/// Columns of a block and of the basis.
struct KrylovWidths {
  Index block = 0;
  Index basis = 0;

  KrylovWidths(Index items, int factors) {
    constexpr Index kLeastBlock = 16;
    // The basis is this many times as wide as what is asked for.
    constexpr Index kWidening = 3;
    // Blocks are a fourth as wide: narrower ones find more for as many products, and each walks
    // through the entries again.
    constexpr Index kBlocksOfFactors = 4;
    // And the basis has at least so many of them: fewer do not converge.
    constexpr Index kLeastBlocks = 8;
    const Offset wanted = std::min<Offset>(items, factors);
    block = static_cast<Index>(
        std::min<Offset>(items, std::max<Offset>(kLeastBlock, wanted / kBlocksOfFactors)));
    basis = static_cast<Index>(std::min<Offset>(
        items, std::max<Offset>(kWidening * wanted + kLeastBlock, Offset{kLeastBlocks} * block)));
  }
};

/// `Device` has blocks of columns that are as long as there are items, with cols():
///   Block upload(Matrix)                  the columns of a matrix
///   Matrix download(const Block&)
///   Block zeros(Index columns)
///   Block image(const Block& q)           A'A q
///   vector<double> cross(x, y)            x'y, row-major
///   void remove(const Block& q, Block& y) y -= q q'y
///   void add_product(x, const Matrix& c, Block& y)    y += x c
///   Eigenbasis eigenbasis(vector<double> h, Index width)    as that of core/linalg/dense.h
template <class Device>
class Krylov {
 public:
  using Block = typename Device::Block;

  /// `device` must outlive it.
  Krylov(const Device& device, Index items, int factors, std::uint64_t seed)
      : device_(device), items_(items), widths_(items, factors), seed_(seed) {}

  /// Widens the basis until it is as wide as it shall be. Where A'A does not lead out of it, as of
  /// users and items that fall apart into more groups than a block has columns, another random
  /// block does.
  void widen(const RunControl& control) {
    while (width_ < widths_.basis) {
      control.check();
      const bool starts = next_.cols() == 0;
      if (starts) next_ = device_.upload(random_block());
      take_next();
      if (basis_.back().cols() == 0) {
        basis_.pop_back();
        next_ = Block();
        if (starts) return;
        continue;
      }
      Block image = device_.image(basis_.back());
      add_images(image);
      next_ = std::move(image);
      control.report("spectral", std::min(width_, widths_.basis), widths_.basis, "columns");
    }
  }

  /// The eigenvectors of Q' A'A Q, mapped to items.
  [[nodiscard]] SpectralFactors largest(int factors) const {
    if (width_ == 0) return SpectralFactors::none(items_, factors);
    const Eigenbasis ritz = device_.eigenbasis(rayleigh(), width_);
    std::vector<double> values(static_cast<std::size_t>(factors));
    Block v = device_.zeros(factors);
    const Index found = std::min<Index>(width_, factors);
    for (Index f = 0; f < found; ++f) {
      values[static_cast<std::size_t>(f)] = ritz.values[static_cast<std::size_t>(width_ - 1 - f)];
    }
    Index first = 0;
    for (const Block& q : basis_) {
      Matrix map(q.cols(), factors);
      for (Index i = 0; i < q.cols(); ++i) {
        for (Index f = 0; f < found; ++f)
          map.row(i)[f] = ritz.vectors.row(first + i)[width_ - 1 - f];
      }
      device_.add_product(q, map, v);
      first += q.cols();
    }
    SpectralFactors result{singular_values(std::move(values)), device_.download(std::move(v))};
    settle_columns(result);
    return result;
  }

 private:
  static constexpr std::uint32_t kStream = 0x53504543;  // of the first random block
  /// Directions that are no longer than this share of the longest are rounding.
  static constexpr double kLeastLength = 1e-5;

  [[nodiscard]] Matrix random_block() {
    Matrix w(items_, widths_.block);
    const std::uint32_t stream = kStream + drawn_++;
    parallel_for(items_, 256, [&](Offset row) {
      CounterRandom random(seed_, stream, static_cast<std::uint64_t>(row));
      for (float& x : w.row_span(static_cast<Index>(row))) x = static_cast<float>(random.normal());
    });
    return w;
  }

  /// What is new of the next block becomes a block of the basis. Twice: what rounding leaves of the
  /// old directions is large beside a short new one.
  void take_next() {
    const double longest = longest_square(next_);
    remove_basis(next_);
    Block q = orthonormal(next_, kLeastLength * kLeastLength * longest);
    remove_basis(q);
    if (q.cols() > 0) q = orthonormal(q, 0.25);
    width_ += q.cols();
    basis_.push_back(std::move(q));
  }

  [[nodiscard]] double longest_square(const Block& y) const {
    const std::vector<double> gram = device_.cross(y, y);
    double longest = 0.0;
    for (std::size_t i = 0; i < gram.size(); i += static_cast<std::size_t>(y.cols()) + 1) {
      longest = std::max(longest, gram[i]);
    }
    return longest;
  }

  void remove_basis(Block& y) const {
    for (const Block& q : basis_) {
      if (q.cols() > 0 && y.cols() > 0) device_.remove(q, y);
    }
  }

  /// An orthonormal basis of the columns of Y, without those that are rounding: Y E L^(-1/2), where
  /// Y'Y = E L E'.
  [[nodiscard]] Block orthonormal(const Block& y, double least_square) const {
    const Index width = y.cols();
    const Eigenbasis basis = likewise::eigenbasis(device_.cross(y, y), width);
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
    Block q = device_.zeros(kept);
    if (kept > 0) device_.add_product(y, map, q);
    return q;
  }

  /// The last columns of Q' A'A Q.
  void add_images(const Block& image) {
    for (const Block& q : basis_) images_.push_back(device_.cross(q, image));
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

  const Device& device_;
  Index items_ = 0;
  KrylovWidths widths_;
  std::uint64_t seed_ = 0;
  std::uint32_t drawn_ = 0;  ///< random blocks so far
  Index width_ = 0;
  Block next_;
  std::vector<Block> basis_;
  std::vector<std::vector<double>> images_;  ///< Q_i' A'A Q_j of j = 0, 1, ... and i <= j
};

}  // namespace likewise
