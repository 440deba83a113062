// SPDX-License-Identifier: Apache-2.0
/// Neighbourhoods that grow are those that training on all gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/error.h"
#include "likewise/update.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/learned.h"
#include "tests/support.h"
#include "tests/training/parts.h"

namespace likewise {
namespace {

using test::Entry;
using test::part_of;
using test::shuffled_entries;

Model trained(Interactions data, const KnnParams& params, const Device& device) {
  Model model;
  model.users = std::move(data.users);
  model.items = std::move(data.items);
  model.history = std::move(data.by_user);
  model.params = params;
  model.learned = train_knn(model.history.view(), params, device);
  return model;
}

TEST(UpdateKnn, IsWhatTrainingOnAllWouldGive) {
  const auto device = open_device("cpu");
  const std::vector<Entry> all = shuffled_entries(120, 90, 7.0);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    for (std::size_t s = 0; s < std::size(kSimilarityNames); ++s) {
      for (const std::size_t added : {std::size_t{1}, std::size_t{12}, all.size() / 2}) {
        KnnParams params = KnnParams::defaults(Feedback::kExplicit);
        params.side = side;
        params.similarity = static_cast<Similarity>(s);
        params.neighbours = 4;
        const std::size_t before = all.size() - added;
        const Model old = trained(part_of(all, 0, before), params, device);
        const UpdatedModel grown = update_model(old, part_of(all, before, all.size()), {}, device);
        const Model anew = trained(part_of(all, 0, all.size()), params, device);
        SCOPED_TRACE(testing::Message() << kSimilarityNames[s] << " of " << side_name(side) << ", "
                                        << added << " added");
        grown.model.validate();
        EXPECT_TRUE(std::ranges::equal(grown.model.users.integers(), anew.users.integers()));
        EXPECT_TRUE(
            std::ranges::equal(grown.model.history.columns.span(), anew.history.columns.span()));
        EXPECT_TRUE(std::ranges::equal(test::lists_of(grown.model).offsets.span(),
                                       test::lists_of(anew).offsets.span()));
        EXPECT_TRUE(std::ranges::equal(test::lists_of(grown.model).rows.span(),
                                       test::lists_of(anew).rows.span()));
        EXPECT_TRUE(std::ranges::equal(test::lists_of(grown.model).similarities.span(),
                                       test::lists_of(anew).similarities.span()));
        EXPECT_TRUE(std::ranges::equal(test::biases_of(grown.model).users.span(),
                                       test::biases_of(anew).users.span()));
      }
    }
  }
}

TEST(UpdateKnn, ComparesOnlyWhatChanged) {
  const auto device = open_device("cpu");
  const std::vector<Entry> all = shuffled_entries(400, 300, 10.0);
  KnnParams params;
  const Model old = trained(part_of(all, 0, all.size() - 3), params, device);
  const UpdatedModel grown =
      update_model(old, part_of(all, all.size() - 3, all.size()), {}, device);
  EXPECT_GE(grown.items, 1);
  EXPECT_LT(grown.items, 300 / 3);
  EXPECT_EQ(grown.users, 0);
}

TEST(UpdateKnn, ACellOfBothIsWhatThePolicySays) {
  const auto device = open_device("cpu");
  const std::vector<Entry> entries{{0, 0, 2.0F}, {1, 0, 3.0F}, {1, 1, 4.0F}};
  const std::vector<Entry> later{{1, 1, 1.0F}};
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    const Model old = trained(part_of(entries, 0, 3), KnnParams::defaults(feedback), device);
    const auto added = [&](Duplicates duplicates) {
      return update_model(old, part_of(later, 0, 1), {.duplicates = duplicates}, device);
    };
    EXPECT_EQ(added(Duplicates::kSum).model.history.values[2], 5.0F);
    EXPECT_EQ(added(Duplicates::kLast).model.history.values[2], 1.0F);
    EXPECT_EQ(added(Duplicates::kMax).model.history.values[2], 4.0F);
    EXPECT_THAT(
        test::error_of(ErrorKind::kInvalidArgument, [&] { (void)added(Duplicates::kMean); }),
        testing::HasSubstr("a mean cannot be gone on with"));
    EXPECT_EQ(added(Duplicates::kMax).repeated, 1);
    EXPECT_THAT(test::error_of(ErrorKind::kBadData, [&] { (void)added(Duplicates::kError); }),
                testing::HasSubstr("user '1' and item '1'"));
    EXPECT_THAT(
        test::error_of(ErrorKind::kInvalidArgument, [&] { (void)added(Duplicates::kAuto); }),
        testing::HasSubstr("newest, sum, max, first, last, count or error"));
  }
}

}  // namespace
}  // namespace likewise
