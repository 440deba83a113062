// SPDX-License-Identifier: Apache-2.0
/// `Live`: events count from the moment they are acknowledged. A store, and in memory what the
/// models that are served have not learned.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <variant>
#include <vector>

#include "likewise/model.h"
#include "likewise/query.h"
#include "likewise/read.h"
#include "server/events/event_store.h"
#include "server/events/overlay.h"

namespace likewise::server {

/// What a model has learned of which stores, and when it was trained.
struct ModelMark {
  std::string created;
  std::unordered_map<std::string, Position> learned;  ///< by the store's id
};
[[nodiscard]] ModelMark mark_of(const Model& model);
/// What ModelUpdate::source is of an update with the events of a store up to a position:
/// "events 0123456789abcdef0123456789abcdef@1000". mark_of() reads it.
[[nodiscard]] std::string source_of(const std::string& store, Position position);
/// Of one store; 0: nothing of it.
[[nodiscard]] Position learned_of(const ModelMark& mark, const std::string& store);
/// When a model was trained, by the clock of the machine that did; 0 where that is not known.
[[nodiscard]] Microseconds trained_at(const ModelMark& mark);
/// Whether a model was trained before, so that what it knows of the user must not be used.
[[nodiscard]] bool older_than_erasure(const ModelMark& mark, Microseconds erased_at);

/// What two values of an item become where nobody said it: added up where the model learned from
/// counts, else the last one.
[[nodiscard]] Duplicates usual_duplicates(const Model& model);

/// What a user did since a model.
struct Since {
  bool erased = false;      ///< what the model knows of the user is not to be used
  std::vector<Like> likes;  ///< the oldest first
};

/// Who a user is to a model now: nobody, a row of it, or somebody to be folded in.
using Who = std::variant<std::monostate, Index, FoldInRow>;
[[nodiscard]] Who who_is(const Model& model, const std::string& user, const Since& since,
                         Duplicates duplicates);

/// Counts since the start, and the state now.
struct LiveFigures {
  Offset accepted = 0;    ///< events stored
  Offset repeated = 0;    ///< whose key was there already
  Offset refused = 0;     ///< that the store could not take
  Offset erased = 0;      ///< events
  Offset in_memory = 0;   ///< events, and users that were asked for
  Offset unread = 0;      ///< answers without a user's events: the store could not be read
  Position newest = 0;    ///< that was heard of
  bool readable = false;  ///< the store was read, when that was last asked of it
  bool writable = true;   ///< it did not fail to store or erase, when that was last asked of it
  [[nodiscard]] bool store_up() const { return readable && writable; }
};

/// Thread-safe.
class Live {
 public:
  struct Options {
    Offset most_in_memory = 500'000;
    /// Between looks for the events of other servers.
    std::chrono::milliseconds poll{500};
    /// Told where the store fails that worked, and where it works again. From any thread.
    std::function<void(const std::string& line)> say{};
  };

  explicit Live(std::unique_ptr<EventStore> store) : Live(std::move(store), Options()) {}
  Live(std::unique_ptr<EventStore> store, Options options);
  ~Live();
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

  /// The models that are served from now on: before the first question, and before a new one is
  /// taken into use. Events that all of these *and* all before them have learned are dropped, so
  /// that answers under way keep theirs.
  void serve(std::vector<ModelMark> marks);

  /// Events that were checked. They count before `done` is called.
  void submit(std::vector<Event> events, WhenAppended done);
  [[nodiscard]] Appended append(std::vector<Event> events);

  /// Where the store has to be asked and cannot be, the user is as the model knows it.
  [[nodiscard]] Since since(const std::string& user, const ModelMark& mark);

  /// Holds for all models that are served now, whatever the clock was that dated them.
  EventStore::Erased erase(const std::string& user);
  [[nodiscard]] std::vector<StoredEvent> history(const std::string& user);
  /// How many users were erased since the store began.
  [[nodiscard]] Offset erased_users() const { return overlay_.erased_users(); }

  [[nodiscard]] EventStore& store() { return *store_; }
  [[nodiscard]] LiveFigures figures() const;

 private:
  void appended(const Appended& appended);
  void follow();
  void follow_until_told();
  void begin_at(Position learned);
  [[nodiscard]] std::optional<std::string> store_id();
  void note(bool works, bool LiveFigures::*of, const std::string& sentence) const;
  void note_read() const;
  void note_unread(const std::string& error) const;
  void note_stored() const;
  void note_refused(const std::string& error) const;

  std::unique_ptr<EventStore> store_;
  Options options_;
  Overlay overlay_;

  mutable std::mutex mutex_;  ///< of what follows
  std::vector<ModelMark> marks_;
  std::string id_;          ///< empty: not yet known
  Position learned_ = 0;    ///< that all models have learned
  Position followed_ = -1;  ///< all events up to here are in the overlay; -1: none was read
  mutable LiveFigures figures_;
  mutable bool unreadable_ = false;  ///< and that was said
  mutable bool unwritable_ = false;
  bool stopping_ = false;
  std::condition_variable stop_;

  std::mutex following_;            ///< one reads at a time
  Position erasures_followed_ = 0;  ///< guarded by following_
  std::thread follower_;
};

}  // namespace likewise::server
