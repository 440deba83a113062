// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/distributed/rank_kinds.h"

#include <exception>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/distributed/transport/socket_ranks.h"
#include "likewise/error.h"

namespace likewise::test {
namespace {

[[nodiscard]] const char* host_of(RankKind kind) {
  return kind == RankKind::kSockets6 ? "::1" : "127.0.0.1";
}

}  // namespace

void PrintTo(RankKind kind, std::ostream* to) {
  constexpr const char* kNames[] = {"threads", "sockets", "sockets6"};
  *to << kNames[static_cast<std::size_t>(kind)];
}

bool has_ranks(RankKind kind) {
  if (kind == RankKind::kThreads) return true;
  try {
    const SocketListener listener(host_of(kind));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void run_ranks(RankKind kind, int size, std::chrono::milliseconds patience,
               const RunControl& control, const RankWork& work) {
  if (kind == RankKind::kThreads) return run_thread_ranks(size, patience, control, work);
  std::vector<SocketListener> listeners;
  SocketJob job;
  job.token = "secret";
  job.patience = patience;
  for (int rank = 0; rank < size; ++rank) {
    listeners.emplace_back(host_of(kind));
    job.addresses.push_back(address_text(host_of(kind), listeners.back().port()));
  }
  // What others say of a failure is longer than what the rank that failed says.
  std::mutex mutex;
  std::exception_ptr cause;
  std::string least;
  const auto keep = [&](const std::string& said) {
    const std::lock_guard lock(mutex);
    if (cause && said.size() >= least.size()) return;
    cause = std::current_exception();
    least = said;
  };
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < size; ++rank) {
      threads.emplace_back([&, rank] {
        try {
          SocketJob own = job;
          own.rank = rank;
          SocketRanks ranks(std::move(listeners[static_cast<std::size_t>(rank)]), own, control);
          run_socket_rank(ranks, work);
        } catch (const std::exception& error) {
          keep(error.what());
        }
      });
    }
  }
  if (cause) std::rethrow_exception(cause);
}

}  // namespace likewise::test
