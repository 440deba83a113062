// SPDX-License-Identifier: Apache-2.0
/// The part of a model that is not tensors, as the string-to-string map of a safetensors header.
#pragma once

#include <string>
#include <utility>

#include "likewise/model.h"
#include "model/model_validation.h"
#include "model/safetensors.h"

namespace likewise {

inline constexpr int kModelFormatVersion = 1;
inline constexpr const char* kModelFormat = "likewise-model";

/// The metadata of a model that was trained so. The checksum is not in it.
[[nodiscard]] safetensors::Metadata encode_metadata(const Model& model, const Trained& trained);

/// A metadata entry, or Error(kBadData) saying that it is missing.
[[nodiscard]] const std::string& require(const safetensors::Metadata& metadata,
                                         const std::string& name);

/// Throws Error(kBadData) for a file of another format, or of a version newer than ours.
void check_format(const safetensors::Metadata& metadata);

/// Fills parameters, iterations, best iteration, means (of `linear` and of `model.last`, which is
/// there if its mean is) and provenance.
void decode_metadata(const safetensors::Metadata& metadata, Model& model, Factors& linear);

/// "0.3 -1.25": the regularization and the mean bias of the entry of this name.
[[nodiscard]] std::pair<double, float> parse_features(const std::string& name,
                                                      const std::string& text);

}  // namespace likewise
