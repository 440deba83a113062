// SPDX-License-Identifier: Apache-2.0
#include "output/progress.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>

#include "output/interrupt.h"
#include "output/messages.h"

namespace likewise::cli {
namespace {

using namespace std::chrono_literals;

constexpr int kBarWidth = 14;
constexpr auto kRedraw = 100ms;    // a live bar
constexpr auto kPlainPause = 10s;  // lines in a log

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

Progress::Progress(bool quiet, bool verbose)
    : quiet_(quiet),
      verbose_(verbose),
      live_(!quiet && is_terminal(stderr)),
      style_(stderr),
      stage_start_(Clock::now()),
      last_line_(Clock::now()) {}

Progress::~Progress() { clear(); }

void Progress::stage(std::string name) {
  finish();
  stages_.push_back({std::move(name), -1.0});
  stage_start_ = last_line_ = Clock::now();
}

void Progress::say_times() {
  std::string times;
  for (const StageTime& stage : stages_) {
    times += fmt::format("{}{} {}", times.empty() ? "" : ", ", stage.name, duration(stage.seconds));
  }
  say("time: " + times);
}

const std::vector<StageTime>& Progress::finish() {
  clear();
  if (!stages_.empty() && stages_.back().seconds < 0) {
    stages_.back().seconds = seconds_since(stage_start_);
  }
  return stages_;
}

void Progress::say(std::string_view line) {
  if (!quiet_) warn(line);
}

void Progress::detail(std::string_view lines) {
  if (verbose_) say(lines);
}

void Progress::warn(std::string_view line) {
  clear();
  print_message(fmt::format("{}\n", printable_message(line)));
}

RunControl Progress::control() {
  RunControl control = stop_control();
  control.on_progress = [this](const ProgressUpdate& update) { show(update); };
  return control;
}

RunControl Progress::stop_control() { return {&interrupted(), {}}; }

void Progress::show(const ProgressUpdate& update) {
  if (update.unit.empty()) return detail(update.stage);
  if (quiet_ || Clock::now() - last_line_ < (live_ ? Clock::duration(kRedraw) : kPlainPause)) {
    return;
  }
  last_line_ = Clock::now();
  const std::string amount = update.total > 0 ? fmt::format("{} of {}", with_commas(update.done),
                                                            with_commas(update.total))
                                              : with_commas(update.done);
  const std::string line = fmt::format("{} {}", amount, update.unit);
  if (live_) {
    draw(bar(update.stage, update.done, update.total) + " " + line);
  } else {
    say(fmt::format("{}: {}", update.stage, line));
  }
}

void Progress::show(const TrainingState& state, Offset rows) {
  const Iteration& it = state.iterations.back();
  const int total = state.most_iterations;
  train_seconds_ += it.seconds;
  ++train_iterations_;
  const double left = train_seconds_ / train_iterations_ * (total - it.iteration);
  // What people wait for comes first: a narrow terminal cuts the end off.
  std::string line = fmt::format("objective {:.6g}", it.objective);
  if (it.validation) line += fmt::format("  {} {:.4f}", state.metric, *it.validation);
  if (it.iteration < total) line += fmt::format("  {} left", duration(left));
  line += fmt::format("  {}/iteration  {} rows/s", duration(it.seconds),
                      short_number(static_cast<double>(rows) / std::max(it.seconds, 1e-9)));
  if (live_) return draw(bar("train", it.iteration, total) + " " + line);
  const bool milestone = it.iteration == 1 || it.iteration == total ||
                         it.iteration % std::max(1, (total + 4) / 5) == 0;
  if (!milestone && Clock::now() - last_line_ < kPlainPause) return;
  last_line_ = Clock::now();
  say(fmt::format("iteration {}/{}  {}", it.iteration, total, line));
}

std::string Progress::bar(std::string_view label, Offset done, Offset total) const {
  if (total <= 0) return fmt::format("{}:", label);
  const auto filled =
      static_cast<std::size_t>(std::clamp<Offset>(done * kBarWidth / total, 0, kBarWidth));
  const std::string full(filled, '=');
  const std::string rest(kBarWidth - filled, '-');
  return fmt::format("{} [{}{}] {}/{}", label, full, rest, done, total);
}

void Progress::draw(const std::string& line) {
  if (quiet_) return;
  print_message("\r\033[K" + line.substr(0, static_cast<std::size_t>(terminal_width()) - 1));
  drawn_ = true;
}

void Progress::clear() {
  if (!drawn_) return;
  print_message("\r\033[K");
  drawn_ = false;
}

}  // namespace likewise::cli
