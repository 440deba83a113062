// SPDX-License-Identifier: Apache-2.0
#include "server/events/overlay.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace likewise::server {
namespace {

constexpr std::size_t kShards = 64;

[[nodiscard]] bool before(const StoredEvent& event, Position position) {
  return event.position < position;
}

/// Keeps the order of positions, each once.
void insert(std::vector<StoredEvent>& events, StoredEvent event) {
  const auto at = std::lower_bound(events.begin(), events.end(), event.position, before);
  if (at != events.end() && at->position == event.position) return;
  events.insert(at, std::move(event));
  if (events.size() > Overlay::kMostOfUser) events.erase(events.begin());
}

/// Takes out events before a position; returns how many.
Offset drop_before(std::vector<StoredEvent>& events, Position position) {
  const auto end = std::lower_bound(events.begin(), events.end(), position, before);
  const Offset dropped = end - events.begin();
  events.erase(events.begin(), end);
  return dropped;
}

}  // namespace

/// Users whose names fall on one lock. A user costs as much as an event, with or without any.
struct Overlay::Shard {
  struct Kept {
    std::vector<StoredEvent> events;
    std::list<std::string>::iterator turn;  ///< in `turns`
  };

  std::mutex mutex;
  std::unordered_map<std::string, Kept> users;
  std::list<std::string> turns;  ///< users, the one asked for last first
  /// Who erased what; kept as long as the program runs, as models of before stay as they are.
  std::unordered_map<std::string, Erasure> erasures;
  Offset size = 0;
  Position learned = 0;
  /// The last position of an event that was left to the store; 0: all are in memory.
  Position left_out = 0;

  [[nodiscard]] Position gone(const std::string& user) const {
    const auto erased = erasures.find(user);
    return erased == erasures.end() ? 0 : erased->second.position;
  }
  /// Models know what is up to here. Those of before an erasure do not use what they know of the
  /// user, so of such a user all events since then are needed.
  [[nodiscard]] Position needed_after(const std::string& user) const {
    const Position erased = gone(user);
    return erased > 0 ? erased : learned;
  }

  Kept& keep(const std::string& user) {
    const auto [at, fresh] = users.try_emplace(user);
    if (fresh) {
      turns.push_front(user);
      at->second.turn = turns.begin();
      size += 1;
    }
    return at->second;
  }
  void add(Kept& kept, StoredEvent event) {
    size -= std::ssize(kept.events);
    insert(kept.events, std::move(event));
    size += std::ssize(kept.events);
  }
  void leave(const std::string& user) {
    const auto at = users.find(user);
    if (!at->second.events.empty()) {
      left_out = std::max(left_out, at->second.events.back().position);
    }
    size -= std::ssize(at->second.events) + 1;
    turns.erase(at->second.turn);
    users.erase(at);
  }
  void make_room(Offset most) {
    while (size > most && users.size() > 1) leave(std::string(turns.back()));
  }
  void touch(Kept& kept) { turns.splice(turns.begin(), turns, kept.turn); }
};

Overlay::Overlay(Offset most_events, ReadUser read_user)
    : most_(std::max<Offset>(most_events / Offset{kShards}, 1)), read_user_(std::move(read_user)) {
  for (std::size_t s = 0; s < kShards; ++s) shards_.push_back(std::make_unique<Shard>());
}

Overlay::~Overlay() = default;

Overlay::Shard& Overlay::shard_of(const std::string& user) const {
  return *shards_[std::hash<std::string>()(user) % kShards];
}

void Overlay::add(StoredEvent event) {
  Shard& shard = shard_of(event.event.user);
  const std::string user = event.event.user;
  const std::lock_guard lock(shard.mutex);
  if (event.position <= shard.needed_after(user)) return;
  if (shard.left_out > 0 && !shard.users.contains(user)) {
    // The store may have more of this user: whoever asks reads all of them from there.
    shard.left_out = std::max(shard.left_out, event.position);
    return;
  }
  shard.add(shard.keep(user), std::move(event));
  shard.make_room(most_);
}

void Overlay::erase(const Erasure& erasure) {
  Shard& shard = shard_of(erasure.user);
  const std::lock_guard lock(shard.mutex);
  Erasure& last = shard.erasures[erasure.user];
  if (erasure.position <= last.position) return;
  last = erasure;
  const auto kept = shard.users.find(erasure.user);
  if (kept != shard.users.end()) {
    shard.size -= drop_before(kept->second.events, erasure.position);
  }
}

void Overlay::forget(Position learned) {
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    shard->learned = std::max(shard->learned, learned);
    if (shard->left_out <= shard->learned && shard->erasures.empty()) shard->left_out = 0;
    for (auto at = shard->users.begin(); at != shard->users.end();) {
      auto& [user, kept] = *at;
      shard->size -= drop_before(kept.events, shard->needed_after(user) + 1);
      if (!kept.events.empty()) {
        ++at;
        continue;
      }
      shard->size -= 1;
      shard->turns.erase(kept.turn);
      at = shard->users.erase(at);
    }
  }
}

void Overlay::rewind(Position learned) {
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    shard->learned = std::min(shard->learned, learned);
  }
}

UserEvents Overlay::find(const std::string& user) {
  Shard& shard = shard_of(user);
  const std::lock_guard lock(shard.mutex);
  const auto erased = shard.erasures.find(user);
  UserEvents found;
  if (erased != shard.erasures.end()) {
    found.erased = erased->second.position;
    found.erased_at = erased->second.time;
  }
  auto at = shard.users.find(user);
  if (at == shard.users.end()) {
    if (shard.left_out == 0) return found;
    // Under the lock: an event that is committed meanwhile is added after this.
    const Position after = shard.needed_after(user);
    std::vector<StoredEvent> events = read_user_(user);
    Shard::Kept& kept = shard.keep(user);
    for (StoredEvent& event : events) {
      if (event.position > after) shard.add(kept, std::move(event));
    }
    at = shard.users.find(user);
  }
  shard.touch(at->second);
  found.events = at->second.events;
  shard.make_room(most_);
  return found;
}

Offset Overlay::erased_users() const {
  Offset users = 0;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    users += std::ssize(shard->erasures);
  }
  return users;
}

Offset Overlay::size() const {
  Offset size = 0;
  for (const auto& shard : shards_) {
    const std::lock_guard lock(shard->mutex);
    size += shard->size;
  }
  return size;
}

}  // namespace likewise::server
