// SPDX-License-Identifier: Apache-2.0
#include "server/query_string.h"

#include <algorithm>
#include <utility>

#include "server/ascii.h"
#include "server/fault.h"

namespace likewise::server {
namespace {

/// -1 where it is none.
[[nodiscard]] int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char small = static_cast<char>(c | 0x20);
  return small >= 'a' && small <= 'f' ? small - 'a' + 10 : -1;
}

[[nodiscard]] std::string decoded(std::string_view text, bool plus_is_blank) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      result += plus_is_blank && text[i] == '+' ? ' ' : text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? digit_of(text[i + 1]) : -1;
    const int low = high >= 0 ? digit_of(text[i + 2]) : -1;
    if (low < 0) {
      throw Fault(FaultKind::kInvalidArgument,
                  "the address has a % without two hexadecimal digits");
    }
    result += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return result;
}

/// Takes "http://localhost:8080" off an address that begins so.
[[nodiscard]] std::string take_authority(std::string_view& text) {
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!is_same_name(text.substr(0, scheme.size()), scheme)) continue;
    text.remove_prefix(scheme.size());
    const std::string authority(text.substr(0, text.find_first_of("/?")));
    if (authority.empty() || authority.find('@') != std::string::npos) {
      throw Fault(FaultKind::kInvalidArgument, "the address must name its host, and no user");
    }
    text.remove_prefix(authority.size());
    return authority;
  }
  return {};
}

}  // namespace

Target read_target(std::string_view text) {
  std::string authority = take_authority(text);
  const bool is_root = !authority.empty() && !text.starts_with('/');  // a slash may be left out
  if (!is_root && !text.starts_with('/')) {
    throw Fault(FaultKind::kInvalidArgument, "the address must begin with a slash");
  }
  const std::size_t mark = std::min(text.find('?'), text.size());
  Target target{std::move(authority), is_root ? "/" : decoded(text.substr(0, mark), false), {}};
  std::string_view rest = text.substr(std::min(mark + 1, text.size()));
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    target.query.emplace_back(decoded(pair.substr(0, equals), true),
                              decoded(pair.substr(std::min(equals + 1, pair.size())), true));
  }
  return target;
}

}  // namespace likewise::server
