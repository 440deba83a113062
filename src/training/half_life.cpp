// SPDX-License-Identifier: Apache-2.0
#include "training/half_life.h"

#include "likewise/error.h"

namespace likewise {

void require_no_half_life(const Interactions& data, Feedback feedback) {
  if (!data.faded || feedback == Feedback::kImplicit) return;
  throw Error(ErrorKind::kInvalidArgument,
              mention("half_life") +
                  " is for implicit feedback: an old rating is not a lower one. " +
                  "Drop old ratings with " + mention("since"));
}

}  // namespace likewise
