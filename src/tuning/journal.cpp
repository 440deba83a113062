// SPDX-License-Identifier: Apache-2.0
#include "tuning/journal.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <limits>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/parameters/json.h"
#include "data/write/file_lock.h"
#include "data/write/output_target.h"
#include "evaluation/metric_table.h"
#include "likewise/error.h"
#include "likewise/tune.h"

namespace likewise {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr const char* kMark = "likewise_search";  // the first field of the first line
constexpr int kFormat = 2;
constexpr std::uint64_t kMostIterations = 1'000'000'000;

[[noreturn]] void fail(ErrorKind kind, const std::string& why) { throw Error(kind, why); }

[[noreturn]] void fail_io(const std::string& path, const char* what) {
  fail(ErrorKind::kIo,
       fmt::format("{}: the journal cannot be {}: {}", path, what, std::strerror(errno)));
}

/// The whole lines of a file, and the bytes that they take. Nothing where there is no file.
struct Lines {
  std::vector<std::string> text;
  std::size_t bytes = 0;
  std::string rest{};  ///< behind the last line's end
};
[[nodiscard]] std::optional<Lines> lines_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    if (errno == ENOENT) return std::nullopt;
    fail_io(path, "read");
  }
  const std::string all{std::istreambuf_iterator<char>(file), {}};
  if (file.bad()) fail_io(path, "read");
  Lines lines;
  for (std::size_t end = 0; (end = all.find('\n', lines.bytes)) != std::string::npos;) {
    lines.text.push_back(all.substr(lines.bytes, end - lines.bytes));
    lines.bytes = end + 1;
  }
  lines.rest = all.substr(lines.bytes);
  return lines;
}

/// A line as an object; null where it is none.
[[nodiscard]] json object_of(const std::string& line) {
  json object = json::parse(line, nullptr, false);
  return object.is_object() ? object : json(nullptr);
}

/// A journal is read again: no pipe, no stream, no device, and nothing compressed.
void require_plain_file(const std::string& path) {
  const bool packed = path.ends_with(".gz") || path.ends_with(".zst");
  if (!packed && find_output(path).kind == OutputTarget::Kind::kFile) return;
  fail(ErrorKind::kInvalidArgument,
       fmt::format("journal {}: it is a plain file that grows and is read again; name one{}", path,
                   packed ? " without .gz or .zst" : ""));
}

/// What is there under the name of a journal.
struct Earlier {
  json search;  ///< null: nothing, or what a kill left of the first line
  std::vector<std::string> lines;
  std::size_t bytes = 0;  ///< of the first line and these
  bool over = false;
};
[[nodiscard]] Earlier read_earlier(const std::string& path, bool resume) {
  require_plain_file(path);
  std::optional<Lines> lines = lines_of(path);
  if (!lines) {
    if (!resume) return {};
    fail(ErrorKind::kNotFound,
         fmt::format("{}: there is no journal to resume; begin the search without resume", path));
  }
  Earlier earlier;
  if (lines->text.empty()) {
    const std::string mark = fmt::format("{{\"{}\"", kMark);
    const bool begins_alike = mark.starts_with(lines->rest) || lines->rest.starts_with(mark);
    if (lines->rest.empty() || (resume && begins_alike)) return earlier;
  } else {
    earlier.search = object_of(lines->text.front());
  }
  if (!earlier.search.is_object() || !earlier.search.contains(kMark)) {
    fail(ErrorKind::kInvalidArgument,
         fmt::format("{}: there is a file that is no journal of a search; name another journal",
                     path));
  }
  earlier.lines.assign(lines->text.begin() + 1, lines->text.end());
  earlier.bytes = lines->bytes;
  earlier.over = !earlier.lines.empty() && object_of(earlier.lines.back()).contains("end");
  if (!earlier.over && !resume) {
    fail(ErrorKind::kInvalidArgument,
         fmt::format("{}: the journal of a search that is not over; resume it, or remove the file",
                     path));
  }
  return earlier;
}

/// As it is found again: all parameters, with their names sorted.
[[nodiscard]] std::string key_of(std::string_view algorithm, const json& parameters,
                                 std::int64_t part) {
  return fmt::format("{} {} {}", part, algorithm, parameters.dump());
}

[[nodiscard]] ordered_json number_or_null(std::optional<double> value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

[[noreturn]] void fail_range() { throw json::other_error::create(501, "out of range", nullptr); }

[[nodiscard]] int count_of(const json& line, const char* field) {
  const json& count = line.at(field);
  if (!count.is_number_unsigned() || count.get<std::uint64_t>() > kMostIterations) fail_range();
  return count.get<int>();
}

/// As it is found again; values are numbers, texts and the like.
[[nodiscard]] std::string key_of(const json& line) {
  const json& parameters = line.at("parameters");
  const auto is_plain = [](const json& value) { return !value.is_structured(); };
  if (!parameters.is_object() || !std::ranges::all_of(parameters, is_plain)) fail_range();
  return key_of(line.at("algorithm").get<std::string>(), parameters, count_of(line, "part"));
}

/// Whether no training can have come to this: a value that the metric never has, iterations of an
/// algorithm that does not iterate or more than it was to do, times that are none.
[[nodiscard]] bool is_impossible(const TrainingOutcome& outcome, const json& line,
                                 const std::string& metric) {
  constexpr double kMostSeconds = 1e9;
  const auto is_time = [](double seconds) { return seconds >= 0.0 && seconds <= kMostSeconds; };
  if (!is_time(outcome.seconds) || !is_time(outcome.training_seconds)) return true;
  if (outcome.value && !is_possible(parse_metric(metric), *outcome.value)) return true;
  const std::string algorithm = line.at("algorithm").get<std::string>();
  if (std::ranges::find(algorithm_names(), algorithm) == algorithm_names().end()) return true;
  const bool iterates = likewise::iterates(default_params(algorithm, Feedback::kImplicit));
  // Of the final round they are not counted.
  if (!iterates || count_of(line, "part") > 0) {
    return outcome.iterations > 0 || outcome.best_iteration > 0;
  }
  const int most = count_of(line.at("parameters"), "iterations");
  return outcome.iterations > most || outcome.best_iteration > outcome.iterations ||
         (outcome.value && outcome.best_iteration < 1);
}

/// One line; throws json::exception where a field is missing, of another type or out of range.
[[nodiscard]] std::pair<std::string, TrainingOutcome> parse_outcome(const json& line,
                                                                    const std::string& metric) {
  TrainingOutcome outcome;
  if (!line.at("value").is_null()) outcome.value = line.at("value").get<double>();
  outcome.iterations = count_of(line, "iterations");
  outcome.best_iteration = count_of(line, "best_iteration");
  outcome.seconds = line.at("seconds").get<double>();
  outcome.training_seconds = line.at("training_seconds").get<double>();
  outcome.stop_reason = line.at("stop_reason").get<std::string>();
  outcome.failure = line.at("failure").get<std::string>();
  if (is_impossible(outcome, line, metric)) fail_range();
  return {key_of(line), outcome};
}

void require_free(const std::string& path, int descriptor) {
  if (try_lock(descriptor, LockUse::kHolding)) return;
  fail(ErrorKind::kIo,
       fmt::format("{}: another search is writing this journal; wait until it is over, or name "
                   "another journal",
                   path));
}

/// The file of the journal, locked: made where there is none, and so what is read from now on stays
/// as it is.
[[nodiscard]] FileDescriptor open_locked(const std::string& path) {
  while (true) {
    FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
    if (file.number < 0) fail_io(path, "written");
    require_free(path, file.number);
    if (is_at(find_output(path).path, file.number)) return file;  // else it was removed meanwhile
  }
}

void require_same_search(const std::string& path, const json& earlier, const ordered_json& now) {
  for (const auto& [field, value] : now.items()) {
    if (!earlier.contains(field)) {
      fail(ErrorKind::kInvalidArgument,
           fmt::format("{}: the journal is of an earlier version, which did not note its {} ({} "
                       "now); begin without resume and with another journal",
                       path, field, value.dump()));
    }
    const json& before = earlier.at(field);
    if (before == json(value)) continue;
    fail(ErrorKind::kInvalidArgument,
         fmt::format("{}: the journal is of another search: its {} is {}, not {}; search the same "
                     "again, or begin without resume and with another journal",
                     path, field, before.dump(), value.dump()));
  }
}

}  // namespace

void check_journal(const std::string& path, bool resume) {
  if (path.empty()) {
    if (resume) fail(ErrorKind::kInvalidArgument, "resuming a search needs its journal");
    return;
  }
  require_plain_file(path);
  const FileDescriptor there(::open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (there.number >= 0) require_free(path, there.number);
  (void)read_earlier(path, resume);
}

std::optional<Index> earlier_measured_users(const std::string& path, bool resume) {
  if (path.empty() || !resume) return std::nullopt;
  const json search = read_earlier(path, resume).search;
  const auto users = search.is_object() ? search.find("measured_users") : search.end();
  if (users == search.end() || !users->is_number_unsigned()) return std::nullopt;
  const auto most = static_cast<std::uint64_t>(std::numeric_limits<Index>::max());
  return static_cast<Index>(std::min(users->get<std::uint64_t>(), most));
}

FileDescriptor::~FileDescriptor() {
  if (number >= 0) ::close(number);
}

Journal::Journal(std::string path, bool resume, const ordered_json& search)
    : path_(std::move(path)) {
  if (path_.empty()) {
    check_journal(path_, resume);
    return;
  }
  ordered_json header = {{kMark, kFormat}};
  header.update(search);
  check_journal(path_, resume);  // before a file is made
  file_ = open_locked(path_);
  const Earlier earlier = read_earlier(path_, resume);
  const bool goes_on = resume && earlier.search.is_object();
  if (goes_on) {
    require_same_search(path_, earlier.search, header);
    for (std::size_t i = 0; i < earlier.lines.size(); ++i) {
      const json line = object_of(earlier.lines[i]);
      if (line.is_object() && line.contains("end")) continue;
      try {
        auto [key, outcome] = parse_outcome(line, header.at("metric").get<std::string>());
        earlier_.insert_or_assign(std::move(key), std::move(outcome));
      } catch (const json::exception&) {
        broken_lines_.push_back(i + 2);
      }
    }
  }
  if (::ftruncate(file_.number, goes_on ? static_cast<off_t>(earlier.bytes) : 0) != 0) {
    fail_io(path_, "written");
  }
  if (!goes_on) write(header);
}

const TrainingOutcome* Journal::find(const TrainingParams& params, int part) const {
  if (earlier_.empty()) return nullptr;
  const auto found = earlier_.find(key_of(algorithm_name(params), encode_params(params), part));
  return found == earlier_.end() ? nullptr : &found->second;
}

void Journal::add(const TrainingParams& params, int part, const TrainingOutcome& outcome) {
  write({{"part", part},
         {"algorithm", algorithm_name(params)},
         {"parameters", encode_params(params)},
         {"value", number_or_null(outcome.value)},
         {"iterations", outcome.iterations},
         {"best_iteration", outcome.best_iteration},
         {"seconds", outcome.seconds},
         {"training_seconds", outcome.training_seconds},
         {"stop_reason", outcome.stop_reason},
         {"failure", outcome.failure}});
}

void Journal::end(const std::string& reason) { write({{"end", reason}}); }

void Journal::write(const ordered_json& line) {
  if (path_.empty()) return;
  const std::string text = line.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t count = ::write(file_.number, text.data() + done, text.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail_io(path_, "written");
    done += static_cast<std::size_t>(count);
  }
}

}  // namespace likewise
