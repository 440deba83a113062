// SPDX-License-Identifier: Apache-2.0
/// Sockets of ranks: non-blocking, closed by their owner; and how two ranks greet each other.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "likewise/control.h"

namespace likewise {

/// A file descriptor with an owner.
class Socket {
 public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() { close(); }
  Socket(Socket&& from) noexcept : descriptor_(from.descriptor_) { from.descriptor_ = -1; }
  Socket& operator=(Socket&& from) noexcept;
  [[nodiscard]] int get() const { return descriptor_; }
  [[nodiscard]] bool open() const { return descriptor_ >= 0; }
  void close();

 private:
  int descriptor_ = -1;
};

/// What one non-blocking send or receive did.
enum class SocketState { kMoved, kWait, kClosed };
struct SocketMove {
  SocketState state = SocketState::kWait;
  std::size_t bytes = 0;
};
[[nodiscard]] SocketMove send_some(int socket, std::span<const std::byte> bytes);
[[nodiscard]] SocketMove receive_some(int socket, std::span<std::byte> bytes);

/// How long a wait lasts at most before somebody looks whether to go on.
inline constexpr std::chrono::milliseconds kSocketLook{20};

/// The two connections of a pair.
enum class Channel : std::uint32_t { kCalls, kEnds };

/// Who greets whom.
struct Greeting {
  int rank = 0;
  int size = 0;
  std::string token;
};

/// The connections to the other ranks, by rank; those of the rank itself stay closed.
struct Connections {
  std::vector<Socket> calls;
  std::vector<Socket> ends;
};

/// Connects to the ranks before this one and waits for those after it. Errors as SocketRanks'.
[[nodiscard]] Connections connect_all(int listener, const Greeting& self,
                                      const std::vector<std::string>& addresses,
                                      std::chrono::milliseconds patience,
                                      const RunControl& control);

}  // namespace likewise
