// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: any bytes as a message of Stream V2, V1 and an slsReceiver. A message that is read fits its own sizes,
/// and unpacking writes nothing beside the image.
#include <algorithm>
#include <cstdlib>

#include "rashpa/link/stream2/messages/json_message.hpp"
#include "rashpa/link/stream2/messages/message.hpp"
#include "rashpa/link/stream2/messages/sls_message.hpp"
#include "rashpa/link/stream2/messages/unpack.hpp"

namespace rashpa::link::stream2 {
namespace {

void require(bool ok) {
  if (!ok) std::abort();
}

// Frames of one message are cut where a line ends with two dollars.
void frames_of(std::span<const std::byte> bytes, Buffer& out) {
  constexpr std::byte kCut{'$'};
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= bytes.size() && !out.full(); ++at) {
    const bool cut = at + 1 < bytes.size() && bytes[at] == kCut && bytes[at + 1] == kCut;
    if (!cut && at != bytes.size()) continue;
    const auto room = out.room(at - begin);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), at - begin, room.begin());
    out.add_frame(at - begin);
    begin = at + 2;
    ++at;
  }
}

void check_message(std::span<const std::byte> bytes, const Message& message);

void fuzz_message(std::span<const std::byte> bytes) {
  Message message;
  if (read_message(bytes, message)) check_message(bytes, message);
  Buffer frames;
  frames_of(bytes, frames);
  if (read_sls_message(frames, message)) {
    require(message.type == Type::end || (message.type == Type::image && message.module && *message.module < 1U << 20));
    check_message({frames.frame(0).data(), frames.size()}, message);
  }
  if (is_json(frames) && read_json_message(frames, message)) {
    check_message({frames.frame(0).data(), frames.size()}, message);
  }
}

void check_message(std::span<const std::byte> bytes, const Message& message) {
  const std::byte* const end = bytes.data() + bytes.size();
  require(message.names().size() <= kMostChannels);
  for (const Packed& packed : message.pixels()) {
    require(packed.bytes.empty() || (packed.bytes.data() >= bytes.data() && &packed.bytes.back() < end));
    constexpr std::uint64_t kLargest = 1U << 20;
    if (packed.size() > kLargest) continue;
    constexpr std::size_t kGuard = 64;
    const std::uint64_t line = packed.columns * pixel_bytes(packed.pixel);
    Placement placement;
    placement.lines = static_cast<std::uint32_t>(packed.rows);
    placement.line_bytes = static_cast<std::uint32_t>(line);
    placement.pitch = line;
    std::vector<std::byte> room(packed.size() + 2 * kGuard, std::byte{0x5A});
    Scratch scratch;
    static_cast<void>(unpack(packed, placement, room.data() + kGuard, scratch));
    const auto is_guard = [](std::byte byte) { return byte == std::byte{0x5A}; };
    require(std::all_of(room.begin(), room.begin() + kGuard, is_guard));
    require(std::all_of(room.end() - kGuard, room.end(), is_guard));
  }
}

}  // namespace
}  // namespace rashpa::link::stream2

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  rashpa::link::stream2::fuzz_message({reinterpret_cast<const std::byte*>(data), size});
  return 0;
}
