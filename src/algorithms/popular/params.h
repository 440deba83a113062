// SPDX-License-Identifier: Apache-2.0
/// The parameters of the popularity baseline.
#pragma once

#include "algorithms/parameters/parameter.h"
#include "likewise/popular.h"

namespace likewise {

template <>
struct Description<PopularParams> {
  static constexpr auto kAll =
      std::tuple{Parameter{"feedback", &PopularParams::feedback, kFeedbackMeaning}};
};

}  // namespace likewise
