// SPDX-License-Identifier: Apache-2.0
/// Schemas: what a request may hold and what an answer does hold, in the words of JSON Schema.
/// What checks a request is what /openapi.json shows.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "likewise/types.h"

namespace likewise::server {

using Json = nlohmann::json;

/// A member of an object. Optional unless `required`.
struct Member {
  std::string name;
  Json schema;
  bool required = false;
};

/// A text or a whole number: ids are text, and integers are taken too. `longest`, here and below:
/// in bytes, as the description says.
[[nodiscard]] Json id_schema(std::string description, Offset longest = 1024);
[[nodiscard]] Json text_schema(std::string description, Offset longest = 0);
/// The same without the empty text.
[[nodiscard]] Json not_empty(Json schema);
[[nodiscard]] Json whole_schema(std::string description, Offset low, Offset high);
/// Any whole number, as answers have it.
[[nodiscard]] Json count_schema(std::string description);
[[nodiscard]] Json number_schema(std::string description);
[[nodiscard]] Json switch_schema(std::string description, bool usual);
[[nodiscard]] Json choice_schema(std::string description, std::vector<std::string> names);
[[nodiscard]] Json list_schema(std::string description, Json of, Offset most = 0);
/// Of these members and no others.
[[nodiscard]] Json object_schema(std::string description, std::vector<Member> members);
/// An object with exactly one of these among its members.
[[nodiscard]] Json with_one_of(Json object, const std::vector<std::string>& names);

/// Throws Fault(kInvalidArgument) naming the first thing in `value` that does not fit,
/// kTooLarge for a list or a text that is too long. `name`: what the value is called.
void check(const Json& schema, const Json& value, const std::string& name = {});

/// Throws Fault(kInvalidArgument) for a parameter that is none of those known, with the nearest of
/// them. `place`: where in the request it is.
[[noreturn]] void refuse_unknown(const std::string& parameter,
                                 const std::vector<std::string>& known, const std::string& place);

/// The same of what check() says first: that a value has exactly one of with_one_of()'s members,
/// named as name_of(member, schema of the member); those without a name are not there.
void check_one_of(const Json& schema, const Json& value, const std::string& name,
                  std::string (*name_of)(const std::string& member, const Json& schema));

/// What the text of a query string is, where `schema` says what it should be: 10 for "10" of a
/// whole number. Text that is none of it stays text, for check() to refuse.
[[nodiscard]] Json value_of(const Json& schema, std::string_view text);

}  // namespace likewise::server
