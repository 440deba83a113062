// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/gpu_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/system/memory.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr Offset kFloat = sizeof(float);
constexpr Offset kEntry = sizeof(Index) + sizeof(float);

constexpr Offset kOffset = sizeof(Offset);

// Larger buffers win nothing.
constexpr Offset kMostBlockBytes = Offset{2} << 30;
constexpr Offset kMostPieceBytes = Offset{4} << 30;
constexpr Offset kMostPortion = Offset{1} << 26;      ///< streamed interactions
constexpr Offset kMostTransposed = Offset{1} << 28;   ///< interactions sorted at a time
constexpr Offset kLeastTransposed = Offset{1} << 16;  ///< fewer would take too many rounds

/// Keys and values twice, and what the sort itself needs.
constexpr Offset kSortedEntry = 2 * (kEntry + Offset{sizeof(Index)}) + 2;

constexpr Offset kPinnedBytes = Offset{128} << 20;  ///< of the machine, for copies
constexpr int kMostSteps = 40;

[[nodiscard]] Offset rounded_up(Offset n, Offset unit) { return (n + unit - 1) / unit * unit; }

/// What may be smaller, to a degree.
struct Buffers {
  Index block_rows = 0;
  Offset portion = 0;     ///< interactions of a launch
  Offset slots = 0;       ///< for the sums of pieces
  Offset transposed = 0;  ///< interactions sorted at a time
};

class Planner {
 public:
  Planner(const GpuAlsNeeds& needs, Placement placement)
      : needs_(needs),
        placement_(placement),
        nnz_(needs.shape.interactions),
        all_rows_(Offset{needs.shape.users} + needs.shape.items),
        most_rows_(std::max(needs.shape.users, needs.shape.items)),
        line_(needs.columns * kFloat) {}

  /// The buffers at their largest, halved `step` times.
  [[nodiscard]] Buffers buffers(int step) const {
    Buffers sizes;
    const Offset rows = std::clamp<Offset>((kMostBlockBytes / line_) >> step, kLeastBlockRows,
                                           rounded_up(most_rows_, kLeastBlockRows));
    sizes.block_rows = static_cast<Index>(rows / kLeastBlockRows * kLeastBlockRows);
    const Offset most = is_resident() ? nnz_ : std::min(kMostPortion, nnz_) >> step;
    sizes.portion = std::max<Offset>({most, 2 * Offset{needs_.piece}, needs_.longest_row});
    if (needs_.slots > 0) {
      sizes.slots = needs_.slots;
    } else {
      // A row that is cut has pieces of more than half of the most: so many fit the slots.
      const Offset slots = std::max<Offset>(8, (kMostPieceBytes / needs_.piece_bytes) >> step);
      sizes.portion = std::min(sizes.portion, slots * needs_.piece / 2);
      sizes.slots = 2 * std::min(sizes.portion, nnz_) / needs_.piece + 2;
    }
    if (is_resident()) {
      sizes.transposed =
          std::clamp(nnz_ >> step, std::min(kLeastTransposed, nnz_), kMostTransposed);
    }
    return sizes;
  }

  [[nodiscard]] GpuAlsPlan plan(const Buffers& sizes) const {
    GpuAlsPlan plan{placement_, sizes.block_rows, sizes.portion, sizes.transposed, {}};
    MemoryPlan& memory = plan.memory;
    add(memory, "interactions, by user and by item",
        2 * kEntry * (is_resident() ? nnz_ : sizes.portion));
    add(memory, "rows and their tasks", row_bytes());
    add(memory, "factors",
        line_ *
            (placement_ == Placement::kStreamedTables ? 2 * Offset{sizes.block_rows} : all_rows_));
    if (needs_.change_bytes > 0 && placement_ != Placement::kStreamedTables) {
      add(memory, "changes of the rows", all_rows_ * needs_.change_bytes);
    }
    add(memory, "fixed side, stored",
        std::max<Offset>(most_rows_, needs_.fixed_rows) *
            (Offset{needs_.columns} * needs_.stored_bytes +
             (is_part() && needs_.has_biases ? kFloat : 0)));
    add(memory, "rows being solved", sizes.block_rows * line_);
    add(memory, "sums of long rows", sizes.slots * needs_.piece_bytes);
    add(memory, "small matrices", needs_.workspace);
    if (is_resident()) add_transpose(memory, sizes.transposed);
    memory.machine = kPinnedBytes + all_rows_ * needs_.change_bytes;
    if (!is_resident()) memory.machine += kEntry * nnz_ + kOffset * needs_.shape.items;
    return plan;
  }

 private:
  static void add(MemoryPlan& plan, const char* name, Offset bytes) {
    plan.parts.push_back({name, bytes});
    plan.total += bytes;
  }

  [[nodiscard]] bool is_resident() const { return placement_ == Placement::kResident; }
  [[nodiscard]] bool is_part() const { return needs_.fixed_rows > 0; }

  /// Offset, lambda, share or largest value, bias and task of a row; the objectives of one side.
  [[nodiscard]] Offset row_bytes() const {
    const Offset each = kOffset + (needs_.has_biases ? 3 : 2) * kFloat;
    const Offset tasks = all_rows_ + 6 * nnz_ / needs_.piece + 2;
    return each * all_rows_ + needs_.task_bytes * tasks + Offset{sizeof(double)} * most_rows_;
  }

  /// While the matrix is loaded there are no tables yet: the sort takes their place.
  void add_transpose(MemoryPlan& plan, Offset at_once) const {
    const Offset offsets = kOffset * (all_rows_ + 3 * Offset{needs_.shape.items});
    // A part goes out and comes in besides.
    const Offset copies = is_part() ? 4 : 2;
    const Offset loading =
        copies * kEntry * nnz_ + offsets + kSortedEntry * at_once + (Offset{1} << 20);
    if (loading > plan.total) add(plan, "while transposing, besides", loading - plan.total);
  }

  const GpuAlsNeeds& needs_;
  Placement placement_;
  Offset nnz_;
  Offset all_rows_;
  Offset most_rows_;
  Offset line_;  ///< bytes of a table's row
};

[[nodiscard]] const char* placement_text(Placement placement) {
  switch (placement) {
    case Placement::kResident:
      return "everything on the GPU";
    case Placement::kStreamedMatrix:
      return "interactions streamed from the machine's memory";
    default:
      return "interactions and factors streamed from the machine's memory";
  }
}

}  // namespace

GpuAlsPlan plan_gpu_als(const GpuAlsNeeds& needs, Offset available) {
  GpuAlsPlan plan;
  for (const Placement placement :
       {Placement::kResident, Placement::kStreamedMatrix, Placement::kStreamedTables}) {
    const Planner planner(needs, placement);
    for (int step = 0; step < kMostSteps; ++step) {  // what is at its least stays there
      plan = planner.plan(planner.buffers(step));
      plan.memory.placement = placement_text(placement);
      plan.memory.available = available;
      if (plan.memory.total <= available) return plan;
    }
  }
  throw Error(ErrorKind::kOutOfMemory,
              fmt::format("the GPU has too little memory for this training, even with {}:\n{}\n"
                          "use fewer factors, a precision of 16 bits, or the cpu",
                          plan.memory.placement, describe(plan.memory)));
}

}  // namespace likewise
