// SPDX-License-Identifier: Apache-2.0
#include "algorithms/parameters/json.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/parameters/descriptions.h"
#include "likewise/error.h"

namespace likewise {
namespace {

using nlohmann::json;

[[noreturn]] void fail(std::string_view name, std::string_view why) {
  throw Error(ErrorKind::kBadData, fmt::format("metadata 'parameters': {} {}", name, why));
}

template <class Field>
[[nodiscard]] json encode(const Field& field) {
  if constexpr (std::is_enum_v<Field>) {
    return EnumNames<Field>::kAll[static_cast<std::size_t>(field)];
  } else {
    return field;
  }
}
template <class Number>
[[nodiscard]] json encode(const std::optional<Number>& field) {
  return field ? json(*field) : json(nullptr);
}

void decode(std::string_view name, const json& value, int& field) {
  const bool fits =
      value.is_number_integer() &&
      (!value.is_number_unsigned() ||
       value.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<int>::max()}) &&
      value.get<std::int64_t>() >= std::numeric_limits<int>::min();
  if (!fits) fail(name, "is not an integer in range");
  field = value.get<int>();
}
void decode(std::string_view name, const json& value, std::uint64_t& field) {
  if (!value.is_number_unsigned()) fail(name, "is not a natural number in range");
  field = value.get<std::uint64_t>();
}
void decode(std::string_view name, const json& value, double& field) {
  if (!value.is_number()) fail(name, "is not a number");
  field = value.get<double>();
}
void decode(std::string_view name, const json& value, bool& field) {
  if (!value.is_boolean()) fail(name, "is neither true nor false");
  field = value.get<bool>();
}
template <class Choice>
requires std::is_enum_v<Choice>
void decode(std::string_view name, const json& value, Choice& field) {
  if (!value.is_string()) fail(name, "is not a string");
  const auto names = EnumNames<Choice>::kAll;
  const auto found = std::ranges::find(names, value.get_ref<const std::string&>());
  if (found == names.end()) fail(name, "is not one of its choices");
  field = static_cast<Choice>(found - names.begin());
}
template <class Number>
void decode(std::string_view name, const json& value, std::optional<Number>& field) {
  if (value.is_null()) return field.reset();
  decode(name, value, field.emplace());
}

template <class Params>
void decode_all(const json& object, Params& params) {
  for_each_parameter<Params>([&](const auto& parameter) {
    const auto found = object.find(parameter.name);
    if (found != object.end()) decode(parameter.name, *found, params.*parameter.member);
  });
  try {
    params.validate();
  } catch (const Error& fault) {
    throw Error(ErrorKind::kBadData, fmt::format("parameters: {}", fault.what()));
  }
}

}  // namespace

json encode_params(const TrainingParams& params) {
  return std::visit(
      []<class Params>(const Params& some) {
        json object = json::object();
        for_each_parameter<Params>([&](const auto& parameter) {
          object[std::string(parameter.name)] = encode(some.*parameter.member);
        });
        return object;
      },
      params);
}

TrainingParams decode_params(std::string_view algorithm, const json& object) {
  if (std::ranges::find(algorithm_names(), algorithm) == algorithm_names().end()) {
    throw Error(ErrorKind::kBadData, fmt::format("unknown algorithm '{}': this version knows {}",
                                                 algorithm, fmt::join(algorithm_names(), ", ")));
  }
  if (!object.is_object()) {
    throw Error(ErrorKind::kBadData, "metadata 'parameters' is not an object");
  }
  Feedback feedback = Feedback::kImplicit;
  if (object.contains("feedback")) decode("feedback", object["feedback"], feedback);
  TrainingParams params = default_params(algorithm, feedback);
  std::visit([&](auto& some) { decode_all(object, some); }, params);
  if (algorithm_name(params) != algorithm) {
    throw Error(ErrorKind::kBadData,
                fmt::format("parameters: they are those of {}, in a model of {}",
                            algorithm_name(params), algorithm));
  }
  return params;
}

}  // namespace likewise
