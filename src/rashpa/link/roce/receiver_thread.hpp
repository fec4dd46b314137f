#pragma once
#include <sys/socket.h>

#include <atomic>
#include <memory>
#include <optional>
#include <vector>

#include "rashpa/core/doorbell.hpp"
#include "rashpa/link/roce/answers.hpp"
#include "rashpa/link/roce/credits.hpp"
#include "rashpa/link/roce/packet_handler.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/udp_socket.hpp"

namespace rashpa::link::roce {

/// One thread of a RoceReceiver: its socket, its DTPs, its arrival ring.
class ReceiverThread final : private ArrivalOutput {
 public:
  /// `ports[i]` serves queue pair base_qpn + i; null when another thread has it. Throws ResourceError when the port is
  /// in use.
  ReceiverThread(const ReceiverConfig& config, std::uint32_t number, std::uint32_t base_qpn,
                 std::vector<DtpPort*> ports, ArrivalRing& ring, Doorbell& bell, ReceiverCounters& counters);
  ~ReceiverThread() override;
  ReceiverThread(const ReceiverThread&) = delete;
  ReceiverThread& operator=(const ReceiverThread&) = delete;

  [[nodiscard]] std::uint16_t port() const { return local_.port(); }
  /// Payload that each DTP may have in flight so that all of them fit the socket's buffer, as far as the kernel granted
  /// it.
  [[nodiscard]] std::uint64_t window_bytes() const noexcept;
  /// Before run(): credits of DTP `index` go to `source`.
  void connect(std::uint32_t index, const Endpoint& source);
  /// The thread's body: until `stop`.
  void run(const std::atomic<bool>& stop) noexcept;
  /// Any thread: something changed that the thread should look at, if it sleeps.
  void wake() noexcept;

 private:
  struct CreditState {
    std::optional<CreditWriter> writer;
    CreditWords sent{};
    std::int64_t sent_ns = 0;
  };
  bool emit(const Arrival& arrival) noexcept override;
  int receive() noexcept;
  void handle(int count, std::int64_t now) noexcept;
  [[nodiscard]] Address destination_of(msghdr& header) const noexcept;
  void send_credits(bool drained, std::int64_t now) noexcept;
  [[nodiscard]] std::span<const std::byte> due_credit(DtpPort& port, CreditState& credit, bool drained,
                                                      std::int64_t now) const noexcept;
  void sleep() noexcept;
  [[nodiscard]] bool something_changed() const noexcept;

  ReceiverConfig config_;
  std::uint32_t number_;
  std::vector<DtpPort*> ports_;
  ArrivalRing* ring_;
  Doorbell* bell_;
  UdpSocket socket_;
  Address local_;
  bool wildcard_;
  bool gro_;
  PacketHandler handler_;
  ReceiverCounters* counters_;
  std::uint32_t base_qpn_;
  Answers answers_;
  std::vector<CreditState> credits_;
  const std::atomic<bool>* stop_ = nullptr;
  std::atomic<bool> sleeping_{false};
  int event_fd_ = -1;
  bool pushed_ = false;
  std::uint64_t news_bytes_ = 0;  // received payload that is worth a credit packet

  struct Control {
    alignas(cmsghdr) std::array<std::byte, 128> bytes;
  };
  std::size_t batch_ = 0;
  std::size_t buffer_bytes_ = 0;
  std::vector<std::byte> buffers_;
  std::vector<sockaddr_storage> sources_;
  std::vector<iovec> pieces_;
  std::vector<Control> controls_;
  std::vector<mmsghdr> messages_;
  std::vector<iovec> credit_pieces_;
  std::vector<mmsghdr> credit_messages_;
};

}  // namespace rashpa::link::roce
