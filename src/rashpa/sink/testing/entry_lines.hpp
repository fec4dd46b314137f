// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes all content of a group of a file as lines of text, by the C API alone, for tests that compare whole files.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstdint>
#include <functional>
#include <sstream>
#include <string>
#include <vector>

namespace rashpa::sink {

/// A function that reads values as the given memory type.
using ReadValues = std::function<herr_t(hid_t, void*)>;

/// Returns values as numbers, with a space before each.
template <typename T>
std::string numbers_text(std::size_t count, hid_t memory, const ReadValues& read) {
  std::vector<T> values(count);
  EXPECT_GE(count == 0 ? 0 : read(memory, values.data()), 0);
  std::ostringstream text;
  for (const T value : values) text << ' ' << value;
  return text.str();
}

/// Returns texts of any length in quotes, with a space before each.
inline std::string texts_text(std::size_t count, hid_t type, const ReadValues& read) {
  EXPECT_GT(H5Tis_variable_str(type), 0);
  std::vector<char*> words(count);
  EXPECT_GE(count == 0 ? 0 : read(type, static_cast<void*>(words.data())), 0);
  std::string text;
  for (char* word : words) {
    text += " '" + std::string(word == nullptr ? "" : word) + "'";
    H5free_memory(word);
  }
  return text;
}

/// Returns type, shape and values: "u32[2] 3 4". Closes `type` and `space`.
inline std::string values_text(hid_t type, hid_t space, const ReadValues& read) {
  const auto count = static_cast<std::size_t>(H5Sget_simple_extent_npoints(space));
  const std::string bits = std::to_string(8 * H5Tget_size(type));
  std::vector<hsize_t> shape(static_cast<std::size_t>(H5Sget_simple_extent_ndims(space)));
  H5Sget_simple_extent_dims(space, shape.data(), nullptr);
  std::string axes;
  for (const hsize_t size : shape) axes += "[" + std::to_string(size) + "]";
  const H5T_class_t kind = H5Tget_class(type);
  std::string text;
  if (kind == H5T_STRING) {
    text = "text" + axes + texts_text(count, type, read);
  } else if (kind == H5T_FLOAT) {
    text = "f" + bits + axes + numbers_text<double>(count, H5T_NATIVE_DOUBLE, read);
  } else if (H5Tget_sign(type) == H5T_SGN_2) {
    text = "i" + bits + axes + numbers_text<std::int64_t>(count, H5T_NATIVE_INT64, read);
  } else {
    text = "u" + bits + axes + numbers_text<std::uint64_t>(count, H5T_NATIVE_UINT64, read);
  }
  H5Tclose(type);
  H5Sclose(space);
  return text;
}

/// Adds the lines of an object and of all objects below it, by name: "path @name = values" for attributes, "path =
/// values" for datasets.
inline void add_entry_lines(hid_t parent, const std::string& name, const std::string& path,
                            std::vector<std::string>& lines) {
  const hid_t object = H5Oopen(parent, name.c_str(), H5P_DEFAULT);
  EXPECT_GE(object, 0) << path;
  const int attributes = H5Aget_num_attrs(object);
  for (int n = 0; n < attributes; ++n) {
    const hid_t one =
        H5Aopen_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, static_cast<hsize_t>(n), H5P_DEFAULT, H5P_DEFAULT);
    char word[64] = {};
    H5Aget_name(one, sizeof word, word);
    lines.push_back(path + " @" + word + " = " +
                    values_text(H5Aget_type(one), H5Aget_space(one),
                                [one](hid_t type, void* to) { return H5Aread(one, type, to); }));
    H5Aclose(one);
  }
  if (H5Iget_type(object) == H5I_DATASET) {
    lines.push_back(path + " = " +
                    values_text(H5Dget_type(object), H5Dget_space(object), [object](hid_t type, void* to) {
                      return H5Dread(object, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, to);
                    }));
  } else {
    H5G_info_t info{};
    H5Gget_info(object, &info);
    for (hsize_t n = 0; n < info.nlinks; ++n) {
      char word[64] = {};
      H5Lget_name_by_idx(object, ".", H5_INDEX_NAME, H5_ITER_INC, n, word, sizeof word, H5P_DEFAULT);
      add_entry_lines(object, word, path + "/" + word, lines);
    }
  }
  H5Oclose(object);
}

/// Returns the lines of an object and of all objects below it.
inline std::vector<std::string> entry_lines(hid_t parent, const std::string& name) {
  std::vector<std::string> lines;
  add_entry_lines(parent, name, name, lines);
  return lines;
}

}  // namespace rashpa::sink
