// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sys/socket.h>

#include <optional>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrivals/queue_output.hpp"
#include "rashpa/link/arrivals/threaded_receiver.hpp"
#include "rashpa/link/file_sleep.hpp"
#include "rashpa/link/roce/answer_packets.hpp"
#include "rashpa/link/roce/credits/congestion.hpp"
#include "rashpa/link/roce/credits/credits.hpp"
#include "rashpa/link/roce/packet_counters.hpp"
#include "rashpa/link/roce/packet_handler.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sockets/receiver_socket.hpp"

namespace rashpa::link::roce {

/// One thread of a RoceReceiver, with its socket and its DTPs.
class ReceiverThread final : public LinkThread {
 public:
  /// Opens the socket. ports[i] serves queue pair base_qpn + i; null: another thread serves it. Throws ResourceError
  /// when the port is in use. `gather`, which outlives it, puts lines into memory of a device; null: none does.
  ReceiverThread(const ReceiverConfig& config, std::uint32_t number, std::uint32_t base_qpn,
                 std::vector<PacketDtp*> ports, ArrivalQueues& queues, Doorbell& bell, PacketCounters& counters,
                 memory::Gather* gather);
  ReceiverThread(const ReceiverThread&) = delete;
  ReceiverThread& operator=(const ReceiverThread&) = delete;

  /// Returns the address of its socket.
  [[nodiscard]] const wire::Address& local() const noexcept { return socket_.local(); }
  /// Returns the payload bytes that each DTP may have in flight so that all fit into the socket's buffer, as granted by
  /// the kernel.
  [[nodiscard]] std::uint64_t window_bytes() const noexcept;
  /// Returns the PSN of the first credit packet for DTP `index`.
  [[nodiscard]] std::uint32_t credit_psn(std::uint32_t index) const noexcept { return credits_[index].psn; }
  /// Sets `source` as the destination of credits of DTP `index`. Call it before run().
  void connect(std::uint32_t index, const Endpoint& source);
  void run(const std::atomic<bool>& stop) noexcept override;
  void wake() noexcept override { sleep_.wake(); }

 private:
  struct CreditState {
    std::optional<CreditWriter> writer;
    CreditWords sent{};
    std::int64_t sent_ns = 0;
    std::optional<CongestionNotifier> notifier{};
    std::uint32_t psn = 0;
  };
  void handle(std::span<Datagram> datagrams, std::int64_t now) noexcept;
  void answer_congestion(std::int64_t now) noexcept;
  void send_credits(bool drained, std::int64_t now) noexcept;
  [[nodiscard]] std::span<const std::byte> due_credit(PacketDtp& port, CreditState& credit, bool drained,
                                                      std::int64_t now) const noexcept;
  [[nodiscard]] bool something_changed() noexcept;

  ReceiverConfig config_;
  std::uint32_t number_;
  std::vector<PacketDtp*> ports_;
  QueueOutput output_;
  PacketCounters* counters_;
  memory::Gather* gather_;
  ReceiverSocket socket_;
  PacketHandler handler_;
  std::uint32_t base_qpn_;
  AnswerPackets answers_;
  std::vector<CreditState> credits_;
  FileSleep sleep_;
  std::uint64_t news_bytes_ = 0;  // received payload that is worth a credit packet
  std::vector<iovec> credit_pieces_;
  std::vector<mmsghdr> credit_messages_;
};

}  // namespace rashpa::link::roce
