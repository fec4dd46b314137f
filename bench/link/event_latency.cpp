// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "peers.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/memory/cpu_set.hpp"

namespace rashpa::link::bench {

namespace {

constexpr std::uint32_t kSlots = 64;
constexpr std::uint64_t kWarmUp = 2000;  // events that are not counted

struct Times {
  explicit Times(std::uint64_t events) {
    one_way.reserve(events);
    round_trip.reserve(events);
  }
  void add(std::int64_t sent, std::int64_t seen, std::int64_t back) {
    one_way.push_back(seen - sent);
    round_trip.push_back(back - sent);
  }
  Latency latency() {
    std::sort(one_way.begin(), one_way.end());
    std::sort(round_trip.begin(), round_trip.end());
    const auto at = [](const std::vector<std::int64_t>& times, double part) {
      return static_cast<double>(times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))]);
    };
    return {at(one_way, 0.5),     at(one_way, 0.99), at(one_way, 1), at(round_trip, 0.5),
            at(round_trip, 0.99), at(round_trip, 1), one_way.size()};
  }
  std::vector<std::int64_t> one_way, round_trip;
};

}  // namespace

Latency pcie_latency(const Load& load, std::uint64_t events) {
  const ReceiverDtp dtp = testing::small_dtp(1, events + kWarmUp, 1, 64, kSlots);
  const memory::Buffer region(testing::end_of(dtp), memory::MemoryKind::pageable, memory::Sharing::machine);
  ArrivalQueues queues(1, kSlots);
  Doorbell bell;
  pcie::ReceiverConfig config;
  config.region_file = region.shared_file();
  config.poll = Poll::spin;
  config.first_processor = load.destination_processor;
  pcie::PcieReceiver receiver(config, region.bytes(), {dtp}, queues, bell);
  const Endpoint destination = receiver.endpoints()[0];
  pcie::PcieSender sender({.memory = pcie::RemoteMemory::open(destination),
                           .destination = destination,
                           .flow = Flow::credits,
                           .poll = Poll::spin});
  receiver.start();
  Times times(events);
  std::jthread source([&] {
    memory::place_this_thread("bench-source", load.source_processor);
    testing::Source images(dtp, sender);
    std::array<std::byte, FrameRecord::kBytes> record{};
    for (std::uint64_t k = 0; k < dtp.images; ++k) {
      while (sender.granted() <= k) sender.poll(100);
      images.prepare(k);
      const BufferDescriptor write{images.payload().data(), dtp.placement.image_offset(k), 64};
      sender.post({&write, 1});
      encode(images.record(k), record);
      const Event event{record.data(), dtp.placement.record_offset(k), immediate_of(dtp.id, k)};
      const std::int64_t sent = now_ns();
      sender.post_event(event);
      Arrival arrival;
      while (!queues.try_pop(arrival)) pause_spinning();
      const std::int64_t back = now_ns();
      receiver.release(0, k + 1);
      if (k >= kWarmUp) times.add(sent, arrival.last_packet_ns, back);
    }
  });
  source.join();
  receiver.stop();
  return times.latency();
}

Latency flag_latency(const Load& load, std::uint64_t events) {
  struct Words {
    alignas(64) std::atomic<std::uint32_t> there{0};
    alignas(64) std::atomic<std::int64_t> back{0};
  } words;
  std::jthread echo([&] {
    memory::place_this_thread("bench-sink", load.destination_processor);
    for (std::uint32_t k = 1; k <= events + kWarmUp; ++k) {
      while (words.there.load(std::memory_order_acquire) != k) pause_spinning();
      words.back.store(now_ns(), std::memory_order_release);
    }
  });
  Times times(events);
  std::jthread source([&] {
    memory::place_this_thread("bench-source", load.source_processor);
    std::int64_t before = 0;
    for (std::uint32_t k = 1; k <= events + kWarmUp; ++k) {
      const std::int64_t sent = now_ns();
      words.there.store(k, std::memory_order_release);
      std::int64_t seen = before;
      while ((seen = words.back.load(std::memory_order_acquire)) == before) pause_spinning();
      if (k > kWarmUp) times.add(sent, seen, now_ns());
      before = seen;
    }
  });
  source.join();
  echo.join();
  return times.latency();
}

}  // namespace rashpa::link::bench
