// SPDX-License-Identifier: Apache-2.0
/// What users did that models have not learned, in memory.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "server/events/event.h"

namespace likewise::server {

/// Of one user.
struct UserEvents {
  std::vector<StoredEvent> events;  ///< in order of position
  Position erased = 0;              ///< of the last erasure; 0: none
  Microseconds erased_at = 0;
};

/// Events by user, at most so many in memory: beyond, users that nobody asks for are left to the
/// store, and read from there when somebody does. Of one user the newest kMostOfUser count.
/// Thread-safe.
class Overlay {
 public:
  /// Reads all events of a user from the store.
  using ReadUser = std::function<std::vector<StoredEvent>(const std::string& user)>;
  static constexpr std::size_t kMostOfUser = 10'000;

  Overlay(Offset most_events, ReadUser read_user);
  ~Overlay();

  /// One that is there already changes nothing.
  void add(StoredEvent event);
  void erase(const Erasure& erasure);
  /// Models have learned events up to here.
  void forget(Position learned);
  /// A model has learned less than that: what came after `learned` will be added again.
  void rewind(Position learned);

  /// Throws what the store throws where it has to be asked.
  [[nodiscard]] UserEvents find(const std::string& user);
  [[nodiscard]] Offset size() const;  ///< events in memory
  [[nodiscard]] Offset erased_users() const;

 private:
  struct Shard;
  [[nodiscard]] Shard& shard_of(const std::string& user) const;

  Offset most_;  ///< events of a shard
  ReadUser read_user_;
  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace likewise::server
