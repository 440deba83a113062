// SPDX-License-Identifier: Apache-2.0
#include "server/strict_json.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "likewise/error.h"
#include "server/fault.h"

namespace likewise::server {
namespace {

using Json = nlohmann::json;

/// Of a number's text: "0.00e5", and not "1e-400".
[[nodiscard]] bool is_zero(std::string_view text) {
  return text.substr(0, text.find_first_of("eE")).find_first_of("123456789") ==
         std::string_view::npos;
}

/// Builds the tree from the parser's events, and stops it where a limit is passed.
class Builder : public nlohmann::json_sax<Json> {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() override { return put(Json(nullptr)); }
  bool boolean(bool value) override { return put(Json(value)); }
  bool number_integer(number_integer_t value) override { return put(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return put(Json(value)); }
  /// 10.0 and 1e1 are the whole number 10, as in JSON Schema; up to where a double has them all.
  bool number_float(number_float_t value, const string_t& text) override {
    if (value == 0.0 && !is_zero(text)) {
      throw Fault(FaultKind::kInvalidArgument,
                  fmt::format("the body has a number that is out of range: {}", printable(text)));
    }
    if (std::abs(value) >= 0x1p53 || std::floor(value) != value) return put(Json(value));
    return put(Json(static_cast<number_integer_t>(value)));
  }
  bool string(string_t& value) override { return put(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    if (open_.back()->contains(name)) {
      throw Fault(FaultKind::kInvalidArgument,
                  fmt::format("'{}' stands twice in one object", printable(name)), name);
    }
    key_ = std::move(name);
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception& why) override {
    if (why.id == 406) {
      throw Fault(FaultKind::kInvalidArgument,
                  fmt::format("the body has a number that is out of range, at byte {}", at));
    }
    throw Fault(FaultKind::kInvalidArgument, fmt::format("the body is not JSON: at byte {}", at));
  }

  [[nodiscard]] Json take() { return std::move(root_); }

 private:
  Json* place(Json&& value) {
    if (++values_ > limits_.values) {
      throw Fault(FaultKind::kTooLarge,
                  fmt::format("the body has more than {} values",
                              with_commas(static_cast<Offset>(limits_.values))));
    }
    if (open_.empty()) return &(root_ = std::move(value));
    Json& in = *open_.back();
    if (in.is_object()) return &(in[key_] = std::move(value));
    in.push_back(std::move(value));
    return &in.back();
  }
  bool put(Json&& value) {
    place(std::move(value));
    return true;
  }
  bool open(Json&& value) {
    if (open_.size() == limits_.depth) {
      throw Fault(FaultKind::kTooLarge, fmt::format("the body nests deeper than {} arrays and "
                                                    "objects",
                                                    limits_.depth));
    }
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  JsonLimits limits_;
  Json root_;
  std::vector<Json*> open_;  ///< what is not closed yet: the last place of each that holds it
  std::string key_;
  std::size_t values_ = 0;
};

}  // namespace

Json read_json(std::string_view text, const JsonLimits& limits) {
  Builder builder(limits);
  Json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace likewise::server
