// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "rashpa/link/counters.hpp"
#include "rashpa/link/roce/faults/faults.hpp"
#include "rashpa/link/roce/sockets/packet_batch.hpp"

namespace rashpa::link::roce {

/// An outlet (outlet.hpp) between a sender and its batch. It drops, duplicates, delays and corrupts packets, and logs
/// the packets that really leave. Packets without a fault join the same datagrams as without it. The constructor takes
/// all memory.
/// With RC any transmission may be hit, retries included, and the link repairs it. The log then has `complete` for each
/// image whose event was acknowledged, which without a broken connection means all images; the counts stay those of
/// injected faults. With `icrc = "off"` the link could not detect a corrupted packet, so the constructor refuses both
/// together.
class FaultInjector {
 public:
  FaultInjector(const FaultConfig& config, std::uint32_t dtp, std::uint64_t images, std::uint64_t payload_bytes,
                const Options& options, PacketBatch& batch);

  static constexpr bool kNamesImages = true;  ///< event() needs the index of the image

  /// Returns true when it can take one more packet: the batch and the copies have room for all packets that can follow
  /// from it.
  [[nodiscard]] bool ready() const noexcept;
  /// Sends a line packet. Returns the CRC32C of its original payload, appended to bytes with the CRC32C `crc`.
  std::uint32_t line(const Outgoing& packet, std::uint32_t crc = 0) noexcept;
  /// Sends the event of image `index`; all earlier lines belong to that image.
  void event(const Outgoing& packet, std::uint64_t index) noexcept;
  /// Records that the event of image `index` was acknowledged, with RC.
  void event_acknowledged(std::uint64_t index) noexcept { log_.complete(index); }
  /// Sends the delayed packets in their order, when no more packets follow.
  void release_held() noexcept;
  [[nodiscard]] std::size_t held() const noexcept { return held_count_; }
  /// Frees the copies, since the batch that pointed to them is empty.
  void batch_sent() noexcept;

  [[nodiscard]] FaultCounts counts() const noexcept {
    return {dropped_.get(), duplicated_.get(), reordered_.get(), corrupted_.get()};
  }
  [[nodiscard]] const Fates* fates() const noexcept { return &log_; }
  [[nodiscard]] const FateLog& log() const noexcept { return log_; }

 private:
  static constexpr std::size_t kHeld = 8;
  static constexpr std::size_t kCopies = 64;
  struct Item {
    Outgoing packet{};
    bool event = false;
    std::uint64_t number = 0;  ///< for a line: its number in the image; for an event: the image index
  };
  struct Held {
    Item item{};
    std::uint32_t wait = 0;  ///< number of packets that must still pass before it
    int copy = -1;
  };
  enum class Copy : std::uint8_t { free, held, sending };

  void inject(const Item& item, Fault fault) noexcept;
  void wire(const Item& item) noexcept;
  void tell_log(const Item& item) noexcept;
  void wire_corrupt(const Item& item) noexcept;
  void hold(const Item& item) noexcept;
  void let_pass() noexcept;
  void wire_held(Held& held) noexcept;
  int take_copy(Item& item, Copy use) noexcept;

  FaultDice dice_;
  FateLog log_;
  Transport transport_;
  bool checked_;  // by the receiver, packet by packet: a damaged one is as good as dropped
  PacketBatch* batch_;
  std::uint64_t images_;
  std::uint64_t lines_ = 0;  // packets of the image being sent
  std::array<Held, kHeld> held_{};
  std::size_t held_count_ = 0;
  std::vector<std::byte> copy_bytes_;
  std::array<Copy, kCopies> copies_{};
  std::size_t copy_size_;
  std::size_t free_copies_ = kCopies;
  Counter dropped_, duplicated_, reordered_, corrupted_;
};

}  // namespace rashpa::link::roce
