// SPDX-License-Identifier: Apache-2.0
#include "report/tuning_report.h"

#include <array>
#include <map>

#include <fmt/format.h>

#include "likewise/write.h"
#include "output/rows.h"
#include "output/text.h"
#include "report/svg.h"

namespace likewise::cli {
namespace {

[[nodiscard]] std::string feedback_of(const AlsParams& params) {
  return std::string(kFeedbackNames[static_cast<std::size_t>(params.feedback)]);
}

[[nodiscard]] std::string precision_of(const AlsParams& params) {
  return std::string(kPrecisionNames[static_cast<std::size_t>(params.precision)]);
}

[[nodiscard]] std::string solver_of(const AlsParams& params) {
  return params.solver == AlsSolverKind::kCholesky ? "cholesky" : "auto";
}

/// "implicit, precision fp16, solver auto": what shares a pair of charts.
[[nodiscard]] std::string kind_of(const AlsParams& params) {
  return fmt::format("{}, precision {}, solver {}", feedback_of(params), precision_of(params),
                     solver_of(params));
}

[[nodiscard]] std::string milliseconds(double seconds) {
  return fmt::format("{:.2f}", 1e3 * seconds);
}

constexpr const char* kChartStyle = R"(<style>
:root { color-scheme: light dark; --page: #ffffff; --ink: #1d2129; --soft: #5d6470; --grid: #e4e5e1;
  --series-1: #a9adb5; --series-2: #c8641b; --series-3: #2c6fbb; }
@media (prefers-color-scheme: dark) { :root { --page: #14171c; --ink: #e8eaee; --soft: #9aa3b0;
  --grid: #323843; --series-1: #5f6672; --series-2: #f0a15f; --series-3: #6ca9ee; } }
text { font-family: system-ui, sans-serif; fill: var(--ink); }
.t { font-size: 11.5px; fill: var(--soft); } .g { stroke: var(--grid); }
.l { fill: none; stroke-width: 2; stroke-linejoin: round; }
.s1 { stroke: var(--series-1); } .s2 { stroke: var(--series-2); } .s3 { stroke: var(--series-3); }
.d { fill: var(--page); stroke-width: 1.4; }
</style>
)";

/// Two charts of works of one kind, side by side.
[[nodiscard]] std::array<std::string, 2> charts_of(const TuningReport& report,
                                                   const std::vector<const TunedWork*>& works) {
  LineChart time{
      "factors", "ms an iteration", {{"variants", {}, true}, {"built in", {}}, {"best", {}}}};
  LineChart rate = time;
  rate.y_label = "Gflop/s";
  for (const TunedWork* work : works) {
    const double f = work->params.factors;
    const auto add = [&](std::size_t series, const TuningTime& one) {
      time.series[series].points.emplace_back(f, 1e3 * one.median);
      rate.series[series].points.emplace_back(f, report.gflops(work->params, one.median));
    };
    for (const TuningTime& one : work->result.times) add(0, one);
    add(1, work->built_in());
    add(2, work->best());
  }
  return {draw(time), draw(rate)};
}

}  // namespace

double TuningReport::gflops(const AlsParams& params, double seconds) const {
  const double f = params.factors;
  const double rows = static_cast<double>(users) + static_cast<double>(items);
  const double operations = 2.0 * static_cast<double>(interactions) * f * f + rows * f * f * f / 3;
  return 1e-9 * operations / seconds;
}

std::vector<TunedAls> TuningReport::winners() const {
  std::vector<TunedAls> all;
  for (const TunedWork& work : works) {
    all.push_back({work.params, work.best().tuning, work.best().median});
  }
  return all;
}

std::string TuningReport::summary() const {
  TextTable table({"feedback", "precision", "solver", "factors", "variants", "built in, ms",
                   "best, ms", "faster", "Gflop/s", "the best"});
  for (const TunedWork& work : works) {
    const double gain = work.built_in().median / work.best().median - 1.0;
    table.add({feedback_of(work.params), precision_of(work.params), solver_of(work.params),
               std::to_string(work.params.factors), std::to_string(work.result.times.size()),
               milliseconds(work.built_in().median), milliseconds(work.best().median),
               fmt::format("{:.0f} %", 100.0 * gain),
               fmt::format("{:.0f}", gflops(work.params, work.best().median)),
               work.result.best == 0 ? "built in" : tuning_text(work.best().tuning)});
  }
  return table.text(0);
}

void TuningReport::write_rows(const std::string& path) const {
  RowWriter rows(path,
                 {"feedback", "precision", "solver", "factors", "columns", "short_rows", "one_warp",
                  "held_rows", "piece", "wide", "seconds", "least", "most", "gflops", "is"});
  for (const TunedWork& work : works) {
    const std::string feedback = feedback_of(work.params);
    const std::string precision = precision_of(work.params);
    const std::string solver = solver_of(work.params);
    for (const TuningTime& one : work.result.times) {
      const bool built_in = &one == &work.built_in();
      const bool best = &one == &work.best();
      const char* role = built_in && best ? "built in and best" : built_in ? "built in" : "best";
      const auto number = [](int x) { return static_cast<std::int64_t>(x); };
      rows.row({feedback, precision, solver, number(work.params.factors),
                number(one.tuning.columns), number(one.tuning.short_rows),
                number(one.tuning.one_warp), number(one.tuning.held_rows), number(one.tuning.piece),
                number(one.tuning.wide ? 1 : 0), one.median, one.least, one.most,
                gflops(work.params, one.median),
                built_in || best ? std::string_view(role) : std::string_view()});
    }
  }
  rows.finish();
}

void TuningReport::write_plot(const std::string& path, const std::string& title) const {
  constexpr int kWidth = 360;
  constexpr int kHeight = 220;
  constexpr int kHead = 34;
  std::map<std::string, std::vector<const TunedWork*>> kinds;
  for (const TunedWork& work : works) kinds[kind_of(work.params)].push_back(&work);
  std::string body;
  int y = kHead;
  for (const auto& [kind, members] : kinds) {
    const auto charts = charts_of(*this, members);
    const std::array heads{kind + ": ms an iteration",
                           std::string("Gflop/s, as Gram matrices and Cholesky would need them")};
    for (std::size_t i = 0; i < charts.size(); ++i) {
      const int x = static_cast<int>(i) * kWidth;
      body += fmt::format("<text x='{}' y='{}' font-size='12'>{}</text>\n", x + 10, y + 14,
                          escape_html(heads[i]));
      body += fmt::format("<g transform='translate({}, {})'>\n{}</g>\n", x, y + 20, charts[i]);
    }
    y += kHeight + 30;
  }
  OutputFile file(path);
  file.write(
      fmt::format("<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {} {}' width='{}' "
                  "height='{}'>\n{}<rect width='100%' height='100%' "
                  "style='fill: var(--page)'/>\n<text x='10' y='22' font-size='15'>{}"
                  "</text>\n{}</svg>\n",
                  2 * kWidth, y, 2 * kWidth, y, kChartStyle, escape_html(title), body));
  file.commit();
}

}  // namespace likewise::cli
