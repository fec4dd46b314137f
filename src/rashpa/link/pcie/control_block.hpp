// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory that both ends of the link share besides the RASHPA buffer: for each DTP the lock word, which the source
/// writes and the receiver polls, and the credits, which the receiver writes and the source reads.
///
/// It lies in a memfd of its own, opened through the receiver's /proc entry: nothing stays behind when a process dies.
/// Neither side trusts what the other can write: sizes are taken from the kernel or from one's own memory, words are
/// only data.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "rashpa/link/pcie/sleep_word.hpp"
#include "rashpa/link/words.hpp"
#include "rashpa/memory/address_translation.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::pcie {

inline constexpr std::uint64_t kMagic = 0x3130454943505352;  ///< "RSPCIE01" in memory
inline constexpr std::uint32_t kVersion = 4;
inline constexpr std::uint32_t kMostDtps = 256;

/// First in the block. Written before any other process knows of the block, read once by a process that opens it.
struct alignas(64) Header {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t key = 0;           ///< random; a number of a process or file that was used again is recognised
  std::uint64_t region_bytes = 0;  ///< of the RASHPA buffer
  std::uint32_t region_file = 0;   ///< its file, in the receiver's process
  std::uint32_t threads = 0;       ///< of the receiving link; DTP d belongs to thread d mod threads
  std::uint32_t dtps = 0;
  std::uint32_t reserved = 0;
  /// Lines that lie in an accelerator's memory: its size, its address in the receiver's process, and the handle by
  /// which others open it. 0 bytes: they lie in the RASHPA buffer, as records always do.
  std::uint64_t lines_bytes = 0;
  std::uint64_t lines_address = 0;
  std::array<std::byte, 64> lines_handle{};
};

/// One DTP. Words that one side writes often share no cache line with those of the other.
struct SharedDtp {
  /// The immediate of the latest event, (DTP id mod 2^8) << 24 | (index mod 2^24); at first that of the image before
  /// the first.
  alignas(64) std::atomic<std::uint32_t> lock{0};  // seq_cst by the source behind its lines, and by the receiver
  /// Images granted: index k may be sent while k < granted. Release by the receiver, acquire by the source.
  alignas(64) std::atomic<std::uint64_t> granted{0};
  SleepWord source;  ///< of the source's thread, which waits for credits
  /// Images that the source has begun to write: set before the first line of each. seq_cst against `closed`.
  alignas(64) std::atomic<std::uint64_t> begun{0};
  /// Images that are not waited for any more: index k is written while k >= closed. Seldom written.
  alignas(64) std::atomic<std::uint64_t> closed{0};  // seq_cst by the receiver, against `begun` of the source
};

/// One receiving thread.
struct alignas(64) Thread {
  SleepWord receiver;  ///< which waits for events
};

/// The receiver's side: makes the block.
class ControlBlock {
 public:
  /// Makes the block of a RASHPA buffer of `region_bytes`, at the beginning of the memfd `region_file`. Its lines may
  /// lie in an accelerator's memory instead. Throws ConfigError when the file is not that large, ResourceError.
  ControlBlock(std::uint64_t region_bytes, int region_file, std::uint32_t dtps, std::uint32_t threads,
               const memory::DmaBlock& lines = {});

  [[nodiscard]] SharedDtp& dtp(std::size_t dtp) noexcept { return dtps_[dtp]; }
  [[nodiscard]] Thread& thread(std::size_t number) noexcept { return threads_[number]; }
  /// The endpoint of DTP number `dtp` for its source.
  [[nodiscard]] Endpoint endpoint(std::uint32_t dtp) const;

 private:
  memory::Buffer memory_;
  std::uint32_t key_ = 0;
  SharedDtp* dtps_ = nullptr;
  Thread* threads_ = nullptr;
};

/// Lines of a receiver that lie in an accelerator's memory, for a process that has such a device. A receiver's
/// description of its memory is not checked here: writes to a wrong place make the device fail, and nothing else.
struct RemoteLines {
  std::uint64_t bytes = 0;
  std::byte* address = nullptr;  ///< as the receiver's process has it; null: that is another one, use `handle`
  std::array<std::byte, 64> handle{};
};

/// The source's side: control block and RASHPA buffer of a receiver, mapped. Shared by the senders of its DTPs. Both
/// stay mapped when the receiver ends: later writes reach nobody.
class RemoteMemory {
 public:
  /// Opens what an endpoint names, which may come from anywhere. Throws ConfigError when it is not what a receiver of
  /// this version offers under that key, ResourceError when it cannot be opened.
  static std::shared_ptr<const RemoteMemory> open(const Endpoint& endpoint);

  [[nodiscard]] std::uint32_t dtps() const noexcept { return header_.dtps; }
  [[nodiscard]] SharedDtp& dtp(std::uint32_t dtp) const noexcept { return dtps_[dtp]; }
  [[nodiscard]] Thread& thread_of(std::uint32_t dtp) const noexcept { return threads_[dtp % header_.threads]; }
  /// The whole control block.
  [[nodiscard]] std::span<std::byte> control() const noexcept { return control_.bytes(); }
  [[nodiscard]] std::span<std::byte> region() const noexcept { return {region_.data(), header_.region_bytes}; }
  /// Returns where lines go, unless into region().
  [[nodiscard]] const std::optional<RemoteLines>& lines() const noexcept { return lines_; }
  /// The bound of offsets of lines.
  [[nodiscard]] std::uint64_t line_bytes() const noexcept { return lines_ ? lines_->bytes : header_.region_bytes; }
  [[nodiscard]] bool is(const Endpoint& endpoint) const noexcept {
    return endpoint.address == address_ && endpoint.rkey == header_.key;
  }

 private:
  explicit RemoteMemory(const Endpoint& endpoint);
  std::string address_;
  memory::Buffer control_;
  memory::Buffer region_;
  Header header_{};
  std::optional<RemoteLines> lines_;
  SharedDtp* dtps_ = nullptr;
  Thread* threads_ = nullptr;
};

}  // namespace rashpa::link::pcie
