// SPDX-License-Identifier: Apache-2.0
#include "data/columns/key_table.h"

#include <algorithm>
#include <utility>

#include "core/system/parallel.h"

namespace likewise {
namespace {

constexpr Offset kBlock = 4096;

/// Calls body(key_of) with what gives the key of a code.
template <class Body>
auto with_keys(const EncodedColumn& column, const Body& body) {
  struct Visitor {
    const Body& body;
    auto operator()(std::span<const std::int64_t> keys) const {
      return body([keys](Index code) { return keys[static_cast<std::size_t>(code)]; });
    }
    auto operator()(std::span<const std::string_view> keys) const {
      return body([keys](Index code) { return keys[static_cast<std::size_t>(code)]; });
    }
    auto operator()(const TextColumn& keys) const {
      return body([&keys](Index code) { return text_of(keys, code); });
    }
  };
  return std::visit(Visitor{body}, column.keys);
}

}  // namespace

std::string_view text_of(const TextColumn& column, Offset i) {
  return std::visit(
      [&](auto offsets) -> std::string_view {
        const auto at = static_cast<std::size_t>(i);
        const auto begin = static_cast<std::size_t>(offsets[at]);
        return {column.bytes.data() + begin, static_cast<std::size_t>(offsets[at + 1]) - begin};
      },
      column.offsets);
}

Offset count_keys(const EncodedColumn& column) {
  struct Visitor {
    Offset operator()(std::span<const std::int64_t> keys) const { return std::ssize(keys); }
    Offset operator()(std::span<const std::string_view> keys) const { return std::ssize(keys); }
    Offset operator()(const TextColumn& keys) const {
      const auto count = [](auto offsets) -> Offset { return std::ssize(offsets); };
      return std::max<Offset>(1, std::visit(count, keys.offsets)) - 1;
    }
  };
  return std::visit(Visitor{}, column.keys);
}

KeyTable::KeyTable(const EncodedColumn& column)
    : column_(column), used_(static_cast<std::size_t>(count_keys(column))) {
  with_keys(column, [&](const auto& key_of) {
    if constexpr (std::is_same_v<decltype(key_of(0)), std::string_view>) {
      std::vector<std::uint8_t> empty(used_.size());
      std::atomic<bool> any{false};
      parallel_blocks(size(), kBlock, [&](Offset begin, Offset end, Offset) {
        for (Offset code = begin; code < end; ++code) {
          if (!key_of(static_cast<Index>(code)).empty()) continue;
          empty[static_cast<std::size_t>(code)] = 1;
          any = true;
        }
      });
      if (any) empty_ = std::move(empty);
    }
  });
}

MergedIds KeyTable::merge() const {
  std::vector<Index> codes;
  for (Index code = 0; code < size(); ++code) {
    if (used_[static_cast<std::size_t>(code)] != 0) codes.push_back(code);
  }
  return with_keys(column_, [&](const auto& key_of) {
    std::vector<decltype(key_of(0))> keys(codes.size());
    parallel_for(std::ssize(codes), kBlock, [&](Offset i) {
      keys[static_cast<std::size_t>(i)] = key_of(codes[static_cast<std::size_t>(i)]);
    });
    MergedIds merged = merge_keys(keys);
    Array<Index> index_of(size());
    for (std::size_t i = 0; i < codes.size(); ++i) {
      index_of[codes[i]] = merged.index_of[0][static_cast<Offset>(i)];
    }
    merged.index_of[0] = std::move(index_of);
    return merged;
  });
}

}  // namespace likewise
