// SPDX-License-Identifier: Apache-2.0
/// Filter 32008 inside this process. The sink writes finished chunks and never runs it; the library only asks that a
/// filter be known before it creates a dataset that names it (and our C++ tests read through it).
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/sink/hdf5/hdf5_io.hpp"

namespace rashpa::sink::h5 {
namespace {

namespace bslz4 = kernel::bitshuffle_lz4;

constexpr unsigned kLz4 = 2;
constexpr std::size_t kMaxValues = 8;

/// Puts what the plugin's readers expect before the user values: the format's version (0.4) and the element size.
herr_t set_local(hid_t dcpl, hid_t type, hid_t) {
  unsigned flags = 0;
  std::size_t count = kMaxValues;
  unsigned values[kMaxValues] = {};
  if (H5Pget_filter_by_id2(dcpl, bslz4::kFilterId, &flags, &count, values, 0, nullptr, nullptr) < 0) return -1;
  const std::size_t element_bytes = H5Tget_size(type);
  if (!bslz4::is_element(element_bytes)) return -1;
  const unsigned full[5] = {0, 4, static_cast<unsigned>(element_bytes), count > 0 ? values[0] : 0, kLz4};
  return H5Pmodify_filter(dcpl, bslz4::kFilterId, flags, 5, full);
}

/// The library frees and owns filter buffers with malloc and free.
std::size_t filter(unsigned flags, std::size_t count, const unsigned* values, std::size_t bytes, std::size_t* room,
                   void** buffer) {
  if (count < 5 || values[4] != kLz4) return 0;
  const std::size_t element_bytes = values[2];
  const std::span<const std::byte> in(static_cast<const std::byte*>(*buffer), bytes);
  std::size_t size = 0;
  void* out = nullptr;
  if ((flags & H5Z_FLAG_REVERSE) != 0) {
    const auto stated = bslz4::uncompressed_bytes(in);
    if (!stated || *stated > std::uint64_t{1} << 32) return 0;
    out = std::malloc(*stated);
    if (out != nullptr && bslz4::decompress(in, element_bytes, {static_cast<std::byte*>(out), *stated})) size = *stated;
  } else {
    const std::size_t bound = bslz4::compressed_bound(bytes, element_bytes);
    out = std::malloc(bound);
    if (out != nullptr) size = bslz4::Compressor(element_bytes).compress(in, {static_cast<std::byte*>(out), bound});
  }
  if (size == 0) {
    std::free(out);
    return 0;
  }
  std::free(*buffer);
  *buffer = out;
  *room = size;
  return size;
}

/// The library calls us from C: nothing may be thrown through it.
std::size_t filter_for_c(unsigned flags, std::size_t count, const unsigned* values, std::size_t bytes,
                         std::size_t* room, void** buffer) noexcept {
  try {
    return filter(flags, count, values, bytes, room, buffer);
  } catch (...) {
    return 0;
  }
}

}  // namespace

void register_bitshuffle() {
  static const H5Z_class2_t filter_class{H5Z_CLASS_T_VERS,          bslz4::kFilterId, 1,          1,
                                         "rashpa bitshuffle (LZ4)", nullptr,          &set_local, &filter_for_c};
  static std::once_flag once;
  std::call_once(once, [] { check(H5Zregister(&filter_class), "register filter 32008"); });
}

Handle bitshuffled(std::span<const hsize_t> chunk) {
  register_bitshuffle();
  Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "create dataset properties");
  check(H5Pset_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data()), "set the chunk shape");
  const unsigned values[2] = {0, kLz4};
  check(H5Pset_filter(properties.get(), bslz4::kFilterId, H5Z_FLAG_MANDATORY, 2, values), "set filter 32008");
  return properties;
}

}  // namespace rashpa::sink::h5
