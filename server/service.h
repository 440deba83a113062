// SPDX-License-Identifier: Apache-2.0
/// `Service`: what operations are asked of: the model of the moment, the limits, the counters, and
/// the table of operations itself.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/metrics.h"
#include "server/operation.h"
#include "server/served_model.h"

namespace likewise::server {

/// Thread-safe.
class Service {
 public:
  explicit Service(const Limits& limits = {});

  /// Throws Fault(kUnavailable) before there is one.
  [[nodiscard]] std::shared_ptr<const ServedModel> model() const;
  /// Requests that began with the model before keep it to their end.
  void serve(std::shared_ptr<const ServedModel> model);
  /// A model that could not be loaded: counted, and told by /metrics.
  void refuse_model(const std::string& reason);

  [[nodiscard]] const Limits& limits() const { return limits_; }
  [[nodiscard]] const std::vector<Operation>& operations() const { return operations_; }
  [[nodiscard]] Metrics& metrics() const { return metrics_; }

  /// From here on /readyz says that the server ends.
  void begin_to_end() { ending_ = true; }
  [[nodiscard]] bool ending() const { return ending_; }

 private:
  Limits limits_;
  std::vector<Operation> operations_;
  mutable Metrics metrics_;
  mutable std::mutex mutex_;
  std::shared_ptr<const ServedModel> model_;
  std::atomic<bool> ending_{false};
};

}  // namespace likewise::server
