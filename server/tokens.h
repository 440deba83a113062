// SPDX-License-Identifier: Apache-2.0
/// `Tokens`: who may ask, by bearer tokens in a file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/operation.h"

namespace likewise::server {

class Tokens {
 public:
  /// None: everybody may do everything.
  Tokens() = default;
  /// A line is `read TOKEN` or `write TOKEN`; blank lines and those that begin with # are passed
  /// over. Throws Error with file and line: kNotFound, kIo, kBadData (another line, a token of
  /// fewer than 16 or more than 512 characters or that comes twice, no token at all).
  [[nodiscard]] static Tokens read(const std::string& path);

  [[nodiscard]] bool empty() const { return tokens_.empty(); }
  /// Throws Fault: unauthorized where `authorization` ("Bearer ...") has no token of these,
  /// forbidden where the token is not enough. Takes the same time whatever the token.
  void require(Access access, std::string_view authorization) const;

 private:
  struct Token {
    std::string text;
    Access access;
  };
  std::vector<Token> tokens_;
};

}  // namespace likewise::server
