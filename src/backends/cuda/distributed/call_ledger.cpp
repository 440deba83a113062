// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/distributed/call_ledger.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "backends/distributed/communicator.h"
#include "likewise/error.h"

namespace likewise::cuda {

namespace {

constexpr std::string_view kNames[] = {"all_gather", "share_rows", "shift", "all_reduce",
                                       "reduce_scatter"};

[[nodiscard]] std::string_view name_of(GpuCall call) {
  return kNames[static_cast<std::size_t>(call)];
}

}  // namespace

void CallLedger::begin(int rank, const RankCall& call) {
  const auto me = static_cast<std::size_t>(rank);
  const std::lock_guard lock(mutex_);
  const Offset number = made_[me].begun++;
  made_[me].calls[static_cast<std::size_t>(number % kKept)] = call;
  for (std::size_t other = 0; other < made_.size(); ++other) {
    const Offset begun = made_[other].begun;
    if (other != me && begun > number && begun - number < kKept) require_same(me, other, number);
  }
}

void CallLedger::require_same(std::size_t one, std::size_t other, Offset number) const {
  const RankCall& mine = call(one, number);
  const RankCall& theirs = call(other, number);
  if (mine.what != theirs.what || mine.size != theirs.size || mine.distance != theirs.distance) {
    const auto call_text = [](const RankCall& what) {
      return what.distance == 0 ? fmt::format("{} ({} bytes)", name_of(what.what), what.size)
                                : fmt::format("{} by {}", name_of(what.what), what.distance);
    };
    throw Error(ErrorKind::kDevice, fmt::format("rank {} calls {} and rank {} {}", one,
                                                call_text(mine), other, call_text(theirs)));
  }
  if (mine.distance == 0) return;
  const auto expect = [&](std::size_t from, std::size_t to) {
    const Offset sent = call(from, number).sent;
    const Offset wanted = call(to, number).received;
    if (sent == wanted) return;
    throw unexpected_bytes(static_cast<int>(from), sent, static_cast<int>(to), wanted);
  };
  const std::size_t size = made_.size();
  const auto distance = static_cast<std::size_t>(mine.distance);
  if ((one + distance) % size == other) expect(one, other);
  if ((other + distance) % size == one) expect(other, one);
}

void CallLedger::finish(int rank) {
  const std::lock_guard lock(mutex_);
  Rank& me = made_[static_cast<std::size_t>(rank)];
  me.finished = me.begun;
}

std::vector<RankCall> CallLedger::unfinished(int rank) const {
  const auto me = static_cast<std::size_t>(rank);
  const std::lock_guard lock(mutex_);
  std::vector<RankCall> calls;
  for (Offset number = std::max(made_[me].finished, made_[me].begun - kKept);
       number < made_[me].begun; ++number) {
    calls.push_back(call(me, number));
  }
  return calls;
}

bool CallLedger::is_through(int rank) const {
  const std::lock_guard lock(mutex_);
  const Rank& me = made_[static_cast<std::size_t>(rank)];
  return me.finished == me.begun;
}

std::string CallLedger::missing(int rank) const {
  const auto me = static_cast<std::size_t>(rank);
  const std::lock_guard lock(mutex_);
  // The first call that is not through and to which somebody did not come.
  for (Offset number = made_[me].finished; number < made_[me].begun; ++number) {
    std::vector<int> absent;
    for (std::size_t other = 0; other < made_.size(); ++other) {
      if (made_[other].begun <= number) absent.push_back(static_cast<int>(other));
    }
    if (absent.empty()) continue;
    return fmt::format("{} of {} did not come to {}", ranks_text(absent), made_.size(),
                       name_of(call(me, number).what));
  }
  return fmt::format(
      "all {} ranks came, and the GPU of rank {} is not through with {}", made_.size(), rank,
      made_[me].begun == 0 ? "anything" : name_of(call(me, made_[me].begun - 1).what));
}

}  // namespace likewise::cuda
