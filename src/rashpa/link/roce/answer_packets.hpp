// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "rashpa/link/counters.hpp"
#include "rashpa/link/roce/packet_counters.hpp"
#include "rashpa/link/roce/packet_handler.hpp"
#include "rashpa/link/roce/sockets/receiver_socket.hpp"
#include "rashpa/link/roce/transports/acknowledge.hpp"

namespace rashpa::link::roce {

/// Collects the answers of the responders of one link thread, for RC, and sends them once a batch by one system call.
/// The constructor takes all memory.
class AnswerPackets {
 public:
  explicit AnswerPackets(std::size_t ports);
  /// Sets the path for answers of port `index`: from `local` to queue pair `qpn` at `source`. Call it before use.
  void connect(std::size_t index, const wire::Address& local, const wire::Address& source, std::uint32_t qpn,
               Framing framing);
  /// Sends the answers. One that cannot be sent now counts as lost; the source will retry.
  void send(const std::vector<PacketDtp*>& ports, const ReceiverSocket& socket, PacketCounters& counters) noexcept;

 private:
  static constexpr std::size_t kPerPort = 2;  // a NAK and an acknowledgement
  void add(AcknowledgementWriter& writer, const Acknowledgement& answer, const ReceiverSocket& socket) noexcept;

  std::vector<std::optional<AcknowledgementWriter>> writers_;
  std::vector<std::array<std::byte, AcknowledgementWriter::kLongest>> packets_;
  std::vector<iovec> pieces_;
  std::vector<mmsghdr> messages_;
  std::size_t count_ = 0;
};

}  // namespace rashpa::link::roce
