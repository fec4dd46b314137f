// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The few headers of the data path in an efficient form: big-endian loads and stores without branches.
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rashpa::wire {

inline constexpr std::size_t kBth = 12;
inline constexpr std::size_t kReth = 16;
inline constexpr std::size_t kImmediate = 4;
inline constexpr std::size_t kAeth = 4;
inline constexpr std::size_t kDeth = 8;
inline constexpr std::size_t kIcrc = 4;
inline constexpr std::uint32_t kPsnMask = 0xFFFFFF;
inline constexpr std::uint16_t kPkey = 0xFFFF;
inline constexpr std::uint16_t kRoce1Ethertype = 0x8915;
inline constexpr std::uint8_t kIbaNextHeader = 0x1B;  ///< in the GRH: a BTH follows
/// The lowest queue pair number that we use. Queue pairs 0 and 1 are special, those below 16 are avoided
/// (docs/explanations/software_roce.md).
inline constexpr std::uint32_t kFirstQpn = 16;

/// The upper three bits of an opcode, which are the transport; the lower five are the operation.
inline constexpr std::uint8_t kTransportBits = 0xE0;
inline constexpr std::uint8_t kRcBits = 0x00;
inline constexpr std::uint8_t kUcBits = 0x20;
inline constexpr std::uint8_t kUdBits = 0x60;

/// The opcodes of UC RDMA WRITE; as_rc() returns those of RC.
enum Opcode : std::uint8_t {
  write_first = 0x26,
  write_middle = 0x27,
  write_last = 0x28,
  write_last_imm = 0x29,
  write_only = 0x2A,
  write_only_imm = 0x2B,
  rc_acknowledge = 0x11,
  ud_send_only = 0x64,
  ud_send_only_imm = 0x65,
  congestion_notification = 0x81,  ///< CNP, which belongs to no transport service
};

/// Returns the RC opcode of a UC RDMA WRITE.
constexpr std::uint8_t as_rc(std::uint8_t opcode) noexcept {
  return static_cast<std::uint8_t>(opcode & ~unsigned{kTransportBits});
}

/// Returns a − b modulo 2^24, −2^23 … 2^23 − 1: positive when `a` comes after `b`.
constexpr std::int32_t psn_distance(std::uint32_t a, std::uint32_t b) noexcept {
  return static_cast<std::int32_t>((a - b) << 8) >> 8;
}

template <typename T>
T load_be(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  if constexpr (std::endian::native == std::endian::little) {
    if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
  }
  return value;
}

template <typename T>
void store_be(std::byte* at, T value) noexcept {
  if constexpr (std::endian::native == std::endian::little) {
    if constexpr (sizeof(T) == 2) value = __builtin_bswap16(value);
    if constexpr (sizeof(T) == 4) value = __builtin_bswap32(value);
    if constexpr (sizeof(T) == 8) value = __builtin_bswap64(value);
  }
  std::memcpy(at, &value, sizeof value);
}

/// The base transport header of a packet; `bytes` is BTH … ICRC.
struct Bth {
  std::uint8_t opcode = 0;
  std::uint8_t pad = 0;
  std::uint8_t version = 0;
  std::uint16_t pkey = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
  bool ack_request = false;
};

inline Bth load_bth(const std::byte* at) noexcept {
  const auto flags = static_cast<std::uint8_t>(at[1]);
  return {static_cast<std::uint8_t>(at[0]),           static_cast<std::uint8_t>((flags >> 4) & 3U),
          static_cast<std::uint8_t>(flags & 15U),     load_be<std::uint16_t>(at + 2),
          load_be<std::uint32_t>(at + 4) & 0xFFFFFFU, load_be<std::uint32_t>(at + 8) & kPsnMask,
          static_cast<std::uint8_t>(at[8]) >> 7 != 0};
}

inline void store_bth(std::byte* at, std::uint8_t opcode, std::uint32_t pad, std::uint32_t qpn, std::uint32_t psn,
                      bool ack_request = false) noexcept {
  at[0] = static_cast<std::byte>(opcode);
  at[1] = static_cast<std::byte>(pad << 4);
  store_be<std::uint16_t>(at + 2, kPkey);
  store_be<std::uint32_t>(at + 4, qpn & 0xFFFFFFU);
  store_be<std::uint32_t>(at + 8, (psn & kPsnMask) | (ack_request ? 0x80000000U : 0U));
}

/// Overwrites the sequence number of an existing header.
inline void store_psn(std::byte* at, std::uint32_t psn) noexcept {
  store_be<std::uint32_t>(at + 8, (load_be<std::uint32_t>(at + 8) & ~kPsnMask) | (psn & kPsnMask));
}

struct Reth {
  std::uint64_t address = 0;
  std::uint32_t key = 0;
  std::uint32_t length = 0;
};

inline Reth load_reth(const std::byte* at) noexcept {
  return {load_be<std::uint64_t>(at), load_be<std::uint32_t>(at + 8), load_be<std::uint32_t>(at + 12)};
}

inline void store_reth(std::byte* at, const Reth& reth) noexcept {
  store_be<std::uint64_t>(at, reth.address);
  store_be<std::uint32_t>(at + 8, reth.key);
  store_be<std::uint32_t>(at + 12, reth.length);
}

/// The content of an acknowledgement; the syndrome is a whole byte.
struct Aeth {
  std::uint8_t syndrome = 0;
  std::uint32_t msn = 0;
};

inline Aeth load_aeth(const std::byte* at) noexcept {
  const auto both = load_be<std::uint32_t>(at);
  return {static_cast<std::uint8_t>(both >> 24), both & kPsnMask};
}

inline void store_aeth(std::byte* at, const Aeth& aeth) noexcept {
  store_be<std::uint32_t>(at, std::uint32_t{aeth.syndrome} << 24 | (aeth.msn & kPsnMask));
}

/// The datagram header of UD.
struct Deth {
  std::uint32_t qkey = 0;
  std::uint32_t source_qpn = 0;
};

inline Deth load_deth(const std::byte* at) noexcept {
  return {load_be<std::uint32_t>(at), load_be<std::uint32_t>(at + 4) & 0xFFFFFFU};
}

inline void store_deth(std::byte* at, const Deth& deth) noexcept {
  store_be<std::uint32_t>(at, deth.qkey);
  store_be<std::uint32_t>(at + 4, deth.source_qpn & 0xFFFFFFU);
}

/// The header before the payload of a UD SEND, little endian: schema/line_header.md.
struct LineHeader {
  enum Kind : std::uint16_t { line = 1, record = 2, credit = 3 };
  static constexpr std::size_t kBytes = 16;
  static constexpr std::uint16_t kVersion = 1;
  std::uint64_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint16_t kind = 0;
  std::uint16_t version = kVersion;
};
static_assert(std::endian::native == std::endian::little && sizeof(LineHeader) == LineHeader::kBytes);

inline LineHeader load_line_header(const std::byte* at) noexcept {
  LineHeader header;
  std::memcpy(&header, at, sizeof header);
  return header;
}

inline void store_line_header(std::byte* at, const LineHeader& header) noexcept {
  std::memcpy(at, &header, sizeof header);
}

/// Returns the bytes before the pixels: BTH, extended headers and, with UD, the line header; 0 for opcodes without
/// pixels. It is one table of all 256 opcodes, since it is read for each packet.
constexpr std::size_t header_bytes_of(std::uint8_t opcode) noexcept {
  const std::uint8_t transport = opcode & kTransportBits;
  if (opcode == ud_send_only) return kBth + kDeth + LineHeader::kBytes;
  if (opcode == ud_send_only_imm) return kBth + kDeth + kImmediate + LineHeader::kBytes;
  if (transport != kRcBits && transport != kUcBits) return 0;
  switch (as_rc(opcode) | kUcBits) {
    case write_first:
    case write_only:
      return kBth + kReth;
    case write_only_imm:
      return kBth + kReth + kImmediate;
    case write_middle:
    case write_last:
      return kBth;
    case write_last_imm:
      return kBth + kImmediate;
    default:
      return 0;
  }
}
inline constexpr auto kHeaderBytes = [] {
  std::array<std::uint8_t, 256> table{};
  for (std::size_t opcode = 0; opcode < table.size(); ++opcode) {
    table[opcode] = static_cast<std::uint8_t>(header_bytes_of(static_cast<std::uint8_t>(opcode)));
  }
  return table;
}();
constexpr std::size_t header_bytes(std::uint8_t opcode) noexcept { return kHeaderBytes[opcode]; }

/// Returns the bytes of padding to a multiple of 4.
constexpr std::uint32_t pad_of(std::uint64_t payload) noexcept { return static_cast<std::uint32_t>(-payload & 3U); }

/// Extracts the payload behind `headers` bytes of `body` (the bytes after the BTH, without ICRC). Returns false when
/// the packet is too short or its padding is wrong.
inline bool take_payload(const Bth& bth, std::span<const std::byte> body, std::size_t headers,
                         std::span<const std::byte>& payload) noexcept {
  if (body.size() < headers + bth.pad) return false;
  payload = body.subspan(headers, body.size() - headers - bth.pad);
  return pad_of(payload.size()) == bth.pad;
}

}  // namespace rashpa::wire
