// SPDX-License-Identifier: Apache-2.0
#include "data/text/id_table.h"
#include "likewise/error.h"
#include "likewise/make_interactions.h"

namespace likewise {

struct IdEncoder::Tables {
  IntegerTable integers;
  TextTable texts;
};

IdEncoder::IdEncoder() : tables_(std::make_unique<Tables>()) {}
IdEncoder::~IdEncoder() = default;
IdEncoder::IdEncoder(IdEncoder&&) noexcept = default;
IdEncoder& IdEncoder::operator=(IdEncoder&&) noexcept = default;

Index IdEncoder::code(std::string_view id) {
  if (!tables_->integers.keys().empty()) {
    throw Error(ErrorKind::kInvalidArgument, "a text id among integers");
  }
  return tables_->texts.code(id);
}

Index IdEncoder::code(std::int64_t id) {
  if (tables_->texts.size() != 0) {
    throw Error(ErrorKind::kInvalidArgument, "an integer id among text");
  }
  return tables_->integers.code(id);
}

Index IdEncoder::size() const {
  return static_cast<Index>(tables_->integers.keys().size()) + tables_->texts.size();
}

EncodedColumn IdEncoder::column(std::span<const std::int32_t> codes) const {
  EncodedColumn column;
  column.codes = codes;
  if (tables_->texts.size() == 0) {
    column.keys = tables_->integers.keys();
  } else {
    column.keys = TextColumn{tables_->texts.offsets(), tables_->texts.chars()};
  }
  return column;
}

}  // namespace likewise
