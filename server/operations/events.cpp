// SPDX-License-Identifier: Apache-2.0
/// POST /v1/events.
#include <future>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "server/operations/operations.h"
#include "server/service.h"

namespace likewise::server {
namespace {

/// Throws Fault naming `where`, the event's place in its list.
[[nodiscard]] Event event_of(const Json& json, Microseconds at, const std::string& where) {
  Event event{id_of(json["user"]), id_of(json["item"]), value_in(json, where), at, {}};
  const auto time = json.find("time");
  if (time != json.end()) event.time = microseconds_of(time->get<double>());
  event.key = json.value("key", "");
  try {
    check_event(event, at);
  } catch (const Error& error) {
    throw Fault(FaultKind::kInvalidArgument, error.what(), where);
  }
  return event;
}

[[nodiscard]] std::vector<Event> events_in(const Json& request) {
  const Microseconds at = now();
  if (!request.contains("events")) {
    if (!request.contains("item")) {
      throw Fault(FaultKind::kInvalidArgument, "an event needs an item", "item");
    }
    return {event_of(request, at, "")};
  }
  if (request.size() > 1) {
    throw Fault(FaultKind::kInvalidArgument,
                "beside a list of events there is nothing: each has an item of its own", "events");
  }
  std::vector<Event> events;
  for (const Json& one : request["events"]) {
    events.push_back(event_of(one, at, fmt::format("events[{}]", events.size())));
  }
  return events;
}

[[nodiscard]] std::string acknowledged(const Service& service, const Appended& appended) {
  for (const StoredEvent& one : appended.events) {
    if (one.position > 0) service.follows().event(one.event.user, one.event.item, one.event.time);
  }
  const auto all = std::ssize(appended.events);
  JsonText text;
  text.begin_object().key("accepted").value(all);
  text.key("repeated").value(all - appended.stored()).end_object();
  return text.take();
}

/// Several requests are one commit.
[[nodiscard]] std::vector<Outcome> store_together(const Service& service,
                                                  std::span<const Json* const> requests) {
  std::vector<std::promise<Outcome>> promises(requests.size());
  for (std::size_t r = 0; r < requests.size(); ++r) {
    try {
      service.events().submit(events_in(*requests[r]), [&, r](Appended appended) {
        try {
          if (appended.error) std::rethrow_exception(appended.error);
          promises[r].set_value(acknowledged(service, appended));
        } catch (...) {
          promises[r].set_value(current_fault());
        }
      });
    } catch (...) {
      promises[r].set_value(current_fault());
    }
  }
  std::vector<Outcome> outcomes;
  for (auto& promise : promises) outcomes.push_back(promise.get_future().get());
  return outcomes;
}

[[nodiscard]] std::string store(const Service& service, const Json& request) {
  return acknowledged(service, service.events().append(events_in(request)));
}

[[nodiscard]] std::vector<Member> members_of_an_event(bool required) {
  return {{"user", not_empty(id_schema("Who", kLongestId)), required},
          {"item",
           not_empty(id_schema("What; one that the model does not know joins at its next update",
                               kLongestId)),
           required},
          {"value", number_schema("As in training: a rating, or a count. Absent: a like")},
          {"time", number_schema("Seconds since 1970. Absent: now")},
          {"key", not_empty(text_schema(
                      "Of events with one key the first is kept: for sending again", kLongestId))}};
}

[[nodiscard]] Json events_parameters(const Limits& limits) {
  std::vector<Member> members = members_of_an_event(false);
  members.push_back({"events", list_schema("Several", object_schema("", members_of_an_event(true)),
                                           limits.events)});
  return with_one_of(object_schema("", std::move(members)), {"user", "events"});
}

}  // namespace

Operation events_operation(const Limits& limits) {
  return {.name = "events",
          .summary = "Store what users did: on the disk before it is answered, and counted at once",
          .methods = {Method::kPost},
          .path = "/v1/events",
          .access = Access::kWrite,
          .cost = Cost::kStored,
          .parameters = events_parameters(limits),
          .answer = object_schema(
              "", {{"accepted", count_schema("Events that are stored"), true},
                   {"repeated", count_schema("Of these, whose key was there already"), true}}),
          .status = 202,
          .faults = {FaultKind::kStorageFull},
          .run = store,
          .run_together = store_together};
}

}  // namespace likewise::server
