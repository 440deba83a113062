// SPDX-License-Identifier: Apache-2.0
/// `likewise serve` for other verbs.
#pragma once

#include <string>

#include "options/options.h"

namespace likewise::cli {

inline constexpr const char* kUsualListen = "127.0.0.1:8080";

/// Throws Error(kInvalidArgument) unless `listen` is an address and port of this machine alone.
void check_loopback(const std::string& listen);

/// Serves a model file to this machine alone, with the usual settings, until a signal ends it.
void serve_on_loopback(const std::string& model, const std::string& listen, const Common& common);

}  // namespace likewise::cli
