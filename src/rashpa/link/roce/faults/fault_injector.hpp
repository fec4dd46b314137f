// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "rashpa/link/counters.hpp"
#include "rashpa/link/roce/faults/faults.hpp"
#include "rashpa/link/roce/sockets/packet_batch.hpp"

namespace rashpa::link::roce {

/// An outlet (outlet.hpp) that stands between a sender and its batch: drops, doubles, delays and damages packets, and
/// gives the log the packets that really leave. Packets without a fault join the same datagrams as ever. Takes all
/// memory in the constructor.
///
/// With RC every transmission may be hit, repetitions included, and the link repairs it: the log then says `complete`
/// for every image whose event was acknowledged, which without a broken connection is every image. The counts stay what
/// was injected. With `icrc = "off"` nothing would tell a link to repair a damaged packet: the constructor refuses both
/// together.
class FaultInjector {
 public:
  FaultInjector(const FaultConfig& config, std::uint32_t dtp, std::uint64_t images, std::uint64_t payload_bytes,
                const Options& options, PacketBatch& batch);

  static constexpr bool kNamesImages = true;  ///< event() needs to know which image it is about

  /// Returns true when it can take one more packet: the batch and the copies have room for everything that can follow
  /// from it.
  [[nodiscard]] bool ready() const noexcept;
  /// Returns the CRC32C of its payload, as it was given, behind bytes of CRC32C `crc`.
  std::uint32_t line(const Outgoing& packet, std::uint32_t crc = 0) noexcept;
  /// The event of image `index`; all lines given before belong to that image.
  void event(const Outgoing& packet, std::uint64_t index) noexcept;
  /// RC: the event of image `index` was acknowledged.
  void event_acknowledged(std::uint64_t index) noexcept { log_.complete(index); }
  /// Sends the packets that are held back, in their order; for when nothing follows that they could be late for.
  void release_held() noexcept;
  [[nodiscard]] std::size_t held() const noexcept { return held_count_; }
  /// The batch is empty: copies it pointed to are free again.
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
    std::uint64_t number = 0;  ///< line: ordinal in the image; event: image index
  };
  struct Held {
    Item item{};
    std::uint32_t wait = 0;  ///< packets still to let pass
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
