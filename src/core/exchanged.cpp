// SPDX-License-Identifier: Apache-2.0
#include "core/exchanged.h"

#include "likewise/error.h"

namespace likewise {
namespace {

/// How many of some ids a map has.
Index known(const IdMap& ids, const IdMap& in) {
  Index count = 0;
  for (Index i = 0; i < ids.size(); ++i) {
    const auto found = ids.is_integer() ? in.find(ids.integers()[static_cast<std::size_t>(i)])
                                        : in.find(ids.name(i));
    count += found.has_value() ? 1 : 0;
  }
  return count;
}

}  // namespace

void refuse_exchanged(const IdMap& users, const IdMap& items, const Interactions& data) {
  if (data.users.size() == 0 || known(data.users, users) > 0) return;
  if (known(data.users, items) < data.users.size() || known(data.items, items) > 0) return;
  if (known(data.items, users) == 0) return;
  throw Error(ErrorKind::kBadData,
              "no user of these rows is known to the model, and all of them are items of it: users "
              "and items are exchanged; choose the columns with " +
                  mention("columns", "USER,ITEM,VALUE,TIME"));
}

}  // namespace likewise
