// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/xdp/frame.hpp"

#include <array>
#include <bit>
#include <cstring>

#include "rashpa/wire/headers.hpp"

namespace rashpa::link::sls::xdp {

namespace {

constexpr std::size_t kEthernet = 14;
constexpr std::size_t kIp = 20;
constexpr std::size_t kUdp = 8;
constexpr std::uint8_t kProtocol = 17;

/// The sum of 16-bit words of the internet checksum, over bytes that come in runs of any length. Words are summed in
/// the order of the processor; the folded sum is the same in either order but for a swap of its bytes.
class Sum {
 public:
  void add(std::span<const std::byte> run) noexcept {
    std::uint64_t sum = 0;
    std::size_t at = 0;
    for (; at + sizeof(std::uint32_t) <= run.size(); at += sizeof(std::uint32_t)) {
      std::uint32_t word = 0;
      std::memcpy(&word, run.data() + at, sizeof word);
      sum += word;
    }
    std::array<std::byte, sizeof(std::uint32_t)> rest{};
    std::memcpy(rest.data(), run.data() + at, run.size() - at);
    sum += std::bit_cast<std::uint32_t>(rest);
    const std::uint16_t folded = fold(sum);
    sum_ += odd_ ? static_cast<std::uint16_t>(folded << 8U | folded >> 8U) : folded;
    odd_ = odd_ != (run.size() % 2 != 0);
  }
  [[nodiscard]] std::uint16_t folded() const noexcept { return fold(sum_); }

 private:
  static std::uint16_t fold(std::uint64_t sum) noexcept {
    constexpr std::uint64_t kWord = 0xFFFF;
    while (sum > kWord) sum = (sum & kWord) + (sum >> 16U);
    return static_cast<std::uint16_t>(sum);
  }
  std::uint64_t sum_ = 0;
  bool odd_ = false;
};

constexpr std::uint16_t kRight = 0xFFFF;  // the sum of bytes with their checksum

Sum addresses_of(const std::byte* ip, const std::byte* udp) noexcept {
  Sum sum;
  sum.add({ip + 12, 8});
  const std::array<std::byte, 4> rest{std::byte{0}, std::byte{kProtocol}, udp[4], udp[5]};
  sum.add(rest);
  return sum;
}

bool udp_checksum_right(const std::byte* ip, const std::byte* udp, const ScatteredBytes& payload) noexcept {
  std::uint16_t given = 0;
  std::memcpy(&given, udp + 6, sizeof given);
  if (given == 0) return true;
  Sum sum = addresses_of(ip, udp);
  if (sum.folded() == given) return true;  // a card would have finished it
  sum.add({udp, kUdp});
  payload.for_each([&sum](std::span<const std::byte> run) { sum.add(run); });
  return sum.folded() == kRight;
}

}  // namespace

ParsedFrame parse_frame(const ScatteredBytes& frame) noexcept {
  if (frame.size() < kFrameHeaders) return {};
  std::array<std::byte, kFrameHeaders> headers;  // NOLINT: written by the copy
  frame.subrange(0, kFrameHeaders).copy_to(headers.data());
  const std::byte* const ip = headers.data() + kEthernet;
  const std::byte* const udp = ip + kIp;
  constexpr std::uint16_t kIpv4 = 0x0800;
  constexpr std::uint16_t kFragment = 0x3FFF;  // offset, and that more follow
  constexpr std::byte kNoOptions{0x45};
  if (wire::load_be<std::uint16_t>(ip - 2) != kIpv4 || ip[0] != kNoOptions || ip[9] != std::byte{kProtocol}) return {};
  if ((wire::load_be<std::uint16_t>(ip + 6) & kFragment) != 0) return {};
  const std::size_t total = wire::load_be<std::uint16_t>(ip + 2);
  const std::size_t length = wire::load_be<std::uint16_t>(udp + 4);
  if (total < kIp + kUdp || total > frame.size() - kEthernet || length != total - kIp) return {};
  const ScatteredBytes payload = frame.subrange(kFrameHeaders, length - kUdp);
  Sum header;
  header.add({ip, kIp});
  if (header.folded() != kRight || !udp_checksum_right(ip, udp, payload)) return {Verdict::bad_checksum, {}};
  return {Verdict::datagram, payload};
}

}  // namespace rashpa::link::sls::xdp
