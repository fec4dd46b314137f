// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/error.hpp"
#include "rashpa/dataset/files/npy_header.hpp"

// Any bytes are either a header or a FileError; nothing else may be thrown, and nothing beyond the bytes read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    rashpa::dataset::parse_npy_header({reinterpret_cast<const std::byte*>(data), size});
  } catch (const rashpa::FileError&) {
  }
  return 0;
}
