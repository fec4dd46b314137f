// SPDX-License-Identifier: Apache-2.0
#include "image_source.hpp"

#include <algorithm>
#include <array>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::link::bench {

void send_images(const Load& load, const ReceiverDtp& dtp, Sender& sender, const memory::Buffer& frames,
                 const std::atomic<bool>& stop) {
  const auto* const checksumming = able<Checksumming>(sender);
  memory::place_this_thread("bench-source", load.source_processor);
  const Placement& p = dtp.placement;
  std::array<BufferDescriptor, 32> batch{};
  const std::uint32_t run = std::max(sender.largest_message() / p.line_bytes, 1U) * p.line_bytes;
  const std::uint32_t piece = std::min(run, sender.largest_message());
  const std::uint64_t count = frames.size() / p.payload_bytes();
  for (std::uint64_t k = 0; !stop; ++k) {
    while (sender.granted() <= k && !stop) sender.poll(200);
    const std::byte* const frame = frames.data() + (k % count) * p.payload_bytes();
    for (std::uint64_t at = 0; at < p.payload_bytes();) {
      std::size_t made = 0;
      for (; made < batch.size() && at < p.payload_bytes(); ++made) {
        const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(piece, p.payload_bytes() - at));
        batch[made] = {frame + at, p.image_offset(k) + at, bytes};
        at += bytes;
      }
      for (std::size_t posted = 0; posted < made && !stop;) {
        const std::size_t taken = sender.post(std::span(batch).subspan(posted, made - posted));
        posted += taken;
        if (posted < made) sender.poll(200);
      }
    }
    while (checksumming != nullptr && !checksumming->payload_crc32c() && !stop) sender.poll(200);
    FrameRecord record;
    record.dtp = dtp.id;
    record.frame_number = dtp.slice.frame(k);
    record.index = k;
    record.slot = static_cast<std::uint32_t>(k % p.slots);
    record.lines = p.lines;
    record.payload_bytes = p.payload_bytes();
    record.payload_crc32c = checksumming == nullptr ? 0 : checksumming->payload_crc32c().value_or(0);
    record.run = dtp.run;
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    while (!sender.post_event({bytes.data(), p.record_offset(k), immediate_of(dtp.id, k)}) && !stop) sender.poll(200);
    sender.poll(0);
  }
}

}  // namespace rashpa::link::bench
