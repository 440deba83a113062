// SPDX-License-Identifier: Apache-2.0
/// The one exception of the library. The library never prints, exits or aborts: it throws `Error`,
/// and each front door (command line, HTTP, Python) maps the kinds once.
#pragma once

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

#include "likewise/types.h"

namespace likewise {

enum class ErrorKind {
  kInvalidArgument,  ///< an option or argument out of its range; the message names both
  kBadData,          ///< a file's content is broken; the message names file, line and value
  kNotFound,         ///< a file, user or item that does not exist
  kIo,               ///< the operating system refused to read or write
  kOutOfMemory,      ///< a plan of memory that cannot fit; the message has the figure
  kNumerical,        ///< a solver met a number it cannot go on with (names the row and pivot)
  kDevice,           ///< a device was asked for that cannot be used
  kCancelled,        ///< the caller asked to stop
};

/// A parameter as it stands in a message of the library, with a value where it is not empty:
/// marked, so that each front door can write it as its users do ("--cg-steps 3", "cg_steps=3").
[[nodiscard]] std::string mention(std::string_view parameter, std::string_view value = {});

/// `text`, whose parameters stand in braces ("{solver cg}"), with each as mention() writes it.
[[nodiscard]] std::string mentions(std::string_view text);

/// How a front door writes a parameter (its name in model files, C++ and Python) and a value, which
/// may be empty.
using Spelling = std::function<std::string(std::string_view parameter, std::string_view value)>;

/// `text` with each parameter that mention() put there as `spelling` writes it.
[[nodiscard]] std::string spelled(std::string_view text, const Spelling& spelling);

/// The same as C++ writes it: "cg_steps", "cg_steps 3".
[[nodiscard]] std::string spelled(std::string_view text);

class Error : public std::runtime_error {
 public:
  /// `message` may hold parameters as mention() writes them.
  Error(ErrorKind kind, const std::string& message)
      : std::runtime_error(spelled(message)),
        kind_(kind),
        message_(std::make_shared<const std::string>(message)) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }
  /// what() as a front door writes parameters.
  [[nodiscard]] std::string message(const Spelling& spelling) const {
    return spelled(*message_, spelling);
  }
  /// The message as it was given: for an error that says the same and more.
  [[nodiscard]] const std::string& message() const noexcept { return *message_; }

 private:
  ErrorKind kind_;
  std::shared_ptr<const std::string> message_;  // copies of an exception must not throw
};

/// Text from outside (a file, an argument, the system) as it may stand in a message or on a
/// terminal: control characters, marks that turn the direction of writing, and bytes that are not
/// UTF-8 as \xNN; cut to `most` bytes. Everything else stays, and a second time changes nothing.
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = 60);

/// The same for a whole message: nothing is cut, and line ends stay.
[[nodiscard]] std::string printable_message(std::string_view text);

/// 1234567 -> "1,234,567".
[[nodiscard]] std::string with_commas(Offset number);

/// "1 user", "2 users".
[[nodiscard]] std::string counted(Offset count, std::string_view one);

}  // namespace likewise
