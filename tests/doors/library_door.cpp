// SPDX-License-Identifier: Apache-2.0
/// Trains as a program in C++ would:
///   library_door RATINGS MODEL ALGORITHM [NAME=VALUE ...] [validation=FILE]
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "likewise/likewise.h"

namespace {

void train(int count, char** words) {
  likewise::TrainingRequest request;
  request.algorithm = words[3];
  std::optional<likewise::Interactions> held_out;
  likewise::TrainingRun run;
  for (int at = 4; at < count; ++at) {
    const std::string_view word = words[at];
    const std::size_t equals = word.find('=');
    const std::string name(word.substr(0, equals));
    const std::string text(word.substr(equals + 1));
    if (name == "validation") {
      held_out = likewise::read_interactions(text);
      request.validation.emplace();
      run.validation = &*held_out;
    } else {
      request.parameters.push_back({name, text});
    }
  }
  const likewise::Interactions data = likewise::read_interactions(words[1]);
  likewise::save_model(likewise::train(likewise::prepare(request, data), data, run), words[2]);
}

}  // namespace

int main(int count, char** words) {
  try {
    if (count < 4) throw likewise::Error(likewise::ErrorKind::kInvalidArgument, "too few words");
    train(count, words);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "library_door: %s\n", error.what());
    return 1;
  }
}
