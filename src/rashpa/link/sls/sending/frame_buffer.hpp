// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One frame of a port as consecutive datagrams. The DTP's thread uses it; the constructor takes all memory.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "rashpa/link/sls/header.hpp"
#include "rashpa/link/sls/port_shape.hpp"

namespace rashpa::link::sls {

class FrameBuffer {
 public:
  FrameBuffer(const Options& options, const PortShape& shape, bool flipped);

  /// Writes bytes of the image's lines from byte `linear` on, lines counted from the top; bytes outside the frame are
  /// left out.
  void write(std::uint64_t linear, std::span<const std::byte> bytes) noexcept;
  /// Writes the headers of all packets; `header` has all but their numbers.
  void set_headers(Header header) noexcept;
  /// Returns `count` datagrams of the frame from place `packet` on.
  [[nodiscard]] std::span<const std::byte> datagrams(std::uint32_t packet, std::uint32_t count) const noexcept {
    return std::span(bytes_).subspan(std::size_t{packet} * stride_, std::size_t{count} * stride_);
  }
  [[nodiscard]] std::uint32_t stride() const noexcept { return stride_; }

 private:
  void put(std::uint64_t at, std::span<const std::byte> bytes) noexcept;

  PortShape shape_;
  Nibbles nibbles_;
  bool flipped_;
  std::uint32_t stride_;
  std::vector<std::byte> bytes_;
};

}  // namespace rashpa::link::sls
