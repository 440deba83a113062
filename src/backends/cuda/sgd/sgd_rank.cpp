// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sgd/sgd_rank.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "algorithms/sgd/setup.h"
#include "backends/cuda/linalg/fixed_sum.h"
#include "backends/cuda/sgd/sgd_steps.h"
#include "backends/distributed/transport/thread_ranks.h"
#include "core/random.h"
#include "core/system/parallel.h"

namespace likewise::cuda {
namespace {

/// Rows of the smaller side for each group that races: fewer would lose too many steps.
constexpr Index kRowsOfARacer = 2;
/// Turns between two waits for the other GPUs: a stream takes about a thousand launches, and the
/// host must not wait in one of them.
constexpr Index kTurnsAtOnce = 32;

/// Powers of two, so that nothing is rounded on the way: of the values' spread, which is 1 for the
/// logistic loss, and of its root.
[[nodiscard]] SgdUnits units_of(double spread) {
  const double root = std::exp2(std::round(0.5 * std::log2(spread)));
  return {static_cast<float>(root), static_cast<float>(root * root)};
}

[[nodiscard]] SgdSpan part(const Partition& parts, int rank) {
  return {parts.first(rank), parts.end(rank)};
}
[[nodiscard]] Index count(const SgdSpan& rows) { return rows.end - rows.first; }

[[nodiscard]] bool is_blocked(const SgdParams& params) {
  return params.order == SgdOrder::kBlocked;
}

/// Entries of a side's rows, with their further pieces.
[[nodiscard]] Offset entries_of(const SgdRowEntries& lines, const SgdSpan& rows) {
  if (lines.begin.empty()) return 0;
  Offset sum = lines.begin[static_cast<std::size_t>(rows.end)] -
               lines.begin[static_cast<std::size_t>(rows.first)];
  for (std::size_t at = 0; at < lines.piece_of.size(); ++at) {
    const Index row = lines.piece_of[at];
    if (row >= rows.first && row < rows.end)
      sum += lines.size(lines.rows() + static_cast<Index>(at));
  }
  return sum;
}

template <class T>
[[nodiscard]] std::span<const T> part_of(const Array<T>& all, const SgdSpan& rows) {
  return all.span().subspan(static_cast<std::size_t>(rows.first),
                            static_cast<std::size_t>(count(rows)));
}

}  // namespace

SgdSpan CudaSgdPlan::held(Side which, int rank) const {
  if (which == Side::kUsers && is_blocked(params)) return part(users, rank);
  return {0, parts(which).rows()};
}

CudaSgdPlan plan_sgd(const CsrView& by_user, const SgdParams& params, const SgdWhole& whole,
                     int ranks) {
  require_shared_order(params, ranks, "GPUs");
  const SgdShape shape{by_user.rows, by_user.cols, by_user.nnz()};
  const double spread = whole.spread ? *whole.spread : value_spread(by_user, params).spread;
  const SgdUnits units = units_of(spread);
  const Index stripes = is_blocked(params) ? gpu_sgd_stripes(shape) : 1;
  SgdGrid grid = make_sgd_grid(by_user, stripes, params.seed, whole);
  parallel_for(grid.entries.size(), 1 << 16,
               [&](Offset at) { grid.entries[at].value /= units.bias; });
  if (is_blocked(params)) {
    return {cut_stripes(grid, ranks), params, spread, units, std::move(grid), {}, whole.bounded};
  }
  SgdRowEntries users = entries_by_row(grid, Side::kUsers);
  SgdRowEntries items;
  if (params.order == SgdOrder::kAlternating) items = entries_by_row(grid, Side::kItems);
  if (params.order == SgdOrder::kRacing) turn_lines(users, params.seed);
  grid.entries = {};
  return {cut_lines(by_user, grid, ranks),      params,       spread, units, std::move(grid),
          {std::move(users), std::move(items)}, whole.bounded};
}

GpuSgdShare share_of(const CudaSgdPlan& plan, int rank) {
  GpuSgdShare share;
  share.users = count(plan.held(Side::kUsers, rank));
  share.items = count(plan.held(Side::kItems, rank));
  if (is_blocked(plan.params)) {
    const auto wide = static_cast<std::size_t>(plan.grid.stripes);
    const auto first = static_cast<std::size_t>(plan.stripes.first(rank));
    const auto end = static_cast<std::size_t>(plan.stripes.end(rank));
    share.ratings = plan.grid.begin[end * wide] - plan.grid.begin[first * wide];
    share.tasks = static_cast<Offset>((end - first) * wide);
    return share;
  }
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const SgdSpan own = part(plan.parts(side), rank);
    share.ratings += entries_of(plan.lines_of(side), own);
    share.pieces += std::ssize(plan.lines_of(side).piece_of);
    share.tasks += count(own);
  }
  share.tasks += share.pieces;
  return share;
}

CudaSgdRank::MovedSide::MovedSide(const CudaSgdPlan& plan, Side which, int rank)
    : side(which),
      held(plan.held(which, rank)),
      own(part(plan.parts(which), rank)),
      table(held, static_cast<Index>(plan.lines_of(which).piece_of.size()),
            gpu_sgd_columns(plan.params.factors), is_half(plan.params),
            part_of(plan.side(which).row, held)),
      terms(count(held)) {}

CudaSgdRank::CudaSgdRank(int device, CudaSgdPlan& plan, int rank, const GpuSgdPlan& memory,
                         const Factors& start, std::unique_ptr<DeviceCommunicator> gpus)
    : device_(device),
      plan_(plan),
      rank_(rank),
      columns_(gpu_sgd_columns(plan.params.factors)),
      half_(is_half(plan.params)),
      global_mean_(start.global_mean),
      gpus_(std::move(gpus)),
      staging_(Offset{32} << 20),
      feed_(memory.streamed ? memory.portion : 0, staging_, stream_),
      users_(plan, Side::kUsers, rank),
      items_(plan, Side::kItems, rank),
      partial_(FixedSum::kBlocks) {
  for (MovedSide* moved : {&users_, &items_}) {
    load_side(*moved, start);
    load_pieces(*moved);
  }
  load_work(plan, memory, rank);
  measure(users_, users_.held);
  measure(items_, items_.held);
  stream_.synchronize();
}

CudaSgdRank::~CudaSgdRank() {
  if (gpus_ != nullptr) gpus_->give_up();  // memory cannot go while the GPU waits for others
}

void CudaSgdRank::load_side(MovedSide& moved, const Factors& start) {
  const std::span<const Offset> counts = part_of(plan_.side(moved.side).count, moved.held);
  std::vector<float> shares;
  std::vector<float> weights;
  for (const Offset count : counts) {
    const double share = rating_decay(1.0, params().regularization_exponent, count);
    shares.push_back(static_cast<float>(share));
    weights.push_back(static_cast<float>(share * static_cast<double>(count)));
  }
  moved.table.upload(start, moved.side, shares, plan_.units, staging_, stream_);
  moved.weights = to_device(weights, stream_);
}

void CudaSgdRank::load_pieces(MovedSide& moved) {
  const SgdRowEntries& lines = plan_.lines_of(moved.side);
  if (lines.piece_of.empty()) return;
  std::vector<SgdLongRow> long_rows;
  std::vector<float> shares(static_cast<std::size_t>(lines.lines()), 1.0F);
  for (const SgdPieces& pieces : pieces_of(lines)) {
    if (pieces.row < moved.own.first || pieces.row >= moved.own.end) continue;
    long_rows.push_back({pieces.row, pieces.first, pieces.last, 0.0F});
    const auto share = [&](Index line) {
      shares[static_cast<std::size_t>(line)] = static_cast<float>(
          static_cast<double>(lines.size(line)) / static_cast<double>(pieces.entries));
    };
    share(pieces.row);
    for (Index line = pieces.first; line < pieces.last; ++line) share(line);
  }
  moved.long_rows = to_device(long_rows, stream_);
  moved.piece_shares = to_device(shares, stream_);
}

void CudaSgdRank::load_work(CudaSgdPlan& plan, const GpuSgdPlan& memory, int rank) {
  const bool alone = plan.ranks() == 1;
  if (is_blocked(plan.params)) {
    users_.work = feed_.load(work_by_block(plan.grid, part(plan.stripes, rank), memory.portion));
    if (alone) plan.grid.entries = {};
    return;
  }
  for (MovedSide* moved : {&users_, &items_}) {
    SgdRowEntries& lines = plan.lines[static_cast<std::size_t>(moved->side)];
    if (lines.begin.empty()) continue;
    moved->work = feed_.load(alone ? work_by_line(std::move(lines), memory.portion)
                                   : work_by_line(lines, moved->own, memory.portion));
  }
}

float CudaSgdRank::lambda() const {
  return static_cast<float>(params().regularization / double{plan_.units.bias});
}

float CudaSgdRank::least_factor() const {
  return params().nonnegative ? 0.0F : -std::numeric_limits<float>::infinity();
}

/// Whether items meet users of other GPUs, too.
bool CudaSgdRank::passes_items() const { return gpus_ != nullptr && is_blocked(params()); }

double CudaSgdRank::epoch(Communicator* ranks, int number, double learning_rate,
                          const RunControl& control) {
  control.check();
  LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
  if (gpus_ == nullptr) return take_epoch(number, learning_rate, control);
  gpus_->start(*ranks, control, kRankPatience);
  try {
    return take_epoch(number, learning_rate, control);
  } catch (...) {
    gpus_->give_up();  // so that the host may wait for the GPU
    throw;
  }
}

double CudaSgdRank::take_epoch(int number, double learning_rate, const RunControl& control) {
  move(users_, items_, number, learning_rate, control);
  if (items_.work) {
    move(items_, users_, number, learning_rate, control);
  } else {
    measure(items_, items_.own);  // which moved beside the users
  }
  return objective();
}

void CudaSgdRank::store(Factors& to) {
  LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
  for (MovedSide* moved : {&users_, &items_}) {
    moved->table.download(moved->own, to, moved->side, plan_.units, staging_, stream_);
  }
}

SgdSteps CudaSgdRank::steps(MovedSide& moved, MovedSide& other, int epoch,
                            double learning_rate) const {
  SgdSteps steps;
  steps.own = moved.table.table();
  steps.other = other.table.table();
  steps.columns = columns_;
  steps.mean = global_mean_ / plan_.units.bias;
  const StepScales scales = step_scales(plan_.spread / double{plan_.units.bias}, params().factors);
  steps.rate = static_cast<float>(learning_rate * scales.rate);
  steps.bias_rate = params().biases ? static_cast<float>(learning_rate) : 0.0F;
  steps.square_scale = static_cast<float>(scales.square);
  steps.lambda = lambda();
  steps.bias_lambda = static_cast<float>(bias_lambda(params()));
  steps.adaptive = is_adaptive(params());
  steps.bounded = plan_.bounded;
  steps.logistic = params().loss == SgdLoss::kLogistic;
  steps.nonnegative = params().nonnegative;
  steps.moves_other = params().order != SgdOrder::kAlternating;
  steps.races = params().order == SgdOrder::kRacing;
  steps.random = static_cast<std::uint32_t>(
      CounterRandom(params().seed, kStreamSgdRounding, static_cast<std::uint64_t>(epoch))
          .next_u64());
  return steps;
}

void CudaSgdRank::move(MovedSide& moved, MovedSide& other, int epoch, double learning_rate,
                       const RunControl& control) {
  SgdDeviceWork& work = *moved.work;
  const auto long_rows = static_cast<Index>(moved.long_rows.size());
  split_rows(half_, moved.table.table(), moved.long_rows.data(), long_rows, columns_, stream_);
  SgdSteps some = steps(moved, other, epoch, learning_rate);
  if (some.races) {
    some.groups = std::max(1, std::min(users_.table.rows(), items_.table.rows()) / kRowsOfARacer);
    some.counter = counter_.data();
  }
  const Index tasks_of_turn = passes_items() ? plan_.stripes.count(rank_) : 0;
  for (const SgdLaunch& launch : work.host.launches) {
    control.check();
    some.entries = feed_.open(work, launch);
    some.tasks = work.tasks.data() + launch.first_task;
    some.losses = work.losses.data() + launch.first_task;
    some.count = launch.end_task - launch.first_task;
    if (some.races) fill_zero(counter_.data(), 1, stream_);
    take_sgd_steps(half_, some, stream_);
    feed_.close();
    if (tasks_of_turn > 0 && launch.end_task % tasks_of_turn == 0) {
      pass_on_items(launch.end_task / tasks_of_turn - 1);
    }
  }
  join_rows(half_, moved.table.table(), moved.long_rows.data(), long_rows, columns_,
            moved.piece_shares.data(), stream_);
  measure(moved, moved.own);
  if (gpus_ != nullptr && !passes_items()) share_rows(moved);
}

void CudaSgdRank::measure(MovedSide& measured, const SgdSpan& rows) {
  const SgdTable all = measured.table.table();
  const Offset bytes = rows.first * measured.table.row_bytes();
  const Index at = rows.first - measured.held.first;
  measure_rows(half_, {static_cast<std::byte*>(all.rows) + bytes, all.numbers + rows.first},
               count(rows), columns_, least_factor(), measured.weights.data() + at, lambda(),
               params().biases ? static_cast<float>(bias_lambda(params())) : 0.0F,
               measured.terms.data() + at, stream_);
}

/// All GPUs get the rows that each has moved.
void CudaSgdRank::share_rows(MovedSide& moved) {
  const Partition& parts = plan_.parts(moved.side);
  const SgdTable table = moved.table.table();
  gpus_->follow(stream_);
  moved.sent.record(gpus_->stream());
  gpus_->share_rows(static_cast<std::byte*>(table.rows), moved.table.row_bytes(), parts);
  gpus_->share_rows(reinterpret_cast<std::byte*>(table.numbers), sizeof(SgdRowNumbers), parts);
  moved.arrived.record(gpus_->stream());
  gpus_->lead(stream_);
  wait_for_others();
}

/// Items of stripe first + turn have met all users here that they will in this round. They go to
/// the rank before this one.
void CudaSgdRank::pass_on_items(Index turn) {
  const Index stripes = plan_.grid.stripes;
  const auto rows_of = [&](Index stripe) {
    const std::vector<Index>& begin = plan_.grid.items.begin;
    const auto at = static_cast<std::size_t>(stripe % stripes);
    return SgdSpan{begin[at], begin[at + 1]};
  };
  const SgdSpan out = rows_of(plan_.stripes.first(rank_) + turn);
  const SgdSpan in = rows_of(plan_.stripes.end(rank_) + turn);
  const SgdTable table = items_.table.table();
  const auto shift = [&](void* rows, Offset bytes) {
    auto* const at = static_cast<std::byte*>(rows);
    const auto place = [&](const SgdSpan& some) {
      return std::span(at + some.first * bytes, static_cast<std::size_t>(count(some) * bytes));
    };
    gpus_->shift<std::byte>(gpus_->size() - 1, place(out), place(in));
  };
  gpus_->follow(stream_);
  shift(table.rows, items_.table.row_bytes());
  shift(table.numbers, sizeof(SgdRowNumbers));
  gpus_->lead(stream_);
  if ((turn + 1) % kTurnsAtOnce == 0) return gpus_->wait();
  wait_for_others();
}

/// Before the host waits for what is in the stream.
void CudaSgdRank::wait_for_others() {
  if (feed_.is_streamed()) gpus_->wait();
}

/// Of the rank's tasks and rows, then of all.
double CudaSgdRank::objective() {
  double* const sums = sums_.data();
  const DeviceArray<double>& losses = users_.work->losses;
  FixedSum::run(losses.data(), losses.size(), partial_.data(), sums, stream_);
  for (const MovedSide* moved : {&users_, &items_}) {
    const double* const terms = moved->terms.data() + (moved->own.first - moved->held.first);
    FixedSum::run(terms, count(moved->own), partial_.data(),
                  sums + (moved->side == Side::kUsers ? 1 : 2), stream_);
  }
  if (gpus_ == nullptr) {
    copy_to_host(host_sums_.data(), sums, 3, stream_);
    stream_.synchronize();
  } else {
    gpus_->follow(stream_);
    gpus_->all_reduce({sums, 3});
    copy_to_host(host_sums_.data(), sums, 3, gpus_->stream());
    gpus_->wait();
    note_traffic();
  }
  const double* const host = host_sums_.data();
  return double{plan_.units.bias} * double{plan_.units.bias} * (host[0] + host[1] + host[2]);
}

/// After the wait for all of an epoch.
void CudaSgdRank::note_traffic() {
  for (MovedSide* moved : {&users_, &items_}) {
    const Offset row = moved->table.row_bytes() + Offset{sizeof(SgdRowNumbers)};
    if (passes_items()) {
      if (moved->side == Side::kItems) traffic_.bytes += moved->table.rows() * row;
      continue;
    }
    traffic_.bytes += (plan_.parts(moved->side).rows() - count(moved->own)) * row;
    const double seconds = moved->sent.until(moved->arrived);
    traffic_.seconds += seconds;
    traffic_.exposed += seconds;  // the GPU has nothing else to do
  }
}

}  // namespace likewise::cuda
