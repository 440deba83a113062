// SPDX-License-Identifier: Apache-2.0
#include "likewise/training.h"

#include <algorithm>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "background.h"
#include "columns.h"
#include "gil.h"
#include "interactions.h"
#include "likewise/als.h"
#include "likewise/bpr.h"
#include "likewise/device.h"
#include "likewise/error.h"
#include "likewise/knn.h"
#include "likewise/parameters.h"
#include "likewise/recommender.h"
#include "likewise/update.h"
#include "model.h"
#include "parameters.h"

namespace likewise::python {
namespace {

/// How a training is validated.
struct Measured {
  bool has_data = false;
  std::string metric;
  bool has_candidates = false;
  Index negatives = 0;
  std::optional<double> target;
};

[[nodiscard]] TrainingPlan make_plan(const Data& data, const nb::dict& given,
                                     const nb::object& device, const Measured& measured,
                                     const Trained* resume) {
  TrainingRequest request = request_of(given);
  ask_for(device, request);
  if (resume != nullptr) request.resume = resume->model.get();
  if (measured.has_data || !measured.metric.empty() || measured.has_candidates ||
      measured.negatives != 0 || measured.target) {
    request.validation = {measured.metric, measured.has_candidates, measured.negatives,
                          measured.target};
    // That there are no data to measure a target on is said first.
    if (!measured.has_data && measured.target) request.validation->metric.clear();
  }
  const WithoutGil without;
  return prepare(request, *data.interactions);
}

/// What a training of these parameters on these data would do, as likewise.TrainingPlan has it.
[[nodiscard]] nb::dict plan_training(const Data& data, const nb::dict& given,
                                     const nb::object& device, bool validates,
                                     const std::string& metric, bool candidates, Index negatives,
                                     std::optional<double> target, const Trained* resume) {
  const TrainingPlan plan =
      make_plan(data, given, device, {validates, metric, candidates, negatives, target}, resume);
  nb::dict origins;
  for (const ParameterOrigin& one : plan.origins) {
    const std::string_view origin = kOriginNames[static_cast<std::size_t>(one.origin)];
    origins[one.name.c_str()] = nb::str(origin.data(), origin.size());
  }
  nb::dict memory;
  for (const MemoryPlan::Part& part : plan.memory.parts) memory[part.name.c_str()] = part.bytes;
  nb::list notes;
  add_notes(plan.notes, notes);
  add_notes(plan.remarks, notes);
  nb::dict all;
  all["algorithm"] = std::string(algorithm_name(plan.params));
  all["algorithm_reason"] = plan.algorithm_reason;
  all["device"] = device_text(plan.device.device);
  all["device_reason"] = plan.device.reason;
  all["parameters"] = dict_of(plan.params);
  all["origins"] = origins;
  all["validation_metric"] = plan.validation ? plan.validation->metric : std::string();
  all["tuning"] = plan.tuning;
  all["memory"] = memory;
  all["notes"] = notes;
  all["text"] = describe(plan);
  return all;
}

void report(Background& background, const nb::object& listener, const Iteration& done) {
  if (listener.is_none()) return;
  background.call([&] { listener(done.iteration, done.seconds, done.objective, done.validation); });
}

/// (model, None, notes), or in place of None the exception that ended the training: Ctrl-C, or that
/// of a callback; the model is then what there was.
[[nodiscard]] nb::tuple train_model(const Data& data, const nb::dict& given,
                                    const nb::object& device, int threads, const Data* validation,
                                    const std::string& metric, const Data* candidates,
                                    Index negatives, std::optional<double> target,
                                    const nb::object& checkpoint, int checkpoint_every,
                                    const Trained* resume, const std::string& source,
                                    const nb::object& progress, const nb::object& on_iteration) {
  const TrainingPlan plan =
      make_plan(data, given, device,
                {validation != nullptr, metric, candidates != nullptr, negatives, target}, resume);
  Background background(progress);
  TrainingRun run;
  run.control = background.control();
  if (!plan.device.reason.empty()) run.control.remark(plan.device.reason);
  for (const std::string& one : plan.remarks) run.control.remark(spelled(one, as_keyword));
  run.validation = validation != nullptr ? validation->interactions.get() : nullptr;
  run.validation_candidates = candidates != nullptr ? candidates->interactions.get() : nullptr;
  run.checkpoint = {optional_path(checkpoint), checkpoint_every};
  run.source = source;
  if (iterates(plan.params)) {
    run.control.cancel = nullptr;
    run.stop = &background.cancelled();
  }
  run.on_iteration = [&](const TrainingState& state) {
    report(background, on_iteration, state.iterations.back());
  };
  std::optional<Model> model;
  std::vector<std::string> of_model;
  background.run(threads, [&] {
    model.emplace(train(plan, *data.interactions, run));
    of_model = notes_on(*model);
    background.keep_answer();
  });
  nb::list notes;
  add_notes(plan.notes, notes);
  add_notes(of_model, notes);
  return nb::make_tuple(Trained(std::move(*model)), background.interruption(), notes);
}

/// Sparse rows of Python's, borrowed; offsets are made 64-bit.
struct BorrowedCsr {
  Array<Offset> offsets;
  CsrView view;
};
[[nodiscard]] BorrowedCsr borrow(const nb::object& offsets, const In<Index>& columns,
                                 const In<float>& values, Index cols) {
  BorrowedCsr result;
  std::visit(
      [&](const auto& given) {
        if (given.empty()) throw Error(ErrorKind::kInvalidArgument, "indptr is empty");
        result.offsets = Array<Offset>::uninitialized(std::ssize(given));
        std::ranges::copy(given, result.offsets.begin());
      },
      integer_span(offsets, "indptr"));
  const auto rows = static_cast<Index>(result.offsets.size() - 1);
  if (result.offsets[rows] != static_cast<Offset>(columns.size()) ||
      columns.size() != values.size()) {
    throw Error(ErrorKind::kInvalidArgument,
                "indptr ends at " + std::to_string(result.offsets[rows]) + ", but there are " +
                    std::to_string(columns.size()) + " indices and " +
                    std::to_string(values.size()) + " values");
  }
  result.view = {rows, cols, result.offsets.data(), columns.data(), values.data()};
  return result;
}

/// Where a training of factors starts; empty tables: nowhere.
[[nodiscard]] Factors first_factors(const std::optional<InMatrix<float>>& users,
                                    const std::optional<InMatrix<float>>& items,
                                    const std::optional<In<float>>& item_bias) {
  Factors start;
  if (!users || !items) return start;
  start.users = matrix_of(*users);
  start.items = matrix_of(*items);
  if (item_bias) {
    start.item_bias = Array<float>::uninitialized(static_cast<Offset>(item_bias->size()));
    std::copy_n(item_bias->data(), item_bias->size(), start.item_bias.begin());
  }
  return start;
}

/// A training on sparse rows of Python's, which are borrowed: decided without the data at once, and
/// with them in the background.
class BorrowedTraining {
 public:
  BorrowedTraining(const nb::object& offsets, const In<Index>& columns, const In<float>& values,
                   Index cols, const nb::dict& given, const nb::object& device)
      : matrix_(borrow(offsets, columns, values, cols)), request_(request_of(given)) {
    ask_for(device, request_);
    const WithoutGil without;
    outline_.emplace(outline(request_));
  }

  [[nodiscard]] const CsrView& matrix() const { return matrix_.view; }
  [[nodiscard]] const TrainingOutline& asked() const { return *outline_; }

  /// The model keeps nothing that is borrowed. `what` names the matrix in messages.
  [[nodiscard]] Model train(const TrainingRun& run, const char* what) const {
    const CsrView& view = matrix_.view;
    validate(view, what);
    const Interactions data{IdMap::range(view.rows),
                            IdMap::range(view.cols),
                            {view.rows, view.cols, lent(view.offsets, Offset{view.rows} + 1),
                             lent(view.columns, view.nnz()), lent(view.values, view.nnz())}};
    const TrainingPlan plan = prepare(request_, *outline_, data);
    if (!plan.device.reason.empty()) run.control.remark(plan.device.reason);
    Model model = likewise::train(plan, data, run);
    model.history = {};
    return model;
  }

 private:
  template <class T>
  [[nodiscard]] static Array<T> lent(const T* values, Offset count) {
    return Array<T>::over(nullptr, const_cast<T*>(values), count);
  }

  BorrowedCsr matrix_;
  TrainingRequest request_;
  std::optional<TrainingOutline> outline_;
};

/// A table for Python, copied.
[[nodiscard]] Out<float> copy_of(const MatrixView& table) {
  auto copy = Array<float>::uninitialized(Offset{table.rows} * table.cols);
  for (Index r = 0; r < table.rows; ++r) {
    std::copy_n(table.row(r), table.cols, copy.begin() + Offset{r} * table.cols);
  }
  return give(std::move(copy),
              {static_cast<std::size_t>(table.rows), static_cast<std::size_t>(table.cols)});
}

/// What a listener may look at while it is called: a function that copies the factors so far, as
/// (users, items, item_bias), where item_bias may be empty; None once the training has gone on.
class Look {
 public:
  explicit Look(const TrainingState& state)
      : state_(std::make_shared<const TrainingState*>(&state)) {}
  ~Look() { *state_ = nullptr; }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;

  [[nodiscard]] nb::object function() const {
    return nb::cpp_function([state = state_]() -> nb::object {
      if (*state == nullptr) return nb::none();
      const Factors& now = (*state)->factors();
      auto bias = Array<float>::uninitialized(now.item_bias.size());
      std::ranges::copy(now.item_bias, bias.begin());
      return nb::make_tuple(copy_of(now.users.view()), copy_of(now.items.view()),
                            give(std::move(bias)));
    });
  }

 private:
  std::shared_ptr<const TrainingState*> state_;
};

/// Of an algorithm that learns factors by iterations: (model, None), or in place of None the
/// exception that ended the training, Ctrl-C or that of a callback; the model is then what there
/// was. The listener gets (iteration, seconds, objective, look), with look() of Look; with `hits`
/// (of BPR) it gets (correct, skipped) too.
[[nodiscard]] nb::tuple train_factors(const nb::object& offsets, const In<Index>& columns,
                                      const In<float>& values, Index cols, const nb::dict& given,
                                      const nb::object& device, int threads,
                                      const std::optional<InMatrix<float>>& users,
                                      const std::optional<InMatrix<float>>& items,
                                      const std::optional<In<float>>& item_bias, bool hits,
                                      const nb::object& progress, const nb::object& on_iteration) {
  const BorrowedTraining training(offsets, columns, values, cols, given, device);
  const Factors start = first_factors(users, items, item_bias);
  Background background(progress);
  TrainingRun run;
  run.control = background.control();
  if (iterates(training.asked().params)) {
    run.control.cancel = nullptr;
    run.stop = &background.cancelled();
  }
  if (users && items) run.start = &start;
  run.on_iteration = [&](const TrainingState& state) {
    if (on_iteration.is_none()) return;
    const Iteration& done = state.iterations.back();
    std::optional<BprHits> found;
    if (hits) {
      found = sample_hits(training.matrix(), state.factors(),
                          std::get<BprParams>(training.asked().params), done.iteration);
    }
    background.call([&] {
      const Look look(state);
      if (!found) {
        on_iteration(done.iteration, done.seconds, done.objective, look.function());
      } else {
        on_iteration(done.iteration, done.seconds, done.objective, look.function(),
                     nb::make_tuple(found->correct, found->skipped));
      }
    });
  };
  std::optional<Model> model;
  background.run(threads, [&] {
    model.emplace(training.train(run, "user_items"));
    background.keep_answer();
  });
  return nb::make_tuple(Trained(std::move(*model)), background.interruption());
}

/// The nearest rows: (indptr, indices, similarities).
[[nodiscard]] nb::tuple train_knn_lists(const nb::object& offsets, const In<Index>& columns,
                                        const In<float>& values, Index cols, const nb::dict& given,
                                        const nb::object& device, int threads,
                                        const nb::object& progress) {
  const BorrowedTraining training(offsets, columns, values, cols, given, device);
  Model model = in_background(true, threads, progress, [&](const RunControl& control) {
    TrainingRun run;
    run.control = control;
    return training.train(run, "matrix");
  });
  KnnLists& found = std::get<Knn>(model.learned).neighbours;
  if (found.offsets.empty()) found.offsets = Array<Offset>(1);
  return nb::make_tuple(give(std::move(found.offsets)), give(std::move(found.rows)),
                        give(std::move(found.similarities)));
}

/// The name of a way to update, "als" or "sgd".
[[nodiscard]] UpdateBy update_by(const std::string& name) {
  const auto* const found = std::ranges::find(kUpdateByNames, name);
  if (found == std::end(kUpdateByNames)) {
    throw Error(ErrorKind::kInvalidArgument, "by must be als or sgd, not \"" + name + "\"");
  }
  return static_cast<UpdateBy>(found - std::begin(kUpdateByNames));
}

[[nodiscard]] DeviceChoice device_to_update(const nb::object& device,
                                            const TrainingParams& params) {
  if (nb::isinstance<Device>(device)) return {nb::cast<Device>(device), {}};
  const std::string name = device_name(device);
  const WithoutGil without;
  return open_device_to_train(name, params);
}

[[nodiscard]] Trained update(const Trained& model, const Data& more,
                             const std::optional<std::string>& by, std::optional<int> iterations,
                             std::optional<double> learning_rate, const std::string& source,
                             const nb::object& device, int threads, const nb::object& progress) {
  UpdateOptions options;
  options.duplicates = more.summary.policy;
  if (by) options.by = update_by(*by);
  options.iterations = iterations;
  options.learning_rate = learning_rate;
  options.source = source;
  require_updatable(*model.model, options);
  const DeviceChoice chosen = device_to_update(device, params_of_update(*model.model, options));
  return Trained(in_background(true, threads, progress, [&](const RunControl& control) {
                   return update_model(*model.model, *more.interactions, options, chosen.device,
                                       control);
                 }).model);
}

}  // namespace

void bind_training(nb::module_& module) {
  module.def("train", &train_model, "data"_a, "params"_a, "device"_a = "auto", "threads"_a = 0,
             "validation"_a = nb::none(), "metric"_a = "", "candidates"_a = nb::none(),
             "negatives"_a = 0, "target"_a = nb::none(), "checkpoint"_a = nb::none(),
             "checkpoint_every"_a = 1, "resume"_a = nb::none(), "source"_a = "",
             "progress"_a = nb::none(), "on_iteration"_a = nb::none());
  module.def("plan", &plan_training, "data"_a, "params"_a, "device"_a = "auto",
             "validates"_a = false, "metric"_a = "", "candidates"_a = false, "negatives"_a = 0,
             "target"_a = nb::none(), "resume"_a = nb::none());
  module.def("train_factors", &train_factors, "indptr"_a, "indices"_a.noconvert(),
             "values"_a.noconvert(), "cols"_a, "params"_a, "device"_a = "auto", "threads"_a = 0,
             "users"_a.noconvert() = nb::none(), "items"_a.noconvert() = nb::none(),
             "item_bias"_a.noconvert() = nb::none(), "hits"_a = false, "progress"_a = nb::none(),
             "on_iteration"_a = nb::none());
  module.def("train_neighbours", &train_knn_lists, "indptr"_a, "indices"_a.noconvert(),
             "values"_a.noconvert(), "cols"_a, "params"_a, "device"_a = "auto", "threads"_a = 0,
             "progress"_a = nb::none());
  module.def("update", &update, "model"_a, "more"_a, "by"_a = nb::none(),
             "iterations"_a = nb::none(), "learning_rate"_a = nb::none(), "source"_a = "",
             "device"_a = "auto", "threads"_a = 0, "progress"_a = nb::none());
  module.def("parameters", &parameters, "algorithm"_a);
  module.def("algorithms", [] {
    nb::list names;
    for (const std::string_view name : algorithm_names())
      names.append(nb::str(name.data(), name.size()));
    return names;
  });
}

}  // namespace likewise::python
