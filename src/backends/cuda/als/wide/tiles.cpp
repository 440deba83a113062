// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/wide/tiles.h"

#include <algorithm>

namespace likewise::cuda {
namespace {

/// Neighbouring tile columns.
struct Span {
  int first;
  int count;
};

constexpr int kMostSpan = 4;

/// The tile columns in spans of four; the last may have fewer.
[[nodiscard]] std::vector<Span> cut_side(int side) {
  std::vector<Span> spans;
  for (int first = 0; first < side; first += kMostSpan) {
    spans.push_back({first, std::min(kMostSpan, side - first)});
  }
  return spans;
}

void add_columns(TileJob& job, const Span& span) {
  for (int i = 0; i < span.count; ++i) {
    job.column[job.columns++] = static_cast<std::uint8_t>(span.first + i);
  }
}

void add_tile(TileJob& job, int row, int column, bool diagonal) {
  job.tile[job.tiles++] = {static_cast<std::uint8_t>(row), static_cast<std::uint8_t>(column),
                           static_cast<std::uint8_t>(diagonal)};
}

/// The triangle of a span. Warps with two diagonal tiles have more to do than others: they come
/// first, each on a scheduler of its own.
[[nodiscard]] TileJob diagonal_job(const Span& span) {
  TileJob job;
  add_columns(job, span);
  for (int i = 0; i < span.count; i += 2) {
    add_tile(job, i, std::min(i + 1, span.count - 1), true);
  }
  for (int row = 1; row < span.count; ++row) {
    for (int column = 0; column < row; ++column) add_tile(job, row, column, false);
  }
  return job;
}

void add_rectangle(std::vector<TileJob>& jobs, const Span& rows, const Span& columns) {
  if (rows.count * columns.count > kMostJobTiles || rows.count + columns.count > kMostJobColumns) {
    const bool cut_rows = rows.count >= columns.count;
    const Span& longer = cut_rows ? rows : columns;
    const Span one{longer.first, longer.count / 2};
    const Span two{longer.first + one.count, longer.count - one.count};
    add_rectangle(jobs, cut_rows ? one : rows, cut_rows ? columns : one);
    add_rectangle(jobs, cut_rows ? two : rows, cut_rows ? columns : two);
    return;
  }
  TileJob job;
  add_columns(job, columns);
  add_columns(job, rows);
  for (int row = 0; row < rows.count; ++row) {
    for (int column = 0; column < columns.count; ++column) {
      add_tile(job, columns.count + row, column, false);
    }
  }
  jobs.push_back(job);
}

}  // namespace

std::vector<TileJob> tile_jobs(int padded) {
  const std::vector<Span> spans = cut_side(tile_columns(padded));
  std::vector<TileJob> jobs;
  for (std::size_t row = 0; row < spans.size(); ++row) {
    jobs.push_back(diagonal_job(spans[row]));
    for (std::size_t column = 0; column < row; ++column) {
      add_rectangle(jobs, spans[row], spans[column]);
    }
  }
  return jobs;
}

}  // namespace likewise::cuda
