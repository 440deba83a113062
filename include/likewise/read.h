// SPDX-License-Identifier: Apache-2.0
/// Reads interaction files: CSV, TSV, text separated by ; | :: or spaces, JSON lines and Matrix
/// Market; plain, gzip or zstd (told by content, not by name); Parquet and Arrow by a plug-in.
/// Parsing is parallel; the result does not depend on the number of threads.
///
/// Text: one row per line (LF or CRLF), UTF-8 or any other encoding that contains ASCII; a byte
/// order mark and blank lines are passed over. Fields may be quoted as in RFC 4180, with line
/// breaks between , ; and |. Spaces around a field without quotes are not part of it. A column of
/// ids is a column of integers if every id is one as it is canonically written ("7", not "007"),
/// else of text, byte by byte. Rows without a value column have the value 1. A row with more fields
/// than the header (or, without one, than most of the first lines) is a bad row.
///
/// What would be guessing is an error that says how to decide it: a column of numbers that no
/// well-known name says to be the values, a third column that looks like times, a first line that
/// may be counts or not.
///
/// Counts: a first line of three whole numbers above rows without a header ("943 1682 80000":
/// users, items, rows) is passed over where the third is the number of rows that follow, no more
/// users and items follow than the first two say, and the third is more than ten times every value
/// that follows (or the rows do not have three columns, or all three are exact). It is an error
/// with the numbers where only some of this holds, and else a row; src/data/text/counts_line.h says
/// when. `header` decides: kYes passes over the line, kNo takes it for a row.
///
/// Before the first row lines are passed over that begin with "# ", "% " or two of these signs, as
/// is a first line "sep=;", which says the delimiter.
///
/// JSON lines: an object on each line; its keys are the columns, objects within it have keys as
/// "user.id". Keys that the first 100 lines do not have are not seen, and a key that a line lacks
/// is an empty field.
///
/// Parquet, Arrow files and streams: read as the CSV with these columns would be, where the plug-in
/// liblikewise_arrow.so lies beside the program; errors number rows. Ids are whole numbers or text,
/// or dictionaries of them, or kInvalidArgument. Format, delimiter, header and decimal do nothing,
/// which is kInvalidArgument too. A pipe is refused.
///
/// Netflix (Format::kNetflix): "ITEM:" above rows of user,rating,date, as in the Netflix Prize.
///
/// KDD Cup (Format::kKddCup): "USER|COUNT" above rows of item, score, day and time of day between
/// tabs, as in the KDD Cup 2011 (Yahoo! Music), with or without the last two. Days count from one
/// that nobody told; here it is the first of 1970.
///
/// Adjacency (Format::kAdjacency): a line is a user and its items between blanks, as in the data of
/// LightGCN and NGCF; there is no header, and there are neither values nor times. A user without
/// items is not in the result; one on several lines has the items of all, and an item that comes
/// twice is a duplicate.
///
/// Matrix Market: `coordinate` with `real`, `integer` or `pattern`, `general` or `symmetric` (each
/// entry off the diagonal then counts in both directions). Users are the rows and items the columns
/// that have entries; their ids are the numbers in the file, from 1.
///
/// A time column is checked whether times are kept or not, so that all readers of a file agree.
///
/// Memory: about 12 bytes a row (24 where times are kept or decide) while reading, and the result.
/// Reading stops early, with the figures, where the rows seen so far and those still expected
/// cannot fit.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "likewise/control.h"
#include "likewise/interactions.h"

namespace likewise {

/// kAuto: a table of rows, JSON lines, or Matrix Market.
enum class Format { kAuto, kAdjacency, kNetflix, kKddCup };
inline constexpr std::string_view kFormatNames[] = {"auto", "adjacency", "netflix", "kdd-cup"};
enum class Header { kAuto, kYes, kNo };
/// What several rows with the same user and item become: the newest by time (of equal times the
/// last in the file), their sum or mean, the one with the largest value, the first or last in the
/// file, how many they are (each by its weight where there is a half-life), or an error. kAuto: the
/// sum where the file has no value column (each row is one event), else the newest where there are
/// times and the last where there are none (a changed rating). A kept time is that row's for
/// kNewest, kFirst and kLast, else the latest.
enum class Duplicates { kAuto, kSum, kLast, kMax, kError, kNewest, kMean, kFirst, kCount };
inline constexpr std::string_view kDuplicateNames[] = {"auto",   "sum",  "last",  "max",  "error",
                                                       "newest", "mean", "first", "count"};
enum class BadRows { kFail, kSkip };
/// What a reader wants of the values. kOptional: the value column if there is one, else each row
/// counts 1. kRequired: a file without a value column is an error (ratings for explicit feedback).
/// kUnused: which column holds the values does not matter.
enum class Values { kOptional, kRequired, kUnused };

struct ReadOptions {
  Format format = Format::kAuto;
  /// Names (from the header) or 1-based numbers of the columns user, item, value, time. Empty
  /// vector: by well-known header names (userId, movieId, rating, timestamp and their like, in any
  /// order); without a header that names columns, the first ones in that order. An entry "" or "-"
  /// leaves value or time out, as does a shorter list. An error for Matrix Market, which has its
  /// own order.
  std::vector<std::string> columns{};
  /// One character, "tab", "space" (runs of spaces and tabs) or "::". Empty: detected among
  /// , tab ; | :: and spaces; spaces for kAdjacency.
  std::string delimiter{};
  /// "." or ",": what stands before the fraction of a value. With "," no comma separates columns.
  std::string decimal{"."};
  /// How times are written, as strptime() of POSIX has it ("%m/%d/%Y", "%d.%m.%Y %H:%M:%S"), in
  /// UTC. Empty: numbers and ISO 8601, see keep_times.
  std::string time_format{};
  /// Of make_interactions() alone: ids that are text are whole numbers where all of a column spell
  /// some, as in files. Else text stays text.
  bool whole_ids = false;
  Header header = Header::kAuto;
  Values values = Values::kOptional;
  /// Numbers for the words of the value column, as {"view", 1}, {"purchase", 5}; any other cell is
  /// a bad row. Without them a value is a number, or "true" (1) or "false" (0), and a column of
  /// other words is an error that lists them. With them a column named as events are ("event",
  /// "action", "behavior", "feedback", ...) holds the values where no other one does.
  std::vector<std::pair<std::string, double>> word_values{};
  /// Only rows from `since` on and before `until`; others are as if the file did not have them.
  std::optional<Time> since{};
  std::optional<Time> until{};
  /// In seconds: a row's value counts half for each half-life that lies between its time and `now`,
  /// which is the time of the newest row where it is absent. Before duplicates are merged. An error
  /// for Values::kRequired (an old rating is not a lower one), and for rows after `now`.
  std::optional<double> half_life{};
  std::optional<Time> now{};
  Duplicates duplicates = Duplicates::kAuto;
  /// Drop interactions (after duplicates are merged) below this value.
  std::optional<double> min_value{};
  /// Then drop users with fewer interactions, and items likewise, until nothing changes. Users and
  /// items without interactions left are not in the result.
  Index min_user_count = 0;
  Index min_item_count = 0;
  BadRows on_bad_row = BadRows::kFail;
  /// Also read the time column, if there is one, into Interactions::times. Splitting by time needs
  /// it, training does not. Seconds since 1970, numbers from 1e11 on as milliseconds, from 1e14 as
  /// micro- and from 1e17 as nanoseconds, with a fraction or not; or ISO 8601 of the years 1 to
  /// 9999 ("2001-02-03", "2001-02-03T04:05:06.7+01:00"). Kept to the nanosecond.
  bool keep_times = false;
};

/// Which of some columns may hold users, items, values and times, by the well-known names that
/// headers of files are read by. Where several may hold the same, reading refuses to choose.
[[nodiscard]] std::array<std::vector<int>, 4> known_columns(const std::vector<std::string>& names);
/// The columns that are named as kinds of events are, and may hold items.
[[nodiscard]] std::vector<int> event_columns(const std::vector<std::string>& names);

/// "view=1,cart=3" as ReadOptions::word_values has it. Throws kInvalidArgument.
[[nodiscard]] std::vector<std::pair<std::string, double>> parse_word_values(std::string_view text);

/// What reading met, for people and for `info`.
struct ReadSummary {
  Offset rows = 0;                        ///< data rows in the file (adjacency: pairs), bad too
  Offset bad_rows = 0;                    ///< skipped (on_bad_row = kSkip)
  std::string first_bad_row;              ///< the message it would have failed with, by mention()
  Offset duplicates = 0;                  ///< rows merged into another one
  Duplicates policy = Duplicates::kAuto;  ///< how; never kAuto once something was read
  Offset outside_times = 0;               ///< rows dropped for since, until
  Offset below_min_value = 0;             ///< interactions dropped for min_value
  Offset below_min_count = 0;        ///< interactions dropped for min_user_count, min_item_count
  std::string format;                ///< e.g. "csv, gzip, header userId,movieId,rating,timestamp"
  std::vector<std::string> columns;  ///< what was read as user, item, value, time; "" = left out
};

/// Errors: kNotFound, kIo, kBadData (file, line, value, remedy), kInvalidArgument (an option that
/// does not fit the file), kOutOfMemory, kCancelled. Reports progress as stage "read" in bytes of
/// the file. "-" reads standard input. A folder is all its files in the order of their names, but
/// those that begin with "_" or ".", as Spark writes them; files without a byte are passed over.
[[nodiscard]] Interactions read_interactions(const std::string& path,
                                             const ReadOptions& options = {},
                                             ReadSummary* summary = nullptr,
                                             const RunControl& control = {});
/// The rows of several files or folders, one after the other. All have the same columns, or
/// kBadData. Errors name the file.
[[nodiscard]] Interactions read_interactions(const std::vector<std::string>& paths,
                                             const ReadOptions& options = {},
                                             ReadSummary* summary = nullptr,
                                             const RunControl& control = {});

/// The pairs of a file in its order, repeated ones included.
struct Pairs {
  IdMap users;
  IdMap items;
  Array<Index> user_of;  ///< of each pair, in `users`
  Array<Index> item_of;  ///< beside it, in `items`
};

/// Whether a folder's file of this name is read: not where it begins with "_" or ".".
[[nodiscard]] bool is_read_in_folder(std::string_view name);

/// As read_interactions(), without values. Duplicates, min_* and times are of no use here:
/// Error(kInvalidArgument) where an option asks for one of them.
[[nodiscard]] Pairs read_pairs(const std::string& path, const ReadOptions& options = {},
                               ReadSummary* summary = nullptr, const RunControl& control = {});

/// Calls `visit` with every line of a text file, without its line end ("\n" or "\r\n"), and its
/// number from 1. Plain, gzip or zstd like read_interactions; "-" reads standard input; a UTF-8
/// byte order mark is left out. Memory stays bounded. Errors: kNotFound, kIo, kBadData.
void for_each_line(const std::string& path,
                   const std::function<void(std::string_view line, Offset number)>& visit);

}  // namespace likewise
