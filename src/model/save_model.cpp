// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/model.h"
#include "likewise/write.h"
#include "model/checkpoint.h"
#include "model/checksum.h"
#include "model/model_metadata.h"
#include "model/model_validation.h"
#include "model/safetensors.h"

namespace likewise {
namespace {

using safetensors::Metadata;
using safetensors::Source;
using safetensors::Type;

/// An unpadded tensor over contiguous numbers.
template <class T>
Source numbers(std::string name, Type type, std::span<const T> values) {
  return {std::move(name),    type, {static_cast<Offset>(values.size())},
          values.data(),      1,    values.size_bytes(),
          values.size_bytes()};
}

/// A matrix without the padding of its rows.
Source matrix(std::string name, const MatrixView& m) {
  Source source{std::move(name),
                Type::kF32,
                {m.rows, m.cols},
                m.data,
                m.rows,
                sizeof(float) * static_cast<std::size_t>(m.cols),
                sizeof(float) * static_cast<std::size_t>(m.stride)};
  if (m.cols == m.stride) {  // nothing between the rows: one piece
    source.piece_bytes *= static_cast<std::size_t>(m.rows);
    source.pieces = 1;
  }
  return source;
}

/// Ids 0..n-1 need no tensor: the rows of the side's factors count them. Without factors nothing in
/// the file would bound that count, so then they are written out.
bool is_range(const IdMap& ids, Index factors) {
  return ids.is_integer() && factors > 0 && ids.size() > 0 && ids.integers().front() == 0 &&
         ids.integers().back() == ids.size() - 1;
}

void add_ids(const std::string& side, const IdMap& ids, Index factors, std::vector<Source>& tensors,
             Metadata& metadata) {
  std::string& kind = metadata[side + "_ids"];
  if (is_range(ids, factors)) {
    kind = "range";
  } else if (ids.is_integer()) {
    kind = "integers";
    tensors.push_back(numbers(side + "_ids", Type::kI64, ids.integers()));
  } else {
    kind = "text";
    tensors.push_back(numbers(side + "_ids.chars", Type::kU8, ids.chars()));
    tensors.push_back(numbers(side + "_ids.offsets", Type::kI64, ids.offsets()));
  }
}

/// bfloat16 numbers of both sides, and what of them the next ones may repeat.
void add_changes(const std::string& prefix, const LinearPart& part, std::vector<Source>& tensors) {
  if (part.user_changes == nullptr || part.item_changes == nullptr) return;
  if (part.user_changes->numbers.empty() && part.item_changes->numbers.empty()) return;
  const auto add = [&](const char* name, const RowChanges& changes, Index rows) {
    Source source = numbers(prefix + name, Type::kBF16, changes.numbers.span());
    source.shape = {rows, changes.width(rows)};
    tensors.push_back(std::move(source));
    const std::string ratio = fmt::format("{}{}_ratio", prefix, name);
    tensors.push_back(numbers<float>(ratio, Type::kF32, {&changes.ratio, 1}));
  };
  add("user_changes", *part.user_changes, part.users.rows);
  add("item_changes", *part.item_changes, part.items.rows);
}

/// `prefix` tells several sets of factors apart.
void add_linear_part(const std::string& prefix, const Model& model, LinearPart part,
                     std::vector<Source>& tensors) {
  part.users.rows = model.users.size();  // without factors too
  part.items.rows = model.items.size();
  tensors.push_back(matrix(prefix + "user_factors", part.users));
  tensors.push_back(matrix(prefix + "item_factors", part.items));
  const auto add_bias = [&](const char* name, std::span<const float> bias) {
    if (!bias.empty()) tensors.push_back(numbers(prefix + name, Type::kF32, bias));
  };
  add_bias("user_bias", part.user_bias);
  add_bias("item_bias", part.item_bias);
  add_bias("user_squares", part.user_squares);
  add_bias("item_squares", part.item_squares);
  add_changes(prefix, part, tensors);
}

constexpr Offset kNoRows[] = {0};

/// What a kind of model has beside its linear part: a kind without one of these does not compile.
void add_learned(const Factors&, std::vector<Source>&) {}
void add_learned(const Knn& learned, std::vector<Source>& tensors) {
  const KnnLists& lists = learned.neighbours;
  tensors.push_back(numbers<Offset>("neighbours.offsets", Type::kI64,
                                    lists.offsets.empty() ? kNoRows : lists.offsets.span()));
  tensors.push_back(numbers("neighbours.rows", Type::kI32, lists.rows.span()));
  tensors.push_back(numbers("neighbours.similarities", Type::kF32, lists.similarities.span()));
}
void add_learned(const Popularity&, std::vector<Source>&) {}
void add_learned(const Biases&, std::vector<Source>&) {}
void add_learned(const ItemWeights& learned, std::vector<Source>& tensors) {
  tensors.push_back(matrix("item_weights", learned.weights.view()));
}

/// `prefix`: of which side.
void add_features(const std::string& prefix, const Features& features, std::vector<Source>& tensors,
                  Metadata& metadata) {
  if (features.empty()) return;
  metadata[prefix + "features"] = fmt::format("{} {}", features.regularization, features.mean_bias);
  add_ids(prefix + "tag", features.tags, 0, tensors, metadata);
  tensors.push_back(matrix(prefix + "tag_factors", features.factors.view()));
  if (!features.bias.empty()) {
    tensors.push_back(numbers(prefix + "tag_bias", Type::kF32, features.bias.span()));
  }
  tensors.push_back(numbers(prefix + "tag_idf", Type::kF32, features.idf.span()));
  tensors.push_back(numbers(prefix + "tags.offsets", Type::kI64, features.weights.offsets.span()));
  tensors.push_back(numbers(prefix + "tags.columns", Type::kI32, features.weights.columns.span()));
  tensors.push_back(numbers(prefix + "tags.weights", Type::kF32, features.weights.values.span()));
}

std::vector<Source> list_tensors(const Model& model, const Trained& trained, Metadata& metadata) {
  std::vector<Source> tensors;
  const LinearPart linear = linear_part(trained.learned);
  add_linear_part("", model, linear, tensors);
  if (trained.last != nullptr) {
    add_linear_part("last.", model, linear_part(*trained.last), tensors);
  }
  std::visit([&](const auto* learned) { add_learned(*learned, tensors); }, trained.learned);
  const CsrMatrix& history = model.history;
  tensors.push_back(numbers<Offset>("history.offsets", Type::kI64,
                                    history.offsets.empty() ? kNoRows : history.offsets.span()));
  tensors.push_back(numbers("history.columns", Type::kI32, history.columns.span()));
  tensors.push_back(numbers("history.values", Type::kF32, history.values.span()));
  add_ids("user", model.users, linear.users.cols, tensors, metadata);
  add_ids("item", model.items, linear.items.cols, tensors, metadata);
  if (!model.titles.empty()) {
    tensors.push_back(numbers("item_titles.chars", Type::kU8, model.titles.chars.span()));
    tensors.push_back(numbers("item_titles.offsets", Type::kI64, model.titles.offsets.span()));
  }
  add_features("user_", model.user_features, tensors, metadata);
  add_features("item_", model.item_features, tensors, metadata);
  return safetensors::with_padding(std::move(tensors));
}

/// The first bytes of the file with the checksum of the whole: two passes over the data, because
/// output that may be a pipe cannot go back to the header.
std::string sealed_header(Metadata metadata, std::span<const Source> tensors) {
  metadata[kChecksumKey] = kNoChecksum;
  Checksum sum;
  sum.update(safetensors::encode_header(metadata, tensors));
  safetensors::for_each_chunk(tensors, [&](std::string_view bytes) { sum.update(bytes); });
  metadata[kChecksumKey] = sum.digits();
  return safetensors::encode_header(metadata, tensors);
}

void refuse_compression(const std::string& path) {
  for (const char* ending : {".gz", ".zst"}) {
    if (path.ends_with(ending)) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{}: models are not compressed, they are mapped: leave out the {}",
                              path, ending));
    }
  }
}

[[nodiscard]] const std::string& path_of(const std::string& path) { return path; }
[[nodiscard]] const std::string& path_of(const HeldFile& file) { return file.path(); }

/// To a path, or a HeldFile.
template <class Target>
void save(const Model& model, const Trained& trained, Target& to) {
  refuse_compression(path_of(to));
  validate_parts(model, trained);
  Metadata metadata = encode_metadata(model, trained);
  const std::vector<Source> tensors = list_tensors(model, trained, metadata);
  const std::string header = sealed_header(std::move(metadata), tensors);
  OutputFile out(to);
  out.write(header);
  safetensors::for_each_chunk(tensors, [&](std::string_view bytes) { out.write(bytes); });
  out.commit();
}

}  // namespace

void check_model_path(const std::string& path) {
  refuse_compression(path);
  check_output(path);
}

void save_model(const Model& model, const std::string& path) {
  save(model, trained_of(model), path);
}

namespace {

template <class Target>
void save_state(const Model& model, const TrainingState& state, Target& to) {
  const Factors& newest = state.factors();
  const bool newest_is_best = state.best == nullptr;
  save(model,
       {newest_is_best ? &newest : state.best, newest_is_best ? nullptr : &newest, state.iterations,
        state.best_iteration},
       to);
}

}  // namespace

void save_model(const Model& model, HeldFile& file) { save(model, trained_of(model), file); }

void save_checkpoint(const Model& model, const TrainingState& state, const std::string& path) {
  save_state(model, state, path);
}

void save_checkpoint(const Model& model, const TrainingState& state, HeldFile& file) {
  save_state(model, state, file);
}

}  // namespace likewise
