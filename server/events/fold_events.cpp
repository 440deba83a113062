// SPDX-License-Identifier: Apache-2.0
#include "server/events/fold_events.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "likewise/make_interactions.h"
#include "likewise/model.h"
#include "likewise/query.h"
#include "likewise/training.h"
#include "likewise/update.h"
#include "server/events/live.h"

namespace likewise::server {
namespace {

constexpr Offset kEventsAtOnce = 10'000;

/// Users whose events a model trained then may not learn.
[[nodiscard]] std::set<std::string> erased_after(EventStore& store, const std::string& created) {
  std::set<std::string> users;
  for (Erasure& one : store.erasures(0)) {
    if (older_than_erasure(created, one.time)) users.insert(std::move(one.user));
  }
  return users;
}

/// In the order of their times.
[[nodiscard]] std::vector<StoredEvent> events_for(EventStore& store, const ModelMark& mark,
                                                  Position upto, const RunControl& control) {
  const std::set<std::string> erased = erased_after(store, mark.created);
  std::vector<StoredEvent> events;
  Position from = learned_of(mark, store.id());
  while (from < upto) {
    control.check();
    std::vector<StoredEvent> piece = store.read(from, upto, kEventsAtOnce);
    if (piece.empty()) break;
    from = piece.back().position;
    for (StoredEvent& one : piece) {
      if (!erased.contains(one.event.user)) events.push_back(std::move(one));
    }
  }
  std::ranges::stable_sort(events, {}, [](const StoredEvent& one) { return one.event.time; });
  return events;
}

[[nodiscard]] Interactions interactions_of(const std::vector<StoredEvent>& events,
                                           const Model& model, Duplicates duplicates) {
  std::vector<std::string_view> users;
  std::vector<std::string_view> items;
  std::vector<float> values;
  std::optional<float> usual;
  for (const StoredEvent& one : events) {
    users.emplace_back(one.event.user);
    items.emplace_back(one.event.item);
    if (!one.event.value && !usual) usual = value_of_a_like(model);
    values.push_back(one.event.value ? *one.event.value : *usual);
  }
  ReadOptions options;
  options.duplicates = duplicates;
  return make_interactions(std::span<const std::string_view>(users),
                           std::span<const std::string_view>(items), std::span<const float>(values),
                           {}, options);
}

}  // namespace

std::optional<FoldReport> fold_events(const std::string& path, EventStore& store,
                                      const FoldRules& rules, const RunControl& control) {
  HeldFile held(path, control);
  const Model earlier = load_model(path);
  const Position upto = store.newest();
  const std::vector<StoredEvent> events = events_for(store, mark_of(earlier), upto, control);
  if (events.empty()) return std::nullopt;
  UpdateOptions options;
  options.duplicates = rules.duplicates.value_or(usual_duplicates(earlier));
  options.source = source_of(store.id(), upto);
  const Device device =
      open_device_to_train(rules.device, params_of_update(earlier, options)).device;
  const UpdatedModel updated = update_model(
      earlier, interactions_of(events, earlier, options.duplicates), options, device, control);
  save_model(updated.model, held);
  return FoldReport{std::ssize(events), updated.model.users.size() - earlier.users.size(),
                    updated.model.items.size() - earlier.items.size(), upto};
}

}  // namespace likewise::server
