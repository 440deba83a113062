// SPDX-License-Identifier: Apache-2.0
/// The parameters of spectral factors; the fields of SpectralParams say the same to C++.
#pragma once

#include "algorithms/parameters/parameter.h"
#include "likewise/spectral.h"

namespace likewise {

template <>
struct Description<SpectralParams> {
  using P = SpectralParams;

  using Searched = std::optional<SearchRange>;

  static constexpr auto kAll = std::tuple{
      Parameter{"feedback", &P::feedback, kFeedbackMeaning},
      Parameter{"factors", &P::factors, "Singular vectors kept"}
          .between(1, 4096, "in [1, 4096]")
          .searched([](const P&, const P&) -> Searched { return log_range(16, 1024); }),
      Parameter{"item_exponent", &P::item_exponent, "How much popular items are damped"}
          .share()
          .searched([](const P&, const P&) -> Searched { return linear_range(0.0, 1.0); }),
      Parameter{"spectrum_exponent", &P::spectrum_exponent,
                "How much more large singular values count than small ones; 0: all kept ones alike"}
          .between(0.0, 4.0, "in [0, 4]")
          .searched([](const P&, const P&) -> Searched { return linear_range(0.0, 2.0); }),
      Parameter{"seed", &P::seed, "Same seed, same model"}.between(
          0, std::numeric_limits<std::uint64_t>::max(), "a natural number below 2^64")};
};

}  // namespace likewise
