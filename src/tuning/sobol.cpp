// SPDX-License-Identifier: Apache-2.0
#include "tuning/sobol.h"

#include <array>
#include <cstddef>

namespace likewise {
namespace {

constexpr std::size_t kBits = 32;

/// A primitive polynomial of degree s, its inner coefficients a as bits, and the first numbers m.
struct Direction {
  std::uint32_t s;
  std::uint32_t a;
  std::array<std::uint32_t, 5> m;
};
/// Of the dimensions from the second on.
constexpr std::array<Direction, kMostSobolDimensions - 1> kDirections{{{1, 0, {1}},
                                                                       {2, 1, {1, 3}},
                                                                       {3, 1, {1, 3, 1}},
                                                                       {3, 2, {1, 1, 1}},
                                                                       {4, 1, {1, 1, 3, 3}},
                                                                       {4, 4, {1, 3, 5, 13}},
                                                                       {5, 2, {1, 1, 5, 5, 17}},
                                                                       {5, 4, {1, 1, 5, 5, 5}},
                                                                       {5, 7, {1, 1, 7, 11, 19}}}};

using Numbers = std::array<std::uint32_t, kBits>;

[[nodiscard]] constexpr Numbers direction_numbers(int dimension) {
  Numbers v{};
  if (dimension == 0) {  // van der Corput's sequence
    for (std::size_t k = 0; k < kBits; ++k) v[k] = std::uint32_t{1} << (kBits - 1 - k);
    return v;
  }
  const Direction& of = kDirections[static_cast<std::size_t>(dimension - 1)];
  for (std::size_t k = 0; k < kBits; ++k) {
    if (k < of.s) {
      v[k] = of.m[k] << (kBits - 1 - k);
      continue;
    }
    v[k] = v[k - of.s] ^ (v[k - of.s] >> of.s);
    for (std::uint32_t j = 1; j < of.s; ++j) {
      if (((of.a >> (of.s - 1 - j)) & 1U) != 0) v[k] ^= v[k - j];
    }
  }
  return v;
}

constexpr auto kNumbers = [] {
  std::array<Numbers, kMostSobolDimensions> all{};
  for (int d = 0; d < kMostSobolDimensions; ++d) {
    all[static_cast<std::size_t>(d)] = direction_numbers(d);
  }
  return all;
}();

}  // namespace

std::uint32_t sobol(int dimension, std::uint32_t n) {
  std::uint32_t x = 0;
  for (std::size_t k = 0; n != 0; ++k, n >>= 1U) {
    if ((n & 1U) != 0) x ^= kNumbers[static_cast<std::size_t>(dimension)][k];
  }
  return x;
}

}  // namespace likewise
