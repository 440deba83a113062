// SPDX-License-Identifier: Apache-2.0
/// Users where items should be: a mistake that would make all of them new.
#pragma once

#include "likewise/interactions.h"

namespace likewise {

/// Throws Error(kBadData) where users and items of `data` are exchanged, as far as ids can tell: no
/// user is known as one but all are as items, no item is known as one but some are as users.
void refuse_exchanged(const IdMap& users, const IdMap& items, const Interactions& data);

}  // namespace likewise
