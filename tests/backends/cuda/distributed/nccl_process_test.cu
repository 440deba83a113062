// SPDX-License-Identifier: Apache-2.0
/// How a process connects by NCCL, and how it gives up: by a library that only plays NCCL, so that
/// no GPU is needed.
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "backends/cuda/distributed/nccl_process.h"
#include "backends/distributed/transport/thread_ranks.h"
#include "likewise/error.h"
#include "tests/backends/distributed/rank_kinds.h"
#include "tests/errors.h"

namespace likewise::cuda {

struct ncclComm {
  int rank = 0;
  int looks = 0;  ///< that still find NCCL in progress
};

namespace {

using std::chrono::milliseconds;
using Result = NcclLibrary::Result;
using Handle = NcclLibrary::Communicator;

constexpr Result kFailed = 3;
constexpr milliseconds kSoon(300);
constexpr milliseconds kPatient(20000);

/// What the calls of all ranks did, and what they are to do.
struct Played {
  int looks = 3;                          ///< until a call is through; -1: never
  Result result = NcclLibrary::kSuccess;  ///< of a call, once it is through
  Result id_result = NcclLibrary::kSuccess;
  std::atomic<int> ids{0};
  std::atomic<int> made{0};
  std::atomic<int> finalized{0};
  std::atomic<int> destroyed{0};
  std::atomic<int> aborted{0};
  std::atomic<bool> wrong{false};  ///< an id that is not rank 0's, a blocking connection
};
Played* played = nullptr;

Result unique_id(NcclLibrary::Id* id) {
  ++played->ids;
  std::string("the id").copy(id->bytes, sizeof(id->bytes));
  return played->id_result;
}
Result init_rank(Handle* handle, int, NcclLibrary::Id id, int rank, NcclLibrary::Config* config) {
  const bool fits =
      std::string(id.bytes) == "the id" && config->size == sizeof(*config) && config->blocking == 0;
  if (!fits) played->wrong = true;
  ++played->made;
  *handle = new ncclComm{rank, played->looks};
  return NcclLibrary::kInProgress;
}
Result async_error(Handle handle, Result* result) {
  if (handle->looks != 0) {
    if (handle->looks > 0) --handle->looks;
    *result = NcclLibrary::kInProgress;
  } else {
    *result = played->result;
  }
  return NcclLibrary::kSuccess;
}
Result finalize(Handle) {
  ++played->finalized;
  return NcclLibrary::kSuccess;
}
Result destroy(Handle handle) {
  ++played->destroyed;
  delete handle;
  return NcclLibrary::kSuccess;
}
Result give_up(Handle handle) {
  ++played->aborted;
  delete handle;
  return NcclLibrary::kSuccess;
}

[[nodiscard]] NcclLibrary library() {
  NcclLibrary nccl{};
  nccl.error_text = [](Result) { return "out of luck"; };
  nccl.last_error = [](Handle) { return ""; };
  nccl.unique_id = unique_id;
  nccl.init_rank = init_rank;
  nccl.async_error = async_error;
  nccl.finalize = finalize;
  nccl.destroy = destroy;
  nccl.abort = give_up;
  return nccl;
}

/// Ranks that talk over TCP, as processes do.
class NcclProcesses : public testing::Test {
 protected:
  NcclProcesses() { played = &what; }
  ~NcclProcesses() override { played = nullptr; }

  using Work = std::function<void(NcclProcess& nccl, Communicator& host, const RunControl& own)>;

  void run(int size, milliseconds patience, const Work& work = {},
           const std::function<void(Communicator&, const RunControl&)>& before = {},
           const RunControl& control = {}) {
    const NcclLibrary nccl = library();
    likewise::test::run_ranks(likewise::test::RankKind::kSockets, size, patience, control,
                              [&](Communicator& host, const RunControl& own) {
                                if (before) before(host, own);
                                NcclProcess process(nccl, host, own, patience);
                                if (work) work(process, host, own);
                              });
  }

  Played what;
};

TEST_F(NcclProcesses, ConnectByTheIdOfRankZero) {
  run(3, kPatient, [](NcclProcess& nccl, Communicator& host, const RunControl&) {
    EXPECT_EQ(nccl.handle()->rank, host.rank());
    nccl.check();
  });
  EXPECT_EQ(what.ids, 1);
  EXPECT_EQ(what.made, 3);
  EXPECT_FALSE(what.wrong);
  EXPECT_EQ(what.finalized, 3);
  EXPECT_EQ(what.destroyed, 3);
  EXPECT_EQ(what.aborted, 0);
}

TEST_F(NcclProcesses, OneAloneConnects) {
  run(1, kPatient);
  EXPECT_EQ(what.destroyed, 1);
}

TEST_F(NcclProcesses, NoIdIsTheErrorOfAll) {
  what.id_result = kFailed;
  EXPECT_NE(likewise::test::error_of(ErrorKind::kDevice, [&] { run(2, kPatient); })
                .find("NCCL: ncclGetUniqueId failed: out of luck"),
            std::string::npos);
  EXPECT_EQ(what.made, 0);
}

TEST_F(NcclProcesses, WhatNcclSaysIsTold) {
  what.result = kFailed;
  EXPECT_NE(likewise::test::error_of(ErrorKind::kDevice, [&] { run(2, kPatient); })
                .find("NCCL: ncclCommInitRankConfig failed: out of luck"),
            std::string::npos);
  EXPECT_EQ(what.aborted, what.made);
  EXPECT_EQ(what.destroyed, 0);
}

TEST_F(NcclProcesses, TheRankThatDoesNotConnectIsNamed) {
  what.looks = -1;
  const std::string message = likewise::test::error_of(ErrorKind::kDevice, [&] {
    run(3, kSoon, {}, [&](Communicator& host, const RunControl& own) {
      if (host.rank() != 1) return;
      // It has the id, and hangs before it goes on with it.
      NcclLibrary::Id id{};
      host.all_gather<NcclLibrary::Id>({&id, 0}, {&id, 1}, std::vector<Offset>{1, 0, 0});
      while (true) {
        own.check();
        std::this_thread::sleep_for(milliseconds(1));
      }
    });
  });
  EXPECT_NE(message.find("rank 1 of 3 did not come to"), std::string::npos) << message;
  EXPECT_EQ(what.aborted, 2);
}

TEST_F(NcclProcesses, ANetworkThatNeverConnectsIsNotWaitedForForEver) {
  what.looks = -1;
  const std::string message = likewise::test::error_of(ErrorKind::kDevice, [&] { run(2, kSoon); });
  EXPECT_NE(message.find("is not through within 0.3 s of rank"), std::string::npos) << message;
  EXPECT_NE(message.find("all 2 ranks answer"), std::string::npos) << message;
  EXPECT_EQ(what.aborted, 2);
}

TEST_F(NcclProcesses, TheCallerEndsTheWait) {
  what.looks = -1;
  std::atomic<bool> cancel{false};
  RunControl control;
  control.cancel = &cancel;
  std::jthread caller([&] {
    while (what.made < 2) std::this_thread::sleep_for(milliseconds(1));
    cancel = true;
  });
  EXPECT_EQ(
      likewise::test::error_of(ErrorKind::kCancelled, [&] { run(2, kPatient, {}, {}, control); }),
      "interrupted");
  EXPECT_EQ(what.aborted, 2);
}

TEST_F(NcclProcesses, TheFailureOfOneEndsTheCallsOfAll) {
  const std::string message = likewise::test::error_of(ErrorKind::kNumerical, [&] {
    run(3, kPatient, [&](NcclProcess& nccl, Communicator& host, const RunControl& own) {
      if (host.rank() == 2) throw Error(ErrorKind::kNumerical, "a pivot fell over");
      nccl.handle()->looks = -1;
      try {
        nccl.settle(NcclLibrary::kInProgress, "ncclGroupEnd", host, own, kPatient);
      } catch (...) {
        nccl.give_up();
        throw;
      }
    });
  });
  EXPECT_EQ(message, "a pivot fell over");
  EXPECT_EQ(what.aborted, 2);
}

TEST_F(NcclProcesses, WhoGaveUpCallsNoMore) {
  run(1, kPatient, [](NcclProcess& nccl, Communicator&, const RunControl&) {
    nccl.give_up();
    nccl.give_up();
    EXPECT_EQ(likewise::test::error_of(ErrorKind::kDevice, [&] { nccl.check(); }),
              "the connection was given up before");
  });
  EXPECT_EQ(what.aborted, 1);
  EXPECT_EQ(what.destroyed, 0);
}

}  // namespace
}  // namespace likewise::cuda
