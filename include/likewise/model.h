// SPDX-License-Identifier: Apache-2.0
/// `Model`: everything that training produced and serving needs, saved whole in one safetensors file
/// (docs/model-format.md) that Python, Rust and PyTorch open as is.
#pragma once

#include <string>
#include <vector>

#include "likewise/als.h"
#include "likewise/csr.h"
#include "likewise/factors.h"
#include "likewise/id_map.h"

namespace likewise {

/// Where a model came from. Free text; empty where unknown.
struct Provenance {
  std::string likewise_version;  ///< set by save_model
  std::string created;           ///< UTC, ISO 8601; set by the trainer
  std::string source;            ///< name of the interactions file, without its folder
  std::string device;            ///< what trained it, e.g. "cpu (AVX3, 2 threads)"
};

struct Model {
  std::string algorithm;         ///< "als" or "popular"
  IdMap users;
  IdMap items;
  Factors factors;
  /// What each user did (users x items): for the seen filter, explanations and fold-in.
  CsrMatrix history;
  AlsParams als;                 ///< meaningful for "als"; for "popular" only `feedback`
  std::vector<AlsIteration> iterations;
  int best_iteration = 0;
  Provenance provenance;

  /// Throws Error(kBadData) when sizes of maps, factors, biases and history do not fit together or
  /// a number is not finite.
  void validate() const;
};

/// Writes beside `path` and renames, so a full disk or an interrupt leaves the old file or none.
/// Throws Error(kIo) with the system's reason.
void save_model(const Model& model, const std::string& path);

/// Maps the file and checks header, checksum, shapes and ids before anything uses them. Throws
/// Error(kNotFound), Error(kIo), or Error(kBadData) naming file, field and what is wrong.
[[nodiscard]] Model load_model(const std::string& path);

}  // namespace likewise
