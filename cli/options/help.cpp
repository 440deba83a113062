// SPDX-License-Identifier: Apache-2.0
#include "options/help.h"

#include <sstream>

namespace likewise::cli {
namespace {

constexpr std::size_t kNameColumn = 32;
constexpr std::size_t kWidth = 96;

/// Words of `text` in lines that start at kNameColumn and end before kWidth.
std::string wrapped(const std::string& text) {
  std::istringstream words(text);
  std::string out;
  std::size_t column = kNameColumn;
  for (std::string word; words >> word;) {
    if (column + word.size() > kWidth) {
      out.erase(out.find_last_not_of(' ') + 1);
      out += "\n" + std::string(kNameColumn, ' ');
      column = kNameColumn;
    }
    out += word + " ";
    column += word.size() + 1;
  }
  out.erase(out.find_last_not_of(' ') + 1);
  return out;
}

}  // namespace

HelpFormatter::HelpFormatter() {
  label("Positionals", "Arguments");
  label("OPTIONS", "OPTIONS");
}

std::string HelpFormatter::make_usage(const CLI::App* app, std::string name) const {
  return "\n" + CLI::Formatter::make_usage(app, std::move(name)) + "\n" + app->get_footer() + "\n";
}

std::string HelpFormatter::make_footer(const CLI::App* /*app*/) const { return {}; }

std::string HelpFormatter::make_help(const CLI::App* app, std::string name,
                                     CLI::AppFormatMode mode) const {
  std::string text = CLI::Formatter::make_help(app, std::move(name), mode);
  for (std::size_t at = 0; (at = text.find("\n\n\n", at)) != std::string::npos;) text.erase(at, 1);
  return text.erase(text.find_last_not_of('\n') + 1) + "\n";
}

std::string HelpFormatter::make_option(const CLI::Option* option, bool is_positional) const {
  std::string name = "  " + make_option_name(option, is_positional);
  if (const std::size_t comma = name.find(','); comma != std::string::npos)
    name.insert(comma + 1, " ");
  if (!is_positional && option->get_type_size() != 0) name += " " + option->get_type_name();
  std::string text = option->get_description();
  if (!option->get_default_str().empty()) text += " [" + option->get_default_str() + "]";
  if (option->get_required() && !is_positional) text += " (required)";
  name += name.size() + 2 > kNameColumn ? "\n" + std::string(kNameColumn, ' ')
                                        : std::string(kNameColumn - name.size(), ' ');
  return name + wrapped(text) + "\n";
}

}  // namespace likewise::cli
