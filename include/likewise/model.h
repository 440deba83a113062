// SPDX-License-Identifier: Apache-2.0
/// `Model`: everything that training produced and serving needs, saved whole in one safetensors
/// file (model-format.md) that Python, Rust and PyTorch open as is.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "likewise/bias.h"
#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/ease.h"
#include "likewise/factors.h"
#include "likewise/features.h"
#include "likewise/interactions.h"
#include "likewise/iteration.h"
#include "likewise/knn.h"
#include "likewise/parameters.h"
#include "likewise/titles.h"
#include "likewise/version.h"

namespace likewise {

/// What a model has grown by since it was trained (likewise/update.h).
struct ModelUpdate {
  std::string created;      ///< UTC, ISO 8601
  std::string source;       ///< name of the interactions file, without its folder
  std::string device;       ///< what did it
  Offset interactions = 0;  ///< new ones
  Index users = 0;          ///< that the model had not known
  Index items = 0;
  int iterations = 0;  ///< rounds or epochs; 0 where the algorithm has none
  std::string by{};    ///< "sgd" where steps of SGD refined a model of als
};

/// The search that found a model's parameters (likewise/tune.h).
struct ModelSearch {
  std::string metric;         ///< "ndcg@10"
  double value = 0.0;         ///< of the winner on the validation part
  std::string baseline;       ///< the algorithm that it was compared with
  double baseline_value = 0;  ///< of that
  int trials = 0;
  double seconds = 0.0;    ///< that the search took
  std::string budget;      ///< as it was asked for: "10m", "200"
  std::string validation;  ///< what it was measured on: "random 0.1", the name of a file
  std::uint64_t seed = 0;
};

/// Where a model came from. Free text; empty where unknown.
struct Provenance {
  std::string likewise_version = kVersion;  ///< of what made it; of a file, what wrote it
  std::string created;                      ///< UTC, ISO 8601; set by the trainer
  std::string source;                       ///< name of the interactions file, without its folder
  std::string device;                  ///< what trained it, e.g. "cpu (AVX-512 kernels, 2 threads)"
  std::vector<ModelUpdate> updates{};  ///< since then, the latest last
  std::optional<ModelSearch> search{};     ///< for its parameters
  std::string choice{};                    ///< of the algorithm, where the data made it: its reason
  std::vector<ParameterOrigin> origins{};  ///< of the parameters that are not defaults
};

/// What training learns: one alternative for each kind of model. Which one it is follows from the
/// parameters.
using Learned = std::variant<Factors, Knn, Popularity, Biases, ItemWeights>;

struct Model {
  TrainingParams params;  ///< the algorithm, and what it was told
  IdMap users;
  IdMap items;
  Learned learned;
  /// What each user did (users x items): for the seen filter, explanations and fold-in.
  CsrMatrix history;
  std::vector<Iteration> iterations;
  int best_iteration = 0;         ///< whose factors were learned
  std::string validation_metric;  ///< of the iterations' `validation`; empty: there was none
  /// What validation ranked where that was not all items: "candidates", "100 negatives"; else
  /// empty.
  std::string validation_among{};
  std::optional<double> validation{};  ///< of an algorithm without iterations, measured once
  /// "target", "iterations", "tolerance", "patience" or "stopped"; empty: under way
  std::string stop_reason;
  std::optional<Factors> last{};  ///< checkpoints: of the last iteration, where another is best
  Provenance provenance;
  Titles titles{};           ///< of the items, for people; may be empty
  Features user_features{};  ///< likewise/features.h; may be empty
  Features item_features{};
  /// Of models that were updated: the standard deviation of the values that training had, which
  /// steps of SGD are relative to. 0: it is that of `history`.
  double trained_spread = 0.0;

  /// "als", "item-knn", ...
  [[nodiscard]] std::string_view algorithm() const { return algorithm_name(params); }
  /// What was learned, where it is of that kind; else null.
  [[nodiscard]] const Factors* factors() const { return std::get_if<Factors>(&learned); }
  [[nodiscard]] const Knn* knn() const { return std::get_if<Knn>(&learned); }
  [[nodiscard]] const Biases* biases() const { return std::get_if<Biases>(&learned); }
  [[nodiscard]] Features& features(Side side) {
    return side == Side::kUsers ? user_features : item_features;
  }
  [[nodiscard]] const Features& features(Side side) const {
    return side == Side::kUsers ? user_features : item_features;
  }
  [[nodiscard]] Feedback feedback() const { return feedback_of(params); }
  /// What validation measured of what was learned: `validation`, or that of the best iteration.
  [[nodiscard]] std::optional<double> best_validation() const;
  /// Whether scores are predicted values, and not only good for ranking.
  [[nodiscard]] bool predicts_ratings() const;
  /// Whether there are lists: a mean that is the same for all items puts them into no order.
  [[nodiscard]] bool ranks_items() const;

  /// Throws Error(kBadData) when what was learned is not what the parameters say, sizes of maps,
  /// factors, biases and history do not fit together, or a number is not finite.
  void validate() const;
};

/// Writes next to `path` and renames, so a full disk or an interrupt leaves the old file or none.
/// The factors are streamed: no second copy in memory. Errors: kBadData when the model is not
/// valid, kInvalidArgument for a name ending in .gz or .zst (a model is mapped, so it is never
/// compressed), kIo with the system's reason.
void save_model(const Model& model, const std::string& path);

/// Throws what save_model would say of the name and of the place, before anything is trained.
void check_model_path(const std::string& path);

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

/// While it lives, no other HeldFile has the same file, in whatever program: the lock is on the
/// file itself and goes with the process, however that ends. OutputFile replaces a held file only
/// while it is the one that was held, and holds the new one from then on. Files that nobody has
/// written yet are held from the first time on. Pipes and devices are not held, and file systems
/// without locks have none: there only the check is left. Hold a file first, then read it.
class HeldFile {
 public:
  /// Throws Error(kIo) where another program holds the file, and what find_output() throws.
  explicit HeldFile(const std::string& path);
  /// Waits until no other program holds it, and calls `on_wait` once where that is not at once.
  /// Throws Error(kCancelled) where the caller asked to stop.
  HeldFile(const std::string& path, const RunControl& control,
           const std::function<void()>& on_wait = {});
  ~HeldFile();
  HeldFile(HeldFile&&) noexcept;
  HeldFile& operator=(HeldFile&&) = delete;

  [[nodiscard]] const std::string& path() const;

  struct State;
  [[nodiscard]] State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// As save_model() and save_checkpoint() to the path of `file`. Throws Error(kIo), with nothing
/// written, where another file has come in its place, or it was written into.
void save_model(const Model& model, HeldFile& file);

}  // namespace likewise
