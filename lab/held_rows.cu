// SPDX-License-Identifier: Apache-2.0
/// Rows held in registers (held_rows.cuh): whether they are right, and what they cost compared to
/// the rows that the program solves without a matrix today. See README.md.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "backends/cuda/als/rows/held_rows.cuh"
#include "backends/cuda/als/rows/matrix_free.cuh"

namespace likewise::cuda {

void throw_cuda_error(cudaError_t status, const char* call, const char*, int line, const char*) {
  std::printf("line %d: %s: %s\n", line, call, cudaGetErrorString(status));
  std::exit(1);
}

namespace {

enum class Kind { kLikes, kDislikes, kUnobserved, kRatings };
constexpr const char* kKindNames[] = {"likes", "dislikes", "unobserved", "ratings"};

template <class T>
struct OnGpu {
  T* data = nullptr;
  std::size_t size;
  explicit OnGpu(const std::vector<T>& from) : size(from.size()) {
    LIKEWISE_CUDA_CHECK(cudaMalloc(&data, size * sizeof(T)));
    put(from);
  }
  OnGpu(const OnGpu&) = delete;
  OnGpu& operator=(const OnGpu&) = delete;
  ~OnGpu() { cudaFree(data); }
  void put(const std::vector<T>& from) {
    LIKEWISE_CUDA_CHECK(cudaMemcpy(data, from.data(), size * sizeof(T), cudaMemcpyHostToDevice));
  }
  [[nodiscard]] std::vector<T> get() const {
    std::vector<T> to(size);
    LIKEWISE_CUDA_CHECK(cudaMemcpy(to.data(), data, size * sizeof(T), cudaMemcpyDeviceToHost));
    return to;
  }
};

/// Rows of lengths in [shortest, longest] over a table of `items` rows; deterministic.
struct Rows {
  int columns, items, rows;
  Kind kind;
  float scale, row_bound;
  std::vector<__half> table;
  std::vector<float> base, shrink, lambda, largest, bias, start;
  std::vector<RowEntry> entries;
  std::vector<Offset> offsets;
  std::vector<RowTask> tasks;  ///< the longest first

  Rows(int f, int item_count, int row_count, int shortest, int longest, Kind what, unsigned seed)
      : columns(f), items(item_count), rows(row_count), kind(what) {
    std::mt19937 draw(seed);
    std::normal_distribution<float> normal;
    std::uniform_real_distribution<float> uniform;
    const bool ratings = kind == Kind::kRatings;
    // As in a basis of the half-step: the mean of z z^T is diag(base), and rows are bounded.
    for (int c = 0; c < f; ++c) {
      const float size = std::exp(-2.0F * uniform(draw));
      base.push_back(ratings ? size : 1.0F - 0.3F * size);
      shrink.push_back(ratings ? 1.0F : 0.3F * size);
    }
    scale = ratings ? 64.0F : 4096.0F;
    row_bound = 0.0F;
    for (int i = 0; i < items; ++i) {
      double norm = 0.0;
      for (int c = 0; c < f; ++c) {
        const float z = normal(draw) * std::sqrt(ratings ? base[c] : 1.0F / items * 8.0F);
        const __half stored = __float2half_rn(z * scale);
        table.push_back(stored);
        norm += double{__half2float(stored)} * __half2float(stored);
      }
      row_bound = std::max(row_bound, static_cast<float>(std::sqrt(norm)) * 1.001F);
      bias.push_back(0.2F * normal(draw));
    }
    offsets.push_back(0);
    std::vector<int> columns_of(static_cast<std::size_t>(items));
    for (int i = 0; i < items; ++i) columns_of[static_cast<std::size_t>(i)] = i;
    for (int r = 0; r < rows; ++r) {
      const int count = shortest + static_cast<int>(draw() % (longest - shortest + 1));
      float most = 0.0F;
      for (int i = 0; i < count; ++i) {
        std::swap(columns_of[i], columns_of[i + draw() % (items - i)]);
        float value = std::floor(1.0F + 5.0F * uniform(draw));
        if (kind == Kind::kUnobserved) value = 0.9F;
        if (kind == Kind::kDislikes && draw() % 4 == 0) value = -value;
        most = std::max(most, std::fabs(value));
        entries.push_back({columns_of[i], value});
      }
      largest.push_back(std::exp2(std::ceil(std::log2(most))));
      lambda.push_back(ratings ? 0.05F * static_cast<float>(count) : 0.2F + 2.0F * uniform(draw));
      offsets.push_back(static_cast<Offset>(entries.size()));
      for (int c = 0; c < f; ++c) start.push_back(0.05F * normal(draw));
      RowTask task;
      task.row = r;
      task.count = count;
      task.begin = offsets[offsets.size() - 2];
      tasks.push_back(task);
    }
    std::stable_sort(tasks.begin(), tasks.end(),
                     [](const RowTask& a, const RowTask& b) { return a.count > b.count; });
  }

  [[nodiscard]] float slope() const { return kind == Kind::kUnobserved ? 0.0F : 1.0F; }
  [[nodiscard]] float z(int item, int c) const {
    return __half2float(table[static_cast<std::size_t>(item) * columns + c]) / scale;
  }
};

constexpr float kMean = 3.0F;
constexpr float kTargetScale = 8.0F;

/// The rows on the GPU.
struct Lab {
  const Rows& rows;
  OnGpu<__half> table;
  OnGpu<float> base, shrink, lambda, largest, bias, solutions;
  OnGpu<RowEntry> entries;
  OnGpu<Offset> offsets;
  OnGpu<RowTask> tasks;
  OnGpu<double> objectives;
  OnGpu<int> failed;
  RowProblem problem;

  explicit Lab(const Rows& from)
      : rows(from),
        table(from.table),
        base(from.base),
        shrink(from.shrink),
        lambda(from.lambda),
        largest(from.largest),
        bias(from.bias),
        solutions(from.start),
        entries(from.entries),
        offsets(from.offsets),
        tasks(from.tasks),
        objectives(std::vector<double>(static_cast<std::size_t>(from.rows))),
        failed(std::vector<int>{0x7f7f7f7f}) {
    problem.table = table.data;
    problem.scale = rows.scale;
    problem.row_bound = rows.row_bound;
    problem.padded = rows.columns;
    problem.base = base.data;
    problem.shrink = shrink.data;
    problem.entries = entries.data;
    problem.regularization = lambda.data;
    problem.largest = largest.data;
    problem.offsets = offsets.data;
    problem.weights = {rows.kind == Kind::kRatings, rows.slope(), kMean, bias.data, kTargetScale};
    if (rows.kind != Kind::kRatings) problem.weights.bias = nullptr;
    problem.solutions = solutions.data;
    problem.objectives = objectives.data;
    problem.failed_row = failed.data;
  }
};

struct Reference {
  double constant = 0.0, least = 0.0, above = 0.0, distance = 0.0;
};

/// A row's least objective by float64, and how far above it x is.
Reference solve_exactly(const Rows& rows, int row, const float* x) {
  const int f = rows.columns;
  const bool ratings = rows.kind == Kind::kRatings;
  std::vector<double> a(static_cast<std::size_t>(f) * f), b(f), l;
  Reference out;
  for (int c = 0; c < f; ++c) {
    a[c * f + c] = (ratings ? 0.0 : rows.base[c]) + double{rows.lambda[row]} * rows.shrink[c];
  }
  for (Offset i = rows.offsets[row]; i < rows.offsets[row + 1]; ++i) {
    const RowEntry& one = rows.entries[static_cast<std::size_t>(i)];
    const double w = ratings ? 1.0 : std::fabs(one.value);
    const double v = ratings         ? double{one.value} - kMean - rows.bias[one.column]
                     : one.value > 0 ? double{rows.slope()} * w + 1.0
                                     : 0.0;
    out.constant += ratings ? v * v : v;
    for (int c = 0; c < f; ++c) {
      const double z = rows.z(one.column, c);
      b[c] += v * z;
      for (int d = 0; d <= c; ++d) a[c * f + d] += w * z * rows.z(one.column, d);
    }
  }
  l = a;
  for (int c = 0; c < f; ++c) {
    for (int d = 0; d <= c; ++d) {
      double sum = l[c * f + d];
      for (int k = 0; k < d; ++k) sum -= l[c * f + k] * l[d * f + k];
      l[c * f + d] = c == d ? std::sqrt(sum) : sum / l[d * f + d];
    }
  }
  std::vector<double> best = b;
  for (int c = 0; c < f; ++c) {
    for (int k = 0; k < c; ++k) best[c] -= l[c * f + k] * best[k];
    best[c] /= l[c * f + c];
  }
  for (int c = f - 1; c >= 0; --c) {
    for (int k = c + 1; k < f; ++k) best[c] -= l[k * f + c] * best[k];
    best[c] /= l[c * f + c];
  }
  out.least = out.constant;
  double norm = 0.0;
  for (int c = 0; c < f; ++c) {
    out.least -= b[c] * best[c];
    norm += best[c] * best[c];
    out.distance += (x[c] - best[c]) * (x[c] - best[c]);
    for (int d = 0; d < f; ++d) {
      const double entry = d <= c ? a[c * f + d] : a[d * f + c];
      out.above += (x[c] - best[c]) * entry * (x[d] - best[d]);
    }
  }
  out.distance = std::sqrt(out.distance / norm);
  return out;
}

template <class Shape>
void launch(const RowProblem& problem, const RowTask* tasks, int count) {
  constexpr int kBytes = Shape::bytes(Shape::kBuffers);
  LIKEWISE_CUDA_CHECK(cudaFuncSetAttribute(held_kernel<Shape>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  const int blocks = std::min(132, (count + Shape::kSlots - 1) / Shape::kSlots);
  held_kernel<Shape><<<blocks, Shape::kThreads, kBytes>>>(problem, tasks, count);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

/// What the program does today with rows that it solves without a matrix: two warps.
template <int kStrips>
void launch_present(const RowProblem& problem, const RowTask* tasks, int count, int capacity) {
  const int bytes = RowProducts<kStrips, 2>::shared_bytes(capacity);
  LIKEWISE_CUDA_CHECK(cudaFuncSetAttribute(product_kernel<kStrips, 2>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  product_kernel<kStrips, 2><<<count, 64, bytes>>>(problem, tasks, capacity);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

bool all_right = true;

/// Objective and distance of every row from the least, however the steps end.
template <class Shape>
void check(Kind kind, int shortest) {
  const Rows rows(Shape::kColumns, 700, 300, shortest, Shape::kInteractions, kind, 5);
  struct Way {
    const char* name;
    RowLimits limits;
    bool warm;
    double most_above;  ///< of the constant
  };
  const Way ways[] = {{"to 5e-6, cold", {100, 5e-6F, 0.0F, false}, false, 2e-5},
                      {"to 5e-6, warm", {100, 5e-6F, 0.0F, false}, true, 2e-5},
                      {"100 steps", {100, 0.0F, 0.0F, false}, false, 2e-6},
                      {"plain, warm", {100, 0.0F, 1e-3F, true}, true, 1e-5},
                      {"2 steps", {2, 0.0F, 0.0F, false}, false, 1.0}};
  for (const Way& way : ways) {
    Lab lab(rows);
    lab.problem.limits = way.limits;
    lab.problem.warm = way.warm;
    launch<Shape>(lab.problem, lab.tasks.data, rows.rows);
    LIKEWISE_CUDA_CHECK(cudaDeviceSynchronize());
    const std::vector<float> x = lab.solutions.get();
    const std::vector<double> told = lab.objectives.get();
    double above = 0.0;
    double distance = 0.0;
    double wrong = 0.0;
    for (int r = 0; r < rows.rows; r += 7) {
      const Reference one = solve_exactly(rows, r, x.data() + std::size_t(r) * rows.columns);
      above = std::max(above, one.above / one.constant);
      distance = std::max(distance, one.distance);
      wrong = std::max(wrong, std::fabs(told[r] - one.least - one.above) / one.constant);
    }
    // The same again, bit-identical.
    Lab again(rows);
    again.problem.limits = way.limits;
    again.problem.warm = way.warm;
    launch<Shape>(again.problem, again.tasks.data, rows.rows);
    const bool same = std::memcmp(again.solutions.get().data(), x.data(), 4 * x.size()) == 0;
    const bool right =
        above <= way.most_above && wrong <= 5e-4 && same && lab.failed.get()[0] == 0x7f7f7f7f;
    all_right = all_right && right;
    std::printf(
        "%s %d strips, %d warps x %d tiles, %s, %s: above %.1e, |dx|/|x| %.1e, objective "
        "told off by %.1e, %s\n",
        right ? "ok   " : "WRONG", Shape::kStrips, Shape::kWarps, Shape::kTiles,
        kKindNames[static_cast<int>(kind)], way.name, above, distance, wrong,
        same ? "same bits" : "OTHER BITS");
  }
}

template <class Launch>
float milliseconds(const Launch& run) {
  cudaEvent_t begin;
  cudaEvent_t end;
  cudaEventCreate(&begin);
  cudaEventCreate(&end);
  std::vector<float> times;
  for (int i = 0; i < 6; ++i) {
    cudaEventRecord(begin);
    run();
    cudaEventRecord(end);
    LIKEWISE_CUDA_CHECK(cudaDeviceSynchronize());
    float time = 0.0F;
    cudaEventElapsedTime(&time, begin, end);
    if (i > 0) times.push_back(time);
  }
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Of rows of this class compared to today's kernel, from cold starts: warm ones need the last
/// iteration's factors.
template <class Shape>
void time(int shortest) {
  const Rows rows(Shape::kColumns, 17770, 40000, shortest, Shape::kInteractions, Kind::kLikes, 6);
  Lab lab(rows);
  lab.problem.limits = {100, 5e-6F, 0.0F, false};
  const float held = milliseconds([&] { launch<Shape>(lab.problem, lab.tasks.data, rows.rows); });
  float present = 0.0F;
  if constexpr (Shape::kInteractions <= 192) {
    present = milliseconds([&] {
      launch_present<Shape::kStrips>(lab.problem, lab.tasks.data, rows.rows, Shape::kInteractions);
    });
  }
  const double tiles = static_cast<double>(rows.entries.size()) / 16.0;
  std::printf(
      "f = %d, %d - %d interactions: %.3f ms, today's %.3f; cycles of 16 interactions at "
      "1.75 GHz: %.0f, %.0f\n",
      rows.columns, shortest, Shape::kInteractions, held, present,
      held * 1e-3 * 1.75e9 * 132 / tiles, present * 1e-3 * 1.75e9 * 132 / tiles);
}

template <class Shape>
void visit(bool timing, int shortest) {
  if (timing) return time<Shape>(shortest);
  for (const Kind kind : {Kind::kLikes, Kind::kDislikes, Kind::kUnobserved, Kind::kRatings}) {
    check<Shape>(kind, shortest);
  }
}

template <int kStrips>
void visit_all(bool timing) {
  visit<HeldShape<kStrips, 1, 3>>(timing, 33);
  visit<HeldShape<kStrips, 1, 4>>(timing, 49);
  visit<HeldShape<kStrips, 2, 3>>(timing, 65);
  visit<HeldShape<kStrips, 2, 4>>(timing, 97);
  visit<HeldShape<kStrips, (kStrips > 6 ? 4 : 2), (kStrips > 6 ? 3 : 6)>>(timing, 129);
  visit<HeldShape<kStrips, 4, 4>>(timing, 193);
}

}  // namespace
}  // namespace likewise::cuda

int main(int argc, char** argv) {
  const bool timing = argc > 1 && std::string(argv[1]) == "time";
  likewise::cuda::visit_all<8>(timing);
  likewise::cuda::visit_all<7>(timing);
  likewise::cuda::visit_all<6>(timing);
  likewise::cuda::visit_all<5>(timing);
  if (!timing) std::printf(likewise::cuda::all_right ? "all right\n" : "WRONG\n");
  return likewise::cuda::all_right ? 0 : 1;
}
