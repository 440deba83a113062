// SPDX-License-Identifier: Apache-2.0
/// `Communicator`: how the ranks of one training exchange numbers.
///
/// A rank is a thread, a process or a GPU with a part of the rows of both sides. All ranks make the
/// same calls in the same order (a collective call); a rank returns from one when its own part of
/// it is done, and may then use and change what it handed in. One thread per rank calls.
///
/// Sums are float64 and are added in the order of the ranks, ((x0 + x1) + x2) + ..., so the same
/// number of ranks gives the same bits, whoever comes first.
///
/// Spans are memory of the communicator's own kind: of the host for ranks that are threads. One
/// between GPUs takes spans of that GPU's memory and puts its calls into a stream, where they are
/// done after they have returned (backends/cuda/distributed/device_communicator.h).
///
/// A rank that fails, is stopped or does not come to a call ends the call of every other rank, and
/// all later ones, with the same Error: it names that rank and the reason, and has the kind of its
/// error (kDevice where it had none: a rank that hung or left, ranks that called different things).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "likewise/error.h"
#include "likewise/types.h"

namespace likewise {

class Communicator {
 public:
  Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  virtual ~Communicator() = default;

  [[nodiscard]] virtual int rank() const = 0;  ///< of the caller, in [0, size())
  [[nodiscard]] virtual int size() const = 0;

  /// all = rank 0's own, rank 1's own, ...: `counts` (one per rank, the same on all ranks) numbers
  /// of each. `own` may lie in its place in `all`.
  template <class T>
  void all_gather(std::span<const T> own, std::span<T> all, std::span<const Offset> counts) {
    static_assert(std::is_trivially_copyable_v<T>);
    gather_bytes(std::as_bytes(own), std::as_writable_bytes(all), counts, sizeof(T));
  }

  /// Sends `out` to rank() + distance and receives `in` from rank() - distance, both around the
  /// ring; `distance` in [1, size()). All distances one after the other exchange between all pairs.
  /// The receiver knows how much it will get: another number is an error.
  template <class T>
  void shift(int distance, std::span<const T> out, std::span<T> in) {
    static_assert(std::is_trivially_copyable_v<T>);
    shift_bytes(distance, std::as_bytes(out), std::as_writable_bytes(in));
  }

  /// values[i] = the sum of all ranks' values[i].
  virtual void all_reduce(std::span<double> values) = 0;

  /// own = the sum over all ranks of this rank's part of `all`, in which rank r's part has
  /// counts[r] numbers and follows those of the ranks before it. `own` lies apart from `all`.
  virtual void reduce_scatter(std::span<const double> all, std::span<double> own,
                              std::span<const Offset> counts) = 0;

  /// Returns when all ranks have come.
  virtual void barrier() = 0;

  /// Ends this rank's part and that of all others, for this reason. The caller throws next.
  virtual void abort(const std::string& reason) = 0;

 protected:
  virtual void gather_bytes(std::span<const std::byte> own, std::span<std::byte> all,
                            std::span<const Offset> counts, std::size_t size_of_one) = 0;
  virtual void shift_bytes(int distance, std::span<const std::byte> out,
                           std::span<std::byte> in) = 0;
};

/// "rank 1", "ranks 1, 2".
[[nodiscard]] std::string ranks_text(const std::vector<int>& ranks);

/// Where each rank's part begins, and the end of the last one.
[[nodiscard]] std::vector<Offset> part_begins(std::span<const Offset> counts);

/// Throws Error(kDevice) where `counts` are not those of a call in which this rank has `own`
/// numbers of `all`.
void require_parts(const Communicator& ranks, std::string_view call, std::span<const Offset> counts,
                   Offset own, Offset all);

/// Error(kDevice): what one rank sends is not what the other expects.
[[nodiscard]] Error unexpected_bytes(int from, Offset sent, int to, Offset expected);

}  // namespace likewise
