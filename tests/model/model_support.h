// SPDX-License-Identifier: Apache-2.0
/// Small models of every kind, their comparison bit by bit, and files taken apart.
#pragma once

#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "likewise/model.h"
#include "model/checksum.h"
#include "model/model_file.h"
#include "tests/learned.h"
#include "tests/support.h"

namespace likewise::test {

enum class Ids { kRange, kIntegers, kText };

struct ModelShape {
  Index users = 5;
  Index items = 9;
  Index factors = 7;
  Ids ids = Ids::kText;
  bool biases = false;
};

inline IdMap make_ids(Index count, Ids kind, const char* prefix) {
  if (kind == Ids::kRange) return IdMap::range(count);
  std::vector<std::int64_t> numbers;
  std::vector<std::string> names;
  for (Index i = 0; i < count; ++i) {
    numbers.push_back((std::int64_t{i} - 2) * 4'000'000'019LL);
    names.push_back(i == 0 ? std::string() : fmt::format("{}\n\xff{}", prefix, i));
  }
  return kind == Ids::kText ? IdMap::from_text(names)
                            : IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(numbers));
}

inline Matrix random_matrix(Index rows, Index cols, std::mt19937_64& random) {
  Matrix m(rows, cols);
  std::normal_distribution<float> normal;
  for (Index r = 0; r < rows; ++r) {
    for (float& value : m.row_span(r)) value = normal(random);
  }
  if (rows > 0 && cols > 0) m.row(0)[0] = -0.0F;  // a bit pattern that == would not tell from 0
  return m;
}

inline Array<float> random_numbers(Index count, std::mt19937_64& random) {
  Array<float> numbers(count);
  std::normal_distribution<float> normal;
  for (float& value : numbers) value = normal(random);
  return numbers;
}

/// An ALS model, or for 0 factors a popularity model; with biases it has titles too. Its parameters
/// and reports are numbers that have no short decimal form.
inline Model make_model(const ModelShape& shape) {
  std::mt19937_64 random(7);
  Model model;
  model.users = make_ids(shape.users, shape.ids, "user");
  model.items = make_ids(shape.items, shape.ids, "item");
  if (shape.factors > 0) {
    Factors factors;
    factors.users = random_matrix(shape.users, shape.factors, random);
    factors.items = random_matrix(shape.items, shape.factors, random);
    if (shape.biases) {
      factors.user_bias = random_numbers(shape.users, random);
      factors.item_bias = random_numbers(shape.items, random);
    }
    factors.global_mean = 1.0F / 3.0F;
    model.learned = std::move(factors);
  } else {
    model.learned = Popularity{random_numbers(shape.items, random)};
  }
  model.history = random_csr(shape.users, shape.items, 3.0);
  const Feedback feedback = shape.biases ? Feedback::kExplicit : Feedback::kImplicit;
  AlsParams als{.feedback = feedback, .factors = shape.factors, .regularization = 0.1 / 3.0};
  if (!shape.biases) als.unobserved_weight = 1e-7 / 3.0;
  als.confidence = Confidence::kLog;
  als.solver = AlsSolverKind::kCg;
  als.precision = Precision::kBf16;
  als.seed = 0xffff'ffff'ffff'fff1ULL;
  if (shape.factors > 0) {
    model.params = als;
  } else {
    model.params = PopularParams{feedback};
  }
  if (shape.biases) {
    std::vector<std::string> titles;
    for (Index i = 0; i < shape.items; ++i) {
      titles.push_back(i == 1 ? std::string() : fmt::format("T\xc3\xa4tel, \"{}\"", i));
    }
    model.titles = make_titles(titles);
  }
  model.validation_metric = "ndcg@10";
  model.stop_reason = "patience";
  model.iterations = {{1, 1e300 / 3.0, 0.1, std::nullopt}, {2, -2.0 / 3.0, 5e-324, 1.0 / 7.0}};
  model.best_iteration = 2;
  model.provenance = {"", "2026-01-02T03:04:05Z", "r\xc3\xa4tings \"1\".csv",
                      "cpu (AVX2, 2 threads)"};
  if (shape.biases) {
    model.provenance.updates = {
        {"2026-02-03T04:05:06Z", "n\xc3\xa4w.csv", "cpu", 7'000'000'000, 3, 0, 2, "sgd"},
        {"", "", "", 0, 0, 2'147'483'647, 0, ""}};
  }
  return model;
}

template <class T>
void expect_same_bytes(std::span<const T> a, std::span<const T> b, const char* what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  if (a.empty()) return;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size_bytes()), 0) << what;
}

inline void expect_same_ids(const IdMap& a, const IdMap& b) {
  EXPECT_EQ(a.size(), b.size());
  EXPECT_EQ(a.is_integer(), b.is_integer());
  expect_same_bytes(a.integers(), b.integers(), "integers");
  expect_same_bytes(a.chars(), b.chars(), "chars");
  expect_same_bytes(a.offsets(), b.offsets(), "offsets");
}

/// Padding included: kernels rely on its zeros.
inline void expect_same_matrix(const Matrix& a, const Matrix& b, const char* what) {
  ASSERT_EQ(a.rows(), b.rows()) << what;
  ASSERT_EQ(a.cols(), b.cols()) << what;
  const auto count = static_cast<std::size_t>(a.rows()) * static_cast<std::size_t>(a.stride());
  expect_same_bytes<float>({a.data(), count}, {b.data(), count}, what);
}

inline void expect_same_factors(const Factors& a, const Factors& b) {
  expect_same_matrix(a.users, b.users, "user factors");
  expect_same_matrix(a.items, b.items, "item factors");
  expect_same_bytes(a.user_bias.span(), b.user_bias.span(), "user bias");
  expect_same_bytes(a.item_bias.span(), b.item_bias.span(), "item bias");
  EXPECT_EQ(a.global_mean, b.global_mean);
}

inline void expect_same_iterations(std::span<const Iteration> a, std::span<const Iteration> b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].iteration, b[i].iteration);
    EXPECT_EQ(a[i].objective, b[i].objective);
    EXPECT_EQ(a[i].seconds, b[i].seconds);
    EXPECT_EQ(a[i].validation, b[i].validation);
  }
}

inline std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

/// The bytes as a model, without a file.
inline Model model_from_string(const std::string& bytes) {
  auto copy = std::make_shared<Array<char>>(Array<char>::copy_of(bytes));
  char* const data = copy->data();
  return model_from_bytes(copy, std::as_writable_bytes(std::span<char>(data, bytes.size())));
}

/// A model file taken apart, to be changed and put together again with a right checksum.
struct ModelParts {
  nlohmann::ordered_json header;
  std::string data;

  explicit ModelParts(const std::string& bytes) {
    std::uint64_t length = 0;
    std::memcpy(&length, bytes.data(), sizeof(length));
    header = nlohmann::ordered_json::parse(bytes.substr(8, length));
    data = bytes.substr(8 + length);
  }

  [[nodiscard]] nlohmann::ordered_json& metadata() { return header["__metadata__"]; }

  /// The first byte of a tensor in `data`.
  [[nodiscard]] char* tensor(const std::string& name) {
    return data.data() + header.at(name).at("data_offsets").at(0).get<std::size_t>();
  }

  template <class T>
  void set(const std::string& name, std::size_t index, T value) {
    std::memcpy(tensor(name) + index * sizeof(T), &value, sizeof(T));
  }

  [[nodiscard]] static std::string join(std::string text, const std::string& data) {
    text.append((64 - (8 + text.size()) % 64) % 64, ' ');
    const std::uint64_t length = text.size();
    std::string bytes(8, '\0');
    std::memcpy(bytes.data(), &length, sizeof(length));
    return bytes + text + data;
  }

  [[nodiscard]] std::string sealed() {
    const bool stated = header.contains("__metadata__") && metadata().contains("checksum");
    if (!stated) return join(header.dump(), data);
    metadata()["checksum"] = kNoChecksum;
    Checksum sum;
    sum.update(join(header.dump(), data));
    metadata()["checksum"] = sum.digits();
    return join(header.dump(), data);
  }
};

/// The bytes of its file.
inline std::string saved(const Model& model) {
  const TemporaryFolder folder;
  save_model(model, folder / "m.safetensors");
  return read_file(folder / "m.safetensors");
}

}  // namespace likewise::test
