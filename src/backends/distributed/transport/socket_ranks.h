// SPDX-License-Identifier: Apache-2.0
/// Ranks that are processes, of one machine or of many: a `Communicator` over TCP, IPv4 or IPv6.
///
/// Every pair of ranks has two connections. One carries what calls exchange, each part behind a
/// header with the call, its number and its size, so that ranks which call different things hear
/// it. The other carries the end: of a rank that is done, or that failed, with its reason. A thread
/// of each rank listens there, so that one in the middle of long work hears of a failure, too.
///
/// Sums are those of ranks that are threads, to the bit (communicator.h). Machines have the same
/// byte order. Nothing is encrypted, and whoever lacks the job's token is not listened to: as Spark
/// does it, for networks in which the machines of a cluster trust each other.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/distributed/communicator.h"
#include "backends/distributed/transport/thread_ranks.h"
#include "likewise/control.h"

namespace likewise {

/// Where a rank waits for the others. Made first, so that its port can be told to them.
class SocketListener {
 public:
  /// `host`: one of this machine's addresses or names, or empty for all of them; `port` 0: one that
  /// is free. Throws Error(kIo) naming both and what the system said.
  explicit SocketListener(const std::string& host = "", int port = 0);
  ~SocketListener();
  SocketListener(SocketListener&& from) noexcept : socket_(from.socket_) { from.socket_ = -1; }
  SocketListener& operator=(SocketListener&&) = delete;

  [[nodiscard]] int port() const;
  [[nodiscard]] int descriptor() const { return socket_; }

 private:
  int socket_ = -1;
};

/// "host:port", or "[address]:port" for an IPv6 address.
[[nodiscard]] std::string address_text(const std::string& host, int port);

struct SocketJob {
  int rank = 0;
  std::vector<std::string> addresses;  ///< of all ranks in their order, as address_text()
  /// A secret of this job alone, 1 to 64 bytes, the same on all ranks.
  std::string token;
  std::chrono::milliseconds patience = kRankPatience;
  /// How long ranks wait for each other to connect.
  std::chrono::milliseconds connect_patience = std::chrono::seconds(60);
};

/// One rank. As Communicator, one thread calls; fail() and abort() may come from another one.
class SocketRanks final : public Communicator {
 public:
  /// Connects to all other ranks. Throws Error(kInvalidArgument) for a job that is none,
  /// Error(kDevice) naming the ranks that did not come in time or are of another version, and
  /// Error(kCancelled). The flag of `control` is looked at as long as this lives.
  SocketRanks(SocketListener listener, SocketJob job, const RunControl& control = {});
  /// Says that this rank is done, unless it failed.
  ~SocketRanks() override;

  [[nodiscard]] int rank() const override;
  [[nodiscard]] int size() const override;
  void all_reduce(std::span<double> values) override;
  void reduce_scatter(std::span<const double> all, std::span<double> own,
                      std::span<const Offset> counts) override;
  void barrier() override;
  void abort(const std::string& reason) override;

  /// Ends this rank's part and that of all others, by an error of this kind. The first failure of
  /// all ranks counts.
  void fail(ErrorKind kind, const std::string& reason);
  /// Set once any rank has failed: long work stops then.
  [[nodiscard]] const std::atomic<bool>& stop() const;
  /// Throws the failure where there is one.
  void check() const;

 protected:
  void gather_bytes(std::span<const std::byte> own, std::span<std::byte> all,
                    std::span<const Offset> counts, std::size_t size_of_one) override;
  void shift_bytes(int distance, std::span<const std::byte> out, std::span<std::byte> in) override;

 private:
  class Mesh;
  void check_parts(std::string_view call, std::span<const Offset> counts, Offset own, Offset all);

  std::unique_ptr<Mesh> mesh_;
};

/// Does the rank's work, whose control says when to stop. What it throws ends all ranks and comes
/// out here; where another rank failed, or the caller asked to stop, that failure does.
void run_socket_rank(SocketRanks& ranks, const RankWork& work);

}  // namespace likewise
