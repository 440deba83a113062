// SPDX-License-Identifier: Apache-2.0
/// A process that stores events is killed at a random moment, again and again: LIKEWISE_KILLS
/// times, 5 where it is not set.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <random>
#include <set>
#include <spawn.h>
#include <sstream>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "server/events/event_store.h"
#include "tests/server/events/stores.h"

extern char** environ;

namespace likewise::server {
namespace {

using test::event;

constexpr const char* kStore = "LIKEWISE_EVENT_LOAD";

void say(const std::string& line) {
  if (write(STDOUT_FILENO, line.data(), line.size()) < 0) std::exit(1);
}

/// What the process that is killed does: it says what it is about to send, then what was
/// acknowledged.
TEST(EventLoad, DISABLED_UntilKilled) {
  const char* where = std::getenv(kStore);
  ASSERT_NE(where, nullptr) << "the test of kills starts this";
  const auto store = open_event_store(where);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0;; ++i) {
        const std::string key = fmt::format("{}-{}-{}", getpid(), t, i);
        say("sent " + key + "\n");
        static_cast<void>(store->append({event(key, "a", 1.0F, key), event("all", key)}));
        say("stored " + key + "\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

/// A process, and what it says.
class Load {
 public:
  explicit Load(const std::string& store) {
    if (pipe2(pipe_, O_CLOEXEC) != 0) throw std::runtime_error("pipe failed");
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, pipe_[1], STDOUT_FILENO);
    std::string program = "/proc/self/exe";
    std::string filter = "--gtest_filter=EventLoad.DISABLED_UntilKilled";
    std::string disabled = "--gtest_also_run_disabled_tests";
    char* arguments[] = {program.data(), filter.data(), disabled.data(), nullptr};
    setenv(kStore, store.c_str(), 1);
    // The child is one of all cases, not a part of them.
    for (const char* name : {"GTEST_TOTAL_SHARDS", "GTEST_SHARD_INDEX"}) unsetenv(name);
    const int code = posix_spawn(&process_, program.c_str(), &actions, nullptr, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    close(pipe_[1]);
    if (code != 0) throw std::runtime_error("posix_spawn failed");
  }
  ~Load() { close(pipe_[0]); }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// Waits for something to be stored, then a moment, then kills. Returns all that it said.
  [[nodiscard]] std::string run_and_kill(std::chrono::milliseconds moment) {
    std::string text;
    while (text.find("stored") == std::string::npos && read_more(text)) {
    }
    std::thread killer([&] {
      std::this_thread::sleep_for(moment);
      kill(process_, SIGKILL);
    });
    while (read_more(text)) {
    }
    killer.join();
    waitpid(process_, nullptr, 0);
    return text;
  }

 private:
  bool read_more(std::string& text) const {
    char bytes[4096];
    const ssize_t count = read(pipe_[0], bytes, sizeof bytes);
    if (count > 0) text.append(bytes, static_cast<std::size_t>(count));
    return count > 0;
  }

  int pipe_[2] = {-1, -1};
  pid_t process_ = -1;
};

[[nodiscard]] std::set<std::string> keys_after(const std::string& text, const std::string& word) {
  std::set<std::string> keys;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(word + " ")) keys.insert(line.substr(word.size() + 1));
  }
  return keys;
}

[[nodiscard]] std::map<std::string, int> stored_in(EventStore& store) {
  std::map<std::string, int> times;
  for (const StoredEvent& one : store.read(0, store.newest(), 10'000'000)) {
    times[one.event.user == "all" ? "all " + one.event.item : one.event.key] += 1;
  }
  return times;
}

TEST(EventStore, WhatWasAcknowledgedSurvivesKillsAndIsThereOnce) {
  const likewise::test::TemporaryFolder folder;
  const std::string path = folder / "events.sqlite";
  const char* asked = std::getenv("LIKEWISE_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 5;
  std::mt19937 random(1);
  std::set<std::string> sent;
  std::set<std::string> acknowledged;
  for (int k = 0; k < kills; ++k) {
    const std::string text = Load(path).run_and_kill(std::chrono::milliseconds(random() % 100));
    sent.merge(keys_after(text, "sent"));
    acknowledged.merge(keys_after(text, "stored"));
    const auto store = open_event_store(path);
    std::map<std::string, int> times = stored_in(*store);
    for (const std::string& key : acknowledged) {
      EXPECT_EQ(times[key], 1) << key;
      EXPECT_EQ(times["all " + key], 1) << key;  // batches are there whole
    }
    for (const auto& [key, count] : times) EXPECT_EQ(count, 1) << key;
  }
  EXPECT_GT(acknowledged.size(), static_cast<std::size_t>(kills));
  // Whoever had no answer sends again.
  const auto store = open_event_store(path);
  std::vector<Event> again;
  for (const std::string& key : sent) again.push_back(event(key, "a", 1.0F, key));
  static_cast<void>(store->append(std::move(again)));
  std::map<std::string, int> times = stored_in(*store);
  for (const std::string& key : sent) EXPECT_EQ(times[key], 1) << key;
}

}  // namespace
}  // namespace likewise::server
