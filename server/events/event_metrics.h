// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace likewise::server {

class Service;

/// Of a server that keeps events: the store, the updates, and what was offered and followed.
void write_event_metrics(std::string& text, const Service& service);

}  // namespace likewise::server
