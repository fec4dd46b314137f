// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads datasets in tests by the C API alone, so that the comparison shares no code with the sinks.
#include <gtest/gtest.h>
#include <hdf5.h>

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace rashpa::sink {

/// Returns all values of a dataset as `T`, the type in memory. A missing file or dataset fails the test and gives no
/// values.
template <typename T>
std::vector<T> read(const std::filesystem::path& file, const std::string& path, hid_t type) {
  const hid_t f = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  EXPECT_GE(f, 0) << file;
  if (f < 0) return {};
  const hid_t set = H5Dopen2(f, path.c_str(), H5P_DEFAULT);
  EXPECT_GE(set, 0) << path;
  std::vector<T> out;
  if (set >= 0) {
    const hid_t space = H5Dget_space(set);
    out.resize(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
    const bool read_well = out.empty() || H5Dread(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, out.data()) >= 0;
    EXPECT_TRUE(read_well) << path;
    H5Sclose(space);
    H5Dclose(set);
  }
  H5Fclose(f);
  return out;
}

}  // namespace rashpa::sink
