// SPDX-License-Identifier: Apache-2.0
/// Confidence given, against a text of its own: every cell of a row weighed by itself, the dense
/// system solved in double precision.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/iteration_run.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/als.h"
#include "likewise/device.h"
#include "likewise/matrix.h"
#include "tests/backends/jobs/als_cases.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;
using testing::HasSubstr;

using Numbers = std::vector<double>;

/// Float32, as of the gradients in als_cases.cpp.
constexpr double kResidual = 5e-6;

/// Solves the n x n system with the right-hand side in column n, by elimination with pivots.
[[nodiscard]] Numbers solve(std::vector<Numbers> a) {
  const std::size_t n = a.size();
  for (std::size_t k = 0; k < n; ++k) {
    const auto pivot = std::max_element(
        a.begin() + static_cast<std::ptrdiff_t>(k), a.end(),
        [k](const Numbers& x, const Numbers& y) { return std::abs(x[k]) < std::abs(y[k]); });
    std::swap(*pivot, a[k]);
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[i][k] / a[k][k];
      for (std::size_t j = k; j <= n; ++j) a[i][j] -= factor * a[k][j];
    }
  }
  Numbers x(n);
  for (std::size_t k = n; k-- > 0;) {
    double rest = a[k][n];
    for (std::size_t j = k + 1; j < n; ++j) rest -= a[k][j] * x[j];
    x[k] = rest / a[k][k];
  }
  return x;
}

/// The system of the x that minimizes sum over ALL columns of c (p - x . y)^2 + lambda |x|^2, the
/// right-hand side in the last column.
struct DenseSystem {
  std::vector<Numbers> a;
  double largest;  ///< an upper bound of what its sums pass through
};

[[nodiscard]] DenseSystem dense_system(const CsrView& matrix, Index row, const Matrix& y,
                                       const AlsParams& params) {
  Numbers confidences(static_cast<std::size_t>(matrix.cols), 1.0);
  Numbers preferences(confidences.size(), 0.0);
  for (std::size_t e = 0; e < matrix.row_columns(row).size(); ++e) {
    const auto column = static_cast<std::size_t>(matrix.row_columns(row)[e]);
    const double r = matrix.row_values(row)[e];
    confidences[column] = params.alpha * std::abs(r);
    preferences[column] = r > 0.0 ? 1.0 : 0.0;
  }
  const auto f = static_cast<std::size_t>(y.cols());
  DenseSystem system{std::vector<Numbers>(f, Numbers(f + 1, 0.0)), params.regularization};
  for (std::size_t j = 0; j < f; ++j) system.a[j][j] = params.regularization;
  for (Index column = 0; column < matrix.cols; ++column) {
    const double c = confidences[static_cast<std::size_t>(column)];
    const double p = preferences[static_cast<std::size_t>(column)];
    for (std::size_t j = 0; j < f; ++j) {
      const double weighed = c * y.row(column)[j];
      for (std::size_t i = 0; i < f; ++i) system.a[j][i] += weighed * y.row(column)[i];
      system.a[j][f] += weighed * p;
      system.largest += std::max(1.0, c) * std::pow(double{y.row(column)[j]}, 2);
    }
  }
  return system;
}

/// How far a side is from the exact solutions: the largest of its rows.
struct Distance {
  double rows = 0.0;       ///< relative to the longest row
  double residuals = 0.0;  ///< of A x = b, relative to that and to what the sums pass through
};

[[nodiscard]] Distance distance(const CsrMatrix& by_user, Side side, const Factors& found,
                                const AlsParams& params) {
  const CsrMatrix matrix = side == Side::kUsers ? by_user.clone() : transpose(by_user.view());
  Distance worst;
  double longest = 0.0;
  for (Index row = 0; row < matrix.rows; ++row) {
    if (matrix.view().row_size(row) == 0) continue;
    const DenseSystem system = dense_system(matrix.view(), row, found.side(other(side)), params);
    const Numbers exact = solve(system.a);
    const float* const x = found.side(side).row(row);
    double square = 0.0;
    double length = 0.0;
    double residual = 0.0;
    for (std::size_t j = 0; j < exact.size(); ++j) {
      square += std::pow(exact[j] - double{x[j]}, 2);
      length += exact[j] * exact[j];
      double rest = -system.a[j].back();
      for (std::size_t i = 0; i < exact.size(); ++i) rest += system.a[j][i] * double{x[i]};
      residual += rest * rest;
    }
    worst.rows = std::max(worst.rows, std::sqrt(square));
    longest = std::max(longest, std::sqrt(length));
    worst.residuals = std::max(worst.residuals, std::sqrt(residual) / system.largest);
  }
  worst.rows /= longest;
  worst.residuals /= longest;
  return worst;
}

/// Users with 1, 3, 20, 40 and all 60 items, and one with none; confidences in [low, low + 4 step],
/// every fifth a dislike and every seventh the confidence `extra`.
[[nodiscard]] CsrMatrix rows_of_all_sizes(double low, double step, double extra) {
  constexpr Index kSizes[] = {1, 3, 20, 0, 40, 60, 2, 59};
  std::vector<Entry> entries;
  for (Index u = 0; u < static_cast<Index>(std::size(kSizes)); ++u) {
    for (Index e = 0; e < kSizes[u]; ++e) {
      double c = low + step * ((u + 3 * e) % 5);
      if ((u + e) % 7 == 3) c = extra;
      entries.push_back({u, 37 * e % 60, static_cast<float>((u + e) % 5 == 4 ? -c : c)});
    }
  }
  return make_csr(static_cast<Index>(std::size(kSizes)), 60, entries);
}

[[nodiscard]] AlsParams given(int factors, AlsSolverKind solver) {
  AlsParams params;
  params.confidence = Confidence::kGiven;
  params.factors = factors;
  params.solver = solver;
  params.cg_steps = 100;
  params.regularization = 0.1;
  params.init_stddev = 1.0;
  return params;
}

constexpr AlsSolverKind kSolvers[] = {AlsSolverKind::kAuto, AlsSolverKind::kCholesky,
                                      AlsSolverKind::kCg};

[[nodiscard]] Factors drawn(const CsrMatrix& m, const AlsParams& params) {
  return {draw_factors(Side::kUsers, m.rows, params),
          draw_factors(Side::kItems, m.cols, params),
          {},
          {},
          0.0F};
}

TEST(GivenConfidence, RowsAreThoseOfTheDenseSystem) {
  struct Values {
    const char* name;
    double low;
    double step;
    double extra;
  };
  for (const auto& [name, low, step, extra] : {Values{"above 1", 1.5, 1.0, 40.0},
                                               {"1", 1.0, 0.0, 1.0},
                                               {"around 1", 0.5, 0.3, 30.0},
                                               {"below 1", 0.1, 0.2, 0.7},
                                               {"0 and above", 0.0, 0.6, 0.0},
                                               {"far below 1", 1e-3, 0.0, 1.0},
                                               {"0", 0.0, 0.0, 1.0}}) {
    const CsrMatrix m = rows_of_all_sizes(low, step, extra);
    for (const int factors : {1, 7, 30, 70}) {
      for (const AlsSolverKind solver : kSolvers) {
        const AlsParams params = given(factors, solver);
        for (const char* device : {"reference", "cpu"}) {
          for (const Side side : test::kSides) {
            SCOPED_TRACE(fmt::format("{}, {} factors, solver {}, {}, {}", name, factors,
                                     static_cast<int>(solver), device, side_name(side)));
            const auto cpu =
                job<AlsJob>(open_device(device)).make_solver(m.view(), params, drawn(m, params));
            (void)cpu->solve(side, {});
            const Distance off = distance(m, side, cpu->factors(), params);
            EXPECT_LT(off.residuals, kResidual);
            // Float32, by condition numbers of up to a few hundred; in the others it is what little
            // is left of a difference that is divided by.
            if (low >= 0.1) {
              EXPECT_LT(off.rows, 3e-5);
            }
          }
        }
      }
    }
  }
}

/// So many entries that conjugate gradients take them in lockstep.
TEST(GivenConfidence, LongRowsAreThoseOfTheDenseSystem) {
  constexpr Index kItems = 40000;
  std::vector<Entry> entries;
  for (Index i = 0; i < kItems; ++i) {
    if (i % 8 != 0) entries.push_back({0, i, 0.1F + 0.2F * static_cast<float>(i % 4)});
    if (i % 10 != 0)
      entries.push_back({1, i, (i % 3 == 0 ? -1.0F : 1.0F) * (i % 2 == 0 ? 0.5F : 9)});
    if (i % 2 != 0) entries.push_back({2, i, 2.0F});
  }
  const CsrMatrix m = make_csr(3, kItems, entries);
  const AlsParams params = given(16, AlsSolverKind::kCg);
  const auto cpu = job<AlsJob>(open_device("cpu")).make_solver(m.view(), params, drawn(m, params));
  (void)cpu->solve(Side::kUsers, {});
  const Distance off = distance(m, Side::kUsers, cpu->factors(), params);
  EXPECT_LT(off.residuals, kResidual);
  EXPECT_LT(off.rows, 1e-4);
}

/// c = 1 + alpha r, written as a value.
TEST(GivenConfidence, AboveOneItIsLinearConfidenceOfLess) {
  CsrMatrix m = rows_of_all_sizes(0.5, 1.0, 40.0);
  AlsParams linear = given(7, AlsSolverKind::kCholesky);
  linear.confidence = Confidence::kLinear;
  const auto device = open_device("cpu");
  const IterationResult expected = train_als(m.view(), linear, device);
  for (float& value : m.values) value += value > 0.0F ? 1.0F : -1.0F;
  const IterationResult found = train_als(m.view(), given(7, AlsSolverKind::kCholesky), device);
  ASSERT_EQ(found.iterations.size(), expected.iterations.size());
  for (std::size_t i = 0; i < found.iterations.size(); ++i) {
    EXPECT_NEAR(found.iterations[i].objective / expected.iterations[i].objective, 1.0, 1e-5);
  }
}

/// Dense data of tiny confidences and next to no lambda: float32 cannot resolve the systems.
TEST(GivenConfidence, WhatRoundingLeavesIsNumbersOrAnError) {
  const CsrMatrix m = rows_of_all_sizes(1e-7, 0.0, 1e-7);
  for (const AlsSolverKind solver : kSolvers) {
    AlsParams params = given(7, solver);
    params.regularization = 1e-9;
    try {
      const IterationResult result = train_als(m.view(), params, open_device("cpu"));
      for (const Iteration& one : result.iterations) EXPECT_TRUE(std::isfinite(one.objective));
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kNumerical) << error.what();
      EXPECT_THAT(error.what(), HasSubstr("regularization"));
    }
  }
}

}  // namespace
}  // namespace likewise
