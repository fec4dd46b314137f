// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "rashpa/link/roce/credits/credit_listener.hpp"
#include "rashpa/link/roce/credits/credits.hpp"
#include "rashpa/link/roce/sockets/source_socket.hpp"
#include "rashpa/link/roce/transports/rc_requester.hpp"

namespace rashpa::link::roce {

/// Takes the packets that return to one sender, from its own socket or from the listener that all senders of an address
/// share. These are credits, which it answers where the transport requires it, and acknowledgements. The DTP's thread
/// uses it.
class ReturnPath {
 public:
  /// Sets the path. `self` is the place to which the receiver writes. `listener` null: all packets come to `socket`,
  /// which must outlive this object.
  ReturnPath(const SourceSocket& socket, const Endpoint& self, const Endpoint& receiver, const Options& options,
             std::shared_ptr<CreditListener> listener);

  /// Takes the packets that have come, without waiting. Acknowledgements go to `requester`; null: none are expected.
  void take(RcRequester* requester, std::int64_t now) noexcept;
  [[nodiscard]] CreditWords words() const noexcept;
  [[nodiscard]] std::uint64_t repeats() const noexcept { return reader_.repeats(); }
  /// Returns the number of congestion notifications so far. Any thread.
  [[nodiscard]] std::uint64_t cnps() const noexcept;
  /// Returns the number of packets refused here so far. Any thread.
  [[nodiscard]] std::uint64_t refused() const noexcept;
  /// Returns the file descriptor to poll, which is readable when a packet has come.
  [[nodiscard]] int fd() const noexcept;
  [[nodiscard]] bool shared() const noexcept { return listener_ != nullptr; }

 private:
  void take_own(RcRequester* requester, std::int64_t now) noexcept;
  const SourceSocket* socket_;
  bool named_;  // messages carry the address they go to
  CreditReader reader_;
  std::optional<AcknowledgementWriter> answers_;
  std::shared_ptr<CreditListener> listener_;
  CreditListener::Source* place_ = nullptr;  // the listener's
};

}  // namespace rashpa::link::roce
