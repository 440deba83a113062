// SPDX-License-Identifier: Apache-2.0
/// Parameters <-> JSON, under the names that options have everywhere (snake_case). A kind of
/// parameters lists its fields once, for a visitor (name, field).
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "likewise/error.h"
#include "likewise/types.h"

namespace likewise::params_json {

/// A choice's names, in the order of its enum.
template <class Choice>
struct Names;
template <>
struct Names<Feedback> {
  static constexpr const auto& kAll = kFeedbackNames;
};

struct Writer {
  nlohmann::json& object;

  template <class Field>
  void operator()(const char* name, const Field& field) const {
    if constexpr (std::is_enum_v<Field>) {
      object[name] = Names<Field>::kAll[static_cast<std::size_t>(field)];
    } else {
      object[name] = field;
    }
  }
  template <class Number>
  void operator()(const char* name, const std::optional<Number>& field) const {
    object[name] = field ? nlohmann::json(*field) : nlohmann::json(nullptr);
  }
};

struct Reader {
  const nlohmann::json& object;

  [[noreturn]] static void fail(const char* name, const char* why) {
    throw Error(ErrorKind::kBadData, fmt::format("metadata 'parameters': {} {}", name, why));
  }

  [[nodiscard]] const nlohmann::json& at(const char* name) const {
    const auto found = object.find(name);
    if (found == object.end()) fail(name, "is missing");
    return *found;
  }

  void operator()(const char* name, int& field) const {
    const nlohmann::json& value = at(name);
    const bool fits =
        value.is_number_integer() &&
        (!value.is_number_unsigned() ||
         value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<int>::max()}) &&
        value.get<std::int64_t>() >= std::numeric_limits<int>::min();
    if (!fits) fail(name, "is not an integer in range");
    field = value.get<int>();
  }
  void operator()(const char* name, std::uint64_t& field) const {
    if (!at(name).is_number_unsigned()) fail(name, "is not a natural number in range");
    field = at(name).get<std::uint64_t>();
  }
  void operator()(const char* name, double& field) const {
    if (!at(name).is_number()) fail(name, "is not a number");
    field = at(name).get<double>();
  }
  void operator()(const char* name, bool& field) const {
    if (!at(name).is_boolean()) fail(name, "is neither true nor false");
    field = at(name).get<bool>();
  }
  template <class Number>
  void operator()(const char* name, std::optional<Number>& field) const {
    if (at(name).is_null()) {
      field.reset();
    } else {
      (*this)(name, field.emplace());
    }
  }
  template <class Choice>
  requires std::is_enum_v<Choice>
  void operator()(const char* name, Choice& field) const {
    const nlohmann::json& value = at(name);
    if (!value.is_string()) fail(name, "is not a string");
    std::size_t number = 0;
    for (const std::string_view known : Names<Choice>::kAll) {
      if (known == value.get_ref<const std::string&>()) {
        field = static_cast<Choice>(number);
        return;
      }
      ++number;
    }
    fail(name, "is not one of its choices");
  }
};

/// visit_all(params, visitor) calls the visitor for every field.
template <class Params, class VisitAll>
[[nodiscard]] nlohmann::json encode(const Params& params, const VisitAll& visit_all) {
  nlohmann::json object = nlohmann::json::object();
  visit_all(params, Writer{object});
  return object;
}
template <class Params, class VisitAll>
[[nodiscard]] Params decode(const nlohmann::json& object, const VisitAll& visit_all) {
  if (!object.is_object()) {
    throw Error(ErrorKind::kBadData, "metadata 'parameters' is not an object");
  }
  Params params;
  visit_all(params, Reader{object});
  return params;
}

}  // namespace likewise::params_json
