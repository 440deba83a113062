// SPDX-License-Identifier: Apache-2.0
#include "report/page.h"

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
@media (prefers-color-scheme: dark) { :root { --page: #14171c; --card: #1d2128; --ink: #e8eaee;
  --soft: #9aa3b0; --grid: #323843; --series-1: #6ca9ee; --series-2: #f0a15f; --series-3: #74c69a;
  --series-4: #bb92ea; --series-5: #f07f8c; --series-6: #5cc4cd; --series-7: #cfc25a; --series-8: #e78cc4; } }
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
svg .s4 { stroke: var(--series-4); } svg .s5 { stroke: var(--series-5); } svg .s6 { stroke: var(--series-6); }
svg .s7 { stroke: var(--series-7); } svg .s8 { stroke: var(--series-8); } svg .dashed { stroke-dasharray: 6 4; }
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

}  // namespace

std::string section(std::string_view title, std::string_view note, std::string_view body,
                    const char* css) {
  return fmt::format("<section class='{}'><h2>{}</h2><p>{}</p>\n{}</section>\n", css,
                     escape_html(title), escape_html(note), body);
}

std::string table_row(const std::vector<std::string>& cells, const char* tag) {
  std::string out = "<tr>";
  for (const std::string& cell : cells)
    out += fmt::format("<{0}>{1}</{0}>", tag, escape_html(cell));
  return out + "</tr>\n";
}

std::string page(std::string_view title, std::string_view subtitle, std::string_view content) {
  return fmt::format(
      "<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n"
      "<meta name='viewport' content='width=device-width, initial-scale=1'>\n"
      "<title>{0} · likewise</title>\n<style>{1}</style>\n</head>\n<body>\n<main>\n"
      "<h1>{0}</h1>\n<p>{2}</p>\n{3}"
      "<footer>Made by likewise {4}.</footer>\n</main>\n</body>\n</html>\n",
      escape_html(title), kStyle, escape_html(subtitle), content, kVersion);
}

void write_page(const std::string& html, const std::string& path) {
  OutputFile file(path);
  file.write(html);
  file.commit();
}

}  // namespace likewise::cli
