// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Receives credits and acknowledgements of RNICs, which send only to UDP port 4791. So all sources of one address
/// share this socket.
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
  /// The place for one source's credits and acknowledgements.
  class Source;
  /// Opens the socket. Throws ResourceError when another process, or the kernel's own RoCE, has the port.
  CreditListener(const std::string& address, std::uint16_t port);

  CreditListener(const CreditListener&) = delete;
  CreditListener& operator=(const CreditListener&) = delete;
  ~CreditListener();

  /// Adds a source, whose place lives as long as this object. `self` is the place to which the receiver writes. Any
  /// thread, also while others call take().
  Source& add(const Endpoint& self, const Endpoint& receiver, Transport transport = Transport::uc);
  [[nodiscard]] std::uint16_t port() const { return local_.port(); }
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

  /// Takes all packets that have come, for all sources, and with RC answers the credits. It returns at once if another
  /// thread is doing the same. Any source's thread.
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
  /// Returns the source's latest credits. Any thread.
  [[nodiscard]] CreditWords words() const noexcept {
    return {images_.load(std::memory_order_acquire), bytes_.load(std::memory_order_acquire)};
  }
  /// Takes the next acknowledgement for the source; returns false when there is none. The source's thread.
  bool take_acknowledgement(Acknowledgement& out) noexcept { return acknowledgements_.try_pop(out); }
  /// Returns the number of congestion notifications to its queue pair. Any thread.
  [[nodiscard]] std::uint64_t cnps() const noexcept { return reader_.cnps(); }
  /// Returns the number of packets to its queue pair that were refused. Any thread.
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
