// SPDX-License-Identifier: Apache-2.0
#include "likewise/rank_training.h"

#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "algorithms/als/als.h"
#include "algorithms/als/first_factors.h"
#include "algorithms/finite.h"
#include "backends/distributed/als/als_ranks.h"
#include "backends/distributed/rank_device.h"
#include "backends/distributed/share_rows.h"
#include "backends/distributed/transport/socket_ranks.h"
#include "backends/jobs/device_jobs.h"
#include "core/placed_error.h"
#include "core/require.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr Side kSides[] = {Side::kUsers, Side::kItems};

[[nodiscard]] Partition partition_of(const std::vector<Index>& firsts, std::size_t ranks,
                                     const char* what) {
  bool fits = firsts.size() == ranks + 1 && firsts.front() == 0;
  for (std::size_t r = 1; fits && r < firsts.size(); ++r) fits = firsts[r - 1] <= firsts[r];
  require(fits, fmt::format("the first {} of {} ranks and their number are {} numbers that begin "
                            "with 0 and never fall",
                            what, ranks, ranks + 1));
  return Partition(firsts);
}

[[nodiscard]] RankJob checked(RankJob job) {
  job.params.validate();
  require(!has_biases(job.params),
          "ranks that are processes learn no biases: explicit feedback needs biases off");
  return job;
}

[[nodiscard]] SocketJob socket_job(const RankJob& job) {
  return {job.rank, job.addresses, job.token, job.patience, job.connect_patience};
}

}  // namespace

class RankListener::Impl {
 public:
  Impl(const std::string& host, int port) : listener(host, port) {}
  SocketListener listener;
};

RankListener::RankListener(const std::string& host, int port)
    : impl_(std::make_unique<Impl>(host, port)) {}
RankListener::~RankListener() = default;
RankListener::RankListener(RankListener&&) noexcept = default;
RankListener& RankListener::operator=(RankListener&&) noexcept = default;
int RankListener::port() const {
  require(impl_ != nullptr, "this listener went into a training");
  return impl_->listener.port();
}

class RankTraining::Impl {
 public:
  Impl(SocketListener listener, RankJob job, const Device& device, const RunControl& control)
      : job_(checked(std::move(job))),
        device_(device),
        control_(control),
        users_(partition_of(job_.users, job_.addresses.size(), "users")),
        items_(partition_of(job_.items, job_.addresses.size(), "items")),
        staged_(users_, items_.rows()),
        ranks_(std::move(listener), socket_job(job_), control_) {
    if (ranks_.size() == 1) return;
    run([&](Communicator& ranks, const RunControl&) {
      require_devices_together(ranks, likewise::job<AlsJob>(device_).rank_device());
    });
  }

  void add(std::span<const Index> users, std::span<const Index> items,
           std::span<const float> values) {
    require(!begun_, "interactions are added before a training begins");
    run([&](Communicator&, const RunControl&) { staged_.add(users, items, values); });
  }

  RankStart begin(const Factors* start, int completed) {
    require(!std::exchange(begun_, true), "a training begins once");
    RankStart found;
    run([&](Communicator& ranks, const RunControl& control) {
      take_interactions(ranks, found);
      make_rank(ranks, first_factors(start), completed, control, found);
    });
    return found;
  }

  double step() {
    require(begun_, "a training begins before it goes on");
    double objective = 0.0;
    run([&](Communicator& ranks, const RunControl& control) {
      for (const Side side : kSides) {
        control.check();
        objective = rank_ ? rank_->solve(ranks, side, control) : solver_->solve(side, control);
      }
      if (!std::isfinite(objective)) {
        throw Error(ErrorKind::kNumerical,
                    fmt::format("the objective is {}: use more regularization, or smaller values",
                                objective));
      }
    });
    return objective;
  }

  [[nodiscard]] const Factors& factors() {
    require(begun_, "a training has factors once it has begun");
    ranks_.check();
    return rank_ ? rank_->factors() : solver_->factors();
  }

  void abort(const std::string& reason, ErrorKind kind) { ranks_.fail(kind, reason); }

 private:
  /// A rank that failed is of no use, and a GPU's waits for the others until it goes.
  void run(const RankWork& work) {
    ranks_.check();
    try {
      run_socket_rank(ranks_, work);
    } catch (...) {
      rank_.reset();
      solver_.reset();
      throw;
    }
  }

  void take_interactions(Communicator& ranks, RankStart& found) {
    Offset repeated = 0;
    by_user_ = staged_.share(ranks, job_.repeated, repeated);
    const auto row_of_rank = [&](Side side, Index row) {
      return side == Side::kUsers ? users_.first(job_.rank) + row : row;
    };
    renumbering(row_of_rank, [&] { check_values(by_user_.view(), job_.params); });
    std::vector<double> counts{static_cast<double>(by_user_.nnz()), static_cast<double>(repeated)};
    ranks.all_reduce(counts);
    found.interactions = static_cast<Offset>(counts[0]);
    found.repeated = static_cast<Offset>(counts[1]);
  }

  [[nodiscard]] Factors first_factors(const Factors* start) const {
    Factors first;
    for (const Side side : kSides) {
      const Partition& parts = side == Side::kUsers ? users_ : items_;
      const Index rows = parts.count(job_.rank);
      if (start == nullptr) {
        first.side(side) = draw_factor_rows(side, parts.first(job_.rank), rows, job_.params);
        continue;
      }
      const Matrix& given = start->side(side);
      require(given.rows() == rows && given.cols() == job_.params.factors,
              fmt::format("the factors to start from are {} x {} for {}; rank {} has {} x {}",
                          given.rows(), given.cols(), side_name(side), job_.rank, rows,
                          job_.params.factors));
      first.side(side) = given.clone();
      const RowChanges& changes = start->changes(side);
      require(changes.numbers.empty() || changes.numbers.size() == Offset{rows} * given.cols(),
              fmt::format("there are {} changes for {} {} of {} factors", changes.numbers.size(),
                          rows, side_name(side), given.cols()));
      first.changes(side) = changes.clone();
    }
    return first;
  }

  void make_rank(Communicator& ranks, Factors start, int completed, const RunControl& control,
                 RankStart& found) {
    const AlsJob& als = job<AlsJob>(device_);
    const AlsShape shape{users_.rows(), items_.rows(), found.interactions};
    if (ranks.size() == 1) {
      (void)als.plan(shape, job_.params);
      solver_ = als.make_solver(by_user_.view(), job_.params, std::move(start), completed);
      return;
    }
    by_item_ = share_by_item(ranks, by_user_.view(), users_, items_);
    AlsRankPart part{by_user_.view(), by_item_.view(), std::move(start)};
    plan_.emplace(AlsRanksPlan{shape, users_, items_, {}});
    rank_ = als.make_rank(ranks,
                          {*plan_, job_.params, completed, control, job_.patience, found.remarks},
                          std::move(part));
  }

  RankJob job_;
  Device device_;
  RunControl control_;
  Partition users_;
  Partition items_;
  StagedInteractions staged_;
  SocketRanks ranks_;
  bool begun_ = false;
  CsrMatrix by_user_;
  CsrMatrix by_item_;
  std::optional<AlsRanksPlan> plan_;
  std::unique_ptr<AlsRank> rank_;      ///< of several
  std::unique_ptr<AlsSolver> solver_;  ///< one alone
};

RankTraining::RankTraining(RankListener listener, RankJob job, const Device& device,
                           const RunControl& control) {
  require(listener.impl_ != nullptr, "a listener goes into one training");
  impl_ =
      std::make_unique<Impl>(std::move(listener.impl_->listener), std::move(job), device, control);
}
RankTraining::~RankTraining() = default;

void RankTraining::add(std::span<const Index> users, std::span<const Index> items,
                       std::span<const float> values) {
  impl_->add(users, items, values);
}
RankStart RankTraining::begin(const Factors* start, int completed_iterations) {
  return impl_->begin(start, completed_iterations);
}
double RankTraining::step() { return impl_->step(); }
const Factors& RankTraining::factors() { return impl_->factors(); }
void RankTraining::abort(const std::string& reason, ErrorKind kind) { impl_->abort(reason, kind); }

}  // namespace likewise
