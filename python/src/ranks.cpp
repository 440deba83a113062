// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "background.h"
#include "likewise/error.h"
#include "likewise/parameters.h"
#include "likewise/rank_training.h"
#include "names.h"
#include "parameters.h"

namespace likewise::python {
namespace {

/// A training that this process has a part of.
struct Rank {
  std::atomic<bool> cancelled{false};
  int threads = 0;
  std::unique_ptr<RankTraining> training;

  /// Runs `work` beside the interpreter; Ctrl-C ends all ranks.
  template <class Work>
  void run(const Work& work) {
    Background background(nb::none(), &cancelled);
    background.run(threads, work);
  }
};

[[nodiscard]] std::chrono::milliseconds milliseconds_of(double seconds, const char* what) {
  if (!(seconds > 0.0 && seconds <= 1e7)) {
    throw Error(ErrorKind::kInvalidArgument, std::string(what) +
                                                 " must be above 0 and at most 1e7 seconds, not " +
                                                 std::to_string(seconds));
  }
  return std::chrono::milliseconds(
      std::max<std::int64_t>(1, static_cast<std::int64_t>(1e3 * seconds)));
}

[[nodiscard]] const AlsParams& als_of(const TrainingParams& params) {
  const auto* const als = std::get_if<AlsParams>(&params);
  if (als == nullptr) throw Error(ErrorKind::kInvalidArgument, "ranks train by als");
  return *als;
}

[[nodiscard]] std::unique_ptr<Rank> make_rank(
    RankListener& listener, int number, const std::vector<std::string>& addresses,
    const std::string& token, const nb::dict& params, const std::vector<Index>& users,
    const std::vector<Index>& items, const std::string& repeated, const nb::object& device,
    int threads, double patience, double connect_patience) {
  RankJob job;
  job.rank = number;
  job.addresses = addresses;
  job.token = token;
  job.patience = milliseconds_of(patience, "patience");
  job.connect_patience = milliseconds_of(connect_patience, "connect_patience");
  job.params = als_of(params_of(params));
  job.users = users;
  job.items = items;
  job.repeated = named<RepeatedCells>(repeated, kRepeatedCellsNames, "repeated");
  const Device chosen = device_for(device);
  auto rank = std::make_unique<Rank>();
  rank->threads = threads;
  rank->run([&] {
    RunControl control;
    control.cancel = &rank->cancelled;
    rank->training =
        std::make_unique<RankTraining>(std::move(listener), std::move(job), chosen, control);
  });
  return rank;
}

void add(Rank& self, const In<Index>& users, const In<Index>& items, const In<float>& values) {
  const WithoutGil without;
  self.training->add(span_of(users), span_of(items), span_of(values));
}

/// What changes() gives.
using Changes = std::tuple<In<std::uint16_t>, In<std::uint16_t>, In<float>>;

[[nodiscard]] RowChanges changes_of(const In<std::uint16_t>& numbers, float ratio) {
  return {Array<std::uint16_t>::copy_of(span_of(numbers)), ratio};
}

/// (interactions, repeated, remarks)
[[nodiscard]] nb::tuple begin(Rank& self, const std::optional<InMatrix<float>>& users,
                              const std::optional<InMatrix<float>>& items, int completed,
                              const std::optional<Changes>& changes) {
  std::optional<Factors> start;
  if (users && items) {
    start.emplace();
    start->users = matrix_of(*users);
    start->items = matrix_of(*items);
    if (changes) {
      const auto& [of_users, of_items, ratios] = *changes;
      if (ratios.size() != 2) throw nb::value_error("changes have a ratio for each side");
      start->user_changes = changes_of(of_users, ratios.data()[0]);
      start->item_changes = changes_of(of_items, ratios.data()[1]);
    }
  }
  RankStart found;
  self.run([&] { found = self.training->begin(start ? &*start : nullptr, completed); });
  return nb::make_tuple(found.interactions, found.repeated, found.remarks);
}

[[nodiscard]] double step(Rank& self) {
  double objective = 0.0;
  self.run([&] { objective = self.training->step(); });
  return objective;
}

constexpr std::string_view kSides[] = {"users", "items"};

/// A copy without padding: what leaves a rank leaves it in one piece.
[[nodiscard]] Out<float> factors(Rank& self, const std::string& side) {
  const Side of = named<Side>(side, kSides, "side");
  const Matrix& table = self.training->factors().side(of);
  auto values = Array<float>::uninitialized(Offset{table.rows()} * table.cols());
  {
    const WithoutGil without;
    for (Index row = 0; row < table.rows(); ++row) {
      std::ranges::copy(table.row_span(row), values.data() + Offset{row} * table.cols());
    }
  }
  return give(std::move(values),
              {static_cast<std::size_t>(table.rows()), static_cast<std::size_t>(table.cols())});
}

/// (of users, of items, their ratios): what ALS goes on with besides the factors, or nothing.
[[nodiscard]] nb::tuple changes(Rank& self) {
  const Factors& factors = self.training->factors();
  const auto numbers = [&](Side side) { return factors.changes(side).numbers.clone(); };
  const float ratios[] = {factors.user_changes.ratio, factors.item_changes.ratio};
  return nb::make_tuple(give(numbers(Side::kUsers)), give(numbers(Side::kItems)),
                        give(Array<float>::copy_of(ratios)));
}

}  // namespace

void bind_ranks(nb::module_& module) {
  nb::class_<RankListener>(module, "RankListener", "Where a rank waits for the others.")
      .def(nb::init<const std::string&, int>(), "host"_a = "", "port"_a = 0)
      .def_prop_ro("port", &RankListener::port);
  nb::class_<Rank>(module, "Rank", "A training that this process has a part of.")
      .def("add", &add, "users"_a.noconvert(), "items"_a.noconvert(), "values"_a.noconvert())
      .def("begin", &begin, "users"_a.noconvert() = nb::none(), "items"_a.noconvert() = nb::none(),
           "completed"_a = 0, "changes"_a = nb::none())
      .def("step", &step)
      .def("factors", &factors, "side"_a)
      .def("changes", &changes)
      .def(
          "abort",
          [](Rank& self, const std::string& reason, bool lost) {
            self.training->abort(reason, lost ? ErrorKind::kDevice : ErrorKind::kBadData);
          },
          "reason"_a, "lost"_a = true)
      .def("end", [](Rank& self) {
        const WithoutGil without;
        self.training.reset();
      });
  module.def(
      "check_rank_params", [](const nb::dict& params) { (void)als_of(params_of(params)); },
      "params"_a);
  module.def("make_rank", &make_rank, "listener"_a, "rank"_a, "addresses"_a, "token"_a, "params"_a,
             "users"_a, "items"_a, "repeated"_a = "sum", "device"_a = "cpu", "threads"_a = 0,
             "patience"_a = 1800.0, "connect_patience"_a = 60.0);
}

}  // namespace likewise::python
