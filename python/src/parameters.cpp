// SPDX-License-Identifier: Apache-2.0
#include "parameters.h"

#include <algorithm>
#include <charconv>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <vector>

#include "likewise/error.h"
#include "likewise/parameters.h"
#include "names.h"

namespace likewise::python {
namespace {

[[noreturn]] void refuse_parameter(const std::string& why) {
  throw Error(ErrorKind::kInvalidArgument, why);
}

[[nodiscard]] const char* kind_name(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::kInteger:
      return "int";
    case ParameterKind::kReal:
      return "float";
    case ParameterKind::kChoice:
      return "choice";
    case ParameterKind::kSwitch:
      return "bool";
  }
  return "";
}

[[noreturn]] void refuse_type(const ParameterInfo& parameter, nb::handle value,
                              const char* wanted) {
  const std::string message = std::string(parameter.name) + " must be " + wanted + ", not " +
                              printable(nb::cast<std::string>(nb::repr(value)));
  throw nb::type_error(message.c_str());
}

/// The value as set_parameter() reads it.
[[nodiscard]] std::string text_of(const ParameterInfo& parameter, nb::handle value) {
  switch (parameter.kind) {
    case ParameterKind::kSwitch: {
      // The bools of NumPy, too.
      const bool is_bool =
          nb::isinstance<nb::bool_>(value) ||
          std::string_view(nb::type_name(value.type()).c_str()).starts_with("numpy.bool");
      if (!is_bool) refuse_type(parameter, value, "True or False");
      return parameter.choices[PyObject_IsTrue(value.ptr()) == 1 ? 0 : 1];
    }
    case ParameterKind::kChoice:
      if (!nb::isinstance<nb::str>(value)) refuse_type(parameter, value, "a str");
      return nb::cast<std::string>(value);
    case ParameterKind::kInteger:
      if (nb::isinstance<nb::bool_>(value) || PyIndex_Check(value.ptr()) == 0) {
        refuse_type(parameter, value, "an int");
      }
      return nb::cast<std::string>(nb::str(nb::steal(PyNumber_Index(value.ptr()))));
    case ParameterKind::kReal: {
      if (nb::isinstance<nb::bool_>(value) || nb::isinstance<nb::str>(value)) {
        refuse_type(parameter, value, "a number");
      }
      const double number = PyFloat_AsDouble(value.ptr());
      if (number == -1.0 && PyErr_Occurred() != nullptr) {
        PyErr_Clear();
        refuse_type(parameter, value, "a number");
      }
      return nb::cast<std::string>(nb::repr(nb::float_(number)));
    }
  }
  return {};
}

/// The choices of a switch are its names for True and False, in this order or the other.
[[nodiscard]] nb::object value_of(const ParameterInfo& parameter, const std::string& text) {
  if (text == "none") return nb::none();
  switch (parameter.kind) {
    case ParameterKind::kInteger:
      return nb::steal(PyLong_FromString(text.c_str(), nullptr, 10));
    case ParameterKind::kReal:
      return nb::float_(nb::str(text.c_str()));
    case ParameterKind::kSwitch:
      return nb::bool_(text == parameter.choices[0]);
    case ParameterKind::kChoice:
      break;
  }
  return nb::str(text.c_str());
}

[[nodiscard]] Feedback feedback_of(nb::handle value) {
  const std::string shown = nb::isinstance<nb::str>(value) ? nb::cast<std::string>(value)
                                                           : nb::cast<std::string>(nb::repr(value));
  return named<Feedback>(shown, kFeedbackNames, "feedback");
}

}  // namespace

namespace {

/// Columns have a keyword each: user="userId", item="movieId".
[[nodiscard]] std::string columns_as_keywords(std::string_view columns) {
  std::string text;
  for (const char* name : {"user", "item", "value", "time"}) {
    const std::string_view column = columns.substr(0, columns.find(','));
    if (!column.empty() && column != "-") {
      text += (text.empty() ? "" : ", ") + as_keyword(name, column);
    }
    columns.remove_prefix(std::min(column.size() + 1, columns.size()));
  }
  return text;
}

/// columns=["ID", "TITLE"]
[[nodiscard]] std::string columns_as_list(std::string_view columns) {
  std::string text = "columns=[\"";
  for (const char c : columns) text += c == ',' ? "\", \"" : std::string(1, c);
  return text + "\"]";
}

/// values={"view": 1, "cart": 2}
[[nodiscard]] std::string values_as_dict(std::string_view words) {
  std::string text;
  while (!words.empty()) {
    const std::string_view one = words.substr(0, words.find(','));
    const std::size_t equals = one.rfind('=');
    text += text.empty() ? "values={\"" : ", \"";
    (text += one.substr(0, equals)) += "\": ";
    text += one.substr(std::min(equals + 1, one.size()));
    words.remove_prefix(std::min(one.size() + 1, words.size()));
  }
  return text + "}";
}

/// "mean, centred or sum" as prediction="mean", "centred" or "sum".
[[nodiscard]] std::string quoted_each(std::string_view values) {
  std::string text = "\"";
  while (!values.empty()) {
    const std::size_t comma = std::min(values.find(", "), values.find(" or "));
    text += values.substr(0, comma);
    if (comma == std::string_view::npos) break;
    const std::string_view between = values[comma] == ',' ? ", " : " or ";
    ((text += '"') += between) += '"';
    values.remove_prefix(comma + between.size());
  }
  return text + "\"";
}

/// A parameter of some algorithm that takes True or False, or a name of several.
[[nodiscard]] std::optional<ParameterInfo> choice_named(std::string_view name) {
  for (const std::string_view algorithm : algorithm_names()) {
    for (const ParameterInfo& one : parameters_of(algorithm)) {
      const bool is_choice =
          one.kind == ParameterKind::kSwitch || one.kind == ParameterKind::kChoice;
      if (one.name == name && is_choice) return one;
    }
  }
  return std::nullopt;
}

/// `command` is the shell's: pandas reads what these three unpack.
[[nodiscard]] std::string unpacked_in_python(std::string_view command) {
  const bool by_pandas = command.starts_with("`unzip") || command.starts_with("`bunzip2") ||
                         command.starts_with("`unxz");
  return by_pandas ? "unpack it first, or give the frame that pandas.read_csv() makes of it"
                   : "unpack it first";
}

}  // namespace

std::string as_keyword(std::string_view parameter, std::string_view value) {
  if (parameter == "read_interactions") return "likewise.Interactions()";
  if (parameter == "load_model") return "likewise.load_model()";
  if (parameter == "unpack") return unpacked_in_python(value);
  if (parameter == "columns" && value.empty()) return "user, item, value and time";
  if (parameter == "columns") return columns_as_keywords(value);
  if (parameter == "titles_columns") return value.empty() ? "columns" : columns_as_list(value);
  if (parameter == "values" && !value.empty()) return values_as_dict(value);
  std::string text(parameter);
  if (value.empty()) return text;
  if (const auto known = choice_named(parameter)) {
    const bool is_switch = known->kind == ParameterKind::kSwitch;
    const bool is_true = is_switch && value == known->choices[0];
    return text + "=" + (is_true ? "True" : is_switch ? "False" : quoted_each(value));
  }
  const bool is_number = value.find_first_not_of("0123456789.-+e") == std::string_view::npos;
  const std::string_view quote = is_number ? "" : "\"";
  return ((((text += "=") += quote) += value) += quote);
}

void add_notes(const std::vector<std::string>& notes, nb::list& to) {
  for (const std::string& note : notes) to.append(spelled(note, as_keyword));
}

TrainingRequest request_of(const nb::dict& given) {
  TrainingRequest request;
  request.algorithm = nb::cast<std::string>(given["algorithm"]);
  const bool is_auto = request.algorithm == kAutoAlgorithm;
  const std::string some = is_auto ? "als" : request.algorithm;
  const Feedback feedback =
      given.contains("feedback") ? feedback_of(given["feedback"]) : Feedback::kImplicit;
  const TrainingParams usual = default_params(some, feedback);
  const std::vector<ParameterInfo> known = is_auto ? common_parameters() : parameters_of(some);
  if (given.contains("feedback")) {
    request.parameters.push_back({"feedback",
                                  std::string(kFeedbackNames[static_cast<std::size_t>(feedback)]),
                                  feedback != Feedback::kImplicit});
  }
  for (const auto& [key, value] : given) {
    const auto name = nb::cast<std::string>(key);
    if (name == "algorithm" || name == "feedback" || value.is_none()) continue;
    const auto found = std::ranges::find(known, name, &ParameterInfo::name);
    if (found == known.end())
      refuse_parameter(request.algorithm + " has no parameter " + printable(name));
    AskedParameter asked{name, text_of(*found, value)};
    TrainingParams with = usual;
    set_parameter(with, name, asked.text);
    // One that is None by default was given on purpose.
    asked.chosen = found->left_open || parameter_text(with, name) != parameter_text(usual, name);
    request.parameters.push_back(std::move(asked));
  }
  return request;
}

TrainingParams params_of(const nb::dict& given) { return asked_params(request_of(given)); }

nb::list parameters(const std::string& name) {
  const bool is_auto = name == kAutoAlgorithm;
  const std::string algorithm = is_auto ? "als" : name;
  const TrainingParams implicit = default_params(algorithm, Feedback::kImplicit);
  const TrainingParams explicit_ones = default_params(algorithm, Feedback::kExplicit);
  nb::list result;
  for (const ParameterInfo& parameter : is_auto ? common_parameters() : parameters_of(algorithm)) {
    nb::dict line;
    line["name"] = std::string(parameter.name);
    line["help"] = spelled(parameter.help, as_keyword);
    line["kind"] = kind_name(parameter.kind);
    line["choices"] = parameter.choices;
    line["usual"] = spelled(parameter.usual, as_keyword);
    const auto usual = [&](const TrainingParams& of) {
      return parameter.left_open ? nb::object(nb::none())
                                 : value_of(parameter, parameter_text(of, parameter.name));
    };
    line["default"] = usual(implicit);
    line["explicit_default"] = usual(explicit_ones);
    result.append(line);
  }
  return result;
}

nb::dict dict_of(const TrainingParams& params) {
  nb::dict result;
  const std::string algorithm(algorithm_name(params));
  result["algorithm"] = algorithm;
  for (const ParameterInfo& parameter : parameters_of(algorithm)) {
    const bool has_effect = parameter_needs(params, parameter.name).empty();
    result[nb::str(parameter.name.data(), parameter.name.size())] =
        has_effect ? value_of(parameter, parameter_text(params, parameter.name)) : nb::none();
  }
  return result;
}

void ask_for(const nb::object& device, TrainingRequest& request) {
  if (nb::isinstance<Device>(device)) {
    request.open_device = nb::cast<Device>(device);
  } else {
    request.device = device_name(device);
  }
}

}  // namespace likewise::python
