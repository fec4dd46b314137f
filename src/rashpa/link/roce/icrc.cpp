#include "rashpa/link/roce/icrc.hpp"

#include <cstring>

#include "rashpa/core/checksum.hpp"
#include "rashpa/link/dual_crc.hpp"
#include "rashpa/link/roce/wire.hpp"

namespace rashpa::link::roce {

namespace {

// Polynomials over GF(2) modulo CRC-32's, bit 31 is the coefficient of x^0 (reflected, as the checksum's register).
constexpr std::uint32_t kPolynomial = 0xEDB88320;
constexpr std::uint32_t kOne = 0x80000000;
constexpr std::uint32_t kInverseOfX = (kPolynomial << 1) | 1;  // P = 1 + x·(…), hence 1/x = (P + 1)/x

constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) noexcept {
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
  for (int i = 0; i < 3; ++i) value = times(value, value);
  for (auto& power : powers) {
    power = value;
    value = times(value, value);
  }
  return powers;
}();

std::uint32_t back(std::size_t bytes) noexcept {
  std::uint32_t value = kOne;
  for (std::size_t k = 0; bytes != 0 && k < kBack.size(); ++k, bytes >>= 1) {
    if ((bytes & 1U) != 0) value = times(value, kBack[k]);
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
  const std::uint32_t before = times(difference, last_factor);
  if ((before >> 16) != 0) return std::nullopt;
  return static_cast<std::uint16_t>((before & 0xFFU) << 8 | before >> 8);
}

IcrcPath::IcrcPath(const Address& source, const Address& destination) noexcept : v6_(source.v6()) {
  std::byte* const at = header_.data();
  std::memset(at, 0xFF, 8);
  std::byte* const ip = at + 8;
  const auto from = source.ip();
  const auto to = destination.ip();
  std::byte* udp = nullptr;
  if (v6_) {
    wire::store_be<std::uint32_t>(ip, 0x6FFFFFFF);
    ip[6] = std::byte{17};
    ip[7] = std::byte{0xFF};
    std::memcpy(ip + 8, from.data(), 16);
    std::memcpy(ip + 24, to.data(), 16);
    udp = ip + 40;
  } else {
    ip[0] = std::byte{0x45};
    ip[1] = std::byte{0xFF};
    wire::store_be<std::uint16_t>(ip + 6, 0x4000);
    ip[8] = std::byte{0xFF};
    ip[9] = std::byte{17};
    wire::store_be<std::uint16_t>(ip + 10, 0xFFFF);
    std::memcpy(ip + 12, from.data(), 4);
    std::memcpy(ip + 16, to.data(), 4);
    udp = ip + 20;
  }
  wire::store_be(udp, source.port());
  wire::store_be(udp + 2, destination.port());
  wire::store_be<std::uint16_t>(udp + 6, 0xFFFF);
  header_bytes_ = static_cast<std::size_t>(udp + 8 - at);
}

std::uint32_t IcrcPath::start(std::size_t udp_payload, std::uint16_t id) noexcept {
  if (udp_payload != length_) {
    length_ = udp_payload;
    known_ = 0;
  }
  if (id < kIds && (known_ >> id & 1U) != 0) return starts_[id];
  std::byte* const ip = header_.data() + 8;
  const auto udp_bytes = static_cast<std::uint16_t>(udp_payload + 8);
  if (v6_) {
    wire::store_be<std::uint16_t>(ip + 4, udp_bytes);
  } else {
    wire::store_be<std::uint16_t>(ip + 2, static_cast<std::uint16_t>(udp_bytes + 20));
    wire::store_be<std::uint16_t>(ip + 4, id);
  }
  wire::store_be<std::uint16_t>(header_.data() + header_bytes_ - 4, udp_bytes);
  const std::uint32_t state = crc32(std::span(header_).first(header_bytes_));
  if (id < kIds) {
    starts_[id] = state;
    known_ |= std::uint64_t{1} << id;
  }
  return state;
}

IcrcCheck IcrcPath::check(std::span<std::byte> packet, std::uint16_t index) noexcept {
  const std::byte reserved = packet[4];
  packet[4] = std::byte{0xFF};
  const std::uint32_t computed = crc32(packet.first(packet.size() - wire::kIcrc), start(packet.size(), index));
  packet[4] = reserved;
  return judge(computed, packet, index);
}

IcrcCheck IcrcPath::check(std::span<std::byte> packet, std::uint16_t index, std::size_t payload, std::size_t bytes,
                          std::uint32_t& payload_crc32c) noexcept {
  const std::byte reserved = packet[4];
  packet[4] = std::byte{0xFF};
  const std::uint32_t headers = crc32(packet.first(payload), start(packet.size(), index));
  packet[4] = reserved;
  const CrcPair both = dual_crc(packet.subspan(payload, bytes), {headers, 0});
  payload_crc32c = both.crc32c;
  const std::size_t behind = payload + bytes;
  const std::size_t pad = packet.size() - wire::kIcrc - behind;
  return judge(pad == 0 ? both.crc32 : crc32(packet.subspan(behind, pad), both.crc32), packet, index);
}

IcrcCheck IcrcPath::judge(std::uint32_t computed, std::span<const std::byte> packet,
                          std::uint16_t index) const noexcept {
  const std::size_t covered = packet.size() - wire::kIcrc;
  std::uint32_t received = 0;
  std::memcpy(&received, packet.data() + covered, sizeof received);
  if (computed == received) return IcrcCheck::exact;
  if (v6_) return IcrcCheck::bad;
  constexpr std::size_t kIpBehindId = 14;
  constexpr std::size_t kUdp = 8;
  const auto changed = changed_id_bits(computed ^ received, kIpBehindId + kUdp + covered);
  if (!changed) return IcrcCheck::bad;
  return (*changed ^ index) == 0 ? IcrcCheck::exact : IcrcCheck::modulo_id;
}

}  // namespace rashpa::link::roce
