// SPDX-License-Identifier: Apache-2.0
#include "core/text/strict_json.h"

#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

using nlohmann::json;

/// A model file's own JSON is three levels deep.
constexpr std::size_t kMaxDepth = 8;

/// Builds the value from the parser's events. The library's own builder would quietly keep the last
/// of two equal names, and its callbacks look through all earlier siblings at the end of each
/// object: a list of a million small objects would take hours.
class Builder : public nlohmann::json_sax<json> {
 public:
  explicit Builder(std::string_view what) : what_(what) {}

  [[nodiscard]] json take() { return std::move(root_); }

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(std::int64_t value) override { return add(value); }
  bool number_unsigned(std::uint64_t value) override { return add(value); }
  bool number_float(double value, const std::string&) override { return add(value); }
  bool string(std::string& value) override { return add(std::move(value)); }
  bool binary(json::binary_t&) override { return false; }  // JSON text has none
  bool start_object(std::size_t) override { return open(json::object()); }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(std::string& name) override {
    if (open_.back()->contains(name)) fail(fmt::format("holds the name '{}' twice", name));
    key_ = std::move(name);
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const json::exception&) override {
    fail(fmt::format("is not valid JSON near byte {}", position));
  }

 private:
  [[noreturn]] void fail(const std::string& why) const {
    throw Error(ErrorKind::kBadData, fmt::format("{} {}", what_, why));
  }

  /// Puts the value where the parser stands. It stays in place while it is open: only the innermost
  /// open value grows.
  json& place(json value) {
    if (open_.empty()) return root_ = std::move(value);
    json& parent = *open_.back();
    if (parent.is_object()) return parent[std::exchange(key_, {})] = std::move(value);
    parent.push_back(std::move(value));
    return parent.back();
  }

  bool add(json value) {
    place(std::move(value));
    return true;
  }

  bool open(json value) {
    if (open_.size() == kMaxDepth) fail("is nested too deeply");
    open_.push_back(&place(std::move(value)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::string_view what_;
  std::string key_;
  json root_;
  std::vector<json*> open_;
};

}  // namespace

json parse_strict_json(std::string_view text, std::string_view what) {
  Builder builder(what);
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

}  // namespace likewise
