// SPDX-License-Identifier: Apache-2.0
/// Alternating least squares, implicit (Hu, Koren, Volinsky 2008; Rendle et al. 2022) and explicit
/// (Zhou et al. 2008, Koren et al. 2009). Formulas and letters: math.md.
#pragma once

#include <optional>
#include <string_view>

#include "likewise/csr.h"
#include "likewise/types.h"

namespace likewise {

/// How an implicit value r becomes the confidence c: linear 1 + alpha |r|, log 1 + alpha
/// log(1 + |r| / epsilon), given alpha |r|: the values are confidences already. Missing cells have
/// confidence 1. With kGiven an observed one may have less, and a value of 0 takes its cell out of
/// the objective; a GPU trains on confidences of 1 and more only.
enum class Confidence { kLinear, kLog, kGiven };

inline constexpr std::string_view kConfidenceNames[] = {"linear", "log", "given"};

/// kCholesky: exact. kCg: conjugate gradients, `cg_steps` at most. kAuto: the fastest whose
/// objective is within 2e-3 of kCholesky's after as many iterations (math.md, "What auto
/// promises").
enum class AlsSolverKind { kAuto, kCholesky, kCg };

inline constexpr std::string_view kAlsSolverNames[] = {"auto", "cholesky", "cg"};

/// What kCg divides residuals by: the diagonal of the row's expected matrix (math.md), which
/// leaves less undone after as many steps; or nothing, as other programs do.
enum class Preconditioner { kDiagonal, kNone };

inline constexpr std::string_view kPreconditionerNames[] = {"diagonal", "none"};

/// Storage of the factors while training, fp32 and fp16 on a CPU; sums are never below float32.
enum class Precision { kAuto, kFp32, kTf32, kBf16, kFp16 };

inline constexpr std::string_view kPrecisionNames[] = {"auto", "fp32", "tf32", "bf16", "fp16"};

/// What a row's lambda counts with implicit feedback. kCells: its entries and, by w0, its missing
/// cells. kLikes: its values above 0 alone, one at least, as Spark's MLlib does. Explicit feedback
/// counts the ratings in either case.
enum class RegularizationCount { kCells, kLikes };

inline constexpr std::string_view kRegularizationCountNames[] = {"cells", "likes"};

struct AlsParams {
  Feedback feedback = Feedback::kImplicit;
  int factors = 64;              ///< f, 1 to 4096
  int iterations = 15;           ///< both sides once each; 0 leaves the first factors
  double regularization = 0.01;  ///< lambda, 0 to 1e15
  /// nu in lambda_row = lambda (count + w0 * rows of the other side)^nu for implicit feedback, and
  /// lambda count^nu for explicit: 0 is plain lambda, 1 is ALS-WR. In [0, 1].
  double regularization_exponent = 0.0;
  /// Of implicit feedback: kLikes makes it lambda likes^nu. A GPU takes kLikes where all values are
  /// likes.
  RegularizationCount regularization_count = RegularizationCount::kCells;
  double alpha = 1.0;  ///< confidence per unit of value, 1e-15 to 1e15
  Confidence confidence = Confidence::kLinear;
  double epsilon = 1.0;  ///< scale of the log confidence, 1e-15 to 1e15
  /// w0 of Rendle's iALS, > 0: every missing cell weighs w0, every observed one 1 + w0, values and
  /// alpha only tell likes from dislikes. Absent: Hu's form, missing cells weigh 1.
  std::optional<double> unobserved_weight{};
  bool biases = true;  ///< explicit only: learn global mean, user and item biases
  /// Factors are 0 or more, the first ones too; biases may have either sign. Rows are solved
  /// exactly, under this bound (math.md, "Nonnegative factors"), in fp32.
  bool nonnegative = false;
  double init_stddev = 0.1;  ///< first factors are normal(0, init_stddev / sqrt(f))
  AlsSolverKind solver = AlsSolverKind::kAuto;
  int cg_steps = 3;  ///< steps per row and half-step of kCg, 1 to 1000
  /// kCg: a row also stops once its residual is this small relative to its right-hand side; 0 =
  /// off.
  double cg_tolerance = 0.0;
  Preconditioner cg_preconditioner = Preconditioner::kDiagonal;  ///< of kCg
  Precision precision = Precision::kAuto;
  double tolerance = 0.0;  ///< stop when the objective falls by less than this share; 0 = off
  int patience = 0;        ///< stop after this many iterations without a better validation; 0 = off
  std::uint64_t seed = 42;

  /// Whether rows are solved by conjugate gradients without a preconditioner.
  [[nodiscard]] bool plain_steps() const {
    return solver == AlsSolverKind::kCg && cg_preconditioner == Preconditioner::kNone;
  }

  /// Starting values for a kind of feedback: Hu's form as it was published; explicit ratings want
  /// ALS-WR (nu = 1) and a larger lambda. Good ones depend on the data: prepare() in
  /// likewise/training.h chooses them.
  [[nodiscard]] static AlsParams defaults(Feedback feedback);

  /// Throws Error(kInvalidArgument) naming the field, its value and its range.
  void validate() const;
  friend bool operator==(const AlsParams&, const AlsParams&) = default;
};

/// The counts that the memory of a training depends on.
struct AlsShape {
  Index users = 0;
  Index items = 0;
  Offset interactions = 0;
};

}  // namespace likewise
