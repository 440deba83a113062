// SPDX-License-Identifier: Apache-2.0
/// `Rates`: how often each client may ask. A client has a second's worth of requests at once, and
/// gains more at the rate.
#pragma once

#include <string>
#include <unordered_map>

#include "server/clock.h"

namespace likewise::server {

class Rates {
 public:
  /// Requests a second; 0: any number.
  explicit Rates(double rate) : rate_(rate) {}

  /// Whether this client may ask now; counts it if so.
  [[nodiscard]] bool admit(const std::string& client);

 private:
  struct Bucket {
    double left;
    Clock::time_point at;
  };
  [[nodiscard]] double most() const { return rate_ < 1 ? 1 : rate_; }
  void forget_idle(Clock::time_point now);

  double rate_;
  std::unordered_map<std::string, Bucket> buckets_;
};

}  // namespace likewise::server
