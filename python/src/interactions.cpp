// SPDX-License-Identifier: Apache-2.0
#include "interactions.h"

#include <algorithm>
#include <array>
#include <limits>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <utility>

#include "background.h"
#include "columns.h"
#include "likewise/error.h"
#include "likewise/make_interactions.h"
#include "likewise/split.h"
#include "likewise/write.h"
#include "names.h"
#include "parameters.h"

namespace likewise::python {
namespace {

constexpr std::string_view kBadRows[] = {"fail", "skip"};
constexpr std::string_view kHeaders[] = {"auto", "yes", "no"};
constexpr std::string_view kTimeUnits[] = {"s", "ms", "us", "ns"};

/// The value of an option, or TypeError that names it.
template <class T>
[[nodiscard]] T wanted(const std::string& name, nb::handle value, const char* what) {
  T result{};
  if (nb::try_cast<T>(value, result)) return result;
  const std::string given = printable(nb::cast<std::string>(nb::repr(value)));
  throw nb::type_error((name + " must be " + what + ", not " + given).c_str());
}

/// The policies, by name; what is absent keeps its default.
[[nodiscard]] ReadOptions options_of(const nb::dict& given) {
  ReadOptions options;
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    const auto text = [&, one = nb::handle(value)] {
      return wanted<std::string>(name, one, "a str");
    };
    const auto count = [&, one = nb::handle(value)] {
      return wanted<Index>(name, one, "a whole number of 32 bits");
    };
    const auto truth = [&, one = nb::handle(value)] {
      return wanted<bool>(name, one, "True or False");
    };
    if (name == "duplicates") {
      options.duplicates = named<Duplicates>(text(), kDuplicateNames, "duplicates");
    } else if (name == "min_value") {
      options.min_value = wanted<double>(name, value, "a number");
    } else if (name == "min_user_count") {
      options.min_user_count = count();
    } else if (name == "min_item_count") {
      options.min_item_count = count();
    } else if (name == "on_bad_row") {
      options.on_bad_row = named<BadRows>(text(), kBadRows, "on_bad_row");
    } else if (name == "columns") {
      options.columns = wanted<std::vector<std::string>>(name, value, "a list of str");
    } else if (name == "delimiter") {
      options.delimiter = text();
    } else if (name == "header") {
      options.header = named<Header>(text(), kHeaders, "header");
    } else if (name == "format") {
      options.format = named<Format>(text(), kFormatNames, "format");
    } else if (name == "values") {
      using Values = std::vector<std::pair<std::string, double>>;
      options.word_values = wanted<Values>(name, value, "numbers by word");
    } else if (name == "since") {
      options.since = moment_of(name, text());
    } else if (name == "until") {
      options.until = moment_of(name, text());
    } else if (name == "now") {
      options.now = moment_of(name, text());
    } else if (name == "half_life") {
      options.half_life =
          parse_duration(wanted<std::string>(name, value, "a timedelta, or text such as \"90d\""));
      if (!options.half_life) {
        throw nb::value_error(
            "half_life must be a timedelta, or a time such as \"90d\", \"12h\" or \"1y\" (s, min, "
            "h, d, w, y)");
      }
    } else if (name == "decimal") {
      options.decimal = text();
    } else if (name == "time_format") {
      options.time_format = text();
    } else if (name == "whole_ids") {
      options.whole_ids = truth();
    } else if (name == "keep_times") {
      options.keep_times = truth();
    } else {
      throw nb::type_error(("reading has no option " + name).c_str());
    }
  }
  return options;
}

[[nodiscard]] Data from_files(const nb::list& files, const nb::dict& given, int threads,
                              const nb::object& progress) {
  std::vector<std::string> paths;
  for (const nb::handle file : files) paths.push_back(file_path(file));
  const ReadOptions options = options_of(given);
  ReadSummary summary;
  Interactions data = in_background(true, threads, progress, [&](const RunControl& control) {
    return read_interactions(paths, options, &summary, control);
  });
  return {std::move(data), std::move(summary)};
}

[[nodiscard]] std::optional<TimeForm> time_unit(const std::optional<std::string>& name) {
  return name ? std::optional(named<TimeForm>(*name, kTimeUnits, "time_unit")) : std::nullopt;
}

[[nodiscard]] TimeColumn times_of(const std::optional<In<std::int64_t>>& times,
                                  const std::optional<std::string>& unit) {
  TimeColumn column;
  if (times) column.numbers = span_of(*times);
  column.unit = time_unit(unit);
  return column;
}

/// Options that say how text is read, which `where` holds none of.
void refuse_options_of_text(const ReadOptions& options, const std::string& where) {
  if (!options.word_values.empty()) {
    throw nb::value_error(("values would do nothing: " + where + " holds no words").c_str());
  }
  if (options.decimal != ".") {
    throw nb::value_error(("decimal would do nothing: " + where + " holds no text").c_str());
  }
}

/// Values of numbers, or of a column of text, which go to `words`: then the options are used up.
[[nodiscard]] ValueSpan values_of(const nb::object& values, ReadOptions& options,
                                  std::vector<float>& words) {
  if (!nb::isinstance<Ids>(values)) {
    refuse_options_of_text(options, "the column of values");
    return value_span(values);
  }
  words = values_of_words(nb::cast<const Ids&>(values).column, options, "value");
  options.word_values.clear();
  options.decimal = ".";
  return std::span<const float>(words);
}

/// Numbers and their unit.
[[nodiscard]] nb::tuple with_unit(const WrittenTimes& times) {
  auto numbers = Array<std::int64_t>::copy_of(times.numbers);
  return nb::make_tuple(give(std::move(numbers)),
                        times.unit == TimeForm::kNanoseconds ? "ns" : "us");
}

[[nodiscard]] nb::tuple times_of_texts(const Ids& texts, const std::string& time_format) {
  return with_unit(times_of_text(texts.column, time_format));
}

[[nodiscard]] nb::tuple times_of_floats(const In<double>& numbers,
                                        const std::optional<std::string>& unit) {
  return with_unit(times_of_numbers(span_of(numbers), time_unit(unit)));
}

[[nodiscard]] Data from_columns(const Ids& users, const Ids& items, const nb::object& values,
                                const std::optional<In<std::int64_t>>& times,
                                const std::optional<std::string>& unit, const nb::dict& given,
                                int threads, const nb::object& progress) {
  ReadOptions options = options_of(given);
  std::vector<float> words;
  const ValueSpan numbers = values_of(values, options, words);
  const TimeColumn column = times_of(times, unit);
  ReadSummary summary;
  Interactions data = in_background(true, threads, progress, [&](const RunControl& control) {
    return make_interactions(users.column, items.column, numbers, column, options, &summary,
                             control);
  });
  return {std::move(data), std::move(summary)};
}

[[nodiscard]] Data from_csr(const nb::object& offsets, const nb::object& columns,
                            const nb::object& values, Index cols, const nb::dict& given,
                            int threads, const nb::object& progress) {
  const ReadOptions options = options_of(given);
  refuse_options_of_text(options, "a matrix");
  const CsrColumns rows{integer_span(offsets, "indptr"), integer_span(columns, "indices"), cols};
  const ValueSpan numbers = value_span(values);
  ReadSummary summary;
  Interactions data = in_background(true, threads, progress, [&](const RunControl& control) {
    return make_interactions(rows, numbers, {}, options, &summary, control);
  });
  return {std::move(data), std::move(summary)};
}

[[nodiscard]] nb::dict summary_of(const Data& data) {
  const ReadSummary& met = data.summary;
  nb::dict result;
  result["rows"] = met.rows;
  result["bad_rows"] = met.bad_rows;
  result["first_bad_row"] = spelled(met.first_bad_row, as_keyword);
  result["duplicates"] = met.duplicates;
  result["policy"] = std::string(kDuplicateNames[static_cast<std::size_t>(met.policy)]);
  result["outside_times"] = met.outside_times;
  result["faded"] = data.interactions->faded;
  result["below_min_value"] = met.below_min_value;
  result["below_min_count"] = met.below_min_count;
  result["format"] = met.format;
  result["columns"] = met.columns;
  return result;
}

/// Whether a time is one of datetime64[ns], in 64 bits: the years 1678 to 2261.
[[nodiscard]] bool fits_nanoseconds(const Time& time) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1'000'000'000;
  return time.seconds() >= -kMost && time.seconds() < kMost;
}

/// (numbers, "ns"), or "us" where nanoseconds do not hold them all, rounded down; or None.
[[nodiscard]] nb::object times_array(const Data& data) {
  const Interactions& all = *data.interactions;
  if (!all.has_times()) return nb::none();
  const bool fine = std::ranges::all_of(all.times, fits_nanoseconds);
  const std::int64_t per_second = fine ? 1'000'000'000 : 1'000'000;
  const std::uint32_t step = fine ? 1 : 1000;
  auto result = Array<std::int64_t>::uninitialized(all.times.size());
  for (Offset e = 0; e < all.times.size(); ++e) {
    result[e] = all.times[e].seconds() * per_second + all.times[e].nanoseconds() / step;
  }
  return nb::make_tuple(give(std::move(result)), fine ? "ns" : "us");
}

[[nodiscard]] std::vector<std::pair<Data, Data>> split_data(const Data& data,
                                                            const std::string& method, double test,
                                                            Index last, int folds, Index rows,
                                                            const std::optional<std::string>& at,
                                                            int rolling, std::uint64_t seed) {
  SplitOptions options{named<SplitMethod>(method, kSplitNames, "method"),
                       test,
                       last,
                       folds,
                       rows,
                       {},
                       rolling,
                       seed};
  if (at) options.at = moment_of("at", *at);
  std::vector<Split> parts = in_background(
      true, 0, nb::none(), [&](const RunControl&) { return split(*data.interactions, options); });
  std::vector<std::pair<Data, Data>> result;
  for (Split& part : parts) {
    ReadSummary of_parts;
    of_parts.policy = data.summary.policy;
    result.emplace_back(Data(std::move(part.train), of_parts),
                        Data(std::move(part.test), of_parts));
  }
  return result;
}

/// Indices of ids; -1 where there is none.
[[nodiscard]] Out<Index> find_integers(const IdNames& names, const In<std::int64_t>& ids) {
  auto result = Array<Index>::uninitialized(static_cast<Offset>(ids.size()));
  {
    const WithoutGil without;
    for (std::size_t i = 0; i < ids.size(); ++i) {
      result[static_cast<Offset>(i)] = names.map->find(ids.data()[i]).value_or(-1);
    }
  }
  return give(std::move(result));
}
[[nodiscard]] Out<Index> find_texts(const IdNames& names, const nb::list& ids) {
  auto result = Array<Index>::uninitialized(static_cast<Offset>(ids.size()));
  Offset i = 0;
  for (const nb::handle id : ids) {
    nb::object bytes;
    result[i++] = names.map->find(text_of(id, bytes)).value_or(-1);
  }
  return give(std::move(result));
}

void require_inside(const IdNames& names, const In<Index>& indices) {
  for (const Index index : span_of(indices)) {
    if (index < 0 || index >= names.map->size()) {
      throw nb::index_error(("index " + std::to_string(index) + " is outside of [0, " +
                             std::to_string(names.map->size()) + ")")
                                .c_str());
    }
  }
}

/// Integer ids as an array.
[[nodiscard]] Out<std::int64_t> take_integers(const IdNames& names, const In<Index>& indices) {
  require_inside(names, indices);
  auto result = Array<std::int64_t>::uninitialized(static_cast<Offset>(indices.size()));
  const std::span<const std::int64_t> ids = names.map->integers();
  for (std::size_t i = 0; i < indices.size(); ++i) {
    result[static_cast<Offset>(i)] = ids[static_cast<std::size_t>(indices.data()[i])];
  }
  return give(std::move(result));
}

/// Text ids as a list, one str for all places of an id.
[[nodiscard]] nb::list take_texts(const IdNames& names, const In<Index>& indices) {
  require_inside(names, indices);
  std::vector<nb::object> made(static_cast<std::size_t>(names.map->size()));
  const char* chars = names.map->chars().data();
  const std::span<const Offset> offsets = names.map->offsets();
  PyObject* list = PyList_New(static_cast<Py_ssize_t>(indices.size()));
  if (list == nullptr) throw nb::python_error();
  nb::list result = nb::steal<nb::list>(list);
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const auto index = static_cast<std::size_t>(indices.data()[i]);
    if (!made[index].is_valid()) {
      PyObject* text = PyUnicode_DecodeUTF8(chars + offsets[index],
                                            offsets[index + 1] - offsets[index], "surrogateescape");
      if (text == nullptr) throw nb::python_error();
      made[index] = nb::steal(text);
    }
    PyList_SetItem(list, static_cast<Py_ssize_t>(i), made[index].inc_ref().ptr());
  }
  return result;
}

void bind_names(nb::module_& module) {
  nb::class_<IdNames>(module, "IdMap", "Ids of users or items, by index.")
      .def_static("of", &ids_of, "ids"_a)
      .def("__len__", [](const IdNames& self) { return self.map->size(); })
      .def_prop_ro("is_integer", [](const IdNames& self) { return self.map->is_integer(); })
      .def("find_integers", &find_integers, "ids"_a.noconvert())
      .def("find_texts", &find_texts, "ids"_a)
      .def("take_integers", &take_integers, "indices"_a.noconvert())
      .def("take_texts", &take_texts, "indices"_a.noconvert());
}

}  // namespace

Time moment_of(const std::string& name, const std::string& given) {
  if (const auto time = parse_moment(given)) return *time;
  throw nb::value_error((name + " must be a datetime or a time such as \"2026-01-31\", not \"" +
                         printable(given) + "\"")
                            .c_str());
}

nb::tuple csr_of(const CsrView& matrix, nb::handle owner) {
  const auto nnz = static_cast<std::size_t>(matrix.nnz());
  const auto rows = static_cast<std::size_t>(matrix.rows);
  return nb::make_tuple(
      view_of(std::span(matrix.offsets, matrix.offsets == nullptr ? 0 : rows + 1), owner),
      view_of(std::span(matrix.columns, nnz), owner),
      view_of(std::span(matrix.values, nnz), owner));
}

void bind_interactions(nb::module_& module) {
  bind_names(module);
  module.def("times_of_texts", &times_of_texts, "texts"_a, "time_format"_a);
  module.def("times_of_floats", &times_of_floats, "numbers"_a, "unit"_a.none());
  module.def("event_columns", &event_columns, "names"_a);
  module.def(
      "known_columns",
      [](const std::vector<std::string>& names) {
        const auto known = known_columns(names);
        return std::vector<std::vector<int>>(known.begin(), known.end());
      },
      "names"_a);
  nb::class_<Data>(module, "Interactions", "Who liked what, ready for training.")
      .def_static("from_files", &from_files, "paths"_a, "options"_a, "threads"_a = 0,
                  "progress"_a = nb::none())
      .def_static("from_columns", &from_columns, "users"_a, "items"_a, "values"_a.none(),
                  "times"_a.noconvert().none(), "time_unit"_a.none(), "options"_a, "threads"_a = 0,
                  "progress"_a = nb::none())
      .def_static("from_csr", &from_csr, "indptr"_a, "indices"_a, "values"_a.none(), "cols"_a,
                  "options"_a, "threads"_a = 0, "progress"_a = nb::none())
      .def_prop_ro("shape",
                   [](const Data& self) {
                     const CsrMatrix& matrix = self.interactions->by_user;
                     return nb::make_tuple(matrix.rows, matrix.cols);
                   })
      .def_prop_ro("nnz", [](const Data& self) { return self.interactions->by_user.nnz(); })
      .def_prop_ro("users",
                   [](const Data& self) {
                     return IdNames{self.interactions, &self.interactions->users};
                   })
      .def_prop_ro("items",
                   [](const Data& self) {
                     return IdNames{self.interactions, &self.interactions->items};
                   })
      .def("csr",
           [](nb::handle self) {
             return csr_of(nb::cast<const Data&>(self).interactions->by_user.view(), self);
           })
      .def("times", &times_array)
      .def_static("from_entries", &from_entries, "users"_a, "items"_a, "indptr"_a.noconvert(),
                  "indices"_a.noconvert(), "values"_a.noconvert(), "seconds"_a.noconvert().none(),
                  "nanoseconds"_a.noconvert().none(), "time_form"_a, "policy"_a, "names"_a,
                  "faded"_a = false)
      .def("whole_times", &whole_times)
      .def_prop_ro("summary", &summary_of)
      .def(
          "say_first_bad_row",
          [](Data& self, const std::string& message) { self.summary.first_bad_row = message; },
          "message"_a)
      .def("split", &split_data, "method"_a, "test"_a, "last"_a, "folds"_a, "rows"_a, "at"_a.none(),
           "rolling"_a, "seed"_a)
      .def(
          "write",
          [](const Data& self, nb::handle file) {
            const std::string path = file_path(file);
            (void)in_background(true, 0, nb::none(), [&](const RunControl& control) {
              write_interactions(*self.interactions, path, control);
              return true;
            });
          },
          "path"_a);
}

}  // namespace likewise::python
