// SPDX-License-Identifier: Apache-2.0
#include "rashpa/wire/icrc.hpp"

#include <cstring>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/wire/dual_crc.hpp"
#include "rashpa/wire/headers.hpp"

namespace rashpa::wire {

namespace {

// Polynomials over GF(2) modulo CRC-32's, bit 31 is the coefficient of x^0 (reflected, as the checksum's register).
constexpr std::uint32_t kPolynomial = 0xEDB88320;
constexpr std::uint32_t kOne = 0x80000000;
constexpr std::uint32_t kInverseOfX = (kPolynomial << 1) | 1;  // P = 1 + x·(…), hence 1/x = (P + 1)/x

constexpr std::uint32_t times_crc32(std::uint32_t a, std::uint32_t b) noexcept {
  std::uint32_t product = 0;
  for (std::uint32_t bit = kOne; bit != 0; bit >>= 1) {
    product ^= (a & bit) != 0 ? b : 0;
    b = (b >> 1) ^ ((b & 1U) != 0 ? kPolynomial : 0);
  }
  return product;
}

// x^(−8·2^k): one byte of zeros taken back, two, four, …
constexpr auto kBack = [] {
  std::array<std::uint32_t, 24> powers{};
  std::uint32_t value = kInverseOfX;
  for (int i = 0; i < 3; ++i) value = times_crc32(value, value);
  for (auto& power : powers) {
    power = value;
    value = times_crc32(value, value);
  }
  return powers;
}();

std::uint32_t back(std::size_t bytes) noexcept {
  std::uint32_t value = kOne;
  for (std::size_t k = 0; bytes != 0 && k < kBack.size(); ++k, bytes >>= 1) {
    if ((bytes & 1U) != 0) value = times_crc32(value, kBack[k]);
  }
  return value;
}

}  // namespace

std::optional<std::uint16_t> changed_id_bits(std::uint32_t difference, std::size_t bytes_behind) noexcept {
  // Run the checksum backwards to before the identification's two bytes: there only their own bits may differ.
  thread_local std::size_t last_bytes = ~std::size_t{0};
  thread_local std::uint32_t last_factor = 0;
  if (last_bytes != bytes_behind) {
    last_factor = back(bytes_behind + 2);
    last_bytes = bytes_behind;
  }
  const std::uint32_t before = times_crc32(difference, last_factor);
  if ((before >> 16) != 0) return std::nullopt;
  return static_cast<std::uint16_t>((before & 0xFFU) << 8 | before >> 8);
}

IcrcPath::IcrcPath(const Address& source, const Address& destination, Framing framing) noexcept
    : kind_(framing == Framing::v1 ? NetworkHeader::grh
            : source.v6()          ? NetworkHeader::ipv6
                                   : NetworkHeader::ipv4) {
  std::byte* const at = header_.data();
  std::memset(at, 0xFF, 8);
  std::byte* const ip = at + 8;
  const auto from = source.ip();
  const auto to = destination.ip();
  if (kind_ == NetworkHeader::ipv4) {
    ip[0] = std::byte{0x45};
    ip[1] = std::byte{0xFF};
    store_be<std::uint16_t>(ip + 6, 0x4000);
    ip[8] = std::byte{0xFF};
    ip[9] = std::byte{17};
    store_be<std::uint16_t>(ip + 10, 0xFFFF);
    std::memcpy(ip + 12, from.data(), 4);
    std::memcpy(ip + 16, to.data(), 4);
    header_bytes_ = 8 + 20;
  } else {
    store_be<std::uint32_t>(ip, 0x6FFFFFFF);
    ip[6] = std::byte{kind_ == NetworkHeader::grh ? kIbaNextHeader : std::uint8_t{17}};
    ip[7] = std::byte{0xFF};
    std::memcpy(ip + 8, from.data(), 16);
    std::memcpy(ip + 24, to.data(), 16);
    header_bytes_ = 8 + 40;
  }
  if (kind_ == NetworkHeader::grh) return;
  std::byte* const udp = at + header_bytes_;
  store_be(udp, source.port());
  store_be(udp + 2, destination.port());
  store_be<std::uint16_t>(udp + 6, 0xFFFF);
  header_bytes_ += 8;
}

std::uint32_t IcrcPath::start(std::size_t transport, std::uint16_t id) noexcept {
  if (transport != length_) {
    length_ = transport;
    known_ = 0;
  }
  if (kind_ != NetworkHeader::ipv4) id = 0;
  if (id < kIds && (known_ >> id & 1U) != 0) return starts_[id];
  std::byte* const ip = header_.data() + 8;
  const auto udp_bytes = static_cast<std::uint16_t>(transport + 8);
  switch (kind_) {
    case NetworkHeader::ipv4:
      store_be<std::uint16_t>(ip + 2, static_cast<std::uint16_t>(udp_bytes + 20));
      store_be<std::uint16_t>(ip + 4, id);
      break;
    case NetworkHeader::ipv6:
      store_be<std::uint16_t>(ip + 4, udp_bytes);
      break;
    case NetworkHeader::grh:
      store_be<std::uint16_t>(ip + 4, static_cast<std::uint16_t>(transport));
      break;
  }
  if (kind_ != NetworkHeader::grh) store_be<std::uint16_t>(header_.data() + header_bytes_ - 4, udp_bytes);
  const std::uint32_t state = crc32(std::span(header_).first(header_bytes_));
  if (id < kIds) {
    starts_[id] = state;
    known_ |= std::uint64_t{1} << id;
  }
  return state;
}

IcrcCheck IcrcPath::check(std::span<std::byte> packet, Identification id) noexcept {
  const std::byte reserved = packet[4];
  packet[4] = std::byte{0xFF};
  const std::uint32_t computed = crc32(packet.first(packet.size() - kIcrc), start(packet.size(), id.value));
  packet[4] = reserved;
  return judge(computed, packet, id);
}

IcrcCheck IcrcPath::check(std::span<std::byte> packet, Identification id, std::size_t payload, std::size_t bytes,
                          std::uint32_t& payload_crc32c) noexcept {
  const std::byte reserved = packet[4];
  packet[4] = std::byte{0xFF};
  const std::uint32_t headers = crc32(packet.first(payload), start(packet.size(), id.value));
  packet[4] = reserved;
  const CrcPair both = dual_crc(packet.subspan(payload, bytes), {headers, 0});
  payload_crc32c = both.crc32c;
  const std::size_t behind = payload + bytes;
  const std::size_t pad = packet.size() - kIcrc - behind;
  return judge(pad == 0 ? both.crc32 : crc32(packet.subspan(behind, pad), both.crc32), packet, id);
}

IcrcCheck IcrcPath::judge(std::uint32_t computed, std::span<const std::byte> packet, Identification id) const noexcept {
  const std::size_t covered = packet.size() - kIcrc;
  std::uint32_t received = 0;
  std::memcpy(&received, packet.data() + covered, sizeof received);
  if (computed == received) return IcrcCheck::exact;
  if (kind_ != NetworkHeader::ipv4 || id.is == Identification::Is::seen) return IcrcCheck::bad;
  constexpr std::size_t kIpBehindId = 14;
  constexpr std::size_t kUdp = 8;
  const auto changed = changed_id_bits(computed ^ received, kIpBehindId + kUdp + covered);
  if (!changed) return IcrcCheck::bad;
  return (*changed ^ id.value) == 0 ? IcrcCheck::exact : IcrcCheck::modulo_id;
}

}  // namespace rashpa::wire
