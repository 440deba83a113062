// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/distributed/device_communicator.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "backends/cuda/distributed/add_parts.h"
#include "likewise/error.h"

namespace likewise::cuda {
namespace {

void copy_on_gpu(std::byte* to, const std::byte* from, Offset bytes, cudaStream_t stream) {
  if (bytes == 0 || to == from) return;
  LIKEWISE_CUDA_CHECK(
      cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToDevice, stream));
}

[[nodiscard]] Offset bytes_of(std::span<const double> values) {
  return static_cast<Offset>(values.size_bytes());
}

}  // namespace

DeviceCommunicator::DeviceCommunicator(int rank, CallLedger& ledger)
    : rank_(rank), ledger_(ledger) {}

void DeviceCommunicator::start(Communicator& host, const RunControl& control,
                               std::chrono::milliseconds patience) {
  host_ = &host;
  control_ = &control;
  patience_ = patience;
}

void DeviceCommunicator::follow(cudaStream_t stream) {
  ordered_.record(stream);
  ordered_.hold(stream_);
}

void DeviceCommunicator::lead(cudaStream_t stream) {
  through_.record(stream_);
  through_.hold(stream);
}

void DeviceCommunicator::call(const RankCall& what, std::span<Parcel> parcels) {
  ledger_.begin(rank_, what);
  const auto me = static_cast<std::size_t>(rank_);
  for (Parcel& parcel : parcels) {
    copy_on_gpu(parcel.in[me].at, parcel.out[me].at, parcel.out[me].bytes, stream_);
    parcel.out[me] = {};
    parcel.in[me] = {};
  }
  exchange(parcels);
}

void DeviceCommunicator::gather_bytes(std::span<const std::byte> own, std::span<std::byte> all,
                                      std::span<const Offset> counts, std::size_t size_of_one) {
  const auto one = static_cast<Offset>(size_of_one);
  require_parts(*this, "all_gather", counts, std::ssize(own) / one, std::ssize(all) / one);
  std::vector<Outgoing> out(counts.size(), Outgoing{own.data(), std::ssize(own)});
  std::vector<Incoming> in;
  std::byte* at = all.data();
  for (const Offset count : counts) {
    in.push_back({at, count * one});
    at += count * one;
  }
  call({GpuCall::kGather, 0, std::ssize(all)}, {std::move(out), std::move(in)});
}

void DeviceCommunicator::share_rows(std::byte* table, Offset row_bytes,
                                    std::span<const RowChunk> chunks) {
  std::vector<Parcel> parcels;
  Offset all = 0;
  for (const RowChunk& chunk : chunks) {
    const RowRange& own = chunk.parts[static_cast<std::size_t>(rank_)];
    const Outgoing out{table + own.first * row_bytes, own.count * row_bytes};
    Parcel& parcel = parcels.emplace_back(std::vector(chunk.parts.size(), out));
    for (const RowRange& part : chunk.parts) {
      parcel.in.push_back({table + part.first * row_bytes, part.count * row_bytes});
      all += part.count * row_bytes;
    }
    parcel.made = chunk.made;
    parcel.at_once = true;
  }
  call({GpuCall::kShareRows, 0, all}, parcels);
}

void DeviceCommunicator::share_rows(std::byte* table, Offset row_bytes, const Partition& parts) {
  RowChunk all;
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    all.parts.push_back({parts.first(rank), parts.count(rank)});
  }
  share_rows(table, row_bytes, {&all, 1});
}

void DeviceCommunicator::shift_bytes(int distance, std::span<const std::byte> out,
                                     std::span<std::byte> in) {
  const auto ranks = static_cast<std::size_t>(size());
  const auto me = static_cast<std::size_t>(rank_);
  std::vector<Outgoing> outgoing(ranks);
  std::vector<Incoming> incoming(ranks);
  outgoing[(me + static_cast<std::size_t>(distance)) % ranks] = {out.data(), std::ssize(out)};
  incoming[(me + ranks - static_cast<std::size_t>(distance)) % ranks] = {in.data(), std::ssize(in)};
  call({GpuCall::kShift, distance, 0, std::ssize(out), std::ssize(in)},
       {std::move(outgoing), std::move(incoming)});
}

double* DeviceCommunicator::parts(Offset count) {
  if (parts_.size() < size() * count) {
    if (parts_.size() > 0) wait();  // the calls before still use them
    parts_ = DeviceArray<double>(size() * count);
    // Tools that look for memory never written do not see what a kernel copies from other GPUs.
    fill_zero(parts_.data(), parts_.size(), stream_);
  }
  return parts_.data();
}

void DeviceCommunicator::all_reduce(std::span<double> values) {
  const auto count = static_cast<Offset>(values.size());
  double* const gathered = parts(count);
  std::vector<Outgoing> out(static_cast<std::size_t>(size()),
                            {std::as_bytes(values).data(), bytes_of(values)});
  std::vector<Incoming> in;
  for (int part = 0; part < size(); ++part) {
    in.push_back({reinterpret_cast<std::byte*>(gathered + part * count), bytes_of(values)});
  }
  call({GpuCall::kReduce, 0, bytes_of(values)}, {std::move(out), std::move(in), nullptr, true});
  add_parts(gathered, size(), count, values.data(), stream_);
}

void DeviceCommunicator::reduce_scatter(std::span<const double> all, std::span<double> own,
                                        std::span<const Offset> counts) {
  const auto count = static_cast<Offset>(own.size());
  require_parts(*this, "reduce_scatter", counts, count, static_cast<Offset>(all.size()));
  double* const gathered = parts(*std::ranges::max_element(counts));  // the same on all ranks
  std::vector<Outgoing> out;
  std::vector<Incoming> in;
  const double* at = all.data();
  for (const Offset part : counts) {
    const Offset place = static_cast<Offset>(in.size()) * count;
    out.push_back({reinterpret_cast<const std::byte*>(at), part * Offset{sizeof(double)}});
    in.push_back({reinterpret_cast<std::byte*>(gathered + place), bytes_of(own)});
    at += part;
  }
  call({GpuCall::kReduceScatter, 0, bytes_of(all)}, {std::move(out), std::move(in)});
  add_parts(gathered, size(), count, own.data(), stream_);
}

void DeviceCommunicator::share_on_host(std::span<const std::byte> own, std::span<std::byte> all) {
  const std::vector<Offset> counts(static_cast<std::size_t>(size()), std::ssize(own));
  host().all_gather<std::byte>(own, all, counts);
}

void DeviceCommunicator::wait() {
  tell_calls();
  through_.record(stream_);
  wait_until([&] { return through_.is_past(); });
  check_connection();
  ledger_.finish(rank_);
}

void DeviceCommunicator::wait_for(const Event& event) {
  wait_until([&] { return event.is_past(); });
  check_connection();
}

void DeviceCommunicator::throw_missing() const {
  throw Error(ErrorKind::kDevice,
              fmt::format("{} within {:.3g} s of rank {}", ledger_.missing(rank_),
                          std::chrono::duration<double>(patience_).count(), rank_));
}

std::unique_ptr<ConnectedGpus> connect_gpus(const std::vector<int>& devices) {
  std::vector<int> distinct = devices;
  std::ranges::sort(distinct);
  distinct.erase(std::ranges::unique(distinct).begin(), distinct.end());
  if (distinct.size() == 1) return connect_by_copies(devices);
  if (distinct.size() < devices.size()) {
    throw Error(ErrorKind::kDevice,
                "a GPU is named several times, and others are too: name each GPU once");
  }
  cudaDeviceProp first{};
  LIKEWISE_CUDA_CHECK(cudaGetDeviceProperties(&first, devices.front()));
  for (const int device : devices) {
    cudaDeviceProp gpu{};
    LIKEWISE_CUDA_CHECK(cudaGetDeviceProperties(&gpu, device));
    if (std::string_view(gpu.name) == first.name &&
        gpu.multiProcessorCount == first.multiProcessorCount) {
      continue;
    }
    throw Error(ErrorKind::kDevice,
                fmt::format("GPUs that train together must be of one kind: cuda:{} is {} with {} "
                            "multiprocessors, cuda:{} is {} with {}; name those of one kind",
                            devices.front(), first.name, first.multiProcessorCount, device,
                            gpu.name, gpu.multiProcessorCount));
  }
  return connect_by_copies(devices);
}

}  // namespace likewise::cuda
