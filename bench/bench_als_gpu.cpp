// SPDX-License-Identifier: Apache-2.0
/// ALS on a GPU, as rows of Markdown tables; their heads come from the word alone.
///
///     bench_als_gpu speed DEVICE DATA FACTORS[,FACTORS...] [ITERATIONS]
///         seconds of an iteration and those of gathering alone, and of loading
///     bench_als_gpu ranks GPU,GPU[,...] DATA FACTORS[,FACTORS...] [ITERATIONS [DEVICE_MEMORY]]
///         seconds of an iteration on the first of these GPUs, then on all of them together; what
///         a GPU receives of the others, and what one copies from another; what the GPUs had
///         nothing to do beside
///     bench_als_gpu stages DEVICE[@GIB][+DEVICE[@GIB]] DATA FACTORS [ITERATIONS]
///         one training of a large matrix on each of these devices, with so much of its memory:
///         what it takes of that, and the time of each part; where one GPU is streamed to, beside
///         that of copying once, from pinned memory, what the half-step reads
///     bench_als_gpu halves DEVICE DATA FACTORS[,FACTORS...]
///         of the tunings that `likewise autotune` measures, the users' half-step and the items':
///         built in, the best with one tuning, and the best with one for each half
///     bench_als_gpu parts DEVICE DATA FACTORS[,FACTORS...]
///         an iteration as loading, computing and solving, of three solvers, by what it takes with
///         more steps of conjugate gradients: loading is gathering alone, solving is three such
///         steps, or what the exact solver takes more than no step; computing is the rest
///     bench_als_gpu accuracy DEVICE DATA FACTORS [EXACT_DEVICE [ALPHA]]
///         the objective after each of ten iterations: of the exact solver in float32, then of all
///         others from that, relative; and the median time of an iteration
///
/// DATA is a file of interactions, or a shape of `likewise generate` such as netflix:explicit.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "algorithms/als/als.h"
#include "algorithms/als/weights.h"
#include "algorithms/iteration_run.h"
#include "backends/cuda/host/cuda_device.h"
#include "backends/cuda/host/load_plugin.h"
#include "backends/jobs/device_jobs.h"
#include "core/system/parallel.h"
#include "core/system/seconds.h"
#include "gather_floor.h"
#include "likewise/likewise.h"
#include "link_rate.h"
#include "program.h"

namespace likewise {
namespace {

struct Data {
  std::string name;
  CsrMatrix by_user;
  Feedback feedback = Feedback::kImplicit;
};

/// Ratings that a name calls explicit are such; all others are taken for signals.
[[nodiscard]] Data open_data(const std::string& text) {
  if (std::filesystem::exists(text)) {
    const std::filesystem::path path(text);
    return {path.parent_path().filename() / path.filename(), read_interactions(text).by_user,
            Feedback::kImplicit};
  }
  return {text, generate(parse_shape(text), 1).by_user,
          text.ends_with(":explicit") ? Feedback::kExplicit : Feedback::kImplicit};
}

[[nodiscard]] AlsParams params_for(const Data& data, int factors) {
  AlsParams params = AlsParams::defaults(data.feedback);
  params.factors = factors;
  return params;
}

[[nodiscard]] Factors first_factors(const Data& data, AlsParams params, const Device& device) {
  params.iterations = 0;
  return train_als(data.by_user.view(), params, device).factors;
}

/// "median (least - most)" in milliseconds.
[[nodiscard]] std::string spread_ms(const std::vector<double>& seconds) {
  return spread(seconds, 1, 1e3);
}

/// Seconds of gathering a row of so many bytes for each interaction of an iteration's two halves.
[[nodiscard]] double gather_iteration(const CsrView& by_user, int row_bytes) {
  return gather_seconds(by_user, row_bytes) + gather_seconds(transpose(by_user).view(), row_bytes);
}

/// Goes on after a failure, and tells.
template <class Work>
[[nodiscard]] bool succeeds(const std::string& what, const Work& work) {
  try {
    work();
    return true;
  } catch (const Error& error) {
    fmt::print(stderr, "bench_als_gpu: {}: {}\n", what, error.what());
    return false;
  }
}

/// print(f) for each number of "64,128", the next one after a failure too: how to exit.
template <class Print>
[[nodiscard]] int for_each_width(const std::string& data, const std::string& factors,
                                 const Print& print) {
  bool good = true;
  std::istringstream list(factors);
  for (std::string f; std::getline(list, f, ',');) {
    good = succeeds(fmt::format("{}, {} factors", data, f), [&] { print(std::stoi(f)); }) && good;
  }
  return good ? 0 : 1;
}

// ---------------------------------------------------------------------------------- speed

struct Speed {
  double load = 0.0;   ///< matrix and first factors to the device, and its plans
  double fetch = 0.0;  ///< the factors back
  std::vector<double> iterations;
};

[[nodiscard]] Speed measure(const Data& data, const AlsParams& params, const Device& device,
                            int iterations) {
  constexpr int kWarmUp = 3;
  Speed speed;
  Factors start = first_factors(data, params, device);
  std::unique_ptr<AlsSolver> solver;
  speed.load = seconds_of([&] {
    solver = job<AlsJob>(device).make_solver(data.by_user.view(), params, std::move(start));
  });
  for (int i = 0; i < kWarmUp + iterations; ++i) {
    const double seconds = seconds_of([&] {
      (void)solver->solve(Side::kUsers, {});
      (void)solver->solve(Side::kItems, {});
    });
    if (i >= kWarmUp) speed.iterations.push_back(seconds);
  }
  speed.fetch = seconds_of([&] { (void)solver->take_factors(); });
  return speed;
}

void print_speed(const Data& data, const Device& device, int factors, int iterations) {
  const AlsParams params = params_for(data, factors);
  const Speed speed = measure(data, params, device, iterations);
  const double f = factors;
  const auto n = static_cast<double>(data.by_user.nnz());
  const double rows = static_cast<double>(data.by_user.rows) + data.by_user.cols;
  const int row_bytes = (2 * factors + 15) / 16 * 16;  // 16-bit numbers
  const double operations = 2 * n * f * f + rows * f * f * f / 3;
  const double seconds = median(speed.iterations);
  std::string floor = " | ";
  if (device.name().starts_with("cuda")) {
    const double gather = gather_iteration(data.by_user.view(), row_bytes);
    floor = fmt::format("{:.2f} | {:.0f} %", 1e3 * gather, 100 * gather / seconds);
  }
  fmt::print("| {} | {} | {} | {} | {:.3g} | {} | {:.3g} | {:.3g} | {:.2f} | {:.3f} |\n", data.name,
             device.name(), factors, spread_ms(speed.iterations), 2 * n * row_bytes * 1e-9, floor,
             operations * 1e-12, operations * 1e-12 / seconds, speed.load, speed.fetch);
  std::fflush(stdout);
}

int print_speeds(const std::string& name, const std::string& text, const std::string& factors,
                 int iterations) {
  const Data data = open_data(text);
  const Device device = open_device(name);
  {  // the first use of a device takes a while
    const Data small = open_data("100x100x1000");
    (void)measure(small, params_for(small, 16), device, 1);
  }
  return for_each_width(text, factors, [&](int f) { print_speed(data, device, f, iterations); });
}

// ---------------------------------------------------------------------------------- ranks

/// As training draws them, except for the mean, which does not change how long anything takes.
[[nodiscard]] Factors drawn_factors(const CsrView& m, const AlsParams& params) {
  Factors start{draw_factors(Side::kUsers, m.rows, params),
                draw_factors(Side::kItems, m.cols, params),
                {},
                {},
                3.0F};
  if (als_width(params) > params.factors) {
    start.user_bias = Array<float>(m.rows);
    start.item_bias = Array<float>(m.cols);
  }
  return start;
}

struct RankedSpeed {
  double load = 0.0;
  std::vector<double> iterations;
  RankTraffic each;  ///< of an iteration
  std::string placement;
  double objective = 0.0;
};

[[nodiscard]] RankTraffic traffic_of(const AlsSolver& solver) {
  const RankTraffic* traffic = load_cuda_plugin().als->traffic(solver);
  return traffic == nullptr ? RankTraffic{} : *traffic;
}

[[nodiscard]] RankedSpeed measure_ranks(const Data& data, const AlsParams& params,
                                        const std::vector<int>& gpus, int iterations,
                                        Offset memory) {
  constexpr int kWarmUp = 2;
  const CudaPlugin& plugin = load_cuda_plugin();
  const CsrView m = data.by_user.view();
  const auto als = make_cuda_als_job(plugin, plugin.find_gpus(), gpus, memory);
  RankedSpeed speed;
  speed.placement = als->plan({m.rows, m.cols, m.nnz()}, params).placement;
  Factors start = drawn_factors(m, params);
  std::unique_ptr<AlsSolver> solver;
  speed.load = seconds_of([&] { solver = als->make_solver(m, params, std::move(start)); });
  RankTraffic before;
  for (int i = 0; i < kWarmUp + iterations; ++i) {
    if (i == kWarmUp) before = traffic_of(*solver);
    const double seconds = seconds_of([&] {
      (void)solver->solve(Side::kUsers, {});
      speed.objective = solver->solve(Side::kItems, {});
    });
    if (i >= kWarmUp) speed.iterations.push_back(seconds);
  }
  const RankTraffic after = traffic_of(*solver);
  speed.each = {(after.bytes - before.bytes) / iterations,
                (after.seconds - before.seconds) / iterations,
                (after.exposed - before.exposed) / iterations};
  return speed;
}

void print_ranks(const Data& data, const std::vector<int>& gpus, int factors, int iterations,
                 Offset memory, double link) {
  const AlsParams params = params_for(data, factors);
  const RankedSpeed one = measure_ranks(data, params, {gpus.front()}, iterations, memory);
  const RankedSpeed all = measure_ranks(data, params, gpus, iterations, memory);
  const double rate = static_cast<double>(all.each.bytes) / all.each.seconds;
  fmt::print(
      "| {} | {} | {} | {} | {} | {:.2f} | {:.1f} | {:.0f} | {:.0f} % | {:.2f} | {:.2f} | "
      "{:.2f}, {:.2f} |\n",
      data.name, gpus.size(), factors, spread_ms(one.iterations), spread_ms(all.iterations),
      median(one.iterations) / median(all.iterations), 1e-6 * static_cast<double>(all.each.bytes),
      1e-9 * rate, 100 * rate / link, 1e3 * all.each.seconds, 1e3 * all.each.exposed, one.load,
      all.load);
  std::fflush(stdout);
  fmt::print(stderr, "{}, f = {}: {}; objectives {:.9g} and {:.9g}; a link copies {:.0f} GB/s\n",
             data.name, factors, all.placement, one.objective, all.objective, 1e-9 * link);
}

int print_all_ranks(const std::string& numbers, const std::string& text, const std::string& factors,
                    int iterations, Offset memory) {
  std::vector<int> gpus;
  std::istringstream named(numbers);
  for (std::string gpu; std::getline(named, gpu, ',');) gpus.push_back(std::stoi(gpu));
  if (gpus.size() < 2) throw Error(ErrorKind::kInvalidArgument, "ranks: name two GPUs at least");
  const double link = link_rate(gpus[1], gpus[0]);
  const Data data = open_data(text);
  return for_each_width(text, factors,
                        [&](int f) { print_ranks(data, gpus, f, iterations, memory, link); });
}

// --------------------------------------------------------------------------------- stages

void tell_stage(const std::string& stage, double seconds, double floor = 0.0) {
  const std::string compared =
      floor > 0.0 ? fmt::format("{:.3f} | {:.0f} %", floor, 100.0 * floor / seconds) : " | ";
  fmt::print("| {} | {:.3f} | {} |\n", stage, seconds, compared);
  std::fflush(stdout);
}

/// "cuda:0", or "cuda:0@20" with 20 GiB of its memory.
struct LimitedDevice {
  explicit LimitedDevice(const std::string& text)
      : label(text),
        device(open_device(text.substr(0, text.find('@')), {.device_memory = limit_of(text)})) {}

  std::string label;
  Device device;

 private:
  [[nodiscard]] static Offset limit_of(const std::string& text) {
    const std::size_t at = text.find('@');
    return at == std::string::npos ? 0 : Offset{std::stoll(text.substr(at + 1))} << 30;
  }
};

/// Bytes that the host cannot send fewer of in a half-step: every interaction, and where tables are
/// streamed every row of both, once. What comes back meanwhile goes the other way.
[[nodiscard]] double streamed_bytes(const MemoryPlan& plan, const CsrView& m, int width) {
  if (!plan.placement.starts_with("interactions")) return 0.0;
  const double interactions = 8.0 * static_cast<double>(m.nnz());
  const bool tables = plan.placement.find("factors") != std::string::npos;
  return interactions + (tables ? 4.0 * width * (static_cast<double>(m.rows) + m.cols) : 0.0);
}

/// Seconds of that on the bus of the one GPU; 0 where nothing is streamed, or to several.
[[nodiscard]] double streaming_floor(const LimitedDevice& at, const MemoryPlan& plan,
                                     const CsrView& m, const AlsParams& params) {
  const double bytes = streamed_bytes(plan, m, als_width(params));
  const std::string_view name = at.device.name();
  if (bytes == 0.0 || name.find(',') != std::string_view::npos) return 0.0;
  const double rate = host_rate(std::stoi(std::string(name.substr(name.find(':') + 1))));
  fmt::print(stderr, "a half-step reads {:.1f} GB; the bus copies {:.1f} GB/s\n", 1e-9 * bytes,
             1e-9 * rate);
  return bytes / rate;
}

void print_stages_on(const LimitedDevice& at, const Data& data, const AlsParams& params,
                     Factors start, int iterations) {
  double total = 0.0;
  const CsrView m = data.by_user.view();
  const auto& als = job<AlsJob>(at.device);
  const MemoryPlan plan = als.plan({m.rows, m.cols, m.nnz()}, params);
  fmt::print(stderr, "{} on {}: {}\n{}\n", data.name, at.label, plan.placement, describe(plan));
  const double floor = streaming_floor(at, plan, m, params);
  std::unique_ptr<AlsSolver> solver;
  const auto timed = [&](const std::string& stage, double least, const auto& work) {
    const double seconds = seconds_of(work);
    total += seconds;
    tell_stage(fmt::format("{}: {}", at.label, stage), seconds, least);
  };
  timed("load", 0.0, [&] { solver = als.make_solver(m, params, std::move(start)); });
  for (int i = 1; i <= iterations; ++i) {
    double objective = 0.0;
    timed(fmt::format("users {}", i), floor, [&] { objective = solver->solve(Side::kUsers, {}); });
    timed(fmt::format("items {}", i), floor, [&] { objective = solver->solve(Side::kItems, {}); });
    fmt::print(stderr, "objective {:.9g}\n", objective);
  }
  timed("factors back", 0.0, [&] { start = solver->take_factors(); });
  tell_stage(fmt::format("{}: load to factors back, {}", at.label, plan.placement), total);
}

/// `names`: one device after the other, with a plus sign between them.
int print_stages(const std::string& names, const std::string& text, int factors, int iterations) {
  Data data;
  tell_stage("generate", seconds_of([&] { data = open_data(text); }));
  const AlsParams params = params_for(data, factors);
  Factors start;
  tell_stage("draw factors",
             seconds_of([&] { start = drawn_factors(data.by_user.view(), params); }));
  std::istringstream words(names);
  bool good = true;
  for (std::string name; std::getline(words, name, '+');) {
    const bool last = words.peek() == std::istringstream::traits_type::eof();
    good = succeeds(name,
                    [&] {
                      print_stages_on(LimitedDevice(name), data, params,
                                      last ? std::move(start) : start.clone(), iterations);
                    }) &&
           good;
  }
  return good ? 0 : 1;
}

// --------------------------------------------------------------------------------- halves

void print_halves(const Data& data, const Device& device, int factors) {
  const TuningResult found = autotune_als(data.by_user.view(), params_for(data, factors), device);
  const std::vector<TuningTime>& times = found.times;
  const TuningTime& together = times[found.best];
  const TuningTime& users = *std::ranges::min_element(times, {}, &TuningTime::users);
  const TuningTime& items = *std::ranges::min_element(times, {}, &TuningTime::items);
  fmt::print("| {} | {} | {} | {:.2f} + {:.2f} | {:.2f} + {:.2f} | {:.2f} + {:.2f} | {:.1f} % |\n",
             data.name, factors, times.size(), 1e3 * times.front().users, 1e3 * times.front().items,
             1e3 * together.users, 1e3 * together.items, 1e3 * users.users, 1e3 * items.items,
             100 * (1 - (users.users + items.items) / (together.users + together.items)));
  std::fflush(stdout);
  fmt::print(stderr, "{}, f = {}: together {}; users {}; items {}\n", data.name, factors,
             tuning_text(together.tuning), tuning_text(users.tuning), tuning_text(items.tuning));
}

int print_all_halves(const std::string& name, const std::string& text, const std::string& factors) {
  const Device device = open_device(name);
  const Data data = open_data(text);
  return for_each_width(text, factors, [&](int f) { print_halves(data, device, f); });
}

// ---------------------------------------------------------------------------------- parts

void print_parts(const Data& data, const Device& device, int factors) {
  constexpr int kIterations = 7;
  constexpr int kSteps = 3;
  constexpr int kMoreSteps = 9;
  AlsParams params = params_for(data, factors);
  const auto measured = [&](AlsSolverKind solver, Precision precision, int steps) {
    params.solver = solver;
    params.precision = precision;
    params.cg_steps = steps;
    return measure(data, params, device, kIterations).iterations;
  };
  const auto print = [&](const char* solver, const std::vector<double>& all, double load,
                         double without_steps) {
    const double whole = median(all);
    fmt::print("| {} | {} | {} | {} | {:.1f} | {:.1f} | {:.1f} | {:.0f} % |\n", data.name, factors,
               solver, spread_ms(all), 1e3 * load, 1e3 * (without_steps - load),
               1e3 * (whole - without_steps), 100 * (1 - without_steps / whole));
    std::fflush(stdout);
  };
  const auto print_steps = [&](const char* solver, Precision precision, double load) {
    const std::vector<double> some = measured(AlsSolverKind::kCg, precision, kSteps);
    const double more = median(measured(AlsSolverKind::kCg, precision, kMoreSteps));
    const double a_step = (more - median(some)) / (kMoreSteps - kSteps);
    const double without_steps = median(some) - kSteps * a_step;
    print(solver, some, load, without_steps);
    return without_steps;
  };
  const CsrView m = data.by_user.view();
  const double load = gather_iteration(m, (4 * factors + 15) / 16 * 16);
  const double without_steps = print_steps("cg, 3 steps, fp32", Precision::kFp32, load);
  print("exact, fp32", measured(AlsSolverKind::kCholesky, Precision::kFp32, kSteps), load,
        without_steps);
  (void)print_steps("cg, 3 steps, fp16", Precision::kFp16,
                    gather_iteration(m, (2 * factors + 15) / 16 * 16));
}

int print_all_parts(const std::string& name, const std::string& text, const std::string& factors) {
  const Device device = open_device(name);
  const Data data = open_data(text);
  return for_each_width(text, factors, [&](int f) { print_parts(data, device, f); });
}

// ------------------------------------------------------------------------------- accuracy

/// sum over the rows of a table of y y^T
[[nodiscard]] std::vector<double> gram_of(const Matrix& table) {
  constexpr Offset kBlockRows = 4096;
  const auto f = static_cast<std::size_t>(table.cols());
  const Offset blocks = (table.rows() + kBlockRows - 1) / kBlockRows;
  std::vector<std::vector<double>> parts(static_cast<std::size_t>(blocks));
  parallel_blocks(table.rows(), kBlockRows, [&](Offset begin, Offset end, Offset block) {
    std::vector<double>& part = parts[static_cast<std::size_t>(block)];
    part.assign(f * f, 0.0);
    for (Offset r = begin; r < end; ++r) {
      const float* y = table.row(static_cast<Index>(r));
      for (std::size_t i = 0; i < f; ++i) {
        for (std::size_t j = 0; j < f; ++j) part[i * f + j] += double{y[i]} * y[j];
      }
    }
  });
  std::vector<double> sum(f * f, 0.0);
  for (const std::vector<double>& part : parts) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
  }
  return sum;
}

/// Adds per_row(r) over all rows, in float64.
template <class PerRow>
[[nodiscard]] double sum_over(Index rows, const PerRow& per_row) {
  std::vector<double> sums(static_cast<std::size_t>(rows));
  parallel_for(rows, 64, [&](Offset r) {
    sums[static_cast<std::size_t>(r)] = per_row(static_cast<Index>(r));
  });
  double total = 0.0;
  for (const double sum : sums) total += sum;
  return total;
}

[[nodiscard]] double regularization(const CsrView& rows, const Factors& f, Side side,
                                    const AlsParams& params) {
  return sum_over(rows.rows, [&](Index r) {
    double square = f.bias(side).empty() ? 0.0 : std::pow(f.bias(side)[r], 2);
    for (const float x : f.side(side).row_span(r)) square += double{x} * x;
    return square *
           row_regularization(params, counted_entries(params, rows.row_values(r)), rows.cols);
  });
}

/// The objective (math.md) in float64.
[[nodiscard]] double objective(const CsrView& by_user, const CsrView& by_item, const Factors& f,
                               const AlsParams& params) {
  const bool implicit = params.feedback == Feedback::kImplicit;
  double sum = sum_over(by_user.rows, [&](Index u) {
    double row = 0.0;
    for (std::size_t e = 0; e < by_user.row_columns(u).size(); ++e) {
      const Index i = by_user.row_columns(u)[e];
      const double value = by_user.row_values(u)[e];
      double s = 0.0;
      for (Index j = 0; j < f.users.cols(); ++j) s += double{f.users.row(u)[j]} * f.items.row(i)[j];
      if (implicit) {
        const CellWeights weight = cell_weights(params, value);
        row += weight.w * s * s - 2 * weight.v * s + weight.constant;
      } else {
        row += std::pow(value - f.global_mean - f.user_bias[u] - f.item_bias[i] - s, 2);
      }
    }
    return row;
  });
  if (implicit) {
    const std::vector<double> x = gram_of(f.users);
    const std::vector<double> y = gram_of(f.items);
    for (std::size_t i = 0; i < x.size(); ++i) sum += missing_weight(params) * x[i] * y[i];
  }
  return sum + regularization(by_user, f, Side::kUsers, params) +
         regularization(by_item, f, Side::kItems, params);
}

struct Objectives {
  std::vector<double> reported;  ///< after each iteration
  double computed = 0.0;         ///< after the last
  std::vector<double> seconds;   ///< of each iteration

  [[nodiscard]] std::vector<double> all() const {
    std::vector<double> numbers = reported;
    numbers.push_back(computed);
    return numbers;
  }
};

[[nodiscard]] Objectives train(const Data& data, const AlsParams& params, const Device& device) {
  const IterationResult result = train_als(data.by_user.view(), params, device);
  Objectives all;
  for (const Iteration& one : result.iterations) {
    all.reported.push_back(one.objective);
    all.seconds.push_back(one.seconds);
  }
  const CsrMatrix by_item = transpose(data.by_user.view());
  all.computed = objective(data.by_user.view(), by_item.view(), result.factors, params);
  return all;
}

/// A row of the table. `numbers` are as many as iterations, and one more.
void print_accuracy(const std::string& label, const Objectives& found, const char* format,
                    const std::vector<double>& numbers) {
  fmt::print("| {} | {} |", label, spread_ms(found.seconds));
  for (const double x : numbers) fmt::print(fmt::runtime(format), x);
  fmt::print("\n");
  std::fflush(stdout);
}

int print_accuracies(const std::string& name, const std::string& text, int factors,
                     const std::string& exact_device, double alpha) {
  const Data data = open_data(text);
  AlsParams params = params_for(data, factors);
  params.alpha = alpha;
  params.iterations = 10;
  params.solver = AlsSolverKind::kCholesky;
  params.precision = Precision::kFp32;
  const Objectives exact = train(data, params, open_device(exact_device));
  const auto describe = [&](const std::string& solver, const char* precision) {
    return fmt::format("{} | {} | {:g} | {} | {}", data.name, factors, alpha, solver, precision);
  };
  print_accuracy(describe("exact, on " + exact_device, "fp32"), exact, " {:.7g} |", exact.all());
  const Device device = open_device(name);
  const std::pair<const char*, AlsSolverKind> solvers[] = {{"auto", AlsSolverKind::kAuto},
                                                           {"cholesky", AlsSolverKind::kCholesky},
                                                           {"cg, 3 steps", AlsSolverKind::kCg}};
  const std::pair<const char*, Precision> precisions[] = {{"fp32", Precision::kFp32},
                                                          {"tf32", Precision::kTf32},
                                                          {"fp16", Precision::kFp16},
                                                          {"bf16", Precision::kBf16}};
  bool good = true;
  for (const auto& [solver_name, solver] : solvers) {
    for (const auto& [precision_name, precision] : precisions) {
      params.solver = solver;
      params.precision = precision;
      const std::string label = describe(solver_name, precision_name);
      good = succeeds(label,
                      [&] {
                        const Objectives found = train(data, params, device);
                        std::vector<double> differences = found.all();
                        for (std::size_t i = 0; i < differences.size(); ++i) {
                          differences[i] = differences[i] / exact.all()[i] - 1.0;
                        }
                        print_accuracy(label, found, " {:+.1e} |", differences);
                      }) &&
             good;
    }
  }
  return good ? 0 : 1;
}

constexpr const char* kSpeedHead =
    "| data | device | f | iteration, ms | gathered, GB | gathering alone, ms | share | Gram + "
    "Cholesky, TFLOP | as TFLOP/s | load, s | fetch, s "
    "|\n|---|---|---|---|---|---|---|---|---|---|---|\n";
constexpr const char* kRanksHead =
    "| data | GPUs | f | one GPU, ms | all, ms | times as fast | a GPU receives, MB | GB/s | of a "
    "link | underway, ms | not overlapped, ms | load, s: one, all "
    "|\n|---|---|---|---|---|---|---|---|---|---|---|---|\n";
constexpr const char* kStagesHead = "| stage | s | the bus alone, s | share |\n|---|---|---|---|\n";
constexpr const char* kHalvesHead =
    "| data | f | tunings | built in: users + items, ms | best together | best apart | apart is "
    "less by "
    "|\n|---|---|---|---|---|---|---|\n";
constexpr const char* kPartsHead =
    "| data | f | solver | iteration, ms | load, ms | compute, ms | solve, ms | solving is "
    "|\n|---|---|---|---|---|---|---|---|\n";
constexpr const char* kAccuracyHead =
    "| data | f | alpha | solver | precision | iteration, ms | 1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | "
    "10 | 10, computed |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

int run(const std::vector<std::string>& words) {
  const std::string verb = words.empty() ? "" : words[0];
  if (verb == "speed" && words.size() == 1) {
    fmt::print("{}", kSpeedHead);
  } else if (verb == "ranks" && words.size() == 1) {
    fmt::print("{}", kRanksHead);
  } else if (verb == "ranks" && words.size() >= 4 && words.size() <= 6) {
    return print_all_ranks(words[1], words[2], words[3], words.size() > 4 ? std::stoi(words[4]) : 7,
                           words.size() > 5 ? std::stoll(words[5]) : 0);
  } else if (verb == "stages" && words.size() == 1) {
    fmt::print("{}", kStagesHead);
  } else if (verb == "stages" && (words.size() == 4 || words.size() == 5)) {
    return print_stages(words[1], words[2], std::stoi(words[3]),
                        words.size() == 5 ? std::stoi(words[4]) : 10);
  } else if (verb == "halves" && words.size() == 1) {
    fmt::print("{}", kHalvesHead);
  } else if (verb == "halves" && words.size() == 4) {
    return print_all_halves(words[1], words[2], words[3]);
  } else if (verb == "parts" && words.size() == 1) {
    fmt::print("{}", kPartsHead);
  } else if (verb == "parts" && words.size() == 4) {
    return print_all_parts(words[1], words[2], words[3]);
  } else if (verb == "accuracy" && words.size() == 1) {
    fmt::print("{}", kAccuracyHead);
  } else if (verb == "speed" && (words.size() == 4 || words.size() == 5)) {
    return print_speeds(words[1], words[2], words[3], words.size() == 5 ? std::stoi(words[4]) : 7);
  } else if (verb == "accuracy" && words.size() >= 4 && words.size() <= 6) {
    return print_accuracies(words[1], words[2], std::stoi(words[3]),
                            words.size() > 4 ? words[4] : words[1],
                            words.size() > 5 ? std::stod(words[5]) : 1.0);
  } else {
    fmt::print(stderr, "bench_als_gpu: its file says what it takes\n");
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace likewise

int main(int argc, char** argv) { return likewise::run_program(argc, argv, likewise::run); }
