// SPDX-License-Identifier: Apache-2.0
#include "likewise/update.h"

#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "algorithms/algorithm.h"
#include "core/placed_error.h"
#include "core/require.h"
#include "core/system/utc_now.h"
#include "likewise/error.h"
#include "training/growth.h"
#include "training/half_life.h"
#include "training/learn_features.h"
#include "training/merge_interactions.h"
#include "training/value_readers.h"

namespace likewise {
namespace {

constexpr int kMostIterations = 10'000;

[[nodiscard]] bool by_sgd(const UpdateOptions& options) { return options.by == UpdateBy::kSgd; }

/// The reports of the training, without what was measured on other factors.
[[nodiscard]] std::vector<Iteration> without_validation(std::vector<Iteration> iterations) {
  for (Iteration& report : iterations) report.validation.reset();
  return iterations;
}

[[nodiscard]] ModelUpdate note_of(const UpdateTask& task) {
  ModelUpdate note;
  note.created = utc_now();
  note.source = task.options.source;
  note.device = device_text(task.device);
  note.interactions = task.more.by_user.nnz();
  note.users = task.growth.users.ids.size() - task.model.users.size();
  note.items = task.growth.items.ids.size() - task.model.items.size();
  note.iterations = task.iterations;
  if (by_sgd(task.options)) note.by = kUpdateByNames[static_cast<std::size_t>(UpdateBy::kSgd)];
  return note;
}

/// The spread that later steps of SGD need to know, where there may be some.
[[nodiscard]] double spread_kept(const UpdateTask& task, const Algorithm& algorithm) {
  const std::optional<SgdParams> steps = algorithm.update_steps();
  return steps ? trained_spread(task, *steps) : 0.0;
}

/// Of the factors as they are now, with the regularization that the model has.
void learn_features_again(const Model& model, const Growth& growth, Model& grown,
                          const RunControl& control) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const Features& known = model.features(side);
    if (known.empty()) continue;
    const IdMap& ids = side == Side::kUsers ? grown.users : grown.items;
    Features features;
    features.tags = known.tags.share();
    features.weights =
        merge_matrices(known.weights.view(), CsrView(), {ids.share(), growth.ids(side).first, {}},
                       {known.tags.share(), all_rows(known.tags.size()), {}}, Duplicates::kError)
            .matrix;
    learn_features(grown, side, std::move(features), {known.regularization}, control);
  }
}

}  // namespace

void require_updatable(const Model& model, const UpdateOptions& options) {
  const bool under_way = !model.iterations.empty() && model.stop_reason.empty();
  require(!under_way && !model.last,
          "a checkpoint of a training under way cannot be updated: finish it first, by resuming");
  require(model.history.rows == model.users.size() && model.history.cols == model.items.size(),
          "the model was made without its interactions, which an update needs: train it anew");
  const std::unique_ptr<const Algorithm> algorithm = algorithm_of(model.params);
  if (options.by) algorithm->require_update_by(*options.by);
  const UsualUpdate usual = algorithm->usual_update(options.by);
  if (options.iterations) {
    require(usual.iterations > 0,
            fmt::format("{} would do nothing: an update of {} is exact, without iterations",
                        mention("iterations"), model.algorithm()));
    require(*options.iterations >= 1 && *options.iterations <= kMostIterations,
            fmt::format("{} must be in [1, {}], not {}", mention("iterations"), kMostIterations,
                        *options.iterations));
  }
  if (options.learning_rate) {
    require(usual.has_rate,
            fmt::format("{} would do nothing: it is for steps of sgd and bpr{}",
                        mention("learning_rate"),
                        algorithm->has_ways_to_update() ? ", as by sgd takes them" : ""));
    require(*options.learning_rate >= 1e-15 && *options.learning_rate <= 1e15,
            fmt::format("{} must be in [1e-15, 1e+15], not {:g}", mention("learning_rate"),
                        *options.learning_rate));
  }
}

int usual_update_iterations(const Model& model, const UpdateOptions& options) {
  return algorithm_of(model.params)->usual_update(options.by).iterations;
}

TrainingParams params_of_update(const Model& model, const UpdateOptions& options) {
  if (!by_sgd(options)) return model.params;
  return algorithm_of(model.params)->update_steps().value();
}

UpdatedModel update_model(const Model& model, const Interactions& more,
                          const UpdateOptions& options, const Device& device,
                          const RunControl& control) {
  require_updatable(model, options);
  require_no_half_life(more, feedback_of(model.params));
  require_fading_read(more, model.params);
  if (more.by_user.nnz() == 0) {
    throw Error(ErrorKind::kBadData, "there are no new interactions: nothing to update with");
  }
  Growth growth = grow(model, more, options.duplicates);
  const UpdateTask task{model,
                        more,
                        growth,
                        options,
                        device,
                        control,
                        options.iterations.value_or(usual_update_iterations(model, options))};
  const std::unique_ptr<const Algorithm> algorithm = algorithm_of(model.params);
  Refined refined =
      naming_ids(growth.users.ids, growth.items.ids, more, [&] { return algorithm->update(task); });
  UpdatedModel updated{{}, growth.repeated, refined.users, refined.items};
  Model& grown = updated.model;
  grown.provenance = model.provenance;
  grown.provenance.updates.push_back(note_of(task));
  grown.params = model.params;
  grown.trained_spread = spread_kept(task, *algorithm);
  grown.titles = titles_at(model.titles, growth.items.first, growth.items.ids.size());
  grown.users = std::move(growth.users.ids);
  grown.items = std::move(growth.items.ids);
  grown.history = std::move(growth.history);
  grown.learned = std::move(refined.learned);
  grown.iterations = without_validation(model.iterations);
  grown.best_iteration = model.best_iteration;
  grown.stop_reason = model.stop_reason;
  learn_features_again(model, growth, grown, control);
  return updated;
}

}  // namespace likewise
