// SPDX-License-Identifier: Apache-2.0
/// What a table is written as, by the extension of its name.
#pragma once

#include <span>
#include <string>

namespace likewise {

enum class TableFormat { kCsv, kTsv, kJsonLines, kMatrixMarket };

/// Of rows that answer a query, and of interactions.
inline constexpr TableFormat kRowFormats[] = {TableFormat::kCsv, TableFormat::kTsv,
                                              TableFormat::kJsonLines};
inline constexpr TableFormat kInteractionFormats[] = {TableFormat::kCsv, TableFormat::kTsv,
                                                      TableFormat::kMatrixMarket};

/// The one of `possible` that a name asks for by its extension, before .gz or .zst; CSV where it
/// has no extension, as "-" and /dev/stdout. Throws Error(kInvalidArgument) for any other
/// extension, with those that are possible.
[[nodiscard]] TableFormat table_format(const std::string& path,
                                       std::span<const TableFormat> possible);

}  // namespace likewise
