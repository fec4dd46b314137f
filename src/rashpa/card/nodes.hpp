// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of all cards for their drivers: a directory of device nodes like those of Xilinx's XDMA driver. A
/// real card has /dev; a simulated one makes a directory of files. `<device>_user` is the register page.
/// `<device>_h2c_0` and `<device>_c2h_0` are card memory, and `<device>_events_0` wakes waiting threads.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "rashpa/core/system/file_descriptor.hpp"

namespace rashpa::card {

/// Describes the design that a driver expects on the card. All our designs have their identity at the same address.
struct Design {
  const char* what;  ///< "a sender"
  std::uint32_t magic;
  std::uint32_t version;
};

/// The nodes of an open card. Any thread may access registers, but each word has one writing thread. Any threads may
/// copy to and from card memory at places that do not overlap. All other calls come from one thread. Nothing allocates
/// after the constructor unless it throws.
class Nodes {
 public:
  /// Opens `directory`/`device`_user and the other nodes. Throws FileError when a node is missing or unusable, and
  /// ResourceError when the card does not have `design`.
  Nodes(const std::filesystem::path& directory, const std::string& device, const Design& design);
  Nodes(const Nodes&) = delete;
  Nodes& operator=(const Nodes&) = delete;

  /// Reserves the card for this object, until the object or its process ends. Throws StateError when another owner has
  /// reserved it.
  void claim();

  /// Returns the word at `address` of the register page; `address` is a multiple of 4 below the size of the page.
  [[nodiscard]] std::uint32_t read32(std::uint32_t address) const noexcept;
  /// Writes a register. The card sees all earlier writes of this thread before this one.
  void write32(std::uint32_t address, std::uint32_t value) noexcept;
  /// Returns a 64-bit counter of the card that spans two words, read consistently while the card counts.
  [[nodiscard]] std::uint64_t read64(std::uint32_t address) const noexcept;

  /// Returns the size of the card memory in bytes.
  [[nodiscard]] std::uint64_t memory_bytes() const noexcept { return memory_bytes_; }
  /// Copies into card memory from `address` on. Throws ConfigError when it does not fit, FileError when the node fails.
  void to_card(std::uint64_t address, std::span<const std::byte> bytes);
  void from_card(std::uint64_t address, std::span<std::byte> bytes);

  /// Sleeps until the card reports an event, for at most `wait_us` microseconds, and returns true after an event.
  /// Wake-ups may be early or late, so check the card's status afterwards.
  bool wait(std::uint32_t wait_us);

 protected:
  ~Nodes();
  /// Returns the path of the register page, for messages.
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
