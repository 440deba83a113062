// SPDX-License-Identifier: Apache-2.0
/// Reading from texts in memory, and results as something to compare.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/bytes/read_source.h"
#include "likewise/csr.h"
#include "likewise/read.h"
#include "tests/errors.h"

namespace likewise::test {

/// Blocks so small that every line is cut somewhere.
inline ReadTuning tiny_blocks(std::size_t bytes) {
  return {.block_bytes = bytes, .head_bytes = 512};
}

inline Interactions read_text(const std::string& text, const ReadOptions& options = {},
                              ReadSummary* summary = nullptr, const ReadTuning& tuning = {}) {
  return read_source(memory_source(text), "file.csv", options, summary, {}, tuning);
}

/// (user, item) -> value; also checks the invariants.
using Cells = std::map<std::pair<std::string, std::string>, float>;
inline Cells cells(const Interactions& data) {
  validate(data.by_user.view(), "result");
  EXPECT_EQ(data.by_user.rows, data.users.size());
  EXPECT_EQ(data.by_user.cols, data.items.size());
  Cells result;
  for (Index user = 0; user < data.by_user.rows; ++user) {
    for (Offset at = data.by_user.offsets[user]; at < data.by_user.offsets[user + 1]; ++at) {
      result[{data.users.name(user), data.items.name(data.by_user.columns[at])}] =
          data.by_user.values[at];
    }
  }
  return result;
}

/// (user, item) -> whole seconds of the time
inline std::map<std::pair<std::string, std::string>, std::int64_t> times(const Interactions& data) {
  std::map<std::pair<std::string, std::string>, std::int64_t> result;
  for (Index user = 0; user < data.by_user.rows; ++user) {
    for (Offset at = data.by_user.offsets[user]; at < data.by_user.offsets[user + 1]; ++at) {
      result[{data.users.name(user), data.items.name(data.by_user.columns[at])}] =
          data.times[at].seconds();
    }
  }
  return result;
}

/// The same ids as text, in the same order, and the same entries.
inline void expect_same_entries(const Interactions& a, const Interactions& b) {
  const auto same = [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(), y.end());
  };
  EXPECT_TRUE(same(a.by_user.offsets, b.by_user.offsets));
  EXPECT_TRUE(same(a.by_user.columns, b.by_user.columns));
  EXPECT_TRUE(same(a.by_user.values, b.by_user.values));
  EXPECT_TRUE(same(a.times, b.times));
  for (const auto& [x, y] : {std::pair{&a.users, &b.users}, std::pair{&a.items, &b.items}}) {
    ASSERT_EQ(x->size(), y->size());
    for (Index i = 0; i < x->size(); ++i) ASSERT_EQ(x->name(i), y->name(i));
  }
}

inline void expect_same(const Interactions& a, const Interactions& b) {
  expect_same_entries(a, b);
  EXPECT_EQ(a.users.is_integer(), b.users.is_integer());
  EXPECT_EQ(a.items.is_integer(), b.items.is_integer());
}

inline std::string bad_data(const std::string& text, const ReadOptions& options = {},
                            const ReadTuning& tuning = {}) {
  return error_of(ErrorKind::kBadData, [&] { (void)read_text(text, options, nullptr, tuning); });
}

inline std::string bad_option(const std::string& text, const ReadOptions& options) {
  return error_of(ErrorKind::kInvalidArgument, [&] { (void)read_text(text, options); });
}

}  // namespace likewise::test
