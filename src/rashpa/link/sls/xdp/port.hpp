// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/link/sls/port_intake.hpp"
#include "rashpa/link/sls/port_socket.hpp"
#include "rashpa/link/sls/xdp/frame.hpp"
#include "rashpa/link/sls/xdp/queue.hpp"

namespace rashpa::link::sls::xdp {

/// The datagrams of one port: frames from all queues of an interface, and datagrams that the kernel's own socket has
/// got: fragments that it has joined, and frames with a tag or options.
class Port final : public PortIntake {
 public:
  /// Takes the port's sockets, one for each queue. `stride` is the bytes of a datagram. `first`: this port counts for
  /// all ports what is counted once a queue. `gather` takes pixels from the frames; null: nothing does. Socket,
  /// counters and gather outlive it. Throws ResourceError.
  Port(std::vector<std::unique_ptr<FrameSocket>> queues, PortSocket& socket, std::size_t stride,
       std::uint64_t queue_bytes, bool first, PortCounters& counters, const memory::Gather* gather);

  std::span<const Intake> receive(bool& drained) noexcept override;
  std::optional<std::span<const std::byte>> peek(std::span<std::byte> room) noexcept override;
  void discard() noexcept override;
  void count_drops(PortCounters& counters) noexcept override;
  [[nodiscard]] int fd() const noexcept override { return all_.get(); }
  [[nodiscard]] std::uint64_t buffer() const noexcept override { return buffer_; }

 private:
  static constexpr std::size_t kBatch = 64;
  using Pieces = std::array<ScatteredBytes::Piece, FrameSocket::kMostPieces>;
  [[nodiscard]] ParsedFrame judge(FrameSocket::Frame frame) noexcept;
  bool take_from(FrameSocket& queue, std::size_t& count) noexcept;

  std::vector<std::unique_ptr<FrameSocket>> queues_;
  std::vector<xdp_statistics> seen_;  // of each queue
  PortSocket* socket_;
  std::size_t stride_;
  std::uint64_t buffer_;
  bool first_;
  PortCounters* counters_;
  const memory::Gather* gather_;
  FileDescriptor all_;  // epoll
  std::vector<Pieces> pieces_;
  std::vector<Intake> taken_;
  std::size_t turn_ = 0;           // the queue that is read first
  bool older_ = true;              // the socket may have datagrams from before the program
  FrameSocket* peeked_ = nullptr;  // null: the kernel's socket
};

}  // namespace rashpa::link::sls::xdp
