// SPDX-License-Identifier: Apache-2.0
/// Spectral factors on awkward matrices: the reference by what defines a decomposition, devices
/// against the reference.
#include "backends/jobs/spectral.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "algorithms/spectral/normalised.h"
#include "algorithms/spectral/user_sums.h"
#include "backends/cpu/jobs.h"
#include "backends/jobs/device_jobs.h"
#include "backends/reference/jobs.h"
#include "tests/backends/device_test.h"
#include "tests/csr_entries.h"
#include "tests/model/model_support.h"
#include "tests/support.h"

namespace likewise::spectral_test {
namespace {

using test::Entry;
using test::make_csr;

using Dense = std::vector<std::vector<double>>;

[[nodiscard]] Dense gram(const CsrMatrix& by_user) {
  const CsrMatrix a = normalised(by_user.view());
  Dense g(static_cast<std::size_t>(a.cols), std::vector<double>(static_cast<std::size_t>(a.cols)));
  for (Index u = 0; u < a.rows; ++u) {
    for (Offset e = a.offsets[u]; e < a.offsets[u + 1]; ++e) {
      for (Offset f = a.offsets[u]; f < a.offsets[u + 1]; ++f) {
        g[static_cast<std::size_t>(a.columns[e])][static_cast<std::size_t>(a.columns[f])] +=
            double{a.values[e]} * double{a.values[f]};
      }
    }
  }
  return g;
}

/// V S^2 V', which does not depend on how equal singular values share their vectors.
[[nodiscard]] Dense rebuilt(const SpectralFactors& found) {
  const auto n = static_cast<std::size_t>(found.items.rows());
  Dense g(n, std::vector<double>(n));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t f = 0; f < found.singular.size(); ++f) {
        g[i][j] += double{found.items.row(static_cast<Index>(i))[f]} * found.singular[f] *
                   found.singular[f] * double{found.items.row(static_cast<Index>(j))[f]};
      }
    }
  }
  return g;
}

void expect_near(const Dense& a, const Dense& b, double tolerance) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < a.size(); ++j) ASSERT_NEAR(a[i][j], b[i][j], tolerance);
  }
}

/// Pairs of a user and an item, with nobody in common: all singular values are 1.
[[nodiscard]] CsrMatrix pairs(Index count) {
  std::vector<Entry> entries;
  for (Index i = 0; i < count; ++i) entries.push_back({i, i, 1.0F});
  return make_csr(count + 2, count + 1, entries);
}

[[nodiscard]] std::vector<CsrMatrix> matrices() {
  std::vector<CsrMatrix> all;
  all.push_back(make_csr(0, 0, {}));
  all.push_back(make_csr(0, 5, {}));
  all.push_back(make_csr(4, 0, {}));
  all.push_back(make_csr(3, 4, {}));
  all.push_back(make_csr(3, 1, std::vector<Entry>{{0, 0, 1}, {2, 0, 2}}));
  all.push_back(
      make_csr(3, 4, std::vector<Entry>{{0, 0, 1}, {0, 1, 1}, {0, 2, 1}, {1, 1, 1}, {1, 2, 1}}));
  all.push_back(test::random_csr(9, 70, 6.0, 1));
  all.push_back(test::random_csr(200, 45, 7.0, 2));
  all.push_back(pairs(60));
  return all;
}

void expect_shape(const SpectralFactors& found, Index items, int factors) {
  ASSERT_EQ(std::ssize(found.singular), factors);
  ASSERT_EQ(found.items.rows(), items);
  ASSERT_EQ(found.items.cols(), factors);
  EXPECT_TRUE(std::ranges::is_sorted(found.singular, std::ranges::greater()));
  for (Index f = 0; f < factors; ++f) {
    double squares = 0.0;
    for (Index i = 0; i < items; ++i) {
      squares += double{found.items.row(i)[f]} * double{found.items.row(i)[f]};
    }
    EXPECT_NEAR(squares, found.singular[static_cast<std::size_t>(f)] > 0.0 ? 1.0 : 0.0, 1e-4) << f;
  }
}

void expect_the_matrix_again(const SpectralJob& job) {
  for (const CsrMatrix& m : matrices()) {
    SCOPED_TRACE(testing::Message() << m.rows << " x " << m.cols);
    for (const int more : {1, 3}) {
      const SpectralFactors found = job.decompose(m.view(), m.cols + more, 1, {});
      expect_shape(found, m.cols, m.cols + more);
      expect_near(rebuilt(found), gram(m), 2e-5);  // of numbers up to 4, in float32
    }
  }
}

TEST(Spectral, AllFactorsOfTheReferenceGiveTheMatrixAgain) {
  expect_the_matrix_again(*make_reference_spectral());
}

[[nodiscard]] bool are_same(const SpectralFactors& a, const SpectralFactors& b) {
  bool equal = a.singular == b.singular;
  for (Index i = 0; i < a.items.rows(); ++i) {
    equal = equal && std::ranges::equal(a.items.row_span(i), b.items.row_span(i));
  }
  return equal;
}

class SpectralOnDevice : public test::DeviceTest<int> {
 protected:
  [[nodiscard]] const SpectralJob& spectral() { return job<SpectralJob>(device()); }
};

TEST_P(SpectralOnDevice, AllFactorsGiveTheMatrixAgain) { expect_the_matrix_again(spectral()); }

TEST_P(SpectralOnDevice, FindsTheLargest) {
  const auto reference = make_reference_spectral();
  for (const CsrMatrix& m :
       {test::random_csr(900, 300, 12.0, 3), test::random_csr(250, 600, 20.0, 4), pairs(200)}) {
    SCOPED_TRACE(testing::Message() << m.rows << " x " << m.cols);
    for (const int factors : {1, 7, 64}) {
      const SpectralFactors expected = reference->decompose(m.view(), factors, 1, {});
      const SpectralFactors found = spectral().decompose(m.view(), factors, 5, {});
      expect_shape(found, m.cols, factors);
      double of_expected = 0.0;
      double of_found = 0.0;
      for (std::size_t f = 0; f < expected.singular.size(); ++f) {
        EXPECT_LT(found.singular[f], expected.singular[f] * (1.0 + 1e-5)) << f;
        of_expected += expected.singular[f] * expected.singular[f];
        of_found += found.singular[f] * found.singular[f];
      }
      // The spectrum of random matrices is flat: the slowest to be found.
      EXPECT_GT(of_found, 0.97 * of_expected) << factors;
    }
  }
}

TEST_P(SpectralOnDevice, RunsAreTheSameToTheBit) {
  const CsrMatrix m = test::random_csr(1500, 900, 15.0, 6);
  EXPECT_TRUE(are_same(spectral().decompose(m.view(), 40, 3, {}),
                       spectral().decompose(m.view(), 40, 3, {})));
}

/// Users with 0, 13, 26, ... items.
[[nodiscard]] CsrMatrix uneven_users() {
  std::vector<Entry> entries;
  for (Index user = 0; user < 70; ++user) {
    for (Index item = 0; item < 13 * user; ++item) {
      entries.push_back({user, item, static_cast<float>(1 + (user + item) % 5)});
    }
  }
  return make_csr(70, 900, entries);
}

/// Of all widths that rows are shared by.
TEST_P(SpectralOnDevice, UsersAreSumsOverTheirItems) {
  std::vector<CsrMatrix> all;
  all.push_back(uneven_users());
  all.push_back(make_csr(0, 3, {}));
  all.push_back(make_csr(4, 3, {}));
  all.push_back(test::random_csr(41, 90, 9.0, 8));
  std::mt19937_64 random(9);
  for (const CsrMatrix& users : all) {
    const std::vector<double> scale = scale_of_items(users.view(), 0.5);
    for (const Index factors : {1, 16, 17, 33, 65, 200}) {
      SCOPED_TRACE(testing::Message() << users.rows << " x " << users.cols << ", " << factors);
      const Matrix items = test::random_matrix(users.cols, factors, random);
      const Matrix expected = user_sums(users.view(), scale, items);
      const Matrix found = spectral().users(users.view(), scale, items);
      ASSERT_EQ(found.rows(), users.rows);
      ASSERT_EQ(found.cols(), factors);
      for (Index u = 0; u < users.rows; ++u) {
        for (Index f = 0; f < found.stride(); ++f) {
          ASSERT_FLOAT_EQ(found.row(u)[f], expected.row(u)[f]) << u << ", " << f;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, SpectralOnDevice, testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Cuda, SpectralOnDevice, testing::Values(0));

TEST(Spectral, ThreadsDoNotChangeABitAndTheSeedDecides) {
  const auto cpu = make_cpu_spectral();
  const CsrMatrix m = test::random_csr(1500, 900, 15.0, 6);
  const auto run = [&](int threads, std::uint64_t seed) {
    SpectralFactors result;
    with_threads(threads, [&] { result = cpu->decompose(m.view(), 40, seed, {}); });
    return result;
  };
  const SpectralFactors one = run(1, 3);
  EXPECT_TRUE(are_same(one, run(2, 3)));
  EXPECT_TRUE(are_same(one, run(5, 3)));
  EXPECT_FALSE(are_same(one, run(2, 4)));
}

}  // namespace
}  // namespace likewise::spectral_test
