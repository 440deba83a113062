// SPDX-License-Identifier: Apache-2.0
/// `Model`: everything that training produced and serving needs, saved whole in one safetensors
/// file (docs/model-format.md) that Python, Rust and PyTorch open as is.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "likewise/als.h"
#include "likewise/csr.h"
#include "likewise/factors.h"
#include "likewise/id_map.h"
#include "likewise/interactions.h"
#include "likewise/neighbourhood.h"

namespace likewise {

/// Where a model came from. Free text; empty where unknown.
struct Provenance {
  std::string likewise_version;  ///< set by save_model
  std::string created;           ///< UTC, ISO 8601; set by the trainer
  std::string source;            ///< name of the interactions file, without its folder
  std::string device;            ///< what trained it, e.g. "cpu (AVX-512 kernels, 2 threads)"
};

struct Model {
  std::string algorithm;  ///< "als", "popular", "item-knn" or "user-knn"
  IdMap users;
  IdMap items;
  Factors factors;          ///< of "item-knn" and "user-knn": the baselines
  Neighbours neighbours{};  ///< "item-knn": of every item; "user-knn": of every user
  /// What each user did (users x items): for the seen filter, explanations and fold-in.
  CsrMatrix history;
  AlsParams als;          ///< meaningful for "als"; for "popular" only `feedback`
  NeighbourParams knn{};  ///< meaningful for "item-knn" and "user-knn"
  std::vector<AlsIteration> iterations;
  int best_iteration = 0;
  Provenance provenance;

  /// "item-knn" or "user-knn".
  [[nodiscard]] bool has_neighbours() const {
    return algorithm == "item-knn" || algorithm == "user-knn";
  }
  [[nodiscard]] Feedback feedback() const { return has_neighbours() ? knn.feedback : als.feedback; }
  /// Whether scores are predicted values, and not only good for ranking.
  [[nodiscard]] bool predicts_ratings() const {
    if (has_neighbours()) return knn.prediction != Prediction::kSum;
    return algorithm == "als" && als.feedback == Feedback::kExplicit;
  }

  /// Throws Error(kBadData) when sizes of maps, factors, biases and history do not fit together or
  /// a number is not finite.
  void validate() const;
};

/// Writes beside `path` and renames, so a full disk or an interrupt leaves the old file or none.
/// The factors are streamed: no second copy in memory. Errors: kBadData when the model is not
/// valid, kInvalidArgument for a name ending in .gz or .zst (a model is mapped, so it is never
/// compressed), kIo with the system's reason.
void save_model(const Model& model, const std::string& path);

/// Maps the file and checks header, checksum, shapes and ids before anything uses them. Factors
/// whose number is a multiple of 16, ids and history stay in the file's pages, shared between
/// processes; what is written to them stays in this process. Do not change a file in place while it
/// is loaded (save_model never does). Throws Error(kNotFound), Error(kIo), or Error(kBadData)
/// naming file, field and what is wrong.
[[nodiscard]] Model load_model(const std::string& path);

/// The path of the loaded model whose memory holds `address`, null where there is none. For a front
/// door's handler of SIGBUS, which says that a file was cut short while a model still used it: safe
/// in a signal handler.
[[nodiscard]] const char* model_file_at(const void* address) noexcept;

/// Saves training under way as a model file that load_model reads and `resume_from` continues:
/// everything of `model` but `factors`, which belong to the last of `iterations`. For
/// AlsRun::on_iteration; nothing is copied. Same errors as save_model.
void save_checkpoint(const Model& model, const Factors& factors,
                     std::span<const AlsIteration> iterations, const std::string& path);

/// Lets `run` go on where `model` stands: its factors (borrowed), the iterations done to reach them
/// and their reports. Same parameters and data: the same answer as training without a break.
void resume_from(const Model& model, AlsRun& run);

/// Throws Error(kInvalidArgument) naming the first difference unless `data` has exactly the users
/// and items of `model`, so that its factors can go on with `data`.
void require_same_ids(const Model& model, const Interactions& data);

}  // namespace likewise
