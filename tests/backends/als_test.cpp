// SPDX-License-Identifier: Apache-2.0
/// ALS on every backend: by calculus on `reference`, by comparison on all others.
#include "likewise/als.h"

#include <array>
#include <cmath>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/weights.h"
#include "likewise/backend.h"
#include "likewise/control.h"
#include "tests/support.h"

namespace likewise {
namespace {

struct Case {
  std::string name;
  AlsParams params;
};

AlsParams small(Feedback feedback, int factors) {
  AlsParams params = AlsParams::defaults(feedback);
  params.factors = factors;
  params.iterations = 3;
  params.init_stddev = 1.0;
  params.regularization = feedback == Feedback::kImplicit ? 0.5 : 0.05;
  return params;
}

/// Every option that changes the mathematics.
std::vector<Case> cases() {
  std::vector<Case> all;
  const auto add = [&](const char* name, Feedback feedback, const auto& change) {
    AlsParams params = small(feedback, 7);
    change(params);
    all.push_back({name, params});
  };
  const auto nothing = [](AlsParams&) {};
  add("implicit", Feedback::kImplicit, nothing);
  add("alpha", Feedback::kImplicit, [](AlsParams& p) { p.alpha = 40.0; });
  add("log", Feedback::kImplicit, [](AlsParams& p) {
    p.confidence = Confidence::kLog;
    p.epsilon = 0.5;
  });
  add("unobserved", Feedback::kImplicit, [](AlsParams& p) { p.unobserved_weight = 0.1; });
  add("nu", Feedback::kImplicit, [](AlsParams& p) {
    p.unobserved_weight = 0.1;
    p.regularization_exponent = 1.0;
    p.regularization = 0.01;
  });
  add("nu_half", Feedback::kImplicit, [](AlsParams& p) {
    p.regularization_exponent = 0.5;
    p.regularization = 0.05;
  });
  add("one_factor", Feedback::kImplicit, [](AlsParams& p) { p.factors = 1; });
  add("wide", Feedback::kImplicit, [](AlsParams& p) { p.factors = 33; });
  add("explicit", Feedback::kExplicit, nothing);
  add("explicit_plain", Feedback::kExplicit, [](AlsParams& p) { p.biases = false; });
  add("explicit_nu0", Feedback::kExplicit, [](AlsParams& p) {
    p.regularization_exponent = 0.0;
    p.regularization = 2.0;
  });
  add("explicit_wide", Feedback::kExplicit, [](AlsParams& p) { p.factors = 48; });
  add("explicit_one", Feedback::kExplicit, [](AlsParams& p) { p.factors = 1; });
  return all;
}

/// A sparse matrix in which one user holds all items, one none, and (dislikes) some values are
/// negative.
CsrMatrix awkward_matrix(Index users, Index items, bool dislikes, std::uint64_t seed) {
  const CsrMatrix plain = test::random_csr(users, items, 6.0, seed);
  std::vector<Entry> entries;
  for (Index u = 0; u < users; ++u) {
    if (users > 2 && (u == users / 2 || u == users / 3)) continue;
    for (std::size_t i = 0; i < plain.view().row_columns(u).size(); ++i) {
      const float value = plain.view().row_values(u)[i];
      entries.push_back(
          {u, plain.view().row_columns(u)[i], dislikes && value > 4.0F ? -2.0F : value});
    }
  }
  for (Index i = 0; i < items && users > 2; ++i) {
    entries.push_back({users / 3, i, 1.0F + static_cast<float>(i % 4)});
  }
  return make_csr(users, items, entries);
}

bool is_implicit(const AlsParams& params) { return params.feedback == Feedback::kImplicit; }

double relative_difference(const Matrix& a, const Matrix& b) {
  double difference = 0.0;
  double size = 1e-30;
  for (Index r = 0; r < a.rows(); ++r) {
    for (Index j = 0; j < a.cols(); ++j) {
      difference += std::pow(a.row(r)[j] - b.row(r)[j], 2);
      size += std::pow(b.row(r)[j], 2);
    }
  }
  return std::sqrt(difference / size);
}

double interaction(const Factors& f, Index u, Index i) {
  double s = 0.0;
  for (Index j = 0; j < f.users.cols(); ++j) s += double{f.users.row(u)[j]} * f.items.row(i)[j];
  return s;
}

double regularization(const Factors& f, const CsrView& rows, Side side, const AlsParams& params) {
  double sum = 0.0;
  for (Index r = 0; r < rows.rows; ++r) {
    double square = f.bias(side).empty() ? 0.0 : std::pow(f.bias(side)[r], 2);
    for (const float x : f.side(side).row_span(r)) square += double{x} * x;
    sum += row_regularization(params, rows.row_size(r), rows.cols) * square;
  }
  return sum;
}

/// The objective as docs/math.md writes it, apart from every backend.
double objective(const CsrView& m, const Factors& f, const AlsParams& params) {
  double sum = 0.0;
  for (Index u = 0; u < m.rows; ++u) {
    for (std::size_t e = 0; e < m.row_columns(u).size(); ++e) {
      const Index i = m.row_columns(u)[e];
      const double r = m.row_values(u)[e];
      const double s = interaction(f, u, i);
      if (is_implicit(params)) {
        const CellWeights cell = cell_weights(params, r);
        sum += cell.w * s * s - 2 * cell.v * s + cell.constant;
      } else {
        const double bias = f.user_bias.empty() ? 0.0 : double{f.user_bias[u]} + f.item_bias[i];
        sum += std::pow(r - f.global_mean - bias - s, 2);
      }
    }
    for (Index i = 0; i < m.cols && is_implicit(params); ++i) {
      sum += missing_weight(params) * std::pow(interaction(f, u, i), 2);
    }
  }
  return sum + regularization(f, m, Side::kUsers, params) +
         regularization(f, transpose(m).view(), Side::kItems, params);
}

class AlsCase : public testing::TestWithParam<Case> {};

TEST_P(AlsCase, ReferenceGradientVanishesAfterAnExactHalfStep) {
  const AlsParams& params = GetParam().params;
  const CsrMatrix m = awkward_matrix(23, 17, is_implicit(params), 3);
  const auto backend = open_backend("reference");
  const AlsResult start = train_als(m.view(), params, *backend);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const auto solver = backend->make_als_solver(m.view(), params, start.factors.clone());
    const double minimum = solver->solve(side, {});
    const Factors& found = solver->factors();
    ASSERT_NEAR(objective(m.view(), found, params), minimum, 1e-6 * minimum);
    for (Index r = 0; r < found.side(side).rows(); r += 3) {
      for (Index j = 0; j < params.factors; j += 2) {
        constexpr float kMove = 0.05F;
        Factors up = found.clone();
        Factors down = found.clone();
        up.side(side).row(r)[j] += kMove;
        down.side(side).row(r)[j] -= kMove;
        const double rise = objective(m.view(), up, params) - minimum;
        const double fall = objective(m.view(), down, params) - minimum;
        EXPECT_GT(rise, 0.0);
        EXPECT_GT(fall, 0.0);
        // Equal on both sides up to the rounding of the float32 factors handed back: the gradient
        // is 0 beside a curvature of (rise + fall) / kMove^2.
        EXPECT_NEAR(rise, fall, 1e-3 * (rise + fall) + 1e-6 * minimum)
            << side_name(side) << " " << r;
      }
    }
  }
}

TEST_P(AlsCase, ObjectiveNeverRises) {
  const AlsParams& params = GetParam().params;
  const CsrMatrix m = awkward_matrix(40, 31, is_implicit(params), 5);
  for (const char* name : {"reference", "cpu"}) {
    const auto backend = open_backend(name);
    const auto solver =
        backend->make_als_solver(m.view(), params, train_als(m.view(), params, *backend).factors);
    double before = solver->solve(Side::kUsers, {});
    for (int i = 0; i < 6; ++i) {
      const double now = solver->solve(i % 2 == 0 ? Side::kItems : Side::kUsers, {});
      EXPECT_LE(now, before * (1 + 1e-6)) << name;
      before = now;
    }
    EXPECT_NEAR(objective(m.view(), solver->factors(), params), before, 1e-5 * before) << name;
  }
}

/// One half-step from the same start: factors and objective as the reference's. The exact way is
/// held to float32's rounding: condition numbers here stay under 1e3, and the objective is the
/// difference of sums that are up to 50 times as large. Auto is held to its promise about the
/// objective, which lets the factors differ by the square root of that.
TEST_P(AlsCase, CpuEqualsReference) {
  AlsParams params = GetParam().params;
  for (const auto& [users, items] :
       {std::pair{0, 5}, {1, 1}, {5, 0}, {3, 40}, {60, 33}, {200, 90}}) {
    const CsrMatrix m = awkward_matrix(users, items, is_implicit(params), 7);
    params.iterations = 1;
    params.solver = AlsSolverKind::kAuto;
    const AlsResult start = train_als(m.view(), params, *open_backend("reference"));
    for (const AlsSolverKind kind : {AlsSolverKind::kCholesky, AlsSolverKind::kAuto}) {
      params.solver = kind;
      const bool exact = kind == AlsSolverKind::kCholesky;
      for (const Side side : {Side::kUsers, Side::kItems}) {
        const auto expected =
            open_backend("reference")->make_als_solver(m.view(), params, start.factors.clone());
        const auto actual =
            open_backend("cpu")->make_als_solver(m.view(), params, start.factors.clone());
        const double want = expected->solve(side, {});
        const double got = actual->solve(side, {});
        const auto where = fmt::format("{} x {}, {}, {}", users, items, side_name(side),
                                       exact ? "cholesky" : "auto");
        EXPECT_NEAR(got, want, (exact ? 1e-5 : 1e-4) * std::abs(want) + 1e-9) << where;
        EXPECT_LT(relative_difference(actual->factors().side(side), expected->factors().side(side)),
                  exact ? 2e-4 : 3e-2)
            << where;
      }
    }
  }
}

TEST_P(AlsCase, ThreadsDoNotChangeTheResult) {
  const AlsParams& params = GetParam().params;
  const CsrMatrix m = awkward_matrix(700, 150, is_implicit(params), 9);
  const auto backend = open_backend("cpu");
  AlsResult one;
  with_threads(1, [&] { one = train_als(m.view(), params, *backend); });
  for (const int threads : {2, 5}) {
    with_threads(threads, [&] {
      const AlsResult many = train_als(m.view(), params, *backend);
      EXPECT_EQ(relative_difference(many.factors.users, one.factors.users), 0.0);
      EXPECT_EQ(relative_difference(many.factors.items, one.factors.items), 0.0);
      EXPECT_EQ(many.iterations.back().objective, one.iterations.back().objective);
    });
  }
}

/// Rows too long for the cache are solved in lockstep, in blocks of the other side.
TEST_P(AlsCase, LongRowsEqualReference) {
  AlsParams params = GetParam().params;
  params.iterations = 1;
  if (params.factors > 16) params.factors = 16;
  const Index users = 40000;
  std::vector<Entry> entries;
  for (Index u = 0; u < users; ++u) {
    entries.push_back({u, u % 2, 1.0F + static_cast<float>(u % 5)});
    if (u % 7 != 0) entries.push_back({u, 2, 3.0F - static_cast<float>(u % 3)});
    if (u % 100 == 0) entries.push_back({u, 3 + u % 4, 2.0F});
  }
  const CsrMatrix m = make_csr(users, 7, entries);
  const AlsResult start = train_als(m.view(), params, *open_backend("reference"));
  const auto expected =
      open_backend("reference")->make_als_solver(m.view(), params, start.factors.clone());
  const auto actual = open_backend("cpu")->make_als_solver(m.view(), params, start.factors.clone());
  const double want = expected->solve(Side::kItems, {});
  EXPECT_NEAR(actual->solve(Side::kItems, {}), want, 1e-4 * want);
  EXPECT_LT(relative_difference(actual->factors().items, expected->factors().items), 3e-2);
}

INSTANTIATE_TEST_SUITE_P(All, AlsCase, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

/// Enough steps of CG are the exact solution; few are the better the more they are.
TEST(AlsCg, MoreStepsComeCloserToTheExactSolution) {
  AlsParams params = small(Feedback::kImplicit, 12);
  params.alpha = 10.0;
  const CsrMatrix m = awkward_matrix(120, 80, false, 11);
  params.iterations = 1;
  const AlsResult start = train_als(m.view(), params, *open_backend("reference"));
  const auto exact =
      open_backend("reference")->make_als_solver(m.view(), params, start.factors.clone());
  const double minimum = exact->solve(Side::kUsers, {});
  params.solver = AlsSolverKind::kCg;
  double before = 1e300;
  for (const int steps : {1, 2, 4, 30}) {
    params.cg_steps = steps;
    const auto solver =
        open_backend("cpu")->make_als_solver(m.view(), params, start.factors.clone());
    const double now = solver->solve(Side::kUsers, {});
    EXPECT_LT(now, before);
    EXPECT_GT(now, minimum * (1 - 1e-5));
    before = now;
  }
  EXPECT_NEAR(before, minimum, 1e-5 * minimum);
  params.cg_tolerance = 0.5;
  const auto loose = open_backend("cpu")->make_als_solver(m.view(), params, start.factors.clone());
  EXPECT_GT(loose->solve(Side::kUsers, {}), before);
}

TEST(AlsErrors, SingularSystemsAreNamed) {
  AlsParams params = small(Feedback::kExplicit, 8);
  params.regularization = 0.0;
  params.solver = AlsSolverKind::kCholesky;
  const CsrMatrix m = awkward_matrix(20, 15, false, 1);
  for (const char* name : {"reference", "cpu"}) {
    try {
      (void)train_als(m.view(), params, *open_backend(name));
      ADD_FAILURE() << name << " did not notice";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kNumerical);
      EXPECT_THAT(error.what(), testing::HasSubstr("larger regularization"));
    }
  }
}

/// Huge values overflow float32: an error that names what happened, never a NaN in the factors.
TEST(AlsErrors, OverflowIsNamed) {
  AlsParams params = small(Feedback::kImplicit, 4);
  params.alpha = 1e30;
  const std::array<Entry, 3> entries{Entry{0, 0, 1e30F}, {1, 0, 1.0F}, {1, 1, 2.0F}};
  const CsrMatrix m = make_csr(2, 2, entries);
  EXPECT_THROW((void)train_als(m.view(), params, *open_backend("cpu")), Error);
}

}  // namespace
}  // namespace likewise
