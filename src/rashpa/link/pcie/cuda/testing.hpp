// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A detector with known pixels, and the sender's side of the engine, for tests on a GPU.
#include <array>
#include <cstdint>
#include <cstring>

#include "rashpa/core/numbers/checksum.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/factory/factory.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::pcie::testing {

/// The frames of a detector, as an emulator has them. The lines of each frame go to a place with another pitch.
struct Detector {
  Detector(std::uint32_t lines, std::uint32_t line_bytes, std::uint32_t gap, std::uint64_t images,
           std::uint32_t slots = 4)
      : dtp(link::testing::small_dtp(5, images, lines, line_bytes, slots, gap)),
        pitch(line_bytes + 192),
        memory(kFrames * lines * pitch, memory::MemoryKind::pageable) {
    link::testing::fill(memory.bytes(), 11);
  }
  [[nodiscard]] const std::byte* line(std::uint64_t image, std::uint32_t number) const {
    return memory.data() + (image % kFrames * dtp.placement.lines + number) * pitch;
  }
  [[nodiscard]] std::uint32_t crc(std::uint64_t image) const {
    std::uint32_t crc = 0;
    for (std::uint32_t n = 0; n < dtp.placement.lines; ++n)
      crc = crc32c({line(image, n), dtp.placement.line_bytes}, crc);
    return crc;
  }
  /// Sends an image as a DTP's thread does; returns false when `late`.
  template <typename Late>
  bool send(Sender& sender, std::uint64_t index, const Late& late) const {
    const Placement& p = dtp.placement;
    while (sender.granted() <= index) {
      if (late()) return false;
      sender.poll(500);
    }
    for (std::uint32_t n = 0; n < p.lines; ++n) {
      const BufferDescriptor write{line(index, n), p.image_offset(index) + n * p.pitch, p.line_bytes};
      while (sender.post({&write, 1}) == 0) {
        if (late()) return false;
        sender.poll(500);
      }
    }
    FrameRecord record;
    record.dtp = dtp.id;
    record.frame_number = dtp.slice.frame(index);
    record.index = index;
    record.slot = static_cast<std::uint32_t>(index % p.slots);
    record.lines = p.lines;
    record.payload_bytes = p.payload_bytes();
    record.payload_crc32c = crc(index);
    record.run = dtp.run;
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    while (!sender.post_event({bytes.data(), p.record_offset(index), immediate_of(dtp.id, index)})) {
      if (late()) return false;
      sender.poll(500);
    }
    bytes.fill(std::byte{0xEE});
    return true;
  }
  template <typename Late>
  static void drain(Sender& sender, const Late& late) {
    while (sender.pending() > 0 && !late()) sender.poll(500);
  }

  static constexpr std::uint64_t kFrames = 7;
  ReceiverDtp dtp;
  std::uint64_t pitch;
  memory::Buffer memory;
};

inline auto within(std::int64_t seconds) {
  return [until = now_ns() + seconds * 1'000'000'000] { return now_ns() > until; };
}

inline EndOptions cuda_end() {
  Options options;
  options.engine = EngineKind::cuda;
  return {.link = options, .peer = Kind::pcie, .address = {}};
}

}  // namespace rashpa::link::pcie::testing
