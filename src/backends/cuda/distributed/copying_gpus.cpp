// SPDX-License-Identifier: Apache-2.0
/// Ranks that are threads of this process, with a GPU each or with one that they share: each copies
/// what others send out of their memory, at the full rate of a link, and there is nothing to start.
#include <algorithm>
#include <array>
#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <shared_mutex>
#include <utility>
#include <vector>

#include "backends/cuda/device/gpu_peers.h"
#include "backends/cuda/distributed/device_communicator.h"
#include "backends/cuda/distributed/device_copies.h"
#include "likewise/error.h"

namespace likewise::cuda {
namespace {

/// What a rank shows the others. Outlives its communicator, which may go while others look.
struct Board {
  struct Post {
    const std::byte* at = nullptr;
    Offset bytes = 0;
  };
  struct Parcel {
    std::vector<Post> to;         ///< each rank
    const Event* made = nullptr;  ///< null: `ready`
  };

  std::atomic<Offset> posted{0};  ///< calls that `sent` and `ready` were written for
  std::atomic<Offset> took{0};    ///< calls of which this rank's stream has all copies
  std::shared_mutex mutex;        ///< of what follows
  bool gone = false;              ///< its memory may go: nobody copies from it any more
  std::vector<Parcel> sent;       ///< by the last call
  std::optional<Event> ready;     ///< that may be read
  std::vector<Event> copied;      ///< from each rank: this one has what that one sent

  std::atomic<Offset> tellings{0};  ///< of bytes of the host
  /// In turns: who tells the next but one has heard the next of all others, and so they this one.
  std::array<std::vector<std::byte>, 2> shared;
};

/// A call has two meetings of the ranks' threads, which are short as long as all of them put work
/// into their streams at about the same time: all see what others send, and all know which copies
/// their streams must wait for before they write again. Whoever is not there in time is waited for
/// here.
class CopyingCommunicator final : public DeviceCommunicator {
 public:
  /// `kernels_reach`: the memory of all ranks.
  CopyingCommunicator(int rank, CallLedger& ledger, std::vector<Board>& boards, bool kernels_reach)
      : DeviceCommunicator(rank, ledger),
        boards_(boards),
        mine_(boards[index(rank)]),
        kernels_reach_(kernels_reach) {
    const std::unique_lock lock(mine_.mutex);
    mine_.ready.emplace();
    mine_.copied = std::vector<Event>(boards.size());
    calls_ = mine_.posted;
    tellings_ = mine_.tellings;
  }

  void share_on_host(std::span<const std::byte> own, std::span<std::byte> all) override {
    const std::size_t turn = static_cast<std::size_t>(++tellings_) % 2;
    mine_.shared[turn].assign(own.begin(), own.end());
    mine_.tellings.store(tellings_, std::memory_order_release);
    auto to = all.begin();
    for (const Board& other : boards_) {
      wait_until([&] { return other.tellings.load(std::memory_order_acquire) >= tellings_; });
      to = std::ranges::copy(other.shared[turn], to).out;
    }
  }

  /// Afterwards no other GPU reads the memory of this one.
  void give_up() noexcept override {
    if (is_through()) return;
    {
      const std::unique_lock lock(mine_.mutex);
      mine_.gone = true;
    }
    for (Board& other : boards_) {
      const std::unique_lock lock(other.mutex);
      if (&other != &mine_ && !other.copied.empty()) other.copied[index(rank())].settle();
    }
  }

 protected:
  void exchange(std::span<const Parcel> parcels) override {
    const std::size_t me = index(rank());
    ++calls_;
    post(parcels);
    for (const Board& other : boards_) {
      wait_until([&] { return other.posted.load(std::memory_order_acquire) >= calls_; });
    }
    take(parcels);
    mine_.took.store(calls_, std::memory_order_release);
    for (std::size_t other = 0; other < boards_.size(); ++other) {
      if (other == me) continue;
      wait_until([&] { return boards_[other].took.load(std::memory_order_acquire) >= calls_; });
      const auto has_some = [&](const Parcel& one) { return one.out[other].bytes > 0; };
      if (std::ranges::any_of(parcels, has_some)) boards_[other].copied[me].hold(stream());
    }
  }

 private:
  [[nodiscard]] static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  void post(std::span<const Parcel> parcels) {
    const std::unique_lock lock(mine_.mutex);
    mine_.ready->record(stream());
    mine_.sent.clear();
    for (const Parcel& parcel : parcels) {
      Board::Parcel& sent = mine_.sent.emplace_back();
      for (const Outgoing& one : parcel.out) sent.to.push_back({one.at, one.bytes});
      sent.made = parcel.made;
    }
    mine_.posted.store(calls_, std::memory_order_release);
  }

  /// No other rank's memory goes as long as this lives.
  [[nodiscard]] std::vector<std::shared_lock<std::shared_mutex>> keep_others() {
    std::vector<std::shared_lock<std::shared_mutex>> kept;
    bool gone = false;
    for (Board& other : boards_) {
      if (&other == &mine_) continue;
      kept.emplace_back(other.mutex);
      gone = gone || other.gone;
    }
    if (gone) {
      kept.clear();
      wait_until([] { return false; });  // why it went is about to be known
    }
    return kept;
  }

  /// Copies what all others send to this one.
  void take(std::span<const Parcel> parcels) {
    const auto kept = keep_others();
    for (std::size_t i = 0; i < parcels.size(); ++i) {
      if (parcels[i].made != nullptr) parcels[i].made->hold(stream());
      take(parcels[i], i);
    }
    for (Event& copied : mine_.copied) copied.record(stream());
  }

  /// First what its copies wait for, then the copies: they follow each other without a gap.
  void take(const Parcel& parcel, std::size_t number) {
    const auto me = index(rank());
    std::vector<DeviceCopy> copies;
    for (std::size_t distance = 1; distance < boards_.size(); ++distance) {
      const std::size_t other =
          (me + distance) % boards_.size();  // not all from the same one first
      const Board::Parcel& sent = boards_[other].sent[number];
      const Board::Post& post = sent.to[me];
      const Incoming& in = parcel.in[other];
      if (post.bytes != in.bytes) {
        throw unexpected_bytes(static_cast<int>(other), post.bytes, rank(), in.bytes);
      }
      if (post.bytes == 0) continue;
      (sent.made == nullptr ? *boards_[other].ready : *sent.made).hold(stream());
      copies.push_back({in.at, post.at, post.bytes});
    }
    const bool at_once = parcel.at_once && kernels_reach_ && better_at_once(copies);
    at_once ? copy_at_once(copies, stream()) : copy_in_turn(copies, stream());
  }

  std::vector<Board>& boards_;
  Board& mine_;
  bool kernels_reach_;
  Offset calls_ = 0;
  Offset tellings_ = 0;
};

/// Lets a GPU, the current one, read the memory of another one. To ask for it twice is an error.
void open_memory(int device, int other) {
  static std::mutex mutex;
  static std::set<std::pair<int, int>> opened;
  const std::lock_guard lock(mutex);
  if (opened.contains({device, other})) return;
  const cudaError_t status = cudaDeviceEnablePeerAccess(other, 0);
  if (status == cudaErrorPeerAccessAlreadyEnabled) {  // by another part of the program
    static_cast<void>(cudaGetLastError());            // not the failure of a later call
  } else {
    LIKEWISE_CUDA_CHECK(status);
  }
  opened.insert({device, other});
}

/// Where a GPU cannot read the memory of another one, copies go through the machine's. Returns
/// whether all can.
bool open_memory(const std::vector<int>& devices) {
  bool all = true;
  for (const int device : devices) {
    const std::vector<int> peers = peers_of(device);
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device));
    for (const int other : devices) {
      if (std::ranges::find(peers, other) != peers.end()) {
        open_memory(device, other);
      } else if (other != device) {
        all = false;
      }
    }
  }
  LIKEWISE_CUDA_CHECK(cudaSetDevice(devices.front()));
  return all;
}

class CopyingGpus final : public ConnectedGpus {
 public:
  explicit CopyingGpus(const std::vector<int>& devices)
      : ledger_(static_cast<int>(devices.size())),
        boards_(devices.size()),
        kernels_reach_(open_memory(devices)) {}
  [[nodiscard]] std::unique_ptr<DeviceCommunicator> join(int rank) override {
    return std::make_unique<CopyingCommunicator>(rank, ledger_, boards_, kernels_reach_);
  }

 private:
  CallLedger ledger_;
  std::vector<Board> boards_;
  bool kernels_reach_;
};

}  // namespace

std::unique_ptr<ConnectedGpus> connect_by_copies(const std::vector<int>& devices) {
  return std::make_unique<CopyingGpus>(devices);
}

}  // namespace likewise::cuda
