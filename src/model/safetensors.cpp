// SPDX-License-Identifier: Apache-2.0
#include "model/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/strict_json.h"
#include "likewise/error.h"
#include "model/bad_data.h"

static_assert(std::endian::native == std::endian::little, "model files are mapped, not converted");

namespace likewise::safetensors {
namespace {

using nlohmann::json;

constexpr std::size_t kLengthField = 8;

constexpr std::pair<Type, std::string_view> kTypes[] = {{Type::kU8, "U8"},
                                                        {Type::kBF16, "BF16"},
                                                        {Type::kI32, "I32"},
                                                        {Type::kI64, "I64"},
                                                        {Type::kF32, "F32"}};

/// Bits per element of every dtype of the format. Those that likewise does not use are still
/// measured, so that a file with more tensors than we need stays readable.
constexpr std::pair<std::string_view, Offset> kBits[] = {
    {"BOOL", 8},    {"U8", 8},   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
    {"F8_E8M0", 8}, {"I16", 16}, {"U16", 16}, {"F16", 16},    {"BF16", 16},
    {"I32", 32},    {"U32", 32}, {"F32", 32}, {"I64", 64},    {"U64", 64},
    {"F64", 64},    {"C64", 64}, {"F4", 4},   {"F6_E2M3", 6}, {"F6_E3M2", 6}};

Type type_of(std::string_view dtype) {
  for (const auto& [type, name] : kTypes) {
    if (name == dtype) return type;
  }
  return Type::kOther;
}

Offset bits_of(const std::string& name, std::string_view dtype) {
  for (const auto& [known, bits] : kBits) {
    if (known == dtype) return bits;
  }
  bad_data(fmt::format("tensor '{}' has the unknown dtype '{}'", name, dtype));
}

/// The bytes of the header, checked against the file's size.
std::span<std::byte> header_of(std::span<std::byte> file) {
  if (file.size() < kLengthField) {
    bad_data(fmt::format("the file has {} bytes: too short for a model file", file.size()));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthField);
  if (length > kMaxHeader) {
    bad_data(fmt::format(
        "not a safetensors file (read as the header's length, its first 8 bytes say {}; at most {} "
        "are allowed): pass a model that likewise saved",
        length, kMaxHeader));
  }
  if (length > file.size() - kLengthField) {
    bad_data(
        fmt::format("the file is cut short, copy it again: its header has {} bytes, {} are there",
                    length, file.size() - kLengthField));
  }
  if (length < 2 || file[kLengthField] != std::byte{'{'}) {
    bad_data(
        "not a safetensors file (the header does not begin with '{'): pass a model that likewise "
        "saved");
  }
  return file.subspan(kLengthField, static_cast<std::size_t>(length));
}

const json& member(const json& object, const std::string& tensor, const char* name) {
  const auto at = object.find(name);
  if (at == object.end()) bad_data(fmt::format("tensor '{}' has no {}", tensor, name));
  return *at;
}

Offset natural(const json& number, const std::string& tensor, const char* what) {
  constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<Offset>::max());
  if (!number.is_number_unsigned() || number.get<std::uint64_t>() > kMax) {
    bad_data(
        fmt::format("tensor '{}': a {} is {}, not a natural number in range", tensor, what,
                    number.dump(-1, ' ', false, json::error_handler_t::replace).substr(0, 40)));
  }
  return number.get<Offset>();
}

std::vector<Offset> naturals(const json& object, const std::string& tensor, const char* name) {
  const json& list = member(object, tensor, name);
  if (!list.is_array()) bad_data(fmt::format("tensor '{}': {} is not a list", tensor, name));
  std::vector<Offset> numbers;
  for (const json& number : list) numbers.push_back(natural(number, tensor, name));
  return numbers;
}

/// Bytes of shape x dtype.
Offset byte_count(const std::string& name, const std::vector<Offset>& shape, Offset bits) {
  Offset total = bits;
  for (const Offset extent : shape) {
    if (__builtin_mul_overflow(total, extent, &total)) {
      bad_data(fmt::format("tensor '{}': the shape [{}] overflows", name, fmt::join(shape, ", ")));
    }
  }
  if (total % 8 != 0) bad_data(fmt::format("tensor '{}' does not fill whole bytes", name));
  return total / 8;
}

/// A tensor's place in the data section.
struct Range {
  Offset begin;
  Offset end;
  const std::string* name;
};

Range read_range(const json& object, const std::string& name, Offset data_size) {
  const std::vector<Offset> offsets = naturals(object, name, "data_offsets");
  if (offsets.size() != 2 || offsets[0] > offsets[1]) {
    bad_data(fmt::format("tensor '{}': data_offsets must be two rising numbers, not [{}]", name,
                         fmt::join(offsets, ", ")));
  }
  if (offsets[1] > data_size) {
    bad_data(
        fmt::format("the file is cut short, copy it again: tensor '{}' ends at byte {} of the "
                    "data, which has {}",
                    name, offsets[1], data_size));
  }
  return {offsets[0], offsets[1], &name};
}

Tensor read_tensor(const std::string& name, const json& object, std::span<std::byte> data,
                   std::vector<Range>& ranges) {
  if (!object.is_object()) bad_data(fmt::format("tensor '{}' is not described by an object", name));
  const json& dtype = member(object, name, "dtype");
  if (!dtype.is_string()) bad_data(fmt::format("tensor '{}': the dtype is not a string", name));
  Tensor tensor;
  tensor.dtype = dtype.get<std::string>();
  tensor.type = type_of(tensor.dtype);
  tensor.shape = naturals(object, name, "shape");
  const Range range = read_range(object, name, static_cast<Offset>(data.size()));
  const Offset bytes = byte_count(name, tensor.shape, bits_of(name, tensor.dtype));
  if (bytes != range.end - range.begin) {
    bad_data(fmt::format("tensor '{}': shape [{}] of {} needs {} bytes, the data_offsets give {}",
                         name, fmt::join(tensor.shape, ", "), tensor.dtype, bytes,
                         range.end - range.begin));
  }
  tensor.bytes =
      data.subspan(static_cast<std::size_t>(range.begin), static_cast<std::size_t>(bytes));
  ranges.push_back(range);
  return tensor;
}

/// The format allows neither overlap nor holes: every byte belongs to one tensor.
void check_cover(std::vector<Range> ranges, Offset data_size) {
  std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  Offset end = 0;
  for (const Range& range : ranges) {
    if (range.begin != end) {
      bad_data(
          fmt::format("tensor '{}' begins at byte {} of the data, the one before it ends at {}",
                      *range.name, range.begin, end));
    }
    end = range.end;
  }
  if (end != data_size) {
    bad_data(fmt::format("{} bytes after the last tensor belong to none", data_size - end));
  }
}

Metadata read_metadata(const json& object) {
  if (!object.is_object()) bad_data("the header's __metadata__ is not an object");
  Metadata metadata;
  for (const auto& [name, value] : object.items()) {
    if (!value.is_string()) bad_data(fmt::format("metadata '{}' is not a string", name));
    metadata.emplace(name, value.get<std::string>());
  }
  return metadata;
}

}  // namespace

std::string_view type_name(Type type) {
  for (const auto& [known, name] : kTypes) {
    if (known == type) return name;
  }
  return "another type";
}

std::size_t type_size(Type type) {
  switch (type) {
    case Type::kU8:
      return 1;
    case Type::kBF16:
      return 2;
    case Type::kI32:
    case Type::kF32:
      return 4;
    case Type::kI64:
      return 8;
    case Type::kOther:
      break;
  }
  return 0;
}

Document parse(std::span<std::byte> file) {
  Document document;
  document.header = header_of(file);
  const std::span<std::byte> data = file.subspan(kLengthField + document.header.size());
  const json header = parse_strict_json(
      {reinterpret_cast<const char*>(document.header.data()), document.header.size()},
      "the header");
  if (!header.is_object()) bad_data("the header is not a JSON object");
  std::vector<Range> ranges;
  for (const auto& [name, value] : header.items()) {
    if (name == "__metadata__") {
      document.metadata = read_metadata(value);
      continue;
    }
    const auto at = document.tensors.try_emplace(name).first;
    at->second = read_tensor(at->first, value, data, ranges);
  }
  // The names that `ranges` point to live in the map, whose nodes stay where they are.
  check_cover(std::move(ranges), static_cast<Offset>(data.size()));
  return document;
}

const Tensor& Document::require(const std::string& name, Type type, std::size_t rank) const {
  const auto at = tensors.find(name);
  if (at == tensors.end()) bad_data(fmt::format("tensor '{}' is missing", name));
  const Tensor& tensor = at->second;
  if (tensor.type != type) {
    bad_data(fmt::format("tensor '{}' is {}, it must be {}", name, tensor.dtype, type_name(type)));
  }
  if (tensor.shape.size() != rank) {
    bad_data(fmt::format("tensor '{}' has the shape [{}], it must have {} dimension{}", name,
                         fmt::join(tensor.shape, ", "), rank, rank == 1 ? "" : "s"));
  }
  return tensor;
}

}  // namespace likewise::safetensors
