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
  std::string address;        ///< IP address of the RNIC's interface, no wildcard
  std::uint32_t threads = 1;  ///< thread d mod threads serves DTP d
  Options options{};
  Flow flow = Flow::credits;
  Poll poll = Poll::event;
  int first_processor = -1;  ///< thread i runs on processor first_processor + i; −1: any processor
};

/// The destination side. An RNIC writes into the registered memory, and each event completes a receive. The link sees
/// no packets, so only the record's CRC32C proves the lines (`options.verify`).
/// Lines may lie in an accelerator's memory, which is a registration with a key of its own; records stay in host
/// memory. Known weakness: an RNIC does not know whether a slot is in use. With flow = paced, a source that is too fast
/// overwrites images that are still being processed. The later image is an overrun when its event comes. overwritten()
/// reports the earlier one if the later one's record came before the release, but not if only its lines did.
class VerbsReceiver final : public ThreadedReceiver,
                            public Registering,
                            public Watching,
                            public Watchable,
                            public Parted {
 public:
  /// Registers `memory`; placements must lie inside it. Lines in an accelerator's memory cannot be verified. There is
  /// one queue for each DTP. The memory, the queues and the bell must outlive the link. Throws ConfigError, or
  /// ResourceError when library, device or memory is not available.
  VerbsReceiver(const ReceiverConfig& config, const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
                ArrivalQueues& queues, Doorbell& bell);
  ~VerbsReceiver() override;

  [[nodiscard]] std::vector<Endpoint> endpoints() const override;
  /// Connects the queue pairs to the senders; from then on the RNIC refuses packets from elsewhere. Throws ConfigError
  /// when a device waits for last words and a sender writes none.
  void connect(std::span<const Endpoint> senders) override;
  /// Returns the RNIC's address of byte 0 of the lines: 0, or its virtual address where iova 0 is not available.
  [[nodiscard]] std::uint64_t base() const noexcept override;
  [[nodiscard]] std::uint64_t base_of_records() const noexcept override;
  [[nodiscard]] std::string registration() const override;
  [[nodiscard]] bool sources_write() const noexcept override { return true; }
  [[nodiscard]] bool overwritten(std::uint32_t dtp, std::uint64_t index) const noexcept override;
  [[nodiscard]] PartProgress progress(std::uint32_t dtp) const noexcept override;
  /// Returns words where `memory` has a place for them. They prove nothing with transport uc either, which loses lines
  /// that nobody misses.
  [[nodiscard]] std::vector<LastWord> last_words() const override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::link::verbs
