// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/sink/hdf5/hdf5_io.hpp"

namespace rashpa::sink::h5 {

/// Returns the library's type of a pixel in memory.
hid_t native_of(PixelType pixel);
/// Returns the value that means "no valid pixel", in the bits of the type.
std::uint32_t fill_bits(PixelType pixel);

}  // namespace rashpa::sink::h5
