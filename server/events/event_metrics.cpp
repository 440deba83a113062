// SPDX-License-Identifier: Apache-2.0
#include "server/events/event_metrics.h"

#include <string_view>
#include <vector>

#include "server/metric_text.h"
#include "server/service.h"

namespace likewise::server {
namespace {

void write_store(std::string& text, const LiveFigures& figures) {
  single_metric(text, "likewise_events_stored_total", "counter", "Events acknowledged.",
                figures.accepted);
  single_metric(text, "likewise_events_repeated_total", "counter",
                "Events whose key was there already.", figures.repeated);
  single_metric(text, "likewise_events_refused_total", "counter",
                "Events that the store could not take.", figures.refused);
  single_metric(text, "likewise_events_erased_total", "counter", "Events of erased users.",
                figures.erased);
  single_metric(text, "likewise_events_in_memory", "gauge",
                "Events that the model has not learned, and users that have some, in memory.",
                figures.in_memory);
  single_metric(text, "likewise_events_unread_total", "counter",
                "Answers without a user's events, because the store could not be read.",
                figures.unread);
  single_metric(text, "likewise_event_store_up", "gauge",
                "1 where the store was read and has stored, when that was last asked of it.",
                figures.store_up() ? 1 : 0);
  single_metric(text, "likewise_event_store_readable", "gauge",
                "1 where the store was read, when that was last asked of it.",
                figures.readable ? 1 : 0);
  single_metric(text, "likewise_event_store_writable", "gauge",
                "0 where the store failed to store or erase, when that was last asked of it.",
                figures.writable ? 1 : 0);
}

void write_updates(std::string& text, const Updater& updater, const Split& split) {
  std::vector<UpdateFigures> all;
  for (std::size_t m = 0; m < split.size(); ++m) all.push_back(updater.figures(m));
  const auto write = [&](std::string_view name, std::string_view type, std::string_view help,
                         const auto& figure) {
    metric_of_models(text, name, type, help, split, [&](std::size_t m) { return figure(all[m]); });
  };
  write("likewise_updates_total", "counter", "Updates of the model by events.",
        [](const UpdateFigures& of) { return of.updates; });
  write("likewise_update_failures_total", "counter", "Updates that left the model as it was.",
        [](const UpdateFigures& of) { return of.failures; });
  write("likewise_update_failed", "gauge", "1 where the last update failed.",
        [](const UpdateFigures& of) { return of.last_error.empty() ? 0 : 1; });
  write("likewise_update_events_total", "counter", "Events that the model has learned.",
        [](const UpdateFigures& of) { return of.events; });
  write("likewise_update_events_set_aside_total", "counter",
        "Events that the model cannot learn, and goes on without.",
        [](const UpdateFigures& of) { return of.set_aside; });
  write("likewise_update_seconds", "gauge", "That the last update took.",
        [](const UpdateFigures& of) { return of.seconds; });
}

}  // namespace

void write_event_metrics(std::string& text, const Service& service) {
  write_store(text, service.events().figures());
  const Split& split = service.split();
  if (service.updater() != nullptr) write_updates(text, *service.updater(), split);
  const Follows& follows = service.follows();
  metric_of_models(text, "likewise_offered_items_total", "counter",
                   "Items in the lists of users who may have events.", split,
                   [&](std::size_t m) { return follows.count(m).offered; });
  metric_of_models(text, "likewise_followed_items_total", "counter",
                   "Of these, followed by an event of the user within a day.", split,
                   [&](std::size_t m) { return follows.count(m).followed; });
}

}  // namespace likewise::server
