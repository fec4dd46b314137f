#pragma once
/// What is inside a RoceSender: sender_setup.cpp makes it, sender.cpp runs it. Nobody else includes this.
#include "rashpa/link/counters.hpp"
#include "rashpa/link/roce/credits/return_path.hpp"
#include "rashpa/link/roce/faults/fault_injector.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/roce/sockets/packet_batch.hpp"
#include "rashpa/link/roce/sockets/source_socket.hpp"

namespace rashpa::link::roce {

class RoceSender::Impl {
 public:
  explicit Impl(const SenderConfig& config);
  std::size_t post(std::span<const BufferDescriptor> writes) noexcept;
  bool post_event(const Event& event) noexcept;
  std::size_t poll(std::uint32_t wait_us) noexcept;
  [[nodiscard]] std::size_t pending() const noexcept;
  [[nodiscard]] std::uint64_t granted() const noexcept;
  [[nodiscard]] bool in_error() const noexcept { return rc_ && rc_->in_error(); }

  [[nodiscard]] bool credits() const noexcept { return config_.flow == Flow::credits; }
  [[nodiscard]] bool windowed() const noexcept { return config_.options.window_bytes != 0; }
  [[nodiscard]] bool rc() const noexcept { return config_.options.transport == Transport::rc; }
  [[nodiscard]] bool ud() const noexcept { return config_.options.transport == Transport::ud; }
  [[nodiscard]] std::uint64_t in_flight() const noexcept;
  [[nodiscard]] bool window_open(std::uint64_t bytes) const noexcept;
  bool packet_room() noexcept;
  bool room_for_new() noexcept;
  bool send_pending() noexcept;
  void send_line(std::uint32_t bytes) noexcept;
  void send(Outgoing& packet, Ends ends, std::uint64_t image) noexcept;
  void to_batch(const Outgoing& packet, Ends ends, std::uint64_t image, bool again) noexcept;
  bool send_remembered() noexcept;
  bool flush(PacketBatch::Flush what) noexcept;
  bool read_return() noexcept;
  void look_for_notifications() noexcept;
  void look_at_clock() noexcept;
  void release() noexcept;
  void wait(std::uint32_t wait_us) noexcept;

  SenderConfig config_;
  std::uint32_t qpn_;
  SourceSocket socket_;
  Endpoint self_;
  PacketBatch batch_;
  ReturnPath return_;
  CreditWords seen_{};  // of the return path, last looked at
  std::optional<FaultInjector> injector_;
  std::optional<RcRequester> rc_;
  SenderWindow window_;
  std::uint32_t cut_;  // most bytes of a packet
  std::uint32_t largest_message_;
  std::uint32_t psn_;
  std::uint32_t ask_every_ = 1;  // packets: RC asks for an acknowledgement at least so often
  std::uint32_t since_ask_ = 0;  // packets

  BufferDescriptor pending_{};      // the write being cut into packets
  std::uint32_t pending_done_ = 0;  // bytes of it
  bool pending_active_ = false;
  bool pending_last_ = false;      // of its batch: its end asks for an acknowledgement
  std::uint32_t payload_crc_ = 0;  // of all lines since the last event
  bool urgent_ = false;            // in the batch: an event, or what is repeated
  std::size_t staged_writes_ = 0;  // UC, UD: wholly in the batch
  std::size_t done_ = 0;           // UC, UD: handed to the kernel; RC: acknowledged; not yet reported
  std::int64_t last_look_ns_ = 0;  // for notifications, when nothing else can come
  bool error_counted_ = false;
  std::uint64_t refused_ = 0;  // datagrams, at the last look
  SenderCounters counters_;
};

}  // namespace rashpa::link::roce
