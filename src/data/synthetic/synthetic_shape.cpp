// SPDX-License-Identifier: Apache-2.0
#include "data/synthetic/synthetic_shape.h"

#include <array>
#include <charconv>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

struct KnownShape {
  std::string_view name;
  SyntheticShape shape;
};

constexpr auto kStars = Feedback::kExplicit;
constexpr auto kCounts = Feedback::kImplicit;
constexpr std::array kKnown{
    KnownShape{"ml-20m", {138493, 26744, 20000263, kStars}},
    KnownShape{"eachmovie", {61265, 1623, 2811983, kStars}},
    KnownShape{"netflix", {480189, 17770, 99072112, kStars}},
    KnownShape{"msd", {1019318, 384546, 48373586, kCounts}},
    KnownShape{"yahoo-song", {130558, 136736, 49800000, kStars}},
    KnownShape{"yahoo", {1000990, 624961, 252800275, kStars}},
    KnownShape{"hugewiki", {50082603, 39780, 3101144313, kStars}},
};

[[noreturn]] void throw_unknown(std::string_view text) {
  std::string names = "demo";
  for (const KnownShape& known : kKnown) names.append(", ").append(known.name);
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("shape \"{}\": expected {} or USERSxITEMSxINTERACTIONS (such as "
                          "10kx2kx500k), and :explicit or :implicit after it if wanted",
                          text, names));
}

Offset multiplier(char suffix) {
  switch (suffix) {
    case 'k':
    case 'K':
      return 1'000;
    case 'm':
    case 'M':
      return 1'000'000;
    case 'g':
    case 'G':
      return 1'000'000'000;
    default:
      return 0;
  }
}

std::optional<Offset> parse_count(std::string_view text) {
  Offset factor = 1;
  if (!text.empty() && multiplier(text.back()) != 0) {
    factor = multiplier(text.back());
    text.remove_suffix(1);
  }
  Offset value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) return std::nullopt;
  if (value > std::numeric_limits<Offset>::max() / factor) return std::nullopt;
  return value * factor;
}

/// USERSxITEMSxNNZ, or nothing.
std::optional<std::array<Offset, 3>> parse_counts(std::string_view text) {
  std::array<Offset, 3> counts{};
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::size_t cross = i + 1 < counts.size() ? text.find('x') : text.size();
    if (cross == std::string_view::npos) return std::nullopt;
    const auto count = parse_count(text.substr(0, cross));
    if (!count) return std::nullopt;
    counts[i] = *count;
    text.remove_prefix(std::min(text.size(), cross + 1));
  }
  return counts;
}

SyntheticShape named_or_counted(std::string_view name, std::string_view text) {
  for (const KnownShape& known : kKnown) {
    if (name == known.name) return known.shape;
  }
  if (name == "demo") return {.feedback = kCounts, .demo = true};
  const auto counts = parse_counts(name);
  if (!counts) throw_unknown(text);
  const auto [users, items, nnz] = *counts;
  check_shape(users, items, nnz);
  return {static_cast<Index>(users), static_cast<Index>(items), nnz, kStars};
}

}  // namespace

void check_shape(Offset users, Offset items, Offset nnz) {
  constexpr Offset kMost = std::numeric_limits<Index>::max();
  const auto fail = [&](const std::string& reason) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("shape {}x{}x{}: {}", users, items, nnz, reason));
  };
  if (users < 1 || items < 1 || nnz < 1) {
    fail("users, items and interactions must be at least 1");
  }
  if (users > kMost || items > kMost) fail(fmt::format("at most {} users or items", kMost));
  // Both below 2^31: the product fits.
  if (nnz > users * items) {
    fail(fmt::format("more interactions than users x items = {}", users * items));
  }
}

SyntheticShape parse_shape(std::string_view text) {
  const std::size_t colon = text.find(':');
  SyntheticShape shape = named_or_counted(text.substr(0, colon), text);
  if (colon == std::string_view::npos) return shape;
  const std::string_view feedback = text.substr(colon + 1);
  if (shape.demo || (feedback != "explicit" && feedback != "implicit")) throw_unknown(text);
  shape.feedback = feedback == "explicit" ? kStars : kCounts;
  return shape;
}

}  // namespace likewise
