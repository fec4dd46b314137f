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
#include "rashpa/memory/gather/gather.hpp"

namespace rashpa::link::sls::xdp {

/// The memory for frames of one receive queue, and the ring by which the kernel gets it. The sockets of all ports share
/// both.
class FrameMemory {
 public:
  /// Takes memory for `chunks`, open to a device where `gathers` is given. Throws ResourceError.
  explicit FrameMemory(std::uint32_t chunks, memory::Gathering* gathers = nullptr);
  FrameMemory(const FrameMemory&) = delete;
  FrameMemory& operator=(const FrameMemory&) = delete;

  /// Makes `socket` the first one that uses the memory, and gives all chunks to the kernel. Throws ResourceError.
  void join(int socket);
  /// Returns chunks to the kernel. Any thread.
  void give_back(std::span<const std::uint64_t> chunks) noexcept;
  [[nodiscard]] const std::byte* data() const noexcept { return memory_.data(); }
  [[nodiscard]] std::uint32_t chunks() const noexcept { return chunks_; }

 private:
  memory::Buffer memory_;
  std::shared_ptr<void> open_;  // to a device
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
  /// Returns the chunks of all taken frames to the kernel; with `gather` of those that no list under way can name.
  void give_back(const memory::Gather* gather) noexcept;
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
  struct Held {
    std::uint64_t chunk;
    std::uint64_t list;  // of the gather, that has to end first
  };
  std::vector<Held> held_;
  std::size_t given_ = 0;   // of held_, from its begin …
  std::size_t listed_ = 0;  // … and those whose list is known
  std::vector<std::uint64_t> free_;
};

}  // namespace rashpa::link::sls::xdp
