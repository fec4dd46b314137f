// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cstring>
#include <memory>
#include <thread>

#include "image_source.hpp"
#include "peers.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/memory/cpu_set.hpp"
#include "rashpa/memory/stream_copy.hpp"

namespace rashpa::link::bench {

namespace {

constexpr std::uint32_t kImageBytes = 1U << 20;
constexpr std::uint32_t kSlots = 128;  // with their records: larger than the caches, as a RASHPA buffer is
constexpr std::uint32_t kFrames = 64;  // different images in the source's memory

ReceiverDtp dtp_of(const Load& load) {
  ReceiverDtp dtp =
      testing::small_dtp(1, ~0ULL >> 1, std::max(kImageBytes / load.line_bytes, 1U), load.line_bytes, kSlots);
  dtp.placement.slot_bytes = dtp.placement.payload_bytes();
  dtp.placement.records_offset = dtp.placement.slot_bytes * kSlots;
  return dtp;
}

}  // namespace

Result run_pcie(const Load& load, Verify verify) {
  const ReceiverDtp dtp = dtp_of(load);
  const std::uint64_t image = dtp.placement.payload_bytes();
  const memory::Buffer region(testing::end_of(dtp), memory::MemoryKind::huge, memory::Sharing::machine);
  const memory::Buffer frames(image * kFrames, memory::MemoryKind::huge);
  testing::fill(frames.bytes(), 42);

  ArrivalQueues queues(1, 2 * std::size_t{kSlots});
  Doorbell bell;
  pcie::ReceiverConfig config;
  config.region_file = region.shared_file();
  config.options.verify = verify;
  config.poll = Poll::spin;
  config.first_processor = load.destination_processor;
  pcie::PcieReceiver receiver(config, region.bytes(), {dtp}, queues, bell);
  const Endpoint destination = receiver.endpoints()[0];
  pcie::PcieSender sender({.memory = pcie::RemoteMemory::open(destination),
                           .destination = destination,
                           .flow = Flow::credits,
                           .poll = Poll::spin});
  receiver.start();

  std::atomic<bool> stop{false};
  std::jthread thread([&] { send_images(load, dtp, sender, frames, stop); });
  Result result;
  const std::int64_t start = now_ns();
  std::int64_t last = start;
  std::uint64_t complete = 0;
  // The receiver's thread has the second core; this one takes a look now and then, as a scheduler of many images does.
  while (static_cast<double>(now_ns() - start) < load.seconds * 1e9) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
    Arrival arrival;
    while (queues.try_pop(arrival)) {
      receiver.release(0, arrival.index + 1);
      ++(arrival.completeness == Completeness::complete ? complete : result.lost);
      last = now_ns();
    }
  }
  stop = true;
  thread.join();
  receiver.stop();
  result.lines = complete * dtp.placement.lines;
  if (complete != 0) {
    result.gigabits_per_s = static_cast<double>(complete * image) * 8 / static_cast<double>(last - start);
  }
  const Counts stats = receiver.stats();
  result.lost += stats["bad_records"] + stats["overrun_packets"] + sender.stats()["send_errors"];
  result.note = "memory " + std::string(region.granted());
  return result;
}

namespace {

/// `copy`: of an image, done when it returns.
template <typename Copy>
Result run_shared_copies(const Load& load, Copy copy) {
  const ReceiverDtp dtp = dtp_of(load);
  const std::uint64_t image = dtp.placement.payload_bytes();
  const memory::Buffer region(testing::end_of(dtp), memory::MemoryKind::huge, memory::Sharing::machine);
  const memory::Buffer mapped = memory::Buffer::open_shared(region.shared_path());
  const memory::Buffer frames(image * kFrames, memory::MemoryKind::huge);
  testing::fill(frames.bytes(), 42);
  struct Words {
    alignas(64) std::atomic<std::uint64_t> written{0};
    alignas(64) std::atomic<std::uint64_t> acknowledged{0};
  } words;
  std::atomic<bool> stop{false};
  std::jthread source([&] {
    memory::place_this_thread("bench-source", load.source_processor);
    for (std::uint64_t n = 0; !stop; ++n) {
      while (n - words.acknowledged.load(std::memory_order_acquire) >= kSlots && !stop) pause_spinning();
      copy(mapped.data() + n % kSlots * image, frames.data() + n % kFrames * image, image);
      words.written.store(n + 1, std::memory_order_release);
    }
  });
  Result result;
  std::jthread sink([&] {
    memory::place_this_thread("bench-sink", load.destination_processor);
    const std::int64_t start = now_ns();
    const std::int64_t end = start + static_cast<std::int64_t>(load.seconds * 1e9);
    std::uint64_t n = 0;
    std::int64_t last = start;
    while (last < end) {
      const std::uint64_t ready = words.written.load(std::memory_order_acquire);
      if (ready != n) words.acknowledged.store(n = ready, std::memory_order_release);
      last = now_ns();
    }
    result.lines = n * dtp.placement.lines;
    result.gigabits_per_s = static_cast<double>(n * image) * 8 / static_cast<double>(last - start);
    stop = true;
  });
  sink.join();
  return result;
}

}  // namespace

Result run_shared_memcpy(const Load& load) {
  return run_shared_copies(
      load, [](std::byte* to, const std::byte* from, std::size_t bytes) { std::memcpy(to, from, bytes); });
}

Result run_shared_stream_copy(const Load& load) {
  return run_shared_copies(load, [](std::byte* to, const std::byte* from, std::size_t bytes) {
    memory::stream_copy(to, {from, bytes});
    memory::stream_fence();
  });
}

}  // namespace rashpa::link::bench
