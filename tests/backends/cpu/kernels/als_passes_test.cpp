// SPDX-License-Identifier: Apache-2.0
/// The passes of ALS on every instruction set that this processor has: float16 rows against the
/// same numbers in float32, and both against sums in double precision.
#include "backends/cpu/kernels/als_passes.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "likewise/array.h"
#include "likewise/matrix.h"
#include "tests/backends/cpu/only_targets.h"

namespace likewise {
namespace {

template <class Body>
void on_every_target(const Body& body) {
  int targets = 0;
  for (const std::int64_t target : test::all_targets()) {
    const test::OnlyTargets only(target);
    SCOPED_TRACE(hwy::TargetName(target));
    body();
    ++targets;
  }
  EXPECT_GT(targets, 0);
}

/// The value of the bits of a float16.
[[nodiscard]] double value_of(std::uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = (bits & 1023) / 1024.0;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1.0 + fraction, exponent - 15);
  return (bits & 0x8000) != 0 ? -size : size;
}

TEST(AlsPasses, Float16IsTheNearest) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  Matrix from(1, 512);
  for (Index i = 0; i < 512; ++i) from.data()[i] = normal(random) * std::ldexp(1.0F, i % 20 - 10);
  from.data()[3] = 0.0F;
  on_every_target([&] {
    Array<std::uint16_t> bits(512);
    kernels::store_float16(from.data(), 4.0F, 512, bits.data());
    for (Index i = 0; i < 512; ++i) {
      const double wanted = 4.0 * from.data()[i];
      const double ulp = std::ldexp(1.0, std::max(std::ilogb(wanted), -14) - 10);
      EXPECT_LE(std::abs(value_of(bits[i]) - wanted), 0.5 * ulp) << wanted;
    }
  });
}

/// A fixed side in both forms, of the same numbers, and interactions with it.
struct Problem {
  Matrix floats;
  Array<std::uint16_t> halves;
  std::vector<Index> columns;
  std::vector<float> w;
  std::vector<float> v;
  Matrix vectors;  ///< p, and three sums

  Problem(Index width, Offset count) : floats(50, width), vectors(4, width) {
    std::mt19937 random(static_cast<unsigned>(width + count));
    std::normal_distribution<float> normal;
    const Offset numbers = Offset{floats.rows()} * floats.stride();
    halves = Array<std::uint16_t>(numbers);
    for (Index r = 0; r < floats.rows(); ++r) {
      for (Index j = 0; j < width; ++j) floats.row(r)[j] = normal(random);
    }
    kernels::store_float16(floats.data(), 1.0F, numbers, halves.data());
    for (Offset i = 0; i < numbers; ++i) {
      floats.data()[i] = static_cast<float>(value_of(halves[i]));
    }
    for (Index j = 0; j < width; ++j) vectors.row(0)[j] = normal(random);
    for (Offset i = 0; i < kernels::padded_tiles(count); ++i) {
      columns.push_back(i < count ? static_cast<Index>(random() % 50) : 0);
      w.push_back(i < count ? std::abs(normal(random)) : 0.0F);
      v.push_back(i < count ? normal(random) : 0.0F);
    }
  }
  [[nodiscard]] kernels::Segment segment(bool sixteen) const {
    return {{sixteen ? nullptr : floats.data(), sixteen ? halves.data() : nullptr, floats.cols(),
             floats.stride()},
            columns.data(),
            w.data(),
            v.data(),
            static_cast<Offset>(columns.size())};
  }
};

TEST(AlsPasses, Float16RowsGiveWhatTheirNumbersGive) {
  for (const Index width : {1, 16, 17, 32, 64, 100, 128, 129, 200}) {
    for (const Offset count : {1, 8, 13, 100, 700}) {
      SCOPED_TRACE(width);
      SCOPED_TRACE(count);
      on_every_target([&] {
        Problem x(width, count);
        const float* p = x.vectors.row(0);
        double product[2];
        kernels::StartSums start[2];
        for (const bool sixteen : {false, true}) {
          const kernels::Segment s = x.segment(sixteen);
          float* sum = x.vectors.row(1 + static_cast<Index>(sixteen));
          product[sixteen] = kernels::add_product(s, p, sum);
          start[sixteen] = kernels::add_residual(s, p, sum);
          kernels::add_rows(s, s.v, sum);
          EXPECT_NEAR(kernels::curvature(s, p), product[sixteen], 1e-6 * product[sixteen]);
        }
        // The same numbers, which AVX-512 adds up in another order where it holds rows of float16.
        double wanted = 0.0;
        double squares = 0.0;
        std::vector<double> sizes(static_cast<std::size_t>(width));
        for (Offset i = 0; i < count; ++i) {
          const double w = x.w[static_cast<std::size_t>(i)];
          const double v = x.v[static_cast<std::size_t>(i)];
          double q = 0.0;
          double size = 0.0;
          const float* y = x.floats.row(x.columns[static_cast<std::size_t>(i)]);
          for (Index j = 0; j < width; ++j) q += double{y[j]} * p[j];
          for (Index j = 0; j < width; ++j) size += std::abs(double{y[j]} * p[j]);
          wanted += w * q * q;
          squares += w * size * size + std::abs(v) * size;
          for (Index j = 0; j < width; ++j) {
            sizes[static_cast<std::size_t>(j)] += 2.0 * (w * size + std::abs(v)) * std::abs(y[j]);
          }
        }
        const double rounding = std::ldexp(static_cast<double>(count + width), -23);
        EXPECT_NEAR(product[0], product[1], rounding * squares);
        EXPECT_NEAR(start[0].wqq, start[1].wqq, rounding * squares);
        EXPECT_NEAR(start[0].vq, start[1].vq, rounding * squares);
        for (Index j = 0; j < x.vectors.stride(); ++j) {
          EXPECT_NEAR(x.vectors.row(1)[j], x.vectors.row(2)[j],
                      j < width ? rounding * sizes[static_cast<std::size_t>(j)] : 0.0);
        }
        EXPECT_NEAR(product[1], wanted, 1e-5 * wanted);
        Matrix copy(static_cast<Index>(count), width);
        kernels::copy_rows(x.segment(true), 0, count, copy.data());
        const Index last = x.columns[static_cast<std::size_t>(count - 1)];
        for (Index j = 0; j < copy.stride(); ++j) {
          EXPECT_EQ(copy.row(copy.rows() - 1)[j], x.floats.row(last)[j]);
        }
      });
    }
  }
}

}  // namespace
}  // namespace likewise
