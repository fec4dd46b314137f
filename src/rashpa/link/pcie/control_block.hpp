// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory that both ends of the link share besides the RASHPA buffer. For each DTP it has the lock word, which the
/// source writes and the receiver polls, and the credits, which the receiver writes and the source reads.
/// It lies in a memfd of its own, opened through the receiver's /proc entry, so nothing remains when a process dies.
/// Neither side trusts the other's words: sizes come from the kernel or from own memory, and words are only data.
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

/// The header of the block. It is written before any other process knows the block, and read once by each process that
/// opens it.
struct alignas(64) Header {
  std::uint64_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::uint32_t key = 0;           ///< random number, which detects a reused process id or file descriptor
  std::uint64_t region_bytes = 0;  ///< bytes of the RASHPA buffer
  std::uint32_t region_file = 0;   ///< file descriptor of the buffer in the receiver's process
  std::uint32_t threads = 0;       ///< threads of the receiving link; thread d mod threads serves DTP d
  std::uint32_t dtps = 0;
  std::uint32_t reserved = 0;
  /// Lines in an accelerator's memory: its bytes, its address in the receiver's process, and the handle by which others
  /// open it. 0 bytes: the lines lie in the RASHPA buffer, as records always do.
  std::uint64_t lines_bytes = 0;
  std::uint64_t lines_address = 0;
  std::array<std::byte, 64> lines_handle{};
};

/// The words of one DTP. Words that one side writes often share no cache line with those of the other side.
struct SharedDtp {
  /// The immediate of the latest event, (DTP id mod 2^8) << 24 | (index mod 2^24). It starts as that of the image
  /// before the first.
  alignas(64) std::atomic<std::uint32_t> lock{0};  // seq_cst by the source behind its lines, and by the receiver
  /// The number of images granted: index k may be sent while k < granted. Release by the receiver, acquire by the
  /// source.
  alignas(64) std::atomic<std::uint64_t> granted{0};
  SleepWord source;  ///< sleep of the source's thread, which waits for credits
  /// The number of images that the source has begun to write, set before the first line of each. seq_cst by the source
  /// against the receiver's `closed`; acquire by the receiver.
  alignas(64) std::atomic<std::uint64_t> begun{0};
  /// The number of images that are no longer awaited: index k is written while k >= closed. Rarely written.
  alignas(64) std::atomic<std::uint64_t> closed{0};  // seq_cst by the receiver, against `begun` of the source
};

/// The words of one receiving thread.
struct alignas(64) Thread {
  SleepWord receiver;  ///< sleep of the receiving thread, which waits for events
};

/// The receiver's side of the control block, which it creates.
class ControlBlock {
 public:
  /// Makes the block for a RASHPA buffer of `region_bytes` at the beginning of the memfd `region_file`. `lines` is set
  /// when the lines lie in an accelerator's memory. Throws ConfigError when the file is too short, and ResourceError.
  ControlBlock(std::uint64_t region_bytes, int region_file, std::uint32_t dtps, std::uint32_t threads,
               const memory::DmaBlock& lines = {});

  [[nodiscard]] SharedDtp& dtp(std::size_t dtp) noexcept { return dtps_[dtp]; }
  [[nodiscard]] Thread& thread(std::size_t number) noexcept { return threads_[number]; }
  [[nodiscard]] std::span<std::byte> bytes() const noexcept { return memory_.bytes(); }
  /// Returns the endpoint of DTP number `dtp`, for its source.
  [[nodiscard]] Endpoint endpoint(std::uint32_t dtp) const;

 private:
  memory::Buffer memory_;
  std::uint32_t key_ = 0;
  SharedDtp* dtps_ = nullptr;
  Thread* threads_ = nullptr;
};

/// The lines of a receiver in an accelerator's memory, for a process with such a device. The receiver's description is
/// not verified: a write to a wrong place makes only the device fail.
struct RemoteLines {
  std::uint64_t bytes = 0;
  /// address in the receiver's process; null: this is another process, which uses `handle`
  std::byte* address = nullptr;
  std::array<std::byte, 64> handle{};
};

/// The source's side: the mapped control block and RASHPA buffer of a receiver, shared by the senders of its DTPs. Both
/// stay mapped when the receiver ends, so later writes have no reader and do no harm.
class RemoteMemory {
 public:
  /// Opens the memory that an untrusted endpoint names. Throws ConfigError when it is not a receiver of this version
  /// with that key, ResourceError when it cannot be opened.
  static std::shared_ptr<const RemoteMemory> open(const Endpoint& endpoint);

  [[nodiscard]] std::uint32_t dtps() const noexcept { return header_.dtps; }
  [[nodiscard]] SharedDtp& dtp(std::uint32_t dtp) const noexcept { return dtps_[dtp]; }
  [[nodiscard]] Thread& thread_of(std::uint32_t dtp) const noexcept { return threads_[dtp % header_.threads]; }
  /// Returns the whole control block.
  [[nodiscard]] std::span<std::byte> control() const noexcept { return control_.bytes(); }
  [[nodiscard]] std::span<std::byte> region() const noexcept { return {region_.data(), header_.region_bytes}; }
  /// Returns the place of lines in an accelerator's memory; nothing when lines go into region().
  [[nodiscard]] const std::optional<RemoteLines>& lines() const noexcept { return lines_; }
  /// Returns the upper bound of line offsets in bytes.
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
