// SPDX-License-Identifier: Apache-2.0
#include "server/host_name.h"

#include <algorithm>

#include <fmt/format.h>

#include "likewise/error.h"
#include "server/ascii.h"

namespace likewise::server {
namespace {

constexpr std::size_t kLongestName = 253;  // of DNS

[[nodiscard]] bool is_of_names(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

[[nodiscard]] bool is_name(std::string_view text) {
  return !text.empty() && text.size() <= kLongestName && std::ranges::all_of(text, is_of_names) &&
         !text.starts_with('.') && !text.ends_with('.') &&
         text.find("..") == std::string_view::npos;
}

[[nodiscard]] std::string without_final_dot(std::string name) {
  if (name.ends_with('.')) name.pop_back();
  return name;
}

}  // namespace

std::string host_name(std::string_view host) {
  if (host.starts_with('[')) return std::string(host.substr(0, host.find(']') + 1));
  return without_final_dot(in_small_letters(host.substr(0, host.find(':'))));
}

std::string read_host_name(std::string_view text) {
  std::string name = without_final_dot(in_small_letters(text));
  if (is_name(name)) return name;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("'{}' is no name of a host: give it in ASCII, without scheme and port, as "
                  "films.example.org",
                  printable(text)));
}

}  // namespace likewise::server
