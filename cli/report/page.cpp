// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

#include <algorithm>

#include <fmt/format.h>

#include "likewise/version.h"
#include "likewise/write.h"
#include "report/svg.h"

namespace likewise::cli {
namespace {

constexpr const char* kStyle = R"(
:root { color-scheme: light dark; --page: #f6f6f3; --card: #ffffff; --ink: #1d2129;
  --soft: #5d6470; --grid: #e4e5e1; --series-1: #2c6fbb; --series-2: #c8641b; --series-3: #3d8b5f;
  --series-4: #8a4fbf; --series-5: #c2374a; --series-6: #17858f; --series-7: #857a12; --series-8: #b8488f; }
@media screen and (prefers-color-scheme: dark) { :root { --page: #14171c; --card: #1d2128; --ink: #e8eaee;
  --soft: #9aa3b0; --grid: #323843; --series-1: #6ca9ee; --series-2: #f0a15f; --series-3: #74c69a;
  --series-4: #bb92ea; --series-5: #f07f8c; --series-6: #5cc4cd; --series-7: #cfc25a; --series-8: #e78cc4; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1040px; margin: 0 auto; padding: 28px 16px 40px; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0; letter-spacing: -0.01em; overflow-wrap: anywhere; }
h2 { font-size: 1rem; margin: 0 0 2px; overflow-wrap: anywhere; }
p { margin: 4px 0 10px; color: var(--soft); font-size: 0.9rem; overflow-wrap: anywhere; }
.figures { display: flex; flex-wrap: wrap; gap: 12px 34px; margin: 20px 0 24px; }
.figures b { display: block; font-size: 1.6rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.figures span { color: var(--soft); font-size: 0.85rem; }
.cards { display: grid; gap: 16px; grid-auto-flow: dense; grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 1fr)); }
section { background: var(--card); border: 1px solid var(--grid); border-radius: 12px;
  padding: 16px 18px; min-width: 0; }
section.wide { grid-column: 1 / -1; }
@media (max-width: 480px) { main { padding: 20px 12px 32px; } section { padding: 14px 12px; }
  .figures { gap: 10px 26px; } .figures b { font-size: 1.35rem; } }
svg { width: 100%; max-width: 480px; height: auto; display: block; margin: 0 auto; }
svg .t { font-size: 11.5px; fill: var(--soft); font-variant-numeric: tabular-nums; }
svg .g { stroke: var(--grid); } svg .m { stroke: var(--soft); stroke-dasharray: 3 4; }
svg .l { fill: none; stroke-width: 2.2; stroke-linejoin: round; stroke-linecap: round; }
svg .s1 { stroke: var(--series-1); } svg .s2 { stroke: var(--series-2); } svg .s3 { stroke: var(--series-3); }
svg .s4 { stroke: var(--series-4); } svg .s5 { stroke: var(--series-5); } svg .s6 { stroke: var(--series-6); }
svg .s7 { stroke: var(--series-7); } svg .s8 { stroke: var(--series-8); } svg .dashed { stroke-dasharray: 6 4; }
svg .d { fill: var(--card); stroke-width: 1.6; }
.bars { display: grid; grid-template-columns: fit-content(45%) 1fr; gap: 7px 10px; font-size: 0.85rem; margin: 0; }
.bars dt { color: var(--soft); text-align: right; }
.bars dd { margin: 0; display: flex; align-items: center; gap: 7px; min-width: 0; font-variant-numeric: tabular-nums; }
.bars dd span { flex: 0 1 auto; height: 1em; min-width: 2px; border-radius: 3px; background: var(--series-1);
  print-color-adjust: exact; }
.bars dd b { flex: none; font-weight: 400; color: var(--soft); }
.people, .smalls { display: grid; gap: 18px 28px; grid-template-columns: repeat(auto-fill, minmax(min(100%, 270px), 1fr)); }
.people h3, .smalls h3 { font-size: 0.9rem; margin: 6px 0 4px; overflow-wrap: anywhere; }
.people h4 { font-size: 0.75rem; margin: 8px 0 2px; color: var(--soft); font-weight: 600;
  text-transform: uppercase; letter-spacing: 0.05em; }
ol, ul { margin: 0; padding-left: 1.5em; font-size: 0.9rem; overflow-wrap: anywhere; }
ul { color: var(--soft); }
.facts { columns: 300px; column-gap: 34px; margin: 0; font-size: 0.9rem; }
.facts div { display: flex; justify-content: space-between; gap: 14px; padding: 5px 0;
  border-bottom: 1px solid var(--grid); break-inside: avoid; }
.facts dt { color: var(--soft); } .facts dd { margin: 0; text-align: right; overflow-wrap: anywhere; }
.scroll { overflow-x: auto; }
.scroll:focus-visible, th button:focus-visible, summary:focus-visible { outline: 2px solid var(--series-1); outline-offset: 2px; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
td, th { padding: 6px 18px 6px 0; text-align: left; border-bottom: 1px solid var(--grid);
  vertical-align: top; white-space: nowrap; }
td:last-child, th:last-child { padding-right: 2px; }
tr:last-child td { border-bottom: 0; }
th { color: var(--soft); font-weight: 500; }
th button { all: unset; cursor: pointer; } th button:hover { color: var(--ink); }
th[aria-sort=ascending] button::after { content: " \2191"; } th[aria-sort=descending] button::after { content: " \2193"; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
td.list { white-space: normal; min-width: 22rem; } .list span, pre span { white-space: nowrap; }
.marked td { background: var(--page); font-weight: 600; }
.cut { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
td .cut { max-width: 24ch; }
pre { margin: 8px 0 0; font: 0.85rem/1.6 ui-monospace, "DejaVu Sans Mono", monospace; white-space: normal; overflow-wrap: anywhere; }
pre span { display: inline-block; max-width: 100%; white-space: normal; }
summary { cursor: pointer; font-weight: 600; } summary + p { margin-top: 4px; }
footer { color: var(--soft); font-size: 0.8rem; margin-top: 22px; }
@media print { :root { color-scheme: light; } body { background: none; font-size: 13px; } main { padding: 0; max-width: none; }
  section { break-inside: avoid; } section.long { break-inside: auto; } tr, .smalls > div { break-inside: avoid; }
  .scroll { overflow: visible; } table { font-size: 0.75rem; } td, th { padding-right: 9px; }
  td, .cut, td .cut { white-space: normal; max-width: none; overflow: visible; } td.n { white-space: nowrap; }
  td.list { min-width: 0; } details::details-content { content-visibility: visible; } }
)";

/// Sorts a table by the column whose name is clicked; clicked again, the other way round. Numbers
/// are compared as numbers, and cells without one come last.
constexpr const char* kScript = R"(
for (const head of document.querySelectorAll("table th")) {
  const button = document.createElement("button");
  button.append(...head.childNodes);
  head.append(button);
  button.onclick = () => {
    const body = head.closest("table").tBodies[0];
    const down = head.ariaSort ? head.ariaSort === "ascending" : head.className === "n";
    const key = (row) => {
      const text = row.cells[head.cellIndex].textContent;
      return head.className === "n" ? parseFloat(text.replaceAll(",", "")) : text;
    };
    const order = (a, b) => typeof a === "string" ? a.localeCompare(b, undefined, { numeric: true }) : a - b;
    const compare = ([a], [b]) => Number.isNaN(a) - Number.isNaN(b) || (down ? order(b, a) : order(a, b)) || 0;
    const rows = [...body.rows].map((row) => [key(row), row]).sort(compare);
    body.append(...rows.map(([, row]) => row));
    for (const other of head.parentNode.cells) other.ariaSort = null;
    head.ariaSort = down ? "descending" : "ascending";
  };
}
)";

[[nodiscard]] const char* css_of(Column::Kind kind) {
  return kind == Column::Kind::kNumber ? "n" : kind == Column::Kind::kList ? "list" : "";
}

/// Each part of the text in a tag of its own; a part ends with `end`, and begins after it.
[[nodiscard]] std::string spans(std::string_view text, std::string_view end,
                                std::string_view between) {
  std::string out;
  while (!text.empty()) {
    const std::size_t at = text.find(end);
    const bool last = at == std::string_view::npos;
    out += fmt::format("<span>{}{}</span>{}", escape_html(text.substr(0, at)), last ? "" : between,
                       last ? "" : " ");
    text.remove_prefix(last ? text.size() : at + end.size());
  }
  return out;
}

[[nodiscard]] std::string cell_content(std::string_view text, Column::Kind kind) {
  switch (kind) {
    case Column::Kind::kText:
      return cut(text);
    case Column::Kind::kList:
      return spans(text, ", ", ",");
    case Column::Kind::kNumber:
      break;
  }
  return escape_html(text);
}

[[nodiscard]] std::string head_row(const std::vector<Column>& columns) {
  std::string out = "<thead><tr>";
  for (const Column& column : columns) {
    out += fmt::format("<th scope='col' class='{}'>{}</th>", css_of(column.kind),
                       escape_html(column.name));
  }
  return out + "</tr></thead>\n";
}

[[nodiscard]] std::string body_row(const PageTable& table, std::size_t row) {
  std::string out = row == table.marked ? "<tr class='marked'>" : "<tr>";
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    const Column::Kind kind = table.columns[c].kind;
    out +=
        fmt::format("<td class='{}'>{}</td>", css_of(kind), cell_content(table.rows[row][c], kind));
  }
  return out + "</tr>\n";
}

}  // namespace

std::string section(std::string_view title, std::string_view note, std::string_view body,
                    const char* css) {
  return fmt::format("<section class='{}'><h2>{}</h2><p>{}</p>\n{}</section>\n", css,
                     escape_html(title), escape_html(note), body);
}

std::string folded_section(std::string_view title, std::string_view note, std::string_view body,
                           bool open) {
  return fmt::format(
      "<section class='wide long'><details{}><summary>{}</summary><p>{}</p>\n{}</details>"
      "</section>\n",
      open ? " open" : "", escape_html(title), escape_html(note), body);
}

std::string cut(std::string_view text) {
  return fmt::format("<div class='cut' title='{0}'>{0}</div>", escape_html(text));
}

std::string figures(const Facts& facts) {
  std::string out = "<div class='figures'>";
  for (const auto& [name, value] : facts) {
    out +=
        fmt::format("<div><b>{}</b><span>{}</span></div>", escape_html(value), escape_html(name));
  }
  return out + "</div>\n";
}

std::string facts_list(const Facts& facts) {
  std::string out = "<dl class='facts'>\n";
  for (const auto& [name, value] : facts) {
    out +=
        fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", escape_html(name), escape_html(value));
  }
  return out + "</dl>\n";
}

std::string draw(const PageTable& table) {
  std::string out =
      "<div class='scroll' tabindex='0'><table>" + head_row(table.columns) + "<tbody>\n";
  for (std::size_t r = 0; r < table.rows.size(); ++r) out += body_row(table, r);
  return out + "</tbody></table></div>\n";
}

std::string draw(const std::vector<Bar>& bars) {
  double largest = 0;
  for (const Bar& bar : bars) largest = std::max(largest, bar.value);
  std::string out = "<dl class='bars'>\n";
  for (const Bar& bar : bars) {
    const double share = largest > 0 ? std::max(0.0, bar.value) / largest : 0;
    out += fmt::format(
        "<dt class='cut' title='{0}'>{0}</dt><dd><span style='width: "
        "{1:.1f}%'></span><b>{2}</b></dd>\n",
        escape_html(bar.label), 100 * share, escape_html(bar.text));
  }
  return out + "</dl>\n";
}

std::string command_block(std::string_view command) {
  std::string out = "<pre>";
  for (std::size_t from = 0; from < command.size();) {
    const std::size_t next = std::min(command.find(" --", from + 1), command.size());
    out += fmt::format("{}<span>{}</span>", from == 0 ? "" : " ",
                       escape_html(command.substr(from, next - from)));
    from = next + 1;
  }
  return out + "</pre>\n";
}

std::string page(std::string_view title, std::string_view subtitle, std::string_view content) {
  return fmt::format(
      "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
      "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
      "<title>{0} · likewise</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n"
      "<h1>{0}</h1>\n<p>{2}</p>\n{3}"
      "<footer>Made by likewise {4}.</footer>\n</main>\n<script>{5}</script>\n</body>\n</html>\n",
      escape_html(title), kStyle, escape_html(subtitle), content, kVersion, kScript);
}

void write_page(const std::string& html, const std::string& path) {
  OutputFile file(path);
  file.write(html);
  file.commit();
}

}  // namespace likewise::cli
