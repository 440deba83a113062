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
#include "features.h"
#include "gil.h"
#include "interactions.h"
#include "likewise/query.h"
#include "likewise/training.h"
#include "model.h"
#include "parameters.h"

namespace likewise::python {
namespace {

[[nodiscard]] Side side_of(const std::string& name) {
  return name == side_name(Side::kUsers) ? Side::kUsers : Side::kItems;
}

[[nodiscard]] Tags read_table(const nb::object& path, const std::string& text,
                              const std::string& side, const std::vector<std::string>& columns,
                              const Trained* earlier) {
  const std::string file = optional_path(path);
  const IdMap* known = earlier == nullptr ? nullptr : &earlier->model->features(side_of(side)).tags;
  const WithoutGil without;
  Tags tags;
  if (file.empty()) {
    tags.table = features_from_text(text, side + " features", side_of(side),
                                    {columns, true, true, known}, &tags.summary);
  } else {
    tags.table = read_features(file, side_of(side), {columns, false, {}, known}, &tags.summary);
  }
  return tags;
}

[[nodiscard]] FeatureTable shared(const FeatureTable& table) {
  return {table.ids.share(), table.tags.share(), table.weights.share()};
}

[[nodiscard]] nb::object told(const std::optional<LearnedFeatures>& learned) {
  if (!learned) return nb::none();
  const LearnedFeatures& done = *learned;
  nb::dict told;
  told["tags"] = done.tags;
  told["joined"] = done.joined;
  told["cold"] = done.cold;
  told["strangers"] = done.strangers;
  told["regularization"] = done.regularization;
  return told;
}

/// Of a model that nobody else has yet.
[[nodiscard]] nb::dict add_tags(Trained& model, const nb::tuple& features, int threads,
                                const nb::object& progress) {
  const FeatureTables tables = tables_of(features);
  return dict_of(in_background(true, threads, progress, [&](const RunControl& control) {
    return add_features(*model.model, tables, control);
  }));
}

/// (rows of the table, those left out, (indptr, tags, weights))
[[nodiscard]] nb::tuple visitors(const Trained& model, const Tags& tags, bool skip) {
  const Visitors found =
      visitors_of(*model.model, tags.table, skip ? UnknownIds::kLeaveOut : UnknownIds::kRefuse);
  std::vector<Index> rows;
  std::vector<Offset> offsets{0};
  std::vector<Index> carried;
  std::vector<float> weights;
  for (std::size_t v = 0; v < found.rows.size(); ++v) {
    const FoldInRow& row = found.rows[v];
    rows.push_back(row_of(tags.table.ids, found.names[v], "user"));
    carried.insert(carried.end(), row.tags.begin(), row.tags.end());
    weights.insert(weights.end(), row.tag_weights.begin(), row.tag_weights.end());
    offsets.push_back(std::ssize(carried));
  }
  return nb::make_tuple(
      give(Array<Index>::copy_of(rows)), found.strangers,
      nb::make_tuple(give(Array<Offset>::copy_of(offsets)), give(Array<Index>::copy_of(carried)),
                     give(Array<float>::copy_of(weights))));
}

}  // namespace

FeatureTables tables_of(const nb::tuple& features) {
  FeatureTables tables;
  if (!features[0].is_none()) tables.users = shared(nb::cast<const Tags&>(features[0]).table);
  if (!features[1].is_none()) tables.items = shared(nb::cast<const Tags&>(features[1]).table);
  tables.learning.regularization = nb::cast<std::optional<double>>(features[2]);
  return tables;
}

nb::dict dict_of(const LearnedTables& learned) {
  nb::dict sides;
  sides["users"] = told(learned.users);
  sides["items"] = told(learned.items);
  return sides;
}

void bind_features(nb::module_& module) {
  nb::class_<Tags>(module, "FeatureTable")
      .def_prop_ro("format", [](const Tags& self) { return self.summary.format; })
      .def_prop_ro("unknown_columns", [](const Tags& self) { return self.table.unknown_columns; })
      .def_prop_ro("ids",
                   [](const Tags& self) {
                     const auto ids = std::make_shared<const IdMap>(self.table.ids.share());
                     return IdNames{ids, ids.get()};
                   })
      .def_prop_ro("tags", [](const Tags& self) { return self.table.tags.size(); })
      .def_prop_ro("rows", [](const Tags& self) { return self.table.ids.size(); });
  module.def("read_features", &read_table, "path"_a.none(), "text"_a, "side"_a, "columns"_a,
             "earlier"_a.none() = nb::none());
  module.def("visitors_of", &visitors, "model"_a, "table"_a, "skip"_a);
  module.def("add_features", &add_tags, "model"_a, "features"_a, "threads"_a = 0,
             "progress"_a = nb::none());
  module.def(
      "check_features",
      [](const Data& data, const nb::tuple& features) {
        check_features(*data.interactions, tables_of(features));
      },
      "data"_a, "features"_a);
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
