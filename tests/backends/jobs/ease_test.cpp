// SPDX-License-Identifier: Apache-2.0
/// EASE on awkward matrices: the reference against a general inverse in double precision, the CPU
/// and GPUs against the reference.
#include "backends/jobs/ease.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/cpu/jobs.h"
#include "backends/jobs/device_jobs.h"
#include "backends/reference/jobs.h"
#include "core/linalg/dense_inverse.h"
#include "retrieval/knn_lists.h"
#include "tests/backends/device_test.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise::ease_test {
namespace {

using test::Entry;
using test::make_csr;

using Dense = std::vector<std::vector<double>>;

constexpr double kTolerance = 3e-4;

/// Of all systems: none has both exponents and dropout at 0.
const EaseSystem kSystems[] = {{.regularization = 2.0},
                               {.user_exponent = 0.5, .regularization = 0.7, .dropout = 0.3},
                               {0.5, 0.2, 0.05, 0.0},
                               {1.0, 0.5, 0.3, 0.5},
                               {0.0, 1.0, 1.0, 0.0}};

/// Users and items without entries, users with one, an item that everybody has, two columns that
/// are equal, values of both signs; one user with half of all items.
[[nodiscard]] CsrMatrix awkward(Index users, Index items, double per_user, std::uint64_t seed) {
  const CsrMatrix m = test::random_csr(users, items, per_user, seed);
  std::vector<Entry> entries;
  for (Index u = 0; u < users; ++u) {
    if (u % 7 == 3) continue;
    for (Offset e = m.offsets[u]; e < m.offsets[u + 1]; ++e) {
      const Index item = m.columns[e];
      const bool half = u == users / 2 && item % 2 == 0;
      if (item < 3 || item == items - 1 || half) continue;
      entries.push_back({u, item, u % 5 == 2 ? -0.5F : m.values[e]});
    }
    for (Index item = 4; u == users / 2 && item < items - 1; item += 2) {
      entries.push_back({u, item, 1.0F});
    }
    if (items > 4) entries.push_back({u, 0, 1.0F});
    if (items > 4 && u % 3 == 0) {
      entries.push_back({u, 1, 2.0F});
      entries.push_back({u, 2, 2.0F});
    }
  }
  return make_csr(users, items, entries);
}

/// By Gauss and Jordan with pivots.
[[nodiscard]] Dense inverse(Dense a) {
  const std::size_t n = a.size();
  for (std::size_t i = 0; i < n; ++i) {
    a[i].resize(2 * n);
    a[i][n + i] = 1.0;
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t best = k;
    for (std::size_t i = k; i < n; ++i) {
      if (std::abs(a[i][k]) > std::abs(a[best][k])) best = i;
    }
    std::swap(a[k], a[best]);
    const double pivot = a[k][k];
    for (double& x : a[k]) x /= pivot;
    for (std::size_t i = 0; i < n; ++i) {
      const double factor = a[i][k];
      for (std::size_t j = 0; i != k && j < 2 * n; ++j) a[i][j] -= factor * a[k][j];
    }
  }
  for (auto& row : a) row.erase(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(n));
  return a;
}

/// B by the formulas as they stand, G not symmetric.
[[nodiscard]] Dense formula(const CsrMatrix& m, const EaseSystem& system) {
  const auto n = static_cast<std::size_t>(m.cols);
  std::vector<double> count(n);
  for (const Index item : m.columns) count[static_cast<std::size_t>(item)] += 1.0;
  const auto power = [](double d, double exponent) {
    return d > 0.0 ? std::pow(d, exponent) : 0.0;
  };
  Dense g(n, std::vector<double>(n));
  for (Index u = 0; u < m.rows; ++u) {
    const auto items = m.view().row_columns(u);
    const auto values = m.view().row_values(u);
    const double scale = power(static_cast<double>(items.size()), -system.user_exponent);
    for (std::size_t e = 0; e < items.size(); ++e) {
      for (std::size_t f = 0; f < items.size(); ++f) {
        g[static_cast<std::size_t>(items[e])][static_cast<std::size_t>(items[f])] +=
            scale * double{values[e]} * double{values[f]};
      }
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; system.item_exponent && j < n; ++j) {
      g[i][j] *=
          power(count[i], *system.item_exponent - 1.0) * power(count[j], -*system.item_exponent);
    }
    g[i][i] += system.regularization + system.dropout / (1.0 - system.dropout) * g[i][i];
  }
  const Dense p = inverse(g);
  Dense b(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) b[i][j] = i == j ? 0.0 : -p[i][j] / p[j][j];
  }
  return b;
}

[[nodiscard]] double largest(const Dense& b) {
  double most = 0.0;
  for (const auto& row : b) {
    for (const double x : row) most = std::max(most, std::abs(x));
  }
  return most;
}

void expect_near(const Matrix& b, const Dense& expected, double tolerance) {
  ASSERT_EQ(b.rows(), std::ssize(expected));
  ASSERT_EQ(b.cols(), std::ssize(expected));
  const double error = tolerance * largest(expected);
  for (Index i = 0; i < b.rows(); ++i) {
    for (Index j = 0; j < b.stride(); ++j) {
      const bool padding = j >= b.cols();
      const double x =
          padding ? 0.0 : expected[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      ASSERT_NEAR(double{b.row(i)[j]}, x, padding ? 0.0 : error) << i << ", " << j;
    }
  }
}

/// As a share of the largest number.
[[nodiscard]] double worst_error(const Matrix& b, const Dense& expected) {
  double worst = 0.0;
  for (Index i = 0; i < b.rows(); ++i) {
    for (Index j = 0; j < b.cols(); ++j) {
      const double x = expected[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
      worst = std::max(worst, std::abs(double{b.row(i)[j]} - x));
    }
  }
  return worst / largest(expected);
}

[[nodiscard]] Dense to_dense(const KnnLists& lists) {
  const auto n = static_cast<std::size_t>(lists.size());
  Dense b(n, std::vector<double>(n));
  for (Index j = 0; j < lists.size(); ++j) {
    for (std::size_t e = 0; e < lists.rows_of(j).size(); ++e) {
      b[static_cast<std::size_t>(lists.rows_of(j)[e])][static_cast<std::size_t>(j)] =
          double{lists.similarities_of(j)[e]};
    }
  }
  return b;
}

[[nodiscard]] Dense to_dense(const Matrix& b) {
  Dense all;
  for (Index i = 0; i < b.rows(); ++i) {
    all.emplace_back(b.row_span(i).begin(), b.row_span(i).end());
  }
  return all;
}

/// `count` candidates of each item: those that follow it in steps of `step`, round the catalogue.
[[nodiscard]] KnnLists some_candidates(Index items, Index count, Index step) {
  KnnLists lists{Array<Offset>(Offset{items} + 1), Array<Index>(Offset{items} * count),
                 Array<float>(Offset{items} * count)};
  for (Index item = 0; item < items; ++item) {
    lists.offsets[item + 1] = lists.offsets[item] + count;
    for (Index e = 0; e < count; ++e) {
      lists.rows[lists.offsets[item] + e] =
          static_cast<Index>((item + Offset{e + 1} * step) % items);
    }
  }
  return lists;
}

[[nodiscard]] std::vector<CsrMatrix> matrices() {
  std::vector<CsrMatrix> all;
  all.push_back(make_csr(0, 0, {}));
  all.push_back(make_csr(0, 5, {}));
  all.push_back(make_csr(4, 0, {}));
  all.push_back(make_csr(3, 4, {}));
  all.push_back(make_csr(3, 1, std::vector<Entry>{{0, 0, 1}, {2, 0, 2}}));
  all.push_back(awkward(1, 9, 4.0, 1));
  all.push_back(awkward(50, 33, 6.0, 2));
  all.push_back(awkward(400, 64, 9.0, 3));
  return all;
}

TEST(Ease, ReferenceIsTheFormula) {
  const auto reference = make_reference_ease();
  for (const CsrMatrix& m : matrices()) {
    for (const EaseSystem& system : kSystems) {
      SCOPED_TRACE(testing::Message()
                   << m.rows << " x " << m.cols << ", user exponent " << system.user_exponent);
      // Rounded once, to float32.
      expect_near(reference->dense_weights(m.view(), system, {}), formula(m, system), 6e-8);
    }
  }
}

/// With up to three blocks of the CPU's sweeps.
[[nodiscard]] std::vector<CsrMatrix> larger_matrices() {
  std::vector<CsrMatrix> all = matrices();
  all.push_back(awkward(300, 256, 12.0, 4));
  all.push_back(awkward(500, 257, 12.0, 5));
  all.push_back(awkward(700, 545, 20.0, 6));
  return all;
}

/// Dense weights on a device, of one of the systems.
class EaseOnDevice : public test::DeviceTest<int> {
 protected:
  [[nodiscard]] static Matrix weights(const CsrMatrix& m) {
    return job<EaseJob>(device()).dense_weights(m.view(), kSystems[GetParam()], {});
  }
};

TEST_P(EaseOnDevice, EqualsTheReference) {
  const auto reference = make_reference_ease();
  for (const CsrMatrix& m : larger_matrices()) {
    SCOPED_TRACE(testing::Message() << m.rows << " x " << m.cols);
    // 2^-24 times the condition numbers of these systems, up to some thousands.
    expect_near(weights(m), to_dense(reference->dense_weights(m.view(), kSystems[GetParam()], {})),
                kTolerance);
  }
}

TEST_P(EaseOnDevice, RunsAreTheSameToTheBit) {
  const CsrMatrix m = awkward(900, 1100, 25.0, 8);
  const Matrix one = weights(m);
  const Matrix other = weights(m);
  for (Index i = 0; i < m.cols; ++i) {
    ASSERT_TRUE(std::ranges::equal(one.row_span(i), other.row_span(i))) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, EaseOnDevice, testing::Range(0, 5));
INSTANTIATE_TEST_SUITE_P(Cuda, EaseOnDevice, testing::Range(0, 5));

class EaseOnGpu : public EaseOnDevice {};

/// Three blocks of the GPU's sweeps, of which the last has 112 rows.
TEST_P(EaseOnGpu, EqualsTheCpuOnMoreItems) {
  const CsrMatrix m = awkward(5000, 2150, 40.0, 9);
  const Matrix found = weights(m);
  const Dense expected =
      to_dense(make_cpu_ease()->dense_weights(m.view(), kSystems[GetParam()], {}));
  RecordProperty("worst", std::to_string(worst_error(found, expected)));
  expect_near(found, expected, kTolerance);
}

TEST_P(EaseOnGpu, SingularSystemsAreRefusedByASentence) {
  const CsrMatrix twins =
      make_csr(3, 4, std::vector<Entry>{{0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 1, 1}, {1, 2, 1}});
  for (const double regularization : {0.0, 1e-9}) {
    EXPECT_THAT(test::error_of(ErrorKind::kNumerical,
                               [&] {
                                 const EaseSystem system{.regularization = regularization};
                                 (void)job<EaseJob>(device()).dense_weights(twins.view(), system,
                                                                            {});
                               }),
                testing::HasSubstr("use a larger regularization"));
  }
}

INSTANTIATE_TEST_SUITE_P(Cuda, EaseOnGpu, testing::Values(1, 2));

void expect_lists_near(const KnnLists& lists, const KnnLists& wanted) {
  for (Index item = 0; item < lists.size(); ++item) {
    const auto weights = lists.similarities_of(item);
    ASSERT_TRUE(std::ranges::is_sorted(weights, std::ranges::greater{})) << item;
    ASSERT_EQ(std::ranges::count(weights, 0.0F), 0) << item;
  }
  const Dense expected = to_dense(wanted);
  const Dense found = to_dense(lists);
  ASSERT_EQ(found.size(), expected.size());
  const double error = kTolerance * (1.0 + largest(expected));
  for (std::size_t i = 0; i < found.size(); ++i) {
    for (std::size_t j = 0; j < found.size(); ++j) {
      ASSERT_NEAR(found[i][j], expected[i][j], error) << i << ", " << j;
    }
  }
}

/// Weights of candidates on a device, of one of the systems.
class LocalEaseOnDevice : public test::DeviceTest<int> {
 protected:
  [[nodiscard]] static KnnLists weights(const CsrMatrix& m, const KnnLists& candidates,
                                        const Device& by = device()) {
    return job<EaseJob>(by).local_weights(m.view(), kSystems[GetParam()], candidates, {});
  }
};

/// More candidates than items are some of them again, and the item itself.
TEST_P(LocalEaseOnDevice, EqualsTheReference) {
  const auto reference = make_reference_ease();
  for (const CsrMatrix& m : larger_matrices()) {
    SCOPED_TRACE(testing::Message() << m.rows << " x " << m.cols);
    for (const Index count : {0, 1, 4, 17}) {
      const KnnLists candidates = some_candidates(m.cols, count, 3);
      expect_lists_near(weights(m, candidates),
                        reference->local_weights(m.view(), kSystems[GetParam()], candidates, {}));
    }
  }
}

TEST_P(LocalEaseOnDevice, ListsMayHaveDifferentLengths) {
  const CsrMatrix m = awkward(400, 64, 9.0, 3);
  const KnnLists all = some_candidates(64, 40, 5);
  std::vector<Candidate> some[64];
  for (Index item = 0; item < 64; ++item) {
    for (Index e = 0; e < item % 41; ++e) {
      some[item].push_back({0.0F, all.rows_of(item)[static_cast<std::size_t>(e)]});
    }
  }
  const KnnLists candidates =
      pack_knn_lists(64, [&](Index item) { return std::span<const Candidate>(some[item]); });
  expect_lists_near(weights(m, candidates), make_reference_ease()->local_weights(
                                                m.view(), kSystems[GetParam()], candidates, {}));
}

INSTANTIATE_TEST_SUITE_P(Cpu, LocalEaseOnDevice, testing::Range(0, 5));
INSTANTIATE_TEST_SUITE_P(Cuda, LocalEaseOnDevice, testing::Range(0, 5));

class LocalEaseOnGpu : public LocalEaseOnDevice {};

/// Systems in shared memory, and those that are too large for it.
TEST_P(LocalEaseOnGpu, EqualsTheCpuOnMoreCandidates) {
  const CsrMatrix m = awkward(3000, 900, 30.0, 9);
  const auto cpu = make_cpu_ease();
  for (const Index count : {200, 288, 289, 500}) {
    SCOPED_TRACE(count);
    const KnnLists candidates = some_candidates(m.cols, count, 7);
    expect_lists_near(weights(m, candidates),
                      cpu->local_weights(m.view(), kSystems[GetParam()], candidates, {}));
  }
}

TEST_P(LocalEaseOnGpu, RunsAreTheSameToTheBit) {
  const CsrMatrix m = awkward(900, 600, 25.0, 8);
  const KnnLists candidates = some_candidates(m.cols, 90, 7);
  const KnnLists one = weights(m, candidates);
  const KnnLists other = weights(m, candidates);
  EXPECT_TRUE(std::ranges::equal(one.offsets, other.offsets));
  EXPECT_TRUE(std::ranges::equal(one.rows, other.rows));
  EXPECT_TRUE(std::ranges::equal(one.similarities, other.similarities));
}

TEST_P(LocalEaseOnGpu, SingularSystemsAreRefusedAsOnTheCpu) {
  const CsrMatrix twins =
      make_csr(3, 4, std::vector<Entry>{{0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 1, 1}, {1, 2, 1}});
  for (const double regularization : {0.0, 1e-9}) {
    const auto refused = [&](const EaseJob& by, const CsrMatrix& m) {
      return test::error_of(ErrorKind::kNumerical, [&] {
        (void)by.local_weights(m.view(), {.regularization = regularization},
                               some_candidates(4, 3, 1), {});
      });
    };
    const std::string found = refused(job<EaseJob>(device()), twins);
    EXPECT_THAT(found, testing::HasSubstr("use a larger regularization"));
    if (regularization > 0.0) {
      EXPECT_EQ(found, refused(*make_cpu_ease(), twins));
      continue;
    }
    EXPECT_EQ(refused(job<EaseJob>(device()), make_csr(3, 4, {})),
              refused(*make_cpu_ease(), make_csr(3, 4, {})));
  }
}

TEST_P(LocalEaseOnGpu, AGpuThatIsTooSmallIsASentence) {
  const CsrMatrix m = awkward(3000, 900, 30.0, 9);
  const Device small = open_device("cuda", {.device_memory = Offset{4} << 20});
  EXPECT_THAT(test::error_of(ErrorKind::kOutOfMemory,
                             [&] { (void)weights(m, some_candidates(900, 9, 1), small); }),
              testing::HasSubstr("use the cpu"));
  EXPECT_THROW((void)job<EaseJob>(small).plan({3000, 900, m.view().nnz(), 9}), Error);
}

TEST_P(LocalEaseOnGpu, CandidatesAreChecked) {
  const CsrMatrix m = make_csr(2, 3, std::vector<Entry>{{0, 0, 1}, {1, 2, 1}});
  for (const Index items : {2, 4})
    EXPECT_THROW((void)weights(m, some_candidates(items, 1, 1)), Error);
}

INSTANTIATE_TEST_SUITE_P(Cuda, LocalEaseOnGpu, testing::Values(1, 2));

TEST(Ease, LocalWeightsOfAllItemsAreTheDenseOnes) {
  const auto cpu = make_cpu_ease();
  const CsrMatrix m = awkward(400, 130, 14.0, 7);
  for (const EaseSystem& system : kSystems) {
    const Matrix dense = cpu->dense_weights(m.view(), system, {});
    expect_near(
        dense,
        to_dense(cpu->local_weights(m.view(), system, some_candidates(m.cols, m.cols, 1), {})),
        kTolerance);
  }
}

/// More items than 16 bits can number, nearly all of them without entries.
TEST(Ease, LocalWeightsAreTheSameInALargerCatalogue) {
  constexpr Index kApart = 1100;
  const CsrMatrix small = awkward(400, 64, 9.0, 3);
  CsrMatrix large = small.clone();
  large.cols = 64 * kApart;
  for (Index& column : large.columns) column *= kApart;
  const KnnLists candidates = some_candidates(64, 17, 3);
  std::vector<std::vector<Candidate>> moved(static_cast<std::size_t>(large.cols));
  for (Index item = 0; item < 64; ++item) {
    for (const Index other : candidates.rows_of(item)) {
      moved[static_cast<std::size_t>(item * kApart)].push_back({0.0F, other * kApart});
    }
  }
  const auto cpu = make_cpu_ease();
  for (const EaseSystem& system : kSystems) {
    const KnnLists expected = cpu->local_weights(small.view(), system, candidates, {});
    const KnnLists found = cpu->local_weights(
        large.view(), system,
        pack_knn_lists(large.cols,
                       [&](Index item) {
                         return std::span<const Candidate>(moved[static_cast<std::size_t>(item)]);
                       }),
        {});
    for (Index item = 0; item < 64; ++item) {
      std::vector<Index> others(found.rows_of(item * kApart).begin(),
                                found.rows_of(item * kApart).end());
      for (Index& other : others) other /= kApart;
      ASSERT_TRUE(std::ranges::equal(others, expected.rows_of(item)));
      ASSERT_TRUE(
          std::ranges::equal(found.similarities_of(item * kApart), expected.similarities_of(item)));
    }
  }
}

TEST(Ease, ThreadsDoNotChangeABit) {
  const auto cpu = make_cpu_ease();
  const CsrMatrix m = awkward(900, 600, 25.0, 8);
  const EaseSystem system{0.5, 0.3, 0.5, 0.2};
  const auto run = [&](int threads) {
    std::pair<Matrix, KnnLists> result;
    with_threads(threads, [&] {
      result.first = cpu->dense_weights(m.view(), system, {});
      result.second = cpu->local_weights(m.view(), system, some_candidates(m.cols, 40, 7), {});
    });
    return result;
  };
  const auto one = run(1);
  for (const int threads : {2, 5}) {
    const auto several = run(threads);
    for (Index i = 0; i < m.cols; ++i) {
      ASSERT_TRUE(std::ranges::equal(one.first.row_span(i), several.first.row_span(i)));
      ASSERT_TRUE(std::ranges::equal(one.second.rows_of(i), several.second.rows_of(i)));
      ASSERT_TRUE(
          std::ranges::equal(one.second.similarities_of(i), several.second.similarities_of(i)));
    }
  }
}

TEST(Ease, SingularSystemsAreRefusedByASentence) {
  const std::unique_ptr<EaseJob> jobs[] = {make_reference_ease(), make_cpu_ease()};
  // Items 1 and 2 are equal; item 3 has no entries.
  const CsrMatrix twins =
      make_csr(3, 4, std::vector<Entry>{{0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 1, 1}, {1, 2, 1}});
  for (const auto& job : jobs) {
    for (const double regularization : {0.0, 1e-9}) {
      const EaseSystem system{.regularization = regularization};
      const auto says = [&](const auto& make) {
        try {
          make();
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::kNumerical);
          return std::string(error.what());
        }
        return std::string();
      };
      EXPECT_NE(says([&] {
                  (void)job->dense_weights(twins.view(), system, {});
                }).find("use a larger regularization"),
                std::string::npos);
      EXPECT_NE(says([&] {
                  (void)job->local_weights(twins.view(), system, some_candidates(4, 3, 1), {});
                }).find(regularization > 0.0 ? "item row 2 cannot" : "item row "),
                std::string::npos)
          << regularization;
    }
  }
}

TEST(Ease, CandidatesAreChecked) {
  const CsrMatrix m = make_csr(2, 3, std::vector<Entry>{{0, 0, 1}, {1, 2, 1}});
  for (const Index items : {2, 4}) {
    EXPECT_THROW((void)make_cpu_ease()->local_weights(m.view(), kSystems[0],
                                                      some_candidates(items, 1, 1), {}),
                 Error);
  }
}

}  // namespace
}  // namespace likewise::ease_test
