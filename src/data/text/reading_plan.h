// SPDX-License-Identifier: Apache-2.0
/// What reading will still take of the memory, from the rows seen so far: a file that unpacks to
/// more than fits is refused while there is still room.
#pragma once

#include <cstdint>
#include <string>

#include "likewise/types.h"

namespace likewise {

struct RowsSoFar {
  Offset rows = 0;
  Offset row_bytes = 0;     ///< of one row on its way
  Offset result_bytes = 0;  ///< and in the result
  Offset id_bytes = 0;      ///< in all threads' tables
  Offset consumed = 0;      ///< of the file's bytes
  Offset total = 0;         ///< 0: not known
};

/// Rows that are to be expected at least: those there are, and half as many as the rest of the file
/// would hold if it went on like this.
[[nodiscard]] Offset expected_rows(const RowsSoFar& seen);

/// Throws kOutOfMemory with the figures where what is still to come cannot fit.
void check_reading_plan(const RowsSoFar& seen, const std::string& file, std::uint64_t pages,
                        std::uint64_t addresses);

}  // namespace likewise
