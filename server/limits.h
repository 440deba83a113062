// SPDX-License-Identifier: Apache-2.0
/// What one request may ask for, and what all of them together may hold.
#pragma once

#include <chrono>
#include <cstddef>

#include "likewise/types.h"

namespace likewise::server {

struct Limits {
  // Of a question.
  Index n = 1000;            ///< answers per list
  Offset batch = 1000;       ///< users, items or visitors of a request
  Offset likes = 10'000;     ///< of a visitor, and items of allow and of deny
  Offset pairs = 10'000;     ///< of a prediction
  Offset answers = 100'000;  ///< lists x n
  Offset explained = 1000;   ///< lists x n, where reasons are asked for
  Index reasons = 20;        ///< of an answer
  Offset events = 10'000;    ///< of a request

  // Of HTTP.
  std::size_t body = 1 << 20;              ///< bytes
  std::size_t header = 16 << 10;           ///< bytes, with the first line
  std::size_t target = 8 << 10;            ///< bytes of the first line's address
  std::size_t bodies = 64 << 20;           ///< bytes of all bodies that are under way
  std::size_t answering = 64 << 20;        ///< bytes of all answers that are under way
  std::size_t connections = 20'000;        ///< at once; beyond, one that is idle is closed
  std::size_t waiting = 4096;              ///< requests that wait for a thread
  double rate = 0;                         ///< requests a second of each client; 0: any number
  std::chrono::milliseconds idle{75'000};  ///< between two requests
  std::chrono::milliseconds header_time{10'000};  ///< from the first byte to the last of a header
  std::chrono::milliseconds body_time{30'000};    ///< for a body
  std::chrono::milliseconds write_time{30'000};   ///< until a client has taken its answer
  std::chrono::milliseconds patience{10'000};     ///< of a request that waits for a thread
  std::chrono::milliseconds drain{0};             ///< at the end, before no more are taken
  std::chrono::milliseconds shutdown{10'000};     ///< for what is under way at the end
};

}  // namespace likewise::server
