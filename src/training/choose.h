// SPDX-License-Identifier: Apache-2.0
/// Which algorithm to train where nobody named one: a rule on counts and the device, in no time.
/// math.md ("The choice of auto") has the rule, choosing.md how good it is. tune()
/// searches among the algorithms instead, and takes its time.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/parameters.h"
#include "likewise/types.h"

namespace likewise {

struct AlgorithmChoice {
  std::string_view algorithm;  ///< one of algorithm_names(), to be trained with its defaults
  std::string reason;          ///< in one line
};

/// For `by_user` (users x items), to be trained on `device`. The same for any number of threads.
[[nodiscard]] AlgorithmChoice choose_algorithm(const CsrView& by_user, Feedback feedback,
                                               const Device& device);

}  // namespace likewise
