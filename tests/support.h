// SPDX-License-Identifier: Apache-2.0
/// What several tests need: random matrices, real data, temporary folders.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/csr_entries.h"

namespace likewise::test {

/// A random rows x cols matrix: row r gets about `per_row` entries, values in {1..5}.
inline CsrMatrix random_csr(Index rows, Index cols, double per_row, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<Entry> entries;
  std::bernoulli_distribution keep(std::min(1.0, per_row / std::max<Index>(1, cols)));
  std::uniform_int_distribution<int> value(1, 5);
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) {
      if (keep(random)) entries.push_back({r, c, static_cast<float>(value(random))});
    }
  }
  return make_csr(rows, cols, entries);
}

/// The folder of real data sets: LIKEWISE_DATA, else ../shared/data; empty when there is none.
inline std::filesystem::path data_folder() {
  const char* named = std::getenv("LIKEWISE_DATA");
  const std::filesystem::path folder = named != nullptr ? named : "../shared/data";
  return std::filesystem::exists(folder) ? folder : std::filesystem::path();
}

/// In a test: `const auto data = ...; LIKEWISE_NEEDS_DATA(folder)` skips with a reason.
#define LIKEWISE_NEEDS_DATA(folder) \
  if ((folder).empty()) GTEST_SKIP() << "no data: set LIKEWISE_DATA to a folder with MovieLens"

/// All that a file holds.
inline std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A fresh folder, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "likewise-test-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = name;
  }
  ~TemporaryFolder() { std::filesystem::remove_all(path_); }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] std::string operator/(const std::string& name) const {
    return (path_ / name).string();
  }

 private:
  std::filesystem::path path_;
};

}  // namespace likewise::test
