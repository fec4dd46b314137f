// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The invariant CRC of RoCE packets (docs/explanations/software_roce.md): CRC-32 over 8 bytes of ones, the IP and UDP
/// headers and the BTH with their variant fields set to ones, and the rest of the packet.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "rashpa/wire/address.hpp"
#include "rashpa/wire/framing.hpp"
#include "rashpa/wire/packet/packet_icrc.hpp"

namespace rashpa::wire {

/// Returns the bits by which the IPv4 identification differs, or nothing when no identification explains the
/// difference. `difference` is computed ^ received CRC; `bytes_behind` is the number of checksummed bytes after the
/// identification. CRC-32 is linear, so a change of the identification changes it by a known linear function. One
/// random difference in 65536 gives a wrong result.
std::optional<std::uint16_t> changed_id_bits(std::uint32_t difference, std::size_t bytes_behind) noexcept;

/// The degree to which a packet's ICRC was confirmed.
enum class IcrcCheck : std::uint8_t { exact, modulo_id, bad };

/// The IPv4 identification of a packet: `expected` from its place in a merged datagram (as Linux sends it), or `seen`
/// in its header, which must then match. Links without identification ignore it.
struct Identification {
  enum class Is : std::uint8_t { expected, seen };
  std::uint16_t value = 0;
  Is is = Is::expected;
};

/// The ICRC of packets from one UDP address to another, without IP options and with "don't fragment"; with framing v1
/// from one GID to another. One thread; it caches the parts that all packets share.
class IcrcPath {
 public:
  IcrcPath() = default;
  /// Prepares the path. Both addresses must be of one family and no wildcards; with v1 they are GIDs.
  IcrcPath(const Address& source, const Address& destination, Framing framing = Framing::v2) noexcept;

  /// Returns the checksum's state before the BTH, for `transport` bytes of BTH … ICRC.
  [[nodiscard]] std::uint32_t start(std::size_t transport, std::uint16_t id) noexcept;
  /// Checks a packet, BTH … ICRC, of at least 16 bytes; byte 4 is written and restored. The result is exact or bad on
  /// IPv6, with v1, and on IPv4 when the identification was seen. Otherwise it is exact when the identification is 0 or
  /// the expected one, else modulo id.
  [[nodiscard]] IcrcCheck check(std::span<std::byte> packet, Identification id) noexcept;
  /// Checks a packet, and computes in the same pass the CRC32C of its payload, `bytes` bytes from `payload` on.
  [[nodiscard]] IcrcCheck check(std::span<std::byte> packet, Identification id, std::size_t payload, std::size_t bytes,
                                std::uint32_t& payload_crc32c) noexcept;

 private:
  [[nodiscard]] IcrcCheck judge(std::uint32_t computed, std::span<const std::byte> packet,
                                Identification id) const noexcept;

  static constexpr std::size_t kIds = 64;
  std::array<std::byte, 56> header_{};  // 8 ones, masked IP and UDP, or masked GRH
  std::size_t header_bytes_ = 0;
  NetworkHeader kind_ = NetworkHeader::ipv4;
  std::size_t length_ = 0;  // for which starts_ holds
  std::uint64_t known_ = 0;
  std::array<std::uint32_t, kIds> starts_{};
};

}  // namespace rashpa::wire
