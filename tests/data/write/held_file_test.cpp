// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/error.h"
#include "likewise/model.h"
#include "likewise/write.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::content;
using testing::HasSubstr;

template <class Target>
void put(Target&& to, const std::string& text) {
  OutputFile file(to);
  file.write(text);
  file.commit();
}

void expect_held(const std::string& path) {
  EXPECT_THAT(test::error_of(ErrorKind::kIo, [&] { const HeldFile other(path); }),
              HasSubstr(path + ": another program has it in hand"));
}

TEST(HeldFile, IsHeldOnceAndFromOneFileToTheNext) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model";
  put(path, "one");
  {
    HeldFile held(path);
    expect_held(path);
    put(held, "two");
    EXPECT_EQ(content(path), "two");
    expect_held(path);  // the new file
    put(held, "three");
    expect_held(path);
    std::filesystem::create_symlink(path, folder / "link");
    EXPECT_THAT(test::error_of(ErrorKind::kIo, [&] { const HeldFile other(folder / "link"); }),
                HasSubstr("in hand"));
  }
  HeldFile after(path);
  put(after, "four");
  EXPECT_EQ(content(path), "four");
}

TEST(HeldFile, AFileThatIsNotThereYetIsHeldOnceItIsWritten) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "state";
  HeldFile first(path);
  HeldFile second(path);
  put(first, "one");
  EXPECT_THAT(test::error_of(ErrorKind::kIo, [&] { put(second, "two"); }),
              HasSubstr("another program has written it meanwhile"));
  EXPECT_EQ(content(path), "one");
  put(first, "three");
  EXPECT_EQ(content(path), "three");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder / "."), {}), 1);
}

TEST(HeldFile, WhatAnotherWroteMeanwhileStays) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model";
  for (const bool in_place : {false, true}) {
    put(path, "one");
    HeldFile held(path);
    if (in_place) {
      std::ofstream(path, std::ios::binary) << "elsewhere";
    } else {
      put(path, "elsewhere");  // one who does not hold it: train -o
    }
    EXPECT_THAT(test::error_of(ErrorKind::kIo, [&] { put(held, "two"); }),
                HasSubstr("nothing was written over that; run the same again"));
    EXPECT_EQ(content(path), "elsewhere");
  }
}

TEST(HeldFile, WhatWasRemovedIsWrittenAgain) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "state";
  HeldFile held(path);
  put(held, "one");
  std::filesystem::remove(path);
  put(held, "two");
  EXPECT_EQ(content(path), "two");
}

TEST(HeldFile, TheNextOneWaitsForTheEndOfTheProcess) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model";
  put(path, "one");
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const HeldFile held(path);
    (void)!::write(ready[1], "x", 1);
    pause();
    _exit(0);
  }
  char byte = 0;
  ASSERT_EQ(read(ready[0], &byte, 1), 1);
  expect_held(path);
  int waits = 0;
  const HeldFile held(path, {}, [&] {
    ++waits;
    kill(child, SIGKILL);  // its lock goes with it
  });
  EXPECT_EQ(waits, 1);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
}

TEST(HeldFile, WaitingEndsWhereTheCallerAsks) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "model";
  put(path, "one");
  const HeldFile held(path);
  std::atomic<bool> stop = false;
  EXPECT_EQ(test::error_of(ErrorKind::kCancelled,
                           [&] {
                             const HeldFile other(path, {&stop, {}}, [&] { stop = true; });
                           }),
            "interrupted");
}

TEST(HeldFile, PipesAndDevicesAreNotHeld) {
  const HeldFile held("/dev/null");
  const HeldFile again("/dev/null");
}

TEST(HeldFile, ThoseWhoReplaceTheSameFileComeOneAfterTheOther) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "count";
  put(path, "0");
  const auto add = [&] {
    for (int i = 0; i < 20; ++i) {
      HeldFile held(path, {});
      put(held, std::to_string(std::stoi(content(path)) + 1));
    }
  };
  std::thread other(add);
  add();
  other.join();
  EXPECT_EQ(content(path), "40");
}

}  // namespace
}  // namespace likewise
