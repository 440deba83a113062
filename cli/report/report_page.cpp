// SPDX-License-Identifier: Apache-2.0
/// From a Report to its page.
#include <fmt/format.h>

#include "report/distribution.h"
#include "report/learning_curve.h"
#include "report/page.h"
#include "report/report.h"
#include "report/svg.h"

namespace likewise::cli {
namespace {

std::string list(const char* tag, const std::vector<std::string>& entries) {
  std::string out = fmt::format("<{}>", tag);
  for (const std::string& entry : entries) out += fmt::format("<li>{}</li>", cut(entry));
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

std::string comparison_section(const Report& report) {
  PageTable table;
  for (const std::string& name : report.comparison.front()) table.columns.push_back({name});
  table.columns.front().kind = Column::Kind::kText;
  table.rows.assign(report.comparison.begin() + 1, report.comparison.end());
  return section("Against the baseline", "On held-out interactions; more is better.", draw(table),
                 "wide");
}

std::string parameters_section(const Report& report) {
  return section("Parameters", "The same parameters, seed and data give the same model.",
                 facts_list(report.parameters), "wide");
}

std::string cards(const Report& report) {
  std::string out;
  if (!report.comparison.empty()) out += comparison_section(report);
  const std::vector<LearningCurve> curves{{"", report.iterations}};
  if (!report.iterations.empty()) {
    out += curve_sections("Objective", "What training minimises, after each iteration.", curves,
                          Measure::kObjective);
  }
  if (report.validated) {
    out += curve_sections("Validation", "Measured on held-out interactions after each iteration.",
                          curves, Measure::kValidation, report.best_iteration);
  }
  out += distribution_section(report.user_counts, report.item_counts);
  out += section("Most taken", "The items with the most users.", draw(report.top_items));
  if (!report.samples.empty()) out += samples_section(report);
  if (!report.stages.empty())
    out += section("Time", "Wall time of each stage.", draw(report.stages), "wide");
  return out + parameters_section(report);
}

}  // namespace

std::string render(const Report& report) {
  return page(
      report.title, report.subtitle,
      fmt::format("{}<div class='cards'>\n{}</div>\n", figures(report.numbers), cards(report)));
}

void write_report(const Report& report, const std::string& path) {
  write_page(render(report), path);
}

}  // namespace likewise::cli
