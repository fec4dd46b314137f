// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/arrivals/receiver_memory.hpp"

#include <fmt/format.h>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/last_word.hpp"
#include "rashpa/link/link.hpp"

namespace rashpa::link {

std::span<std::byte> host_block(std::string_view link, const ReceiverMemory& memory) {
  if (memory.lines.accelerator) {
    throw ConfigError(
        fmt::format("{}: this link writes to host memory only, and the lines lie in an accelerator's; put the buffer "
                    "into host memory, from where unit = \"cuda\" copies it",
                    link));
  }
  if (!memory.one_block()) {
    throw ConfigError(fmt::format(
        "{}: this link has one key for lines and records, and they lie in two blocks; put both into one", link));
  }
  return memory.records;
}

void check_gathered(std::string_view link, const ReceiverMemory& memory) {
  if (!memory.lines.accelerator || memory.gathers == nullptr) host_block(link, memory);
}

std::unique_ptr<memory::Gather> gather_into(const ReceiverMemory& memory, const memory::GatherRoom& room) {
  if (!memory.lines.accelerator) return nullptr;
  return std::make_unique<memory::Gather>(memory.gathers->make_gather(room), room);
}

void check_blocks(std::string_view link, const ReceiverMemory& memory, Verify verify) {
  if (!memory.lines.accelerator) {
    host_block(link, memory);
  } else if (verify != Verify::off) {
    throw ConfigError(
        fmt::format("{}: verify compares the CRC32C of bytes that lie in a GPU's memory, where the link cannot read "
                    "them; use verify off, and the kernel checksum in the pipeline, which does it there",
                    link));
  }
}

LastWord last_word_of(const ReceiverDtp& dtp, std::span<std::byte> records) noexcept {
  return {.records = records.data() + dtp.placement.records_offset,
          .slots = dtp.placement.slots,
          .dtp = dtp.id,
          .run = dtp.run,
          .lines = dtp.placement.lines,
          .every = dtp.slice.every,
          .phase = dtp.slice.phase};
}

}  // namespace rashpa::link
