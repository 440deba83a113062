// SPDX-License-Identifier: Apache-2.0
/// The safetensors container: 8 bytes little-endian header length, a JSON header, then the tensors'
/// bytes without holes. What likewise adds is in model-format.md.
///
/// The reader checks every length against the bytes that are there.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/types.h"

namespace likewise::safetensors {

/// Tensors start at multiples of this in files that likewise writes.
inline constexpr std::size_t kAlignment = 64;
/// A larger header is refused, in reading and in writing.
inline constexpr std::size_t kMaxHeader = std::size_t{16} << 20;
/// Names of the filler tensors that make the next one aligned: the format allows no holes.
inline constexpr std::string_view kPadPrefix = "_pad.";

enum class Type { kU8, kBF16, kI32, kI64, kF32, kOther };

[[nodiscard]] std::string_view type_name(Type type);
[[nodiscard]] std::size_t type_size(Type type);

using Metadata = std::map<std::string, std::string>;

/// One tensor of a file in memory.
struct Tensor {
  Type type = Type::kU8;
  std::string dtype;  ///< as the file spells it
  std::vector<Offset> shape;
  std::span<std::byte> bytes;
};

struct Document {
  Metadata metadata;
  std::map<std::string, Tensor> tensors;
  std::span<std::byte> header;  ///< the JSON text with its padding

  /// The tensor of that name with that type and number of dimensions, or Error(kBadData).
  [[nodiscard]] const Tensor& require(const std::string& name, Type type, std::size_t rank) const;
  [[nodiscard]] bool has(const std::string& name) const { return tensors.contains(name); }
};

/// Reads the header of a whole file. Throws Error(kBadData) saying what is wrong, without the path.
[[nodiscard]] Document parse(std::span<std::byte> file);

/// A tensor to be written: `pieces` runs of `piece_bytes`, `stride_bytes` apart (a padded matrix
/// has one piece per row, anything else is one piece).
struct Source {
  std::string name;
  Type type = Type::kU8;
  std::vector<Offset> shape;
  const void* data = nullptr;
  Offset pieces = 1;
  std::size_t piece_bytes = 0;
  std::size_t stride_bytes = 0;

  [[nodiscard]] Offset bytes() const { return pieces * static_cast<Offset>(piece_bytes); }
};

/// The tensors in file order, with filler tensors so that each starts aligned.
[[nodiscard]] std::vector<Source> with_padding(std::vector<Source> tensors);

/// The first bytes of the file, length field included, for exactly these tensors; padded with
/// spaces so that the data begins aligned. Metadata that is not UTF-8 has the bad bytes replaced.
/// Throws Error(kInvalidArgument) when the header would pass kMaxHeader.
[[nodiscard]] std::string encode_header(const Metadata& metadata, std::span<const Source> tensors);

/// Calls sink(std::string_view) with all bytes of the tensors in order. Padded rows are packed
/// through a buffer of fixed size: no second copy of a matrix.
template <class Sink>
void for_each_chunk(std::span<const Source> tensors, const Sink& sink) {
  constexpr std::size_t kBuffer = std::size_t{1} << 18;
  std::string buffer;
  for (const Source& tensor : tensors) {
    const auto* piece = static_cast<const char*>(tensor.data);
    if (tensor.piece_bytes == 0) continue;
    for (Offset i = 0; i < tensor.pieces; ++i, piece += tensor.stride_bytes) {
      if (tensor.piece_bytes >= kBuffer || tensor.pieces == 1) {
        sink(std::string_view(piece, tensor.piece_bytes));
        continue;
      }
      buffer.append(piece, tensor.piece_bytes);
      if (buffer.size() < kBuffer && i + 1 < tensor.pieces) continue;
      sink(std::string_view(buffer));
      buffer.clear();
    }
  }
}

}  // namespace likewise::safetensors
