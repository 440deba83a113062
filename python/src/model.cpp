// SPDX-License-Identifier: Apache-2.0
#include "model.h"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <shared_mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "background.h"
#include "interactions.h"
#include "likewise/error.h"
#include "likewise/query.h"
#include "likewise/read.h"
#include "likewise/titles.h"
#include "parameters.h"

namespace likewise::python {
namespace {

[[nodiscard]] const Model& model_of(nb::handle self) {
  return *nb::cast<const Trained&>(self).model;
}

[[nodiscard]] const Factors& factors_of(nb::handle self) {
  const Model& model = model_of(self);
  if (model.factors() != nullptr) return *model.factors();
  throw Error(ErrorKind::kInvalidArgument,
              std::string(model.algorithm()) + " has no factors: train with the algorithm als");
}

[[nodiscard]] nb::list iterations_of(const Trained& self) {
  nb::list result;
  const std::vector<double> elapsed = elapsed_seconds(self.model->iterations);
  for (std::size_t i = 0; i < elapsed.size(); ++i) {
    const Iteration& done = self.model->iterations[i];
    nb::dict line;
    line["iteration"] = done.iteration;
    line["objective"] = done.objective;
    line["seconds"] = done.seconds;
    line["elapsed"] = elapsed[i];
    line["validation"] = done.validation;
    result.append(line);
  }
  return result;
}

[[nodiscard]] nb::dict provenance_of(const Trained& self) {
  const Provenance& from = self.model->provenance;
  nb::dict result;
  result["likewise_version"] = from.likewise_version;
  result["created"] = from.created;
  result["source"] = from.source;
  result["device"] = from.device;
  nb::list updates;
  for (const ModelUpdate& one : from.updates) {
    nb::dict line;
    line["created"] = one.created;
    line["source"] = one.source;
    line["device"] = one.device;
    line["interactions"] = one.interactions;
    line["users"] = one.users;
    line["items"] = one.items;
    line["iterations"] = one.iterations;
    if (!one.by.empty()) line["by"] = one.by;
    updates.append(line);
  }
  result["updates"] = updates;
  if (!from.choice.empty()) result["choice"] = from.choice;
  if (const auto& search = from.search) {
    nb::dict found;
    found["metric"] = search->metric;
    found["value"] = search->value;
    found["baseline"] = search->baseline;
    found["baseline_value"] = search->baseline_value;
    found["trials"] = search->trials;
    found["seconds"] = search->seconds;
    found["budget"] = search->budget;
    found["validation"] = search->validation;
    found["seed"] = search->seed;
    result["search"] = found;
  }
  return result;
}

template <Side kSide>
[[nodiscard]] View<float> factors_view(nb::handle self) {
  return view_of(factors_of(self).side(kSide).view(), self);
}
template <Side kSide>
[[nodiscard]] nb::object bias_view(nb::handle self) {
  const Biases* biases = model_of(self).biases();
  const Array<float>& bias = biases != nullptr ? biases->bias(kSide) : factors_of(self).bias(kSide);
  return bias.empty() ? nb::none() : nb::cast(view_of(bias.span(), self));
}

[[nodiscard]] float global_mean(nb::handle self) {
  const Biases* biases = model_of(self).biases();
  return biases != nullptr ? biases->mean : factors_of(self).global_mean;
}

[[nodiscard]] nb::tuple neighbours_of(nb::handle self) {
  const Knn* learned = model_of(self).knn();
  if (learned == nullptr) {
    throw Error(ErrorKind::kInvalidArgument,
                std::string(model_of(self).algorithm()) +
                    " keeps no neighbours: train with the algorithm item-knn or user-knn");
  }
  const KnnLists& kept = learned->neighbours;
  return nb::make_tuple(view_of(kept.offsets.span(), self), view_of(kept.rows.span(), self),
                        view_of(kept.similarities.span(), self));
}

[[nodiscard]] Trained load(nb::handle file) {
  const std::string path = file_path(file);
  const WithoutGil without;
  return Trained(load_model(path));
}

/// Of a model that keeps none.
[[nodiscard]] CsrMatrix empty_history(Index users, Index items) {
  return {users, items, Array<Offset>(Offset{users} + 1), {}, {}};
}

void require_rows(const InMatrix<float>& factors, Index wanted, const char* side) {
  if (factors.shape(0) == static_cast<std::size_t>(wanted)) return;
  throw Error(ErrorKind::kInvalidArgument,
              std::string(side) + "_factors have " + std::to_string(factors.shape(0)) +
                  " rows; the interactions have " + std::to_string(wanted) + " " + side + "s");
}

/// Ids that rise: an int64 array, a list of text, or None for 0, 1, 2, ...
[[nodiscard]] IdMap ids_of(nb::handle given, std::size_t rows, const char* what) {
  if (given.is_none()) return IdMap::range(static_cast<Index>(rows));
  IdMap ids;
  if (In<std::int64_t> integers; nb::try_cast<In<std::int64_t>>(given, integers, false)) {
    ids = IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(span_of(integers)));
  } else {
    std::string chars;
    std::vector<Offset> offsets{0};
    for (const auto& text : nb::cast<std::vector<std::string>>(given)) {
      chars += text;
      offsets.push_back(std::ssize(chars));
    }
    ids = IdMap::from_sorted_text(Array<char>::copy_of(chars), Array<Offset>::copy_of(offsets));
  }
  if (static_cast<std::size_t>(ids.size()) == rows) return ids;
  throw Error(ErrorKind::kInvalidArgument,
              std::to_string(ids.size()) + " ids for " + std::to_string(rows) + " rows of " + what);
}

[[nodiscard]] Trained from_factors(const InMatrix<float>& users, const InMatrix<float>& items,
                                   const nb::dict& params, const Data* data,
                                   const nb::object& user_ids, const nb::object& item_ids) {
  Model model;
  model.params = params_of(params);
  auto* als = std::get_if<AlsParams>(&model.params);
  if (als == nullptr) {
    throw Error(ErrorKind::kInvalidArgument, "a model of factors has the algorithm als");
  }
  if (users.shape(1) != items.shape(1)) {
    throw Error(ErrorKind::kInvalidArgument, "users have " + std::to_string(users.shape(1)) +
                                                 " factors, items " +
                                                 std::to_string(items.shape(1)));
  }
  als->factors = static_cast<int>(users.shape(1));
  als->biases = false;
  if (data != nullptr) {
    const Interactions& known = *data->interactions;
    require_rows(users, known.users.size(), "user");
    require_rows(items, known.items.size(), "item");
    model.users = known.users.share();
    model.items = known.items.share();
    model.history = known.by_user.share();
  } else {
    model.users = ids_of(user_ids, users.shape(0), "users");
    model.items = ids_of(item_ids, items.shape(0), "items");
    model.history = empty_history(model.users.size(), model.items.size());
  }
  Factors factors;
  factors.users = matrix_of(users);
  factors.items = matrix_of(items);
  model.learned = std::move(factors);
  model.validate();
  return Trained(std::move(model));
}

/// Waits for whoever saves the model.
void take_titles(Trained& self, Titles titles) {
  std::unique_lock lock(*self.titles, std::defer_lock);
  while (!lock.try_lock()) {  // nobody waits for the GIL with the lock held
    const WithoutGil without;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  self.model->titles = std::move(titles);
}

void set_titles(Trained& self, const std::vector<std::string>& titles) {
  const bool none = std::ranges::all_of(titles, &std::string::empty);
  Titles made = none ? Titles{} : make_titles(titles);
  made.validate(self.model->items.size());
  take_titles(self, std::move(made));
}

/// Reads titles of the model's items; what is to be said of the file, or "".
[[nodiscard]] nb::dict read_model_titles(Trained& self, nb::handle file,
                                         const std::vector<std::string>& columns) {
  const std::string path = file_path(file);
  TitleSummary summary;
  take_titles(self, read_titles(path, self.model->items, {columns}, &summary));
  nb::dict result;
  result["titles"] = self.model->titles.count();
  result["unknown"] = summary.unknown;
  result["remark"] = summary.remark;
  result["format"] = summary.format;
  return result;
}

[[nodiscard]] nb::list titles_at(const Trained& self, const In<Index>& items) {
  nb::list result;
  for (const Index item : span_of(items)) {
    const std::string_view title = self.model->titles.of(item);
    result.append(nb::str(title.data(), title.size()));
  }
  return result;
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<Trained>(module, "Model", "Everything that training produced and serving needs.")
      .def_static("load", &load, "path"_a)
      .def_static("from_factors", &from_factors, "user_factors"_a.noconvert(),
                  "item_factors"_a.noconvert(), "params"_a, "interactions"_a = nb::none(),
                  "user_ids"_a.noconvert() = nb::none(), "item_ids"_a.noconvert() = nb::none())
      .def(
          "save",
          [](const Trained& self, nb::handle file) {
            const std::string path = file_path(file);
            const WithoutGil without;
            const std::shared_lock lock(*self.titles);
            save_model(*self.model, path);
          },
          "path"_a)
      .def_prop_ro("algorithm",
                   [](const Trained& self) { return std::string(self.model->algorithm()); })
      .def_prop_ro("params", [](const Trained& self) { return dict_of(self.model->params); })
      .def_prop_ro("users",
                   [](const Trained& self) {
                     return IdNames{self.model, &self.model->users};
                   })
      .def_prop_ro("items",
                   [](const Trained& self) {
                     return IdNames{self.model, &self.model->items};
                   })
      .def_prop_ro("user_factors", &factors_view<Side::kUsers>)
      .def_prop_ro("item_factors", &factors_view<Side::kItems>)
      .def_prop_ro("user_bias", &bias_view<Side::kUsers>)
      .def_prop_ro("item_bias", &bias_view<Side::kItems>)
      .def_prop_ro("global_mean", &global_mean)
      .def_prop_ro("neighbours", &neighbours_of)
      .def("history", [](nb::handle self) { return csr_of(model_of(self).history.view(), self); })
      .def_prop_ro("value_of_a_like",
                   [](const Trained& self) { return value_of_a_like(*self.model); })
      .def_prop_ro("iterations", &iterations_of)
      .def_prop_ro("best_iteration", [](const Trained& self) { return self.model->best_iteration; })
      .def_prop_ro("validation_metric",
                   [](const Trained& self) { return self.model->validation_metric; })
      .def_prop_ro("validation_among",
                   [](const Trained& self) { return self.model->validation_among; })
      .def_prop_ro("validation", [](const Trained& self) { return self.model->best_validation(); })
      .def_prop_ro("stop_reason", [](const Trained& self) { return self.model->stop_reason; })
      .def_prop_ro("provenance", &provenance_of)
      .def_prop_ro("has_titles", [](const Trained& self) { return !self.model->titles.empty(); })
      .def("set_titles", &set_titles, "titles"_a)
      .def("read_titles", &read_model_titles, "path"_a, "columns"_a)
      .def("titles_at", &titles_at, "items"_a.noconvert());
}

}  // namespace likewise::python
