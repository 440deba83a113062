// SPDX-License-Identifier: Apache-2.0
#include "data/text/json_lines.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "data/bytes/rewritten_lines.h"
#include "data/text/format.h"
#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

/// Text of a column that nobody asks for is kept as far as it may be a number.
constexpr std::size_t kMostSpareBytes = 40;

[[noreturn]] void refuse_json(const std::string& file, const std::string& why) {
  throw Error(ErrorKind::kBadData, fmt::format("{}: {}", file, why));
}

/// Objects within objects are looked into as far as this.
constexpr std::size_t kMostDepth = 8;

/// Calls visit(key, text, is_text) for what an object of JSON holds, of objects within it with
/// "outer.inner". Numbers come as they are written, null is an empty text; arrays, and objects that
/// lie deeper, are left out.
template <class Visit>
class Values {
 public:
  explicit Values(const Visit& visit) : visit_(visit) {}

  bool null() { return put("", false); }
  bool boolean(bool value) { return put(value ? "true" : "false", false); }
  bool number_integer(std::int64_t value) { return put(fmt::format("{}", value), false); }
  bool number_unsigned(std::uint64_t value) { return put(fmt::format("{}", value), false); }
  bool number_float(double, const std::string& written) { return put(written, false); }
  bool string(std::string& text) { return put(text, true); }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) {
    if (left_out_ > 0 || prefixes_.size() == kMostDepth) {
      ++left_out_;
    } else {
      prefixes_.push_back(prefixes_.empty() ? "" : key_ + ".");
    }
    return true;
  }
  bool end_object() {
    if (left_out_ > 0) return end_array();
    prefixes_.pop_back();
    return true;
  }
  bool key(std::string& name) {
    if (left_out_ == 0) key_ = prefixes_.back() + name;
    return true;
  }
  bool start_array(std::size_t) {
    ++left_out_;
    return !prefixes_.empty();  // else the line is an array
  }
  bool end_array() {
    --left_out_;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) {
    return false;
  }

 private:
  bool put(std::string_view text, bool is_text) {
    if (prefixes_.empty()) return false;  // the line is one value
    if (left_out_ == 0) visit_(key_, text, is_text);
    return true;
  }

  const Visit& visit_;
  std::vector<std::string> prefixes_;  ///< of the objects that are open
  std::string key_;
  int left_out_ = 0;  ///< arrays and objects that are open
};

/// False where the line is no object.
template <class Visit>
bool for_each_value(std::string_view line, const Visit& visit) {
  Values<Visit> values(visit);
  return nlohmann::json::sax_parse(line, &values);
}

/// The first line that is neither blank nor a comment, and what follows.
struct JsonStart {
  std::string_view line;
  Offset number = 0;  ///< from 1
  std::string_view rest;
};

JsonStart json_start(std::string_view head) {
  LineReader lines(head);
  JsonStart start{{}, 0, head};
  while (lines.next(start.line) && (is_blank_line(start.line) || is_comment(start.line))) {
    start.rest = head.substr(lines.position(head));
  }
  start.number = lines.lines();
  return start;
}

/// "{...},", as between the objects of an array.
bool ends_in_comma(std::string_view line) {
  const std::size_t last = line.find_last_not_of(" \t\r");
  return line[last] == ',' &&
         for_each_value(line.substr(0, last), [](const std::string&, std::string_view, bool) {});
}

class Objects {
 public:
  Objects(std::string file, bool skip) : file_(std::move(file)), skip_(skip) {}

  /// The keys of the first lines become the columns.
  void find_keys(std::string_view head, const ReadOptions& options) {
    LineReader lines(head);
    std::string_view line;
    for (std::size_t looked = 0; looked < kSampleLines && lines.next(line); ++looked) {
      const bool cut = lines.position(head) == head.size() && !head.ends_with('\n');
      if (cut && !keys_.empty()) break;
      (void)for_each_value(line, [&](const std::string& key, std::string_view, bool) {
        if (places_.try_emplace(key, keys_.size()).second) keys_.push_back(key);
      });
    }
    std::vector<int> known = event_columns(keys_);
    for (const auto& columns : known_columns(keys_)) {
      known.insert(known.end(), columns.begin(), columns.end());
    }
    for (std::size_t k = 0; k < keys_.size(); ++k) {
      wanted_.push_back(std::ranges::find(known, static_cast<int>(k)) != known.end() ||
                        std::ranges::find(options.columns, keys_[k]) != options.columns.end());
    }
    if (keys_.size() < 2) {
      refuse_broken_line(head);
      refuse_json(file_,
                  "JSON lines need an object with a user and an item on each line, as "
                  "{\"user\": 1, \"item\": 2}");
    }
  }

  [[nodiscard]] std::string header() const {
    std::string out;
    for (const std::string& key : keys_) {
      if (!out.empty()) out += ',';
      append_field(out, key, ',');
    }
    return out + "\n";
  }

  void rewrite(std::string_view line, Offset number, std::string& out) {
    if (is_blank_line(line) || (!begun_ && is_comment(line))) return;
    begun_ = true;
    fields_.assign(keys_.size(), {});
    met_.assign(keys_.size(), false);
    std::string fault;
    const bool good =
        for_each_value(line, [&](const std::string& key, std::string_view text, bool is_text) {
          if (fault.empty()) fault = fault_of(key, text, is_text);
        });
    if (!good) fault = kNoObject;
    if (!fault.empty()) return refuse_line(line, number, fault, out);
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (f > 0) out += ',';
      out += fields_[f];
    }
  }

 private:
  static constexpr const char* kNoObject = "is not an object of JSON";

  /// The first line that is no object is why there are no keys.
  void refuse_broken_line(std::string_view head) const {
    const JsonStart start = json_start(head);
    const auto ignore = [](const std::string&, std::string_view, bool) {};
    if (!for_each_value(start.line, ignore)) throw bad_line(start.line, start.number, kNoObject);
  }

  [[nodiscard]] Error bad_line(std::string_view line, Offset number,
                               const std::string& fault) const {
    return {ErrorKind::kBadData,
            fmt::format("{}:{}: '{}' {}; correct the row, or skip bad rows with {}", file_, number,
                        printable(line), fault, mention("on_bad_row", "skip"))};
  }

  /// Keeps a value. What is wrong with it: a key that comes again, and text that may be an id and
  /// has a zero byte, which no id has.
  [[nodiscard]] std::string fault_of(const std::string& key, std::string_view text, bool is_text) {
    const auto found = places_.find(key);
    if (found == places_.end()) return {};
    const std::size_t place = found->second;
    if (met_[place]) return fmt::format("has the key '{}' twice", printable(key));
    met_[place] = true;
    if (text.empty()) return {};
    const bool zero = text.find('\0') != std::string_view::npos;
    if (!is_text) {
      fields_[place] = text;
    } else if (!zero && (wanted_[place] || text.size() <= kMostSpareBytes)) {
      append_field(fields_[place], text, ',');
    }
    return zero && wanted_[place] ? "has a zero byte in an id" : "";
  }

  void refuse_line(std::string_view line, Offset number, const std::string& fault,
                   std::string& out) const {
    if (!skip_) throw bad_line(line, number, fault);
    out.append(keys_.size() - 1, ',');  // a row without ids
  }

  std::string file_;
  bool skip_;
  bool begun_ = false;  ///< nothing but comments and blank lines came before
  std::vector<std::string> keys_;
  std::unordered_map<std::string, std::size_t> places_;  ///< of the keys
  std::vector<bool> wanted_;  ///< by key: may hold users, items, values or times
  std::vector<std::string> fields_;
  std::vector<bool> met_;  ///< by key: on this line
};

}  // namespace

bool is_json_lines(std::string_view head, const std::string& file) {
  const std::string_view from = json_start(head).rest;
  const std::size_t begin = from.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return false;
  const std::string_view rest = from.substr(begin);
  const std::string_view line = rest.substr(0, rest.find('\n'));
  const std::size_t inside = rest.find_first_not_of(" \t\r\n", 1);
  if (rest[0] == '[' && inside != std::string_view::npos &&
      (rest[inside] == '{' || rest[inside] == '[')) {
    refuse_json(file, "is a JSON array: write an object on each line, as `jq -c '.[]' FILE` does");
  }
  if (rest[0] != '{') return false;
  const std::size_t last = line.find_last_not_of(" \t\r");
  if (line[last] == '}' && last > 0) return true;
  if (ends_in_comma(line)) {
    refuse_json(file,
                "is JSON, but a comma follows each object: delete it, as `sed 's/,$//' FILE` does");
  }
  if (rest.find('\n') == std::string_view::npos) return true;  // a long line, or a cut one
  refuse_json(file,
              "is JSON, but its objects go over several lines: write each on one line, as "
              "`jq -c . FILE` does");
}

ByteSourcePtr json_as_csv(ByteSourcePtr raw, std::string_view head, const ReadOptions& options,
                          std::size_t max_line_bytes, const std::string& file) {
  refuse_given(file, options, {"delimiter", "header", "decimal"}, "JSON lines");
  auto objects = std::make_shared<Objects>(file, options.on_bad_row == BadRows::kSkip);
  objects->find_keys(head, options);
  std::string header = objects->header();
  return rewritten_lines(
      std::move(raw), std::move(header),
      [objects](std::string_view line, Offset number, std::string& out) {
        objects->rewrite(line, number, out);
      },
      max_line_bytes, file);
}

}  // namespace likewise
