// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of all cards, as drivers see it: a directory of nodes as those of Xilinx's XDMA. A real card's is
/// /dev; a simulated one makes its own directory of files. `<device>_user` is the page of registers, `<device>_h2c_0`
/// and
/// `<device>_c2h_0` are card memory, `<device>_events_0` wakes waiting threads.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "rashpa/core/system/file_descriptor.hpp"

namespace rashpa::card {

/// Describes which design a driver wants to find. All of ours have the identity in the same place.
struct Design {
  const char* what;  ///< "a sender"
  std::uint32_t magic;
  std::uint32_t version;
};

/// The nodes of an open card. Registers: any thread, each word written by one thread at a time; memory: any thread,
/// places that do not overlap; the rest from one thread. Nothing allocates after the constructor unless it throws.
class Nodes {
 public:
  /// Opens `directory`/`device`_user and so on. Throws FileError for a node that is missing or cannot be used,
  /// ResourceError when what answers is not `design`.
  Nodes(const std::filesystem::path& directory, const std::string& device, const Design& design);
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  /// Takes the card for this object: its runs are nobody else's until this object ends, or its process. Throws
  /// StateError when another one has it.
  void claim();

  /// The word at `address` of the page, a multiple of 4 below its size.
  [[nodiscard]] std::uint32_t read32(std::uint32_t address) const noexcept;
  /// All earlier writes of this thread are seen by the card before this one.
  void write32(std::uint32_t address, std::uint32_t value) noexcept;
  /// Two words that the card counts up, read so that they belong together.
  [[nodiscard]] std::uint64_t read64(std::uint32_t address) const noexcept;

  /// Bytes of card memory.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return memory_bytes_; }
  /// Copies into card memory from `address` on. Throws ConfigError when it does not fit, FileError when the node fails.
  void to_card(std::uint64_t address, std::span<const std::byte> bytes);
  void from_card(std::uint64_t address, std::span<std::byte> bytes);

  /// Sleeps until the card says that something has ended, at most `wait_us` microseconds. It may also return too soon
  /// or too late: look at the status. True when the card has said something.
  bool wait(std::uint32_t wait_us);

 protected:
  ~Nodes();
  /// The path of the register page, for messages.
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return user_.path(); }

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
