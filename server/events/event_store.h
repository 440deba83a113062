// SPDX-License-Identifier: Apache-2.0
/// `EventStore`: events, durable before they are acknowledged. SQLite in a file, or PostgreSQL,
/// which several servers share.
#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "likewise/error.h"
#include "server/events/event.h"

namespace likewise::server {

/// The store cannot do it now; it may later.
class StoreError : public Error {
 public:
  enum class Reason { kFull, kUnavailable };  // in HTTP: 507, 503
  /// `told`: in place of the message, to those who sent events: without paths and names of hosts.
  StoreError(Reason reason, const std::string& message, std::string told)
      : Error(ErrorKind::kIo, message), reason_(reason), told_(std::move(told)) {}
  StoreError(Reason reason, const std::string& message) : StoreError(reason, message, message) {}
  [[nodiscard]] Reason reason() const noexcept { return reason_; }
  [[nodiscard]] const std::string& told() const noexcept { return told_; }

 private:
  Reason reason_;
  std::string told_;
};

/// What became of a batch.
struct Appended {
  std::vector<StoredEvent> events;  ///< position 0: one with its key was there already
  std::exception_ptr error{};       ///< then none of the batch is acknowledged

  [[nodiscard]] Offset stored() const;
};
/// Called once for each batch, on the store's thread: short, and without exceptions.
using WhenAppended = std::function<void(Appended)>;

/// Thread-safe. Batches that wait together are committed in one transaction. Work on a store throws
/// StoreError while it is full, broken or away, and does so at once: it comes back by itself.
///
/// A commit whose answer was lost (the connection broke, an fsync failed) is an error, and its
/// events may be there. Events with a key can be sent again then, and are not there twice.
class EventStore {
 public:
  virtual ~EventStore() = default;

  /// Names this store for ever, among all stores: 32 hexadecimal digits.
  [[nodiscard]] virtual std::string id() = 0;

  /// `events` have been checked. Throws StoreError(kUnavailable) where too many wait already.
  virtual void submit(std::vector<Event> events, WhenAppended done) = 0;
  /// The same, and waits; throws the error.
  [[nodiscard]] Appended append(std::vector<Event> events);

  /// The last position taken. All that was committed up to it can be read, and of what this object
  /// committed `done` was called. Not to be called by `done`.
  [[nodiscard]] virtual Position newest() = 0;
  /// The first `most` events after a position and up to another one, in order.
  [[nodiscard]] virtual std::vector<StoredEvent> read(Position after, Position upto,
                                                      Offset most) = 0;
  [[nodiscard]] virtual std::vector<StoredEvent> read_user(const std::string& user,
                                                           Position after) = 0;
  [[nodiscard]] virtual Offset count() = 0;

  struct Erased {
    Offset events = 0;
    Erasure erasure;
  };
  /// Deletes the user's events, and remembers that they are gone: the last time of each user, which
  /// is `at` or, where an earlier one was later by its clock, that one's.
  virtual Erased erase(const std::string& user, Microseconds at) = 0;
  /// One of each user at most, in order.
  [[nodiscard]] virtual std::vector<Erasure> erasures(Position after) = 0;

  /// Deletes events up to a position that came before a time, but those of users who were erased at
  /// `trained` or later: a model of then needs all that came since. Returns how many.
  virtual Offset compact(Position upto, Microseconds before, Microseconds trained) = 0;
};

/// "postgresql://..." or "postgres://...", else the path of a SQLite file, which is made where it
/// is missing. Throws Error(kInvalidArgument) for a URL that is none or that this program was built
/// without, Error(kBadData) for a file that is something else, StoreError for one that cannot be
/// opened. A database that is away is waited for.
[[nodiscard]] std::unique_ptr<EventStore> open_event_store(const std::string& where);

/// Whether this program was built with PostgreSQL.
[[nodiscard]] bool has_postgres();

/// Of a store that open_event_store() would open in a database: without its password.
[[nodiscard]] std::string shown_place(const std::string& where);

}  // namespace likewise::server
