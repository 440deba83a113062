// SPDX-License-Identifier: Apache-2.0
#include "server/schema.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/suggestion.h"
#include "server/fault.h"

namespace likewise::server {
namespace {

[[nodiscard]] Json described(Json schema, std::string description) {
  if (!description.empty()) schema["description"] = std::move(description);
  return schema;
}

/// JSON Schema counts characters; this server counts bytes, which are as many or more.
[[nodiscard]] Json with_longest(Json schema, std::string description, Offset longest) {
  schema["maxLength"] = longest;
  return described(std::move(schema), fmt::format("{}{}At most {} bytes", description,
                                                  description.empty() ? "" : ". ", longest));
}

[[noreturn]] void refuse(const std::string& name, const std::string& what,
                         FaultKind kind = FaultKind::kInvalidArgument) {
  throw Fault(kind, fmt::format("{} {}", name.empty() ? "the request" : printable(name), what),
              name);
}

/// 10, and 10.0 too.
[[nodiscard]] bool is_whole(const Json& value) {
  return value.is_number_integer() ||
         (value.is_number_float() && std::floor(value.get<double>()) == value.get<double>());
}

[[nodiscard]] bool has_type(const Json& value, std::string_view type) {
  if (type == "string") return value.is_string();
  if (type == "integer") return is_whole(value);
  if (type == "number") return value.is_number();
  if (type == "boolean") return value.is_boolean();
  if (type == "array") return value.is_array();
  return type == "object" ? value.is_object() : value.is_null();
}

/// "a whole number", for messages.
[[nodiscard]] std::string_view words_of(std::string_view type) {
  if (type == "string") return "a text";
  if (type == "integer") return "a whole number";
  if (type == "number") return "a number";
  if (type == "boolean") return "true or false";
  if (type == "array") return "a list";
  return type == "object" ? "an object" : "null";
}

void check_type(const Json& type, const Json& value, const std::string& name) {
  if (type.is_string()) {
    const auto& one = type.get_ref<const std::string&>();
    if (!has_type(value, one)) refuse(name, fmt::format("must be {}", words_of(one)));
    return;
  }
  std::string wanted;
  for (const Json& some : type) {
    const auto& one = some.get_ref<const std::string&>();
    if (has_type(value, one)) return;
    wanted += fmt::format("{}{}", wanted.empty() ? "" : " or ", words_of(one));
  }
  refuse(name, "must be " + wanted);
}

/// Ids are text: of a number whose digits were not kept it is not known.
void check_digits(const Json& type, const Json& value, const std::string& name) {
  if (!type.is_array() || !value.is_number_float()) return;
  refuse(name, fmt::format("must be a text or a whole number, in digits alone and up to {}: send a "
                           "longer id as a text",
                           std::numeric_limits<std::uint64_t>::max()));
}

void check_range(const Json& schema, const Json& value, const std::string& name) {
  if (!schema.contains("minimum") || !value.is_number()) return;
  const Json& low = schema["minimum"];
  const Json& high = schema["maximum"];
  if (value >= low && value <= high) return;
  refuse(name, fmt::format("must be between {} and {}, not {}", low.dump(), high.dump(),
                           printable(value.dump())));
}

void check_choice(const Json& schema, const Json& value, const std::string& name) {
  const auto names = schema.find("enum");
  if (names == schema.end() || std::ranges::find(*names, value) != names->end()) return;
  std::string all;
  for (const Json& one : *names) all += (all.empty() ? "" : ", ") + one.get<std::string>();
  refuse(name, fmt::format("must be one of {}, not '{}'", all,
                           printable(value.get_ref<const std::string&>())));
}

void check_text(const Json& schema, const Json& value, const std::string& name) {
  if (!value.is_string()) return;
  const auto& text = value.get_ref<const std::string&>();
  if (text.empty() && schema.contains("minLength")) refuse(name, "is empty");
  const auto longest = schema.find("maxLength");
  if (longest == schema.end() || text.size() <= longest->get<std::size_t>()) return;
  refuse(name, fmt::format("is longer than {} bytes", longest->get<std::size_t>()),
         FaultKind::kTooLarge);
}

void check_list(const Json& schema, const Json& value, const std::string& name) {
  const auto most = schema.find("maxItems");
  if (most != schema.end() && value.size() > most->get<std::size_t>()) {
    refuse(name,
           fmt::format("has {} entries, more than {}", with_commas(std::ssize(value)),
                       with_commas(most->get<Offset>())),
           FaultKind::kTooLarge);
  }
  const auto least = schema.find("minItems");
  if (least != schema.end() && value.size() < least->get<std::size_t>()) {
    refuse(name, least->get<std::size_t>() == 1
                     ? std::string("is empty")
                     : fmt::format("must have {} entries", least->get<std::size_t>()));
  }
  const Json& each = schema["items"];
  std::size_t at = 0;
  try {
    for (; at < value.size(); ++at) check(each, value[at], name);
  } catch (const Fault&) {
    check(each, value[at], fmt::format("{}[{}]", name, at));  // names take time: only of a fault
    throw;
  }
}

[[nodiscard]] std::string own_name(const std::string& member, const Json& /*schema*/) {
  return member;
}

[[nodiscard]] std::string member_name(const std::string& name, const std::string& member) {
  return name.empty() ? member : name + "." + member;
}

void check_object(const Json& schema, const Json& value, const std::string& name) {
  const auto members = schema.find("properties");
  if (members == schema.end()) return;
  for (const auto& [member, part] : value.items()) {
    const auto known = members->find(member);
    if (known == members->end()) {
      std::vector<std::string> names;
      for (const auto& one : members->items()) names.push_back(one.key());
      refuse_unknown(member, names, member_name(name, member));
    }
    check(*known, part, member_name(name, member));
  }
  for (const Json& member : schema["required"]) {
    const auto& needed = member.get_ref<const std::string&>();
    if (!value.contains(needed)) refuse(member_name(name, needed), "is missing");
  }
  check_one_of(schema, value, name, own_name);
}

/// One of several forms, told apart by their types: an id, or an object.
void check_forms(const Json& forms, const Json& value, const std::string& name) {
  for (const Json& form : forms) {
    const Json& type = form["type"];
    const bool fits = type.is_string()
                          ? has_type(value, type.get_ref<const std::string&>())
                          : std::ranges::any_of(type, [&](const Json& one) {
                              return has_type(value, one.get_ref<const std::string&>());
                            });
    if (fits) return check(form, value, name);
  }
  refuse(name, "is of a type that it cannot be");
}

template <class Number>
[[nodiscard]] std::optional<Number> number_of(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return {};
  return number;
}

}  // namespace

void refuse_unknown(const std::string& parameter, const std::vector<std::string>& known,
                    const std::string& place) {
  throw Fault(FaultKind::kInvalidArgument,
              fmt::format("there is no parameter '{}' here{}", printable(parameter),
                          suggestion(parameter, known)),
              place);
}

void check_one_of(const Json& schema, const Json& value, const std::string& name,
                  std::string (*name_of)(const std::string& member, const Json& schema)) {
  const auto some = schema.find("oneOf");
  if (some == schema.end()) return;
  int found = 0;
  std::string all;
  for (const Json& one : *some) {
    const std::string& member = one["required"][0].get_ref<const std::string&>();
    found += value.contains(member) ? 1 : 0;
    const std::string called = name_of(member, schema["properties"][member]);
    if (!called.empty()) all += (all.empty() ? "" : ", ") + called;
  }
  if (found != 1) refuse(name, fmt::format("must have exactly one of {}", all));
}

Json id_schema(std::string description, Offset longest) {
  return with_longest({{"type", {"string", "integer"}}}, std::move(description), longest);
}

Json text_schema(std::string description, Offset longest) {
  Json schema{{"type", "string"}};
  return longest > 0 ? with_longest(std::move(schema), std::move(description), longest)
                     : described(std::move(schema), std::move(description));
}

Json not_empty(Json schema) {
  schema["minLength"] = 1;
  return schema;
}

Json whole_schema(std::string description, Offset low, Offset high) {
  return described({{"type", "integer"}, {"minimum", low}, {"maximum", high}},
                   std::move(description));
}

Json count_schema(std::string description) {
  return described({{"type", "integer"}}, std::move(description));
}

Json number_schema(std::string description) {
  return described({{"type", "number"}}, std::move(description));
}

Json switch_schema(std::string description, bool usual) {
  return described({{"type", "boolean"}, {"default", usual}}, std::move(description));
}

Json choice_schema(std::string description, std::vector<std::string> names) {
  return described({{"type", "string"}, {"enum", std::move(names)}}, std::move(description));
}

Json list_schema(std::string description, Json of, Offset most) {
  Json schema{{"type", "array"}, {"items", std::move(of)}};
  if (most > 0) {
    schema["minItems"] = 1;
    schema["maxItems"] = most;
  }
  return described(std::move(schema), std::move(description));
}

Json object_schema(std::string description, std::vector<Member> members) {
  Json properties = Json::object();
  Json required = Json::array();
  for (Member& member : members) {
    if (member.required) required.push_back(member.name);
    properties[member.name] = std::move(member.schema);
  }
  return described({{"type", "object"},
                    {"properties", std::move(properties)},
                    {"required", std::move(required)},
                    {"additionalProperties", false}},
                   std::move(description));
}

Json with_one_of(Json object, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    object["oneOf"].push_back({{"required", Json::array({name})}});
  }
  return object;
}

void check(const Json& schema, const Json& value, const std::string& name) {
  const auto forms = schema.find("anyOf");
  if (forms != schema.end()) return check_forms(*forms, value, name);
  check_type(schema["type"], value, name);
  check_digits(schema["type"], value, name);
  check_range(schema, value, name);
  check_choice(schema, value, name);
  check_text(schema, value, name);
  if (value.is_array()) check_list(schema, value, name);
  if (value.is_object()) check_object(schema, value, name);
}

Json value_of(const Json& schema, std::string_view text) {
  const auto type = schema.find("type");
  if (type != schema.end() && *type == "integer") {
    if (const auto number = number_of<Offset>(text)) return *number;
  }
  if (type != schema.end() && *type == "number") {
    if (const auto number = number_of<double>(text)) return *number;
  }
  if (type != schema.end() && *type == "boolean" && (text == "true" || text == "false")) {
    return text == "true";
  }
  return std::string(text);
}

}  // namespace likewise::server
