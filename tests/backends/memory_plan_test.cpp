// SPDX-License-Identifier: Apache-2.0
/// What training takes of the machine's memory is counted before it begins, on every device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/als.h"
#include "likewise/backend.h"
#include "likewise/device.h"
#include "tests/errors.h"

namespace likewise {
namespace {

using testing::HasSubstr;

TEST(MemoryPlan, RefusesWhatCannotFitWithTheFigures) {
  const AlsParams params{.factors = 64};
  for (const char* device : {"cpu", "reference"}) {
    const auto backend = open_backend(device);
    const MemoryPlan small = backend->plan_als({1000, 500, 20000}, params);
    EXPECT_GE(small.total, 20000 * 8 + 1500 * 64 * 4) << device;
    EXPECT_GT(small.available, small.total) << device;
    EXPECT_THAT(test::error_of(ErrorKind::kOutOfMemory,
                               [&] {
                                 (void)backend->plan_als({2'000'000'000, 2'000'000'000, 1}, params);
                               }),
                HasSubstr("GiB are available"))
        << device;
  }
}

TEST(MemoryPlan, TheReferenceCountsItsDoubles) {
  const AlsParams params{.factors = 64};
  const AlsShape shape{1000, 500, 20000};
  EXPECT_GE(open_backend("reference")->plan_als(shape, params).total,
            20000 * 8 + 1500 * 64 * (4 + 8));
}

}  // namespace
}  // namespace likewise
