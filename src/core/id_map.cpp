// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/interactions.h"

namespace likewise {
namespace {

Index checked_size(Offset size) {
  if (size > std::numeric_limits<Index>::max()) {
    throw Error(ErrorKind::kBadData, fmt::format("{} different ids: at most {} are supported", size,
                                                 std::numeric_limits<Index>::max()));
  }
  return static_cast<Index>(size);
}

std::optional<Index> find_in(std::span<const std::int64_t> rising, std::int64_t id) {
  const auto at = std::lower_bound(rising.begin(), rising.end(), id);
  if (at == rising.end() || *at != id) return std::nullopt;
  return static_cast<Index>(at - rising.begin());
}

}  // namespace

std::optional<std::int64_t> canonical_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  const bool negative = text.front() == '-';
  const std::string_view digits = text.substr(negative ? 1 : 0);
  if (digits.front() == '0' && (negative || digits.size() > 1)) return std::nullopt;
  return value;
}

IdMap IdMap::range(Index size) {
  auto ids = Array<std::int64_t>::uninitialized(size);
  for (Index i = 0; i < size; ++i) ids[i] = i;
  return from_sorted_integers(std::move(ids));
}

IdMap IdMap::from_sorted_integers(Array<std::int64_t> ids) {
  IdMap map;
  map.size_ = checked_size(ids.size());
  for (Offset i = 1; i < ids.size(); ++i) {
    if (ids[i] <= ids[i - 1]) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("id {} follows id {}: ids must rise", ids[i], ids[i - 1]));
    }
  }
  map.integers_ = std::move(ids);
  return map;
}

IdMap IdMap::from_sorted_text(Array<char> chars, Array<Offset> offsets) {
  IdMap map;
  map.integer_ = false;
  if (offsets.empty() || offsets[0] != 0 || offsets[offsets.size() - 1] != chars.size()) {
    throw Error(ErrorKind::kBadData, "text ids: the offsets do not span the text");
  }
  map.size_ = checked_size(offsets.size() - 1);
  for (Index i = 0; i < map.size_; ++i) {
    if (offsets[i + 1] < offsets[i] || offsets[i + 1] > chars.size()) {
      throw Error(ErrorKind::kBadData, fmt::format("text ids: the offset after id {} is wrong", i));
    }
  }
  map.chars_ = std::move(chars);
  map.offsets_ = std::move(offsets);
  const auto falls = [&](Index begin) {
    for (Index i = begin + 1; i < map.size_; ++i) {
      if (map.text(i) <= map.text(i - 1)) return i;
    }
    return map.size_;
  };
  // Integers that text joined (unite_ids), or that were given as text, come first, by value, and
  // are the map's integers().
  std::vector<std::int64_t> integers;
  for (Index i = 0; i < map.size_; ++i) {
    const auto one = canonical_integer(map.text(i));
    if (!one || (i > 0 && *one <= integers.back())) break;
    integers.push_back(*one);
  }
  const Index fall = falls(0);
  if (fall == map.size_ && (integers.empty() || std::ssize(integers) < map.size_)) return map;
  const auto first = static_cast<Index>(integers.size());
  bool others = falls(first) == map.size_;
  for (Index i = first; others && i < map.size_; ++i) others = !canonical_integer(map.text(i));
  if (first == 0 || !others) {
    throw Error(ErrorKind::kBadData,
                fmt::format("text id {} does not sort after id {}", fall, fall - 1));
  }
  map.integers_ = Array<std::int64_t>::copy_of(integers);
  return map;
}

IdMap IdMap::from_text(std::span<const std::string> ids) {
  std::vector<std::string> sorted(ids.begin(), ids.end());
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  Array<Offset> offsets(static_cast<Offset>(sorted.size()) + 1);
  std::string chars;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    chars += sorted[i];
    offsets[static_cast<Offset>(i) + 1] = static_cast<Offset>(chars.size());
  }
  return from_sorted_text(Array<char>::copy_of(chars), std::move(offsets));
}

std::optional<Index> IdMap::find(std::string_view id) const {
  if (integer_) {
    const auto value = canonical_integer(id);
    return value ? find(*value) : std::nullopt;
  }
  const auto first = static_cast<Index>(integers_.size());
  const auto value = first > 0 ? canonical_integer(id) : std::nullopt;
  if (value) return find_in(integers_.span(), *value);
  Index low = first;
  Index high = size_;
  while (low < high) {
    const Index middle = low + (high - low) / 2;
    if (text(middle) < id) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  if (low < size_ && text(low) == id) return low;
  return std::nullopt;
}

std::optional<Index> IdMap::find(std::int64_t id) const {
  if (!integer_) return find(std::string_view(std::to_string(id)));
  return find_in(integers_.span(), id);
}

std::string IdMap::name(Index index) const {
  return integer_ ? std::to_string(integers_[index]) : std::string(text(index));
}

IdMap IdMap::share() const {
  IdMap same;
  same.integer_ = integer_;
  same.size_ = size_;
  same.integers_ = integers_.share();
  same.chars_ = chars_.share();
  same.offsets_ = offsets_.share();
  return same;
}

IdMap IdMap::clone() const {
  IdMap copy;
  copy.integer_ = integer_;
  copy.size_ = size_;
  copy.integers_ = integers_.clone();
  copy.chars_ = chars_.clone();
  copy.offsets_ = offsets_.clone();
  return copy;
}

}  // namespace likewise
