// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include <fmt/format.h>

#include "likewise/synthetic.h"
#include "likewise/write.h"
#include "options/options.h"
#include "options/paths.h"
#include "verb.h"

namespace likewise::cli {
namespace {

struct Generate {
  std::string shape;
  std::string output;
  std::uint64_t seed = 42;
  Common common;

  void run() const {
    check_paths({{"-o", output, PathUse::kInteractions}});
    Progress progress(common.quiet);
    progress.stage("generate");
    const Interactions data = likewise::generate(parse_shape(shape), seed, progress.control());
    progress.stage("write");
    write_interactions(data, output, progress.control());
    progress.finish();
    progress.say(fmt::format("{}: {}, {}, {}", output, counted(data.users.size(), "user"),
                             counted(data.items.size(), "item"),
                             counted(data.by_user.nnz(), "interaction")));
  }
};

}  // namespace

Run add_generate(CLI::App& app) {
  auto verb = std::make_shared<Generate>();
  app.add_option("SHAPE", verb->shape,
                 "demo, ml-20m, eachmovie, netflix, msd, yahoo-song, yahoo, hugewiki, or "
                 "USERSxITEMSxINTERACTIONS such as 100kx5kx2m; :explicit (stars) or :implicit "
                 "(counts) may follow")
      ->required();
  add_output_option(app, verb->output,
                    "Where to write; .csv, .tsv or .mtx, and .gz or .zst after it")
      ->required();
  add_number(app, "--seed", verb->seed, "Same seed, same data")->capture_default_str();
  add_common_options(app, verb->common);
  app.footer(
      "Users and items are long-tailed and have a planted taste, so models have something to "
      "find.\n"
      "The named shapes have the sizes of the public data sets of that name, not their content.\n\n"
      "Examples:\n"
      "  likewise generate demo -o cinema.csv\n"
      "  likewise generate 10000x2000x500000 -o ratings.csv.gz --seed 7");
  return on_threads(verb);
}

}  // namespace likewise::cli
