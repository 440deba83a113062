// SPDX-License-Identifier: Apache-2.0
/// Neighbourhood methods: similarities between the users or between the items, the K nearest kept,
/// ratings predicted and lists made from them. Formulas and their sources: math.md.
///
/// "Rows" are what is compared: users (`user-knn`) or items (`item-knn`). A row is never its own
/// neighbour; a pair without a common entry, and a pair whose similarity is 0, are no neighbours.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "likewise/array.h"
#include "likewise/bias.h"
#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/types.h"

namespace likewise {

/// Over common entries: kPearson, kPearsonBaseline, kMsd, and kCosine of explicit ratings, whose
/// missing cells are unknown. Over whole rows, a missing cell counting as 0: kAdjustedCosine,
/// kPearsonFull, kTfidf, kBm25, kDot, and kCosine of implicit feedback. Of counts alone: kJaccard,
/// kLogLikelihood, kConditional, kRp3.
enum class Similarity {
  kCosine,
  kAdjustedCosine,   ///< cosine of centred values
  kPearson,          ///< correlation of the common entries
  kPearsonFull,      ///< cosine of values centred by their row
  kPearsonBaseline,  ///< correlation about baselines, shrunk
  kMsd,              ///< 1 / (1 + mean squared difference)
  kJaccard,
  kTfidf,          ///< cosine of TF-IDF weights
  kBm25,           ///< product of BM25 weights
  kLogLikelihood,  ///< log-likelihood ratio of a 2 x 2 table, negative where rarer than by chance
  kConditional,    ///< P(other | row), damped by the popularity of the other: not symmetric
  kDot,            ///< product of the values as they are: for weights of the caller's own
  kRp3,            ///< random walk over a column, damped by popularity: not symmetric
};

/// Their names everywhere, in the order above.
inline constexpr std::string_view kSimilarityNames[] = {
    "cosine",  "adjusted-cosine", "pearson", "pearson-full",   "pearson-baseline", "msd",
    "jaccard", "tfidf",           "bm25",    "log-likelihood", "conditional",      "dot",
    "rp3"};

/// How neighbours make a prediction. kSum is for lists of implicit feedback: it adds up, and what
/// comes out is no rating.
enum class Prediction { kMean, kCentred, kZScore, kBaseline, kSum };

inline constexpr std::string_view kPredictionNames[] = {"mean", "centred", "z-score", "baseline",
                                                        "sum"};

/// Whom a predicted rating asks, of those that have the column: the K most similar of them; those
/// among the K neighbours that the row keeps (the K most similar of all, who may have it or not);
/// or all of them.
enum class PredictFrom { kRated, kKept, kAll };

inline constexpr std::string_view kPredictFromNames[] = {"rated", "kept", "all"};

/// Whose lists of K neighbours make the pairs of a sum (kSum): of what is known (the items of a
/// history, the user), of what is asked about (the item, the other users), or of either.
enum class SumLists { kOwn, kReverse, kBoth };

inline constexpr std::string_view kSumListsNames[] = {"own", "reverse", "both"};

/// What becomes of the sum of an item (kSum of items): nothing; a mean, divided by the similarities
/// of the item's own list; or that mean about the items' means.
enum class SumScale { kNone, kMean, kOffset };

inline constexpr std::string_view kSumScaleNames[] = {"none", "mean", "offset"};

struct KnnParams {
  Feedback feedback = Feedback::kImplicit;
  Side side = Side::kItems;  ///< what is compared
  int neighbours = 40;       ///< K, 1 to 100000
  Similarity similarity = Similarity::kCosine;
  int min_support = 1;  ///< pairs with fewer common entries are no neighbours, >= 1
  /// >= 0; absent: 100 for kPearsonBaseline, else 0. Multiplies a similarity of n common entries
  /// by n / (n + shrinkage), that of kPearsonBaseline by (n - 1) / (n - 1 + shrinkage).
  std::optional<double> shrinkage{};
  double amplification = 1.0;    ///< exponent of |similarity|, > 0
  bool keep_negative = false;    ///< negative similarities are neighbours too
  Side centring = Side::kUsers;  ///< whose mean kAdjustedCosine takes off
  Prediction prediction = Prediction::kSum;
  SumLists sum_lists = SumLists::kOwn;
  SumScale sum_scale = SumScale::kNone;            ///< kOffset goes with SumLists::kReverse
  PredictFrom predict_from = PredictFrom::kRated;  ///< of no use to kSum, which asks those kept
  int min_neighbours = 1;  ///< a prediction from fewer is the fallback, 1 to 100000
  bool clip = true;        ///< ratings stay within the scale of the training values
  BiasMethod baseline_method = BiasMethod::kAls;
  std::optional<int> baseline_epochs{};        ///< >= 0; absent: 10 by ALS, 20 by SGD
  double baseline_user_regularization = 15.0;  ///< ALS, >= 0
  double baseline_item_regularization = 10.0;  ///< ALS, >= 0
  double baseline_regularization = 0.02;       ///< SGD, >= 0
  double baseline_learning_rate = 0.005;       ///< SGD, > 0
  double bm25_k1 = 1.2;                        ///< how soon a large value saturates, >= 0
  double bm25_b = 0.75;                        ///< how much long rows are held back, in [0, 1]
  double popularity_damping = 0.5;             ///< exponent of kConditional, in [0, 1]
  double user_exponent = 1.0;  ///< kRp3: alpha, of the probabilities of steps, in [0, 2]
  double item_exponent = 0.5;  ///< kRp3: beta, damps popular neighbours, in [0, 2]

  /// Whether similarity or prediction look at baselines.
  [[nodiscard]] constexpr bool needs_biases() const {
    return similarity == Similarity::kPearsonBaseline || prediction == Prediction::kBaseline;
  }

  /// The shrinkage that is taken.
  [[nodiscard]] constexpr double usual_shrinkage() const {
    return shrinkage.value_or(similarity == Similarity::kPearsonBaseline ? 100.0 : 0.0);
  }

  /// Those of the baselines alone.
  [[nodiscard]] BiasParams bias_params() const;

  /// Good starting values. Explicit ratings take Pearson about baselines and predict from
  /// baselines. For lists from implicit feedback rows are compared by TF-IDF; prepare()
  /// (likewise/training.h) may choose BM25, and chooses the shrinkage of items, how many
  /// neighbours users have and whose lists a sum adds up.
  [[nodiscard]] static KnnParams defaults(Feedback feedback, Side side = Side::kItems);

  /// Throws Error(kInvalidArgument) naming the field, its value and its range.
  void validate() const;
  friend bool operator==(const KnnParams&, const KnnParams&) = default;
};

/// The nearest rows of every row, best first; of equally similar ones those with more common
/// entries, then the smaller row.
struct KnnLists {
  Array<Offset> offsets;      ///< rows + 1 positions; empty for no rows
  Array<Index> rows;          ///< whom the row is similar to
  Array<float> similarities;  ///< and how much

  [[nodiscard]] Index size() const {
    return offsets.empty() ? 0 : static_cast<Index>(offsets.size() - 1);
  }
  [[nodiscard]] std::span<const Index> rows_of(Index row) const {
    return {rows.data() + offsets[row], count(row)};
  }
  [[nodiscard]] std::span<const float> similarities_of(Index row) const {
    return {similarities.data() + offsets[row], count(row)};
  }

 private:
  [[nodiscard]] std::size_t count(Index row) const {
    return static_cast<std::size_t>(offsets[row + 1] - offsets[row]);
  }
};

/// What neighbourhood models learn.
struct Knn {
  KnnLists neighbours;  ///< of the rows of `params.side`
  Biases biases;        ///< where similarity or prediction wants them
};

/// Finds the K nearest rows of every row of `by_user` (users x items) or of its transpose, exactly,
/// without ever holding a rows x rows matrix. Neither threads nor devices change a similarity: it
/// is computed in double precision and rounded once.
/// Errors: kInvalidArgument (params), kCancelled, kOutOfMemory.
[[nodiscard]] Knn train_knn(const CsrView& by_user, const KnnParams& params, const Device& device,
                            const RunControl& control = {});

}  // namespace likewise
