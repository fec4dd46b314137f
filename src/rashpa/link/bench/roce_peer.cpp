#include <array>
#include <atomic>
#include <thread>

#include "rashpa/link/bench/peers.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/testing.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::link::bench {

namespace {

constexpr std::uint32_t kImageBytes = 1U << 20;
constexpr std::uint32_t kSlots = 16;
constexpr std::uint32_t kFrames = 8;  // different images in the source's memory

// The loop of a DTP's thread: descriptors in batches; the link makes the record's CRC32C on the way.
void send_images(const Load& load, const DestinationDtp& dtp, roce::RoceSender& sender, const memory::Buffer& frames,
                 const std::atomic<bool>& stop, std::atomic<std::uint64_t>& sent) {
  memory::place_this_thread("bench-source", load.source_processor);
  const Placement& p = dtp.placement;
  std::array<BufferDescriptor, 32> batch{};
  const std::uint32_t run = std::max(sender.largest_message() / p.line_bytes, 1U) * p.line_bytes;
  const std::uint32_t piece = std::min(run, sender.largest_message());
  for (std::uint64_t k = 0; !stop; ++k) {
    while (sender.granted() <= k && !stop) sender.poll(200);
    const std::byte* const frame = frames.data() + (k % kFrames) * p.payload_bytes();
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
    while (!sender.payload_crc32c() && !stop) sender.poll(200);
    FrameRecord record;
    record.dtp = dtp.id;
    record.frame_number = dtp.slice.frame(k);
    record.index = k;
    record.slot = static_cast<std::uint32_t>(k % p.slots);
    record.lines = p.lines;
    record.payload_bytes = p.payload_bytes();
    record.payload_crc32c = sender.payload_crc32c().value_or(0);
    record.run = dtp.run;
    std::array<std::byte, FrameRecord::kBytes> bytes{};
    encode(record, bytes);
    while (!sender.post_event({bytes.data(), p.record_offset(k), immediate_of(dtp.id, k)}) && !stop) sender.poll(200);
    sender.poll(0);
    sent.store(k + 1, std::memory_order_relaxed);
  }
}

}  // namespace

Result run_roce(const Load& load) {
  const std::uint32_t lines = std::max(kImageBytes / load.line_bytes, 1U);
  DestinationDtp dtp = testing::small_dtp(1, ~0ULL >> 1, lines, load.line_bytes, kSlots);
  dtp.placement.slot_bytes = dtp.placement.payload_bytes();
  dtp.placement.records_offset = dtp.placement.slot_bytes * kSlots;
  const memory::Buffer region(testing::end_of(dtp), memory::MemoryKind::huge);
  const memory::Buffer frames(dtp.placement.payload_bytes() * kFrames, memory::MemoryKind::huge);
  testing::fill(frames.bytes(), 42);

  ArrivalRing ring(256);
  Doorbell bell;
  roce::ReceiverConfig config;
  config.options = load.roce;
  config.first_processor = load.destination_processor;
  roce::RoceReceiver receiver(config, region.bytes(), {dtp}, {&ring}, bell);
  roce::SenderConfig source;
  source.destination = receiver.endpoints()[0];
  source.options = load.roce;
  roce::RoceSender sender(source);
  const roce::Endpoint back = sender.endpoint();
  receiver.connect(std::span(&back, 1));
  receiver.start();

  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> sent{0};
  std::jthread thread([&] { send_images(load, dtp, sender, frames, stop, sent); });
  Result result;
  const std::int64_t start = now_ns();
  std::int64_t last = start;
  std::uint64_t complete = 0;
  const auto take = [&] {
    Arrival arrival;
    while (ring.try_pop(arrival)) {
      receiver.release(0, arrival.index + 1);
      if (arrival.completeness == Completeness::complete && arrival.proof == Proof::crc) {
        ++complete;
      } else {
        ++result.lost;
      }
      last = now_ns();
    }
  };
  while (static_cast<double>(now_ns() - start) < load.seconds * 1e9) {
    const auto seen = bell.count();
    take();
    bell.wait(seen, std::chrono::milliseconds(1));
  }
  result.lines = complete * lines;
  result.gigabits_per_s =
      static_cast<double>(complete * dtp.placement.payload_bytes()) * 8 / static_cast<double>(last - start);
  stop = true;
  thread.join();
  const ReceiverStats stats = receiver.stats();
  result.lost += stats.icrc_bad;
  // Reliable connections repair these; the rate shows what it cost.
  if (load.roce.transport != roce::Transport::rc) result.lost += stats.sequence_drops + stats.duplicate_packets;
  const SenderStats sender_stats = sender.stats();
  result.note = "window timeouts " + std::to_string(sender_stats.window_timeouts) + ", waits " +
                std::to_string(sender_stats.waits) + ", repeated " +
                std::to_string(sender_stats.retransmitted_packets) + ", icrc exact " +
                std::to_string(stats.icrc_exact) + " of " + std::to_string(stats.packets);
  receiver.stop();
  return result;
}

}  // namespace rashpa::link::bench
