// SPDX-License-Identifier: Apache-2.0
/// `Metrics`: counters of the server, and how Prometheus reads them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace likewise::server {

class Service;

/// Thread-safe.
class Metrics {
 public:
  /// Upper ends of the classes of seconds that requests take.
  static constexpr std::array kSeconds{0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05,
                                       0.1,    0.2,   0.5,   1.0,   2.0,  5.0};

  /// `operations`: how many operation_name() knows.
  Metrics(std::size_t operations, std::size_t models);

  /// `operation`: as Service::operation_name() takes it.
  void count_request(std::size_t operation, int status, double seconds);
  void count_model_loaded(std::size_t model);
  void count_model_refused(std::size_t model);
  void forget_refused(std::size_t model);

  std::atomic<std::int64_t> connections{0};          ///< open now
  std::atomic<std::int64_t> connections_refused{0};  ///< at the limit, or without descriptors
  std::atomic<std::int64_t> connections_evicted{0};  ///< idle ones, for new ones
  std::atomic<std::int64_t> waiting{0};              ///< requests that wait for a worker
  std::atomic<std::int64_t> log_lines_dropped{0};

  /// In the text format of Prometheus, 0.0.4.
  [[nodiscard]] std::string text(const Service& service) const;

 private:
  static constexpr std::array kStatuses{200, 202, 304, 400, 401, 403, 404, 405, 408, 409,
                                        413, 414, 415, 429, 431, 500, 503, 507, 0};

  /// Of one operation.
  struct Counts {
    std::array<std::atomic<std::int64_t>, kStatuses.size()> by_status{};
    std::array<std::atomic<std::int64_t>, kSeconds.size() + 1> by_seconds{};
    std::atomic<std::int64_t> nanoseconds{0};
  };

  std::vector<std::unique_ptr<Counts>> operations_;
  std::atomic<std::int64_t> models_loaded_{0};
  std::atomic<std::int64_t> models_refused_{0};
  std::vector<std::atomic<bool>> last_refused_;  ///< of each model
};

}  // namespace likewise::server
