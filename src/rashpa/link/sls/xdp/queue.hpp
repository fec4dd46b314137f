// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/link/arrivals/scattered_bytes.hpp"
#include "rashpa/link/sls/xdp/interface.hpp"
#include "rashpa/link/sls/xdp/kernel.hpp"
#include "rashpa/link/sls/xdp/ring.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::sls::xdp {

/// The memory for frames of one receive queue, and the ring by which the kernel gets it. The sockets of all ports share
/// both.
class FrameMemory {
 public:
  /// Takes memory for `chunks`. Throws ResourceError.
  explicit FrameMemory(std::uint32_t chunks);
  FrameMemory(const FrameMemory&) = delete;
  FrameMemory& operator=(const FrameMemory&) = delete;

  /// Makes `socket` the first one that uses the memory, and gives all chunks to the kernel. Throws ResourceError.
  void join(int socket);
  /// Returns chunks to the kernel. Any thread.
  void give_back(std::span<const std::uint64_t> chunks) noexcept;
  [[nodiscard]] const std::byte* data() const noexcept { return memory_.data(); }

 private:
  memory::Buffer memory_;
  std::uint32_t chunks_;
  std::mutex giving_;
  Ring<std::uint64_t> fill_;
  std::uint32_t given_ = 0;
  int socket_ = -1;
};

/// The frames of one port from one queue. One thread uses it.
class FrameSocket {
 public:
  static constexpr std::size_t kMostPieces = 24;  ///< chunks of a frame; more than of the largest IP packet
  /// A frame; it stays valid until give_back().
  using Frame = std::span<const ScatteredBytes::Piece>;

  /// Opens the socket at a queue. `first`: the socket that has joined `memory`; −1: this one will. `chunks` is a power
  /// of two. Throws ResourceError.
  FrameSocket(const Interface& interface, std::uint32_t queue, FrameMemory& memory, std::uint32_t chunks, int first);

  /// Returns the next frame without taking it; its pieces are written to `pieces`. A frame of more pieces than fit is
  /// empty.
  [[nodiscard]] std::optional<Frame> next(std::span<ScatteredBytes::Piece, kMostPieces> pieces) noexcept;
  /// Takes the frame that next() returned.
  void take() noexcept;
  /// Returns the chunks of all taken frames to the kernel.
  void give_back() noexcept;
  /// Returns the kernel's counts.
  [[nodiscard]] xdp_statistics statistics() const noexcept;
  [[nodiscard]] int fd() const noexcept { return socket_.get(); }

 private:
  FrameMemory* memory_;
  FileDescriptor socket_;
  Ring<xdp_desc> ring_;
  std::uint32_t read_ = 0;      // place of the next frame …
  std::uint32_t next_end_ = 0;  // … and behind it
  std::uint32_t produced_ = 0;  // as the kernel last said
  std::vector<std::uint64_t> held_;
};

}  // namespace rashpa::link::sls::xdp
