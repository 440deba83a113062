// SPDX-License-Identifier: Apache-2.0
/// `ModelWatch`: serves the model file as it is now. A thread of its own looks at the file; a new
/// one is loaded whole, then takes the place of the one before. What cannot be loaded is refused.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "server/service.h"

namespace likewise::server {

class ModelWatch {
 public:
  using Say = std::function<void(const std::string& line)>;

  /// Loads the first model, and throws Error where that fails. `every`: how often to look; a file
  /// is loaded once it has stayed the same between two looks. 0: only look_now() loads.
  ModelWatch(Service& service, ModelSource source, std::chrono::milliseconds every, Say say,
             std::size_t place = 0);
  ~ModelWatch();
  ModelWatch(const ModelWatch&) = delete;
  ModelWatch& operator=(const ModelWatch&) = delete;

  /// Loads the file again, changed or not. Returns at once.
  void look_now();

 private:
  void work();
  /// Whether the file is a new one that has come to rest.
  [[nodiscard]] bool resolved();
  /// The file is the served one again.
  void forget_refused();
  void load();

  Service& service_;
  ModelSource source_;
  std::chrono::milliseconds every_;
  Say say_;
  std::size_t place_;  ///< of the model among those that are served
  FileStamp served_;
  std::optional<FileStamp> refused_;  ///< nothing where there was no file to refuse
  bool has_refused_ = false;          ///< the newest
  std::optional<FileStamp> seen_;     ///< at the last look
  std::mutex mutex_;
  std::condition_variable changed_;
  bool asked_ = false;
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace likewise::server
