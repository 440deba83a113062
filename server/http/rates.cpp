// SPDX-License-Identifier: Apache-2.0
#include "server/http/rates.h"

#include <algorithm>

namespace likewise::server {
namespace {

constexpr std::size_t kMostClients = 65'536;

[[nodiscard]] double seconds(Clock::duration time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace

bool Rates::admit(const std::string& client) {
  if (rate_ <= 0) return true;
  const auto now = Clock::now();
  if (buckets_.size() >= kMostClients) forget_idle(now);
  Bucket& bucket = buckets_.try_emplace(client, Bucket{most(), now}).first->second;
  bucket.left = std::min(most(), bucket.left + rate_ * seconds(now - bucket.at));
  bucket.at = now;
  if (bucket.left < 1) return false;
  bucket.left -= 1;
  return true;
}

/// Those whose bucket is full again lose nothing; where all are in use, they begin anew.
void Rates::forget_idle(Clock::time_point now) {
  std::erase_if(buckets_, [&](const auto& entry) {
    return entry.second.left + rate_ * seconds(now - entry.second.at) >= most();
  });
  if (buckets_.size() >= kMostClients) buckets_.clear();
}

}  // namespace likewise::server
