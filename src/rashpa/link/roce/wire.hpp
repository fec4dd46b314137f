#pragma once
/// The few headers of the data path, in the form in which it needs them: big-endian loads and stores without branches.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace rashpa::link::roce::wire {

inline constexpr std::size_t kBth = 12;
inline constexpr std::size_t kReth = 16;
inline constexpr std::size_t kImmediate = 4;
inline constexpr std::size_t kIcrc = 4;
inline constexpr std::uint32_t kPsnMask = 0xFFFFFF;
inline constexpr std::uint16_t kPkey = 0xFFFF;
inline constexpr std::uint16_t kRoce1Ethertype = 0x8915;
inline constexpr std::uint8_t kIbaNextHeader = 0x1B;  ///< in the GRH: a BTH follows
/// Queue pairs 0 and 1 are special, those below 16 are avoided (roce.md).
inline constexpr std::uint32_t kFirstQpn = 16;

/// UC RDMA WRITE, and what congestion answers with.
enum Opcode : std::uint8_t {
  write_first = 0x26,
  write_middle = 0x27,
  write_last = 0x28,
  write_last_imm = 0x29,
  write_only = 0x2A,
  write_only_imm = 0x2B,
  congestion_notification = 0x81,  ///< CNP, of no transport service
};

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

/// Base transport header of a packet; `bytes` is BTH … ICRC.
struct Bth {
  std::uint8_t opcode = 0;
  std::uint8_t pad = 0;
  std::uint8_t version = 0;
  std::uint16_t pkey = 0;
  std::uint32_t qpn = 0;
  std::uint32_t psn = 0;
};

inline Bth load_bth(const std::byte* at) noexcept {
  const auto flags = static_cast<std::uint8_t>(at[1]);
  return {static_cast<std::uint8_t>(at[0]),           static_cast<std::uint8_t>((flags >> 4) & 3U),
          static_cast<std::uint8_t>(flags & 15U),     load_be<std::uint16_t>(at + 2),
          load_be<std::uint32_t>(at + 4) & 0xFFFFFFU, load_be<std::uint32_t>(at + 8) & kPsnMask};
}

inline void store_bth(std::byte* at, std::uint8_t opcode, std::uint32_t pad, std::uint32_t qpn,
                      std::uint32_t psn) noexcept {
  at[0] = static_cast<std::byte>(opcode);
  at[1] = static_cast<std::byte>(pad << 4);
  store_be<std::uint16_t>(at + 2, kPkey);
  store_be<std::uint32_t>(at + 4, qpn & 0xFFFFFFU);
  store_be<std::uint32_t>(at + 8, psn & kPsnMask);
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

/// BTH and extended headers of a UC RDMA WRITE packet; 0 for other opcodes.
constexpr std::size_t header_bytes(std::uint8_t opcode) noexcept {
  switch (opcode) {
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

/// Bytes of padding that bring a payload to a multiple of 4.
constexpr std::uint32_t pad_of(std::uint64_t payload) noexcept { return static_cast<std::uint32_t>(-payload & 3U); }

}  // namespace rashpa::link::roce::wire
