// SPDX-License-Identifier: Apache-2.0
#include "likewise/autotune.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include "likewise/synthetic.h"
#include "likewise/training.h"
#include "options/options.h"
#include "options/paths.h"
#include "output/rows.h"
#include "report/tuning_report.h"
#include "verb.h"

namespace likewise::cli {
namespace {

/// "8:256:8" or "8,16,64": the factors that it stands for.
[[nodiscard]] std::vector<int> parse_factors(const std::string& text) {
  const char separator = text.find(':') == std::string::npos ? ',' : ':';
  std::vector<int> numbers;
  const char* at = text.data();
  const char* const end = at + text.size();
  for (bool more = true; more;) {
    int number = 0;
    const auto [next, failure] = std::from_chars(at, end, number);
    more = next != end && *next == separator;
    const bool good = failure == std::errc{} && number >= 1 && number <= 4096;
    if (!good || (next != end && !more)) return {};
    numbers.push_back(number);
    at = next + 1;
  }
  if (separator == ',') return numbers;
  if (numbers.size() != 3) return {};
  std::vector<int> range;
  for (int f = numbers[0]; f <= numbers[1]; f += numbers[2]) range.push_back(f);
  return range;
}

[[nodiscard]] CLI::Validator one_of(std::span<const std::string_view> names) {
  return CLI::IsMember(std::vector<std::string>(names.begin(), names.end())).description("");
}

/// The value of one of an enum's names.
template <class T>
[[nodiscard]] T value_named(std::span<const std::string_view> names, std::string_view name) {
  return static_cast<T>(std::ranges::find(names, name) - names.begin());
}

struct Autotune {
  std::string factors = "16:256:16";
  std::vector<std::string> precisions{"auto"};
  std::vector<std::string> feedbacks{"implicit"};
  AlsSolverKind solver = AlsSolverKind::kAuto;
  std::string shape = "120kx18kx25m";
  std::string output;
  std::string plot;
  Common common;

  void run() const {
    check_paths({{"-o", output, PathUse::kRows},
                 {"--plot", plot, PathUse::kOutput},
                 {"the table on standard output", "-", PathUse::kOutput}});
    const std::vector<AlsParams> works = all_works();
    Progress progress(common.quiet);
    const Device device = announced_device(common, progress);
    if (!has_tunings(device)) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--device {}: only GPUs are tuned, and one GPU is tuned at a time; "
                              "name one, as cuda or cuda:0",
                              common.device));
    }
    if (const std::string warning = tuning_warning(device); !warning.empty()) progress.say(warning);
    for (const AlsParams& work : works) (void)open_device_to_train(common.device, work);
    progress.stage("generate");
    const Interactions data = generate(parse_shape(shape), 1, progress.control());
    progress.stage("tune");
    const TuningReport report{data.by_user.rows, data.by_user.cols, data.by_user.nnz(),
                              measure(data.by_user.view(), works, device, progress)};
    progress.finish();
    if (!output.empty()) report.write_rows(output);
    if (!plot.empty()) report.write_plot(plot, fmt::format("{}, {}", device_text(device), shape));
    const std::string kept = keep_tunings(device, report.winners());
    print_result(report.summary());
    progress.say("kept for trainings on this GPU: " + kept);
  }

  /// Every kind of training to tune, refused where its options are wrong.
  [[nodiscard]] std::vector<AlsParams> all_works() const {
    const std::vector<int> all = parse_factors(factors);
    if (all.empty()) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("--factors {}: give numbers from 1 to 4096 as 16,64,128, or first, "
                              "last and step as 8:256:8",
                              printable(factors)));
    }
    std::vector<AlsParams> works;
    for (const std::string& feedback : feedbacks) {
      for (const std::string& precision : precisions) {
        for (const int f : all) {
          AlsParams params = AlsParams::defaults(value_named<Feedback>(kFeedbackNames, feedback));
          params.precision = value_named<Precision>(kPrecisionNames, precision);
          params.factors = f;
          params.solver = solver;
          params.validate();
          works.push_back(params);
        }
      }
    }
    return works;
  }

  [[nodiscard]] static std::vector<TunedWork> measure(const CsrView& by_user,
                                                      const std::vector<AlsParams>& works,
                                                      const Device& device, Progress& progress) {
    std::vector<TunedWork> done;
    for (const AlsParams& work : works) {
      RunControl control = Progress::stop_control();
      control.on_progress = [&](const ProgressUpdate& update) {
        const std::string unit =
            fmt::format("widths; {} factors, variant {}", work.factors, update.done + 1);
        progress.show(
            {"tune", static_cast<Offset>(done.size()), static_cast<Offset>(works.size()), unit});
      };
      done.push_back({work, autotune_als(by_user, work, device, control)});
    }
    return done;
  }
};

}  // namespace

Run add_autotune(CLI::App& app) {
  auto verb = std::make_shared<Autotune>();
  verb->common.device = "cuda";
  app.add_option(
         "--factors", verb->factors,
         "Which numbers of factors: a list, or first:last:step. Kernels come in steps of 16")
      ->type_name("LIST")
      ->capture_default_str();
  add_list(app, "--precision", verb->precisions, "Which of auto, fp32, tf32, bf16, fp16",
           one_of(kPrecisionNames))
      ->type_name("LIST")
      ->default_str("auto");
  add_list(app, "--feedback", verb->feedbacks, "Which of implicit, explicit",
           one_of(kFeedbackNames))
      ->type_name("LIST")
      ->default_str("implicit");
  add_choice<AlsSolverKind>(
      app, "--solver", {{"auto", AlsSolverKind::kAuto}, {"cholesky", AlsSolverKind::kCholesky}},
      verb->solver, "Which of the two strategies for rows to tune; auto is cg's too");
  app.add_option(
         "--shape", verb->shape,
         "The data to measure on, as in `likewise generate`: the nearer to yours the better")
      ->type_name("SHAPE")
      ->capture_default_str();
  add_output_option(app, verb->output,
                    "Write every measurement here: .csv, .tsv or .jsonl, and .gz or .zst");
  add_path(app, "--plot", verb->plot, "Draw time and Gflop/s against the factors")
      ->type_name("FILE.svg");
  add_device_options(app, verb->common);
  app.footer(
      "Times the compiled variants of ALS on a GPU, prints the fastest of each width and keeps "
      "them\n"
      "in $XDG_CACHE_HOME/likewise (~/.cache/likewise), where every training on this GPU finds\n"
      "them. Delete the file that it names to return to the built-in ones.\n\n"
      "Examples:\n"
      "  likewise autotune\n"
      "  likewise autotune --device cuda:1 --factors 8:256:8 -o all.csv --plot all.svg\n"
      "  likewise autotune --factors 64,128 --feedback implicit,explicit --shape netflix");
  return on_threads(verb);
}

}  // namespace likewise::cli
