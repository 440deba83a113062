// SPDX-License-Identifier: Apache-2.0
/// From a Report to its page.
#include <cmath>

#include <fmt/format.h>

#include "likewise/version.h"
#include "likewise/write.h"
#include "output/text.h"
#include "report/report.h"

namespace likewise::cli {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #f6f6f3; --card: #ffffff; --ink: #1d2129;
  --soft: #5d6470; --grid: #e4e5e1; --series-1: #2c6fbb; --series-2: #c8641b; --series-3: #3d8b5f; }
@media (prefers-color-scheme: dark) { :root { --page: #14171c; --card: #1d2128; --ink: #e8eaee;
  --soft: #9aa3b0; --grid: #323843; --series-1: #6ca9ee; --series-2: #f0a15f; --series-3: #74c69a; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 28px 16px 40px; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; letter-spacing: -0.01em; }
h2 { font-size: 1rem; margin: 0 0 2px; }
p { margin: 4px 0 10px; color: var(--soft); font-size: 0.9rem; }
.figures { display: flex; flex-wrap: wrap; gap: 8px 34px; margin: 20px 0 24px; }
.figures b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.figures span { color: var(--soft); font-size: 0.85rem; }
.cards { display: grid; gap: 16px; grid-auto-flow: dense; grid-template-columns: repeat(auto-fit, minmax(min(100%, 420px), 1fr)); }
section { background: var(--card); border: 1px solid var(--grid); border-radius: 12px;
  padding: 16px 18px; min-width: 0; }
section.wide { grid-column: 1 / -1; }
svg { width: 100%; height: auto; display: block; }
svg .t { font-size: 11.5px; fill: var(--soft); font-variant-numeric: tabular-nums; }
svg .g { stroke: var(--grid); } svg .m { stroke: var(--soft); stroke-dasharray: 3 4; }
svg .l { fill: none; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round; }
svg .s1 { stroke: var(--series-1); } svg .s2 { stroke: var(--series-2); } svg .s3 { stroke: var(--series-3); }
svg .d { fill: var(--card); stroke-width: 1.6; } svg .b { fill: var(--series-1); }
.people { display: grid; gap: 18px 28px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 270px), 1fr)); }
.people h3 { font-size: 0.95rem; margin: 6px 0 4px; overflow-wrap: anywhere; }
.people h4 { font-size: 0.75rem; margin: 8px 0 2px; color: var(--soft); font-weight: 600;
  text-transform: uppercase; letter-spacing: 0.05em; }
ol, ul { margin: 0; padding-left: 1.3em; font-size: 0.9rem; overflow-wrap: anywhere; }
ul { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
td, th { padding: 5px 10px 5px 0; text-align: left; border-bottom: 1px solid var(--grid);
  vertical-align: top; overflow-wrap: anywhere; }
tr:last-child td { border-bottom: 0; }
th, td:first-child { color: var(--soft); font-weight: 500; }
.compare td:not(:first-child), .compare th:not(:first-child) { text-align: right;
  font-variant-numeric: tabular-nums; }
footer { color: var(--soft); font-size: 0.8rem; margin-top: 22px; }
)";

std::string section(std::string_view title, std::string_view note, std::string_view body,
                    const char* css = "") {
  return fmt::format("<section class='{}'><h2>{}</h2><p>{}</p>\n{}</section>\n", css,
                     escape_html(title), escape_html(note), body);
}

/// Rank and size, at about 120 ranks evenly spread on a log axis.
Series rank_series(const std::string& name, const std::vector<double>& counts) {
  Series series{name, {}};
  double next = 1;
  for (std::size_t r = 0; r < counts.size(); ++r) {
    const auto rank = static_cast<double>(r + 1);
    if (rank < next && r + 1 != counts.size()) continue;
    series.points.emplace_back(rank, counts[r]);
    next = std::max(rank + 1, rank * 1.08);
  }
  return series;
}

std::string objective_section(const Report& report) {
  LineChart chart{"iteration", "objective", {{"objective", {}}}};
  for (const Iteration& it : report.iterations) {
    chart.series[0].points.emplace_back(it.iteration, it.objective);
  }
  return section("Objective", "What training minimises, after each iteration.", draw(chart));
}

std::string validation_section(const Report& report) {
  LineChart chart{"iteration", "validation", {{"validation", {}}}};
  for (const Iteration& it : report.iterations) {
    if (it.validation) chart.series[0].points.emplace_back(it.iteration, *it.validation);
  }
  chart.marked_x = report.best_iteration;
  chart.mark_label = fmt::format("kept: {}", report.best_iteration);
  return section("Validation", "Measured on held-out interactions after each iteration.",
                 draw(chart));
}

std::string distribution_section(const Report& report) {
  LineChart chart{
      "rank, busiest first",
      "interactions",
      {rank_series("users", report.user_counts), rank_series("items", report.item_counts)}};
  chart.log_x = chart.log_y = true;
  return section("Interactions per user and per item",
                 "A few have very many, most have few: both axes are logarithmic.", draw(chart));
}

std::string list(const char* tag, const std::vector<std::string>& entries) {
  std::string out = fmt::format("<{}>", tag);
  for (const std::string& entry : entries) out += fmt::format("<li>{}</li>", escape_html(entry));
  return out + fmt::format("</{}>\n", tag);
}

std::string samples_section(const Report& report) {
  std::string body = "<div class='people'>\n";
  for (const ReportSample& sample : report.samples) {
    body += fmt::format(
        "<div><h3>{}</h3><h4>had, strongest first</h4>{}<h4>recommended</h4>{}</div>\n",
        escape_html(sample.user), list("ul", sample.had), list("ol", sample.recommended));
  }
  return section("Sample recommendations", "Users with little, middling and much history.",
                 body + "</div>\n", "wide");
}

std::string table_row(const std::vector<std::string>& cells, const char* tag) {
  std::string out = "<tr>";
  for (const std::string& cell : cells)
    out += fmt::format("<{0}>{1}</{0}>", tag, escape_html(cell));
  return out + "</tr>\n";
}

std::string comparison_section(const Report& report) {
  std::string body = "<table class='compare'>" + table_row(report.comparison.front(), "th");
  for (std::size_t r = 1; r < report.comparison.size(); ++r) {
    body += table_row(report.comparison[r], "td");
  }
  return section("Against the baseline", "On held-out interactions; more is better.",
                 body + "</table>\n", "wide");
}

std::string parameters_section(const Report& report) {
  // With an odd number of charts before it, this card has a row of the two to itself.
  const bool alone = !report.iterations.empty() && !report.validated;
  std::string body = "<table>";
  for (const auto& [name, value] : report.parameters) body += table_row({name, value}, "td");
  return section("Parameters", "The same parameters, seed and data give the same model.",
                 body + "</table>\n", alone ? "wide" : "");
}

std::string figures(const Report& report) {
  std::string out = "<div class='figures'>";
  for (const auto& [name, value] : report.numbers) {
    out +=
        fmt::format("<div><b>{}</b><span>{}</span></div>", escape_html(value), escape_html(name));
  }
  return out + "</div>\n";
}

std::string cards(const Report& report) {
  std::string out;
  if (!report.comparison.empty()) out += comparison_section(report);
  if (!report.iterations.empty()) out += objective_section(report);
  if (report.validated) out += validation_section(report);
  out += distribution_section(report);
  out += section("Most taken", "The items with the most users.", draw(report.top_items));
  if (!report.samples.empty()) out += samples_section(report);
  out += section("Time", "Wall time of each stage.", draw(report.stages));
  return out + parameters_section(report);
}

}  // namespace

std::string render(const Report& report) {
  return fmt::format(
      "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
      "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
      "<title>{0} · likewise</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n"
      "<h1>{0}</h1>\n<p>{2}</p>\n{3}<div class='cards'>\n{4}</div>\n"
      "<footer>Made by likewise {5}.</footer>\n</main>\n</body>\n</html>\n",
      escape_html(report.title), kStyle, escape_html(report.subtitle), figures(report),
      cards(report), kVersion);
}

void write_report(const Report& report, const std::string& path) {
  OutputFile file(path);
  file.write(render(report));
  file.commit();
}

}  // namespace likewise::cli
