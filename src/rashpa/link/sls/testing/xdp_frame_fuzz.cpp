// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: a frame from the network, in pieces that the first two bytes choose. It is judged as the whole frame is,
/// and its payload lies inside.
#include <array>
#include <cstdlib>
#include <vector>

#include "rashpa/link/sls/testing/udp_frame.hpp"
#include "rashpa/link/sls/xdp/frame.hpp"

namespace rashpa::link::sls::xdp {
namespace {

std::vector<std::byte> bytes_of(const ScatteredBytes& from) {
  std::vector<std::byte> out(from.size());
  from.copy_to(out.data());
  return out;
}

void compare(std::span<const std::byte> frame, std::size_t first, std::size_t second) {
  first %= frame.size() + 1;
  second = first + second % (frame.size() - first + 1);
  // Copies of their own, so that a read beyond a piece is found.
  const std::vector<std::byte> a(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(first));
  const std::vector<std::byte> b(frame.begin() + static_cast<std::ptrdiff_t>(first),
                                 frame.begin() + static_cast<std::ptrdiff_t>(second));
  const std::vector<std::byte> c(frame.begin() + static_cast<std::ptrdiff_t>(second), frame.end());
  const std::array<ScatteredBytes::Piece, 3> pieces{a, b, c};
  const ParsedFrame cut = parse_frame(ScatteredBytes(pieces));
  const ParsedFrame whole = parse_frame(ScatteredBytes(std::span(&frame, 1)));
  if (cut.verdict != whole.verdict || bytes_of(cut.payload) != bytes_of(whole.payload)) std::abort();
  if (cut.payload.size() + (cut.verdict == Verdict::datagram ? kFrameHeaders : 0) > frame.size()) std::abort();
}

}  // namespace
}  // namespace rashpa::link::sls::xdp

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 4) return 0;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  rashpa::link::sls::xdp::compare(bytes.subspan(2), data[0], data[1]);
  // The same bytes behind right headers, of which some are then changed.
  rashpa::link::sls::testing::UdpFrame frame(bytes.subspan(4));
  frame.set(data[2] % rashpa::link::sls::xdp::kFrameHeaders, data[3]);
  rashpa::link::sls::xdp::compare(frame.bytes(), data[0], data[1]);
  return 0;
}
