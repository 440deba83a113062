// SPDX-License-Identifier: Apache-2.0
#include "data/hold_out.h"

#include <algorithm>

#include "data/sample_users.h"
#include "data/select.h"

namespace likewise {

Split hold_out_of(const Interactions& all, const Split& parts, Index users, std::uint64_t seed) {
  Split fewer;
  fewer.test = sample_users(parts.test, users, seed);
  const CsrView hidden = fewer.test.by_user.view();
  fewer.train = select(all, [&](Index user, Offset at) {
    return !std::ranges::binary_search(hidden.row_columns(user), all.by_user.columns[at]);
  });
  fewer.train.users = all.users.share();
  fewer.train.items = all.items.share();
  fewer.train.place_in_file = all.place_in_file;
  return fewer;
}

}  // namespace likewise
