// SPDX-License-Identifier: Apache-2.0
/// `Service`: what operations are asked of: the models of the moment, the limits, the counters, and
/// the table of operations itself.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "server/events/follows.h"
#include "server/events/live.h"
#include "server/events/updater.h"
#include "server/metrics.h"
#include "server/operation.h"
#include "server/served_model.h"
#include "server/split.h"

namespace likewise::server {

/// Thread-safe.
class Service {
 public:
  explicit Service(const Limits& limits = {}, Split split = {});

  /// Which models there are. Elsewhere a model is its place among them.
  [[nodiscard]] const Split& split() const { return split_; }
  /// Throws Fault(kUnavailable) before there is one.
  [[nodiscard]] std::shared_ptr<const ServedModel> model(std::size_t place = 0) const;
  /// Requests that began with the model before keep it to their end.
  void serve(std::shared_ptr<const ServedModel> model, std::size_t place = 0);
  /// A model that could not be loaded: counted, and told by /metrics.
  void refuse_model(std::size_t place = 0);
  /// The file that was refused is gone: the one of the model that is served is there again.
  void keep_model(std::size_t place = 0);

  /// Events that count beside the model; both outlive the service, and come before its first model.
  /// Without them the server keeps none.
  void use_events(Live& live, std::optional<Duplicates> duplicates = {});
  void use_updates(const Updater& updater) { updater_ = &updater; }
  /// Throws Fault(kUnavailable) where the server keeps none.
  [[nodiscard]] Live& events() const;
  [[nodiscard]] bool has_events() const { return live_ != nullptr; }
  [[nodiscard]] const Updater* updater() const { return updater_; }
  /// Who a user is to the model now, with all that it did since.
  [[nodiscard]] Who who(const ServedModel& model, const std::string& user) const;
  /// Whether the model must not use what it knows of the user.
  [[nodiscard]] bool is_erased(const ServedModel& model, const std::string& user) const;
  /// The most users for whom is_erased().
  [[nodiscard]] Offset erased_users() const;
  /// What was offered to users of models, and followed.
  [[nodiscard]] Follows& follows() const { return follows_; }

  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }
  /// Behind the operations: what stands for the files of the page, and for a request of none.
  [[nodiscard]] std::size_t page_operation() const { return operations_.size(); }
  [[nodiscard]] std::size_t no_operation() const { return operations_.size() + 1; }
  /// "recommend", ..., "page", "none".
  [[nodiscard]] std::string_view operation_name(std::size_t operation) const;
  [[nodiscard]] Metrics& metrics() const { return metrics_; }

  /// From here on /readyz says that the server ends.
  void begin_to_end() { ending_ = true; }
  [[nodiscard]] bool ending() const { return ending_; }

 private:
  Limits limits_;
  Split split_;
  std::vector<Operation> operations_;
  mutable Metrics metrics_;
  mutable std::mutex mutex_;
  std::vector<std::shared_ptr<const ServedModel>> models_;
  std::mutex serving_;                           ///< of marks_
  std::vector<std::optional<ModelMark>> marks_;  ///< of each model, once it is loaded
  std::atomic<bool> ending_{false};
  Live* live_ = nullptr;
  std::optional<Duplicates> duplicates_;
  std::atomic<const Updater*> updater_{nullptr};
  mutable Follows follows_;
};

}  // namespace likewise::server
