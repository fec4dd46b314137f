// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Invariant CRC of RoCE packets (docs/explanations/software_roce.md): CRC-32 over 8 bytes of ones, the IP and UDP
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

/// CRC-32 is linear: a change of the 16-bit IPv4 identification changes it by a known linear function of the changed
/// bits. Given `difference` (computed ^ received) and the number of checksummed bytes behind the identification,
/// returns the identification's changed bits, or nothing when no identification explains the difference. Wrong for one
/// random difference in 65536.
std::optional<std::uint16_t> changed_id_bits(std::uint32_t difference, std::size_t bytes_behind) noexcept;

/// Describes how well a packet's ICRC was confirmed.
enum class IcrcCheck : std::uint8_t { exact, modulo_id, bad };

/// The IPv4 identification of a packet: `expected` from its place in a merged datagram (as Linux sends it), or `seen`
/// in its header, which leaves no excuse. Links without identification ignore it.
struct Identification {
  enum class Is : std::uint8_t { expected, seen };
  std::uint16_t value = 0;
  Is is = Is::expected;
};

/// The ICRC of packets that travel from one UDP address to another, without IP options, "don't fragment" set; with
/// framing v1 from one GID to another. Used by one thread: it remembers what does not change from packet to packet.
class IcrcPath {
 public:
  IcrcPath() = default;
  /// Both addresses must be of one family and no wildcards; with v1 they are GIDs.
  IcrcPath(const Address& source, const Address& destination, Framing framing = Framing::v2) noexcept;

  /// The checksum's state before the BTH, for `transport` bytes of BTH … ICRC.
  [[nodiscard]] std::uint32_t start(std::size_t transport, std::uint16_t id) noexcept;
  /// `packet` is BTH … ICRC, at least 16 bytes; its byte 4 is written and restored. Exact or bad on IPv6, with v1, and
  /// on IPv4 when the identification was seen. Otherwise exact when it is 0 or the expected one, else modulo id.
  [[nodiscard]] IcrcCheck check(std::span<std::byte> packet, Identification id) noexcept;
  /// The same, and in the same pass the CRC32C of the packet's payload, which begins at `payload` and has `bytes`
  /// bytes.
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
