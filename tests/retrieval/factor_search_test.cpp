// SPDX-License-Identifier: Apache-2.0
/// Exact top-k in a table of the caller's, against scores computed one by one.
#include "likewise/factor_search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/error.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using testing::AllOf;
using testing::HasSubstr;

using List = std::vector<Index>;

/// Rows as another program holds them: any stride, and behind the columns whatever there is.
struct Table {
  std::vector<float> numbers;
  Index rows;
  Index cols;
  Index stride;
  Index offset;
  [[nodiscard]] MatrixView view() const { return {numbers.data() + offset, rows, cols, stride}; }
  [[nodiscard]] float* row(Index r) { return numbers.data() + offset + Offset{r} * stride; }
};

[[nodiscard]] Table random_table(Index rows, Index cols, std::uint64_t seed, Index gap = 0,
                                 Index offset = 0) {
  Table table{{}, rows, cols, cols + gap, offset};
  table.numbers.assign(static_cast<std::size_t>(offset + Offset{rows} * table.stride),
                       std::numeric_limits<float>::quiet_NaN());
  std::mt19937_64 random(seed);
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) {
      table.row(r)[c] = static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 256.0F;
    }
  }
  return table;
}

constexpr SimilarityMetric kMetrics[] = {SimilarityMetric::kDot, SimilarityMetric::kCosine,
                                         SimilarityMetric::kEuclidean,
                                         SimilarityMetric::kHellinger};

[[nodiscard]] bool is_distance(SimilarityMetric metric) {
  return metric == SimilarityMetric::kEuclidean || metric == SimilarityMetric::kHellinger;
}

/// Rows of numbers from 0 on, as histograms are.
[[nodiscard]] Table without_negatives(Table table) {
  for (float& x : table.numbers) x = std::abs(x);
  return table;
}

/// sqrt(sum (a - b)^2), or of the roots and without the root.
[[nodiscard]] float distance(SimilarityMetric metric, std::span<const float> a,
                             std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t c = 0; c < a.size(); ++c) {
    const bool of_roots = metric == SimilarityMetric::kHellinger;
    const double left = of_roots ? std::sqrt(a[c]) : a[c];
    const double right = of_roots ? std::sqrt(b[c]) : b[c];
    sum += (left - right) * (left - right);
  }
  const auto squared = static_cast<float>(sum);
  return metric == SimilarityMetric::kEuclidean ? std::sqrt(squared) : squared;
}

/// Scores in double precision, rounded as all scores are.
[[nodiscard]] std::vector<float> scores_of(const MatrixView& table, std::span<const float> bias,
                                           SimilarityMetric metric, std::span<const float> query) {
  std::vector<float> scores;
  for (Index r = 0; r < table.rows; ++r) {
    if (is_distance(metric)) {
      scores.push_back(distance(metric, query, table.row_span(r)));
      continue;
    }
    double dot = 0.0;
    double own = 0.0;
    double others = 0.0;
    for (std::size_t c = 0; c < query.size(); ++c) {
      dot += double{query[c]} * table.row(r)[c];
      own += double{query[c]} * query[c];
      others += double{table.row(r)[c]} * table.row(r)[c];
    }
    if (metric == SimilarityMetric::kCosine) {
      dot = own > 0.0 && others > 0.0 ? dot / std::sqrt(own * others) : 0.0;
    }
    if (!bias.empty()) dot += double{bias[static_cast<std::size_t>(r)]};
    scores.push_back(static_cast<float>(dot));
  }
  return scores;
}

[[nodiscard]] bool contains(std::span<const Index> list, Index one) {
  return std::ranges::find(list, one) != list.end();
}

/// Whether the answers are the best of what the filters leave, by scores that may be off by
/// `tolerance`: cosines are of rows that were divided in float32. Distances are added up in another
/// order than here: a unit in the last place, or two where a root is rounded too.
void expect_best(const TopKResult& found, const MatrixView& table, std::span<const float> bias,
                 SimilarityMetric metric, const MatrixView& queries,
                 const FactorSearchOptions& options) {
  const bool distance = is_distance(metric);
  const auto tolerance_of = [&](float score) {
    if (distance) return 3e-7F * score;
    return metric == SimilarityMetric::kCosine ? 1e-6F : 0.0F;
  };
  ASSERT_EQ(found.k, std::min(options.n, table.rows));
  ASSERT_EQ(found.counts.size(), queries.rows);
  for (Index q = 0; q < queries.rows; ++q) {
    const std::vector<float> scores = scores_of(table, bias, metric, queries.row_span(q));
    std::vector<std::pair<float, Index>> wanted;
    for (Index r = 0; r < table.rows; ++r) {
      if (!options.allow.empty() && !contains(options.allow, r)) continue;
      if (contains(options.deny, r)) continue;
      if (options.excluded != nullptr && contains(options.excluded->row_columns(q), r)) continue;
      const float score = scores[static_cast<std::size_t>(r)];
      wanted.emplace_back(distance ? score : -score, r);
    }
    std::ranges::sort(wanted);
    ASSERT_EQ(found.counts[q], std::min(found.k, static_cast<Index>(wanted.size()))) << q;
    for (Index e = 0; e < found.counts[q]; ++e) {
      const Offset at = Offset{q} * found.k + e;
      const auto& [score, row] = wanted[static_cast<std::size_t>(e)];
      const float tolerance = tolerance_of(score);
      ASSERT_NEAR(found.scores[at], distance ? score : -score, tolerance) << q << ", place " << e;
      if (tolerance == 0.0F) {
        ASSERT_EQ(found.items[at], row) << q << ", place " << e;
      }
      ASSERT_NEAR(scores[static_cast<std::size_t>(found.items[at])], found.scores[at], tolerance);
    }
  }
}

[[nodiscard]] std::vector<Device> devices() {
  return {open_device("cpu"), open_device("reference")};
}

TEST(FactorSearch, FindsTheBestUnderEveryFilter) {
  for (const auto& [rows, cols] : {std::pair<Index, Index>{1, 1}, {7, 3}, {300, 16}, {900, 33}}) {
    const Table signed_table = random_table(rows, cols, 1, 3, 1);
    const Table signed_queries = random_table(23, cols, 2, 1);
    std::vector<float> bias(static_cast<std::size_t>(rows));
    for (std::size_t r = 0; r < bias.size(); ++r) bias[r] = static_cast<float>(r % 7) - 3.0F;
    const CsrMatrix excluded = test::random_csr(23, rows, 0.3 * rows, 3);
    const CsrView out = excluded.view();
    List some;
    for (Index r = 0; r < rows; r += 2) some.push_back(rows - 1 - r);
    const List few{0, rows / 2, rows - 1, 0};
    for (const Device& device : devices()) {
      for (const SimilarityMetric metric : kMetrics) {
        const bool roots = metric == SimilarityMetric::kHellinger;
        const Table table = roots ? without_negatives(signed_table) : signed_table;
        const Table queries = roots ? without_negatives(signed_queries) : signed_queries;
        const bool dot = metric == SimilarityMetric::kDot;
        const std::span<const float> of_rows =
            dot ? std::span<const float>(bias) : std::span<const float>();
        const FactorSearch search(table.view(), of_rows, metric, device);
        EXPECT_EQ(search.rows(), rows);
        EXPECT_EQ(search.factors(), cols);
        for (const Index n : {1, 5, 400}) {
          for (const FactorSearchOptions& options : {FactorSearchOptions{.n = n},
                                                     {.n = n, .excluded = &out},
                                                     {.n = n, .allow = some},
                                                     {.n = n, .allow = few, .deny = some},
                                                     {.n = n, .deny = few, .excluded = &out}}) {
            expect_best(search.top_k(queries.view(), options), table.view(), of_rows, metric,
                        queries.view(), options);
          }
        }
      }
    }
  }
}

TEST(FactorSearch, TiesGoToTheSmallerRow) {
  Table table = random_table(50, 4, 5);
  for (Index r = 0; r < 50; ++r) std::copy_n(table.row(0), 4, table.row(r));
  const Table query = random_table(1, 4, 6);
  for (const Device& device : devices()) {
    const FactorSearch search(table.view(), {}, SimilarityMetric::kDot, device);
    const TopKResult found = search.top_k(query.view(), {.n = 4, .deny = List{1}});
    EXPECT_TRUE(std::ranges::equal(found.items.span(), List{0, 2, 3, 4}));
  }
}

TEST(FactorSearch, CosinesAreAtMostOneAndZeroOfZeros) {
  Table table = random_table(9, 5, 7);
  std::fill_n(table.row(4), 5, 0.0F);
  const FactorSearch search(table.view(), {}, SimilarityMetric::kCosine, open_device("cpu"));
  const TopKResult found = search.top_k(table.view(), {.n = 9});
  for (Index q = 0; q < 9; ++q) {
    for (Offset e = Offset{q} * 9; e < Offset{q} * 9 + 9; ++e) {
      EXPECT_LE(std::abs(found.scores[e]), 1.0F);
      if (q == 4 || found.items[e] == 4) {
        EXPECT_EQ(found.scores[e], 0.0F);
      }
    }
    if (q != 4) {
      EXPECT_EQ(found.items[Offset{q} * 9], q);
    }
  }
}

/// A Matrix is searched where it is; a table without padding in a copy. The answers are the same.
TEST(FactorSearch, PaddingDoesNotMatter) {
  const Table loose = random_table(400, 20, 8, 5, 3);
  Matrix padded(400, 20);
  for (Index r = 0; r < 400; ++r) std::ranges::copy(loose.view().row_span(r), padded.row(r));
  const auto device = open_device("cpu");
  const FactorSearch one(loose.view(), {}, SimilarityMetric::kDot, device);
  FactorSearch other(padded.view(), {}, SimilarityMetric::kDot, device);
  const FactorSearch moved = std::move(other);
  const TopKResult a = one.top_k(loose.view(), {.n = 7});
  const TopKResult b = moved.top_k(padded.view(), {.n = 7});
  EXPECT_TRUE(std::ranges::equal(a.items.span(), b.items.span()));
  EXPECT_TRUE(std::ranges::equal(a.scores.span(), b.scores.span()));
}

/// More queries than a batch holds, from many threads at once.
TEST(FactorSearch, BatchesAndThreadsAreSeamless) {
  const Table table = random_table(60, 6, 9);
  const Table queries = random_table(9001, 6, 10);
  const FactorSearch search(table.view(), {}, SimilarityMetric::kDot, open_device("cpu"));
  const CsrMatrix excluded = test::random_csr(9001, 60, 20.0, 11);
  const CsrView out = excluded.view();
  const FactorSearchOptions options{.n = 3, .excluded = &out};
  Offset done = 0;
  const RunControl followed{nullptr, [&](const ProgressUpdate& update) { done = update.done; }};
  const TopKResult all = search.top_k(queries.view(), options, followed);
  EXPECT_EQ(done, 9001);
  expect_best(all, table.view(), {}, SimilarityMetric::kDot, queries.view(), options);
  std::vector<TopKResult> found(4);
  std::vector<std::thread> threads;
  for (TopKResult& each : found) {
    threads.emplace_back([&] { each = search.top_k(queries.view(), options); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const TopKResult& each : found) {
    EXPECT_TRUE(std::ranges::equal(each.items.span(), all.items.span()));
    EXPECT_TRUE(std::ranges::equal(each.scores.span(), all.scores.span()));
  }
}

TEST(FactorSearch, EmptyTablesAndQueriesHaveEmptyAnswers) {
  const Table table = random_table(5, 3, 12);
  const Table none = random_table(0, 3, 12);
  for (const Device& device : devices()) {
    const FactorSearch search(table.view(), {}, SimilarityMetric::kDot, device);
    EXPECT_EQ(search.top_k(none.view()).counts.size(), 0);
    EXPECT_EQ(search.top_k({}).counts.size(), 0);
    const FactorSearch empty(none.view(), {}, SimilarityMetric::kCosine, device);
    const TopKResult found = empty.top_k(table.view());
    EXPECT_EQ(found.k, 0);
    EXPECT_TRUE(std::ranges::equal(found.counts.span(), List(5, 0)));
  }
}

TEST(FactorSearch, FaultsAreNamed) {
  const auto device = open_device("cpu");
  const auto refused = [](const auto& ask) {
    return test::error_of(ErrorKind::kInvalidArgument, ask);
  };
  const auto made = [&](const Table& table, std::span<const float> bias, SimilarityMetric metric) {
    (void)FactorSearch(table.view(), bias, metric, device);
  };
  constexpr auto kDot = SimilarityMetric::kDot;
  const float bad_numbers[] = {std::numeric_limits<float>::quiet_NaN(),
                               -std::numeric_limits<float>::infinity(), 2e15F};
  const Table good = random_table(3000, 4, 13);
  const FactorSearch search(good.view(), {}, kDot, device);
  for (const float number : bad_numbers) {
    Table table = random_table(3000, 4, 13);
    table.row(2900)[0] = number;
    table.row(1700)[2] = number;
    EXPECT_THAT(refused([&] { made(table, {}, kDot); }),
                AllOf(HasSubstr("table"), HasSubstr("row 1700, column 2"), HasSubstr("1e+15")));
    EXPECT_THAT(refused([&] { (void)search.top_k(table.view()); }),
                AllOf(HasSubstr("queries"), HasSubstr("row 1700, column 2")));
    std::vector<float> bias(3000);
    bias[17] = number;
    EXPECT_THAT(refused([&] { made(good, bias, kDot); }),
                AllOf(HasSubstr("bias"), HasSubstr("row 17")));
  }
  const std::vector<float> bias(3000);
  EXPECT_THAT(refused([&] { made(good, std::span(bias).first(5), kDot); }),
              HasSubstr("5 biases for a table of 3000 rows"));
  EXPECT_THAT(refused([&] { made(good, bias, SimilarityMetric::kCosine); }), HasSubstr("cosine"));
  EXPECT_THAT(refused([&] { made(good, bias, SimilarityMetric::kEuclidean); }),
              HasSubstr("euclidean"));
  const Table counts = without_negatives(good);
  const FactorSearch histograms(counts.view(), {}, SimilarityMetric::kHellinger, device);
  Table negative = without_negatives(good);
  negative.row(2222)[3] = -0.0F;  // is 0
  negative.row(2900)[0] = -1.0F;
  negative.row(1700)[2] = -0.25F;
  const auto names_it = AllOf(HasSubstr("row 1700, column 2: the number -0.25 is negative"),
                              HasSubstr("compare by euclidean"));
  EXPECT_THAT(refused([&] { made(negative, {}, SimilarityMetric::kHellinger); }),
              AllOf(HasSubstr("table: "), names_it));
  EXPECT_THAT(refused([&] { (void)histograms.top_k(negative.view()); }),
              AllOf(HasSubstr("queries: "), names_it));
  Table wide = random_table(2, 4, 1);
  wide.stride = 3;
  EXPECT_THAT(refused([&] { made(wide, {}, kDot); }), HasSubstr("2 x 4 numbers with 3 from row"));

  const Table two = random_table(2, 4, 14);
  const auto asked = [&](const FactorSearchOptions& options) {
    return refused([&] { (void)search.top_k(two.view(), options); });
  };
  EXPECT_THAT(refused([&] { (void)search.top_k(random_table(2, 5, 1).view()); }),
              HasSubstr("queries have 5 factors, the table has 4"));
  EXPECT_THAT(asked({.n = 0}), HasSubstr("n must be 1 or more"));
  EXPECT_THAT(asked({.allow = List{1, 3000}}), HasSubstr("allow: row index 3000"));
  EXPECT_THAT(asked({.deny = List{-1}}), HasSubstr("deny: row index -1"));
  const auto excluding = [&](Index rows, Index cols, std::vector<Offset> offsets, List columns) {
    const CsrView view{rows, cols, offsets.data(), columns.data(), nullptr};
    return asked({.excluded = &view});
  };
  EXPECT_THAT(excluding(1, 3000, {0, 1}, {0}), HasSubstr("excluded is 1 x 3000"));
  EXPECT_THAT(excluding(2, 4, {0, 1, 1}, {0}), HasSubstr("need 2 x 3000"));
  EXPECT_THAT(excluding(2, 3000, {1, 1, 1}, {0}), HasSubstr("first offset is 1"));
  EXPECT_THAT(excluding(2, 3000, {0, 2, 1}, {0, 1}), HasSubstr("after row 1 is less"));
  EXPECT_THAT(excluding(2, 3000, {0, 1, 3}, {5, 7, 7}), HasSubstr("row 1 is not a list of rising"));
  EXPECT_THAT(excluding(2, 3000, {0, 1, 2}, {3000, 7}), HasSubstr("row 0 is not a list"));
  EXPECT_THAT(excluding(2, 3000, {0, 1, 2}, {-1, 7}), HasSubstr("in [0, 3000)"));
}

template <class T>
[[nodiscard]] std::vector<T> list_of(const Array<T>& numbers) {
  return {numbers.begin(), numbers.end()};
}

/// Kato & Hosino's distance: no root and no half. And the Euclidean, by hand.
TEST(FactorSearch, DistancesByHand) {
  Table table{{1.0F, 4.0F, 9.0F, 0.0F, 1.0F, 0.0F, 4.0F, 4.0F, 4.0F}, 3, 3, 3, 0};
  Table query{{1.0F, 4.0F, 4.0F}, 1, 3, 3, 0};
  for (const Device& device : devices()) {
    const TopKResult roots = FactorSearch(table.view(), {}, SimilarityMetric::kHellinger, device)
                                 .top_k(query.view(), {.n = 5});
    EXPECT_THAT(list_of(roots.items), testing::ElementsAre(0, 2, 1));
    EXPECT_THAT(list_of(roots.scores),
                testing::ElementsAre(1.0F, 1.0F, 6.0F));  // ties: smaller row
    const TopKResult lengths = FactorSearch(table.view(), {}, SimilarityMetric::kEuclidean, device)
                                   .top_k(query.view(), {.n = 5});
    EXPECT_THAT(list_of(lengths.items), testing::ElementsAre(2, 0, 1));
    EXPECT_THAT(list_of(lengths.scores), testing::ElementsAre(3.0F, 5.0F, std::sqrt(26.0F)));
    EXPECT_THAT(list_of(lengths.counts), testing::ElementsAre(3));
    const Index denied[] = {2};
    const TopKResult two = FactorSearch(table.view(), {}, SimilarityMetric::kEuclidean, device)
                               .top_k(query.view(), {.n = 5, .deny = denied});
    EXPECT_EQ(two.counts[0], 2);
    EXPECT_FALSE(std::signbit(two.scores[2]));  // no place of the list
  }
}

/// Rows of the table, asked for where they lie, are found as copies of them are.
TEST(FactorSearch, RowsOfTheTableAreQueries) {
  const Table table = without_negatives(random_table(600, 20, 17));
  for (const SimilarityMetric metric : kMetrics) {
    const FactorSearch search(table.view(), {}, metric, open_device("cpu"));
    const MatrixView own = table.view().slice(100, 300);
    Matrix copy(own.rows, own.cols);
    for (Index r = 0; r < own.rows; ++r) std::ranges::copy(own.row_span(r), copy.row(r));
    const TopKResult found = search.top_k(own, {.n = 7});
    const TopKResult wanted = search.top_k(copy.view(), {.n = 7});
    EXPECT_EQ(list_of(found.items), list_of(wanted.items));
    EXPECT_EQ(list_of(found.scores), list_of(wanted.scores));
  }
}

TEST(FactorSearch, CanBeStopped) {
  const Table table = random_table(50, 4, 15);
  const FactorSearch search(table.view(), {}, SimilarityMetric::kDot, open_device("cpu"));
  std::atomic<bool> cancel{true};
  (void)test::error_of(ErrorKind::kCancelled, [&] {
    (void)search.top_k(table.view(), {}, {&cancel, {}});
  });
}

/// Up to the largest numbers that are taken, nothing overflows.
TEST(FactorSearch, TheLargestNumbersFit) {
  Table table = random_table(40, 64, 16);
  for (Index r = 0; r < 40; ++r) {
    for (Index c = 0; c < 64; ++c) table.row(r)[c] = (r + c) % 3 == 0 ? -1e15F : 1e15F;
  }
  const Table whole = without_negatives(table);
  for (const SimilarityMetric metric : kMetrics) {
    const Table& rows = metric == SimilarityMetric::kHellinger ? whole : table;
    const FactorSearch search(rows.view(), {}, metric, open_device("cpu"));
    const TopKResult found = search.top_k(rows.view(), {.n = 40});
    for (const float score : found.scores) EXPECT_TRUE(std::isfinite(score));
  }
}

}  // namespace
}  // namespace likewise
