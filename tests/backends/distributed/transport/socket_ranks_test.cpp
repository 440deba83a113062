// SPDX-License-Identifier: Apache-2.0
/// Ranks that are processes: how they find each other, and what ends a process does to the others.
#include "backends/distributed/transport/socket_ranks.h"

#include <arpa/inet.h>
#include <chrono>
#include <csignal>
#include <netinet/in.h>
#include <string>
#include <string_view>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "backends/distributed/transport/sockets.h"
#include "likewise/version.h"
#include "tests/errors.h"

namespace likewise {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

[[nodiscard]] SocketJob job_of(int rank, const std::vector<SocketListener>& listeners) {
  SocketJob job;
  job.rank = rank;
  job.token = "of this job";
  job.patience = job.connect_patience = milliseconds(20000);
  for (const SocketListener& one : listeners) {
    job.addresses.push_back(address_text("127.0.0.1", one.port()));
  }
  return job;
}

[[nodiscard]] std::vector<SocketListener> listeners_of(int size) {
  std::vector<SocketListener> all;
  for (int rank = 0; rank < size; ++rank) all.emplace_back("127.0.0.1");
  return all;
}

TEST(SocketRanks, AddressesOfBothKinds) {
  EXPECT_EQ(address_text("10.0.0.7", 80), "10.0.0.7:80");
  EXPECT_EQ(address_text("worker-3", 80), "worker-3:80");
  EXPECT_EQ(address_text("fe80::1", 80), "[fe80::1]:80");
  EXPECT_EQ(address_text("[fe80::1]", 80), "[fe80::1]:80");
}

TEST(SocketRanks, AnAddressThatIsNoneIsRefused) {
  for (const char* const wrong : {"nowhere", ":80", "host:", "a:b:80", "[]:80", ""}) {
    std::vector<SocketListener> listeners = listeners_of(2);
    SocketJob job = job_of(1, listeners);
    job.addresses[0] = wrong;
    EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                               [&] { SocketRanks ranks(std::move(listeners[1]), job); }),
                HasSubstr("no address of a rank"));
  }
}

TEST(SocketRanks, AJobThatIsNoneIsRefused) {
  std::vector<SocketListener> listeners = listeners_of(3);
  SocketJob job = job_of(0, listeners);
  job.token.clear();
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [&] { SocketRanks ranks(std::move(listeners[0]), job); }),
              HasSubstr("a token has 1 to 64 bytes, not 0"));
  job = job_of(3, listeners);
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [&] { SocketRanks ranks(std::move(listeners[1]), job); }),
              HasSubstr("rank 3 is not in a job of 3 ranks"));
}

TEST(SocketRanks, RanksThatDoNotConnectAreNamed) {
  std::vector<SocketListener> listeners = listeners_of(3);
  SocketJob job = job_of(0, listeners);
  job.connect_patience = milliseconds(150);
  EXPECT_THAT(
      test::error_of(ErrorKind::kDevice, [&] { SocketRanks ranks(std::move(listeners[0]), job); }),
      HasSubstr("ranks 1, 2 of 3 did not connect to rank 0 within 0.15 s"));
  job = job_of(1, listeners);
  job.addresses[0] = "127.0.0.1:1";
  job.connect_patience = milliseconds(150);
  EXPECT_THAT(
      test::error_of(ErrorKind::kDevice, [&] { SocketRanks ranks(std::move(listeners[1]), job); }),
      testing::AllOf(HasSubstr("rank 0 of 3 at 127.0.0.1:1"), HasSubstr("refused")));
}

/// A connection of no rank.
[[nodiscard]] Socket stranger(int port) {
  Socket made(::socket(AF_INET, SOCK_STREAM, 0));
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<std::uint16_t>(port));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(connect(made.get(), reinterpret_cast<const sockaddr*>(&to), sizeof to), 0);
  return made;
}

TEST(SocketRanks, StrangersAreNotListenedTo) {
  std::vector<SocketListener> listeners = listeners_of(2);
  const std::vector<SocketJob> jobs{job_of(0, listeners), job_of(1, listeners)};
  const Socket silent = stranger(listeners[0].port());
  const Socket loud = stranger(listeners[0].port());
  const std::string noise(5000, 'x');
  ASSERT_GT(send(loud.get(), noise.data(), noise.size(), MSG_NOSIGNAL), 0);
  SocketJob other = jobs[1];
  other.token = "of another job";
  other.connect_patience = milliseconds(200);
  std::jthread first([&] {
    SocketRanks ranks(std::move(listeners[0]), jobs[0]);
    ranks.barrier();
  });
  EXPECT_THAT(test::error_of(ErrorKind::kDevice,
                             [&] { SocketRanks ranks(SocketListener("127.0.0.1"), other); }),
              HasSubstr("did not answer a rank of this job"));
  SocketRanks ranks(std::move(listeners[1]), jobs[1]);
  ranks.barrier();
}

/// A process with `count` connections of no rank: every third says nothing, every third begins as
/// ranks do and waits, every third goes at once. Told when all are made.
class Strangers {
 public:
  Strangers(int port, int count) {
    int made[2];
    EXPECT_EQ(pipe(made), 0);
    child_ = fork();
    if (child_ == 0) {
      (void)prctl(PR_SET_PDEATHSIG, SIGKILL);  // however the test ends
      std::vector<Socket> all;
      for (int i = 0; i < count; ++i) {
        all.push_back(stranger(port));
        constexpr std::string_view kBegin = "LIKERANK";
        if (i % 3 == 1) (void)send(all.back().get(), kBegin.data(), kBegin.size(), MSG_NOSIGNAL);
        if (i % 3 == 2) all.pop_back();
      }
      (void)!write(made[1], "x", 1);
      while (true) pause();
    }
    char byte = 0;
    (void)close(made[1]);
    EXPECT_EQ(read(made[0], &byte, 1), 1);
    (void)close(made[0]);
  }
  ~Strangers() {
    (void)kill(child_, SIGKILL);
    (void)waitpid(child_, nullptr, 0);
  }
  Strangers(const Strangers&) = delete;
  Strangers& operator=(const Strangers&) = delete;

 private:
  pid_t child_ = -1;
};

/// So many descriptors for this process, as long as this lives.
class FewDescriptors {
 public:
  explicit FewDescriptors(rlim_t count) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit few{count, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &few), 0);
  }
  ~FewDescriptors() { (void)setrlimit(RLIMIT_NOFILE, &before_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  rlimit before_{};
};

/// Whether two ranks meet within some seconds although strangers came first. A sanitizer that looks
/// at a virtual table for the first time needs a descriptor: so first without strangers.
void meet_behind_strangers(std::vector<SocketListener> listeners) {
  std::vector<SocketJob> jobs{job_of(0, listeners), job_of(1, listeners)};
  for (SocketJob& job : jobs) job.connect_patience = milliseconds(8000);
  std::jthread first([&] {
    SocketRanks ranks(std::move(listeners[0]), jobs[0]);
    ranks.barrier();
  });
  SocketRanks ranks(std::move(listeners[1]), jobs[1]);
  ranks.barrier();
}

TEST(SocketRanks, ManyStrangersKeepNoRankOut) {
  meet_behind_strangers(listeners_of(2));
  std::vector<SocketListener> listeners = listeners_of(2);
  const Strangers strangers(listeners[0].port(), 300);
  const FewDescriptors few(128);
  meet_behind_strangers(std::move(listeners));
}

TEST(SocketRanks, StrangersGoWhereOthersHaveTheDescriptors) {
  meet_behind_strangers(listeners_of(2));
  std::vector<SocketListener> listeners = listeners_of(2);
  const Strangers strangers(listeners[0].port(), 60);
  const FewDescriptors few(128);
  // Six are left: the two ranks of this process need four.
  std::vector<Socket> others;
  while (true) {
    Socket one(dup(listeners[0].descriptor()));
    if (!one.open()) break;
    others.push_back(std::move(one));
  }
  others.resize(others.size() - 6);
  meet_behind_strangers(std::move(listeners));
}

TEST(SocketRanks, RanksOfAnotherJobSizeAreRefusedOnBothSides) {
  std::vector<SocketListener> listeners = listeners_of(2);
  const SocketJob small = job_of(0, listeners);
  SocketJob large = job_of(1, listeners);
  large.addresses.emplace_back("127.0.0.1:1");
  std::string said;
  std::jthread first([&] {
    said = test::error_of(ErrorKind::kDevice,
                          [&] { SocketRanks ranks(std::move(listeners[0]), small); });
  });
  const std::string heard = test::error_of(
      ErrorKind::kDevice, [&] { SocketRanks ranks(std::move(listeners[1]), large); });
  first.join();
  EXPECT_EQ(said, heard);
  EXPECT_THAT(said, HasSubstr("rank 1 of 3 connects to rank 0 of 2"));
}

/// What rank 0 hears where rank 1 is a process that does this after a first barrier.
[[nodiscard]] std::string heard_of(milliseconds patience, void (*last)()) {
  std::vector<SocketListener> listeners = listeners_of(2);
  std::vector<SocketJob> jobs{job_of(0, listeners), job_of(1, listeners)};
  for (SocketJob& job : jobs) job.patience = patience;
  const pid_t child = fork();
  if (child == 0) {
    {
      SocketRanks ranks(std::move(listeners[1]), jobs[1]);
      ranks.barrier();
      last();
    }
    _exit(0);
  }
  listeners.pop_back();
  const std::string heard = test::error_of(ErrorKind::kDevice, [&] {
    SocketRanks ranks(std::move(listeners[0]), jobs[0]);
    run_socket_rank(ranks, [](Communicator& all, const RunControl&) {
      all.barrier();
      all.barrier();
    });
  });
  (void)kill(child, SIGKILL);
  (void)waitpid(child, nullptr, 0);
  return heard;
}

TEST(SocketRanks, AProcessThatDiesIsNamedAtOnce) {
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_THAT(heard_of(milliseconds(30000), [] { (void)raise(SIGKILL); }),
              HasSubstr("rank 1 of 2 at 127.0.0.1"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

TEST(SocketRanks, AProcessThatHangsIsNamedInTime) {
  EXPECT_THAT(heard_of(milliseconds(300), [] { (void)raise(SIGSTOP); }),
              HasSubstr("rank 1 of 2 did not come to barrier within 0.3 s of rank 0"));
}

TEST(SocketRanks, LongWorkHearsOfADeath) {
  std::vector<SocketListener> listeners = listeners_of(2);
  const std::vector<SocketJob> jobs{job_of(0, listeners), job_of(1, listeners)};
  std::jthread other([&] {
    SocketRanks ranks(std::move(listeners[1]), jobs[1]);
    (void)test::error_of(ErrorKind::kNumerical, [&] {
      run_socket_rank(ranks, [](Communicator&, const RunControl&) {
        throw Error(ErrorKind::kNumerical, "row 3 is singular");
      });
    });
  });
  SocketRanks ranks(std::move(listeners[0]), jobs[0]);
  EXPECT_EQ(test::error_of(ErrorKind::kNumerical,
                           [&] {
                             run_socket_rank(ranks, [](Communicator&, const RunControl& control) {
                               while (true) {
                                 control.check();
                                 std::this_thread::sleep_for(milliseconds(1));
                               }
                             });
                           }),
            "rank 1 of 2: row 3 is singular");
}

TEST(SocketRanks, LargePartsInBothDirections) {
  constexpr Offset kMany = 3'000'000;
  std::vector<SocketListener> listeners = listeners_of(3);
  std::vector<SocketJob> jobs;
  for (int r = 0; r < 3; ++r) jobs.push_back(job_of(r, listeners));
  std::vector<std::jthread> threads;
  for (int r = 0; r < 3; ++r) {
    threads.emplace_back([&, r] {
      SocketRanks ranks(std::move(listeners[static_cast<std::size_t>(r)]),
                        jobs[static_cast<std::size_t>(r)]);
      std::vector<double> all(3 * kMany);
      const std::vector<double> own(kMany, r + 1.0);
      ranks.all_gather<double>(own, all, std::vector<Offset>(3, kMany));
      EXPECT_EQ(all[0] + all[kMany] + all[3 * kMany - 1], 6.0);
      // Longer than a round.
      std::vector<double> sum(r == 1 ? 3 * kMany : 0);
      ranks.reduce_scatter(all, sum, std::vector<Offset>{0, 3 * kMany, 0});
      if (r == 1) {
        EXPECT_EQ(sum.front(), 3.0);
        EXPECT_EQ(sum.back(), 9.0);
      }
    });
  }
}

}  // namespace
}  // namespace likewise
