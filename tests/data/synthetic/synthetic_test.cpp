// SPDX-License-Identifier: Apache-2.0
#include "likewise/synthetic.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/synthetic/synthetic_model.h"
#include "likewise/error.h"

namespace likewise {
namespace {

using testing::HasSubstr;

template <class Action>
void expect_error(const Action& action, ErrorKind kind, const std::string& text) {
  try {
    action();
    FAIL() << "nothing thrown: " << text;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_THAT(error.what(), HasSubstr(text));
  }
}

bool same(const CsrMatrix& a, const CsrMatrix& b) {
  return std::ranges::equal(a.offsets, b.offsets) && std::ranges::equal(a.columns, b.columns) &&
         std::ranges::equal(a.values, b.values);
}

std::vector<Offset> item_counts(const CsrMatrix& m) {
  std::vector<Offset> counts(static_cast<std::size_t>(m.cols));
  for (const Index item : m.columns) ++counts[static_cast<std::size_t>(item)];
  return counts;
}

TEST(ParseShape, KnownNames) {
  const SyntheticShape netflix = parse_shape("netflix");
  EXPECT_EQ(netflix.users, 480189);
  EXPECT_EQ(netflix.items, 17770);
  EXPECT_EQ(netflix.nnz, 99072112);
  EXPECT_EQ(netflix.feedback, Feedback::kExplicit);
  EXPECT_EQ(parse_shape("hugewiki").nnz, 3101144313);
  EXPECT_EQ(parse_shape("msd").feedback, Feedback::kImplicit);
  EXPECT_EQ(parse_shape("ml-20m:implicit").feedback, Feedback::kImplicit);
  EXPECT_TRUE(parse_shape("demo").demo);
}

TEST(ParseShape, EachMovieAndYahooSongs) {
  const SyntheticShape films = parse_shape("eachmovie");
  EXPECT_EQ(films.users, 61265);
  EXPECT_EQ(films.items, 1623);
  EXPECT_EQ(films.nnz, 2811983);
  const SyntheticShape songs = parse_shape("yahoo-song:implicit");
  EXPECT_EQ(songs.users, 130558);
  EXPECT_EQ(songs.items, 136736);
  EXPECT_EQ(songs.nnz, 49'800'000);
  EXPECT_EQ(songs.feedback, Feedback::kImplicit);
}

TEST(ParseShape, Counts) {
  const SyntheticShape plain = parse_shape("30x20x100");
  EXPECT_EQ(plain.users, 30);
  EXPECT_EQ(plain.items, 20);
  EXPECT_EQ(plain.nnz, 100);
  EXPECT_EQ(plain.feedback, Feedback::kExplicit);
  const SyntheticShape large = parse_shape("50Mx40kx3g:implicit");
  EXPECT_EQ(large.users, 50'000'000);
  EXPECT_EQ(large.items, 40'000);
  EXPECT_EQ(large.nnz, 3'000'000'000);
  EXPECT_EQ(large.feedback, Feedback::kImplicit);
}

TEST(ParseShape, WhatCannotBeIsRefusedWithTheNames) {
  for (const char* text :
       {"", "ml-20", "x", "10x20", "10x20x", "10x20x30x40", "10x-2x3", "10x2.5x3", "10xkx3",
        "netflix:stars", "demo:explicit", "10x20x99999999999g", "NETFLIX "}) {
    expect_error([&] { (void)parse_shape(text); }, ErrorKind::kInvalidArgument,
                 "ml-20m, eachmovie, netflix, msd, yahoo-song, yahoo, hugewiki");
  }
  expect_error([] { (void)parse_shape("0x20x1"); }, ErrorKind::kInvalidArgument, "at least 1");
  expect_error([] { (void)parse_shape("20x0x1"); }, ErrorKind::kInvalidArgument, "at least 1");
  expect_error([] { (void)parse_shape("20x20x0"); }, ErrorKind::kInvalidArgument, "at least 1");
  expect_error([] { (void)parse_shape("3gx20x1"); }, ErrorKind::kInvalidArgument, "2147483647");
  expect_error([] { (void)parse_shape("20x20x401"); }, ErrorKind::kInvalidArgument, "= 400");
}

TEST(Generate, AwkwardShapesAreExact) {
  for (const char* text : {"1x1x1", "1x100x1", "1x100x100", "100x1x1", "100x1x100", "7x5x35",
                           "7x5x34", "7x5x1", "1000x3x2000", "3x5000x9000", "3x5000x15000",
                           "500x300x300", "65x64x4000", "200x100x7000:implicit"}) {
    const SyntheticShape shape = parse_shape(text);
    const Interactions data = generate(shape);
    EXPECT_EQ(data.by_user.nnz(), shape.nnz) << text;
    EXPECT_EQ(data.by_user.offsets[shape.users], shape.nnz) << text;
    EXPECT_EQ(data.by_user.rows, shape.users);
    EXPECT_EQ(data.by_user.cols, shape.items);
    EXPECT_EQ(data.users.size(), shape.users);
    EXPECT_EQ(data.items.size(), shape.items);
    EXPECT_NO_THROW(validate(data.by_user.view(), text));
  }
}

TEST(Generate, ValuesAreStarsOrCounts) {
  const Interactions rated = generate(parse_shape("300x200x9000"));
  const Interactions counted = generate(parse_shape("300x200x9000:implicit"));
  for (Offset i = 0; i < 9000; ++i) {
    const float stars = rated.by_user.values[i];
    const float count = counted.by_user.values[i];
    EXPECT_TRUE(stars >= 1 && stars <= 5 && stars == std::floor(stars)) << stars;
    EXPECT_TRUE(count >= 1 && count == std::floor(count)) << count;
  }
  EXPECT_GT(*std::ranges::max_element(counted.by_user.values), 5.0F);
}

TEST(Generate, TheSameForAnyThreadsOtherForAnotherSeed) {
  const SyntheticShape shape = parse_shape("5000x800x150000");
  const Interactions first = generate(shape, 7);
  for (const int threads : {1, 2, 5}) {
    with_threads(threads, [&] { EXPECT_TRUE(same(first.by_user, generate(shape, 7).by_user)); });
  }
  const Interactions other = generate(shape, 8);
  EXPECT_EQ(other.by_user.nnz(), shape.nnz);
  EXPECT_FALSE(std::ranges::equal(first.by_user.columns, other.by_user.columns));
  EXPECT_NE(item_counts(first.by_user), item_counts(other.by_user));
}

TEST(Generate, AnyRowCanBeMadeAlone) {
  const SyntheticShape shape = parse_shape("400x300x20000");
  const Interactions data = generate(shape, 3);
  const SyntheticModel model(shape, 3);
  SyntheticModel::Scratch scratch;
  for (const Index user : {399, 0, 17, 399}) {
    const auto expected = data.by_user.view().row_columns(user);
    std::vector<Index> columns(expected.size());
    std::vector<float> values(expected.size());
    model.fill_row(user, scratch, columns, values);
    EXPECT_TRUE(std::ranges::equal(columns, expected));
    EXPECT_TRUE(std::ranges::equal(values, data.by_user.view().row_values(user)));
  }
}

// A tenth of MovieLens-20M, whose users have 20 to 9254 films (mean 144) and whose first film has
// 49 % of the users.
TEST(Generate, TailsAreLong) {
  const SyntheticShape shape = parse_shape("13849x5000x2m");
  const Interactions data = generate(shape);
  std::vector<Offset> users;
  for (Index u = 0; u < shape.users; ++u) users.push_back(data.by_user.view().row_size(u));
  std::ranges::sort(users);
  const double mean = 2e6 / shape.users;
  EXPECT_GE(users.front(), 15);
  EXPECT_GT(static_cast<double>(users.back()), 15 * mean);
  EXPECT_LE(users.back(), shape.items);
  const auto median = static_cast<double>(users[users.size() / 2]);
  EXPECT_GT(median, 0.4 * mean);
  EXPECT_LT(median, 0.7 * mean);

  std::vector<Offset> items = item_counts(data.by_user);
  std::ranges::sort(items, std::greater());
  EXPECT_GT(static_cast<double>(items.front()), 0.35 * shape.users);
  EXPECT_LT(static_cast<double>(items.front()), 0.65 * shape.users);
  const auto head = items.begin() + static_cast<std::ptrdiff_t>(items.size() / 10);
  const auto in_head = static_cast<double>(std::accumulate(items.begin(), head, Offset{0}));
  EXPECT_GT(in_head / 2e6, 0.5) << "share of the most popular tenth";
  EXPECT_LT(in_head / 2e6, 0.9);
}

// Chance is what popularity alone would give: the mean over entries of the favourite's mass.
TEST(Generate, UsersStayWithTheirTaste) {
  const SyntheticShape shape = parse_shape("4000x3000x300k");
  const Interactions data = generate(shape);
  const SyntheticModel model(shape, 42);
  std::vector<double> mass(static_cast<std::size_t>(model.clusters()));
  for (const Index item : data.by_user.columns) {
    mass[static_cast<std::size_t>(model.cluster(item))] += 1.0 / static_cast<double>(shape.nnz);
  }
  double within = 0.0;
  double chance = 0.0;
  for (Index user = 0; user < shape.users; ++user) {
    const auto row = data.by_user.view().row_columns(user);
    const Index favourite = model.taste(user, static_cast<Offset>(row.size())).clusters[0];
    for (const Index item : row) within += model.cluster(item) == favourite;
    chance += static_cast<double>(row.size()) * mass[static_cast<std::size_t>(favourite)];
  }
  EXPECT_GT(within, 2.0 * chance);
}

TEST(Generate, StarsCarryThePlantedSignal) {
  const SyntheticShape shape = parse_shape("4000x3000x300k");
  const Interactions data = generate(shape);
  const SyntheticModel model(shape, 42);
  double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0;
  std::array<double, 6> histogram{};
  for (Index user = 0; user < shape.users; ++user) {
    const auto row = data.by_user.view().row_columns(user);
    const auto values = data.by_user.view().row_values(user);
    const auto taste = model.taste(user, static_cast<Offset>(row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) {
      const double planted = model.planted_value(taste, row[i]);
      const double stars = values[i];
      n += 1, x += planted, y += stars;
      xx += planted * planted, yy += stars * stars, xy += planted * stars;
      histogram[static_cast<std::size_t>(stars)] += 1.0 / static_cast<double>(shape.nnz);
    }
  }
  const double covariance = n * xy - x * y;
  const double explained = covariance * covariance / ((n * xx - x * x) * (n * yy - y * y));
  EXPECT_GT(explained, 0.30);
  EXPECT_LT(explained, 0.60);
  // As at MovieLens: 3 and 4 most often, 1 least.
  EXPECT_GT(histogram[3] + histogram[4], 0.5);
  EXPECT_GT(histogram[5], histogram[2]);
  EXPECT_GT(histogram[2], histogram[1]);
}

TEST(Generate, RefusesWhatCannotFitWithTheFigure) {
  const SyntheticShape vast{2'000'000'000, 2'000'000'000, Offset{1} << 60};
  expect_error([&] { (void)generate(vast); }, ErrorKind::kOutOfMemory, "GiB");
  expect_error([] { (void)generate({}); }, ErrorKind::kInvalidArgument, "at least 1");
  expect_error([] { (void)generate({-1, 5, 5}); }, ErrorKind::kInvalidArgument, "at least 1");
}

TEST(Generate, ReportsAndStops) {
  std::atomic<bool> cancel{false};
  Offset last = 0;
  RunControl control{&cancel, [&](const ProgressUpdate& update) {
                       EXPECT_EQ(update.total, 100'000);
                       last = std::max(last, update.done);
                     }};
  (void)generate(parse_shape("3000x500x100k"), 1, control);
  EXPECT_GT(last, 50'000);
  cancel = true;
  expect_error([&] { (void)generate(parse_shape("3000x500x100k"), 1, control); },
               ErrorKind::kCancelled, "interrupted");
}

}  // namespace
}  // namespace likewise
