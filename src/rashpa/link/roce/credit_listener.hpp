#pragma once
/// Where an RNIC's credits come in: it writes to UDP port 4791 and no other, so that all sources of one address share a
/// socket.
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "rashpa/link/roce/credits.hpp"
#include "rashpa/link/roce/udp_socket.hpp"

namespace rashpa::link::roce {

class CreditListener {
 public:
  /// Throws ResourceError when the port is taken, by another process or by the kernel's own RoCE.
  CreditListener(const std::string& address, std::uint16_t port);

  /// Set-up: a place for one source's words; its number. `self` is what the receiver is told to write to.
  std::size_t add(const Endpoint& self, const Address& receiver);
  [[nodiscard]] std::uint16_t port() const { return local_.port(); }
  [[nodiscard]] int fd() const noexcept { return socket_.fd(); }

  /// Any source's thread: takes what has come, for all; another thread that is at it already is not waited for.
  void take() noexcept;
  /// Any thread.
  [[nodiscard]] CreditWords words(std::size_t number) const noexcept;
  /// Any thread: congestion notifications to that source's queue pair.
  [[nodiscard]] std::uint64_t cnps(std::size_t number) const noexcept { return sources_[number]->reader.cnps(); }

 private:
  struct Source {
    Source(const Endpoint& self, const Address& receiver, const Address& local)
        : qpn(self.qpn), reader(self, receiver, local, CreditReader::Port::any) {}
    std::uint32_t qpn;
    CreditReader reader;
    std::atomic<std::uint64_t> images{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  UdpSocket socket_;
  Address local_;
  std::mutex taking_;
  std::vector<std::unique_ptr<Source>> sources_;
};

}  // namespace rashpa::link::roce
