// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/core/image/pixel_type.hpp"

namespace rashpa::dataset {

/// The head of a NumPy `.npy` file (format versions 1 to 3).
struct NpyHeader {
  PixelType pixel = PixelType::u16;
  std::vector<std::uint64_t> shape;  ///< slowest axis first
};

/// The bytes that npy_data_offset() needs: magic, version, length of the header.
inline constexpr std::size_t kNpyPrefix = 12;

/// Returns true when the bytes begin as a `.npy` file does.
bool is_npy(std::span<const std::byte> bytes) noexcept;
/// Returns the offset of the pixels, at least kNpyPrefix, from the file's first kNpyPrefix bytes. Throws FileError
/// (without the file's name) when the bytes are no `.npy` file, the version is unknown, or the header is no dictionary
/// or longer than 64 KiB.
std::size_t npy_data_offset(std::span<const std::byte, kNpyPrefix> prefix);
/// Parses the header from untrusted bytes, npy_data_offset() of them. Accepts little-endian arrays of the pixel types
/// in C order with up to 8 axes; throws FileError (without the file's name) for anything else.
NpyHeader parse_npy_header(std::span<const std::byte> bytes);

}  // namespace rashpa::dataset
