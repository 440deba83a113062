// SPDX-License-Identifier: Apache-2.0
/// What a test says about an error that it expects.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "likewise/error.h"

namespace likewise::test {

/// What `work` throws; fails the test if it throws nothing or another kind.
template <class Work>
std::string error_of(ErrorKind kind, const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

}  // namespace likewise::test
