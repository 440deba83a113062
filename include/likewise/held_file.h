// SPDX-License-Identifier: Apache-2.0
/// Files that are read and written again under the same name: a model that an update replaces, the
/// checkpoint of a training. Two programs that do so at once would each write over what the other
/// one wrote.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "likewise/control.h"
#include "likewise/iteration.h"
#include "likewise/model.h"

namespace likewise {

/// While it lives, no other HeldFile has the same file, in whatever program: the lock is on the
/// file itself and goes with the process, however that ends. OutputFile replaces a held file only
/// while it is the one that was held, and holds the new one from then on. Files that nobody has
/// written yet are held from the first time on. Pipes and devices are not held, and file systems
/// without locks have none: there only the check is left. Hold a file first, then read it.
class HeldFile {
 public:
  /// Throws Error(kIo) where another program holds the file, and what find_output() throws.
  explicit HeldFile(const std::string& path);
  /// Waits until no other program holds it, and calls `on_wait` once where that is not at once.
  /// Throws Error(kCancelled) where the caller asked to stop.
  HeldFile(const std::string& path, const RunControl& control,
           const std::function<void()>& on_wait = {});
  ~HeldFile();
  HeldFile(HeldFile&&) noexcept;
  HeldFile& operator=(HeldFile&&) = delete;

  [[nodiscard]] const std::string& path() const;

  struct State;
  [[nodiscard]] State& state() { return *state_; }

 private:
  std::unique_ptr<State> state_;
};

/// As save_model() and save_checkpoint() to the path of `file`. Throws Error(kIo), with nothing
/// written, where another file has come in its place, or it was written into.
void save_model(const Model& model, HeldFile& file);
void save_checkpoint(const Model& model, const TrainingState& state, HeldFile& file);

}  // namespace likewise
