// SPDX-License-Identifier: Apache-2.0
/// What ranks exchange between GPUs, and how they end together: ranks that share a GPU, and where
/// there are two ranks with a GPU each, threads and processes. The last tests need none.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <thread>

#include "backends/cuda/distributed/device_communicator.h"
#include "backends/cuda/distributed/nccl_library.h"
#include "backends/distributed/transport/thread_ranks.h"
#include "likewise/error.h"
#include "tests/backends/cuda/cuda_support.h"
#include "tests/backends/distributed/rank_kinds.h"

namespace likewise::cuda {
namespace {

using namespace test;
using std::chrono::milliseconds;

constexpr milliseconds kShort(1000);
constexpr milliseconds kLong(20000);

enum class Connected { kSharing, kApart, kProcesses };

struct How {
  int ranks = 1;
  Connected by = Connected::kSharing;
};

/// What a rank does with its communicator, on its GPU.
using Work = std::function<void(DeviceCommunicator& gpus, const RunControl& control)>;

class DeviceRanks : public testing::TestWithParam<How> {
 protected:
  void SetUp() override {
    int gpus = 0;
    if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus == 0) {
      GTEST_SKIP() << "no CUDA device: " << cudaGetErrorString(cudaGetLastError());
    }
    if (!shared() && gpus < size()) {
      GTEST_SKIP() << "a GPU for each of " << size() << " ranks is needed; there are " << gpus;
    }
  }
  [[nodiscard]] static int size() { return GetParam().ranks; }
  [[nodiscard]] static bool shared() { return GetParam().by == Connected::kSharing; }

  static void run(const Work& work, milliseconds patience = kLong, const RunControl& control = {}) {
    std::vector<int> devices;
    for (int rank = 0; rank < size(); ++rank) devices.push_back(shared() ? 0 : rank);
    if (GetParam().by == Connected::kProcesses) return run_processes(work, patience, control);
    const auto connected = connect_gpus(devices);
    std::vector<std::unique_ptr<DeviceCommunicator>> all(devices.size());
    run_thread_ranks(size(), patience, control, [&](Communicator& host, const RunControl& own) {
      const auto r = static_cast<std::size_t>(host.rank());
      LIKEWISE_CUDA_CHECK(cudaSetDevice(devices[r]));
      all[r] = connected->join(host.rank());
      all[r]->start(host, own, patience);
      work(*all[r], own);
    });
  }

  /// Threads that know no more of each other than processes do.
  static void run_processes(const Work& work, milliseconds patience, const RunControl& control) {
    likewise::test::run_ranks(likewise::test::RankKind::kSockets, size(), patience, control,
                              [&](Communicator& host, const RunControl& own) {
                                LIKEWISE_CUDA_CHECK(cudaSetDevice(host.rank()));
                                const auto connected = connect_processes(host, own, kLong);
                                const auto gpus = connected->join(host.rank());
                                gpus->start(host, own, patience);
                                work(*gpus, own);
                              });
  }

  /// Declared behind memory that goes when a call fails.
  struct GiveUpAtTheEnd {
    DeviceCommunicator& gpus;
    ~GiveUpAtTheEnd() { gpus.give_up(); }
  };

  template <class T>
  static std::span<T> span_of(DeviceArray<T>& array) {
    return {array.data(), static_cast<std::size_t>(array.size())};
  }
  template <class T>
  static std::span<const T> read_only(DeviceArray<T>& array) {
    return span_of(array);
  }
  /// Copied beside the communicator's stream, and ordered with it.
  template <class T>
  static DeviceArray<T> put(const std::vector<T>& values) {
    DeviceArray<T> array = to_gpu(values);
    LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(nullptr));
    return array;
  }
  template <class T>
  static std::vector<T> get(DeviceCommunicator& gpus, const DeviceArray<T>& array) {
    gpus.wait();
    return to_host(array);
  }

  /// The message of the error that the ranks end with.
  static std::string message_of(const std::function<void()>& failing, ErrorKind kind) {
    try {
      failing();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      return error.what();
    }
    ADD_FAILURE() << "no error";
    return {};
  }
};

#define EXPECT_HAS(text, part) EXPECT_NE(std::string(text).find(part), std::string::npos) << (text)

TEST_P(DeviceRanks, GatherPartsOfAnySize) {
  std::vector<Offset> counts;
  std::vector<int> expected;
  for (int r = 0; r < size(); ++r) {
    counts.push_back(r == 1 ? 0 : 200000 * r + 1);
    for (Offset i = 0; i < counts.back(); ++i) expected.push_back(static_cast<int>(7 * i) + r);
  }
  run([&](DeviceCommunicator& gpus, const RunControl&) {
    ASSERT_EQ(gpus.size(), size());
    std::vector<int> values;
    for (Offset i = 0; i < counts[static_cast<std::size_t>(gpus.rank())]; ++i) {
      values.push_back(static_cast<int>(7 * i) + gpus.rank());
    }
    DeviceArray<int> own = put(values);
    DeviceArray<int> all = put(std::vector<int>(expected.size(), -1));
    gpus.all_gather<int>(read_only(own), span_of(all), counts);
    EXPECT_EQ(get(gpus, all), expected);
    // In its place.
    std::vector<int> first(expected.size(), -1);
    Offset at = 0;
    for (int r = 0; r < gpus.rank(); ++r) at += counts[static_cast<std::size_t>(r)];
    std::copy(values.begin(), values.end(), first.begin() + at);
    all = put(first);
    gpus.all_gather<int>(read_only(all).subspan(static_cast<std::size_t>(at), values.size()),
                         span_of(all), counts);
    EXPECT_EQ(get(gpus, all), expected);
  });
}

TEST_P(DeviceRanks, RowsOfATableComeToTheirPlace) {
  constexpr int kLine = 3;
  std::vector<RowRange> parts;
  Index rows = 0;
  for (int r = 0; r < size(); ++r) {
    parts.push_back({rows + 1, r == 2 ? 0 : 50000 + r});  // a row between two parts stays
    rows += parts.back().count + 1;
  }
  run([&](DeviceCommunicator& gpus, const RunControl&) {
    std::vector<int> table(at(rows, 0, kLine), -1);
    std::vector<int> expected = table;
    for (int r = 0; r < size(); ++r) {
      const RowRange& part = parts[static_cast<std::size_t>(r)];
      for (std::size_t i = at(part.first, 0, kLine); i < at(part.first + part.count, 0, kLine);
           ++i) {
        expected[i] = static_cast<int>(i);
        if (r == gpus.rank()) table[i] = expected[i];
      }
    }
    DeviceArray<int> shared = put(table);
    const RowChunk all{parts};
    gpus.share_rows(reinterpret_cast<std::byte*>(shared.data()), kLine * sizeof(int), {&all, 1});
    EXPECT_EQ(get(gpus, shared), expected);
  });
}

/// Another stream makes them chunk by chunk, and makes them anew when all have come.
TEST_P(DeviceRanks, ChunksOfRowsTravelAsTheyAreMade) {
  constexpr Index kRows = 60000;  // of a rank
  constexpr int kChunks = 3;
  constexpr Offset kLine = 8;
  std::vector<RowChunk> chunks(kChunks);
  for (int chunk = 0; chunk < kChunks; ++chunk) {
    for (int r = 0; r < size(); ++r) {
      chunks[chunk].parts.push_back({kRows * r + kRows / kChunks * chunk, kRows / kChunks});
    }
  }
  run([&](DeviceCommunicator& gpus, const RunControl&) {
    const Stream stream;
    DeviceArray<std::byte> table(Offset{kRows} * size() * kLine);
    std::vector<DeviceArray<std::byte>> results;
    for (int round = 0; round < 4; ++round) results.emplace_back(table.size());
    std::vector<Event> made(kChunks);
    std::vector<RowChunk> own = chunks;
    for (int round = 0; round < 4; ++round) {
      for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
        const RowRange& rows = own[chunk].parts[static_cast<std::size_t>(gpus.rank())];
        LIKEWISE_CUDA_CHECK(cudaMemsetAsync(table.data() + rows.first * kLine,
                                            60 * round + 10 * static_cast<int>(chunk) + gpus.rank(),
                                            static_cast<std::size_t>(rows.count * kLine), stream));
        made[chunk].record(stream);
        own[chunk].made = &made[chunk];
      }
      gpus.share_rows(table.data(), kLine, own);
      gpus.lead(stream);
      LIKEWISE_CUDA_CHECK(cudaMemcpyAsync(results[static_cast<std::size_t>(round)].data(),
                                          table.data(), static_cast<std::size_t>(table.size()),
                                          cudaMemcpyDeviceToDevice, stream));
    }
    gpus.wait();
    LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
    for (int round = 0; round < 4; ++round) {
      const std::vector<std::byte> all = to_host(results[static_cast<std::size_t>(round)]);
      for (int chunk = 0; chunk < kChunks; ++chunk) {
        for (int r = 0; r < size(); ++r) {
          const RowRange& rows = chunks[chunk].parts[r];
          const auto expected = static_cast<std::byte>(60 * round + 10 * chunk + r);
          const auto begin = all.begin() + rows.first * kLine;
          ASSERT_EQ(std::count(begin, begin + rows.count * kLine, expected), rows.count * kLine)
              << round << ", " << chunk << ", " << r;
        }
      }
    }
  });
}

/// Numbers of very different sizes: another order would give other bits.
double number(int rank, std::size_t i) {
  return std::sin(1.0 + 7.0 * rank + static_cast<double>(i)) * std::pow(10.0, (rank * 5 + 3) % 8);
}
double sum_in_order(int size, std::size_t i) {
  double sum = number(0, i);
  for (int r = 1; r < size; ++r) sum += number(r, i);
  return sum;
}
std::vector<double> numbers(int rank, std::size_t count) {
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = number(rank, i);
  return values;
}

TEST_P(DeviceRanks, SumsAreInTheOrderOfTheRanks) {
  run([&](DeviceCommunicator& gpus, const RunControl&) {
    for (const std::size_t count : {0U, 1U, 1000U, 70000U, 5U}) {
      DeviceArray<double> values = put(numbers(gpus.rank(), count));
      gpus.all_reduce(span_of(values));
      const std::vector<double> sums = get(gpus, values);
      for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(sums[i], sum_in_order(size(), i)) << i;
    }
  });
}

TEST_P(DeviceRanks, SumsGoToTheirRanks) {
  std::vector<Offset> counts;
  Offset total = 0;
  for (int r = 0; r < size(); ++r) {
    counts.push_back(r == 1 ? 0 : 3000 + r);
    total += counts.back();
  }
  run([&](DeviceCommunicator& gpus, const RunControl&) {
    DeviceArray<double> all = put(numbers(gpus.rank(), static_cast<std::size_t>(total)));
    std::size_t begin = 0;
    for (int r = 0; r < gpus.rank(); ++r) begin += static_cast<std::size_t>(counts[r]);
    DeviceArray<double> own(counts[static_cast<std::size_t>(gpus.rank())]);
    gpus.reduce_scatter(read_only(all), span_of(own), counts);
    const std::vector<double> sums = get(gpus, own);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      ASSERT_EQ(sums[i], sum_in_order(size(), begin + i)) << i;
    }
  });
}

TEST_P(DeviceRanks, ShiftAroundTheRing) {
  run([&](DeviceCommunicator& gpus, const RunControl&) {
    for (int distance = 1; distance < size(); ++distance) {
      const int from = (gpus.rank() - distance + size()) % size();
      DeviceArray<int> out = put(std::vector<int>(100 + gpus.rank(), gpus.rank()));
      DeviceArray<int> in(100 + from);
      gpus.shift<int>(distance, read_only(out), span_of(in));
      EXPECT_EQ(get(gpus, in), std::vector<int>(100 + from, from));
    }
  });
}

/// Calls follow each other without a wait of the host; what is sent may change behind the call.
TEST_P(DeviceRanks, WhatHostsHaveComesToAll) {
  run([&](DeviceCommunicator& gpus, const RunControl&) {
    for (int turn = 0; turn < 100; ++turn) {
      const int own[] = {gpus.rank(), turn};
      std::vector<int> all(2 * static_cast<std::size_t>(size()), -1);
      std::vector<int> expected;
      for (int r = 0; r < size(); ++r) expected.insert(expected.end(), {r, turn});
      gpus.share_on_host(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
      ASSERT_EQ(all, expected);
    }
  });
}

TEST_P(DeviceRanks, CallsFollowTheStreamsThatTheyAreOrderedWith) {
  constexpr Offset kCount = 1 << 20;
  run([&](DeviceCommunicator& gpus, const RunControl&) {
    const Stream stream;
    DeviceArray<unsigned char> own(kCount);
    std::vector<DeviceArray<unsigned char>> results;
    const std::vector<Offset> counts(static_cast<std::size_t>(size()), kCount);
    for (int round = 0; round < 5; ++round) results.emplace_back(kCount * size());
    for (int round = 0; round < 5; ++round) {
      LIKEWISE_CUDA_CHECK(cudaMemsetAsync(own.data(), 10 * round + gpus.rank(), kCount, stream));
      gpus.follow(stream);
      gpus.all_gather<unsigned char>(read_only(own), span_of(results[round]), counts);
      gpus.lead(stream);
    }
    gpus.wait();
    for (int round = 0; round < 5; ++round) {
      const std::vector<unsigned char> got = to_host(results[round]);
      for (int r = 0; r < size(); ++r) {
        const auto begin = got.begin() + r * kCount;
        const auto wanted = static_cast<unsigned char>(10 * round + r);
        ASSERT_EQ(std::count(begin, begin + kCount, wanted), kCount) << round << ", rank " << r;
      }
    }
  });
}

TEST_P(DeviceRanks, TheRankThatDoesNotComeIsNamed) {
  if (size() == 1) return;
  const auto begin = std::chrono::steady_clock::now();
  const std::string message = message_of(
      [&] {
        run(
            [&](DeviceCommunicator& gpus, const RunControl& control) {
              DeviceArray<double> values = put(std::vector<double>(1000, 1.0));
              const GiveUpAtTheEnd guard{gpus};
              if (gpus.rank() == 1) {
                while (true) {
                  control.check();
                  std::this_thread::sleep_for(milliseconds(1));
                }
              }
              gpus.all_reduce(span_of(values));
              gpus.wait();
            },
            kShort);
      },
      ErrorKind::kDevice);
  EXPECT_HAS(message, "rank 1 of " + std::to_string(size()) + " did not come to");
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kLong);
}

TEST_P(DeviceRanks, TheErrorOfOneRankEndsTheWaitOfAll) {
  if (size() == 1) return;
  const std::string message = message_of(
      [&] {
        run([&](DeviceCommunicator& gpus, const RunControl&) {
          DeviceArray<double> values = put(std::vector<double>(1000, 1.0));
          const GiveUpAtTheEnd guard{gpus};
          if (gpus.rank() == size() - 1) throw Error(ErrorKind::kNumerical, "a pivot fell over");
          gpus.all_reduce(span_of(values));
          gpus.wait();
        });
      },
      ErrorKind::kNumerical);
  EXPECT_EQ(message, "a pivot fell over");
}

TEST_P(DeviceRanks, TheCallerEndsTheWaitOfAll) {
  if (size() == 1) return;
  std::atomic<bool> cancel{false};
  RunControl control;
  control.cancel = &cancel;
  const std::string message = message_of(
      [&] {
        run(
            [&](DeviceCommunicator& gpus, const RunControl& own) {
              DeviceArray<double> values = put(std::vector<double>(1000, 1.0));
              const GiveUpAtTheEnd guard{gpus};
              if (gpus.rank() == 0) {
                cancel = true;
                while (true) own.check();
              }
              gpus.all_reduce(span_of(values));
              gpus.wait();
            },
            kLong, control);
      },
      ErrorKind::kCancelled);
  EXPECT_EQ(message, "interrupted");
}

TEST_P(DeviceRanks, DifferentCallsAreTold) {
  if (size() == 1) return;
  const std::string message = message_of(
      [&] {
        run([&](DeviceCommunicator& gpus, const RunControl&) {
          DeviceArray<double> values = put(std::vector<double>(1000, 1.0));
          const GiveUpAtTheEnd guard{gpus};
          const auto all = span_of(values);
          gpus.all_reduce(gpus.rank() == 0 ? all : all.first(10));
          gpus.wait();
        });
      },
      ErrorKind::kDevice);
  EXPECT_HAS(message, "all_reduce (80 bytes)");
  EXPECT_HAS(message, "all_reduce (8000 bytes)");
}

TEST_P(DeviceRanks, WrongCountsAreRefused) {
  const std::string message = message_of(
      [&] {
        run([&](DeviceCommunicator& gpus, const RunControl&) {
          DeviceArray<int> values = put(std::vector<int>(10, 1));
          const std::vector<Offset> counts(static_cast<std::size_t>(size()), 11);
          gpus.all_gather<int>(read_only(values), span_of(values), counts);
        });
      },
      ErrorKind::kDevice);
  EXPECT_HAS(message, "calls all_gather with 10 numbers of its own");
}

std::string name_of_how(const testing::TestParamInfo<How>& test) {
  constexpr const char* kNames[] = {"Sharing", "Apart", "Processes"};
  return kNames[static_cast<std::size_t>(test.param.by)] + std::to_string(test.param.ranks);
}

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceRanks,
                         testing::Values(How{1, Connected::kSharing}, How{2, Connected::kSharing},
                                         How{3, Connected::kSharing}, How{5, Connected::kSharing},
                                         How{2, Connected::kApart}, How{4, Connected::kApart},
                                         How{1, Connected::kProcesses},
                                         How{2, Connected::kProcesses}),
                         name_of_how);

// ---------------------------------------------------------------------------- without a GPU

TEST(CallLedger, NamesWhoDidNotCome) {
  CallLedger ledger(3);
  for (const int rank : {0, 1, 2}) ledger.begin(rank, {GpuCall::kGather, 0, 24});
  EXPECT_FALSE(ledger.is_through(0));
  EXPECT_EQ(ledger.missing(0),
            "all 3 ranks came, and the GPU of rank 0 is not through with "
            "all_gather");
  ledger.finish(0);
  EXPECT_TRUE(ledger.is_through(0));
  ledger.begin(0, {GpuCall::kShareRows, 0, 8});
  EXPECT_EQ(ledger.missing(0), "ranks 1, 2 of 3 did not come to share_rows");
  ledger.begin(2, {GpuCall::kShareRows, 0, 8});
  EXPECT_EQ(ledger.missing(0), "rank 1 of 3 did not come to share_rows");
  EXPECT_EQ(ledger.missing(2), "rank 1 of 3 did not come to share_rows");
}

std::string ledger_error(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    return error.what();
  }
  return "no error";
}

TEST(CallLedger, TellsDifferentCalls) {
  CallLedger ledger(2);
  ledger.begin(0, {GpuCall::kGather, 0, 24});
  ledger.begin(0, {GpuCall::kReduce, 0, 8});
  ledger.begin(1, {GpuCall::kGather, 0, 24});
  EXPECT_EQ(ledger_error([&] {
              ledger.begin(1, {GpuCall::kReduce, 0, 16});
            }),
            "rank 1 calls all_reduce (16 bytes) and rank 0 all_reduce (8 bytes)");
}

TEST(CallLedger, TellsAShiftOfTheWrongSize) {
  CallLedger ledger(3);
  ledger.begin(0, {GpuCall::kShift, 1, 0, 8, 4});
  EXPECT_EQ(ledger_error([&] {
              ledger.begin(1, {GpuCall::kShift, 1, 0, 8, 12});
            }),
            "rank 0 sends 8 bytes to rank 1, which expects 12");
  EXPECT_EQ(ledger_error([&] {
              ledger.begin(2, {GpuCall::kShift, 2, 0, 8, 8});
            }),
            "rank 2 calls shift by 2 and rank 0 shift by 1");
}

TEST(NcclLibrary, AMissingOneIsNamedWithWhatToInstall) {
  const std::string message = ledger_error([] { (void)load_nccl("libnccl-of-nobody.so.2"); });
  EXPECT_HAS(message, "libnccl-of-nobody.so.2 cannot be loaded");
  EXPECT_HAS(message, "Install NCCL for CUDA " + std::to_string(CUDART_VERSION / 1000));
  EXPECT_HAS(message, "or train on processors");
}

/// Something else under its name.
TEST(NcclLibrary, AnotherLibraryIsRefused) {
  EXPECT_HAS(ledger_error([] { (void)load_nccl("libm.so.6"); }), "ncclGetErrorString");
}

}  // namespace
}  // namespace likewise::cuda
