// SPDX-License-Identifier: Apache-2.0
#include "likewise/features.h"

#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <vector>

#include "background.h"
#include "gil.h"
#include "likewise/training.h"
#include "model.h"
#include "parameters.h"

namespace likewise::python {
namespace {

[[nodiscard]] Side side_of(const std::string& name) {
  return name == side_name(Side::kUsers) ? Side::kUsers : Side::kItems;
}

/// A table for Python, and what reading it met.
struct Tags {
  FeatureTable table;
  FeatureSummary summary;
};

[[nodiscard]] Tags read_table(const nb::object& path, const std::string& text,
                              const std::string& side, const std::vector<std::string>& columns) {
  const std::string file = optional_path(path);
  const WithoutGil without;
  Tags tags;
  if (file.empty()) {
    tags.table =
        features_from_text(text, side + " features", side_of(side), {columns, true}, &tags.summary);
  } else {
    tags.table = read_features(file, side_of(side), {columns}, &tags.summary);
  }
  return tags;
}

/// Of a model that nobody else has yet.
[[nodiscard]] nb::dict add_tags(Trained& model, const Tags& tags, const std::string& side,
                                std::optional<double> regularization, int threads,
                                const nb::object& progress) {
  const LearnedFeatures done =
      in_background(true, threads, progress, [&](const RunControl& control) {
        return add_features(*model.model, side_of(side), tags.table, {regularization}, control);
      });
  nb::dict told;
  told["tags"] = done.tags;
  told["joined"] = done.joined;
  told["cold"] = done.cold;
  told["strangers"] = done.strangers;
  told["regularization"] = done.regularization;
  return told;
}

}  // namespace

void bind_features(nb::module_& module) {
  nb::class_<Tags>(module, "FeatureTable")
      .def_prop_ro("format", [](const Tags& self) { return self.summary.format; })
      .def_prop_ro("tags", [](const Tags& self) { return self.table.tags.size(); })
      .def_prop_ro("rows", [](const Tags& self) { return self.table.ids.size(); });
  module.def("read_features", &read_table, "path"_a.none(), "text"_a, "side"_a, "columns"_a);
  module.def("add_features", &add_tags, "model"_a, "table"_a, "side"_a,
             "regularization"_a = nb::none(), "threads"_a = 0, "progress"_a = nb::none());
  module.def(
      "require_features",
      [](const nb::dict& given) { require_features(asked_params(request_of(given))); }, "params"_a);
  module.def(
      "rows_by_features",
      [](const Trained& self, const std::string& side) {
        return give(Array<Index>::copy_of(rows_by_features(*self.model, side_of(side))));
      },
      "model"_a, "side"_a);
}

}  // namespace likewise::python
