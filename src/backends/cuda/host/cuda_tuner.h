// SPDX-License-Identifier: Apache-2.0
/// The tunings of one GPU: built in, or measured before and kept.
#pragma once

#include <string>
#include <vector>

#include "backends/cuda/host/tuning_file.h"
#include "backends/jobs/als.h"

namespace likewise {

class CudaTuner final : public AlsTuner {
 public:
  /// Reads what was kept for the GPU. `driver` as FoundGpus::driver. `devices` and `memory` as in
  /// GpuUse; all are like `gpu`.
  CudaTuner(const CudaAls& als, std::vector<int> devices, const GpuInfo& gpu, int driver,
            Offset memory);

  [[nodiscard]] std::vector<AlsTuning> variants(const AlsParams& params) const override;
  [[nodiscard]] std::vector<AlsTuning> built_in(const AlsParams& params) const override;
  [[nodiscard]] ChosenTuning choose(const AlsParams& params, const AlsShape& shape) const override;
  [[nodiscard]] std::unique_ptr<AlsSolver> make_solver(const CsrView& by_user,
                                                       const AlsParams& params, Factors start,
                                                       const AlsTuning& tuning) const override;
  /// As AlsJob::make_rank, with the tuning that rank 0 chooses.
  [[nodiscard]] std::unique_ptr<AlsRank> make_rank(Communicator& ranks, const AlsRankJob& job,
                                                   AlsRankPart part) const;
  [[nodiscard]] double now() const override { return als_.now(); }
  [[nodiscard]] std::string keep(std::span<const TunedAls> winners) const override;
  [[nodiscard]] std::string source() const override;
  [[nodiscard]] std::string warning() const override { return warning_; }

  /// As AlsJob::plan, with the tuning of choose().
  [[nodiscard]] MemoryPlan plan(const AlsShape& shape, const AlsParams& params) const;
  /// As AlsJob::make_solver, with the tuning of choose().
  [[nodiscard]] std::unique_ptr<AlsSolver> make_solver(const CsrView& by_user,
                                                       const AlsParams& params, Factors start,
                                                       int completed_iterations) const;

 private:
  /// Those of the file, to which another program may have added some since it was read.
  [[nodiscard]] std::vector<Winner> winners_by_now() const;
  void require_compiled() const;
  [[nodiscard]] std::string unmeasured_source() const;

  const CudaAls& als_;
  std::vector<int> devices_;
  Offset memory_;
  GpuInfo gpu_;
  TuningOwner owner_;
  std::string path_;
  Tunings kept_;
  std::string warning_;
};

}  // namespace likewise
