// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A card, as its driver sees it: a directory of nodes as those of Xilinx's XDMA. A real card's is /dev; a simulated
/// one makes its own directory of files. `<device>_user` is the page of registers, `<device>_h2c_0` and
/// `<device>_c2h_0` are card memory, `<device>_events_0` wakes who waits.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include "rashpa/card/registers.hpp"
#include "rashpa/core/file_descriptor.hpp"

namespace rashpa::card {

/// What ended a run, or why Arm was refused, as the card says it.
struct CardError {
  registers::ErrorCode code = registers::ErrorCode::none;
  std::uint32_t dtp = 0;   ///< place in the table, 0 … 15
  std::uint32_t word = 0;  ///< of the table, for word_zero, word_unaligned and mtu
  std::uint32_t line = 0;  ///< which descriptor since Arm (descriptor_…)
};

/// The same in words: what is wrong, of which DTP, at which line, descriptor or word of the table.
std::string text_of(const CardError& error);

/// Three commands, each a doorbell and a count of done.
enum class Command : std::uint8_t { arm, start, abort };

/// An open card. Owns its nodes. Registers: any thread, each word written by one thread at a time; memory: any thread,
/// places that do not overlap; the rest from one thread. Nothing allocates after the constructor unless it throws.
class Card {
 public:
  /// Opens `directory`/`device`_user and so on. Throws FileError for a node that is missing or cannot be used,
  /// ResourceError when what answers is no card of ours or has another version of the registers.
  explicit Card(const std::filesystem::path& directory, const std::string& device = "xdma0");
  ~Card();
  Card(const Card&) = delete;
  Card& operator=(const Card&) = delete;

  /// Takes the card for this object: its runs are nobody else's until this object ends, or its process. Throws
  /// StateError when another one has it.
  void claim();

  /// The word at `address` of the page, a multiple of 4 below registers::kPageBytes.
  [[nodiscard]] std::uint32_t read32(std::uint32_t address) const noexcept;
  /// All earlier writes of this thread are seen by the card before this one.
  void write32(std::uint32_t address, std::uint32_t value) noexcept;
  /// Two words that the card counts up, read so that they belong together.
  [[nodiscard]] std::uint64_t read64(std::uint32_t address) const noexcept;
  /// Writes the table of DTP `dtp` (0 … 15); no run may be on.
  void write_table(std::size_t dtp, const registers::DtpTable& table);

  /// Bytes of card memory.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return memory_bytes_; }
  /// Copies into card memory from `address` on. Throws ConfigError when it does not fit, FileError when the node fails.
  void to_card(std::uint64_t address, std::span<const std::byte> bytes);
  void from_card(std::uint64_t address, std::span<std::byte> bytes);

  /// Sleeps until the card says that something has ended, at most `wait_us` microseconds. It may also return too soon
  /// or too late: look at the status. True when the card has said something.
  bool wait(std::uint32_t wait_us);

  [[nodiscard]] registers::State state() const noexcept;
  /// The first error since Arm; nothing when there is none.
  [[nodiscard]] std::optional<CardError> error() const noexcept;
  /// Rings once more; returns the count that command_done() is to see.
  std::uint32_t ring(Command command) noexcept;
  [[nodiscard]] bool command_done(Command command, std::uint32_t count) const noexcept;
  /// Rings and waits. Throws StateError when the card refuses (text_of(error()) says why) or does not answer in
  /// `wait_us`.
  void carry_out(Command command, std::uint32_t wait_us = 1'000'000);

 private:
  class Node {
   public:
    Node(std::filesystem::path path, int flags);
    [[nodiscard]] int get() const noexcept { return file_.get(); }
    [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

   private:
    std::filesystem::path path_;
    FileDescriptor file_;
  };
  class Page {
   public:
    explicit Page(const Node& node);
    ~Page();
    Page(const Page&) = delete;
    Page& operator=(const Page&) = delete;
    [[nodiscard]] volatile std::uint32_t& word(std::uint32_t address) const noexcept { return words_[address / 4]; }

   private:
    volatile std::uint32_t* words_;
  };
  void check_room(std::uint64_t address, std::size_t bytes) const;

  Node user_;
  Node to_;
  Node from_;
  Node events_;
  Page page_;
  std::uint64_t memory_bytes_ = 0;
};

}  // namespace rashpa::card
