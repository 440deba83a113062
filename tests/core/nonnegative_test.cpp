// SPDX-License-Identifier: Apache-2.0
#include "core/nonnegative.h"

#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "core/linalg/cholesky.h"

namespace likewise {
namespace {

struct System {
  Index width = 0;
  std::vector<double> a;
  std::vector<double> b;
};

/// `rank` directions and a little of the unit matrix.
[[nodiscard]] System random_system(Index width, Index rank, double ridge, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  const auto n = static_cast<std::size_t>(width);
  System s{width, std::vector<double>(n * n), std::vector<double>(n)};
  for (Index k = 0; k < rank; ++k) {
    std::vector<double> y(n);
    for (double& one : y) one = normal(random);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) s.a[i * n + j] += y[i] * y[j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) s.a[i * n + i] += ridge;
  for (double& one : s.b) one = normal(random);
  return s;
}

[[nodiscard]] double objective(const System& s, const std::vector<double>& x) {
  return NonnegativeSolver(s.width, 0).objective(s.a, s.b, x);
}

/// The least over all choices of which bounded unknowns are 0.
[[nodiscard]] double least_objective(const System& s, Index bounded) {
  double least = 0.0;
  const auto n = static_cast<std::size_t>(s.width);
  for (std::uint32_t zeros = 0; zeros < (1U << static_cast<unsigned>(bounded)); ++zeros) {
    std::vector<double> a = s.a;
    std::vector<double> x = s.b;
    for (std::size_t j = 0; j < n; ++j) {
      if ((zeros >> j & 1U) == 0) continue;
      for (std::size_t i = 0; i < n; ++i) a[i * n + j] = a[j * n + i] = 0.0;
      a[j * n + j] = 1.0;
      x[j] = 0.0;
    }
    EXPECT_EQ(cholesky_factor(a.data(), s.width), -1);
    cholesky_solve(a.data(), s.width, x.data());
    bool allowed = true;
    for (std::size_t j = 0; j < static_cast<std::size_t>(bounded); ++j) {
      allowed = allowed && x[j] >= 0.0;
    }
    if (allowed) least = std::min(least, objective(s, x));
  }
  return least;
}

TEST(Nonnegative, ByHand) {
  // (x - 1)^2 + (y + 1)^2, and with y free.
  const std::vector<double> a{1, 0, 0, 1};
  const std::vector<double> b{1, -1};
  std::vector<double> x{1, 1};
  EXPECT_EQ(NonnegativeSolver(2, 2).solve(a, b, x), -1);
  EXPECT_EQ(x, (std::vector<double>{1, 0}));
  EXPECT_EQ(NonnegativeSolver(2, 1).solve(a, b, x), -1);
  EXPECT_EQ(x, (std::vector<double>{1, -1}));
}

TEST(Nonnegative, IsTheBestOfAllChoices) {
  for (unsigned seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(seed);
    const Index width = 1 + static_cast<Index>(seed % 8);
    const Index bounded = seed % 3 == 0 ? width - 1 : width;
    const System s = random_system(width, width / 2, 0.1, seed);
    std::vector<double> x(s.b.size(), 1.0);
    ASSERT_EQ(NonnegativeSolver(width, bounded).solve(s.a, s.b, x), -1);
    for (std::size_t j = 0; j < static_cast<std::size_t>(bounded); ++j) EXPECT_GE(x[j], 0.0);
    const double least = least_objective(s, bounded);
    EXPECT_NEAR(objective(s, x), least, 1e-9 * (1.0 + std::abs(least)));
  }
}

TEST(Nonnegative, TheGuessDoesNotMatter) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    const System s = random_system(64, 20, 0.01, seed);
    std::vector<double> x(64, 1.0);
    std::vector<double> y(64, 0.0);
    for (std::size_t j = 0; j < 64; j += 3) y[j] = 1.0;
    NonnegativeSolver solver(64, 64);
    ASSERT_EQ(solver.solve(s.a, s.b, x), -1);
    ASSERT_EQ(solver.solve(s.a, s.b, y), -1);
    EXPECT_NEAR(objective(s, x), objective(s, y), 1e-9 * std::abs(objective(s, x)));
  }
}

TEST(Nonnegative, TheColumnWithoutAPivotIsNamed) {
  const std::vector<double> a{1, 0, 0, 0, 0, 0, 0, 0, 1};
  const std::vector<double> b{1, 1, 1};
  std::vector<double> x{1, 1, 1};
  EXPECT_EQ(NonnegativeSolver(3, 3).solve(a, b, x), 1);
}

}  // namespace
}  // namespace likewise
