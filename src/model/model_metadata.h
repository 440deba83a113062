// SPDX-License-Identifier: Apache-2.0
/// The part of a model that is not tensors, as the string-to-string map of a safetensors header.
#pragma once

#include <string>

#include "likewise/model.h"
#include "model/model_validation.h"
#include "model/safetensors.h"

namespace likewise {

inline constexpr int kModelFormatVersion = 1;
inline constexpr const char* kModelFormat = "likewise-model";

/// The metadata of a model with these parameters and iterations. The checksum is not in it.
[[nodiscard]] safetensors::Metadata encode_metadata(const Model& model, const Learned& learned);

/// A metadata entry, or Error(kBadData) saying that it is missing.
[[nodiscard]] const std::string& require(const safetensors::Metadata& metadata,
                                         const std::string& name);

/// Throws Error(kBadData) for a file of another format, or of a version newer than ours.
void check_format(const safetensors::Metadata& metadata);

/// Fills algorithm, parameters, iterations, best iteration, global mean and provenance.
void decode_metadata(const safetensors::Metadata& metadata, Model& model);

}  // namespace likewise
