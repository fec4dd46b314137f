// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where an RNIC's credits and acknowledgements come in: it sends to UDP port 4791 and no other, so that all sources of
/// one address share a socket.
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rashpa/link/roce/credits/credits.hpp"
#include "rashpa/link/roce/sockets/udp_socket.hpp"
#include "rashpa/memory/ring.hpp"

namespace rashpa::link::roce {

class CreditListener {
 public:
  /// The place of one source's words.
  class Source;
  /// Throws ResourceError when the port is taken, by another process or by the kernel's own RoCE.
  CreditListener(const std::string& address, std::uint16_t port);

  CreditListener(const CreditListener&) = delete;
  CreditListener& operator=(const CreditListener&) = delete;
  ~CreditListener();

  /// Any thread, also while others take: a place that stays as long as this object. `self` is the place to which the
  /// receiver writes.
  Source& add(const Endpoint& self, const Endpoint& receiver, Transport transport = Transport::uc);
  [[nodiscard]] std::uint16_t port() const { return local_.port(); }
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

  /// Any source's thread: takes what has come, for all, and with RC answers the credits; another thread that is at it
  /// already is not waited for.
  void take() noexcept;

 private:
  void give(Source& source, std::span<std::byte> packet, const wire::Address& from) noexcept;
  UdpSocket socket_;
  wire::Address local_;
  std::mutex taking_;
  std::vector<std::unique_ptr<Source>> sources_;  // guarded by taking_: a member that joins adds to them
};

class CreditListener::Source {
 public:
  Source(const Endpoint& self, const Endpoint& receiver, const wire::Address& local, Transport transport)
      : qpn_(self.qpn),
        reader_(self, wire::Address(receiver.address, receiver.port), local, CreditReader::Port::any, Framing::v2,
                transport),
        answers_(local, wire::Address(receiver.address, receiver.port), receiver.qpn),
        acknowledgements_(transport == Transport::rc ? kAcknowledgements : 0) {
    reader_.connect(receiver.qpn, receiver.psn);
  }
  /// Any thread.
  [[nodiscard]] CreditWords words() const noexcept {
    return {images_.load(std::memory_order_acquire), bytes_.load(std::memory_order_acquire)};
  }
  /// The source's thread: the next acknowledgement for it; false when there is none.
  bool take_acknowledgement(Acknowledgement& out) noexcept { return acknowledgements_.try_pop(out); }
  /// Any thread: congestion notifications to its queue pair.
  [[nodiscard]] std::uint64_t cnps() const noexcept { return reader_.cnps(); }
  /// Any thread: the number of packets that came to its queue pair and were refused.
  [[nodiscard]] std::uint64_t refused() const noexcept { return reader_.refused(); }

 private:
  friend class CreditListener;
  static constexpr std::size_t kAcknowledgements = 256;  // any that find no room are repeated or outdone by later ones
  std::uint32_t qpn_;
  CreditReader reader_;
  AcknowledgementWriter answers_;
  memory::Ring<Acknowledgement> acknowledgements_;
  std::atomic<std::uint64_t> images_{0};  // release by the listener, acquire by a source's thread
  std::atomic<std::uint64_t> bytes_{0};
};

}  // namespace rashpa::link::roce
