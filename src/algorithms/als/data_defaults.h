// SPDX-License-Identifier: Apache-2.0
/// The parameters of ALS that nobody chose, from the data: math.md, "Values that suit the
/// data".
#pragma once

#include "likewise/als.h"
#include "likewise/csr.h"

namespace likewise {

/// Which parameters somebody chose.
struct AlsGiven {
  bool factors = false;
  bool regularization = false;
  bool regularization_exponent = false;
  bool unobserved_weight = false;
  bool hu = false;  ///< alpha or confidence: Hu's form
  bool init_stddev = false;
};

/// `params` with the others chosen for this matrix (users x items). Those of Hu's form stay as they
/// are, and of explicit feedback lambda's exponent beside a lambda that was given.
[[nodiscard]] AlsParams data_defaults(const CsrView& by_user, AlsParams params,
                                      const AlsGiven& given);

}  // namespace likewise
