// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include <gtest/gtest.h>

#include "core/random.h"
#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/error.h"
#include "likewise/interactions.h"
#include "likewise/matrix.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

TEST(Array, LargeBlocksAreZeroAndAligned) {
  const Array<float> big(Offset{5} << 20);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(big.data()) % 64, 0U);
  for (Offset i = 0; i < big.size(); i += 4099) EXPECT_EQ(big[i], 0.0F);
  EXPECT_THROW(Array<double>(Offset{1} << 60), Error);
}

TEST(Matrix, RowsArePaddedWithZeros) {
  const Matrix m(3, 17);
  EXPECT_EQ(m.stride(), 32);
  for (Index i = 0; i < 3 * 32; ++i) EXPECT_EQ(m.data()[i], 0.0F);
}

TEST(Csr, TransposeTwiceIsTheSame) {
  for (const auto& [rows, cols] :
       {std::pair{0, 0}, {1, 1}, {0, 5}, {5, 0}, {70, 3}, {3, 70}, {400, 90}}) {
    const CsrMatrix m = test::random_csr(rows, cols, 7.0);
    const CsrMatrix t = transpose(m.view());
    validate(t.view(), "transpose");
    const CsrMatrix back = transpose(t.view());
    ASSERT_EQ(back.nnz(), m.nnz());
    for (Offset i = 0; i < m.nnz(); ++i) {
      EXPECT_EQ(back.columns[i], m.columns[i]);
      EXPECT_EQ(back.values[i], m.values[i]);
    }
  }
}

TEST(Csr, TransposeDoesNotDependOnThreads) {
  const CsrMatrix m = test::random_csr(3000, 40, 20.0);
  const CsrMatrix one = transpose(m.view());
  for (const int threads : {1, 2, 5}) {
    with_threads(threads, [&] {
      const CsrMatrix t = transpose(m.view());
      EXPECT_TRUE(std::equal(t.columns.begin(), t.columns.end(), one.columns.begin()));
      EXPECT_TRUE(std::equal(t.values.begin(), t.values.end(), one.values.begin()));
    });
  }
}

TEST(Csr, FaultsAreNamed) {
  const std::array<Offset, 2> offsets{0, 2};
  const auto message = [&](Index first, Index second, float value) {
    const std::array<Index, 2> columns{first, second};
    const std::array<float, 2> values{1.0F, value};
    const CsrView view{1, 3, offsets.data(), columns.data(), values.data()};
    return test::error_of(ErrorKind::kBadData, [&] { validate(view, "it"); });
  };
  EXPECT_EQ(message(1, 1, 2.0F), "it: row 0: column 1 follows column 1");
  EXPECT_EQ(message(2, 1, 2.0F), "it: row 0: column 1 follows column 2");
  EXPECT_EQ(message(1, 3, 2.0F), "it: row 0: column 3 is outside [0, 3)");
  EXPECT_EQ(message(-1, 1, 2.0F), "it: row 0: column -1 is outside [0, 3)");
  EXPECT_EQ(message(0, 1, std::nanf("")), "it: row 0: the value of column 1 is not finite");
}

TEST(IdMap, FindsIntegersAndText) {
  const std::array<std::int64_t, 3> raw{-5, 0, 1LL << 40};
  const IdMap numbers = IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(raw));
  EXPECT_EQ(numbers.find("1099511627776"), 2);
  EXPECT_EQ(numbers.find(std::int64_t{-5}), 0);
  EXPECT_EQ(numbers.find("00"), std::nullopt);
  EXPECT_EQ(numbers.name(0), "-5");
  const std::array<std::string, 4> names{"b", "a", "", "b"};
  const IdMap text = IdMap::from_text(names);
  EXPECT_EQ(text.size(), 3);
  EXPECT_EQ(text.find("b"), 2);
  EXPECT_EQ(text.find(""), 0);
  EXPECT_EQ(text.find("c"), std::nullopt);
}

TEST(IdMap, TextOfIntegersIsInTheirOrder) {
  const std::string chars = "910100";
  const std::vector<Offset> offsets{0, 1, 3, 6};
  const IdMap map =
      IdMap::from_sorted_text(Array<char>::copy_of(chars), Array<Offset>::copy_of(offsets));
  EXPECT_FALSE(map.is_integer());
  EXPECT_EQ(map.integers().size(), 3U);
  for (const char* one : {"9", "10", "100"}) EXPECT_EQ(map.name(map.find(one).value()), one);
  EXPECT_EQ(map.find(std::int64_t{100}), 2);
  EXPECT_EQ(map.find("11"), std::nullopt);
  EXPECT_EQ(map.find("a"), std::nullopt);
  EXPECT_EQ(IdMap::from_sorted_text({}, Array<Offset>(1)).size(), 0);
}

TEST(Random, StreamsAreReproducibleAndUniform) {
  CounterRandom a(1, 2, 3);
  CounterRandom b(1, 2, 3);
  CounterRandom c(1, 2, 4);
  double sum = 0.0;
  double squares = 0.0;
  int differences = 0;
  for (int i = 0; i < 20000; ++i) {
    const double x = a.normal();
    EXPECT_EQ(x, b.normal());
    differences += x != c.normal() ? 1 : 0;
    sum += x;
    squares += x * x;
  }
  EXPECT_GT(differences, 19990);
  EXPECT_NEAR(sum / 20000, 0.0, 0.03);
  EXPECT_NEAR(squares / 20000, 1.0, 0.05);
}

TEST(Random, PhiloxMatchesThePublishedVector) {
  // Random123's known answer for counter 0, key 0: the first of four words.
  CounterRandom zero(0, 0, 0);
  EXPECT_EQ(zero.next_u32(), 0x6627e8d5U);
  EXPECT_EQ(zero.next_u32(), 0xe169c58dU);
}

TEST(Control, CancelThrows) {
  const std::atomic<bool> stop{true};
  const RunControl control{&stop, {}};
  EXPECT_THROW(control.check(), Error);
}

}  // namespace
}  // namespace likewise
