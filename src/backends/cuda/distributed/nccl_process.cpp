// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/distributed/nccl_process.h"

#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise::cuda {
namespace {

using Clock = std::chrono::steady_clock;
using Result = NcclLibrary::Result;

/// At the end, for the others. Those that are alive are there at once.
constexpr auto kGoodbye = std::chrono::seconds(5);

/// Between two looks at what NCCL does: at first none, since most calls are through at once.
void rest(Clock::time_point begin) {
  if (Clock::now() - begin < std::chrono::milliseconds(1)) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

[[nodiscard]] NcclLibrary::Id share_id(const NcclLibrary& library, Communicator& host) {
  NcclLibrary::Id id{};
  if (host.rank() == 0) require_nccl(library, library.unique_id(&id), "ncclGetUniqueId");
  std::vector<Offset> counts(static_cast<std::size_t>(host.size()), 0);
  counts[0] = 1;
  const std::span<NcclLibrary::Id> all(&id, 1);
  host.all_gather<NcclLibrary::Id>(host.rank() == 0 ? all : all.first(0), all, counts);
  return id;
}

}  // namespace

NcclProcess::NcclProcess(const NcclLibrary& library, Communicator& host, const RunControl& control,
                         std::chrono::milliseconds patience)
    : library_(library) {
  const NcclLibrary::Id id = share_id(library_, host);
  NcclLibrary::Config config;
  try {
    const Result result = library_.init_rank(&handle_, host.size(), id, host.rank(), &config);
    settle(result, "ncclCommInitRankConfig", host, control, patience);
    host.barrier();
  } catch (...) {
    give_up();
    throw;
  }
}

NcclProcess::~NcclProcess() {
  if (handle_ == nullptr) return;
  if (leave()) {
    static_cast<void>(library_.destroy(handle_));
  } else {
    give_up();
  }
}

bool NcclProcess::leave() const {
  const auto begin = Clock::now();
  Result result = library_.finalize(handle_);
  while (result == NcclLibrary::kInProgress && Clock::now() - begin < kGoodbye) {
    rest(begin);
    if (library_.async_error(handle_, &result) != NcclLibrary::kSuccess) return false;
  }
  return result == NcclLibrary::kSuccess;
}

NcclLibrary::Communicator NcclProcess::handle() const {
  if (handle_ == nullptr) throw Error(ErrorKind::kDevice, "the connection was given up before");
  return handle_;
}

bool NcclProcess::is_resolved(const char* call) const {
  Result result = NcclLibrary::kSuccess;
  require_nccl(library_, library_.async_error(handle(), &result), "ncclCommGetAsyncError");
  if (result == NcclLibrary::kInProgress) return false;
  require_nccl(library_, result, call);
  return true;
}

void NcclProcess::check() const { static_cast<void>(is_resolved("an exchange")); }

void NcclProcess::settle(Result result, const char* call, Communicator& host,
                         const RunControl& control, std::chrono::milliseconds patience) {
  if (result != NcclLibrary::kInProgress) return require_nccl(library_, result, call);
  const auto begin = Clock::now();
  while (!is_resolved(call)) {
    control.check();
    rest(begin);
    if (Clock::now() - begin < patience) continue;
    host.barrier();  // names the rank that does not come here either
    throw Error(ErrorKind::kDevice,
                fmt::format("NCCL: {} is not through within {:.3g} s of rank {}, and all {} ranks "
                            "answer: look at the network between their GPUs (NCCL_DEBUG=INFO)",
                            call, std::chrono::duration<double>(patience).count(), host.rank(),
                            host.size()));
  }
}

void NcclProcess::give_up() noexcept {
  if (handle_ != nullptr) static_cast<void>(library_.abort(std::exchange(handle_, nullptr)));
}

}  // namespace likewise::cuda
