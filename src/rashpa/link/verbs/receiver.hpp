// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrivals/receiver_memory.hpp"
#include "rashpa/link/arrivals/threaded_receiver.hpp"
#include "rashpa/link/verbs/options.hpp"
#include "rashpa/memory/address_translation.hpp"

namespace rashpa::link::verbs {

struct ReceiverConfig {
  std::string address;        ///< IP address of the RNIC's interface: no wildcard
  std::uint32_t threads = 1;  ///< DTP d is served by thread d mod threads
  Options options{};
  Flow flow = Flow::credits;
  Poll poll = Poll::event;
  int first_processor = -1;  ///< thread i is bound to processor first_processor + i; −1: unbound
};

/// Destination side: an RNIC writes straight into the registered region; each event completes a receive. The link sees
/// no packet: only the record's CRC32C proves the lines (`options.verify`).
///
/// Known weakness: an RNIC does not know that a slot is taken. With flow = paced a source that is too fast overwrites
/// images that are still being processed. The later image is an overrun when its event comes; the earlier one is found
/// by overwritten() when the later one's record has come before its release, and not while only lines have.
class VerbsReceiver final : public ThreadedReceiver, public Registering, public Watching {
 public:
  /// Registers `memory`, one block of the host's; placements must lie inside it. One queue per DTP. The memory, the
  /// queues and the bell must outlive the link. Throws ConfigError, or ResourceError when library, device or memory is
  /// not to be had.
  VerbsReceiver(const ReceiverConfig& config, const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
                ArrivalQueues& queues, Doorbell& bell);
  ~VerbsReceiver() override;

  [[nodiscard]] std::vector<Endpoint> endpoints() const override;
  /// Packets from elsewhere are then refused by the RNIC.
  void connect(std::span<const Endpoint> senders) override;
  /// The RNIC's address of the region's byte 0: 0, or its virtual address where iova 0 is not to be had.
  [[nodiscard]] std::uint64_t base() const noexcept override;
  [[nodiscard]] std::string registration() const override;
  [[nodiscard]] bool sources_write() const noexcept override { return true; }
  [[nodiscard]] bool overwritten(std::uint32_t dtp, std::uint64_t index) const noexcept override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::link::verbs
