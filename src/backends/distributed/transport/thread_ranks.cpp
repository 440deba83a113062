// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/transport/thread_ranks.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <tbb/task_arena.h>

#include "backends/distributed/partition.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// What a rank hands in to a call. Others read it between the call's two meetings.
struct Post {
  std::string_view call;
  std::span<const std::byte> out;
  std::span<std::byte> in;
  Offset size = 0;  ///< numbers of all ranks, or the distance: must be the same on all
};

/// Where the ranks meet. A call has two meetings or more: at the first all have handed in what
/// others will read, at the last all have read it. In between a rank is busy with the memory of
/// others, which they must not give up: no failure lets a rank go while another one is busy.
class MeetingPlace {
 public:
  MeetingPlace(int size, std::chrono::milliseconds patience)
      : patience_(patience),
        posts_(static_cast<std::size_t>(size)),
        met_(static_cast<std::size_t>(size), 0),
        busy_(static_cast<std::size_t>(size), false),
        ended_(static_cast<std::size_t>(size), false) {}

  [[nodiscard]] int size() const { return static_cast<int>(posts_.size()); }
  [[nodiscard]] const std::atomic<bool>& stop() const { return stop_; }

  /// What `rank` handed in to the call under way.
  [[nodiscard]] const Post& post(int rank) const { return posts_[static_cast<std::size_t>(rank)]; }

  /// The first meeting. Throws where another rank calls another thing.
  void open(int rank, const Post& post) {
    std::unique_lock lock(mutex_);
    if (!failure_) posts_[static_cast<std::size_t>(rank)] = post;
    meet(rank, post.call, lock);
    for (int other = 0; other < size(); ++other) {
      const Post& theirs = posts_[static_cast<std::size_t>(other)];
      if (theirs.call == post.call && theirs.size == post.size) continue;
      fail_locked(ErrorKind::kDevice,
                  fmt::format("rank {} calls {} ({}) and rank {} {} ({})", rank, post.call,
                              post.size, other, theirs.call, theirs.size),
                  nullptr);
      leave(rank, lock);
    }
    busy_[static_cast<std::size_t>(rank)] = true;
  }
  /// A meeting in the middle of the call.
  void meet_again(int rank) {
    std::unique_lock lock(mutex_);
    busy_[static_cast<std::size_t>(rank)] = false;
    meet(rank, posts_[static_cast<std::size_t>(rank)].call, lock);
    busy_[static_cast<std::size_t>(rank)] = true;
  }
  /// The last meeting.
  void close(int rank) {
    std::unique_lock lock(mutex_);
    busy_[static_cast<std::size_t>(rank)] = false;
    meet(rank, posts_[static_cast<std::size_t>(rank)].call, lock);
  }
  /// Fails and throws, from inside a call.
  [[noreturn]] void fail_call(int rank, std::string message) {
    std::unique_lock lock(mutex_);
    fail_locked(ErrorKind::kDevice, std::move(message), nullptr);
    leave(rank, lock);
  }

  /// Notes the first failure and wakes everybody up.
  void fail(ErrorKind kind, std::string message, std::exception_ptr cause) {
    const std::lock_guard lock(mutex_);
    fail_locked(kind, std::move(message), std::move(cause));
  }
  void fail_as(int rank, ErrorKind kind, std::string_view reason, std::exception_ptr cause) {
    fail(kind, fmt::format("rank {} of {}: {}", rank, size(), reason), std::move(cause));
  }

  /// `rank` will come to no more calls.
  void end(int rank) {
    const std::lock_guard lock(mutex_);
    ended_[static_cast<std::size_t>(rank)] = true;
    changed_.notify_all();
  }

  /// Once all have ended.
  void rethrow() const {
    if (!failure_) return;
    if (failure_->cause) std::rethrow_exception(failure_->cause);
    throw Error(failure_->kind, failure_->message);
  }

 private:
  struct Failure {
    ErrorKind kind;
    std::string message;
    std::exception_ptr cause;  ///< null where no rank threw
  };

  void fail_locked(ErrorKind kind, std::string message, std::exception_ptr cause) {
    if (!failure_) failure_ = Failure{kind, std::move(message), std::move(cause)};
    stop_.store(true, std::memory_order_relaxed);
    changed_.notify_all();
  }

  [[nodiscard]] bool all_met(Offset meeting) const {
    return std::ranges::all_of(met_, [meeting](Offset met) { return met >= meeting; });
  }

  [[nodiscard]] std::vector<int> absent(Offset meeting, bool only_ended) const {
    std::vector<int> ranks;
    for (std::size_t r = 0; r < met_.size(); ++r) {
      if (met_[r] < meeting && (!only_ended || ended_[r])) ranks.push_back(static_cast<int>(r));
    }
    return ranks;
  }

  /// Throws the failure, once no rank is busy with the memory of another one. Whoever finds a
  /// failure is not busy again, so this is soon.
  [[noreturn]] void leave(int rank, std::unique_lock<std::mutex>& lock) {
    busy_[static_cast<std::size_t>(rank)] = false;
    changed_.notify_all();
    changed_.wait(lock, [&] { return std::ranges::none_of(busy_, [](bool one) { return one; }); });
    throw Error(failure_->kind, failure_->message);
  }

  void meet(int rank, std::string_view call, std::unique_lock<std::mutex>& lock) {
    if (failure_) leave(rank, lock);
    const Offset meeting = ++met_[static_cast<std::size_t>(rank)];
    if (all_met(meeting)) {  // the last to come wakes the others, who wait for nobody else
      lock.unlock();         // or they would wait again, for this
      changed_.notify_all();
      lock.lock();
      if (failure_) leave(rank, lock);  // others may have left meanwhile
      return;
    }
    const auto deadline = std::chrono::steady_clock::now() + patience_;
    while (!failure_) {
      if (all_met(meeting)) return;
      if (const auto gone = absent(meeting, true); !gone.empty()) {
        fail_locked(ErrorKind::kDevice,
                    fmt::format("{} of {} ended before {}, where rank {} waits", ranks_text(gone),
                                size(), call, rank),
                    nullptr);
        break;
      }
      if (changed_.wait_until(lock, deadline) == std::cv_status::timeout && !failure_) {
        if (all_met(meeting)) return;
        const auto missing = absent(meeting, false);
        fail_locked(ErrorKind::kDevice,
                    fmt::format("{} of {} did not come to {} within {:.3g} s of rank {}",
                                ranks_text(missing), size(), call,
                                std::chrono::duration<double>(patience_).count(), rank),
                    nullptr);
      }
    }
    leave(rank, lock);
  }

  std::chrono::milliseconds patience_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Post> posts_;
  std::vector<Offset> met_;  ///< meetings that each rank has come to
  std::vector<bool> busy_;
  std::vector<bool> ended_;
  std::optional<Failure> failure_;
  std::atomic<bool> stop_{false};
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(MeetingPlace& place, int rank) : place_(place), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return place_.size(); }

  void all_reduce(std::span<double> values) override {
    // Each rank adds up its share of the numbers, then puts it into the memory of all.
    const Offset n = std::ssize(values);
    const Offset begin = n * rank_ / size();
    std::vector<double> sum(static_cast<std::size_t>(n * (rank_ + 1) / size() - begin));
    place_.open(rank_, {"all_reduce", std::as_bytes(values), std::as_writable_bytes(values), n});
    add_up(begin, sum);
    place_.meet_again(rank_);
    for (int other = 0; other < size(); ++other) {
      double* to = reinterpret_cast<double*>(place_.post(other).in.data());
      std::ranges::copy(sum, to + begin);
    }
    place_.close(rank_);
  }

  void reduce_scatter(std::span<const double> all, std::span<double> own,
                      std::span<const Offset> counts) override {
    const std::vector<Offset> begins = part_begins(counts);
    check_parts("reduce_scatter", counts, std::ssize(own), std::ssize(all));
    place_.open(rank_,
                {"reduce_scatter", std::as_bytes(all), std::as_writable_bytes(own), begins.back()});
    for (int other = 0; other < size(); ++other) {
      require_part(other, place_.post(other).in.size(), counts, sizeof(double));
    }
    add_up(begins[static_cast<std::size_t>(rank_)], own);
    place_.close(rank_);
  }

  void barrier() override {
    place_.open(rank_, {"barrier", {}, {}, 0});
    place_.close(rank_);
  }

  void abort(const std::string& reason) override {
    place_.fail_as(rank_, ErrorKind::kDevice, reason, nullptr);
  }

 protected:
  void gather_bytes(std::span<const std::byte> own, std::span<std::byte> all,
                    std::span<const Offset> counts, std::size_t size_of_one) override {
    const std::vector<Offset> begins = part_begins(counts);
    const auto one = static_cast<Offset>(size_of_one);
    check_parts("all_gather", counts, std::ssize(own) / one, std::ssize(all) / one);
    place_.open(rank_, {"all_gather", own, {}, begins.back()});
    for (int other = 0; other < size(); ++other) {
      const std::span<const std::byte> from = place_.post(other).out;
      require_part(other, from.size(), counts, size_of_one);
      std::byte* to = all.data() + begins[static_cast<std::size_t>(other)] * one;
      if (from.data() != to) std::ranges::copy(from, to);
    }
    place_.close(rank_);
  }

  void shift_bytes(int distance, std::span<const std::byte> out, std::span<std::byte> in) override {
    place_.open(rank_, {"shift", out, in, distance});
    const int from = (rank_ - distance + size()) % size();
    const std::span<const std::byte> theirs = place_.post(from).out;
    if (theirs.size() != in.size()) {
      place_.fail_call(rank_,
                       unexpected_bytes(from, std::ssize(theirs), rank_, std::ssize(in)).what());
    }
    std::ranges::copy(theirs, in.begin());
    place_.close(rank_);
  }

 private:
  /// sum[i] = the sum over ranks, in their order, of number begin + i of what they handed in.
  void add_up(Offset begin, std::span<double> sum) const {
    for (int other = 0; other < size(); ++other) {
      const auto* from = reinterpret_cast<const double*>(place_.post(other).out.data()) + begin;
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = other == 0 ? from[i] : sum[i] + from[i];
    }
  }

  /// Throws where another rank has another number than this one counts for it.
  void require_part(int other, std::size_t bytes, std::span<const Offset> counts,
                    std::size_t size_of_one) const {
    const auto counted = static_cast<std::size_t>(counts[static_cast<std::size_t>(other)]);
    if (bytes == counted * size_of_one) return;
    place_.fail_call(rank_, fmt::format("rank {} has {} numbers, and rank {} counts {} of it",
                                        other, bytes / size_of_one, rank_, counted));
  }

  void check_parts(std::string_view call, std::span<const Offset> counts, Offset own, Offset all) {
    try {
      require_parts(*this, call, counts, own, all);
    } catch (const Error& error) {
      place_.fail_call(rank_, error.what());
    }
  }

  MeetingPlace& place_;
  int rank_;
};

/// How long a thread that has nothing to do looks for work before it sleeps: to wake it takes about
/// as long as the half-step of a small matrix on a GPU.
constexpr auto kAwake = std::chrono::microseconds(500);

/// Returns when `value` is another one than `old`.
template <class T>
void wait_while(const std::atomic<T>& value, T old) {
  const auto sleepy = std::chrono::steady_clock::now() + kAwake;
  while (value.load(std::memory_order_acquire) == old) {
    if (std::chrono::steady_clock::now() < sleepy) {
      std::this_thread::yield();
    } else {
      value.wait(old, std::memory_order_acquire);
    }
  }
}

/// Passes a wish of the caller to stop on to the ranks: the caller's own thread is one of them.
class Watcher {
 public:
  ~Watcher() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    changed_.notify_all();
  }  // the thread ends before the rest

  void begin(MeetingPlace& place, const RunControl& control) {
    if (control.cancel == nullptr) return;
    const std::lock_guard lock(mutex_);
    place_ = &place;
    control_ = &control;
    if (!thread_.joinable()) thread_ = std::jthread([this] { watch(); });
    changed_.notify_all();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    place_ = nullptr;
  }

 private:
  void watch() {
    constexpr auto kLook = std::chrono::milliseconds(10);
    std::unique_lock lock(mutex_);
    while (!ending_) {
      if (place_ == nullptr) {
        changed_.wait(lock);
        continue;
      }
      try {
        control_->check();
      } catch (const Error& error) {
        place_->fail(error.kind(), error.what(), std::current_exception());
        place_ = nullptr;
      }
      changed_.wait_for(lock, kLook);
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  MeetingPlace* place_ = nullptr;
  const RunControl* control_ = nullptr;
  bool ending_ = false;
  std::jthread thread_;
};

}  // namespace

class RankThreads::Crew {
 public:
  explicit Crew(int size) : arenas_((require_ranks(size), static_cast<std::size_t>(size))) {
    try {
      for (int rank = 1; rank < size; ++rank) {
        threads_.emplace_back([this, rank] { serve(rank); });
      }
    } catch (...) {  // the system has no thread left
      dismiss();
      throw;
    }
  }
  ~Crew() { dismiss(); }
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  void run(std::chrono::milliseconds patience, const RunControl& control, const RankWork& work) {
    control.check();  // short work is over before the watcher looks
    const int size = static_cast<int>(arenas_.size());
    MeetingPlace place(size, patience);
    task_ = {&place, &work, std::max(1, thread_count() / size)};
    busy_.store(size - 1, std::memory_order_relaxed);
    watcher_.begin(place, control);
    runs_.fetch_add(1, std::memory_order_release);
    runs_.notify_all();
    run_rank(0);
    for (int busy = busy_.load(std::memory_order_acquire); busy > 0;
         busy = busy_.load(std::memory_order_acquire)) {
      wait_while(busy_, busy);
    }
    watcher_.end();
    place.rethrow();
  }

 private:
  struct Task {
    MeetingPlace* place = nullptr;  ///< null: no more
    const RankWork* work = nullptr;
    int threads = 1;
  };
  /// Of a rank's parallel loops.
  struct Arena {
    std::optional<tbb::task_arena> arena;
    int threads = 0;
  };

  void serve(int rank) {
    for (int seen = 0;;) {
      wait_while(runs_, seen);
      ++seen;
      if (task_.place == nullptr) return;
      run_rank(rank);
      busy_.fetch_sub(1, std::memory_order_release);
      busy_.notify_one();
    }
  }

  void run_rank(int rank) {
    MeetingPlace& place = *task_.place;
    try {
      ThreadCommunicator ranks(place, rank);
      RunControl control;
      control.cancel = &place.stop();
      Arena& mine = arenas_[static_cast<std::size_t>(rank)];
      if (mine.threads != task_.threads) {
        mine.arena.emplace(task_.threads);
        mine.threads = task_.threads;
      }
      mine.arena->execute([&] { (*task_.work)(ranks, control); });
    } catch (const Error& error) {
      place.fail_as(rank, error.kind(), error.what(), std::current_exception());
    } catch (const std::exception& error) {
      place.fail_as(rank, ErrorKind::kDevice, error.what(), std::current_exception());
    } catch (...) {
      place.fail_as(rank, ErrorKind::kDevice, "an unknown exception", std::current_exception());
    }
    place.end(rank);
  }

  void dismiss() {
    task_ = {};
    runs_.fetch_add(1, std::memory_order_release);
    runs_.notify_all();
    threads_.clear();
  }

  std::vector<Arena> arenas_;
  Task task_;
  std::atomic<int> runs_{0};
  std::atomic<int> busy_{0};  ///< ranks at work on threads of this
  Watcher watcher_;
  std::vector<std::jthread> threads_;
};

RankThreads::RankThreads(int size) : crew_(std::make_unique<Crew>(size)) {}
RankThreads::~RankThreads() = default;

void RankThreads::run(std::chrono::milliseconds patience, const RunControl& control,
                      const RankWork& work) {
  crew_->run(patience, control, work);
}

void run_thread_ranks(int size, std::chrono::milliseconds patience, const RunControl& control,
                      const RankWork& work) {
  RankThreads(size).run(patience, control, work);
}

}  // namespace likewise
