// SPDX-License-Identifier: Apache-2.0
/// `Device`: what computes. A device is a set of jobs, which train(), Recommender and the others
/// ask it for; one that lacks a job says so, and no other device quietly takes its place.
/// `reference` (plain loops, double precision) is what all others are checked against.
#pragma once

#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "likewise/types.h"

namespace likewise {

/// What a device may be able to do.
enum class Job {
  kAls,          ///< trains ALS
  kKnn,          ///< compares rows: trains neighbourhood models, and makes their predictions
  kTopK,         ///< scores queries against all rows of factors: lists, similar rows
  kSgd,          ///< trains by SGD
  kBpr,          ///< trains by BPR
  kPredictions,  ///< predicts ratings of pairs and of whole rows
  kEase,         ///< trains EASE, and makes its lists
  kSpectral,     ///< trains spectral factors
};
inline constexpr std::string_view kJobNames[] = {"als", "neighbours",  "top-k", "sgd",
                                                 "bpr", "predictions", "ease",  "spectral"};
inline constexpr std::array kJobs{Job::kAls, Job::kKnn,         Job::kTopK, Job::kSgd,
                                  Job::kBpr, Job::kPredictions, Job::kEase, Job::kSpectral};

/// One job of a device.
struct JobStatus {
  bool available = false;
  std::string device;  ///< who does it: this device or, where `auto` chose, maybe another
  std::string reason;  ///< why this device cannot do it; empty where it can
};

/// A value that is cheap to copy; copies are the same device. Thread-safe.
class Device {
 public:
  /// How the device does its jobs: the library's own business.
  struct Jobs;

  /// open_device() makes them.
  explicit Device(std::shared_ptr<const Jobs> jobs) : jobs_(std::move(jobs)) {}

  [[nodiscard]] std::string_view name() const;    ///< "reference", "cpu", "cuda:0"
  [[nodiscard]] std::string description() const;  ///< for people: model, ISA, threads
  [[nodiscard]] JobStatus status(Job job) const;
  /// Throws Error(kDevice) naming device and job, with the reason and the remedy, where status()
  /// says that the job is not available. Whatever needs a job throws the same.
  void require(Job job) const;

  [[nodiscard]] const Jobs& jobs() const { return *jobs_; }

 private:
  std::shared_ptr<const Jobs> jobs_;
};

/// "cpu (AVX-512 kernels, 2 threads)".
[[nodiscard]] std::string device_text(const Device& device);

struct DeviceOptions {
  /// Bytes of a GPU's memory (of each, where there are several) that a training may take; 0: what
  /// is free. What does not fit is streamed from the machine's memory, with the same result.
  Offset device_memory = 0;
};

/// Opens "auto" (the CPU; open_device_to_train() in training.h chooses for a training), "cpu",
/// "reference", "cuda" (the first GPU that can be used), "cuda:N" (GPU number N, from 0),
/// "cuda:N,M" (these together, as many as are named) or "cuda:all" (all GPUs that can be used).
/// Several GPUs share als, sgd, neighbours, top-k and predictions. Other texts throw
/// Error(kInvalidArgument), as does a GPU named twice; a device that cannot be used throws
/// Error(kDevice) with the reason and the remedy. Error(kInvalidArgument) too for options that the
/// device cannot honour.
[[nodiscard]] Device open_device(std::string_view device = "auto",
                                 const DeviceOptions& options = {});

/// One line per device known to this program and per GPU of this machine, for `likewise info`.
struct DeviceStatus {
  std::string name;  ///< "cpu", "cuda:0"; "cuda" where there is no GPU
  bool available = false;
  std::string description;      ///< what it is, or why it cannot be used and what to do
  std::string tuning;           ///< where its tunings come from; empty where nothing can be tuned
  std::vector<JobStatus> jobs;  ///< one for each of kJobs; empty where the device is not available
  std::vector<std::string> peers;  ///< GPUs whose memory it reads and writes directly
};
[[nodiscard]] std::vector<DeviceStatus> device_statuses();

}  // namespace likewise
