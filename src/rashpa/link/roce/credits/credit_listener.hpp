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
  /// Throws ResourceError when the port is taken, by another process or by the kernel's own RoCE.
  CreditListener(const std::string& address, std::uint16_t port);

  /// Set-up: a place for one source's words; its number. `self` is what the receiver is told to write to.
  std::size_t add(const Endpoint& self, const Endpoint& receiver, Transport transport = Transport::uc);
  [[nodiscard]] std::uint16_t port() const { return local_.port(); }
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

  /// Any source's thread: takes what has come, for all, and with RC answers the credits; another thread that is at it
  /// already is not waited for.
  void take() noexcept;
  /// Any thread.
  [[nodiscard]] CreditWords words(std::size_t number) const noexcept;
  /// That source's thread: the next acknowledgement for it; false when there is none.
  bool take_acknowledgement(std::size_t number, Acknowledgement& out) noexcept;
  /// Any thread: congestion notifications to that source's queue pair.
  [[nodiscard]] std::uint64_t cnps(std::size_t number) const noexcept { return sources_[number]->reader.cnps(); }

 private:
  static constexpr std::size_t kAcknowledgements = 256;  // any that find no room are repeated or outdone by later ones
  struct Source {
    Source(const Endpoint& self, const Endpoint& receiver, const wire::Address& local, Transport transport)
        : qpn(self.qpn),
          reader(self, wire::Address(receiver.address, receiver.port), local, CreditReader::Port::any, Framing::v2,
                 transport),
          answers(local, wire::Address(receiver.address, receiver.port), receiver.qpn),
          acknowledgements(transport == Transport::rc ? kAcknowledgements : 0) {
      reader.connect(receiver.qpn, receiver.psn);
    }
    std::uint32_t qpn;
    CreditReader reader;
    AcknowledgementWriter answers;
    memory::Ring<Acknowledgement> acknowledgements;
    std::atomic<std::uint64_t> images{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  void give(Source& source, std::span<std::byte> packet, const wire::Address& from) noexcept;
  UdpSocket socket_;
  wire::Address local_;
  std::mutex taking_;
  std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace rashpa::link::roce
