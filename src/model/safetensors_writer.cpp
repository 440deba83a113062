// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "likewise/error.h"
#include "model/safetensors.h"

namespace likewise::safetensors {
namespace {

constexpr std::array<std::uint8_t, kAlignment> kZeros{};

constexpr std::size_t to_alignment(std::size_t bytes) {
  return (kAlignment - bytes % kAlignment) % kAlignment;
}

}  // namespace

std::vector<Source> with_padding(std::vector<Source> tensors) {
  std::vector<Source> padded;
  int count = 0;
  for (Source& tensor : tensors) {
    const std::size_t filler = to_alignment(static_cast<std::size_t>(tensor.bytes()));
    padded.push_back(std::move(tensor));
    if (filler == 0) continue;
    padded.push_back({fmt::format("{}{}", kPadPrefix, count++),
                      Type::kU8,
                      {static_cast<Offset>(filler)},
                      kZeros.data(),
                      1,
                      filler,
                      filler});
  }
  return padded;
}

std::string encode_header(const Metadata& metadata, std::span<const Source> tensors) {
  // Ordered: people who look at the file find the metadata first and the tensors as they lie.
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  Offset position = 0;
  for (const Source& tensor : tensors) {
    header[tensor.name] = {{"dtype", type_name(tensor.type)},
                           {"shape", tensor.shape},
                           {"data_offsets", {position, position + tensor.bytes()}}};
    position += tensor.bytes();
  }
  const std::string text = header.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::size_t length = text.size() + to_alignment(sizeof(std::uint64_t) + text.size());
  if (length > kMaxHeader) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("the model's header would have {} bytes, at most {} are allowed: keep "
                            "fewer iteration reports",
                            length, kMaxHeader));
  }
  std::string encoded(sizeof(std::uint64_t), '\0');
  const auto field = static_cast<std::uint64_t>(length);
  std::memcpy(encoded.data(), &field, sizeof(field));
  encoded += text;
  encoded.append(length - text.size(), ' ');
  return encoded;
}

}  // namespace likewise::safetensors
