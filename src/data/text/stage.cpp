// SPDX-License-Identifier: Apache-2.0
#include "data/text/stage.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>

#include <fmt/format.h>
#include <tbb/parallel_pipeline.h>

#include "core/system/per_thread.h"
#include "data/text/reading_plan.h"
#include "data/text/row_parser.h"
#include "likewise/error.h"

namespace likewise {
namespace {

using BlockPtr = std::unique_ptr<TextBlock>;

/// What is wrong with a line; throws it where that ends the reading. Skipping is advice only where
/// it would leave rows, and was not taken yet.
std::string fault_message(const BlockReport& report, const FileFormat& format, Offset number,
                          bool stop_at_bad) {
  std::string message = fmt::format("{}: {}", format.place(number), report.fault);
  if (!report.fatal && !stop_at_bad) return message;
  if (!report.fatal && !format.first_rows_bad) {
    message += "; correct the row, or skip bad rows with " + mention("on_bad_row", "skip");
  }
  throw Error(ErrorKind::kBadData, message);
}

/// A user of an adjacency file may have any number of items, as long as the memory holds its line
/// and the rows that come of it, which are up to 12 times as large.
ReadTuning tuning_for(const FileFormat& format, ReadTuning tuning) {
  if (!format.adjacency) return tuning;
  const std::uint64_t memory = std::min(tuning.pages(), tuning.addresses()) / 16;
  tuning.max_line_bytes = std::max<std::size_t>(tuning.max_line_bytes, memory);
  return tuning;
}

template <class Row>
class Stager {
 public:
  Stager(ByteSource& source, const FileFormat& format, const ReadOptions& options,
         const ReadTuning& tuning, const RunControl& control)
      : source_(source),
        format_(format),
        stop_at_bad_(options.on_bad_row == BadRows::kFail),
        tuning_(tuning_for(format, tuning)),
        control_(control),
        stream_(source, tuning_,
                [this](std::string_view text) { return whole_rows(text, format_.delimiter); }),
        workers_([this] {
          return Worker{RowParser<Row>(format_, tuning_.max_line_bytes), next_table_++};
        }),
        next_plan_(tuning.plan_bytes) {}

  Staged<Row> run(ReadSummary& summary) {
    (void)read_up_to(source_, format_.data_begin);
    const auto tokens = static_cast<std::size_t>(thread_count()) * 2;
    // A plain pointer travels between the stages; `pool_` owns every block.
    tbb::parallel_pipeline(
        tokens, tbb::make_filter<void, TextBlock*>(tbb::filter_mode::serial_in_order,
                                                   [&](tbb::flow_control& flow) {
                                                     TextBlock* block = next_block();
                                                     if (block == nullptr) flow.stop();
                                                     return block;
                                                   }) &
                    tbb::make_filter<TextBlock*, void>(tbb::filter_mode::parallel,
                                                       [&](TextBlock* block) { parse(block); }));
    conclude(summary);
    return collect();
  }

 private:
  struct Worker {
    RowParser<Row> parser;
    int table;
    Offset id_bytes = 0;
  };

  TextBlock* next_block() {
    control_.check();
    control_.report("read", source_.consumed(), source_.total(), "bytes");
    if (stopped_.load(std::memory_order_relaxed)) return nullptr;
    TextBlock* block = free_block();
    const bool more = stream_.next(*block);
    consumed_.store(source_.consumed(), std::memory_order_relaxed);
    return more ? block : nullptr;
  }

  TextBlock* free_block() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) {
      pool_.push_back(std::make_unique<TextBlock>());
      return pool_.back().get();
    }
    TextBlock* block = free_.back();
    free_.pop_back();
    return block;
  }

  void parse(TextBlock* block) {
    Worker& worker = workers_.local();
    BlockReport report = worker.parser.parse(block->text(), stop_at_bad_);
    report.number = block->number;
    const auto& rows = worker.parser.rows();
    StagedBlock<Row> staged{block->number, worker.table,
                            PageBuffer<Row>(static_cast<Offset>(rows.size()), true)};
    std::copy(rows.begin(), rows.end(), staged.rows.begin());
    if (report.fatal || (stop_at_bad_ && report.bad_rows > 0)) stopped_ = true;
    const Offset id_bytes = worker.parser.id_bytes();

    const std::scoped_lock lock(mutex_);
    rows_ += staged.rows.size();
    id_bytes_ += id_bytes - std::exchange(worker.id_bytes, id_bytes);
    check_memory();
    reports_.push_back(std::move(report));
    blocks_.push_back(std::move(staged));
    free_.push_back(block);
  }

  void check_memory() {
    constexpr Offset kRowBytes = sizeof(Row);
    if (rows_ * kRowBytes + id_bytes_ < next_plan_) return;
    next_plan_ = rows_ * kRowBytes + id_bytes_ + tuning_.plan_bytes;
    constexpr Offset kResultBytes =
        sizeof(Index) + sizeof(float) + (Row::kTimed ? sizeof(Time) : 0);
    check_reading_plan({rows_, kRowBytes, kResultBytes, id_bytes_, consumed_, source_.total()},
                       format_.file, tuning_.pages(), tuning_.addresses());
  }

  /// Blocks enter in order, so all those before a faulty one were parsed to their end, and the
  /// first fault of the file is known whatever the threads did.
  void conclude(ReadSummary& summary) {
    std::sort(reports_.begin(), reports_.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    Offset lines = format_.lines_before;
    for (const BlockReport& report : reports_) {
      const Offset number =
          format_.counts_rows ? summary.rows + report.bad_row : lines + report.bad_line;
      summary.rows += report.rows;
      summary.bad_rows += report.bad_rows;
      if (!report.fault.empty()) handle_fault(report, number, summary);
      lines += report.lines;
    }
    if (stream_.too_long()) {
      throw Error(
          ErrorKind::kBadData,
          fmt::format("{}: {}", format_.place(format_.counts_rows ? summary.rows + 1 : lines + 1),
                      long_line_text(format_, tuning_.max_line_bytes)));
    }
  }

  void handle_fault(const BlockReport& report, Offset number, ReadSummary& summary) const {
    std::string message = fault_message(report, format_, number, stop_at_bad_);
    if (summary.first_bad_row.empty()) summary.first_bad_row = std::move(message);
  }

  Staged<Row> collect() {
    Staged<Row> staged;
    const auto tables = static_cast<std::size_t>(next_table_.load());
    staged.users.tables.resize(tables);
    staged.items.tables.resize(tables);
    for (Worker& worker : workers_) {
      staged.time_forms |= worker.parser.time_forms();
      const auto table = static_cast<std::size_t>(worker.table);
      staged.users.tables[table] = std::move(worker.parser.users());
      staged.items.tables[table] = std::move(worker.parser.items());
    }
    std::sort(blocks_.begin(), blocks_.end(),
              [](const auto& a, const auto& b) { return a.number < b.number; });
    for (const auto& block : blocks_) staged.rows += block.rows.size();
    staged.blocks = std::move(blocks_);
    return staged;
  }

  ByteSource& source_;
  const FileFormat& format_;
  bool stop_at_bad_;
  ReadTuning tuning_;
  const RunControl& control_;
  BlockStream stream_;
  std::atomic<int> next_table_{0};
  PerThread<Worker> workers_;
  std::atomic<bool> stopped_{false};
  std::atomic<Offset> consumed_{0};  ///< of the source, which another thread may be reading
  std::mutex mutex_;                 ///< guards all below
  Offset rows_ = 0;
  Offset id_bytes_ = 0;
  Offset next_plan_;  ///< at so many bytes of rows and ids
  std::vector<BlockPtr> pool_;
  std::vector<TextBlock*> free_;
  std::vector<BlockReport> reports_;
  std::vector<StagedBlock<Row>> blocks_;
};

}  // namespace

template <class Row>
Staged<Row> stage_rows(ByteSource& source, const FileFormat& format, const ReadOptions& options,
                       const ReadTuning& tuning, ReadSummary& summary, const RunControl& control) {
  return Stager<Row>(source, format, options, tuning, control).run(summary);
}

template <class Row>
void add_first_line(Staged<Row>& staged, const FileFormat& format, const ReadOptions& options,
                    const ReadTuning& tuning, ReadSummary& summary) {
  const bool stop_at_bad = options.on_bad_row == BadRows::kFail;
  RowParser<Row> parser(format, tuning.max_line_bytes);
  const BlockReport report = parser.parse(format.counts->text, stop_at_bad);
  ++summary.rows;
  summary.bad_rows += report.bad_rows;
  if (!report.fault.empty()) {
    summary.first_bad_row = fault_message(report, format, format.lines_before, stop_at_bad);
  }
  const auto table = static_cast<int>(staged.users.tables.size());
  StagedBlock<Row> block{-1, table,
                         PageBuffer<Row>(static_cast<Offset>(parser.rows().size()), true)};
  std::copy(parser.rows().begin(), parser.rows().end(), block.rows.begin());
  staged.rows += block.rows.size();
  staged.time_forms |= parser.time_forms();
  staged.users.tables.push_back(std::move(parser.users()));
  staged.items.tables.push_back(std::move(parser.items()));
  staged.blocks.insert(staged.blocks.begin(), std::move(block));
}

template void add_first_line(Staged<PlainRow>&, const FileFormat&, const ReadOptions&,
                             const ReadTuning&, ReadSummary&);
template void add_first_line(Staged<TimedRow>&, const FileFormat&, const ReadOptions&,
                             const ReadTuning&, ReadSummary&);

template Staged<PlainRow> stage_rows(ByteSource&, const FileFormat&, const ReadOptions&,
                                     const ReadTuning&, ReadSummary&, const RunControl&);
template Staged<TimedRow> stage_rows(ByteSource&, const FileFormat&, const ReadOptions&,
                                     const ReadTuning&, ReadSummary&, const RunControl&);

}  // namespace likewise
