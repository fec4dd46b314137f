#pragma once
/// Invariant CRC of RoCE packets (roce.md): CRC-32 over 8 bytes of ones, the IP and UDP headers and the BTH with their
/// variant fields set to ones, and the rest of the packet.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/link/roce/address.hpp"

namespace rashpa::link::roce {

/// CRC-32 is linear: a change of the 16-bit IPv4 identification changes it by a known linear function of the changed
/// bits. Given `difference` (computed ^ received) and the number of checksummed bytes behind the identification,
/// returns the identification's changed bits, or nothing when no identification explains the difference. Wrong for one
/// random difference in 65536.
std::optional<std::uint16_t> changed_id_bits(std::uint32_t difference, std::size_t bytes_behind) noexcept;

/// How well a packet's ICRC was confirmed.
enum class IcrcCheck : std::uint8_t { exact, modulo_id, bad };

/// The ICRC of packets that travel from one UDP address to another, without IP options, "don't fragment" set. Used by
/// one thread: it remembers what does not change from packet to packet.
class IcrcPath {
 public:
  IcrcPath() = default;
  /// Both addresses must be of one family and no wildcards.
  IcrcPath(const Address& source, const Address& destination) noexcept;

  /// The checksum's state before the BTH, for a UDP payload of `udp_payload` bytes (BTH … ICRC).
  [[nodiscard]] std::uint32_t start(std::size_t udp_payload, std::uint16_t id) noexcept;
  /// `packet` is BTH … ICRC, at least 16 bytes; its byte 4 is written and restored. `index`: which segment of a merged
  /// datagram it is. Exact on IPv6, and on IPv4 when the identification is 0 or `index` (what Linux sends), else modulo
  /// id.
  [[nodiscard]] IcrcCheck check(std::span<std::byte> packet, std::uint16_t index) noexcept;
  /// The same, and in the same pass the CRC32C of the packet's payload, which begins at `payload` and has `bytes`
  /// bytes.
  [[nodiscard]] IcrcCheck check(std::span<std::byte> packet, std::uint16_t index, std::size_t payload,
                                std::size_t bytes, std::uint32_t& payload_crc32c) noexcept;

 private:
  [[nodiscard]] IcrcCheck judge(std::uint32_t computed, std::span<const std::byte> packet,
                                std::uint16_t index) const noexcept;

  static constexpr std::size_t kIds = 64;
  std::array<std::byte, 56> header_{};  // 8 ones, masked IP, masked UDP
  std::size_t header_bytes_ = 0;
  bool v6_ = false;
  std::size_t length_ = 0;  // for which starts_ holds
  std::uint64_t known_ = 0;
  std::array<std::uint32_t, kIds> starts_{};
};

}  // namespace rashpa::link::roce
