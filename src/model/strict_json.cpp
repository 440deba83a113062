// SPDX-License-Identifier: Apache-2.0
#include "model/strict_json.h"

#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

using nlohmann::json;

/// A model file's own JSON is three levels deep.
constexpr int kMaxDepth = 8;

/// Called by the parser for every value: refuses deep nesting and names that come twice, of which
/// nlohmann::json would quietly keep the last.
class Guard {
 public:
  explicit Guard(std::string_view what) : what_(what) {}

  bool operator()(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > kMaxDepth) {
      throw Error(ErrorKind::kBadData, fmt::format("{} is nested too deeply", what_));
    }
    if (event == json::parse_event_t::object_start) names_.emplace_back();
    if (event == json::parse_event_t::object_end) names_.pop_back();
    if (event == json::parse_event_t::key) note(parsed.get_ref<const std::string&>());
    return true;
  }

 private:
  void note(const std::string& name) {
    if (names_.back().insert(name).second) return;
    throw Error(ErrorKind::kBadData, fmt::format("{} holds the name '{}' twice", what_, name));
  }

  std::string_view what_;
  std::vector<std::set<std::string>> names_;
};

}  // namespace

json parse_strict_json(std::string_view text, std::string_view what) {
  try {
    return json::parse(text.begin(), text.end(), Guard(what));
  } catch (const json::parse_error& fault) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{} is not valid JSON near byte {}", what, fault.byte));
  } catch (const json::exception& fault) {
    throw Error(ErrorKind::kBadData, fmt::format("{} is not valid JSON: {}", what, fault.what()));
  }
}

}  // namespace likewise
