// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The responder of one Reliable Connected queue pair for RDMA WRITE, by the specification (volume 1, 9.7): it executes
/// packets and answers them. Like UcResponder, it knows no images and no memory. One thread.
#include <cstdint>
#include <limits>
#include <optional>
#include <span>

#include "rashpa/link/roce/transports/accepted_write.hpp"
#include "rashpa/link/roce/transports/acknowledge.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::link::roce {

enum class RcVerdict : std::uint8_t {
  accepted,
  malformed,  ///< not an RC request: dropped without an answer
  duplicate,  ///< executed before: acknowledged again, but not executed
  ahead,      ///< an earlier packet is missing: dropped, with one NAK until the missing packet comes
  not_ready,  ///< no receive for its immediate: RNR NAK
  invalid,  ///< not a WRITE, out of order in its message, or of a wrong length: NAK, and the queue pair goes into error
  refused,  ///< wrong key or out of bounds: NAK, and the queue pair goes into error
  dropped,  ///< the queue pair is in error: dropped
};

class RcResponder {
 public:
  static constexpr std::uint64_t kReady = std::numeric_limits<std::uint64_t>::max();
  /// Creates the responder. `rnr_timer` is the code in RNR NAKs.
  RcResponder(std::uint32_t pmtu, std::uint32_t rkey, std::uint64_t region_bytes, std::uint8_t rnr_timer) noexcept
      : pmtu_(pmtu), rkey_(rkey), region_bytes_(region_bytes), rnr_timer_(rnr_timer) {}

  /// Sets the PSN of the first request; without it, 0. Call it before the first request.
  void connect(std::uint32_t first_psn) noexcept { expected_psn_ = first_psn & wire::kPsnMask; }

  /// Executes a packet. `packet` is BTH … ICRC; its ICRC, P_Key, TVer and queue pair were checked.
  RcVerdict receive(const wire::Bth& bth, std::span<const std::byte> packet, AcceptedWrite& out) noexcept;

  /// Sets the number of receives posted since the start; each immediate uses one.
  void set_receives(std::uint64_t posted) noexcept { receives_ = posted; }

  /// Returns the NAK to send since the last call. Send it before the answer of take_acknowledgement(), which
  /// acknowledges all requested packets at once.
  [[nodiscard]] std::optional<Acknowledgement> take_nak() noexcept;
  [[nodiscard]] std::optional<Acknowledgement> take_acknowledgement() noexcept;

  [[nodiscard]] bool in_error() const noexcept { return in_error_; }
  [[nodiscard]] std::uint32_t expected_psn() const noexcept { return expected_psn_; }

 private:
  RcVerdict execute(const wire::Bth& bth, std::span<const std::byte> body, AcceptedWrite& out) noexcept;
  RcVerdict start(const wire::Bth& bth, std::span<const std::byte> body, AcceptedWrite& out) noexcept;
  RcVerdict go_on(const wire::Bth& bth, std::span<const std::byte> body, AcceptedWrite& out) noexcept;
  void negative(std::uint8_t syndrome) noexcept;
  RcVerdict fail(RcVerdict verdict, std::uint8_t syndrome) noexcept;

  std::uint32_t pmtu_;
  std::uint32_t rkey_;
  std::uint64_t region_bytes_;
  std::uint8_t rnr_timer_;
  std::uint32_t expected_psn_ = 0;
  std::uint32_t msn_ = 0;
  std::uint64_t receives_ = kReady;
  std::uint64_t received_ = 0;  // immediates: receives taken
  bool waiting_ = false;        // a NAK says what is expected; nothing else is answered until it comes
  bool in_error_ = false;
  bool open_ = false;         // a message was started and not ended
  std::uint64_t offset_ = 0;  // of the open message's next byte
  std::uint64_t left_ = 0;    // its bytes still to come
  std::uint64_t message_bytes_ = 0;
  bool acknowledge_ = false;
  std::optional<Acknowledgement> nak_;
};

}  // namespace rashpa::link::roce
