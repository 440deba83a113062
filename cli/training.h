// SPDX-License-Identifier: Apache-2.0
/// The course of a training, shared by `train` and `demo`: a model grows around its interactions,
/// is validated and kept between iterations, and comes out whole.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "likewise/evaluation.h"
#include "likewise/model.h"
#include "options.h"
#include "progress.h"

namespace likewise::cli {

/// A metric at one list length, as people write it: "ndcg@10", "rmse".
struct NamedMetric {
  std::string text;
  std::string name;
  Index k = 10;
};
/// Throws Error(kInvalidArgument) when there is no such metric.
[[nodiscard]] NamedMetric parse_metric(const std::string& text);

struct ValidationData {
  Interactions interactions;
  NamedMetric metric;
};

struct Checkpointing {
  std::string path;  ///< empty: none
  int every = 1;
};

/// Opens the device for a training that it can do, says which one it is and why `auto` took no
/// card.
[[nodiscard]] std::shared_ptr<const Backend> open_device_to_train(const Common& common,
                                                                  const AlsParams& params,
                                                                  Progress& progress);

/// A model without factors that owns the interactions as its users' history.
[[nodiscard]] std::shared_ptr<Model> start_model(Interactions data, const std::string& algorithm,
                                                 const AlsParams& params, const std::string& source,
                                                 const Backend& backend);

/// Trains `model->als` on `model->history` and leaves factors, iterations and best iteration in it.
/// `resume` (may be null) gives first factors and earlier iterations. Returns why it stopped.
std::string train_als_model(const std::shared_ptr<Model>& model,
                            const std::shared_ptr<const Backend>& backend,
                            const std::optional<ValidationData>& validation, const Model* resume,
                            const Checkpointing& checkpointing, Progress& progress);

/// Finds the neighbours of the rows that the model's algorithm compares.
void train_neighbour_model(Model& model, const Backend& backend, Progress& progress);

/// Fills in the popularity baseline.
void train_popular_model(Model& model);

}  // namespace likewise::cli
