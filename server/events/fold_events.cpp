// SPDX-License-Identifier: Apache-2.0
#include "server/events/fold_events.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "likewise/error.h"
#include "likewise/make_interactions.h"
#include "likewise/model.h"
#include "likewise/query.h"
#include "likewise/training.h"
#include "likewise/update.h"
#include "server/events/live.h"

namespace likewise::server {
namespace {

constexpr Offset kEventsAtOnce = 10'000;
/// Of a model that refuses events: some twenty for each user whose events it cannot learn.
constexpr int kMostTries = 200;

/// Users whose events such a model may not learn.
[[nodiscard]] std::set<std::string> erased_after(EventStore& store, const ModelMark& mark) {
  std::set<std::string> users;
  for (Erasure& one : store.erasures(0)) {
    if (older_than_erasure(mark, one.time)) users.insert(std::move(one.user));
  }
  return users;
}

/// In the order of their times.
[[nodiscard]] std::vector<StoredEvent> events_for(EventStore& store, const ModelMark& mark,
                                                  Position upto, const RunControl& control) {
  const std::set<std::string> erased = erased_after(store, mark);
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

/// In the same order.
using Events = std::vector<const StoredEvent*>;

[[nodiscard]] Interactions interactions_of(const Events& events, const Model& model,
                                           Duplicates duplicates) {
  std::vector<std::string_view> users;
  std::vector<std::string_view> items;
  std::vector<float> values;
  std::optional<float> usual;
  for (const StoredEvent* one : events) {
    users.emplace_back(one->event.user);
    items.emplace_back(one->event.item);
    if (!one->event.value && !usual) usual = value_of_a_like(model);
    values.push_back(one->event.value ? *one->event.value : *usual);
  }
  ReadOptions options;
  options.duplicates = duplicates;
  return make_interactions(std::span<const std::string_view>(users),
                           std::span<const std::string_view>(items), std::span<const float>(values),
                           {}, options);
}

/// Users who have events, those with the largest values last: where values are why a model cannot
/// learn, those users stand together.
[[nodiscard]] std::vector<std::string_view> users_by_values(
    const std::vector<StoredEvent>& events) {
  std::map<std::string_view, float> largest;
  for (const StoredEvent& one : events) {
    float& value = largest[one.event.user];
    value = std::max(value, std::abs(one.event.value.value_or(1.0F)));
  }
  std::vector<std::string_view> users;
  for (const auto& [user, value] : largest) users.push_back(user);
  std::ranges::stable_sort(users, {}, [&](std::string_view user) { return largest.at(user); });
  return users;
}

/// A model, and as many users' events as it can learn.
class Learner {
 public:
  Learner(const Model& earlier, const std::vector<StoredEvent>& events, UpdateOptions options,
          const Device& device, const RunControl& control)
      : earlier_(earlier),
        events_(events),
        options_(std::move(options)),
        device_(device),
        control_(control) {}

  /// Throws why, where it can learn none.
  UpdatedModel learn() {
    if (try_with({}, true)) return std::move(*learned_);
    const std::vector<std::string_view> users = users_by_values(events_);
    if (users.size() > 1) halve(users);
    if (taken_.empty()) std::rethrow_exception(first_);
    for (const StoredEvent& one : events_) {
      if (!taken_.contains(one.event.user)) ++set_aside_.events;
    }
    if (!learned_ && !try_with({}, false)) std::rethrow_exception(last_);
    return std::move(*learned_);
  }
  [[nodiscard]] const SetAside& set_aside() const { return set_aside_; }

 private:
  void halve(std::span<const std::string_view> users) {
    const std::size_t middle = users.size() / 2;
    learn_part(users.first(middle));
    learn_part(users.subspan(middle));
  }

  void learn_part(std::span<const std::string_view> users) {
    control_.check();
    if (try_with(users, false)) {
      taken_.insert(users.begin(), users.end());
    } else if (users.size() > 1 && tries_ < kMostTries) {
      halve(users);
    } else {
      set_aside_.users.insert(set_aside_.users.end(), users.begin(), users.end());
    }
  }

  /// Whether the model can learn the events of these beside those that were taken, or of all.
  bool try_with(std::span<const std::string_view> users, bool all) {
    const std::set<std::string_view> more(users.begin(), users.end());
    Events events;
    for (const StoredEvent& one : events_) {
      if (all || taken_.contains(one.event.user) || more.contains(one.event.user)) {
        events.push_back(&one);
      }
    }
    learned_.reset();
    ++tries_;
    try {
      learned_ = update_model(earlier_, interactions_of(events, earlier_, options_.duplicates),
                              options_, device_, control_);
      return true;
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kNumerical && error.kind() != ErrorKind::kBadData) throw;
      last_ = std::current_exception();
      if (first_ == nullptr) {
        first_ = last_;
        set_aside_.reason = error.what();
      }
      return false;
    }
  }

  const Model& earlier_;
  const std::vector<StoredEvent>& events_;
  UpdateOptions options_;
  const Device& device_;
  const RunControl& control_;
  std::set<std::string_view> taken_;
  int tries_ = 0;
  std::optional<UpdatedModel> learned_;  ///< by the last try, where it could
  SetAside set_aside_;
  std::exception_ptr first_;
  std::exception_ptr last_;
};

}  // namespace

FoldReport fold_events(const std::string& path, EventStore& store, const FoldRules& rules,
                       const RunControl& control) {
  HeldFile held(path, control);
  const Model earlier = load_model(path);
  const ModelMark mark = mark_of(earlier);
  const Position upto = store.newest();
  const std::vector<StoredEvent> events = events_for(store, mark, upto, control);
  FoldReport report{.position = learned_of(mark, store.id()), .trained = trained_at(mark)};
  if (events.empty()) return report;
  UpdateOptions options;
  options.duplicates = rules.duplicates.value_or(usual_duplicates(earlier));
  options.source = source_of(store.id(), upto);
  const Device device =
      open_device_to_train(rules.device, params_of_update(earlier, options)).device;
  Learner learner(earlier, events, options, device, control);
  const UpdatedModel updated = learner.learn();
  save_model(updated.model, held);
  report.set_aside = learner.set_aside();
  report.events = std::ssize(events) - report.set_aside.events;
  report.new_users = updated.model.users.size() - earlier.users.size();
  report.new_items = updated.model.items.size() - earlier.items.size();
  report.position = upto;
  return report;
}

}  // namespace likewise::server
