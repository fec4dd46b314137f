// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A card into which software pushes descriptors, as all senders of a process share it: its ring of descriptors, and as
/// many places in its memory, to which the bytes of each are copied when it is posted (decision 0051).
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "rashpa/card/card.hpp"
#include "rashpa/link/fpga/packet_faults.hpp"
#include "rashpa/link/link.hpp"

namespace rashpa::link::fpga {

/// The progress of the card with one DTP.
struct CardProgress {
  std::uint64_t writes = 0;   ///< of those posted: how many have left
  std::uint64_t events = 0;   ///< the same
  std::uint32_t granted = 0;  ///< images, modulo 2^32
  bool ended = false;         ///< the card sends nothing any more, by an error or by somebody's Abort
};

/// Any thread; a call waits for those of other threads, which copy at most a ring of messages into card memory. Nothing
/// but the constructor and add() throws. When the card stops by itself, the log gets the reason, once.
class DescriptorRing {
 public:
  /// Takes the card for itself. Throws as Card does, StateError when another program has it, ResourceError when its
  /// memory is too small.
  explicit DescriptorRing(const std::filesystem::path& directory);
  /// Ends the run.
  ~DescriptorRing();
  DescriptorRing(const DescriptorRing&) = delete;
  DescriptorRing& operator=(const DescriptorRing&) = delete;

  /// One more DTP: returns its place. The card is armed again with all of them and begins. Throws ResourceError when no
  /// place is free, StateError when one of the others has posted something already, or when the card refuses.
  std::uint32_t add(std::uint32_t id, const card::registers::DtpTable& table);
  /// Removes a place, from which nothing more comes.
  void remove(std::uint32_t place) noexcept;

  /// Copies writes into card memory and posts them; returns how many found room. None when the run has ended. `faults`
  /// are those of the first one's packets.
  std::size_t post(std::uint32_t place, std::span<const BufferDescriptor> writes,
                   std::span<const CardFault> faults = {}) noexcept;
  bool post(std::uint32_t place, const Event& event, std::span<const CardFault> faults = {}) noexcept;
  [[nodiscard]] CardProgress progress(std::uint32_t place) noexcept;

  /// The largest number of bytes of one message.
  [[nodiscard]] std::uint32_t room() const noexcept { return room_; }
  /// Returns true when it is a simulated one.
  [[nodiscard]] bool simulated() const noexcept;
  /// Returns true when it makes faults on order; at most kMostFaults a message.
  [[nodiscard]] bool makes_faults() const noexcept;
  static constexpr std::uint32_t kMostFaults = card::registers::faults::kCount;

 private:
  static constexpr std::size_t kEntries = card::registers::descriptors::kCount;
  static constexpr std::size_t kDtps = card::registers::dtp_table::kCount;

  struct Message {
    const std::byte* source = nullptr;
    std::uint64_t destination = 0;
    std::uint32_t bytes = 0;
    std::uint32_t immediate = 0;
    bool event = false;
  };
  /// The purpose of an entry of the ring.
  struct Entry {
    std::uint32_t place = 0;
    bool event = false;
    std::uint64_t image = 0;
    std::uint64_t write = 0;
    std::uint64_t destination = 0;
    std::uint32_t bytes = 0;
  };
  struct Dtp {
    bool used = false;
    std::uint32_t id = 0;
    card::registers::DtpTable table{};
    std::uint64_t image = 0;  ///< events posted
    std::uint64_t write = 0;  ///< posted since the last event
    std::uint64_t writes_done = 0;
    std::uint64_t events_done = 0;
  };

  void begin();
  [[nodiscard]] bool has_room(std::size_t faults) noexcept;
  void put(std::uint32_t place, std::span<const CardFault> faults) noexcept;
  bool put(std::uint32_t place, const Message& message) noexcept;
  void ring() noexcept;
  void settle() noexcept;
  void end(std::uint32_t dtp, const std::string& why) noexcept;
  [[nodiscard]] std::string what_ended() const;
  [[nodiscard]] std::string text_of(std::uint32_t number) const;

  std::mutex mutex_;
  std::string name_;
  card::Card card_;
  std::uint32_t room_ = 0;
  std::array<Dtp, kDtps> dtps_{};
  std::array<Entry, kEntries> entries_{};
  std::array<std::uint32_t, kMostFaults> faults_{};  // by entry of the card's table: the descriptor that it is of
  std::uint32_t begun_ = 0;                          // count of descriptors at Arm
  std::uint32_t posted_ = 0;                         // counts of descriptors, modulo 2^32
  std::uint32_t done_ = 0;
  bool ended_ = false;
};

}  // namespace rashpa::link::fpga
