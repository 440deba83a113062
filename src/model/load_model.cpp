// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <string>
#include <string_view>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "algorithms/algorithm.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "likewise/matrix.h"
#include "likewise/model.h"
#include "model/bad_data.h"
#include "model/checkpoint.h"
#include "model/checksum.h"
#include "model/known_formats.h"
#include "model/learned_parts.h"
#include "model/mapped_file.h"
#include "model/model_file.h"
#include "model/model_metadata.h"
#include "model/safetensors.h"

namespace likewise {
namespace {

using safetensors::Document;
using safetensors::Tensor;
using safetensors::Type;

bool aligned(const void* data) {
  return reinterpret_cast<std::uintptr_t>(data) % safetensors::kAlignment == 0;
}

/// Takes arrays out of a document: in place where they lie aligned, else copied (files written by
/// other programs).
class Loader {
 public:
  Loader(const Document& document, const std::shared_ptr<void>& owner)
      : document_(document), owner_(owner) {}

  [[nodiscard]] const Document& document() const { return document_; }

  template <class T>
  [[nodiscard]] Array<T> array(const std::string& name, Type type) const {
    return array<T>(document_.require(name, type, 1));
  }

  [[nodiscard]] Array<float> bias(const std::string& name) const {
    return document_.has(name) ? array<float>(name, Type::kF32) : Array<float>();
  }

  [[nodiscard]] RowChanges changes(const std::string& name) const {
    if (!document_.has(name)) return {};
    const auto ratio = array<float>(name + "_ratio", Type::kF32);
    if (ratio.size() != 1) bad_data(fmt::format("{}_ratio has {} numbers", name, ratio.size()));
    return {array<std::uint16_t>(document_.require(name, Type::kBF16, 2)), ratio[0]};
  }

  [[nodiscard]] Matrix matrix(const std::string& name) const {
    const Tensor& tensor = document_.require(name, Type::kF32, 2);
    const Index rows = extent(name, tensor.shape[0]);
    const Index cols = extent(name, tensor.shape[1]);
    if (cols == padded_stride(cols) && aligned(tensor.bytes.data())) {
      return {array<float>(tensor), rows, cols};
    }
    return padded(tensor, rows, cols);
  }

 private:
  static Index extent(const std::string& name, Offset size) {
    // Room to round up to the padded width.
    if (size > std::numeric_limits<Index>::max() - 64) {
      bad_data(fmt::format("tensor '{}' has a dimension of {}: too large", name, size));
    }
    return static_cast<Index>(size);
  }

  template <class T>
  [[nodiscard]] Array<T> array(const Tensor& tensor) const {
    const auto count = static_cast<Offset>(tensor.bytes.size() / sizeof(T));
    if (count == 0) return {};
    if (aligned(tensor.bytes.data())) {
      return Array<T>::over(owner_, reinterpret_cast<T*>(tensor.bytes.data()), count);
    }
    auto copy = Array<T>::uninitialized(count);
    std::memcpy(copy.data(), tensor.bytes.data(), tensor.bytes.size());
    return copy;
  }

  [[nodiscard]] static Matrix padded(const Tensor& tensor, Index rows, Index cols) {
    Matrix result(rows, cols);
    const std::size_t row_bytes = sizeof(float) * static_cast<std::size_t>(cols);
    if (row_bytes == 0) return result;
    parallel_for(rows, 4096, [&](Offset row) {
      std::memcpy(result.row(static_cast<Index>(row)),
                  tensor.bytes.data() + static_cast<std::size_t>(row) * row_bytes, row_bytes);
    });
    return result;
  }

  const Document& document_;
  const std::shared_ptr<void>& owner_;
};

/// Adds where a fault was found to its message.
template <class Work>
auto within(const std::string& place, const Work& work) {
  try {
    return work();
  } catch (const Error& fault) {
    throw Error(fault.kind(), fmt::format("{}: {}", place, fault.what()));
  }
}

/// All but the mean, which is metadata.
void load_factors(const Loader& load, const std::string& prefix, Factors& factors) {
  factors.users = load.matrix(prefix + "user_factors");
  factors.items = load.matrix(prefix + "item_factors");
  factors.user_bias = load.bias(prefix + "user_bias");
  factors.item_bias = load.bias(prefix + "item_bias");
  factors.user_squares = load.bias(prefix + "user_squares");
  factors.item_squares = load.bias(prefix + "item_squares");
  factors.user_changes = load.changes(prefix + "user_changes");
  factors.item_changes = load.changes(prefix + "item_changes");
}

IdMap load_ids(const Loader& load, const std::string& side, const Matrix& factors) {
  const std::string name = side + "_ids";
  const std::string& kind = require(load.document().metadata, name);
  if (kind == "range") {
    // Without factors the count of rows costs no bytes: a small file could ask for any amount.
    if (factors.cols() == 0) bad_data(fmt::format("metadata '{}': range needs factors", name));
    return IdMap::range(factors.rows());
  }
  return within(name, [&] {
    if (kind == "integers") {
      return IdMap::from_sorted_integers(load.array<std::int64_t>(name, Type::kI64));
    }
    if (kind == "text") {
      return IdMap::from_sorted_text(load.array<char>(name + ".chars", Type::kU8),
                                     load.array<Offset>(name + ".offsets", Type::kI64));
    }
    bad_data(fmt::format("the kind is '{}', it must be range, integers or text", kind));
  });
}

CsrMatrix load_history(const Loader& load, Index users, Index items) {
  return {users, items, load.array<Offset>("history.offsets", Type::kI64),
          load.array<Index>("history.columns", Type::kI32),
          load.array<float>("history.values", Type::kF32)};
}

KnnLists load_knn(const Loader& load) {
  return {load.array<Offset>("neighbours.offsets", Type::kI64),
          load.array<Index>("neighbours.rows", Type::kI32),
          load.array<float>("neighbours.similarities", Type::kF32)};
}

/// A kind of model that has no factors has tensors of no columns in their place.
void require_no_factors(const Factors& linear, const Model& model) {
  const auto check = [](const char* name, const Matrix& m, const IdMap& ids) {
    if (m.rows() == ids.size() && m.cols() == 0) return;
    bad_data(fmt::format("{} is {} x {}, it must be {} x 0 (ids x factors)", name, m.rows(),
                         m.cols(), ids.size()));
  };
  check("user_factors", linear.users, model.users);
  check("item_factors", linear.items, model.items);
}

/// `linear`: what every file has.
class LoadedParts final : public SavedParts {
 public:
  LoadedParts(const Loader& load, const Model& model, Factors linear)
      : load_(load), model_(model), linear_(std::move(linear)) {}

  Factors factors() override { return std::move(linear_); }
  Knn knn() override {
    require_no_factors(linear_, model_);
    KnnLists lists = load_knn(load_);
    return {std::move(lists), stored_biases()};
  }
  Popularity popularity() override {
    require_no_factors(linear_, model_);
    if (!linear_.user_bias.empty()) bad_data("user_bias: a popularity model has none");
    return {std::move(linear_.item_bias)};
  }
  Biases biases() override {
    require_no_factors(linear_, model_);
    return stored_biases();
  }
  ItemWeights item_weights() override {
    require_no_factors(linear_, model_);
    return {load_.matrix("item_weights")};
  }

 private:
  Biases stored_biases() {
    return {std::move(linear_.user_bias), std::move(linear_.item_bias), linear_.global_mean};
  }

  const Loader& load_;
  const Model& model_;
  Factors linear_;
};

Titles load_titles(const Loader& load) {
  const Document& document = load.document();
  if (!document.has("item_titles.chars") && !document.has("item_titles.offsets")) return {};
  return {load.array<char>("item_titles.chars", Type::kU8),
          load.array<Offset>("item_titles.offsets", Type::kI64)};
}

/// What add_features() of save_model.cpp writes; numbers are checked by Model::validate().
Features load_features(const Loader& load, const std::string& prefix, Index rows) {
  const auto& metadata = load.document().metadata;
  const auto stated = metadata.find(prefix + "features");
  if (stated == metadata.end()) return {};
  Features features;
  std::tie(features.regularization, features.mean_bias) =
      parse_features(prefix + "features", stated->second);
  features.tags = load_ids(load, prefix + "tag", {});
  features.factors = load.matrix(prefix + "tag_factors");
  features.bias = load.bias(prefix + "tag_bias");
  features.idf = load.array<float>(prefix + "tag_idf", Type::kF32);
  features.weights = {rows, features.tags.size(),
                      load.array<Offset>(prefix + "tags.offsets", Type::kI64),
                      load.array<Index>(prefix + "tags.columns", Type::kI32),
                      load.array<float>(prefix + "tags.weights", Type::kF32)};
  if (features.empty()) bad_data(fmt::format("metadata '{}features': there are no tags", prefix));
  return features;
}

void check_sum(const Document& document, std::span<const std::byte> file) {
  const std::string& stated = require(document.metadata, kChecksumKey);
  if (stated.size() != kNoChecksum.size()) {
    bad_data(fmt::format("metadata 'checksum' has {} digits, it must have {}", stated.size(),
                         kNoChecksum.size()));
  }
  const auto header_end =
      static_cast<std::size_t>(document.header.data() - file.data()) + document.header.size();
  const std::string found = file_checksum(file, header_end, stated);
  if (found == stated) return;
  bad_data(fmt::format("the checksum is {}, the file says {}: it was damaged or changed", found,
                       stated));
}

}  // namespace

Model model_from_bytes(const std::shared_ptr<void>& owner, std::span<std::byte> bytes,
                       VerifyChecksum verify) {
  refuse_known_formats(bytes);
  const Document document = safetensors::parse(bytes);
  check_format(document.metadata);
  if (verify == VerifyChecksum::kYes) check_sum(document, bytes);
  const Loader load(document, owner);
  Model model;
  Factors linear;
  decode_metadata(document.metadata, model, linear);
  load_factors(load, "", linear);
  if (model.last) load_factors(load, "last.", *model.last);
  model.users = load_ids(load, "user", linear.users);
  model.items = load_ids(load, "item", linear.items);
  LoadedParts parts(load, model, std::move(linear));
  model.learned = algorithm_of(model.params)->load_learned(parts);
  model.history = load_history(load, model.users.size(), model.items.size());
  model.titles = load_titles(load);
  model.user_features = load_features(load, "user_", model.users.size());
  model.item_features = load_features(load, "item_", model.items.size());
  model.validate();
  return model;
}

void refuse_other_files(const std::string& path) {
  std::error_code unknown;
  const bool has_content = std::filesystem::is_regular_file(path, unknown) &&
                           std::filesystem::file_size(path, unknown) > 0;
  if (!has_content) return;
  try {
    check_format(safetensors::parse(map_file(path).bytes).metadata);
  } catch (const Error& fault) {
    if (fault.kind() != ErrorKind::kBadData) throw;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{}: there is a file that is no model; name another checkpoint", path));
  }
}

Model load_model(const std::string& path) {
  const MappedFile file = map_file(path);
  try {
    return model_from_bytes(file.owner, file.bytes);
  } catch (const Error& fault) {
    throw Error(fault.kind(), fmt::format("{}: cannot load the model: {}", path, fault.message()));
  }
}

}  // namespace likewise
