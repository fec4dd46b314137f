// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "rashpa/link/words.hpp"
#include "rashpa/memory/address_translation.hpp"
#include "rashpa/memory/gather/gather.hpp"

namespace rashpa {
struct LastWord;
}  // namespace rashpa

namespace rashpa::link {

struct ReceiverDtp;

/// The memory that a receiver's link writes. Lines may lie in an accelerator's memory; records always lie in host
/// memory, because the link's thread reads them. Offsets of a placement count from the begin of the block of lines or
/// of records, which are usually one block. Its owner keeps it alive longer than the link.
struct ReceiverMemory {
  ReceiverMemory() = default;
  /// Describes lines and records in one block of host memory, which all links support.
  template <std::convertible_to<std::span<std::byte>> Region>
  ReceiverMemory(Region&& region) : records(std::forward<Region>(region)) {  // NOLINT: the plain form of this
    lines.data = records.data();
    lines.bytes = records.size();
  }
  ReceiverMemory(const memory::DmaBlock& pixels, std::span<std::byte> host, memory::Gathering* gathering = nullptr)
      : lines(pixels), records(host), gathers(gathering) {}

  [[nodiscard]] bool one_block() const noexcept {
    return !lines.accelerator && lines.data == records.data() && lines.bytes == records.size();
  }

  memory::DmaBlock lines;
  std::span<std::byte> records;
  /// offset of the first last word in the block of lines, where a device waits for words: a word is in order only with
  /// lines that go the same way. All bits of words are set before the run
  std::optional<std::uint64_t> words{};
  /// gathers packets into lines in an accelerator's memory; null: that memory has no such thing
  memory::Gathering* gathers = nullptr;
  /// the offset at which the block of records begins, where both blocks are written under one key; 0: it has its own
  std::uint64_t records_at = 0;
};

/// The distance of the last words of two DTPs, in bytes.
inline constexpr std::uint64_t kWordDistance = 256;

/// Returns the last word of a DTP without its place; `records`: the block with its ring of records.
LastWord last_word_of(const ReceiverDtp& dtp, std::span<std::byte> records) noexcept;

/// Returns the one block of host memory, for links that support no other. Otherwise throws ConfigError that begins with
/// `link` and names an alternative.
std::span<std::byte> host_block(std::string_view link, const ReceiverMemory& memory);
/// Throws ConfigError that begins with `link` unless `memory` is one block of host memory, or lines in an accelerator's
/// into which packets can be gathered.
void check_gathered(std::string_view link, const ReceiverMemory& memory);
/// Returns a gather into lines in an accelerator's memory; null where lines lie in host memory. Throws ResourceError.
std::unique_ptr<memory::Gather> gather_into(const ReceiverMemory& memory, const memory::GatherRoom& room);
/// Throws ConfigError that begins with `link` unless `memory` is one block of host memory, or has its lines in an
/// accelerator's and nothing is to be verified there; for links that support both.
void check_blocks(std::string_view link, const ReceiverMemory& memory, Verify verify);

}  // namespace rashpa::link
