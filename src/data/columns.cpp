// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/format.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr const char* kRoleNames[kRoles] = {"user", "item", "value", "time"};

/// Names in use in public data sets, in lower case and without _ - . and spaces; the first that a
/// header has wins.
const std::vector<std::string_view>& known_names(Role role) {
  static const std::vector<std::string_view> kNames[kRoles] = {
      {"user",       "userid",   "users",      "uid",     "username",  "userindex",
       "useridx",    "customer", "customerid", "member",  "memberid",  "account",
       "accountid",  "reviewer", "reviewerid", "visitor", "visitorid", "listener",
       "listenerid", "profile",  "profileid",  "session", "sessionid"},
      {"item",      "itemid",     "items",      "iid",     "itemindex",  "itemidx", "movie",
       "movieid",   "film",       "filmid",     "book",    "bookid",     "isbn",    "artist",
       "artistid",  "artistname", "track",      "trackid", "song",       "songid",  "album",
       "albumid",   "product",    "productid",  "asin",    "parentasin", "sku",     "article",
       "articleid", "business",   "businessid", "recipe",  "recipeid",   "game",    "gameid",
       "anime",     "animeid",    "joke",       "jokeid",  "video",      "videoid", "news",
       "newsid",    "event",      "eventid",    "repo",    "url",        "tag",     "tagid",
       "title"},
      {"value", "rating", "ratings", "score", "stars", "weight", "count", "counts", "plays",
       "playcount", "playcounts", "overall", "preference", "confidence", "quantity", "strength",
       "bookrating", "frequency"},
      {"time", "timestamp", "date", "datetime", "unixtime", "unixreviewtime", "reviewtime", "ts",
       "when", "createdat", "ratedat", "eventtime"},
  };
  return kNames[role];
}

/// "user_id:token", "User-ID" and "userId" are all "userid".
std::string normalised(std::string_view name) {
  std::string result;
  for (const char c : name.substr(0, name.find(':'))) {
    if (std::string_view("_-. #").find(c) == std::string_view::npos) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return result;
}

std::optional<int> find_known(Role role, const std::vector<std::string>& names) {
  for (const std::string_view known : known_names(role)) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (normalised(names[i]) == known) return static_cast<int>(i);
    }
  }
  return std::nullopt;
}

std::string listing(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 40;
  std::vector<std::string> shown;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    shown.push_back(printable(names[i]));
  }
  if (names.size() > kMost) shown.emplace_back("...");
  return fmt::format("{}", fmt::join(shown, ", "));
}

std::optional<int> as_number(const std::string& text) {
  int number = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  if (rest != end || error != std::errc{}) return std::nullopt;
  return number;
}

bool same_but_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](unsigned char x, unsigned char y) {
    return std::tolower(x) == std::tolower(y);
  });
}

/// The column called `wanted`, letter by letter, else but for upper and lower case.
std::optional<int> find_name(const std::string& wanted, const std::vector<std::string>& names) {
  const auto same = std::find(names.begin(), names.end(), wanted);
  if (same != names.end()) return static_cast<int>(same - names.begin());
  const auto like = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return same_but_case(name, wanted);
  });
  if (like != names.end()) return static_cast<int>(like - names.begin());
  return std::nullopt;
}

[[noreturn]] void fail(const FileFormat& format, const std::string& why) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: {}", format.file, why));
}

int find_column(const FileFormat& format, const std::string& wanted, std::size_t fields) {
  if (const auto number = as_number(wanted)) {
    if (*number >= 1 && static_cast<std::size_t>(*number) <= fields) return *number - 1;
    fail(format, fmt::format("there is no column {}: the first row has {}", *number,
                             fields == 1 ? "1 column" : fmt::format("{} columns", fields)));
  }
  const auto found = find_name(wanted, format.names);
  if (found) return *found;
  fail(format, fmt::format("there is no column '{}': the columns are {}", printable(wanted),
                           listing(format.names)));
}

void choose_given(FileFormat& format, const std::vector<std::string>& wanted, std::size_t fields) {
  if (wanted.size() < 2 || wanted.size() > kRoles) {
    fail(format, fmt::format("columns must name 2 to 4 columns (user, item, value, time), not {}",
                             wanted.size()));
  }
  for (std::size_t role = 0; role < wanted.size(); ++role) {
    if (wanted[role].empty() || wanted[role] == "-") {
      if (role < 2) fail(format, fmt::format("columns must name the {} column", kRoleNames[role]));
      continue;
    }
    const int column = find_column(format, wanted[role], fields);
    for (std::size_t before = 0; before < role; ++before) {
      if (format.columns[before] == column) {
        fail(format, fmt::format("column '{}' is named twice in columns", printable(wanted[role])));
      }
    }
    format.columns[role] = column;
  }
}

/// By the header's names. False if neither users nor items are among the well-known names.
bool choose_known(FileFormat& format) {
  const auto user = find_known(kUser, format.names);
  const auto item = find_known(kItem, format.names);
  if (!user && !item) return false;
  if (!user || !item) {
    fail(format,
         fmt::format("cannot tell which column holds the {}s: the columns are {}; name them "
                     "with the option columns (user,item[,value[,time]])",
                     user ? "item" : "user", listing(format.names)));
  }
  format.columns = {*user, *item, find_known(kValue, format.names).value_or(-1),
                    find_known(kTime, format.names).value_or(-1)};
  return true;
}

}  // namespace

bool is_known_name(Role role, std::string_view name) {
  const auto& names = known_names(role);
  return std::find(names.begin(), names.end(), normalised(name)) != names.end();
}

std::string FileFormat::column_name(Role role) const {
  const auto column = static_cast<std::size_t>(columns[role]);
  if (column >= names.size()) return fmt::format("column {}", column + 1);
  return fmt::format("column {} ({})", column + 1, printable(names[column]));
}

void choose_columns(FileFormat& format, const ReadOptions& options, std::size_t fields) {
  if (!options.columns.empty()) return choose_given(format, options.columns, fields);
  if (choose_known(format)) return;
  if (fields < 2) {
    fail(format, fmt::format("the first row has a single column (separated by {}); give the option "
                             "delimiter if that is wrong",
                             format.delimiter.name()));
  }
  for (int role = 0; role < kRoles && static_cast<std::size_t>(role) < fields; ++role) {
    format.columns[static_cast<std::size_t>(role)] = role;
  }
}

}  // namespace likewise
