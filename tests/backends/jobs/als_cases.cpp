// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/jobs/als_cases.h"

#include <algorithm>
#include <initializer_list>
#include <ostream>
#include <utility>

#include <fmt/format.h>

#include "tests/csr_entries.h"
#include "tests/support.h"

namespace likewise::test {

AlsParams small_als(Feedback feedback, int factors) {
  AlsParams params = AlsParams::defaults(feedback);
  params.factors = factors;
  params.iterations = 3;
  params.init_stddev = 1.0;
  params.regularization = feedback == Feedback::kImplicit ? 0.5 : 0.05;
  return params;
}

namespace {

constexpr Feedback kImplicit = Feedback::kImplicit;
constexpr Feedback kExplicit = Feedback::kExplicit;

template <class Change>
[[nodiscard]] AlsCase changed(const char* name, Feedback feedback, const Change& change) {
  AlsCase one{name, small_als(feedback, 7)};
  change(one.params);
  return one;
}

[[nodiscard]] AlsCases widths(std::string name, Feedback feedback, int widest,
                              std::initializer_list<int> widths) {
  AlsCases all{std::move(name), {}};
  for (const int f : widths) {
    if (f > widest) continue;
    all.cases.push_back({fmt::format("{} factors", f), small_als(feedback, f)});
  }
  return all;
}

}  // namespace

void PrintTo(const AlsCases& cases, std::ostream* to) { *to << cases.name; }
void PrintTo(const AlsStrategy& strategy, std::ostream* to) { *to << strategy.name; }

std::vector<AlsCases> als_cases(int widest) {
  const auto nothing = [](AlsParams&) {};
  std::vector<AlsCases> all{
      {"implicit",
       {changed("plain", kImplicit, nothing),
        changed("alpha", kImplicit, [](AlsParams& p) { p.alpha = 40.0; }),
        changed("log", kImplicit,
                [](AlsParams& p) {
                  p.confidence = Confidence::kLog;
                  p.epsilon = 0.5;
                }),
        changed("unobserved weight", kImplicit, [](AlsParams& p) { p.unobserved_weight = 0.1; }),
        changed("nu 1", kImplicit,
                [](AlsParams& p) {
                  p.unobserved_weight = 0.1;
                  p.regularization_exponent = 1.0;
                  p.regularization = 0.01;
                }),
        changed("nu 1/2", kImplicit,
                [](AlsParams& p) {
                  p.regularization_exponent = 0.5;
                  p.regularization = 0.05;
                }),
        changed("unregularized", kImplicit, [](AlsParams& p) { p.regularization = 0.0; })}},
      {"explicit",
       {changed("plain", kExplicit, nothing),
        changed("no biases", kExplicit, [](AlsParams& p) { p.biases = false; }),
        changed("nu 0", kExplicit,
                [](AlsParams& p) {
                  p.regularization_exponent = 0.0;
                  p.regularization = 2.0;
                })}},
      widths("implicit_widths", kImplicit, widest, {1, 33, 100, 127, 128, 129, 256}),
      widths("explicit_widths", kExplicit, widest, {1, 48, 100, 127, 128, 255}),  // + a bias
      widths("implicit_wide", kImplicit, widest, {257, 520, 1024}),
      widths("explicit_wide", kExplicit, widest, {300}),
  };
  std::erase_if(all, [](const AlsCases& group) { return group.cases.empty(); });
  return all;
}

AlsCases given_cases(bool below_one) {
  AlsCases all{"given", {}};
  const auto add = [&](const char* name, double alpha, double nu) {
    all.cases.push_back(changed(name, kImplicit, [&](AlsParams& p) {
      p.confidence = Confidence::kGiven;
      p.alpha = alpha;
      p.regularization_exponent = nu;
    }));
  };
  add("above 1", 3.0, 0.0);
  add("1 and above", 1.0, 0.0);
  if (!below_one) return all;
  add("around 1", 0.4, 0.0);
  add("below 1", 0.1, 0.0);
  add("nu 1/2", 0.3, 0.5);
  for (const int f : {1, 33, 129}) {
    all.cases.push_back({fmt::format("{} factors", f), small_als(kImplicit, f)});
    all.cases.back().params.confidence = Confidence::kGiven;
    all.cases.back().params.alpha = 0.3;
  }
  return all;
}

AlsCases nonnegative_cases() {
  AlsCases all{"nonnegative", {}};
  const auto add = [&](AlsCase one) {
    one.params.nonnegative = true;
    all.cases.push_back(std::move(one));
  };
  const auto nothing = [](AlsParams&) {};
  add(changed("implicit", kImplicit, nothing));
  add(changed("unobserved weight", kImplicit, [](AlsParams& p) {
    p.unobserved_weight = 0.1;
    p.regularization_exponent = 1.0;
    p.regularization = 0.01;
  }));
  add(changed("explicit", kExplicit, nothing));
  add(changed("no biases", kExplicit, [](AlsParams& p) { p.biases = false; }));
  for (const int f : {1, 33}) {
    add({fmt::format("{} factors", f), small_als(kImplicit, f)});
    add({fmt::format("{} factors and biases", f), small_als(kExplicit, f)});
  }
  return all;
}

AlsCases likes_cases() {
  AlsCases all{"likes", {}};
  for (const double nu : {0.5, 1.0}) {
    all.cases.push_back(changed(nu == 1.0 ? "nu 1" : "nu 1/2", kImplicit, [&](AlsParams& p) {
      p.regularization_count = RegularizationCount::kLikes;
      p.regularization_exponent = nu;
    }));
  }
  return all;
}

std::vector<AlsCases> als_pivot_cases() {
  std::vector<AlsCases> all;
  for (const int f : {16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 256, 320}) {
    all.push_back(widths(fmt::format("implicit_{}", f), kImplicit, f, {f}));
  }
  all.push_back(widths("explicit_33", kExplicit, 33, {33}));  // its basis is of eigenvectors
  return all;
}

std::vector<AlsCases> als_kernel_cases() {
  std::vector<AlsCases> all = als_pivot_cases();
  for (const int f : {100, 192}) {
    all.push_back(widths(fmt::format("explicit_{}", f), kExplicit, f, {f}));
  }
  AlsCases nonnegative{"nonnegative", {}};
  for (const int f : {64, 130, 200}) {
    for (const Feedback feedback : {kImplicit, kExplicit}) {
      nonnegative.cases.push_back(
          {fmt::format("{} {}", f, feedback == kExplicit ? "explicit" : "implicit"),
           small_als(feedback, f)});
      nonnegative.cases.back().params.nonnegative = true;
    }
  }
  all.push_back(std::move(nonnegative));
  return all;
}

AlsParams AlsStrategy::applied_to(AlsParams params) const {
  params.solver = solver;
  params.precision = precision;
  params.cg_steps = 100;
  return params;
}

bool AlsStrategy::suits(const AlsParams& params) const {
  if (!params.nonnegative) return true;
  return solver != AlsSolverKind::kCg &&
         (precision == Precision::kAuto || precision == Precision::kFp32);
}

namespace {

/// Float32, solved exactly; condition numbers of the cases stay under 1e3, and sums have up to
/// 34,000 terms.
constexpr AlsTolerance kFloat{
    .objective = 1e-8, .reported = 1e-5, .factors = 5e-5, .gradient = 5e-6, .drift = 2e-6};
/// The processor's conjugate gradients, whose residual of a row of 34,000 interactions is one sum:
/// its rounding is first seen in the factors.
constexpr AlsTolerance kLongSums{
    .objective = 1e-8, .reported = 1e-5, .factors = 1e-3, .gradient = 5e-6, .drift = 2e-6};
/// 11 bits in the stored rows. Their rounding moves the solution, which is where the objective is
/// flat. On few rows of noise a training takes another strategy.
constexpr AlsTolerance kElevenBits{
    .objective = 1e-5, .reported = 0x1p-11, .factors = 3e-2, .gradient = 5e-3, .drift = 5e-4};
/// 8 bits in the stored rows: 8 times the error, 64 times what is of second order in it.
constexpr AlsTolerance kEightBits{
    .objective = 64e-5, .reported = 0x1p-8, .factors = 24e-2, .gradient = 4e-2, .drift = 5e-3};

/// Auto leaves 3e-5 of a row's objective to the next half-step; factors may differ by the square
/// root of that. On few rows of noise what is left adds up while the objective falls.
[[nodiscard]] constexpr AlsTolerance by_auto(AlsTolerance exact, double drift) {
  exact.objective += 1e-5;
  exact.factors += 1e-2;
  exact.drift += drift;
  return exact;
}

}  // namespace

std::vector<AlsStrategy> als_strategies(const std::string& device) {
  constexpr auto kAuto = AlsSolverKind::kAuto;
  if (device == "cpu") {
    return {{"auto", kAuto, Precision::kAuto, false, by_auto(kFloat, 1e-4)},
            {"cholesky", AlsSolverKind::kCholesky, Precision::kAuto, true, kFloat},
            {"cg", AlsSolverKind::kCg, Precision::kAuto, true, kLongSums},
            {"auto_fp16", kAuto, Precision::kFp16, false, by_auto(kElevenBits, 1e-4)},
            {"cholesky_fp16", AlsSolverKind::kCholesky, Precision::kFp16, true, kElevenBits},
            {"cg_fp16", AlsSolverKind::kCg, Precision::kFp16, true, kElevenBits}};
  }
  // In float32, since the data are small.
  std::vector<AlsStrategy> strategies{
      {"auto", kAuto, Precision::kAuto, false, by_auto(kFloat, 1e-4)}};
  const auto add = [&](const char* name, Precision precision, const AlsTolerance& exact) {
    strategies.push_back(
        {fmt::format("cholesky_{}", name), AlsSolverKind::kCholesky, precision, true, exact});
    strategies.push_back({fmt::format("cg_{}", name), AlsSolverKind::kCg, precision, true, exact});
    strategies.push_back(
        {fmt::format("auto_{}", name), kAuto, precision, false, by_auto(exact, 1e-4)});
  };
  add("fp32", Precision::kFp32, kFloat);
  add("tf32", Precision::kTf32, kElevenBits);
  add("fp16", Precision::kFp16, kElevenBits);
  add("bf16", Precision::kBf16, kEightBits);
  return strategies;
}

CsrMatrix awkward_matrix(Index users, Index items, bool dislikes, std::uint64_t seed) {
  const CsrMatrix plain = random_csr(users, items, 6.0, seed);
  const Index eager = users > 2 ? users / 3 : users;    // the user with nearly all items
  const Index absent = users > 2 ? users / 2 : users;   // the user with none
  const Index popular = items > 3 ? items - 2 : items;  // items from here on have at most one user
  std::vector<Entry> entries;
  for (Index u = 0; u < users; ++u) {
    if (u == eager || u == absent) continue;
    for (std::size_t e = 0; e < plain.view().row_columns(u).size(); ++e) {
      const Index item = plain.view().row_columns(u)[e];
      float value = plain.view().row_values(u)[e];
      if (item >= popular) continue;
      if (dislikes && value > 4.0F) value = -2.0F;
      if ((u + item) % 11 == 3) value = 0.0F;
      entries.push_back({u, item, value});
      if (u == 0 && users > 2) break;
    }
  }
  for (Index i = 0; i < std::min(items, popular + 1) && users > 2; ++i) {
    entries.push_back({eager, i, 1.0F + static_cast<float>(i % 4)});
  }
  return make_csr(users, items, entries);
}

namespace {

/// Rows of these sizes, whose entries jump over all columns: 37 and `columns` have no common
/// factor.
[[nodiscard]] CsrMatrix rows_of_sizes(std::initializer_list<Index> sizes, Index columns) {
  std::vector<Entry> entries;
  Index u = 0;
  for (const Index size : sizes) {
    for (Index e = 0; e < size; ++e) {
      entries.push_back({u, 37 * e % columns, 1.0F + static_cast<float>((u + e) % 5)});
    }
    ++u;
  }
  return make_csr(u, columns, entries);
}

}  // namespace

CsrMatrix few_rows_matrix() { return rows_of_sizes({0, 1, 40, 60, 90, 100, 139, 230}, 240); }

CsrMatrix half_in_a_row() {
  std::vector<Entry> entries;
  for (Index i = 0; i < 90; ++i) entries.push_back({11, i, 1.0F + static_cast<float>(i % 5)});
  for (Index u = 0; u < 60; ++u) {
    if (u != 11 && u % 7 != 0) entries.push_back({u, 40, 1.0F + static_cast<float>(u % 4)});
    if (u != 11 && u % 3 == 1) entries.push_back({u, 5 + u % 30, 2.0F});
  }
  return make_csr(60, 100, entries);
}

std::vector<NamedMatrix> matrices_of_ranks(bool dislikes) {
  std::vector<NamedMatrix> all;
  all.push_back({"awkward", awkward_matrix(60, 33, dislikes, 7)});
  all.push_back({"one cell", awkward_matrix(1, 1, dislikes, 7)});
  all.push_back({"fewer rows than ranks", awkward_matrix(3, 40, dislikes, 7)});
  all.push_back({"few rows", rows_of_sizes({0, 1, 40, 100, 139}, 140)});
  all.push_back({"half in a row", half_in_a_row()});
  return all;
}

CsrMatrix long_rows_matrix() {
  const Index users = 40000;
  std::vector<Entry> entries;
  for (Index u = 0; u < users; ++u) {
    entries.push_back({u, u % 2, 1.0F + static_cast<float>(u % 5)});
    if (u % 7 != 0) entries.push_back({u, 2, 3.0F - static_cast<float>(u % 3)});
    if (u % 100 == 0) entries.push_back({u, 3 + u % 4, 2.0F});
  }
  return make_csr(users, 7, entries);
}

CsrMatrix dense_items_matrix(Index users) {
  std::vector<Entry> entries;
  for (Index u = 0; u < users; ++u) {
    for (Index i = 0; i < 100; ++i) {
      const std::uint32_t drawn =
          (static_cast<std::uint32_t>(u) * 2654435761U ^ static_cast<std::uint32_t>(i) * 40503U) >>
          8U;
      const std::uint32_t percent = i < 90 ? 60U - static_cast<std::uint32_t>(i) / 2U : 1U;
      if (i != 99 && drawn % 100U >= percent) continue;
      const float value = 1.0F + static_cast<float>(drawn / 100U % 5U);
      entries.push_back({u, i, value});
    }
  }
  return make_csr(users, 100, entries);
}

}  // namespace likewise::test
