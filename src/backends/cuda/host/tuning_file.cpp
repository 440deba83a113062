// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/tuning_file.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/text/strict_json.h"
#include "likewise/error.h"
#include "likewise/version.h"
#include "likewise/write.h"

namespace likewise {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kFormat = 2;
constexpr std::size_t kMostBytes = 1 << 20;
constexpr int kMostNumber = 1 << 20;

constexpr std::string_view kSolvers[] = {"auto", "cholesky", "nonnegative"};
[[nodiscard]] std::size_t solver_of(const AlsWork& work) {
  return work.nonnegative ? 2 : work.exact ? 1 : 0;
}

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorKind::kBadData, why); }

[[nodiscard]] const Json& member(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  if (found == object.end()) fail(fmt::format("'{}' is missing", name));
  return *found;
}

[[nodiscard]] int integer(const Json& object, const char* name, int least) {
  const Json& value = member(object, name);
  const bool fits = value.is_number_unsigned() && value.get<std::uint64_t>() <= kMostNumber;
  if (!fits || value.get<int>() < least) {
    fail(fmt::format("'{}' is not a whole number in [{}, {}]", name, least, kMostNumber));
  }
  return value.get<int>();
}

[[nodiscard]] std::string text(const Json& object, const char* name) {
  const Json& value = member(object, name);
  if (!value.is_string()) fail(fmt::format("'{}' is not text", name));
  return value.get<std::string>();
}

/// The place of a name in `names`.
[[nodiscard]] int choice(const Json& object, const char* name,
                         std::span<const std::string_view> names) {
  const auto found = std::ranges::find(names, text(object, name));
  if (found == names.end()) fail(fmt::format("'{}' has a value that is not known", name));
  return static_cast<int>(found - names.begin());
}

[[nodiscard]] Winner winner_from(const Json& object) {
  Winner one;
  const int solver = choice(object, "solver", kSolvers);
  one.work = {static_cast<Feedback>(choice(object, "feedback", kFeedbackNames)),
              static_cast<Precision>(choice(object, "precision", kPrecisionNames)), solver > 0,
              integer(object, "width", 1), solver == 2};
  one.tuning = {integer(object, "columns", 1),   integer(object, "short_rows", 0),
                integer(object, "one_warp", 0),  integer(object, "piece", 1),
                integer(object, "wide", 0) != 0, integer(object, "held_rows", 0)};
  const Json& seconds = member(object, "seconds");
  if (!seconds.is_number() || !(seconds.get<double>() > 0.0)) fail("'seconds' is not above 0");
  one.seconds = seconds.get<double>();
  return one;
}

[[nodiscard]] Json to_json(const Winner& one) {
  return {{"feedback", kFeedbackNames[static_cast<std::size_t>(one.work.feedback)]},
          {"precision", kPrecisionNames[static_cast<std::size_t>(one.work.precision)]},
          {"solver", kSolvers[solver_of(one.work)]},
          {"width", one.work.width},
          {"columns", one.tuning.columns},
          {"short_rows", one.tuning.short_rows},
          {"one_warp", one.tuning.one_warp},
          {"piece", one.tuning.piece},
          {"wide", one.tuning.wide ? 1 : 0},
          {"held_rows", one.tuning.held_rows},
          {"seconds", one.seconds}};
}

[[nodiscard]] std::string capability(const TuningOwner& owner) {
  return fmt::format("{}.{}", owner.major, owner.minor);
}

/// What a file must say of itself to hold for this GPU, driver and build.
[[nodiscard]] Json identity(const TuningOwner& owner) {
  return {
      {"format", kFormat},      {"gpu", owner.gpu},     {"compute_capability", capability(owner)},
      {"driver", owner.driver}, {"likewise", kVersion}, {"plugin", kPluginInterface}};
}

[[nodiscard]] std::string read_bytes(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::kIo, "it cannot be opened");
  std::string bytes(kMostBytes + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (file.bad()) throw Error(ErrorKind::kIo, "it cannot be read");
  bytes.resize(static_cast<std::size_t>(file.gcount()));
  if (bytes.size() > kMostBytes) fail(fmt::format("it has more than {} bytes", kMostBytes));
  return bytes;
}

[[nodiscard]] fs::path cache_folder() {
  const char* named = std::getenv("XDG_CACHE_HOME");
  if (named != nullptr && fs::path(named).is_absolute()) return fs::path(named) / "likewise";
  const char* home = std::getenv("HOME");
  if (home == nullptr || *home == '\0') return {};
  return fs::path(home) / ".cache" / "likewise";
}

}  // namespace

std::string tuning_path(const TuningOwner& owner) {
  const fs::path folder = cache_folder();
  if (folder.empty()) return {};
  std::string name = fmt::format("als-{}-{}.json", owner.gpu, capability(owner));
  for (char& c : name) {
    const bool plain = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-';
    if (!plain) c = '-';
  }
  return folder / name;
}

Tunings parse_tunings(std::string_view content, const TuningOwner& owner) {
  const Json file = parse_strict_json(content, "it");
  const Json expected = identity(owner);
  for (const auto& [name, value] : expected.items()) {
    const Json& found = member(file, name.c_str());
    if (found == value) continue;
    fail(fmt::format("its {} is {}, here it is {}", name, found.dump(-1, ' ', true), value.dump()));
  }
  Tunings tunings;
  tunings.measured = text(file, "measured");
  const Json& list = member(file, "tunings");
  if (!list.is_array()) fail("'tunings' is not a list");
  for (const Json& one : list) tunings.winners.push_back(winner_from(one));
  return tunings;
}

Tunings read_tunings(const std::string& path, const TuningOwner& owner) {
  std::error_code unreadable;
  if (path.empty() || (!fs::exists(path, unreadable) && !unreadable)) return {};
  try {
    return parse_tunings(read_bytes(path), owner);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", path, error.what()));
  }
}

HeldFile hold_tunings(const std::string& path) {
  if (path.empty()) {
    throw Error(ErrorKind::kIo,
                "there is no folder to keep tunings in: let HOME or XDG_CACHE_HOME name one");
  }
  const fs::path folder = fs::path(path).parent_path();
  std::error_code failed;
  fs::create_directories(folder, failed);
  if (failed) {
    throw Error(ErrorKind::kIo, fmt::format("{}: cannot be made: {}; XDG_CACHE_HOME names another "
                                            "folder to keep tunings in",
                                            folder.string(), failed.message()));
  }
  return HeldFile(path, {});
}

void write_tunings(HeldFile& file, const TuningOwner& owner, const Tunings& tunings) {
  Json all = identity(owner);
  all["measured"] = tunings.measured;
  all["tunings"] = Json::array();
  for (const Winner& one : tunings.winners) all["tunings"].push_back(to_json(one));
  OutputFile out(file);
  out.write(all.dump(1, ' ', true, Json::error_handler_t::replace) + "\n");
  out.commit();
}

bool same_work(const AlsWork& a, const AlsWork& b) {
  const auto columns = [](const AlsWork& work) { return (work.width + 15) / 16; };
  return a.feedback == b.feedback && a.precision == b.precision && a.exact == b.exact &&
         a.nonnegative == b.nonnegative && columns(a) == columns(b);
}

}  // namespace likewise
