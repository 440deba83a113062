// SPDX-License-Identifier: Apache-2.0
/// Columns of rows in memory, as make_interactions() takes them, with what keeps them alive.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "binding.h"
#include "likewise/make_interactions.h"

namespace likewise::python {

/// A column of ids.
struct Ids {
  IdColumn column;
  std::vector<nb::object> owners;
  std::vector<std::int64_t> integers;   ///< ids, or keys beside `codes`
  std::vector<std::string_view> texts;  ///< the same of text
  std::vector<std::int32_t> codes;
  IdEncoder encoder;  ///< of the codes of objects
};

/// A column of values: nothing means that each row has 1.
struct Numbers {
  ValueSpan values;
  nb::object owner;
};

/// A str as UTF-8, and bytes that were none as "surrogateescape" has them; `bytes` may keep them.
[[nodiscard]] std::string_view text_of(nb::handle text, nb::object& bytes);
[[nodiscard]] IntegerSpan integer_span(nb::handle array, const char* what);
[[nodiscard]] ValueSpan value_span(nb::handle array);

}  // namespace likewise::python
