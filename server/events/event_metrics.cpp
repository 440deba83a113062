// SPDX-License-Identifier: Apache-2.0
#include "server/events/event_metrics.h"

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
                "1 where the store did what was last asked of it.", figures.store_up ? 1 : 0);
}

void write_updates(std::string& text, const UpdateFigures& figures) {
  single_metric(text, "likewise_updates_total", "counter", "Updates of the model by events.",
                figures.updates);
  single_metric(text, "likewise_update_failures_total", "counter",
                "Updates that left the model as it was.", figures.failures);
  single_metric(text, "likewise_update_failed", "gauge", "1 where the last update failed.",
                figures.last_error.empty() ? 0 : 1);
  single_metric(text, "likewise_update_events_total", "counter",
                "Events that the model has learned.", figures.events);
  seconds_metric(text, "likewise_update_seconds", "That the last update took.", figures.seconds);
}

}  // namespace

void write_event_metrics(std::string& text, const Service& service) {
  write_store(text, service.events().figures());
  if (service.updater() != nullptr) write_updates(text, service.updater()->figures(0));
  const Follows::Count count = service.follows().count(0);
  single_metric(text, "likewise_offered_items_total", "counter",
                "Items in the lists of users who may have events.", count.offered);
  single_metric(text, "likewise_followed_items_total", "counter",
                "Of these, followed by an event of the user within a day.", count.followed);
}

}  // namespace likewise::server
