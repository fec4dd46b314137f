// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A card into which software pushes descriptors, shared by all senders of a process. It has a ring of descriptors and
/// a place in card memory for each, to which a post copies the bytes (decision 0051).
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
  std::uint64_t writes = 0;   ///< number of posted writes that were sent
  std::uint64_t events = 0;   ///< number of posted events that were sent
  std::uint32_t granted = 0;  ///< images granted, modulo 2^32
  bool ended = false;         ///< the card sends nothing any more, after an error or an Abort from elsewhere
};

/// The descriptor ring of a card. Any thread; a call waits for calls of other threads, which copy at most a ring of
/// messages into card memory. Only the constructor and add() throw. When the card stops by itself, the log gets the
/// reason, once.
class DescriptorRing {
 public:
  /// Opens and reserves the card. Throws as Card does, StateError when another program has it, ResourceError when its
  /// memory is too small.
  explicit DescriptorRing(const std::filesystem::path& directory);
  /// Ends the run.
  ~DescriptorRing();
  DescriptorRing(const DescriptorRing&) = delete;
  DescriptorRing& operator=(const DescriptorRing&) = delete;

  /// Adds a DTP and returns its place. The card is armed again with all DTPs and started. Throws ResourceError when no
  /// place is free, StateError when another DTP has already posted something or the card refuses.
  std::uint32_t add(std::uint32_t id, const card::registers::DtpTable& table);
  /// Removes a place that posts nothing more.
  void remove(std::uint32_t place) noexcept;

  /// Copies writes into card memory and posts them; returns how many found room. Returns 0 after the run has ended.
  /// `faults` are those of the first write's packets.
  std::size_t post(std::uint32_t place, std::span<const BufferDescriptor> writes,
                   std::span<const CardFault> faults = {}) noexcept;
  bool post(std::uint32_t place, const Event& event, std::span<const CardFault> faults = {}) noexcept;
  [[nodiscard]] CardProgress progress(std::uint32_t place) noexcept;

  /// Returns the largest bytes of one message.
  [[nodiscard]] std::uint32_t room() const noexcept { return room_; }
  /// Returns true when the card is simulated.
  [[nodiscard]] bool simulated() const noexcept;
  /// Returns true when the card injects faults on request, at most kMostFaults for each message.
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
  /// The write or event in an entry of the ring.
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
    std::uint64_t image = 0;  ///< number of events posted
    std::uint64_t write = 0;  ///< number of writes posted since the last event
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
