// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <csignal>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>
#include <sys/file.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/error.h"
#include "likewise/write.h"
#include "tests/support.h"

namespace likewise {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

/// Nothing where there is no such file.
std::optional<std::string> content_if_there(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::size_t entries_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

void put(OutputFolder& folder, const std::string& name, const std::string& text) {
  folder.write(name, [&](const std::string& path) {
    OutputFile file(path);
    file.write(text);
    file.commit();
  });
}

void put_pair(const std::string& path, const std::string& text) {
  OutputFolder folder(path, {"train", "test"});
  put(folder, "train", text);
  put(folder, "test", text);
  folder.commit();
}

template <class Action>
std::string problem(const Action& action) {
  try {
    action();
    return "none";
  } catch (const Error& error) {
    return error.what();
  }
}

TEST(OutputFolder, AFolderThatWasNotThereAppearsWhole) {
  const test::TemporaryFolder place;
  for (const std::string name : {"one", "deep/er/two", "three/"}) {
    OutputFolder folder(place / name, {"a/train", "a/test", "all"});
    put(folder, "a/train", "1");
    put(folder, "a/test", "2");
    put(folder, "all", "3");
    EXPECT_FALSE(fs::exists(place / name));
    folder.commit();
    EXPECT_EQ(content_if_there(place / name + "/a/train"), "1");
    EXPECT_EQ(content_if_there(place / name + "/a/test"), "2");
    EXPECT_EQ(content_if_there(place / name + "/all"), "3");
    EXPECT_EQ(entries_in(place / name), 2U);
  }
  EXPECT_EQ(entries_in(place / ""), 3U);
}

TEST(OutputFolder, WithoutCommitNothingIsThere) {
  const test::TemporaryFolder place;
  {
    OutputFolder folder(place / "a/b/c", {"train"});
    put(folder, "train", "x");
  }
  EXPECT_EQ(entries_in(place / ""), 0U);
  put_pair(place / "parts", "old");
  {
    OutputFolder folder(place / "parts", {"train", "test"});
    put(folder, "train", "new");
    put(folder, "test", "new");
  }
  EXPECT_EQ(content_if_there(place / "parts/train"), "old");
  EXPECT_EQ(entries_in(place / "parts"), 2U);
}

TEST(OutputFolder, OtherFilesStayAndReplacedOnesKeepTheirMode) {
  const test::TemporaryFolder place;
  put_pair(place / "parts", "old");
  fs::create_directory(place / "parts/notes");
  std::ofstream(place / "parts/mine") << "mine";
  fs::permissions(place / "parts/test", fs::perms{0600});
  const auto folder_before = file_identity(place / "parts");
  put_pair(place / "parts", "new");
  EXPECT_EQ(file_identity(place / "parts"), folder_before);
  EXPECT_EQ(content_if_there(place / "parts/train"), "new");
  EXPECT_EQ(content_if_there(place / "parts/mine"), "mine");
  EXPECT_EQ(fs::status(place / "parts/test").permissions(), fs::perms{0600});
  EXPECT_EQ(entries_in(place / "parts"), 4U);
}

TEST(OutputFolder, WhatCannotBePutInPlaceBringsTheOldFilesBack) {
  const test::TemporaryFolder place;
  for (const std::string missing : {"a/train", "test", "a/new"}) {
    fs::create_directories(place / "parts/a");
    std::ofstream(place / "parts/a/train") << "old";
    std::ofstream(place / "parts/test") << "old";
    OutputFolder folder(place / "parts", {"a/train", "test", "a/new"});
    for (const std::string name : {"a/train", "test", "a/new"}) {
      if (name != missing) put(folder, name, "new");
    }
    EXPECT_THAT(problem([&] { folder.commit(); }), HasSubstr("parts: cannot put files in place"));
    EXPECT_EQ(content_if_there(place / "parts/a/train"), "old") << missing;
    EXPECT_EQ(content_if_there(place / "parts/test"), "old") << missing;
    EXPECT_FALSE(fs::exists(place / "parts/a/new"));
  }
  EXPECT_EQ(entries_in(place / "parts"), 2U);
}

TEST(OutputFolder, ReasonsAreNamed) {
  const test::TemporaryFolder place;
  put_pair(place / "parts", "old");
  fs::create_symlink("nothing", place / "astray");
  fs::create_symlink("loop", place / "loop");
  fs::create_symlink("train", place / "parts/link");
  const auto make = [&](const std::string& path, const std::string& name = "train") {
    return problem([&] { const OutputFolder folder(path, {name}); });
  };
  EXPECT_THAT(make(""), HasSubstr("empty"));
  EXPECT_THAT(make(place / "parts/train"), HasSubstr("is a file"));
  EXPECT_THAT(make(place / "parts/train/below"), HasSubstr("Not a directory"));
  EXPECT_THAT(make(place / "astray"), HasSubstr("link to nothing"));
  EXPECT_THAT(make(place / "astray/"), HasSubstr("link to nothing"));
  EXPECT_THAT(make(place / "astray/a/b"), HasSubstr("astray/a/b: cannot make the folder"));
  EXPECT_THAT(make(place / "loop"), HasSubstr("circle"));
  EXPECT_THAT(make(place / std::string(300, 'n')), HasSubstr("too long"));
  EXPECT_THAT(make(place / "parts", "link"), HasSubstr("parts/link: is no plain file"));
  EXPECT_THAT(make(place / "parts", "train/x"), HasSubstr("parts/train/x: cannot replace"));
  EXPECT_EQ(entries_in(place / ""), 3U);
  OutputFolder folder(place / "parts", {"test"});
  EXPECT_THAT(problem([&] { folder.require_missing("train"); }),
              HasSubstr("parts/train: is there"));
  EXPECT_THAT(problem([&] {
                folder.write("test", [](const std::string& path) {
                  throw Error(ErrorKind::kIo, path + ": No space left");
                });
              }),
              testing::Eq((place / "parts/test") + ": No space left"));
}

TEST(OutputFolder, WhatMustBeMissingIsLookedForAgainAtTheEnd) {
  const test::TemporaryFolder place;
  OutputFolder folder(place / "parts", {"fold-1"});
  folder.require_missing("fold-2");
  put(folder, "fold-1", "x");
  OutputFolder other(place / "parts", {"fold-1", "fold-2"});
  put(other, "fold-1", "other");
  put(other, "fold-2", "other");
  other.commit();
  EXPECT_THAT(problem([&] { folder.commit(); }), HasSubstr("fold-2: is there"));
  EXPECT_EQ(content_if_there(place / "parts/fold-1"), "other");
}

TEST(OutputFolder, ALockedFolderIsAnErrorAndNotAWaitForEver) {
  const test::TemporaryFolder place;
  put_pair(place / "parts", "old");
  const int held = open((place / "parts").c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  EXPECT_THAT(problem([&] { put_pair(place / "parts", "new"); }), HasSubstr("locked"));
  close(held);
  EXPECT_EQ(content_if_there(place / "parts/train"), "old");
}

/// While the first file is there, the second is the one beside it, whoever writes.
void expect_no_mixture(const std::string& parts) {
  const auto before = content_if_there(parts + "/train");
  const auto beside = content_if_there(parts + "/test");
  const bool stayed = before && before == content_if_there(parts + "/train");
  EXPECT_TRUE(!stayed || before == beside);
}

TEST(OutputFolder, ReadersNeverSeeAMixtureWhileTwoWrite) {
  const test::TemporaryFolder place;
  const std::string parts = place / "parts";
  std::atomic<int> writing = 2;
  const auto write = [&](const std::string& who) {
    for (int i = 0; i < 12; ++i) {
      (void)problem([&] { put_pair(parts, who + std::to_string(i)); });  // or told it is locked
    }
    --writing;
  };
  std::thread first(write, "a");
  std::thread second(write, "b");
  while (writing > 0) expect_no_mixture(parts);
  first.join();
  second.join();
  EXPECT_EQ(content_if_there(parts + "/train"), content_if_there(parts + "/test"));
  EXPECT_EQ(entries_in(parts), 2U);
}

TEST(OutputFolder, ASignalHandlerLeavesNothing) {
  const test::TemporaryFolder place;
  EXPECT_EXIT(
      {
        std::signal(SIGTERM, [](int) {
          remove_partial_files();
          _exit(3);
        });
        OutputFolder folder(place / "a/b/parts", {"fold-1/train", "fold-1/test", "fold-2/train"});
        put(folder, "fold-1/train", "x");
        folder.write("fold-1/test", [](const std::string& path) {
          OutputFile file(path);
          std::raise(SIGTERM);
        });
      },
      testing::ExitedWithCode(3), "");
  EXPECT_EQ(entries_in(place / ""), 0U);
}

/// Runs `action` in a process of its own and calls `look` at each of its system calls, before and
/// after: what is on disk then is what a kill at that moment would leave. False where processes
/// may not be traced.
template <class Action, class Look>
bool at_every_system_call(const Action& action, const Look& look) {
  const pid_t child = fork();
  if (child == 0) {
    if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(1);
    raise(SIGSTOP);
    action();
    _exit(0);
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) return false;
  while (WIFSTOPPED(status)) {
    const int stopped_by = WSTOPSIG(status);
    const bool at_call = stopped_by == SIGTRAP || stopped_by == SIGSTOP;
    if (at_call) look(child);
    ptrace(PTRACE_SYSCALL, child, nullptr, at_call ? 0 : stopped_by);
    waitpid(child, &status, 0);
  }
  EXPECT_TRUE(WIFEXITED(status));
  return true;
}

/// At every moment in which files are missing: they are there in the end.
TEST(OutputFolder, ASignalWaitsUntilAllFilesAreInPlace) {
  const test::TemporaryFolder place;
  const std::string parts = place / "parts";
  put_pair(parts, "old");
  const auto before = std::signal(SIGTERM, [](int) {
    remove_partial_files();
    _exit(0);
  });
  bool traced = true;
  bool done = false;
  for (int moment = 1; traced && !done; ++moment) {
    int calls = 0;
    traced = at_every_system_call([&] { put_pair(parts, "new"); },
                                  [&](pid_t child) {
                                    if (!content_if_there(parts + "/train") && ++calls == moment)
                                      kill(child, SIGTERM);
                                  });
    done = calls < moment;
    ASSERT_TRUE(content_if_there(parts + "/train") && content_if_there(parts + "/test"))
        << "at call " << moment;
    EXPECT_EQ(content_if_there(parts + "/train"), content_if_there(parts + "/test"));
  }
  std::signal(SIGTERM, before);
  if (!traced) GTEST_SKIP() << "processes cannot be traced here";
  EXPECT_EQ(entries_in(parts), 2U);
}

TEST(OutputFolder, AtNoMomentIsThereAMixture) {
  const test::TemporaryFolder place;
  const std::string parts = place / "parts";
  std::set<std::string> seen;
  const auto look = [&](pid_t) {
    const auto train = content_if_there(parts + "/train");
    const auto beside = content_if_there(parts + "/test");
    EXPECT_TRUE(!train || train == beside) << *train << " beside " << beside.value_or("nothing");
    seen.insert(train.value_or("no train") + ", " + beside.value_or("no test"));
  };
  if (!at_every_system_call([&] { put_pair(parts, "old"); }, look)) {
    GTEST_SKIP() << "processes cannot be traced here";
  }
  EXPECT_THAT(seen, testing::ElementsAre("no train, no test", "old, old"));
  seen.clear();
  at_every_system_call([&] { put_pair(parts, "new"); }, look);
  EXPECT_THAT(seen, testing::ElementsAre("new, new", "no train, new", "no train, no test",
                                         "no train, old", "old, old"));
}

}  // namespace
}  // namespace likewise
