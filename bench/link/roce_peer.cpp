// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <thread>

#include "image_source.hpp"
#include "peers.hpp"
#include "rashpa/link/roce/receiver.hpp"
#include "rashpa/link/roce/sender.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::link::bench {

namespace {

constexpr std::uint32_t kImageBytes = 1U << 20;
constexpr std::uint32_t kSlots = 16;
constexpr std::uint32_t kFrames = 8;  // different images in the source's memory

}  // namespace

Result run_roce(const Load& load) {
  const std::uint32_t lines = std::max(kImageBytes / load.line_bytes, 1U);
  ReceiverDtp dtp = testing::small_dtp(1, ~0ULL >> 1, lines, load.line_bytes, kSlots);
  dtp.placement.slot_bytes = dtp.placement.payload_bytes();
  dtp.placement.records_offset = dtp.placement.slot_bytes * kSlots;
  const memory::Buffer region(testing::end_of(dtp), memory::MemoryKind::huge);
  const memory::Buffer frames(dtp.placement.payload_bytes() * kFrames, memory::MemoryKind::huge);
  testing::fill(frames.bytes(), 42);

  ArrivalQueues queues(1, 256);
  Doorbell bell;
  roce::ReceiverConfig config;
  config.options = load.roce;
  config.first_processor = load.destination_processor;
  roce::RoceReceiver receiver(config, region.bytes(), {dtp}, queues, bell);
  roce::SenderConfig source;
  source.destination = receiver.endpoints()[0];
  source.options = load.roce;
  const auto sender_owner = roce::make_sender(source);
  roce::RoceSender& sender = *sender_owner;
  const Endpoint back = sender.endpoint();
  receiver.connect(std::span(&back, 1));
  receiver.start();

  std::atomic<bool> stop{false};
  std::jthread thread([&] { send_images(load, dtp, sender, frames, stop); });
  Result result;
  const std::int64_t start = now_ns();
  std::int64_t last = start;
  std::uint64_t complete = 0;
  const auto take = [&] {
    Arrival arrival;
    while (queues.try_pop(arrival)) {
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
  const Counts stats = receiver.stats();
  result.lost += stats["icrc_bad"];
  // Reliable connections repair these; the rate shows what it cost.
  if (load.roce.transport != Transport::rc) result.lost += stats["sequence_drops"] + stats["duplicate_packets"];
  const Counts sender_stats = sender.stats();
  result.note = "window timeouts " + std::to_string(sender_stats["window_timeouts"]) + ", waits " +
                std::to_string(sender_stats["waits"]) + ", repeated " +
                std::to_string(sender_stats["retransmitted_packets"]) + ", icrc exact " +
                std::to_string(stats["icrc_exact"]) + " of " + std::to_string(stats["packets"]);
  receiver.stop();
  return result;
}

}  // namespace rashpa::link::bench
