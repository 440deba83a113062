// SPDX-License-Identifier: Apache-2.0
#include "training/half_life.h"

#include "data/text/weigh_rows.h"
#include "likewise/error.h"

namespace likewise {

void require_no_half_life(const Interactions& data, Feedback feedback) {
  if (!data.faded || feedback == Feedback::kImplicit) return;
  throw Error(ErrorKind::kInvalidArgument, half_life_of_ratings());
}

}  // namespace likewise
