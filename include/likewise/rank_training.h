// SPDX-License-Identifier: Apache-2.0
/// ALS trained by processes together, on one machine or on many: each is a *rank* that holds the
/// interactions and factors of its part of the users and of the items, and they talk over TCP. What
/// schedules the processes (Spark, a shell) tells each where the others listen.
///
///     RankListener listener;                       // tell all ranks its port, and a secret token
///     RankTraining rank(std::move(listener), job, open_device("cpu"));
///     rank.add(users, items, values);              // any part of all interactions, in any order
///     rank.begin();                                // ranks exchange them
///     for (int i = 0; i < 10; ++i) rank.step();    // an iteration: the same objective on all
///     rank.factors();                              // of this rank's users and items
///
/// All ranks make the same calls in the same order. One that fails, dies or hangs ends all others
/// with one Error that names it. What ranks exchange, and why: math.md, "Training over ranks".
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/als.h"
#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/error.h"
#include "likewise/factors.h"

namespace likewise {

/// Where a rank waits for the others. Made first, so that its port can be told to them.
class RankListener {
 public:
  /// `host`: an address or a name of this machine, or empty for all of them, IPv4 and IPv6; port 0:
  /// a free one. Throws Error(kIo).
  explicit RankListener(const std::string& host = "", int port = 0);
  ~RankListener();
  RankListener(RankListener&&) noexcept;
  RankListener& operator=(RankListener&&) noexcept;
  [[nodiscard]] int port() const;

 private:
  friend class RankTraining;
  class Impl;
  std::unique_ptr<Impl> impl_;
};

/// What several values of one user and item become. Where the order of what is added up or taken
/// could matter, it is that of the values, so that it does not depend on who read which first.
enum class RepeatedCells { kSum, kMean, kMax, kError };
inline constexpr std::string_view kRepeatedCellsNames[] = {"sum", "mean", "max", "error"};

/// A training by ranks. The same on all of them except for `rank`.
struct RankJob {
  int rank = 0;
  std::vector<std::string> addresses{};  ///< of all ranks: "host:port", "[IPv6 address]:port"
  std::string token{};                   ///< a secret of this job alone, 1 to 64 bytes
  std::chrono::milliseconds patience = std::chrono::minutes(30);  ///< for a rank in a half-step
  std::chrono::milliseconds connect_patience = std::chrono::seconds(60);
  AlsParams params{};          ///< explicit feedback without biases; `iterations` is the caller's
  std::vector<Index> users{};  ///< the first user of each rank, then the number of users
  std::vector<Index> items{};  ///< the same of items
  RepeatedCells repeated = RepeatedCells::kSum;
};

/// What begin() found.
struct RankStart {
  Offset interactions = 0;           ///< of all ranks, without repetitions
  Offset repeated = 0;               ///< interactions of all ranks that went into another one
  std::vector<std::string> remarks;  ///< how the ranks share the work
};

class RankTraining {
 public:
  /// Connects to all other ranks. One rank alone trains on any device. Several train on the CPU, or
  /// each on one GPU of its own, all of one kind, connected by NCCL: before anything else they tell
  /// each other what they have. Errors: kInvalidArgument (job; devices that cannot train together,
  /// with their ranks and hosts), kDevice (ranks that do not come, or of another version),
  /// kCancelled.
  RankTraining(RankListener listener, RankJob job, const Device& device,
               const RunControl& control = {});
  ~RankTraining();
  RankTraining(const RankTraining&) = delete;
  RankTraining& operator=(const RankTraining&) = delete;

  /// Interactions, of whatever users and items; before begin(). No exchange. Errors:
  /// kInvalidArgument (lengths), kBadData (an index out of its range, a value that is not finite).
  void add(std::span<const Index> users, std::span<const Index> items,
           std::span<const float> values);

  /// Exchanges the interactions, so that each rank has those of its rows, and makes the first
  /// factors: drawn, the same for any number of ranks, or the rank's own of an earlier training
  /// with so many iterations, changes included where there are some. Errors: as train(); kBadData
  /// naming a repeated cell where these are errors.
  RankStart begin(const Factors* start = nullptr, int completed_iterations = 0);

  /// One iteration, users then items; returns the objective of all ranks. Errors: as train(),
  /// kDevice naming a rank that was lost. The training is then over.
  double step();

  /// Of this rank's users and items. Valid until the next step().
  [[nodiscard]] const Factors& factors();

  /// Ends this rank and all others for this reason, by an Error of this kind.
  void abort(const std::string& reason, ErrorKind kind = ErrorKind::kDevice);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace likewise
