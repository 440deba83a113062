// SPDX-License-Identifier: Apache-2.0
#include "data/text/id_table.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>
#include <tbb/parallel_sort.h>
#include <xxhash.h>

#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// Both halves of the tables' limit: half of the slots stay free, so probing is short.
bool crowded(std::size_t used, std::size_t slots) { return used * 2 >= slots; }

void check_room(std::size_t used) {
  if (used >= static_cast<std::size_t>(std::numeric_limits<Index>::max())) {
    throw Error(ErrorKind::kBadData, fmt::format("more than {} different ids", used));
  }
}

/// The finaliser of MurmurHash3: every bit of the key reaches every bit of the result.
std::size_t mix(std::int64_t key) {
  auto h = static_cast<std::uint64_t>(key);
  h = (h ^ (h >> 33)) * 0xff51afd7ed558ccdULL;
  h = (h ^ (h >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return h ^ (h >> 33);
}

/// Like canonical_integer, without its generality for the common short ids.
bool parse_canonical(std::string_view text, std::int64_t& value) {
  constexpr std::size_t kSafeDigits = 18;
  if (text.empty() || text.size() > kSafeDigits || text[0] == '-') {
    const auto slow = text.empty() ? std::nullopt : canonical_integer(text);
    if (slow) value = *slow;
    return slow.has_value();
  }
  if (text[0] == '0' && text.size() > 1) return false;
  std::int64_t sum = 0;
  for (const char c : text) {
    const auto digit = static_cast<unsigned>(c - '0');
    if (digit > 9) return false;
    sum = sum * 10 + digit;
  }
  value = sum;
  return true;
}

}  // namespace

Index IntegerTable::code(std::int64_t key) {
  if (key == last_key_ && last_code_ >= 0) return last_code_;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = mix(key) & mask;
  while (slots_[at] != 0 && keys_[slots_[at] - 1] != key) at = (at + 1) & mask;
  last_key_ = key;
  if (slots_[at] != 0) return last_code_ = static_cast<Index>(slots_[at] - 1);
  check_room(keys_.size());
  keys_.push_back(key);
  slots_[at] = static_cast<std::uint32_t>(keys_.size());
  last_code_ = static_cast<Index>(keys_.size() - 1);
  if (crowded(keys_.size(), slots_.size())) grow();
  return last_code_;
}

void IntegerTable::grow() {
  const std::size_t mask = slots_.size() * 2 - 1;
  slots_.assign(mask + 1, 0);
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    std::size_t at = mix(keys_[i]) & mask;
    while (slots_[at] != 0) at = (at + 1) & mask;
    slots_[at] = static_cast<std::uint32_t>(i + 1);
  }
}

Index TextTable::code(std::string_view text) {
  const auto hash = static_cast<std::uint32_t>(XXH3_64bits(text.data(), text.size()));
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = hash & mask;
  while (slots_[at].code_plus_one != 0) {
    const auto known = static_cast<Index>(slots_[at].code_plus_one - 1);
    if (slots_[at].hash == hash && key(known) == text) return known;
    at = (at + 1) & mask;
  }
  check_room(offsets_.size());
  chars_.insert(chars_.end(), text.begin(), text.end());
  offsets_.push_back(static_cast<Offset>(chars_.size()));
  slots_[at] = {hash, static_cast<std::uint32_t>(size())};
  const Index added = size() - 1;
  if (crowded(offsets_.size(), slots_.size())) grow();
  return added;
}

void TextTable::grow() {
  const std::vector<Slot> old = std::move(slots_);
  const std::size_t mask = old.size() * 2 - 1;
  slots_.assign(mask + 1, {});
  for (const Slot& slot : old) {
    if (slot.code_plus_one == 0) continue;
    std::size_t at = slot.hash & mask;
    while (slots_[at].code_plus_one != 0) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

Index IdTable::code(std::string_view id) {
  if (!is_text_) {
    std::int64_t value = 0;
    if (parse_canonical(id, value)) return integers_.code(value);
    make_text();
  }
  return texts_.code(id);
}

void IdTable::make_text() {
  if (is_text_) return;
  is_text_ = true;
  for (const std::int64_t key : integers_.keys()) {
    char digits[24];
    const auto end = std::to_chars(digits, digits + sizeof digits, key).ptr;
    texts_.code({digits, static_cast<std::size_t>(end - digits)});
  }
  integers_ = {};
}

namespace {

template <class Key>
void sort_keys(std::vector<Key>& keys) {
  tbb::parallel_sort(keys.begin(), keys.end());
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  check_room(keys.size());
}

/// index_of[i] = where key_of(i) is among the sorted keys.
template <class Key, class KeyOf>
Array<Index> places_of(Offset count, const std::vector<Key>& keys, const KeyOf& key_of) {
  auto index_of = Array<Index>::uninitialized(count);
  parallel_for(count, 4096, [&](Offset i) {
    const auto found = std::lower_bound(keys.begin(), keys.end(), key_of(i));
    index_of[i] = static_cast<Index>(found - keys.begin());
  });
  return index_of;
}

/// All keys once, in order. `key_of(table, code)` gives a key.
template <class Key, class KeyOf>
std::vector<Key> sorted_keys(const std::vector<IdTable>& tables, const KeyOf& key_of) {
  std::size_t count = 0;
  for (const IdTable& table : tables) count += static_cast<std::size_t>(table.size());
  std::vector<Key> keys;
  keys.reserve(count);
  for (const IdTable& table : tables) {
    for (Index code = 0; code < table.size(); ++code) keys.push_back(key_of(table, code));
  }
  sort_keys(keys);
  return keys;
}

template <class Key, class KeyOf>
std::vector<Array<Index>> indices_of(const std::vector<IdTable>& tables,
                                     const std::vector<Key>& keys, const KeyOf& key_of) {
  std::vector<Array<Index>> result;
  for (const IdTable& table : tables) {
    result.push_back(places_of(
        table.size(), keys, [&](Offset code) { return key_of(table, static_cast<Index>(code)); }));
  }
  return result;
}

IdMap text_map(const std::vector<std::string_view>& keys) {
  Array<Offset> offsets(static_cast<Offset>(keys.size()) + 1);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    const auto at = static_cast<Offset>(i);
    offsets[at + 1] = offsets[at] + static_cast<Offset>(keys[i].size());
  }
  auto chars = Array<char>::uninitialized(offsets[offsets.size() - 1]);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::copy(keys[i].begin(), keys[i].end(), chars.data() + offsets[static_cast<Offset>(i)]);
  }
  return IdMap::from_sorted_text(std::move(chars), std::move(offsets));
}

MergedIds merge_integers(const std::vector<IdTable>& tables) {
  const auto key_of = [](const IdTable& table, Index code) {
    return table.integers()[static_cast<std::size_t>(code)];
  };
  const auto keys = sorted_keys<std::int64_t>(tables, key_of);
  return {IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(keys)),
          indices_of(tables, keys, key_of)};
}

MergedIds merge_text(const std::vector<IdTable>& tables) {
  const auto key_of = [](const IdTable& table, Index code) { return table.text(code); };
  const auto keys = sorted_keys<std::string_view>(tables, key_of);
  return {text_map(keys), indices_of(tables, keys, key_of)};
}

}  // namespace

MergedIds merge_ids(std::vector<IdTable> tables) {
  const bool text = std::any_of(tables.begin(), tables.end(),
                                [](const IdTable& table) { return table.is_text(); });
  if (!text) return merge_integers(tables);
  parallel_for(static_cast<Offset>(tables.size()), 1,
               [&](Offset i) { tables[static_cast<std::size_t>(i)].make_text(); });
  return merge_text(tables);
}

namespace {

template <class Key>
std::vector<Key> sorted_copy(std::span<const Key> keys) {
  std::vector<Key> sorted(keys.begin(), keys.end());
  sort_keys(sorted);
  return sorted;
}

template <class Key>
std::vector<Array<Index>> places_in(const std::vector<Key>& sorted, std::span<const Key> keys) {
  std::vector<Array<Index>> index_of;
  index_of.push_back(places_of(std::ssize(keys), sorted,
                               [&](Offset i) { return keys[static_cast<std::size_t>(i)]; }));
  return index_of;
}

/// The integers that all keys are; nothing where one is text.
std::optional<std::vector<std::int64_t>> integers_of(std::span<const std::string_view> keys) {
  std::vector<std::int64_t> integers(keys.size());
  std::atomic<bool> all{true};
  parallel_blocks(std::ssize(keys), 4096, [&](Offset begin, Offset end, Offset) {
    for (Offset i = begin; i < end && all.load(std::memory_order_relaxed); ++i) {
      const auto at = static_cast<std::size_t>(i);
      if (!parse_canonical(keys[at], integers[at])) all = false;
    }
  });
  if (!all) return std::nullopt;
  return integers;
}

}  // namespace

MergedIds merge_keys(std::span<const std::int64_t> keys) {
  const std::vector<std::int64_t> sorted = sorted_copy(keys);
  return {IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(sorted)),
          places_in(sorted, keys)};
}

MergedIds merge_keys(std::span<const std::string_view> keys) {
  if (const auto integers = integers_of(keys)) return merge_keys(std::span(*integers));
  const std::vector<std::string_view> sorted = sorted_copy(keys);
  return {text_map(sorted), places_in(sorted, keys)};
}

IdMap as_text(const IdMap& ids) {
  Array<Offset> offsets(Offset{ids.size()} + 1);
  std::string chars;
  for (Index i = 0; i < ids.size(); ++i) {
    chars += ids.name(i);
    offsets[i + 1] = std::ssize(chars);
  }
  return IdMap::from_sorted_text(Array<char>::copy_of(chars), std::move(offsets));
}

}  // namespace likewise
