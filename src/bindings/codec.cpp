// SPDX-License-Identifier: Apache-2.0
/// Compressed chunks of images, as files hold them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "bindings/bindings.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/kernel/bitshuffle_lz4/lz4_chunk.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
namespace bslz4 = kernel::bitshuffle_lz4;

namespace {

using Bytes = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Room = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::span<const std::byte> bytes_of(const Bytes& array) {
  return {reinterpret_cast<const std::byte*>(array.data()), array.size()};
}
std::span<std::byte> room_of(const Room& array) { return {reinterpret_cast<std::byte*>(array.data()), array.size()}; }

}  // namespace

void bind_codec(nb::module_& m) {
  nb::class_<bslz4::ThreadedCodec>(m, "BitshuffleLz4")
      .def(nb::init<std::size_t, unsigned>(), "element_bytes"_a, "threads"_a = 1)
      .def(
          "compress",
          [](bslz4::ThreadedCodec& codec, const Bytes& pixels, const Room& out) {
            const std::span<const std::byte> from = bytes_of(pixels);
            const std::span<std::byte> to = room_of(out);
            std::size_t bytes = 0;
            {
              const nb::gil_scoped_release released;
              bytes = codec.compress(from, to);
            }
            if (bytes == 0)
              throw ConfigError(
                  "bitshuffle_lz4: the pixels are no whole number of elements, or the chunk has no room; "
                  "give whole elements and chunk_bytes() of room");
            return bytes;
          },
          "pixels"_a, "out"_a)
      .def(
          "decompress",
          [](bslz4::ThreadedCodec& codec, const Bytes& chunk, const Room& out) {
            const std::span<const std::byte> from = bytes_of(chunk);
            const std::span<std::byte> to = room_of(out);
            const nb::gil_scoped_release released;
            return codec.decompress(from, to);
          },
          "chunk"_a, "out"_a)
      .def(
          "bound",
          [](const bslz4::ThreadedCodec& /*codec*/, std::size_t bytes, std::size_t element_bytes) {
            return bslz4::compressed_bound(bytes, element_bytes);
          },
          "bytes"_a, "element_bytes"_a);
  m.def(
      "decompress_lz4",
      [](const Bytes& chunk, const Room& out) {
        const std::span<const std::byte> from = bytes_of(chunk);
        const std::span<std::byte> to = room_of(out);
        const nb::gil_scoped_release released;
        return bslz4::decompress_lz4_chunk(from, to);
      },
      "chunk"_a, "out"_a);
  m.def(
      "crc32c",
      [](const nb::bytes& data) {
        return crc32c({static_cast<const std::byte*>(data.data()), data.size()});
      },
      "data"_a);
}

}  // namespace rashpa::bindings
