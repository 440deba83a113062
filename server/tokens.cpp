// SPDX-License-Identifier: Apache-2.0
#include "server/tokens.h"

#include <algorithm>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise::server {
namespace {

constexpr std::size_t kShortest = 16;
constexpr std::size_t kLongest = 512;

/// Goes over all of `given`, whatever differs first.
[[nodiscard]] bool equal_in_constant_time(std::string_view kept, std::string_view given) {
  unsigned difference = kept.size() == given.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    difference |=
        static_cast<unsigned char>(given[i]) ^ static_cast<unsigned char>(kept[i % kept.size()]);
  }
  return difference == 0;
}

[[nodiscard]] std::string_view bearer_token(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size()) return {};
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    const char c = authorization[i];
    if ((c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c) != kScheme[i]) return {};
  }
  return authorization.substr(kScheme.size());
}

[[noreturn]] void bad_line(const std::string& path, int line, const std::string& what) {
  throw Error(ErrorKind::kBadData, fmt::format("{}:{}: {}", path, line, what));
}

}  // namespace

Tokens Tokens::read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(ErrorKind::kNotFound, path + ": the file of tokens cannot be read");
  Tokens tokens;
  std::string text;
  for (int line = 1; std::getline(file, text); ++line) {
    std::istringstream words(text);
    std::string access;
    std::string token;
    std::string more;
    words >> access >> token >> more;
    if (access.empty() || access[0] == '#') continue;
    if ((access != "read" && access != "write") || token.empty() || !more.empty()) {
      bad_line(path, line, "a line must be 'read TOKEN' or 'write TOKEN'");
    }
    if (token.size() < kShortest || token.size() > kLongest) {
      bad_line(path, line, fmt::format("a token has {} to {} characters", kShortest, kLongest));
    }
    const bool twice = std::ranges::any_of(tokens.tokens_,
                                           [&](const Token& other) { return other.text == token; });
    if (twice) bad_line(path, line, "the token comes twice");
    tokens.tokens_.push_back({token, access == "read" ? Access::kRead : Access::kWrite});
  }
  if (file.bad()) throw Error(ErrorKind::kIo, path + ": the file of tokens cannot be read");
  if (tokens.empty()) throw Error(ErrorKind::kBadData, path + ": there is no token in it");
  return tokens;
}

void Tokens::require(Access access, std::string_view authorization) const {
  if (access == Access::kAnyone || empty()) return;
  const std::string_view given = bearer_token(authorization);
  const Token* found = nullptr;
  for (const Token& token : tokens_) {
    if (equal_in_constant_time(token.text, given)) found = &token;
  }
  if (found == nullptr) {
    throw Fault(FaultKind::kUnauthorized,
                given.empty() ? "a bearer token is needed" : "the token is not known here");
  }
  if (access == Access::kWrite && found->access != Access::kWrite) {
    throw Fault(FaultKind::kForbidden, "the token may read, and this needs one that may write");
  }
}

}  // namespace likewise::server
