// SPDX-License-Identifier: Apache-2.0
/// What the program and the CUDA plug-in (liblikewise_cuda.so) agree on. Both are built from one
/// source by one compiler, so that C++ types and exceptions may cross. Three lines tell whether
/// they were; they are read before anything else is touched.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "likewise/als.h"
#include "likewise/backend.h"

namespace likewise {

/// Goes up with every change of this file and of the types that cross.
inline constexpr std::int32_t kPluginInterface = 1;
/// The compiler lays out the types that cross.
inline constexpr const char* kPluginCompiler = __VERSION__;

struct CudaCard {
  std::string name;
  int major = 0;  ///< of the compute capability
  int minor = 0;
  Offset memory = 0;    ///< bytes
  std::string problem;  ///< what else keeps it from use; empty where nothing does
};

struct CudaCards {
  std::vector<CudaCard> cards;  ///< by device number
  std::string problem;          ///< why there are none, and what to do; empty where there are
};

struct CudaPlugin {
  // Plain numbers and text, readable whatever built the plug-in. These lines stay as they are.
  std::int32_t interface_number;
  const char* version;   ///< kVersion
  const char* compiler;  ///< kPluginCompiler

  // For a program of the same three only.
  CudaCards (*find_cards)();
  /// As Backend::make_als_solver. `devices`: one or more usable cards.
  std::unique_ptr<AlsSolver> (*make_als_solver)(std::span<const int> devices,
                                                const CsrView& by_user, const AlsParams& params,
                                                Factors start, int completed_iterations);
};

}  // namespace likewise

/// The plug-in's only symbol. Lives as long as the process.
extern "C" const likewise::CudaPlugin* likewise_cuda_plugin();
