// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "likewise/control.h"
#include "likewise/read.h"
#include "server/events/event_store.h"

namespace likewise::server {

struct FoldRules {
  /// What two values of an item become: kSum, kLast or kMax; absent: usual_duplicates().
  std::optional<Duplicates> duplicates{};
  std::string device = "cpu";
};

/// Events that a model cannot learn, as their values are; it goes on without them.
struct SetAside {
  Offset events = 0;
  std::vector<std::string> users;
  std::string reason;  ///< of the first that was refused
};

struct FoldReport {
  Offset events = 0;  ///< learned; 0: nothing is new, and the file is as before
  Index new_users = 0;
  Index new_items = 0;
  Position position = 0;     ///< the last event that the model has learned
  Microseconds trained = 0;  ///< as of trained_at()
  SetAside set_aside{};
};

/// Updates a model file with the events of the store that it has not learned. The file says which
/// those are, and is replaced whole: after a crash at any moment none is lost and none learned
/// twice. Events of users who were erased after the training are left out: they count beside the
/// model.
///
/// Where the model cannot learn them all, because of their values, the users are halved until those
/// are found whose events it cannot learn beside the others; after 200 tries a part is not halved
/// any more. What is refused is set aside for good: the model has learned all up to `position` but
/// that. Where it can learn nobody's events, that is the error.
///
/// Errors as load_model(), update_model(), save_model() and StoreError; the file is then as before.
[[nodiscard]] FoldReport fold_events(const std::string& path, EventStore& store,
                                     const FoldRules& rules, const RunControl& control = {});

}  // namespace likewise::server
