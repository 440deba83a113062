// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "likewise/control.h"
#include "likewise/read.h"
#include "server/events/event_store.h"

namespace likewise::server {

struct FoldRules {
  /// What two values of an item become: kSum, kLast or kMax; absent: usual_duplicates().
  std::optional<Duplicates> duplicates{};
  std::string device = "cpu";
};

struct FoldReport {
  Offset events = 0;
  Index new_users = 0;
  Index new_items = 0;
  Position position = 0;  ///< the last event that the model has learned
};

/// Updates a model file with the events of the store that it has not learned. The file says which
/// those are, and is replaced whole: after a crash at any moment none is lost and none learned
/// twice. Nothing where there is nothing new. Events of users who were erased after the training
/// are left out: they count beside the model.
///
/// Errors as load_model(), update_model(), save_model() and StoreError; the file is then as before.
[[nodiscard]] std::optional<FoldReport> fold_events(const std::string& path, EventStore& store,
                                                    const FoldRules& rules,
                                                    const RunControl& control = {});

}  // namespace likewise::server
