// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/sending/frame_buffer.hpp"

#include <algorithm>
#include <cstring>

namespace rashpa::link::sls {

FrameBuffer::FrameBuffer(const Options& options, const PortShape& shape, bool flipped)
    : shape_(shape),
      nibbles_(options.nibbles),
      flipped_(flipped),
      stride_(shape.payload + static_cast<std::uint32_t>(kHeaderBytes)),
      bytes_(std::size_t{shape.packets} * stride_) {}

void FrameBuffer::write(std::uint64_t linear, std::span<const std::byte> bytes) noexcept {
  while (!bytes.empty()) {
    const std::uint64_t line = linear / shape_.row_bytes;
    const std::uint64_t column = linear % shape_.row_bytes;
    if (line >= shape_.rows) return;
    const std::size_t run = std::min<std::size_t>(bytes.size(), shape_.row_bytes - column);
    const std::uint64_t row = flipped_ ? shape_.rows - 1 - line : line;
    put(row * shape_.row_bytes + column, bytes.first(run));
    bytes = bytes.subspan(run);
    linear += run;
  }
}

// `at`: in the frame as it is sent, widened.
void FrameBuffer::put(std::uint64_t at, std::span<const std::byte> bytes) noexcept {
  const std::uint32_t widening = shape_.widening();
  const std::uint64_t payload = std::uint64_t{shape_.payload} * widening;
  while (!bytes.empty()) {
    const std::uint64_t packet = at / payload;
    const std::uint64_t inside = at % payload;
    const std::size_t run = std::min<std::size_t>(bytes.size(), payload - inside);
    std::byte* const to = bytes_.data() + packet * stride_ + kHeaderBytes + inside / widening;
    if (widening == 1) {
      std::memcpy(to, bytes.data(), run);
    } else {
      const std::size_t first = nibbles_ == Nibbles::low_first ? 0 : 1;
      for (std::size_t i = 0; i + 1 < run; i += 2) {
        to[i / 2] = (bytes[i + first] & std::byte{0xF}) | (bytes[i + 1 - first] << 4);
      }
    }
    bytes = bytes.subspan(run);
    at += run;
  }
}

void FrameBuffer::set_headers(Header header) noexcept {
  for (std::uint32_t packet = 0; packet < shape_.packets; ++packet) {
    header.packet_number = shape_.first_packet + packet;
    store(header, std::span(bytes_).subspan(std::size_t{packet} * stride_).first<kHeaderBytes>());
  }
}

}  // namespace rashpa::link::sls
