// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

#include "rashpa/link/faults.hpp"
#include "rashpa/link/roce/sockets/packet_batch.hpp"

namespace rashpa::link::roce {

/// The number in place of an image's index for the event of a part that is not the last one of its image.
inline constexpr std::uint64_t kPartOfImage = ~std::uint64_t{0};

/// An outlet that puts a sender's packets straight into the batch. FaultInjector is the other outlet. The DTP's thread
/// uses it.
class PlainOutlet {
 public:
  static constexpr bool kNamesImages = false;  ///< event() does not need the index of the image
  explicit PlainOutlet(PacketBatch& batch) noexcept : batch_(&batch) {}

  /// Returns true when it can take one more packet.
  [[nodiscard]] bool ready() const noexcept { return batch_->room() > 0; }
  /// Sends a line packet. Returns the CRC32C of its payload, appended to bytes with the CRC32C `crc`.
  std::uint32_t line(const Outgoing& packet, std::uint32_t crc) noexcept { return batch_->append(packet, crc); }
  void event(const Outgoing& packet, std::uint64_t /*image*/) noexcept { batch_->append(packet); }
  void event_acknowledged(std::uint64_t /*image*/) noexcept {}
  void batch_sent() noexcept {}
  [[nodiscard]] std::size_t held() const noexcept { return 0; }
  void release_held() noexcept {}
  [[nodiscard]] FaultCounts counts() const noexcept { return {}; }
  [[nodiscard]] const Fates* fates() const noexcept { return nullptr; }

 private:
  PacketBatch* batch_;
};

}  // namespace rashpa::link::roce
