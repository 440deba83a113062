// SPDX-License-Identifier: Apache-2.0
/// What the parts of the extension share: NumPy arrays over memory of the library and back.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <span>
#include <string>
#include <utility>

#include "likewise/array.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/matrix.h"
#include "likewise/types.h"

namespace likewise::python {

namespace nb = nanobind;
using namespace nanobind::literals;  // NOLINT: "name"_a

void bind_errors(nb::module_& module);
void bind_devices(nb::module_& module);
void bind_paths(nb::module_& module);
void bind_arrow(nb::module_& module);
void bind_columns(nb::module_& module);
void bind_interactions(nb::module_& module);
void bind_model(nb::module_& module);
void bind_training(nb::module_& module);
void bind_tuning(nb::module_& module);
void bind_recommender(nb::module_& module);
void bind_evaluation(nb::module_& module);
void bind_cross_validation(nb::module_& module);
void bind_features(nb::module_& module);
void bind_ranks(nb::module_& module);

/// The name of a device, or of several GPUs by their numbers; else TypeError or ValueError.
[[nodiscard]] std::string device_name(nb::handle device);
/// A Device, or that of a name.
[[nodiscard]] Device device_for(nb::handle device);

/// The name of a file, from a str, bytes or os.PathLike: the one way for paths into the library.
/// TypeError for anything else, ValueError for what the system would cut or not take.
[[nodiscard]] std::string file_path(nb::handle path);
/// "" for None.
[[nodiscard]] std::string optional_path(nb::handle path);

/// Arrays from Python: of this type and without gaps, never converted. The Python side has said
/// what is wrong with anything else.
template <class T>
using In = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using InMatrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

template <class T>
[[nodiscard]] std::span<const T> span_of(const In<T>& array) {
  return {array.data(), array.size()};
}

/// Read-only views for Python; `owner` keeps the memory alive.
template <class T>
using View = nb::ndarray<nb::numpy, const T>;
/// New arrays for Python.
template <class T>
using Out = nb::ndarray<nb::numpy, T>;

template <class T>
[[nodiscard]] View<T> view_of(std::span<const T> values, nb::handle owner) {
  return View<T>(values.data(), {values.size()}, owner);
}

[[nodiscard]] inline View<float> view_of(const MatrixView& matrix, nb::handle owner) {
  return View<float>(matrix.data,
                     {static_cast<std::size_t>(matrix.rows), static_cast<std::size_t>(matrix.cols)},
                     owner, {matrix.stride, 1});
}

/// Hands an array over to Python without a copy.
template <class T>
[[nodiscard]] Out<T> give(Array<T> values, std::initializer_list<std::size_t> shape) {
  auto kept = std::make_unique<Array<T>>(std::move(values));
  T* data = kept->data();
  nb::capsule owner(kept.get(), [](void* array) noexcept { delete static_cast<Array<T>*>(array); });
  (void)kept.release();
  return Out<T>(data, shape, owner);
}
template <class T>
[[nodiscard]] Out<T> give(Array<T> values) {
  const auto size = static_cast<std::size_t>(values.size());
  return give(std::move(values), {size});
}

/// A table of Python's as the library keeps tables: rows padded with zeros.
[[nodiscard]] inline Matrix matrix_of(const InMatrix<float>& table) {
  const auto rows = static_cast<Index>(table.shape(0));
  const auto cols = static_cast<Index>(table.shape(1));
  Matrix matrix(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    std::copy_n(table.data() + static_cast<Offset>(r) * cols, cols, matrix.row(r));
  }
  return matrix;
}

}  // namespace likewise::python
