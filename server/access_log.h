// SPDX-License-Identifier: Apache-2.0
/// `AccessLog`: a line of JSON for each request. Ids, addresses of clients and what stands behind
/// the question mark are personal: they are in it only where that was asked for.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>

#include "server/metrics.h"

namespace likewise::server {

struct AccessLine {
  std::string_view method;
  std::string_view target;     ///< as it came
  std::string_view operation;  ///< "recommend"
  std::string_view client;
  int status = 0;
  std::size_t bytes = 0;
  double seconds = 0.0;
};

/// A thread of its own writes; where the file cannot take lines as quickly as they come, some are
/// dropped and counted, and requests go on.
class AccessLog {
 public:
  /// "-": standard output. Empty: no log. Throws Error(kIo).
  AccessLog(std::string path, bool personal, Metrics& metrics);
  ~AccessLog();
  AccessLog(const AccessLog&) = delete;
  AccessLog& operator=(const AccessLog&) = delete;

  void write(const AccessLine& line);
  /// Opens the file again, for whoever moved it.
  void reopen();

 private:
  void work();
  void write_out(std::string_view lines) const;

  std::string path_;
  bool personal_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::string waiting_;
  bool reopen_ = false;
  bool ending_ = false;
  int file_ = -1;
  std::thread thread_;
};

}  // namespace likewise::server
