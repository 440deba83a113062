// SPDX-License-Identifier: Apache-2.0
/// The parameters of neighbourhood methods; the fields of KnnParams say the same to C++.
#pragma once

#include "algorithms/bias/params.h"
#include "algorithms/parameters/parameter.h"
#include "likewise/knn.h"

namespace likewise {

template <>
struct EnumNames<Similarity> {
  static constexpr std::span<const std::string_view> kAll = kSimilarityNames;
};
template <>
struct EnumNames<Prediction> {
  static constexpr std::span<const std::string_view> kAll = kPredictionNames;
};
template <>
struct EnumNames<PredictFrom> {
  static constexpr std::span<const std::string_view> kAll = kPredictFromNames;
};

template <>
struct EnumNames<SumLists> {
  static constexpr std::span<const std::string_view> kAll = kSumListsNames;
};
template <>
struct EnumNames<SumScale> {
  static constexpr std::span<const std::string_view> kAll = kSumScaleNames;
};

template <>
struct Description<KnnParams> {
  using P = KnnParams;

  static constexpr bool predicts(const P& p) { return p.prediction != Prediction::kSum; }
  static constexpr bool sums(const P& p) { return p.prediction == Prediction::kSum; }
  static constexpr bool sums_items(const P& p) { return sums(p) && p.side == Side::kItems; }
  static constexpr bool has_baselines(const P& p) { return p.needs_biases(); }
  template <Similarity kSimilarity>
  static constexpr bool compares_by(const P& p) {
    return p.similarity == kSimilarity;
  }
  static constexpr bool has_signs(const P& p) {
    return p.similarity != Similarity::kMsd && p.similarity != Similarity::kJaccard &&
           p.similarity != Similarity::kConditional && p.similarity != Similarity::kRp3;
  }
  using Searched = std::optional<SearchRange>;
  static constexpr Similarity kOfCounts[] = {
      Similarity::kCosine,        Similarity::kTfidf,       Similarity::kBm25, Similarity::kJaccard,
      Similarity::kLogLikelihood, Similarity::kConditional, Similarity::kRp3};
  static constexpr Similarity kOfRatings[] = {Similarity::kMsd, Similarity::kPearson,
                                              Similarity::kPearsonBaseline};
  static constexpr Prediction kOfRating[] = {Prediction::kCentred, Prediction::kBaseline};
  static constexpr bool rates(const P& p) { return p.feedback == Feedback::kExplicit; }
  static constexpr std::span<const Similarity> similarities(const P& p) {
    return rates(p) ? std::span<const Similarity>(kOfRatings) : kOfCounts;
  }
  static constexpr std::span<const Prediction> predictions(const P& p) {
    return rates(p) ? std::span<const Prediction>(kOfRating) : std::span<const Prediction>();
  }
  static constexpr SumLists kLists[] = {SumLists::kOwn, SumLists::kReverse, SumLists::kBoth};
  static constexpr SumScale kScales[] = {SumScale::kNone, SumScale::kMean, SumScale::kOffset};
  static constexpr std::span<const SumLists> sum_lists(const P& p) {
    return rates(p) ? std::span<const SumLists>() : kLists;
  }
  static constexpr std::span<const SumScale> sum_scales(const P& p) {
    if (rates(p) || p.side == Side::kUsers) return {};
    // An offset goes with the reverse lists.
    return std::span(kScales).first(p.sum_lists == SumLists::kReverse ? 3 : 2);
  }
  /// Of a parameter that only a similarity of counts has.
  static constexpr Searched of_counts(const P& p, SearchRange range) {
    return rates(p) ? std::nullopt : Searched(range);
  }
  static constexpr const char* kPredicts = "{prediction mean, centred, z-score or baseline}";
  static constexpr const char* kBaselines =
      "{similarity pearson-baseline} or {prediction baseline}";
  using Learning = BiasLearning<P, has_baselines>;

  static constexpr auto kBefore = std::tuple{
      Parameter{"feedback", &P::feedback, kFeedbackMeaning},
      Parameter{"side", &P::side, "What is compared"}.not_an_option(),
      Parameter{"neighbours", &P::neighbours, "K: nearest rows kept, and used for a prediction"}
          .between(1, 100'000, "in [1, 100000]")
          .left_open("implicit: 80 by item-knn, from the data by user-knn; explicit: 40")
          .searched([](const P&, const P&) -> Searched { return log_range(5, 500); }),
      Parameter{"similarity", &P::similarity, "How two rows are compared"}
          .left_open("tfidf, or bm25 implicit from the data; pearson-baseline explicit")
          .searched_among(similarities),
      Parameter{"min_support", &P::min_support, "Rows with fewer common entries are no neighbours"}
          .between(1, std::numeric_limits<int>::max(), "1 or more"),
      Parameter{"shrinkage", &P::shrinkage, "Shrinks similarities from few common entries"}
          .not_negative()
          .left_open(
              "20 by item-knn implicit, but 0 of dot and rp3; 100 of pearson-baseline; else 0")
          .searched([](const P&, const P&) -> Searched { return log_range(1, 300); }),
      Parameter{"amplification", &P::amplification, "Exponent of the similarity"}.positive(),
      Parameter{"keep_negative", &P::keep_negative, "Whether negative similarities make neighbours"}
          .called("negative", "drop", "keep")
          .only_if(has_signs, "a {similarity} other than jaccard, msd, conditional and rp3"),
      Parameter{"centring", &P::centring, "Whose mean {similarity adjusted-cosine} subtracts"}
          .only_if(compares_by<Similarity::kAdjustedCosine>, "{similarity adjusted-cosine}"),
      Parameter{"prediction", &P::prediction, "How neighbours make a score"}
          .by_default("sum implicit, baseline explicit")
          .searched_among(predictions),
      Parameter{
          "sum_lists", &P::sum_lists,
          "Whose neighbours a sum adds up: own: those of the history's items, or of the user; "
          "reverse: the rows that have them as neighbours; both"}
          .searched_among(sum_lists)
          .left_open("from the data implicit, else own")
          .only_if(sums, "{prediction sum}"),
      Parameter{"sum_scale", &P::sum_scale,
                "mean: divide an item's sum by the similarities of its neighbours; offset: the "
                "same about the items' means"}
          .searched_among(sum_scales)
          .left_open("from the data implicit, else none")
          .only_if(sums_items, "{algorithm item-knn} and {prediction sum}"),
      Parameter{"predict_from", &P::predict_from,
                "Which rows predict: the K nearest of those that have the rating, those that have "
                "it among the K nearest of all, or all that have it"}
          .only_if(predicts, kPredicts),
      Parameter{"min_neighbours", &P::min_neighbours,
                "A prediction from fewer is the mean or baseline"}
          .between(1, 100'000, "in [1, 100000]")
          .only_if(predicts, kPredicts),
      clip_parameter<P>().only_if(predicts, kPredicts)};

  static constexpr auto kAfter = std::tuple{
      Parameter{"bm25_k1", &P::bm25_k1, "How late large values saturate"}
          .not_negative()
          .searched([](const P& p, const P&) { return of_counts(p, log_range(0.1, 100)); })
          .only_if(compares_by<Similarity::kBm25>, "{similarity bm25}"),
      Parameter{"bm25_b", &P::bm25_b, "How much long rows are damped"}
          .share()
          .searched([](const P& p, const P&) { return of_counts(p, linear_range(0.0, 1.0)); })
          .only_if(compares_by<Similarity::kBm25>, "{similarity bm25}"),
      Parameter{"popularity_damping", &P::popularity_damping,
                "How much {similarity conditional} damps popular rows"}
          .share()
          .searched([](const P& p, const P&) { return of_counts(p, linear_range(0.0, 1.0)); })
          .only_if(compares_by<Similarity::kConditional>, "{similarity conditional}"),
      Parameter{"user_exponent", &P::user_exponent,
                "How little users with many entries count: of {similarity rp3} the exponent of the "
                "probability of a step"}
          .between(0.0, 2.0, "in [0, 2]")
          .searched([](const P& p, const P&) { return of_counts(p, linear_range(0.0, 1.5)); })
          .only_if(compares_by<Similarity::kRp3>, "{similarity rp3}"),
      Parameter{"item_exponent", &P::item_exponent,
                "How much popular items are damped: {similarity rp3} divides by a neighbour's "
                "entries to this power"}
          .between(0.0, 2.0, "in [0, 2]")
          .searched([](const P& p, const P&) { return of_counts(p, linear_range(0.0, 1.0)); })
          .only_if(compares_by<Similarity::kRp3>, "{similarity rp3}")};

  static constexpr auto kAll =
      std::tuple_cat(kBefore,
                     Learning::all({kBaselines, "baselines with {baseline_method als}",
                                    "baselines with {baseline_method sgd}"}),
                     kAfter);
};

}  // namespace likewise
