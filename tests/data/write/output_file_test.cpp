// SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>
#include <zstd.h>

#include "likewise/error.h"
#include "likewise/write.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::content;
namespace fs = std::filesystem;
using testing::HasSubstr;

std::size_t files_in(const std::string& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), {}));
}

std::string gunzip(const std::string& path) {
  const gzFile file = gzopen(path.c_str(), "rb");
  std::string text;
  char piece[4096];
  for (int n = 0; (n = gzread(file, piece, sizeof piece)) > 0;) {
    text.append(piece, static_cast<std::size_t>(n));
  }
  gzclose(file);
  return text;
}

std::string unzstd(const std::string& path, std::size_t size) {
  const std::string packed = content(path);
  std::string text(size + 1, '\0');
  const std::size_t n = ZSTD_decompress(text.data(), text.size(), packed.data(), packed.size());
  return ZSTD_isError(n) ? std::string("broken: ") + ZSTD_getErrorName(n) : text.substr(0, n);
}

/// Expects `action` to throw kIo with a message that holds both texts.
template <class Action>
void expect_io_error(const Action& action, const std::string& name, const std::string& reason) {
  try {
    action();
    FAIL() << "nothing thrown for " << name;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kIo) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(name));
    EXPECT_THAT(error.what(), HasSubstr(reason));
  }
}

void write_all(const std::string& path, std::string_view bytes) {
  OutputFile file(path);
  file.write(bytes);
  file.commit();
}

std::string patterned_text(std::size_t size) {
  std::string text(size, '\0');
  std::uint32_t state = 1;
  for (char& c : text) {
    state = state * 1664525U + 1013904223U;
    c = static_cast<char>('0' + (state >> 24) % 10);
  }
  return text;
}

TEST(OutputFile, AppearsOnlyAtCommit) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "out.txt";
  OutputFile file(path);
  file.write("one ");
  EXPECT_FALSE(fs::exists(path));
  file.write("two");
  file.commit();
  EXPECT_EQ(content(path), "one two");
  EXPECT_EQ(files_in(folder / ""), 1U);
  file.commit();  // nothing more happens
  EXPECT_THROW(file.write("x"), Error);
}

TEST(OutputFile, WithoutCommitTheOldFileStays) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "out.txt";
  write_all(path, "old");
  {
    OutputFile file(path);
    file.write(std::string(3 << 20, 'x'));
  }
  EXPECT_EQ(content(path), "old");
  EXPECT_EQ(files_in(folder / ""), 1U);
}

TEST(OutputFile, ANewFileHasTheUsualModeAndAReplacedOneKeepsIts) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "out.txt";
  const mode_t mask = umask(022);
  write_all(path, "a");
  umask(mask);
  EXPECT_EQ(fs::status(path).permissions(), fs::perms{0644});
  fs::permissions(path, fs::perms{0600});
  write_all(path, "b");
  EXPECT_EQ(fs::status(path).permissions(), fs::perms{0600});
  EXPECT_EQ(content(path), "b");
}

TEST(OutputFile, ALinkKeepsPointingAtItsFile) {
  const test::TemporaryFolder folder;
  write_all(folder / "real", "a");
  fs::create_symlink(folder / "real", folder / "link");
  write_all(folder / "link", "b");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(content(folder / "real"), "b");
}

TEST(OutputFile, CompressesByName) {
  const test::TemporaryFolder folder;
  for (const std::size_t size : {0, 1, 1000, 3'000'001}) {
    const std::string text = patterned_text(size);
    write_all(folder / "t.gz", text);
    write_all(folder / "t.zst", text);
    write_all(folder / "t.txt", text);
    EXPECT_EQ(gunzip(folder / "t.gz"), text);
    EXPECT_EQ(unzstd(folder / "t.zst", size), text);
    EXPECT_EQ(content(folder / "t.txt"), text);
  }
  EXPECT_LT(fs::file_size(folder / "t.gz"), 1'600'000U);
  EXPECT_LT(fs::file_size(folder / "t.zst"), 1'600'000U);
}

TEST(OutputFile, ManySmallWrites) {
  const test::TemporaryFolder folder;
  const std::string text = patterned_text(700'001);
  for (const char* name : {"t", "t.gz"}) {
    OutputFile file(folder / name);
    for (std::size_t at = 0; at < text.size(); at += 13) file.write(text.substr(at, 13));
    file.commit();
  }
  EXPECT_EQ(content(folder / "t"), text);
  EXPECT_EQ(gunzip(folder / "t.gz"), text);
}

TEST(OutputFile, LongNamesWork) {
  const test::TemporaryFolder folder;
  const std::string path = folder / std::string(250, 'n');
  write_all(path, "x");
  EXPECT_EQ(content(path), "x");
}

TEST(OutputFile, ReasonsAreNamed) {
  const test::TemporaryFolder folder;
  const auto open_only = [](const std::string& path) {
    return [path] { const OutputFile file(path); };
  };
  expect_io_error(open_only(folder / "none/out.csv"), "none/out.csv", "No such file or directory");
  expect_io_error(open_only(folder / ""), "likewise-test", "is a folder");
  EXPECT_THROW(open_only("")(), Error);
  expect_io_error(open_only(folder / std::string(300, 'n')), "nnn", "too long");
  write_all(folder / "file", "x");
  expect_io_error(open_only(folder / "file/below"), "file/below", "Not a directory");
  expect_io_error(open_only(folder / "new/"), "new/", "name a file");
  fs::create_symlink("loop", folder / "loop");
  expect_io_error(open_only(folder / "loop"), "loop", "circle");
  fs::create_symlink("none/file", folder / "astray");
  expect_io_error(open_only(folder / "astray"), "astray", "link");
}

TEST(OutputFile, TheCheckSaysWhatWritingWouldSayAndLeavesNothing) {
  const test::TemporaryFolder folder;
  write_all(folder / "file", "x");
  fs::create_directory(folder / "folder");
  fs::create_symlink("loop", folder / "loop");
  fs::create_symlink("none/file", folder / "astray");
  const auto problem = [](const auto& action) -> std::string {
    try {
      action();
      return "none";
    } catch (const Error& error) {
      return error.what();
    }
  };
  for (const std::string& path :
       {folder / "file", folder / "new", folder / "folder", folder / "folder/", folder / "new/",
        folder / "file/below", folder / "file/", folder / "none/file", folder / "loop",
        folder / "astray", folder / std::string(300, 'n'), folder / std::string(250, 'n'),
        std::string(), std::string("/dev/null"), std::string("-"), std::string("/dev/fd/999"),
        "/" + std::string(5000, 'p')}) {
    EXPECT_EQ(problem([&] { check_output(path); }), problem([&] { const OutputFile file(path); }));
  }
  EXPECT_EQ(files_in(folder / ""), 4U);
  EXPECT_EQ(content(folder / "file"), "x");
}

TEST(OutputFile, ALinkToAFileThatIsNotThereYetGetsIt) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "there");
  fs::create_symlink("there/real", folder / "second");
  fs::create_symlink(folder / "second", folder / "first");
  write_all(folder / "first", "a");
  EXPECT_TRUE(fs::is_symlink(folder / "first"));
  EXPECT_TRUE(fs::is_symlink(folder / "second"));
  EXPECT_EQ(content(folder / "there/real"), "a");
}

/// The file that a shell's >> opened grows, and is not replaced.
TEST(OutputFile, DescriptorsAreWrittenDirectly) {
  const test::TemporaryFolder folder;
  write_all(folder / "log", "old ");
  const int log = open((folder / "log").c_str(), O_WRONLY | O_APPEND);
  ASSERT_GE(log, 0);
  std::string expected = "old ";
  for (const char* format : {"/dev/fd/%d", "/proc/self/fd/%d", "/dev/../proc/self/fd/%d"}) {
    char path[64];
    std::snprintf(path, sizeof path, format, log);
    write_all(path, "new ");
    expected += "new ";
    EXPECT_EQ(content(folder / "log"), expected) << path;
  }
  fs::create_symlink("/dev/fd/" + std::to_string(log), folder / "link");
  write_all(folder / "link", "linked");
  EXPECT_EQ(content(folder / "log"), expected + "linked");
  close(log);
  EXPECT_EQ(files_in(folder / ""), 2U);
}

TEST(OutputFile, APathsIdentityIsThatOfItsFile) {
  const test::TemporaryFolder folder;
  fs::create_directory(folder / "sub");
  fs::create_directory_symlink("sub", folder / "sublink");
  write_all(folder / "file", "x");
  write_all(folder / "other", "x");
  fs::create_hard_link(folder / "file", folder / "hard");
  fs::create_symlink("sub/../hard", folder / "soft");
  const int opened = open((folder / "file").c_str(), O_RDONLY);
  const std::string file = file_identity(folder / "file");
  for (const std::string& path :
       {folder / "./file", folder / "sub/../file", folder / "sublink/../file", folder / "hard",
        folder / "soft", "/dev/fd/" + std::to_string(opened)}) {
    EXPECT_EQ(file_identity(path), file) << path;
  }
  close(opened);
  EXPECT_NE(file_identity(folder / "other"), file);
  fs::create_symlink("../sublink/new", folder / "sub/ahead");
  const std::string ahead = file_identity(folder / "sub/new");
  for (const char* path : {"sublink/new", "sub/../sub/new", "sublink/ahead"}) {
    EXPECT_EQ(file_identity(folder / path), ahead) << path;
  }
  EXPECT_NE(file_identity(folder / "new"), ahead);
  for (const std::string& path :
       {folder / "none/new", folder / "file/new", std::string("/dev/null")}) {
    EXPECT_EQ(file_identity(path), "") << path;
  }
}

/// Runs `action` in a process of its own that ends without any unwinding.
template <class Action>
void in_a_killed_process(const Action& action) {
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    action();
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
}

TEST(OutputFile, WhatAKilledProcessLeftGoesAndWhatOthersWriteStays) {
  const test::TemporaryFolder folder;
  in_a_killed_process([&] {
    OutputFile file(folder / "model");
    OutputFolder parts(folder / "parts", {"a/train", "test"});
    parts.write("a/train", [](const std::string& path) { write_all(path, "x"); });
    raise(SIGKILL);
  });
  EXPECT_EQ(files_in(folder / ""), 2U);
  OutputFile alive(folder / "alive");
  write_all(folder / ".model.partial-1-2", "somebody else's");
  write_all(folder / ".model.likewise-partial-copy", "somebody else's");
  check_output(folder / "result");
  EXPECT_EQ(files_in(folder / ""), 3U);
  alive.commit();
  EXPECT_TRUE(fs::exists(folder / "alive"));
  EXPECT_TRUE(fs::exists(folder / ".model.likewise-partial-copy"));
}

TEST(OutputFile, NoPermissionIsNamed) {
  if (geteuid() == 0) GTEST_SKIP() << "the super-user may write everywhere";
  const test::TemporaryFolder folder;
  write_all(folder / "file", "x");
  fs::permissions(folder / "file", fs::perms{0444});
  expect_io_error([&] { const OutputFile file(folder / "file"); }, "file", "Permission denied");
}

TEST(OutputFile, AFullDeviceIsAnError) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  expect_io_error([] { write_all("/dev/full", "x"); }, "/dev/full", "No space left");
  OutputFile file("/dev/full");
  expect_io_error([&] { file.write(std::string(1 << 20, 'x')); }, "/dev/full", "No space left");
  expect_io_error([&] { file.commit(); }, "/dev/full", "earlier write failed");
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST(OutputFile, DevicesAreWrittenDirectly) {
  write_all("/dev/null", "x");
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
}

/// Limits the size of files this process may write, as a full disk would.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, handler_);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  void (*handler_)(int);
  rlimit old_{};
};

TEST(OutputFile, AFileThatCannotGrowLeavesNothingBehind) {
  const test::TemporaryFolder folder;
  const std::string text = patterned_text(2'000'000);
  for (const std::string name : {"out", "out.gz", "out.zst"}) {
    write_all(folder / name, "old");
    const std::string old = content(folder / name);
    {
      const FileSizeLimit limit(100'000);
      expect_io_error([&] { write_all(folder / name, text); }, name, "File too large");
    }
    EXPECT_EQ(content(folder / name), old);
    EXPECT_EQ(files_in(folder / ""), 1U);
    fs::remove(folder / name);
  }
}

TEST(OutputFile, MovingKeepsOneOwner) {
  const test::TemporaryFolder folder;
  OutputFile first(folder / "out");
  first.write("a");
  OutputFile second(std::move(first));
  second.write("b");
  second.commit();
  EXPECT_EQ(content(folder / "out"), "ab");
}

TEST(OutputFile, ASignalHandlerCanRemovePartialFiles) {
  const test::TemporaryFolder folder;
  write_all(folder / "done", "x");
  EXPECT_EXIT(
      {
        std::signal(SIGTERM, [](int) {
          remove_partial_files();
          _exit(3);
        });
        OutputFile one(folder / "one");
        OutputFile two(folder / "two.gz");
        one.write("x");
        if (files_in(folder / "") != 3) _exit(4);
        std::raise(SIGTERM);
      },
      testing::ExitedWithCode(3), "");
  EXPECT_EQ(files_in(folder / ""), 1U);
}

TEST(OutputFile, WithoutCompressionNamesTheFormat) {
  EXPECT_EQ(without_compression("a.csv.gz"), "a.csv");
  EXPECT_EQ(without_compression("a.tsv.zst"), "a.tsv");
  EXPECT_EQ(without_compression("a.gz.csv"), "a.gz.csv");
  EXPECT_EQ(without_compression("-"), "-");
}

}  // namespace
}  // namespace likewise
