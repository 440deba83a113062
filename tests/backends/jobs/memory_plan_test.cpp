// SPDX-License-Identifier: Apache-2.0
/// What training takes of the machine's memory is counted before it begins, on every device.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/jobs/device_jobs.h"
#include "likewise/als.h"
#include "likewise/device.h"
#include "tests/errors.h"

namespace likewise {
namespace {

using testing::HasSubstr;

TEST(MemoryPlan, RefusesWhatCannotFitWithTheFigures) {
  const AlsParams params{.factors = 64};
  for (const char* name : {"cpu", "reference"}) {
    const Device device = open_device(name);
    const MemoryPlan small = job<AlsJob>(device).plan({1000, 500, 20000}, params);
    EXPECT_GE(small.total, 20000 * 8 + 1500 * 64 * 4) << name;
    EXPECT_GT(small.available, small.total) << name;
    EXPECT_THAT(
        test::error_of(ErrorKind::kOutOfMemory,
                       [&] {
                         (void)job<AlsJob>(device).plan({2'000'000'000, 2'000'000'000, 1}, params);
                       }),
        HasSubstr("GiB are available"))
        << name;
  }
}

TEST(MemoryPlan, TheReferenceCountsItsDoubles) {
  const AlsParams params{.factors = 64};
  const AlsShape shape{1000, 500, 20000};
  EXPECT_GE(job<AlsJob>(open_device("reference")).plan(shape, params).total,
            20000 * 8 + 1500 * 64 * (4 + 8));
}

}  // namespace
}  // namespace likewise
