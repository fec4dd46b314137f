// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/link/link.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/link/sls/sending/frame_buffer.hpp"
#include "rashpa/link/sls/sending/send_order.hpp"

namespace rashpa::link::sls {

struct SenderConfig {
  std::string bind_address = "127.0.0.1";
  Endpoint destination;  ///< endpoint of the receiver, from endpoints()
  Options options{};
  std::uint32_t dtp = 0;
  std::uint64_t images = 0;
  std::uint64_t payload_bytes = 0;  ///< bytes of the DTP's image, which is a whole port's
  std::optional<FaultConfig> faults{};
};

/// The source side of one DTP: a port of an SLS detector at the speed of its network. It gets no answers, so all images
/// are granted. Lines are copied, so that a frame's datagrams leave in the detector's order, merged where the kernel
/// can cut them (UDP_SEGMENT).
class SlsSender final : public Sender, public Injecting {
 public:
  /// Opens the socket. Throws ConfigError when the DTP is no whole port, and ResourceError.
  explicit SlsSender(const SenderConfig& config);

  [[nodiscard]] Endpoint endpoint() const override { return endpoint_; }
  std::size_t post(std::span<const BufferDescriptor> writes) override;
  bool post_event(const Event& event) override;
  std::size_t poll(std::uint32_t wait_us) override;
  [[nodiscard]] std::size_t pending() const noexcept override { return leaving_.size(); }
  [[nodiscard]] std::uint64_t granted() const noexcept override { return kUnlimited; }
  [[nodiscard]] std::uint32_t largest_message() const noexcept override { return shape_.payload; }
  [[nodiscard]] Counts stats() const override;
  [[nodiscard]] FaultCounts injected() const noexcept override { return order_.counts(); }
  [[nodiscard]] const Fates* fates() const noexcept override { return faulty_ ? &order_ : nullptr; }

 private:
  struct Message {
    std::span<const std::byte> bytes;
    std::size_t packets = 0;
  };
  void pump() noexcept;
  [[nodiscard]] Message next_message(std::size_t from, std::byte* damaged) const noexcept;
  [[nodiscard]] std::size_t due(std::int64_t now) const noexcept;
  void send(std::size_t most) noexcept;
  void count_sent(std::size_t packets, std::size_t& most) noexcept;

  Options options_;
  PortShape shape_;
  std::uint16_t row_;
  std::uint16_t column_;
  FrameBuffer frame_;
  SendOrder order_;
  bool faulty_;
  roce::UdpSocket socket_;
  Endpoint endpoint_;
  bool gso_;
  std::uint64_t linear_ = 0;           // bytes of the image that were posted
  std::size_t done_ = 0;               // writes, since the last poll
  std::span<const Leaving> leaving_;   // of the frame that is being sent
  std::size_t sent_ = 0;               // datagrams of the frame …
  std::int64_t sending_since_ns_ = 0;  // … and when the first was due
  std::uint64_t first_tai_ns_ = 0;
  std::vector<std::byte> damaged_;  // copies, one a message
  SenderCounters counters_;
};

}  // namespace rashpa::link::sls
