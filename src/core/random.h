// SPDX-License-Identifier: Apache-2.0
/// Counter-based random numbers: the n-th number of a stream is a pure function of (key, n), so any
/// thread, backend or machine can draw any part of a stream in any order.
///
/// Philox4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC
/// 2011.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

namespace likewise {

class CounterRandom {
 public:
  /// `seed`, `stream` and `row` name the stream; e.g. row = a user, stream = what is drawn.
  CounterRandom(std::uint64_t seed, std::uint32_t stream, std::uint64_t row)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        row_(row),
        stream_(stream) {}

  [[nodiscard]] std::uint32_t next_u32() {
    if (used_ == 4) {
      block_ = philox({counter_++, stream_, static_cast<std::uint32_t>(row_),
                       static_cast<std::uint32_t>(row_ >> 32)},
                      key_);
      used_ = 0;
    }
    return block_[used_++];
  }
  [[nodiscard]] std::uint64_t next_u64() {
    const std::uint64_t high = next_u32();
    return high << 32 | next_u32();
  }
  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double uniform() { return static_cast<double>(next_u64() >> 11) * 0x1p-53; }
  /// Uniform in [0, bound), bound >= 1, with negligible bias (64-bit multiply-shift).
  [[nodiscard]] std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<Wide>(next_u64()) * bound) >> 64);
  }
  /// Standard normal (Box, Muller 1958).
  [[nodiscard]] double normal() {
    if (has_spare_) {
      has_spare_ = false;
      return spare_;
    }
    const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
    const double angle = 6.283185307179586477 * uniform();
    spare_ = radius * std::sin(angle);
    has_spare_ = true;
    return radius * std::cos(angle);
  }

 private:
  using Block = std::array<std::uint32_t, 4>;
  using Key = std::array<std::uint32_t, 2>;

  static Block philox(Block c, Key k) {
    for (int round = 0; round < 10; ++round) {
      const std::uint64_t a = std::uint64_t{0xD2511F53} * c[0];
      const std::uint64_t b = std::uint64_t{0xCD9E8D57} * c[2];
      c = {static_cast<std::uint32_t>(b >> 32) ^ c[1] ^ k[0], static_cast<std::uint32_t>(b),
           static_cast<std::uint32_t>(a >> 32) ^ c[3] ^ k[1], static_cast<std::uint32_t>(a)};
      k[0] += 0x9E3779B9;
      k[1] += 0xBB67AE85;
    }
    return c;
  }

  Key key_;
  std::uint64_t row_;
  std::uint32_t stream_;
  std::uint32_t counter_ = 0;
  Block block_{};
  int used_ = 4;
  double spare_ = 0.0;
  bool has_spare_ = false;
};

/// Names of the streams in use: one number for each thing that is drawn.
enum RandomStream : std::uint32_t {
  kStreamUserFactors = 1,
  kStreamItemFactors = 2,
  kStreamSplit = 3,
  kStreamSgdUsers = 4,
  kStreamSgdItems = 5,
  kStreamBprNegatives = 6,
  kStreamFoldInNegatives = 7,
  kStreamBprHits = 8,
  kStreamSgdRounding = 9,
  kStreamSgdTurns = 10,
  kStreamEvaluationNegatives = 11,
  kStreamSynthetic = 100,  ///< 100..199: the generators
};

}  // namespace likewise
