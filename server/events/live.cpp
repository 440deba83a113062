// SPDX-License-Identifier: Apache-2.0
#include "server/events/live.h"

#include <algorithm>
#include <ctime>
#include <future>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace likewise::server {
namespace {

/// Events read at once.
constexpr Offset kPiece = 10'000;

/// How the source of an update begins that is a store of events.
constexpr std::string_view kSource = "events ";

/// Back from source_of(); other sources say nothing.
void read_source(std::string_view source, ModelMark& mark) {
  const std::size_t at = source.find('@');
  if (!source.starts_with(kSource) || at == std::string_view::npos) return;
  const auto position = canonical_integer(source.substr(at + 1));
  if (!position) return;
  mark.learned[std::string(source.substr(kSource.size(), at - kSource.size()))] = *position;
}

[[nodiscard]] Position least_learned(const std::vector<ModelMark>& marks, const std::string& id) {
  Position least = marks.empty() ? 0 : std::numeric_limits<Position>::max();
  for (const ModelMark& mark : marks) least = std::min(least, learned_of(mark, id));
  return least;
}

}  // namespace

ModelMark mark_of(const Model& model) {
  ModelMark mark{model.provenance.created, {}};
  for (const ModelUpdate& update : model.provenance.updates) read_source(update.source, mark);
  return mark;
}

std::string source_of(const std::string& store, Position position) {
  return fmt::format("{}{}@{}", kSource, store, position);
}

Position learned_of(const ModelMark& mark, const std::string& store) {
  const auto found = mark.learned.find(store);
  return found == mark.learned.end() ? 0 : found->second;
}

Microseconds trained_at(const ModelMark& mark) {
  std::tm date = {};
  const char* const end = strptime(mark.created.c_str(), "%Y-%m-%dT%H:%M:%SZ", &date);
  if (end == nullptr || *end != '\0') return 0;
  return std::max<Microseconds>(timegm(&date), 0) * kPerSecond;
}

/// Models are dated by whole seconds: one of the same second may be from before.
bool older_than_erasure(const ModelMark& mark, Microseconds erased_at) {
  return trained_at(mark) <= erased_at;
}

Duplicates usual_duplicates(const Model& model) {
  return model.feedback() == Feedback::kImplicit ? Duplicates::kSum : Duplicates::kLast;
}

Who who_is(const Model& model, const std::string& user, const Since& since, Duplicates duplicates) {
  const auto row = since.erased ? std::nullopt : model.users.find(user);
  if (row && model.history.rows == 0) return *row;  // nothing that likes could be added to
  Offset unknown = 0;
  FoldInRow now = since.likes.empty()
                      ? FoldInRow{}
                      : with_likes(model, row ? history_of(model, *row) : FoldInRow{}, since.likes,
                                   duplicates, &unknown);
  if (unknown < std::ssize(since.likes)) return now;
  if (row) return *row;
  return std::monostate{};
}

Live::Live(std::unique_ptr<EventStore> store, Options options)
    : store_(std::move(store)),
      options_(options),
      overlay_(options.most_in_memory,
               [this](const std::string& user) { return store_->read_user(user, 0); }),
      follower_([this] { follow_until_told(); }) {}

Live::~Live() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stop_.notify_all();
  follower_.join();
  store_.reset();  // commits what waits, which counts in what goes after it
}

/// Says what has changed. That the first read works is no news.
void Live::note(bool works, bool LiveFigures::*of, const std::string& sentence) const {
  {
    const std::lock_guard lock(mutex_);
    bool& failed = of == &LiveFigures::readable ? unreadable_ : unwritable_;
    figures_.*of = works;
    if (std::exchange(failed, !works) == !works) return;
  }
  if (options_.say) options_.say(sentence);
}

void Live::note_read() const { note(true, &LiveFigures::readable, "events are read again"); }
void Live::note_stored() const { note(true, &LiveFigures::writable, "events are stored again"); }
void Live::note_unread(const std::string& error) const {
  note(false, &LiveFigures::readable, "answers do without new events: " + error);
}
void Live::note_refused(const std::string& error) const {
  note(false, &LiveFigures::writable, "events are refused: " + error);
}

void Live::serve(std::vector<ModelMark> marks) {
  {
    const std::scoped_lock lock(following_, mutex_);  // nobody reads on from where it was
    marks_ = std::move(marks);
    if (!id_.empty()) begin_at(least_learned(marks_, id_));
  }
  follow();
}

/// What was learned before is dropped now, what is learned now the next time.
void Live::begin_at(Position learned) {
  if (learned < learned_ || followed_ < 0) {
    overlay_.rewind(learned);
    followed_ = learned;
  }
  overlay_.forget(std::min(learned, learned_));
  learned_ = learned;
}

void Live::submit(std::vector<Event> events, WhenAppended done) {
  const auto count = std::ssize(events);
  const auto refuse = [this, count](const std::string& error) {
    note_refused(error);
    const std::lock_guard lock(mutex_);
    figures_.refused += count;
  };
  try {
    store_->submit(std::move(events), [this, refuse, done = std::move(done)](Appended batch) {
      try {
        if (batch.error) std::rethrow_exception(batch.error);
        appended(batch);
      } catch (const std::exception& error) {
        refuse(error.what());
      }
      done(std::move(batch));
    });
  } catch (const StoreError& error) {
    refuse(error.what());
    throw;
  }
}

Appended Live::append(std::vector<Event> events) {
  std::promise<Appended> promise;
  submit(std::move(events), [&](Appended done) { promise.set_value(std::move(done)); });
  Appended appended = promise.get_future().get();
  if (appended.error) std::rethrow_exception(appended.error);
  return appended;
}

void Live::appended(const Appended& batch) {
  for (const StoredEvent& event : batch.events) {
    if (event.position > 0) overlay_.add(event);
  }
  note_stored();
  const Offset stored = batch.stored();
  const std::lock_guard lock(mutex_);
  figures_.accepted += stored;
  figures_.repeated += std::ssize(batch.events) - stored;
  if (stored == 0 || stored < std::ssize(batch.events)) return;
  figures_.newest = std::max(figures_.newest, batch.events.back().position);
  // Without a gap there is nothing of others before it, and nothing to be read again.
  if (batch.events.front().position == followed_ + 1) followed_ = batch.events.back().position;
}

std::optional<std::string> Live::store_id() {
  {
    const std::lock_guard lock(mutex_);
    if (!id_.empty()) return id_;
    if (marks_.empty()) return std::nullopt;
  }
  const std::string id = store_->id();
  const std::lock_guard lock(mutex_);
  if (id_.empty()) {
    id_ = id;
    begin_at(least_learned(marks_, id_));
  }
  return id_;
}

void Live::follow() {
  const std::lock_guard lock_of_reading(following_);
  try {
    if (!store_id()) return;
    const Position newest = store_->newest();
    Position from = 0;
    {
      const std::lock_guard lock(mutex_);
      from = followed_;
      figures_.newest = newest;
    }
    if (newest > erasures_followed_) {
      for (const Erasure& one : store_->erasures(erasures_followed_)) overlay_.erase(one);
      erasures_followed_ = newest;
    }
    while (from < newest) {
      std::vector<StoredEvent> events = store_->read(from, newest, kPiece);
      if (events.empty()) break;
      from = events.back().position;
      for (StoredEvent& event : events) overlay_.add(std::move(event));
    }
    {
      const std::lock_guard lock(mutex_);
      followed_ = std::max(followed_, newest);
    }
    note_read();
  } catch (const std::exception& error) {
    note_unread(error.what());
  }
}

void Live::follow_until_told() {
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, options_.poll, [&] { return stopping_; })) {
    lock.unlock();
    follow();
    lock.lock();
  }
}

Since Live::since(const std::string& user, const ModelMark& mark) {
  UserEvents found;
  try {
    found = overlay_.find(user);
  } catch (const StoreError& error) {
    note_unread(error.what());
    const std::lock_guard lock(mutex_);
    figures_.unread += 1;
    return {};
  }
  Since since;
  since.erased = found.erased > 0 && older_than_erasure(mark, found.erased_at);
  if (found.events.empty()) return since;
  const Position learned = since.erased ? found.erased : [&] {
    const std::lock_guard lock(mutex_);
    return learned_of(mark, id_);
  }();
  std::erase_if(found.events, [&](const StoredEvent& one) { return one.position <= learned; });
  std::ranges::stable_sort(found.events, {}, [](const StoredEvent& one) { return one.event.time; });
  for (StoredEvent& one : found.events) {
    since.likes.push_back({std::move(one.event.item), one.event.value});
  }
  return since;
}

EventStore::Erased Live::erase(const std::string& user) {
  Microseconds at = now();
  {
    const std::lock_guard lock(mutex_);
    for (const ModelMark& mark : marks_) at = std::max(at, trained_at(mark));
  }
  EventStore::Erased erased;
  try {
    erased = store_->erase(user, at);
  } catch (const StoreError& error) {
    note_refused(error.what());
    throw;
  }
  note_stored();
  overlay_.erase(erased.erasure);
  const std::lock_guard lock(mutex_);
  figures_.erased += erased.events;
  return erased;
}

std::vector<StoredEvent> Live::history(const std::string& user) {
  return store_->read_user(user, 0);
}

LiveFigures Live::figures() const {
  const Offset in_memory = overlay_.size();
  const std::lock_guard lock(mutex_);
  LiveFigures figures = figures_;
  figures.in_memory = in_memory;
  return figures;
}

}  // namespace likewise::server
