// SPDX-License-Identifier: Apache-2.0
#include "options/paths.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/model.h"
#include "likewise/read.h"
#include "likewise/write.h"
#include "output/text.h"

namespace likewise::cli {
namespace {

struct Known {
  const NamedPath& path;
  std::string identity;
};

bool is_input(const NamedPath& one) {
  return one.use == PathUse::kInput || one.use == PathUse::kEarlierModel;
}

/// An output that is a file of its own, no model and not in a folder.
bool is_file(const NamedPath& one) {
  return one.use == PathUse::kOutput || one.use == PathUse::kRows ||
         one.use == PathUse::kInteractions;
}

/// Standard input and output under names that the system knows too.
std::string identity_of(const NamedPath& one) {
  if (one.path != "-") return file_identity(one.path);
  return file_identity(is_input(one) ? "/dev/stdin" : "/dev/stdout");
}

bool same_file(const Known& a, const Known& b) {
  if (a.path.path == "-" && b.path.path == "-" && is_input(a.path) == is_input(b.path)) return true;
  return !a.identity.empty() && a.identity == b.identity;
}

/// One is the model that grows out of the other.
bool grows(const NamedPath& a, const NamedPath& b) {
  return (a.use == PathUse::kEarlierModel && b.use == PathUse::kModel) ||
         (a.use == PathUse::kModel && b.use == PathUse::kEarlierModel);
}

/// Where a path leads from a folder on, e.g. "new.csv"; "../elsewhere" or nothing outside of it.
std::filesystem::path inside_of(const std::string& folder, const std::string& path) {
  namespace fs = std::filesystem;
  // A file to come is known by its folder and "/NAME", also behind a link to nothing.
  const std::string place = file_identity(path);
  const std::string there = file_identity(folder) + "/";
  if (place.starts_with(there)) return place.substr(there.size());
  std::error_code unknown;
  return fs::weakly_canonical(fs::absolute(path, unknown), unknown)
      .lexically_relative(fs::canonical(folder, unknown));
}

/// Whether the folder, read as data, would hold the other path too.
bool would_hold(const std::string& folder, const std::string& other) {
  std::error_code unknown;
  if (!std::filesystem::is_directory(folder, unknown)) return false;
  const auto inside = inside_of(folder, other);
  return !inside.empty() && is_read_in_folder(inside.begin()->string());  // ".." is not
}

std::string spoken(const NamedPath& one) {
  return one.path == "-" ? one.option : fmt::format("{} ({})", one.option, printable(one.path));
}

void refuse_output_in_folder(const NamedPath& input, const NamedPath& output) {
  if (!is_input(input) || is_input(output) || output.path == "-") return;
  if (!would_hold(input.path, output.path)) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} is a folder whose files are read, and {} would be one of them: write "
                          "it elsewhere",
                          spoken(input), spoken(output)));
}

void check_pair(const Known& one, const Known& other) {
  const NamedPath& a = one.path;
  const NamedPath& b = other.path;
  refuse_output_in_folder(a, b);
  refuse_output_in_folder(b, a);
  if (grows(a, b) || !same_file(one, other)) return;
  const char* why = "are the same file, and only one could be kept: name another file for one";
  if (is_input(a) && is_input(b)) {
    if (a.path != "-") return;
    why = "are both standard input, which can be read once: name a file for one of them";
  } else if (is_input(a) || is_input(b)) {
    why = "are the same file, which would be overwritten: name another file to write";
  }
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{} and {} {}", spoken(a), spoken(b), why));
}

}  // namespace

void check_paths(const std::vector<NamedPath>& paths) {
  std::vector<Known> given;
  for (const NamedPath& one : paths) {
    if (!one.path.empty()) given.push_back({one, identity_of(one)});
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) check_pair(given[j], given[i]);
  }
  for (const Known& one : given) {
    const std::string& path = one.path.path;
    if (one.path.use == PathUse::kRows) (void)table_format(path, kRowFormats);
    if (one.path.use == PathUse::kInteractions) (void)table_format(path, kInteractionFormats);
    if (is_file(one.path)) check_output(path);
    if (one.path.use == PathUse::kModel) check_model_path(path);
  }
}

/// A safetensors file begins with the length of its header (8 bytes, little endian), then "{".
/// Text never has that: one of the first eight bytes of a sane length is zero.
void check_paths(const std::string& argument, const std::vector<std::string>& inputs,
                 std::vector<NamedPath> others) {
  for (const std::string& path : inputs) others.insert(others.begin(), {argument, path});
  check_paths(others);
}

bool looks_like_model(const std::string& path) {
  std::error_code unknown;
  if (!std::filesystem::is_regular_file(path, unknown)) return false;
  std::ifstream file(path, std::ios::binary);
  std::array<char, 9> head{};
  if (!file.read(head.data(), head.size())) return false;
  return head[8] == '{' && std::find(head.begin(), head.begin() + 8, '\0') != head.begin() + 8;
}

}  // namespace likewise::cli
