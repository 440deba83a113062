// SPDX-License-Identifier: Apache-2.0
#include "model/als_params_json.h"

#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

using nlohmann::json;

/// A choice's names, in the order of its enum.
template <class Choice>
struct Names;
template <>
struct Names<Feedback> {
  static constexpr std::string_view kAll[] = {"implicit", "explicit"};
};
template <>
struct Names<Confidence> {
  static constexpr std::string_view kAll[] = {"linear", "log"};
};
template <>
struct Names<AlsSolverKind> {
  static constexpr std::string_view kAll[] = {"auto", "cholesky", "cg"};
};
template <>
struct Names<Precision> {
  static constexpr std::string_view kAll[] = {"auto", "fp32", "tf32", "bf16", "fp16"};
};

/// The one list of parameters, for both directions. Visitor: (name, field).
template <class Params, class Visitor>
void visit_parameters(Params& params, const Visitor& visit) {
  visit("feedback", params.feedback);
  visit("factors", params.factors);
  visit("iterations", params.iterations);
  visit("regularization", params.regularization);
  visit("regularization_exponent", params.regularization_exponent);
  visit("alpha", params.alpha);
  visit("confidence", params.confidence);
  visit("epsilon", params.epsilon);
  visit("unobserved_weight", params.unobserved_weight);
  visit("biases", params.biases);
  visit("init_stddev", params.init_stddev);
  visit("solver", params.solver);
  visit("cg_steps", params.cg_steps);
  visit("cg_tolerance", params.cg_tolerance);
  visit("precision", params.precision);
  visit("tolerance", params.tolerance);
  visit("patience", params.patience);
  visit("seed", params.seed);
}

struct Writer {
  json& object;

  template <class Field>
  void operator()(const char* name, const Field& field) const {
    if constexpr (std::is_enum_v<Field>) {
      object[name] = Names<Field>::kAll[static_cast<std::size_t>(field)];
    } else {
      object[name] = field;
    }
  }
  void operator()(const char* name, const std::optional<double>& field) const {
    object[name] = field ? json(*field) : json(nullptr);
  }
};

struct Reader {
  const json& object;

  [[noreturn]] static void fail(const char* name, const char* why) {
    throw Error(ErrorKind::kBadData, fmt::format("metadata 'parameters': {} {}", name, why));
  }

  [[nodiscard]] const json& at(const char* name) const {
    const auto found = object.find(name);
    if (found == object.end()) fail(name, "is missing");
    return *found;
  }

  void operator()(const char* name, int& field) const {
    const json& value = at(name);
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
  void operator()(const char* name, std::optional<double>& field) const {
    if (at(name).is_null()) {
      field.reset();
    } else {
      (*this)(name, field.emplace());
    }
  }
  template <class Choice>
  requires std::is_enum_v<Choice>
  void operator()(const char* name, Choice& field) const {
    const json& value = at(name);
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

}  // namespace

json encode_als_params(const AlsParams& params) {
  json object = json::object();
  visit_parameters(params, Writer{object});
  return object;
}

AlsParams decode_als_params(const json& object) {
  if (!object.is_object()) {
    throw Error(ErrorKind::kBadData, "metadata 'parameters' is not an object");
  }
  AlsParams params;
  visit_parameters(params, Reader{object});
  return params;
}

}  // namespace likewise
