// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/link/arrivals/receiver_memory.hpp"
#include "rashpa/link/arrivals/threaded_receiver.hpp"
#include "rashpa/link/pcie/options.hpp"

namespace rashpa::link::pcie {

struct ReceiverConfig {
  int region_file = -1;       ///< memory::Buffer::shared_file() of the RASHPA buffer
  std::uint32_t threads = 1;  ///< thread d mod threads serves DTP d
  Options options{};
  Flow flow = Flow::credits;
  Poll poll = Poll::event;
  int first_processor = -1;  ///< thread i runs on processor first_processor + i; −1: any processor
};

/// The destination side. Sources write into the shared RASHPA buffer and then to the lock word of their DTP, which a
/// thread of this link polls. The link sees only events, so only the record's CRC32C proves the lines
/// (`options.verify`).
/// Memory cannot refuse a write: with flow = paced, a source that is too fast overwrites images that are still being
/// processed. The later image is an overrun when its event comes. overwritten() reports the earlier one as soon as the
/// source begins the later one.
class PcieReceiver final : public ThreadedReceiver, public Watching, public Watchable {
 public:
  /// Makes the receiver. `memory` is one block of host memory at the beginning of `config.region_file`. Its lines may
  /// instead lie in a GPU's memory, where nothing can be verified. Placements must lie inside the memory. There is one
  /// queue for each DTP. The memory, the queues and the bell must outlive the link. Throws ConfigError or
  /// ResourceError.
  PcieReceiver(const ReceiverConfig& config, const ReceiverMemory& memory, const std::vector<ReceiverDtp>& dtps,
               ArrivalQueues& queues, Doorbell& bell);
  ~PcieReceiver() override;

  [[nodiscard]] std::vector<Endpoint> endpoints() const override;
  /// Checks that each source has opened this receiver's memory; sends nothing to them.
  void connect(std::span<const Endpoint> senders) override;
  [[nodiscard]] bool sources_write() const noexcept override { return true; }
  [[nodiscard]] std::vector<LastWord> last_words() const override;
  [[nodiscard]] bool overwritten(std::uint32_t dtp, std::uint64_t index) const noexcept override;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rashpa::link::pcie
