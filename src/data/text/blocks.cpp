// SPDX-License-Identifier: Apache-2.0
#include "data/text/blocks.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "data/bytes/rewritten_lines.h"
#include "data/text/format.h"
#include "data/text/numbers.h"
#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

/// Appends the row of a block as CSV; false where the line is none.
using AppendRow = bool (*)(std::string_view block, std::string_view line, std::string& out);

bool append_netflix(std::string_view item, std::string_view line, std::string& out) {
  const std::size_t comma = line.find(',');
  if (comma == std::string_view::npos) return false;
  append_field(out, line.substr(0, comma), ',');
  out += ',';
  append_field(out, item, ',');
  out += line.substr(comma);
  return true;
}

/// "5811" and "07:28:00" as seconds since the day 0.
std::optional<std::int64_t> seconds_of(std::string_view day, std::string_view time) {
  const auto days = canonical_integer(day);
  if (!days || *days < 0 || *days > 2'000'000 || time.size() != 8) return std::nullopt;
  if (time[2] != ':' || time[5] != ':') return std::nullopt;
  std::int64_t seconds = *days * 24;
  for (const std::size_t at : {0U, 3U, 6U}) {
    const std::string_view part = time.substr(at, 2);
    if (!are_digits(part)) return std::nullopt;
    const int number = (part[0] - '0') * 10 + (part[1] - '0');
    if (number >= (at == 0 ? 24 : 60)) return std::nullopt;
    seconds = at == 0 ? seconds + number : seconds * 60 + number;
  }
  return seconds;
}

/// The fields between tabs; nothing where they are neither two nor four.
std::optional<std::array<std::string_view, 4>> kdd_fields(std::string_view line) {
  const auto tabs = std::count(line.begin(), line.end(), '\t');
  if (tabs != 1 && tabs != 3) return std::nullopt;
  std::array<std::string_view, 4> fields;
  for (std::string_view& field : fields) {
    const std::size_t tab = std::min(line.find('\t'), line.size());
    field = line.substr(0, tab);
    line.remove_prefix(std::min(tab + 1, line.size()));
  }
  return fields;
}

bool append_kdd(std::string_view user, std::string_view line, std::string& out) {
  const auto fields = kdd_fields(line);
  if (!fields) return false;
  const auto& [item, score, day, time] = *fields;
  const auto seconds = seconds_of(day, time);
  if (!seconds && !(day.empty() && time.empty())) return false;
  append_field(out, user, ',');
  out += ',';
  append_field(out, item, ',');
  out += ',';
  append_field(out, score, ',');
  if (seconds) out += fmt::format(",{}", *seconds);
  return true;
}

struct BlockForm {
  bool (*is_start)(std::string_view line);
  char end_of_name;
  AppendRow append;
  const char* told;
};

constexpr BlockForm kNetflixForm{[](std::string_view line) { return line.ends_with(':'); }, ':',
                                 append_netflix, "neither 'ITEM:' nor user,rating,date below it"};
constexpr BlockForm kKddForm{is_kdd_start, '|', append_kdd,
                             "neither 'USER|COUNT' nor item, score, day and time below it, between "
                             "tabs"};

/// The number that digits write, or the largest one where it is larger; nothing without digits.
std::optional<Offset> count_of(std::string_view digits) {
  if (digits.empty()) return std::nullopt;
  Offset count = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return parsed.ec == std::errc{} ? count : std::numeric_limits<Offset>::max();
}

/// Rewrites lines one after the other, and compares the rows of each block with their number.
class Blocks {
 public:
  Blocks(const BlockForm& form, bool skip, std::string file)
      : form_(form), skip_(skip), file_(std::move(file)) {}

  void rewrite(std::string_view line, Offset number, std::string& out) {
    if (is_blank_line(line)) return;
    if (form_.is_start(line)) {
      check_rows();
      start(line, number);
      return;
    }
    ++rows_;
    if (!name_.empty() && form_.append(name_, line, out)) return;
    if (!skip_) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("{}:{}: '{}' is {}", file_, number, printable(line), form_.told));
    }
    out += ",,";
  }

  /// Of the block that ends here.
  void check_rows() const {
    if (!declared_ || *declared_ == rows_) return;
    throw Error(ErrorKind::kBadData,
                fmt::format("{}:{}: the block of '{}' declares {} rows but has {}: the file is "
                            "damaged or cut off",
                            file_, line_, printable(name_), *declared_, rows_));
  }

 private:
  void start(std::string_view line, Offset number) {
    const std::size_t end = line.rfind(form_.end_of_name);
    name_ = line.substr(0, end);
    declared_ = count_of(line.substr(end + 1));
    line_ = number;
    rows_ = 0;
  }

  const BlockForm& form_;
  bool skip_;
  std::string file_;
  std::string name_;
  std::optional<Offset> declared_;
  Offset line_ = 0;  ///< where the block starts
  Offset rows_ = 0;
};

}  // namespace

bool is_netflix_start(std::string_view line) {
  return line.ends_with(':') && are_digits(line.substr(0, line.size() - 1));
}

bool is_kdd_start(std::string_view line) {
  const std::size_t bar = line.find('|');
  return bar != std::string_view::npos && are_digits(line.substr(0, bar)) &&
         are_digits(line.substr(bar + 1));
}

ByteSourcePtr blocks_as_csv(ByteSourcePtr raw, const ReadOptions& options,
                            std::size_t max_line_bytes, const std::string& file) {
  const auto name = kFormatNames[static_cast<std::size_t>(options.format)];
  refuse_given(file, options, {"columns", "delimiter", "header", "decimal", "time_format"},
               "read by " + mention("format", name));
  const BlockForm& form = options.format == Format::kNetflix ? kNetflixForm : kKddForm;
  const auto blocks = std::make_shared<Blocks>(form, options.on_bad_row == BadRows::kSkip, file);
  const auto rewrite = [blocks](std::string_view line, Offset number, std::string& out) {
    blocks->rewrite(line, number, out);
  };
  const auto end = [blocks] { blocks->check_rows(); };
  return rewritten_lines(std::move(raw), {}, rewrite, max_line_bytes, file, end);
}

}  // namespace likewise
