// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/xdp/frame.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "rashpa/link/sls/testing/udp_frame.hpp"

namespace rashpa::link::sls::xdp {
namespace {

using testing::UdpFrame;
using Bytes = std::vector<std::byte>;

Bytes payload_of(std::size_t bytes) {
  Bytes out(bytes);
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(i * 7 + i / 256);
  return out;
}

ParsedFrame parsed(const Bytes& frame) {
  const std::span<const std::byte> piece = frame;
  return parse_frame(ScatteredBytes(std::span(&piece, 1)));
}

Verdict verdict(const Bytes& frame) { return parsed(frame).verdict; }

Bytes bytes_of(const ScatteredBytes& from) {
  Bytes out(from.size());
  from.copy_to(out.data());
  return out;
}

TEST(XdpFrame, gives_the_payload_without_the_padding_of_the_frame) {
  for (const std::size_t bytes : {0, 1, 7, 48, 1408, 8240}) {
    UdpFrame frame(payload_of(bytes));
    Bytes padded = frame.bytes();
    padded.resize(std::max<std::size_t>(padded.size(), 60) + 3);
    const std::span<const std::byte> piece = padded;
    const ParsedFrame found = parse_frame(ScatteredBytes(std::span(&piece, 1)));
    ASSERT_EQ(found.verdict, Verdict::datagram) << bytes;
    EXPECT_EQ(bytes_of(found.payload), payload_of(bytes));
  }
}

TEST(XdpFrame, is_the_same_however_the_frame_is_cut) {
  const UdpFrame frame(payload_of(501));
  const Bytes whole = frame.bytes();
  for (std::size_t first = 0; first <= whole.size(); ++first) {
    const std::size_t second = (first + whole.size()) / 2;
    const std::array<ScatteredBytes::Piece, 3> pieces{std::span(whole).first(first),
                                                      std::span(whole).subspan(first, second - first),
                                                      std::span(whole).subspan(second)};
    const ParsedFrame found = parse_frame(ScatteredBytes(pieces));
    ASSERT_EQ(found.verdict, Verdict::datagram) << first;
    ASSERT_EQ(bytes_of(found.payload), payload_of(501)) << first;
  }
}

TEST(XdpFrame, checks_both_checksums) {
  const UdpFrame frame(payload_of(333));
  for (std::size_t at = 0; at < frame.bytes().size(); ++at) {
    Bytes wrong = frame.bytes();
    wrong[at] ^= std::byte{0x10};
    const bool ethernet = at < 12;
    EXPECT_EQ(verdict(wrong) == Verdict::datagram, ethernet) << at;
  }
  Bytes none = frame.bytes();
  none[40] = none[41] = std::byte{0};
  none[100] ^= std::byte{1};
  EXPECT_EQ(verdict(none), Verdict::datagram) << "no UDP checksum";
  UdpFrame local(payload_of(333));
  local.leave_checksum_to_card();
  EXPECT_EQ(verdict(local.bytes()), Verdict::datagram) << "of this machine";
}

TEST(XdpFrame, what_is_no_udp_datagram_is_malformed) {
  const auto changed = [](std::size_t at, std::uint8_t value) {
    UdpFrame frame(payload_of(100));
    frame.set(at, value);
    return verdict(frame.bytes());
  };
  EXPECT_EQ(changed(12, 0x86), Verdict::malformed) << "ethertype";
  EXPECT_EQ(changed(13, 0x06), Verdict::malformed) << "ethertype";
  EXPECT_EQ(changed(14, 0x46), Verdict::malformed) << "options";
  EXPECT_EQ(changed(14, 0x65), Verdict::malformed) << "version";
  EXPECT_EQ(changed(20, 0x20), Verdict::malformed) << "more fragments";
  EXPECT_EQ(changed(21, 0x01), Verdict::malformed) << "a later fragment";
  EXPECT_EQ(changed(23, 6), Verdict::malformed) << "protocol";
  EXPECT_EQ(changed(17, 129), Verdict::malformed) << "IP longer than the frame";
  EXPECT_EQ(changed(17, 27), Verdict::malformed) << "IP shorter than its headers";
  EXPECT_EQ(changed(39, 107), Verdict::malformed) << "UDP shorter than IP";
  EXPECT_EQ(changed(39, 200), Verdict::malformed) << "UDP longer than IP";
  EXPECT_EQ(changed(20, 0x40), Verdict::datagram) << "don't fragment";
  const Bytes whole = UdpFrame(payload_of(100)).bytes();
  for (std::size_t bytes = 0; bytes < whole.size(); ++bytes) {
    EXPECT_EQ(verdict(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(bytes))), Verdict::malformed);
  }
}

}  // namespace
}  // namespace rashpa::link::sls::xdp
