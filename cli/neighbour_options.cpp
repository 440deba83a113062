// SPDX-License-Identifier: Apache-2.0
#include "neighbour_options.h"

#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "options.h"

namespace likewise::cli {
namespace {

constexpr const char* kGroup = "Neighbourhoods (--algorithm item-knn or user-knn)";

/// More choices than this go into the description, which is cut into lines.
constexpr std::size_t kShownChoices = 6;

}  // namespace

template <class T, class Field>
void NeighbourOptions::number(CLI::App& app, const std::string& flag, Field NeighbourParams::*field,
                              const std::string& text, const std::string& usual) {
  const auto keep = [this, field](const T& value) {
    changes_.push_back([field, value](NeighbourParams& params) { params.*field = value; });
  };
  std::string shown = usual;
  if constexpr (std::is_same_v<T, Field>) shown = fmt::format("{}", NeighbourParams{}.*field);
  app.add_option_function<T>(flag, keep, text)
      ->type_name(std::is_integral_v<T> ? "N" : "X")
      ->default_str(shown)
      ->group(kGroup);
}

template <class T>
void NeighbourOptions::choice(CLI::App& app, const std::string& flag,
                              const std::vector<std::pair<std::string, T>>& choices,
                              T NeighbourParams::*field, const std::string& text,
                              const std::string& usual) {
  const std::function<void(T)> keep = [this, field](T value) {
    changes_.push_back([field, value](NeighbourParams& params) { params.*field = value; });
  };
  CLI::Option* option = add_choice<T>(app, flag, choices, keep, text)->group(kGroup);
  option->default_str(usual);
  if (choices.size() > kShownChoices) option->type_name("NAME");
  for (const auto& [name, value] : choices) {
    if (usual.empty() && value == NeighbourParams{}.*field) option->default_str(name);
  }
}

void NeighbourOptions::add(CLI::App& app) {
  using Params = NeighbourParams;
  number<int>(app, "--neighbours", &Params::neighbours, "K: nearest rows kept, and asked");
  choice<Similarity>(
      app, "--similarity", choices_of<Similarity>(kSimilarityNames), &Params::similarity,
      fmt::format("How two rows are compared: {}", fmt::join(kSimilarityNames, ", ")),
      "cosine implicit, pearson-baseline explicit");
  number<int>(app, "--min-support", &Params::min_support,
              "Rows with fewer common entries are no neighbours");
  number<double>(app, "--shrinkage", &Params::shrinkage,
                 "Holds back similarities from few common entries",
                 "100 for pearson-baseline, else 0");
  number<double>(app, "--amplification", &Params::amplification, "Exponent of the similarity");
  choice<bool>(app, "--negative", {{"keep", true}, {"drop", false}}, &Params::keep_negative,
               "Whether negative similarities make neighbours");
  choice<Side>(app, "--centring", {{"user", Side::kUsers}, {"item", Side::kItems}},
               &Params::centring, "Whose mean --similarity adjusted-cosine takes off");
  choice<Prediction>(app, "--prediction", choices_of<Prediction>(kPredictionNames),
                     &Params::prediction, "How neighbours make a score",
                     "sum implicit, baseline explicit");
  number<int>(app, "--min-neighbours", &Params::min_neighbours,
              "A prediction from fewer is the mean or baseline");
  choice<bool>(app, "--clip", {{"on", true}, {"off", false}}, &Params::clip,
               "Predicted ratings stay within the scale of the training values");
  choice<BaselineMethod>(app, "--baseline-method",
                         {{"als", BaselineMethod::kAls}, {"sgd", BaselineMethod::kSgd}},
                         &Params::baseline_method, "How user and item biases are learnt");
  number<int>(app, "--baseline-epochs", &Params::baseline_epochs, "Passes over the ratings",
              "10 als, 20 sgd");
  number<double>(app, "--baseline-user-regularization", &Params::baseline_user_regularization,
                 "als: pulls user biases to 0");
  number<double>(app, "--baseline-item-regularization", &Params::baseline_item_regularization,
                 "als: pulls item biases to 0");
  number<double>(app, "--baseline-regularization", &Params::baseline_regularization,
                 "sgd: pulls biases to 0");
  number<double>(app, "--baseline-learning-rate", &Params::baseline_learning_rate,
                 "sgd: size of a step");
  number<double>(app, "--bm25-k1", &Params::bm25_k1, "How late large values saturate");
  number<double>(app, "--bm25-b", &Params::bm25_b, "How much long rows are held back");
  number<double>(app, "--popularity-damping", &Params::popularity_damping,
                 "How much --similarity conditional holds back popular rows");
}

NeighbourParams NeighbourOptions::params(Feedback feedback, Side side) const {
  NeighbourParams result = NeighbourParams::defaults(feedback);
  result.side = side;
  for (const auto& change : changes_) change(result);
  result.validate();
  return result;
}

}  // namespace likewise::cli
