// SPDX-License-Identifier: Apache-2.0
/// The one exception of the library. The library never prints, exits or aborts: it throws `Error`,
/// and each front door (command line, HTTP, Python) maps the kinds once.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

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

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// Text from outside (a file, an argument, the system) as it may stand in a message or on a
/// terminal: control characters, marks that turn the direction of writing, and bytes that are not
/// UTF-8 as \xNN; cut to `most` bytes. Everything else stays, and a second time changes nothing.
[[nodiscard]] std::string printable(std::string_view text, std::size_t most = 60);
/// The same for a whole message: nothing is cut, and line ends stay.
[[nodiscard]] std::string printable_message(std::string_view text);

}  // namespace likewise
