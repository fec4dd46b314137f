// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/frame/frame_record.hpp"

#include <bit>
#include <cstring>

#include "rashpa/core/numbers/checksum.hpp"

namespace rashpa {

namespace {

static_assert(std::endian::native == std::endian::little, "the record is written as it lies in memory");

// Appends and takes members in wire order; both ends use the same list, so they cannot differ.
template <typename Visitor, typename Record>
void visit_members(Record& r, Visitor&& visit) {
  visit(r.dtp);
  visit(r.flags);
  visit(r.frame_number);
  visit(r.timestamp_ns);
  visit(r.index);
  visit(r.slot);
  visit(r.lines);
  visit(r.payload_bytes);
  visit(r.payload_crc32c);
  visit(r.run);
  for (auto& word : r.user) visit(word);
}

struct Header {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t bytes;
};

constexpr std::size_t kCrcOffset = FrameRecord::kBytes - 4;

}  // namespace

void encode(const FrameRecord& record, std::span<std::byte, FrameRecord::kBytes> out) noexcept {
  std::memset(out.data(), 0, out.size());
  const Header header{FrameRecord::kMagic, FrameRecord::kVersion, FrameRecord::kBytes};
  std::memcpy(out.data(), &header, sizeof header);
  std::size_t at = sizeof header;
  visit_members(record, [&](const auto& member) {
    std::memcpy(out.data() + at, &member, sizeof member);
    at += sizeof member;
  });
  const std::uint32_t crc = crc32c(out.first(kCrcOffset));
  std::memcpy(out.data() + kCrcOffset, &crc, sizeof crc);
}

std::optional<FrameRecord> decode_frame_record(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < FrameRecord::kBytes) return std::nullopt;
  Header header{};
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.magic != FrameRecord::kMagic || header.version != FrameRecord::kVersion ||
      header.bytes != FrameRecord::kBytes) {
    return std::nullopt;
  }
  std::uint32_t crc = 0;
  std::memcpy(&crc, bytes.data() + kCrcOffset, sizeof crc);
  if (crc != crc32c(bytes.first(kCrcOffset))) return std::nullopt;
  FrameRecord record;
  std::size_t at = sizeof header;
  visit_members(record, [&](auto& member) {
    std::memcpy(&member, bytes.data() + at, sizeof member);
    at += sizeof member;
  });
  return record;
}

}  // namespace rashpa
