// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/text/format.h"
#include "data/text/numbers.h"
#include "data/text/times.h"
#include "data/text/weigh_rows.h"
#include "data/text/words.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr const char* kRoleNames[kRoles] = {"user", "item", "value", "time"};

/// Names in use in public data sets, in lower case and without _ - . and spaces. Those of `beside`
/// often stand beside one of the others, a title beside an id: they count where there is none.
struct KnownNames {
  std::vector<std::string_view> names;
  std::vector<std::string_view> beside;
};

const KnownNames& known_names(Role role) {
  static const KnownNames kNames[kRoles] = {
      {{"user",       "userid",    "users",    "uid",        "userindex", "useridx",  "customer",
        "customerid", "member",    "memberid", "account",    "accountid", "reviewer", "reviewerid",
        "visitor",    "visitorid", "listener", "listenerid", "profile",   "profileid"},
       {"username", "session", "sessionid"}},
      {{"item",       "itemid",    "items",    "iid",     "itemindex", "itemidx",   "movie",
        "movieid",    "film",      "filmid",   "book",    "bookid",    "isbn",      "artist",
        "artistid",   "track",     "trackid",  "song",    "songid",    "album",     "albumid",
        "product",    "productid", "asin",     "sku",     "article",   "articleid", "business",
        "businessid", "recipe",    "recipeid", "game",    "gameid",    "anime",     "animeid",
        "joke",       "jokeid",    "video",    "videoid", "news",      "newsid",    "repo"},
       {"title", "artistname", "parentasin", "event", "eventid", "tag", "tagid", "url"}},
      {{"value",      "rating",       "ratings",    "score",     "stars",       "weight",
        "count",      "counts",       "plays",      "playcount", "playcounts",  "overall",
        "preference", "confidence",   "quantity",   "strength",  "bookrating",  "frequency",
        "userrating", "reviewrating", "starrating", "listens",   "listencount", "views",
        "clicks",     "purchases"},
       {}},
      {{"time", "timestamp", "date", "datetime", "unixtime", "unixreviewtime", "ts", "when",
        "createdat", "ratedat", "eventtime"},
       {"reviewtime"}},
  };
  return kNames[role];
}

/// What kinds of events are called; where their cells are words they stand for values.
constexpr std::string_view kEventNames[] = {
    "event",        "eventtype",    "eventname",       "action",        "actiontype",
    "behavior",     "behaviortype", "behaviour",       "behaviourtype", "feedback",
    "feedbacktype", "interaction",  "interactiontype", "reaction",      "vote"};

bool contains(std::span<const std::string_view> known, std::string_view name) {
  return std::ranges::find(known, normalised(name)) != known.end();
}

/// The columns whose names are among the known ones.
std::vector<int> columns_among(std::span<const std::string_view> known,
                               const std::vector<std::string>& names) {
  std::vector<int> columns;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (contains(known, names[i])) columns.push_back(static_cast<int>(i));
  }
  return columns;
}

/// All columns that may hold what the role says.
std::vector<int> find_all_known(Role role, const std::vector<std::string>& names) {
  const KnownNames& known = known_names(role);
  std::vector<int> columns = columns_among(known.names, names);
  return columns.empty() ? columns_among(known.beside, names) : columns;
}

int first_of(const std::vector<int>& columns) { return columns.empty() ? -1 : columns.front(); }

std::optional<int> find_known(Role role, const std::vector<std::string>& names) {
  const int column = first_of(find_all_known(role, names));
  return column < 0 ? std::nullopt : std::optional(column);
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

/// The column called `wanted`, letter by letter, else except for upper and lower case.
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

std::string count_text(const FileFormat& format) {
  return format.fields == 1 ? "1 column" : fmt::format("{} columns", format.fields);
}

void choose_given(FileFormat& format, const std::vector<std::string>& wanted) {
  if (wanted.size() < 2 || wanted.size() > kRoles) {
    fail(format, fmt::format("{} must name 2 to 4 columns (user, item, value, time), not {}",
                             mention("columns"), wanted.size()));
  }
  for (std::size_t role = 0; role < wanted.size(); ++role) {
    if (wanted[role].empty() || wanted[role] == "-") {
      if (role < 2) {
        fail(format,
             fmt::format("{} must name the {} column", mention("columns"), kRoleNames[role]));
      }
      continue;
    }
    const int column = find_column(format, wanted[role]);
    for (std::size_t before = 0; before < role; ++before) {
      if (format.columns[before] == column) {
        fail(format, fmt::format("column '{}' is named twice", printable(wanted[role])));
      }
    }
    format.columns[role] = column;
  }
}

/// "rating", or the number of a column whose name could not be told apart on a command line.
std::string column_argument(const FileFormat& format, int column) {
  const auto c = static_cast<std::size_t>(column);
  const std::string& name = c < format.names.size() ? format.names[c] : "";
  const bool word = !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char l) {
    return std::isalnum(l) != 0 || l == '_' || l == '.';
  });
  const bool clear =
      word && !as_number(name) && std::count(format.names.begin(), format.names.end(), name) == 1;
  return clear ? name : std::to_string(column + 1);
}

/// columns user,item,rating,time by mention(); -1: none.
std::string columns_option(const FileFormat& format, const std::array<int, kRoles>& columns) {
  const auto text = [&](int column) {
    return column < 0 ? std::string("-") : column_argument(format, column);
  };
  const int value = columns[kValue];
  const int time = columns[kTime];
  std::string list = fmt::format("{},{}", text(columns[kUser]), text(columns[kItem]));
  if (value >= 0 || time >= 0) list += "," + text(value);
  if (time >= 0) list += "," + text(time);
  return mention("columns", list);
}

/// The same with other columns for value and time.
std::string columns_option(const FileFormat& format, int value, int time) {
  return columns_option(format, {format.columns[kUser], format.columns[kItem], value, time});
}

/// Where several columns are known by their names to hold the same, the caller chooses.
void refuse_several(const FileFormat& format, Role role, const std::vector<int>& known) {
  if (known.size() < 2) return;
  std::string called;
  std::string choices;
  for (const int column : known) {
    FileFormat with = format;
    with.columns[role] = column;
    const char* before = called.empty() ? "" : " or ";
    called += before + with.column_name(role);
    choices += before + columns_option(format, with.columns);
  }
  fail(format, fmt::format("cannot tell which column holds the {}s, {}: choose with {}",
                           kRoleNames[role], called, choices));
}

/// By the header's names. False if neither users nor items are among the well-known names.
bool choose_known(FileFormat& format) {
  const auto user = find_known(kUser, format.names);
  const auto item = find_known(kItem, format.names);
  if (!user && !item) return false;
  if (!user || !item) {
    fail(format,
         fmt::format(
             "cannot tell which column holds the {}s: the columns are {}; choose them with {}",
             user ? "item" : "user", listing(format.names),
             mention("columns", "USER,ITEM,VALUE,TIME")));
  }
  const auto known = known_columns(format.names);
  std::ranges::transform(known, format.columns.begin(), first_of);
  for (const Role role : {kUser, kItem}) refuse_several(format, role, known[role]);
  return true;
}

/// User, item, value and time in this order: no header names them.
void choose_in_order(FileFormat& format) {
  if (format.fields < 2) {
    fail(format, fmt::format("the first row has a single column (separated by {}); say {} if that "
                             "is wrong",
                             format.delimiter.name(), mention("delimiter", "TEXT")));
  }
  format.columns = {0, 1, format.fields > 2 ? 2 : -1, format.fields > 3 ? 3 : -1};
}

/// "the columns are user, item, stars" or "its rows have 3 columns".
std::string what_there_is(const FileFormat& format) {
  if (format.names.empty()) return fmt::format("its rows have {}", count_text(format));
  return fmt::format("the columns are {}", listing(format.names));
}

/// "4", "-3.5", "3,5" and "true": a value that is written somewhere as it is.
bool could_be_value(std::string cell) {
  std::replace(cell.begin(), cell.end(), ',', '.');
  return value_of(cell, {}).has_value();
}

/// The cells of a column that are not empty.
std::vector<std::string> cells_of(const SampleRows& sample, int column) {
  std::vector<std::string> cells;
  for (const auto& row : sample) {
    const auto c = static_cast<std::size_t>(column);
    if (c < row.size() && !row[c].empty()) cells.push_back(row[c]);
  }
  return cells;
}

/// The columns that are taken, or known to hold ids or times.
std::vector<int> columns_of_other_things(const FileFormat& format) {
  std::vector<int> columns(format.columns.begin(), format.columns.end());
  const auto known = known_columns(format.names);
  for (const Role role : {kUser, kItem, kTime})
    std::ranges::copy(known[role], std::back_inserter(columns));
  return columns;
}

/// A column of numbers without a name for what they are may be the values: it is not dropped.
void refuse_unnamed_values(const FileFormat& format, Values wanted, const SampleRows& sample) {
  const std::vector<int> others = columns_of_other_things(format);
  for (int column = 0; column < static_cast<int>(format.names.size()); ++column) {
    if (std::ranges::find(others, column) != others.end()) continue;
    // A first column without a name numbers the rows: pandas writes it.
    if (column == 0 && format.names[0].empty()) continue;
    const auto cells = cells_of(sample, column);
    const auto numbers = std::count_if(cells.begin(), cells.end(), could_be_value);
    if (numbers == 0 || 2 * numbers < std::ssize(cells)) continue;
    std::string why =
        fmt::format("cannot tell whether column {} ({}) holds the values: {}; choose it with {}",
                    column + 1, printable(format.names[static_cast<std::size_t>(column)]),
                    what_there_is(format), columns_option(format, column, format.columns[kTime]));
    if (wanted != Values::kRequired) {
      why += fmt::format(", or say with {} that it does not (every row then counts 1)",
                         columns_option(format, -1, format.columns[kTime]));
    }
    fail(format, why);
  }
}

/// A moment since 1980 as a number of seconds or of a smaller unit.
bool looks_like_epoch(const std::string& cell) {
  const auto number = canonical_integer(cell);
  const auto time = number && *number >= 315'532'800 ? parse_time(cell) : std::nullopt;
  return time && time->time >= Time(315'532'800) && time->time < Time(4'102'444'800);
}

/// The third column is the value by its place alone; where it is full of times, it is none.
void refuse_times_as_values(const FileFormat& format, const SampleRows& sample) {
  const int column = format.columns[kValue];
  const auto cells = cells_of(sample, column);
  if (cells.empty() || !std::all_of(cells.begin(), cells.end(), looks_like_epoch)) return;
  const int value = column == 2 && format.fields > 3 ? 3 : -1;
  fail(format,
       fmt::format("{} looks like times ('{}'), not like values: choose with {}, or with {} "
                   "if it holds values",
                   format.column_name(kValue), printable(cells.front()),
                   columns_option(format, value, column),
                   columns_option(format, column, format.columns[kTime])));
}

/// Numbers, as counts above the rows, name no column.
bool has_names(const FileFormat& format) {
  return std::any_of(format.names.begin(), format.names.end(),
                     [](const std::string& name) { return !canonical_integer(name); });
}

/// Where neither a name nor the number of columns says what they hold, the order does not either.
void refuse_unknown_columns(const FileFormat& format) {
  constexpr std::size_t kMostInOrder = 6;
  const bool ids = find_known(kUser, format.names) || find_known(kItem, format.names);
  if (ids || (!has_names(format) && format.fields <= kMostInOrder)) return;
  fail(format,
       fmt::format("cannot tell which columns hold users and items: {}; choose them with {}, as "
                   "names or numbers from 1",
                   what_there_is(format), mention("columns", "USER,ITEM,VALUE,TIME")));
}

/// The fourth column is the time by its place alone; where it is full of something else, it is
/// none.
void refuse_other_than_times(const FileFormat& format, const SampleRows& sample) {
  const int column = format.columns[kTime];
  if (column < 0 || find_known(kTime, format.names)) return;
  const auto cells = cells_of(sample, column);
  const auto is_time = [&](const std::string& cell) {
    return parse_time(cell, format.time_format).has_value();
  };
  if (cells.empty() || std::any_of(cells.begin(), cells.end(), is_time)) return;
  fail(format,
       fmt::format("{} does not look like times ('{}'), as the fourth column should: leave it out "
                   "with {}, or choose the columns of values and times: {}",
                   format.column_name(kTime), printable(cells.front()),
                   columns_option(format, format.columns[kValue], -1), what_there_is(format)));
}

bool looks_like_date(const std::string& cell) {
  const auto time = parse_time(cell);
  return time && (time->form == TimeForm::kDate || time->form == TimeForm::kDateTime);
}

void refuse_dates_of_digits(const FileFormat& format, const SampleRows& sample) {
  if (!format.has(kTime) || !format.time_format.empty()) return;
  const auto cells = cells_of(sample, format.columns[kTime]);
  const auto is_date = [](const std::string& cell) { return !format_of_digits(cell).empty(); };
  if (cells.empty() || !std::ranges::all_of(cells, is_date)) return;
  fail(format, fmt::format("{} holds dates without separators ('{}'): {}",
                           format.column_name(kTime), printable(cells.front()),
                           remedy_for_digits(cells.front(), mention("time_format", "%s"))));
}

void choose_times(const FileFormat& format, const SampleRows& sample) {
  check_time_format(format.time_format);
  refuse_several(format, kTime, find_all_known(kTime, format.names));
  refuse_other_than_times(format, sample);
  refuse_dates_of_digits(format, sample);
}

/// Nobody is called 2010-10-19T23:55:27Z, unless the header says so.
void refuse_times_as_ids(const FileFormat& format, const SampleRows& sample) {
  for (const Role role : {kUser, kItem}) {
    if (find_known(role, format.names) == format.columns[role]) continue;
    const auto cells = cells_of(sample, format.columns[role]);
    if (cells.empty() || !std::all_of(cells.begin(), cells.end(), looks_like_date)) continue;
    fail(format,
         fmt::format("{} should hold {}s but holds times ('{}'): choose the columns with {}",
                     format.column_name(role), kRoleNames[role], printable(cells.front()),
                     mention("columns", "USER,ITEM,VALUE,TIME")));
  }
}

/// A column that is called as events are holds the values where the options explain its words, or
/// have to.
void choose_events(FileFormat& format, const ReadOptions& options, const SampleRows& sample) {
  if (format.has(kValue)) return;
  std::vector<int> events = event_columns(format.names);
  std::erase_if(events, [&](int column) {
    const bool taken = std::ranges::find(format.columns, column) != format.columns.end();
    return taken || (options.word_values.empty() && !are_words(cells_of(sample, column)));
  });
  refuse_several(format, kValue, events);
  format.columns[kValue] = first_of(events);
}

/// Words without numbers, and numbers for words that no column holds.
void check_words(FileFormat& format, const ReadOptions& options, const SampleRows& sample) {
  format.words = checked_words(options);
  if (!format.has(kValue)) {
    if (format.words.empty()) return;
    fail(format, fmt::format("{} would do nothing: no column is known to hold the words: {}; name "
                             "it with {}",
                             mention("values"), what_there_is(format),
                             mention("columns", "USER,ITEM,WORDS")));
  }
  const auto cells = cells_of(sample, format.columns[kValue]);
  if (!format.words.empty() || !are_words(cells)) return;
  fail(format, fmt::format("{} holds words, {}, or leave the column out with {}",
                           format.column_name(kValue), words_to_explain(cells),
                           columns_option(format, -1, format.columns[kTime])));
}

void choose_values(FileFormat& format, const ReadOptions& options, const SampleRows& sample) {
  const std::vector<int> known = find_all_known(kValue, format.names);
  refuse_several(format, kValue, known);
  choose_events(format, options, sample);
  if (!format.has(kValue)) refuse_unnamed_values(format, options.values, sample);
  if (format.has(kValue) && known.empty()) refuse_times_as_values(format, sample);
  check_words(format, options, sample);
}

}  // namespace

std::vector<int> event_columns(const std::vector<std::string>& names) {
  return columns_among(kEventNames, names);
}

std::string normalised(std::string_view name) {
  std::string result;
  for (const char c : name.substr(0, name.find(':'))) {
    if (std::string_view("_-. #").find(c) == std::string_view::npos) {
      result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  return result;
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

int find_column(const FileFormat& format, const std::string& wanted) {
  if (const auto number = as_number(wanted)) {
    if (*number >= 1 && static_cast<std::size_t>(*number) <= format.fields) return *number - 1;
    fail(format,
         fmt::format("there is no column {}: the first row has {}", *number, count_text(format)));
  }
  const auto found = find_name(wanted, format.names);
  if (found) return *found;
  fail(format, fmt::format("there is no column '{}': the columns are {}", printable(wanted),
                           listing(format.names)));
}

std::array<std::vector<int>, kRoles> known_columns(const std::vector<std::string>& names) {
  std::array<std::vector<int>, kRoles> columns;
  for (const Role role : {kUser, kItem, kValue, kTime}) columns[role] = find_all_known(role, names);
  return columns;
}

bool is_known_name(Role role, std::string_view name) {
  const KnownNames& known = known_names(role);
  return contains(known.names, name) || contains(known.beside, name);
}

std::string FileFormat::column_name(Role role) const {
  const auto column = static_cast<std::size_t>(columns[role]);
  if (column >= names.size()) return fmt::format("column {}", column + 1);
  return fmt::format("column {} ({})", column + 1, printable(names[column]));
}

void choose_columns(FileFormat& format, const ReadOptions& options, const SampleRows& sample) {
  const bool values_matter = options.values != Values::kUnused || options.min_value;
  if (!options.columns.empty()) {
    choose_given(format, options.columns);
    if (values_matter) check_words(format, options, sample);
    return check_values(format, options);
  }
  refuse_unknown_columns(format);
  if (!choose_known(format)) choose_in_order(format);
  if (values_matter) choose_values(format, options, sample);
  if (!values_matter) format.columns[kValue] = -1;
  choose_times(format, sample);
  const bool times_matter = values_matter || options.keep_times || needs_times(options);
  if (!times_matter) format.columns[kTime] = -1;
  refuse_times_as_ids(format, sample);
  check_values(format, options);
}

void check_values(const FileFormat& format, const ReadOptions& options) {
  if (options.values != Values::kRequired || format.has(kValue)) return;
  if (format.matrix.present) {
    fail(format,
         "values are needed (for explicit feedback, RMSE or MAE), but a Matrix Market "
         "'pattern' has none");
  }
  fail(format,
       fmt::format("values are needed (for explicit feedback, RMSE or MAE), but no column "
                   "is known to hold them: {}; name one with {}",
                   what_there_is(format),
                   mention("columns",
                           fmt::format("{},{},NAME", column_argument(format, format.columns[kUser]),
                                       column_argument(format, format.columns[kItem])))));
}

}  // namespace likewise
