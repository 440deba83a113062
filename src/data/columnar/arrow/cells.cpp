// SPDX-License-Identifier: Apache-2.0
#include "data/columnar/arrow/cells.h"

#include <arrow/array.h>
#include <arrow/type.h>
#include <arrow/util/float16.h>
#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "data/text/times.h"
#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

/// put(array, row, out) for the cells that are there.
template <class ArrayOfType, class Put>
WriteCell writer(const std::shared_ptr<arrow::Array>& array, Put put) {
  return [typed = std::static_pointer_cast<ArrayOfType>(array), put](std::int64_t row,
                                                                     std::string& out) {
    if (!typed->IsNull(row)) put(*typed, row, out);
  };
}

/// As short as reads back the same.
template <class Number>
void put_number(Number number, std::string& out) {
  char text[64];
  out.append(text, std::to_chars(text, text + sizeof text, number).ptr);
}

template <class ArrayOfType>
WriteCell numbers(const std::shared_ptr<arrow::Array>& array) {
  return writer<ArrayOfType>(array, [](const auto& typed, std::int64_t row, std::string& out) {
    put_number(typed.Value(row), out);
  });
}

template <class ArrayOfType>
WriteCell decimals(const std::shared_ptr<arrow::Array>& array) {
  return writer<ArrayOfType>(array, [](const auto& typed, std::int64_t row, std::string& out) {
    out += typed.FormatValue(row);
  });
}

template <class ArrayOfType>
WriteCell texts(const std::shared_ptr<arrow::Array>& array, const TextRule& rule) {
  return writer<ArrayOfType>(array, [rule](const auto& typed, std::int64_t row, std::string& out) {
    const std::string_view text = typed.GetView(row);
    const bool zero = !rule.refuse_zero_bytes && text.find('\0') != std::string_view::npos;
    if (text.empty() || zero || text.size() > rule.most) return;
    append_field(out, text, ',');
  });
}

/// A moment; one outside of the years that text can write is no time, which is a bad row.
void put_moment(std::int64_t number, std::int64_t per_second, TimeForm form, std::string& out) {
  constexpr std::int64_t kYear1 = -62'135'596'800;
  constexpr std::int64_t kEndOfYear9999 = 253'402'300'800;
  const std::int64_t rest = (number % per_second + per_second) % per_second;
  const std::int64_t seconds = number / per_second - (number % per_second < 0 ? 1 : 0);
  if (seconds < kYear1 || seconds >= kEndOfYear9999) {
    out += fmt::format("{} of {} a second", number, per_second);
    return;
  }
  char text[kMostTimeChars];
  const Time time(seconds, static_cast<std::uint32_t>(rest * (1'000'000'000 / per_second)));
  out.append(text, put_time(text, time, form));
}

std::int64_t per_second(arrow::TimeUnit::type unit) {
  switch (unit) {
    case arrow::TimeUnit::SECOND:
      return 1;
    case arrow::TimeUnit::MILLI:
      return 1'000;
    case arrow::TimeUnit::MICRO:
      return 1'000'000;
    case arrow::TimeUnit::NANO:
      break;
  }
  return 1'000'000'000;
}

template <class ArrayOfType>
WriteCell moments(const std::shared_ptr<arrow::Array>& array, std::int64_t of_number,
                  std::int64_t second, TimeForm form) {
  return writer<ArrayOfType>(
      array, [of_number, second, form](const auto& typed, std::int64_t row, std::string& out) {
        put_moment(std::int64_t{typed.Value(row)} * of_number, second, form, out);
      });
}

/// The cells of a dictionary's keys.
WriteCell words(const std::shared_ptr<arrow::Array>& array, const TextRule& rule) {
  const auto& dictionary = static_cast<const arrow::DictionaryArray&>(*array);
  return writer<arrow::DictionaryArray>(array,
                                        [keys = cell_writer(dictionary.dictionary(), rule)](
                                            const auto& typed, std::int64_t row, std::string& out) {
                                          keys(typed.GetValueIndex(row), out);
                                        });
}

}  // namespace

bool can_be_ids(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::INT8:
    case arrow::Type::UINT8:
    case arrow::Type::INT16:
    case arrow::Type::UINT16:
    case arrow::Type::INT32:
    case arrow::Type::UINT32:
    case arrow::Type::INT64:
    case arrow::Type::UINT64:
    case arrow::Type::STRING:
    case arrow::Type::LARGE_STRING:
    case arrow::Type::STRING_VIEW:
      return true;
    case arrow::Type::DICTIONARY:
      return can_be_ids(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return false;
  }
}

bool can_be_written(const arrow::DataType& type) {
  switch (type.id()) {
    case arrow::Type::NA:
    case arrow::Type::BOOL:
    case arrow::Type::HALF_FLOAT:
    case arrow::Type::FLOAT:
    case arrow::Type::DOUBLE:
    case arrow::Type::DECIMAL32:
    case arrow::Type::DECIMAL64:
    case arrow::Type::DECIMAL128:
    case arrow::Type::DECIMAL256:
    case arrow::Type::DATE32:
    case arrow::Type::DATE64:
    case arrow::Type::TIMESTAMP:
      return true;
    case arrow::Type::DICTIONARY:
      return can_be_written(*static_cast<const arrow::DictionaryType&>(type).value_type());
    default:
      return can_be_ids(type);
  }
}

WriteCell cell_writer(const std::shared_ptr<arrow::Array>& array, const TextRule& rule) {
  switch (array->type_id()) {
    case arrow::Type::BOOL:
      return writer<arrow::BooleanArray>(array,
                                         [](const auto& typed, std::int64_t row, std::string& out) {
                                           out += typed.Value(row) ? "true" : "false";
                                         });
    case arrow::Type::INT8:
      return numbers<arrow::Int8Array>(array);
    case arrow::Type::UINT8:
      return numbers<arrow::UInt8Array>(array);
    case arrow::Type::INT16:
      return numbers<arrow::Int16Array>(array);
    case arrow::Type::UINT16:
      return numbers<arrow::UInt16Array>(array);
    case arrow::Type::INT32:
      return numbers<arrow::Int32Array>(array);
    case arrow::Type::UINT32:
      return numbers<arrow::UInt32Array>(array);
    case arrow::Type::INT64:
      return numbers<arrow::Int64Array>(array);
    case arrow::Type::UINT64:
      return numbers<arrow::UInt64Array>(array);
    case arrow::Type::HALF_FLOAT:
      return writer<arrow::HalfFloatArray>(
          array, [](const auto& typed, std::int64_t row, std::string& out) {
            put_number(arrow::util::Float16::FromBits(typed.Value(row)).ToFloat(), out);
          });
    case arrow::Type::FLOAT:
      return numbers<arrow::FloatArray>(array);
    case arrow::Type::DOUBLE:
      return numbers<arrow::DoubleArray>(array);
    case arrow::Type::DECIMAL32:
      return decimals<arrow::Decimal32Array>(array);
    case arrow::Type::DECIMAL64:
      return decimals<arrow::Decimal64Array>(array);
    case arrow::Type::DECIMAL128:
      return decimals<arrow::Decimal128Array>(array);
    case arrow::Type::DECIMAL256:
      return decimals<arrow::Decimal256Array>(array);
    case arrow::Type::STRING:
      return texts<arrow::StringArray>(array, rule);
    case arrow::Type::LARGE_STRING:
      return texts<arrow::LargeStringArray>(array, rule);
    case arrow::Type::STRING_VIEW:
      return texts<arrow::StringViewArray>(array, rule);
    case arrow::Type::DATE32:
      return moments<arrow::Date32Array>(array, 86'400, 1, TimeForm::kDate);
    case arrow::Type::DATE64:
      return moments<arrow::Date64Array>(array, 1, 1'000, TimeForm::kDate);
    case arrow::Type::TIMESTAMP: {
      const auto& type = static_cast<const arrow::TimestampType&>(*array->type());
      return moments<arrow::TimestampArray>(array, 1, per_second(type.unit()), TimeForm::kDateTime);
    }
    case arrow::Type::DICTIONARY:
      return words(array, rule);
    default:  // NA: nothing is there
      return [](std::int64_t, std::string&) {};
  }
}

}  // namespace likewise
