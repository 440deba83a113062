// SPDX-License-Identifier: Apache-2.0
#include "likewise/update.h"

#include <utility>

#include <fmt/format.h>

#include "algorithms/finite.h"
#include "core/placed_error.h"
#include "core/require.h"
#include "core/utc_now.h"
#include "likewise/bias.h"
#include "likewise/error.h"
#include "likewise/popularity.h"
#include "training/growth.h"

namespace likewise {
namespace {

constexpr int kMostIterations = 10'000;

[[nodiscard]] bool by_sgd(const UpdateOptions& options) { return options.by == UpdateBy::kSgd; }

/// The usual number, and whether steps have a learning rate: an algorithm without these does not
/// compile.
struct Course {
  int iterations = 0;
  bool has_rate = false;
};
[[nodiscard]] Course course_of(const AlsParams&, const UpdateOptions& options) {
  return by_sgd(options) ? Course{3, true} : Course{2, false};
}
[[nodiscard]] Course course_of(const SgdParams&, const UpdateOptions&) { return {3, true}; }
[[nodiscard]] Course course_of(const BprParams&, const UpdateOptions&) { return {10, true}; }
[[nodiscard]] Course course_of(const NeighbourParams&, const UpdateOptions&) { return {}; }
[[nodiscard]] Course course_of(const PopularParams&, const UpdateOptions&) { return {}; }
[[nodiscard]] Course course_of(const BiasParams&, const UpdateOptions&) { return {}; }

[[nodiscard]] Course course_of(const Model& model, const UpdateOptions& options) {
  return std::visit([&](const auto& params) { return course_of(params, options); }, model.params);
}

/// Titles of the items that had one, where these are now.
[[nodiscard]] Titles titles_at(const Titles& titles, const std::vector<Index>& places,
                               Index items) {
  if (titles.empty()) return {};
  std::vector<std::string> by_item(static_cast<std::size_t>(items));
  for (std::size_t i = 0; i < places.size(); ++i) {
    by_item[static_cast<std::size_t>(places[i])] = titles.of(static_cast<Index>(i));
  }
  return make_titles(by_item);
}

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
[[nodiscard]] double spread_kept(const UpdateTask& task) {
  if (const auto* sgd = std::get_if<SgdParams>(&task.model.params)) {
    return trained_spread(task, *sgd);
  }
  const auto* als = std::get_if<AlsParams>(&task.model.params);
  const bool steps = als != nullptr && als->feedback == Feedback::kExplicit;
  return steps ? trained_spread(task, sgd_params_of(*als)) : 0.0;
}

}  // namespace

void require_updatable(const Model& model, const UpdateOptions& options) {
  const bool under_way = !model.iterations.empty() && model.stop_reason.empty();
  require(!under_way && !model.last,
          "a checkpoint of a training under way cannot be updated: finish it first, by resuming");
  require(model.history.rows == model.users.size() && model.history.cols == model.items.size(),
          "the model was made without its interactions, which an update needs: train it anew");
  const auto* als = std::get_if<AlsParams>(&model.params);
  require(!options.by || als != nullptr,
          fmt::format("by {} says how models of als are updated; this one is of {}",
                      options.by ? kUpdateByNames[static_cast<std::size_t>(*options.by)] : "",
                      model.algorithm()));
  require(!by_sgd(options) || als->feedback == Feedback::kExplicit,
          "by sgd needs a model of explicit feedback: of implicit feedback als weighs all cells, "
          "and steps over the new ones would leave the others out");
  const Course course = course_of(model, options);
  if (options.iterations) {
    require(course.iterations > 0,
            fmt::format("iterations would do nothing: an update of {} is exact, without iterations",
                        model.algorithm()));
    require(
        *options.iterations >= 1 && *options.iterations <= kMostIterations,
        fmt::format("iterations must be in [1, {}], not {}", kMostIterations, *options.iterations));
  }
  if (options.learning_rate) {
    require(course.has_rate,
            fmt::format("learning_rate would do nothing: it is for steps of sgd and bpr{}",
                        als != nullptr ? ", as by sgd takes them" : ""));
    require(
        *options.learning_rate >= 1e-15 && *options.learning_rate <= 1e15,
        fmt::format("learning_rate must be in [1e-15, 1e+15], not {:g}", *options.learning_rate));
  }
}

int usual_update_iterations(const Model& model, const UpdateOptions& options) {
  return course_of(model, options).iterations;
}

TrainingParams params_of_update(const Model& model, const UpdateOptions& options) {
  if (!by_sgd(options)) return model.params;
  return sgd_params_of(std::get<AlsParams>(model.params));
}

Refined refine(const PopularParams& params, const UpdateTask& task) {
  return {train_popularity(task.growth.history.view(), params), 0, task.growth.items.ids.size()};
}

Refined refine(const BiasParams& params, const UpdateTask& task) {
  Baselines learned = train_baselines(task.growth.history.view(), params, task.control);
  return {std::move(learned), params.of_users() ? task.growth.users.ids.size() : 0,
          params.of_items() ? task.growth.items.ids.size() : 0};
}

UpdatedModel update_model(const Model& model, const Interactions& more,
                          const UpdateOptions& options, const Device& device,
                          const RunControl& control) {
  require_updatable(model, options);
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
  Refined refined = naming_ids(growth.users.ids, growth.items.ids, more, [&] {
    return std::visit([&](const auto& params) { return refine(params, task); }, model.params);
  });
  UpdatedModel updated{{}, growth.repeated, refined.users, refined.items};
  Model& grown = updated.model;
  grown.provenance = model.provenance;
  grown.provenance.updates.push_back(note_of(task));
  grown.params = model.params;
  grown.trained_spread = spread_kept(task);
  grown.titles = titles_at(model.titles, growth.items.first, growth.items.ids.size());
  grown.users = std::move(growth.users.ids);
  grown.items = std::move(growth.items.ids);
  grown.history = std::move(growth.history);
  grown.learned = std::move(refined.learned);
  grown.iterations = without_validation(model.iterations);
  grown.best_iteration = model.best_iteration;
  grown.stop_reason = model.stop_reason;
  return updated;
}

}  // namespace likewise
