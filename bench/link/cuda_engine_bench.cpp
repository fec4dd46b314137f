// SPDX-License-Identifier: Apache-2.0
/// How fast a GPU writes lines into a receiver's memory, pinned host memory and memory of another GPU (of its own where
/// there is one), beside what copies of the same bytes reach in the same run: whole ones and
/// two-dimensional ones without a link, and the processor's engine. `--seconds S` for each row (0.3), `--json`, `--only
/// device`: images in memory of a GPU and whole copies, no more.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../rows.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/link/pcie/cuda/cuda_images.hpp"
#include "rashpa/link/pcie/cuda/cuda_source.hpp"
#include "rashpa/link/pcie/cuda/line_kernels.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/link/testing/testing.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::link::pcie {
namespace {

namespace device = memory::cuda;

constexpr std::uint32_t kImageBytes = 4U << 20;
constexpr std::uint32_t kSlots = 32;
constexpr std::uint64_t kFrames = 32;
constexpr std::size_t kWhole = std::size_t{256} << 20U;

double seconds = 0.3;
bool json = false;
bool only_device = false;

void row(const std::string& what, double value, const char* unit, const std::string& against = "none",
         double against_value = 0) {
  measured::print({what, value, unit, against, against_value}, json);
}

/// Lines of a module side by side in its frame; in the image another module's lie between them.
ReceiverDtp dtp_of(std::uint32_t line_bytes, std::uint32_t image_bytes) {
  ReceiverDtp dtp = testing::small_dtp(1, ~0ULL >> 1, image_bytes / line_bytes, line_bytes, kSlots, line_bytes);
  dtp.placement.first_line_offset = 0;
  dtp.placement.slot_bytes = 2ULL * image_bytes;
  dtp.placement.records_offset = dtp.placement.slot_bytes * kSlots;
  return dtp;
}

/// GB/s of images that came complete; `lost`: anything else.
template <typename SenderType>
double images(const ReceiverDtp& dtp, SenderType& sender, PcieReceiver& receiver, ArrivalQueues& queues,
              const memory::Buffer& frames, std::uint64_t& lost) {
  const Placement& p = dtp.placement;
  std::atomic<bool> stop{false};
  std::jthread thread([&] {
    std::array<BufferDescriptor, 32> batch{};
    for (std::uint64_t k = 0; !stop; ++k) {
      while (sender.granted() <= k && !stop) sender.poll(200);
      const std::byte* const frame = frames.data() + k * p.payload_bytes() % frames.size();
      for (std::uint32_t line = 0; line < p.lines;) {
        std::size_t made = 0;
        for (; made < batch.size() && line < p.lines; ++made, ++line) {
          batch[made] = {frame + std::size_t{line} * p.line_bytes, p.image_offset(k) + line * p.pitch, p.line_bytes};
        }
        for (std::size_t posted = 0; posted < made && !stop;) {
          posted += sender.post(std::span(batch).subspan(posted, made - posted));
          if (posted < made) sender.poll(0);
        }
        sender.poll(0);
      }
      FrameRecord record;
      record.dtp = dtp.id;
      record.frame_number = dtp.slice.frame(k);
      record.index = k;
      record.slot = static_cast<std::uint32_t>(k % p.slots);
      record.lines = p.lines;
      record.payload_bytes = p.payload_bytes();
      record.run = dtp.run;
      std::array<std::byte, FrameRecord::kBytes> bytes{};
      encode(record, bytes);
      while (!sender.post_event({bytes.data(), p.record_offset(k), immediate_of(dtp.id, k)}) && !stop) sender.poll(0);
    }
    while (sender.pending() > 0) sender.poll(200);
  });
  const std::int64_t start = now_ns();
  std::int64_t last = start;
  std::uint64_t complete = 0;
  std::int64_t first = 0;
  while (last < start + static_cast<std::int64_t>(seconds * 1e9)) {
    Arrival arrival;
    if (queues.try_pop(arrival)) {
      receiver.release(0, arrival.index + 1);
      if (first == 0) {
        first = now_ns();
      } else {
        ++(arrival.completeness == Completeness::complete ? complete : lost);
      }
    } else {
      pause_spinning();
    }
    last = now_ns();
  }
  stop = true;
  thread.join();
  receiver.stop();
  lost += sender.stats()["send_errors"];
  return first == 0 ? 0 : static_cast<double>(complete * p.payload_bytes()) / static_cast<double>(last - first);
}

/// `images_on`: the device that has the images, −1: the host; so many bytes each.
template <typename Make>
double link_rate(std::uint32_t line_bytes, const memory::Buffer& frames, std::uint64_t& lost, const Make& make,
                 int images_on = -1, std::uint32_t image_bytes = kImageBytes) {
  ReceiverDtp dtp = dtp_of(line_bytes, image_bytes);
  std::unique_ptr<memory::DeviceImages> there;
  if (images_on >= 0) {
    there = make_cuda_images(images_on, dtp.placement.slots * dtp.placement.slot_bytes);
    dtp.placement.records_offset = 0;
  }
  const memory::Buffer region(testing::end_of(dtp), memory::MemoryKind::huge, memory::Sharing::machine);
  ArrivalQueues queues(1, 2 * std::size_t{kSlots});
  Doorbell bell;
  ReceiverConfig config;
  config.region_file = region.shared_file();
  config.options.verify = Verify::off;
  config.poll = Poll::spin;
  const ReceiverMemory memory = there ? ReceiverMemory(there->block(), region.bytes()) : ReceiverMemory(region.bytes());
  PcieReceiver receiver(config, memory, {dtp}, queues, bell);
  const Endpoint destination = receiver.endpoints()[0];
  auto sender = make(SenderConfig{.memory = RemoteMemory::open(destination),
                                  .destination = destination,
                                  .flow = Flow::credits,
                                  .poll = Poll::spin});
  receiver.start();
  return images(dtp, *sender, receiver, queues, frames, lost);
}

/// GB/s of `bytes` a call of `copy`, which puts it into a stream of the current device, as often as the time allows,
/// after one that is not counted.
template <typename Copy>
double rate(std::size_t bytes, const Copy& copy) {
  constexpr int kAhead = 16;
  device::check(copy(0), "copy");
  device::check(cudaDeviceSynchronize(), "copy");
  const std::int64_t start = now_ns();
  std::uint64_t done = 0;
  std::int64_t last = start;
  while (last < start + static_cast<std::int64_t>(seconds * 1e9)) {
    for (int i = 0; i < kAhead; ++i) device::check(copy(done + i), "copy");
    device::check(cudaDeviceSynchronize(), "copy");
    done += kAhead;
    last = now_ns();
  }
  return static_cast<double>(done * bytes) / static_cast<double>(last - start);
}

/// ns from the call of post_event to the lock word in the receiver's memory, seen by the same thread.
void latency(const CudaSource& gpu, const memory::Buffer& frames) {
  constexpr std::uint64_t kEvents = 2000;
  const ReceiverDtp dtp = testing::small_dtp(1, ~0ULL >> 1, 1, 64, 64);
  const memory::Buffer region(testing::end_of(dtp), memory::MemoryKind::pageable, memory::Sharing::machine);
  ArrivalQueues queues(1, 4096);
  Doorbell bell;
  ReceiverConfig config;
  config.region_file = region.shared_file();
  config.flow = Flow::paced;
  PcieReceiver receiver(config, region.bytes(), {dtp}, queues, bell);
  const auto remote = RemoteMemory::open(receiver.endpoints()[0]);
  PcieCopySender sender({.memory = remote, .destination = receiver.endpoints()[0], .flow = Flow::paced},
                        CopyEngine(gpu.make(remote)));
  const std::array<std::byte, FrameRecord::kBytes> record{};
  for (const bool line : {false, true}) {
    std::vector<double> all;
    for (std::uint64_t k = 0; k < kEvents; ++k) {
      const std::uint32_t immediate = immediate_of(1, k + (line ? kEvents : 0));
      const BufferDescriptor write{frames.data(), dtp.placement.image_offset(k), 64};
      const std::int64_t start = now_ns();
      if (line) sender.post({&write, 1});
      sender.post_event({record.data(), dtp.placement.record_offset(k), immediate});
      while (remote->dtp(0).lock.load(std::memory_order_acquire) != immediate) pause_spinning();
      all.push_back(static_cast<double>(now_ns() - start) * 1e-3);
      while (sender.pending() > 0) sender.poll(10);
    }
    std::sort(all.begin(), all.end());
    const std::string what = line ? "line of 64 B and event: call to lock word seen" : "event: call to lock word seen";
    row(what + ", p50", all[kEvents / 2], "us");
    row(what + ", p99", all[kEvents * 99 / 100], "us");
  }
}

/// From device 0, which is current, into images in memory of device `other`.
void to_images(const CudaSource& gpu, const memory::Buffer& frames, std::byte* from, int other) {
  std::uint64_t lost = 0;
  const std::string way = other == 0 ? "on device 0" : fmt::format("device 0 to device {}", other);
  if (other != 0) device::check(cudaDeviceEnablePeerAccess(other, 0), "reach the other device");
  const auto images = make_cuda_images(other, kWhole);
  std::byte* const to = images->block().data;
  const std::array<device::Stream, 2> streams;
  const double whole =
      rate(kWhole, [&](std::uint64_t) { return cudaMemcpyPeerAsync(to, other, from, 0, kWhole, streams[0].get()); });
  row("peer copies of 256 MiB, " + way, whole, "GB/s");
  constexpr std::array kImages{kImageBytes / 4, kImageBytes, 4 * kImageBytes};
  std::map<std::uint32_t, double> same_size;  // of peer copies, by bytes
  for (const std::uint32_t image : kImages) {
    const double images_whole = rate(image, [&](std::uint64_t n) {
      const std::uint64_t at = n * image % kWhole;
      return cudaMemcpyPeerAsync(to + at, other, from + at, 0, image, streams[0].get());
    });
    row(fmt::format("peer copies of {} MiB, {}", image >> 20U, way), images_whole, "GB/s", "peer copies", whole);
    same_size[image] = images_whole;
  }
  for (const std::uint32_t line : {512U, 1024U, 2048U, 4096U, 16384U, 65536U}) {
    const std::string lines = fmt::format(", lines of {} B", line);
    const auto copied = [&](std::uint64_t n) {
      return CopiedLines{.to = to + n % kSlots * 2 * kImageBytes,
                         .to_pitch = 2 * std::uint64_t{line},
                         .from = from + n % kFrames * kImageBytes,
                         .from_pitch = line,
                         .width = line,
                         .rows = kImageBytes / line};
    };
    for (const std::size_t count : {1U, 2U}) {
      if (only_device) break;
      const std::string by = count == 1 ? ", " : ", two streams, ";
      const double engine = rate(kImageBytes, [&](std::uint64_t n) {
        const CopiedLines one = copied(n);
        return cudaMemcpy2DAsync(one.to, one.to_pitch, one.from, one.from_pitch, one.width, one.rows, cudaMemcpyDefault,
                                 streams[n % count].get());
      });
      row("2-D copies" + by + way + lines, engine, "GB/s", "peer copies", whole);
    }
    for (const std::uint32_t image : kImages) {
      const double ours = link_rate(
          line, frames, lost,
          [&](const SenderConfig& config) {
            return std::make_unique<PcieCopySender>(config, CopyEngine(gpu.make(config.memory)));
          },
          other, image);
      const std::string what = fmt::format("pcie, engine cuda, {}, images of {} MiB{}", way, image >> 20U, lines);
      row(what, ours, "GB/s", "peer copies", whole);
      row(what, ours, "GB/s", "peer copies of the same size", same_size[image]);
    }
  }
  row("lost on the way to a device", static_cast<double>(lost), "images");
}

void run() {
  const memory::Buffer frames(kFrames * kImageBytes, memory::MemoryKind::huge);
  testing::fill(frames.bytes(), 42);
  const std::vector<std::span<const std::byte>> blocks{frames.bytes()};
  const CudaSource gpu(0, blocks);
  const CudaSource elsewhere(0, {});
  int count = 0;
  device::check(cudaGetDeviceCount(&count), "how many devices");

  device::check(cudaSetDevice(0), "use device 0");
  const device::Stream stream;
  const device::DeviceMemory from(kWhole);
  const device::DeviceMemory same(kWhole);
  const device::PinnedMemory host(kWhole);
  const auto whole = [&](void* to) {
    return rate(kWhole, [&, to](std::uint64_t) {
      return cudaMemcpyAsync(to, from.as<void>(), kWhole, cudaMemcpyDefault, stream.get());
    });
  };
  if (only_device) return to_images(gpu, frames, from.as<std::byte>(), count > 1 ? 1 : 0);
  const double to_host = whole(host.as<void>());
  row("whole copies of 256 MiB, device to pinned host memory", to_host, "GB/s");
  const double on_device = whole(same.as<void>());
  row("whole copies of 256 MiB, on the device", on_device, "GB/s");
  std::uint64_t lost = 0;
  for (const std::uint32_t line : {512U, 1024U, 4096U, 16384U, 65536U}) {
    const std::string lines = fmt::format(", lines of {} B", line);
    const auto plain = [&](void* to) {
      return rate(kImageBytes, [&, to](std::uint64_t n) {
        std::byte* const image = static_cast<std::byte*>(to) + n % kSlots * 2 * kImageBytes;
        return cudaMemcpy2DAsync(image, 2 * std::size_t{line}, from.as<std::byte>() + n % kFrames * kImageBytes, line,
                                 line, kImageBytes / line, cudaMemcpyDefault, stream.get());
      });
    };
    const double bare = plain(host.as<void>());
    row("2-D copies, device to pinned host memory" + lines, bare, "GB/s", "whole copies", to_host);
    const double ours = link_rate(line, frames, lost, [&](const SenderConfig& config) {
      return std::make_unique<PcieCopySender>(config, CopyEngine(gpu.make(config.memory)));
    });
    row("pcie, engine cuda, frames on the device" + lines, ours, "GB/s", "whole copies", to_host);
    row("pcie, engine cuda, frames on the device" + lines, ours, "GB/s", "2-D copies", bare);
    const double bounced = link_rate(line, frames, lost, [&](const SenderConfig& config) {
      return std::make_unique<PcieCopySender>(config, CopyEngine(elsewhere.make(config.memory)));
    });
    row("pcie, engine cuda, frames in pageable host memory" + lines, bounced, "GB/s", "whole copies", to_host);
    const double cpu =
        link_rate(line, frames, lost, [](const SenderConfig& config) { return std::make_unique<PcieSender>(config); });
    row("pcie, engine cuda, frames on the device" + lines, ours, "GB/s", "pcie, engine cpu", cpu);
    row("2-D copies, on the device" + lines, plain(same.as<void>()), "GB/s", "whole copies", on_device);
  }
  row("lost", static_cast<double>(lost), "images");
  to_images(gpu, frames, from.as<std::byte>(), count > 1 ? 1 : 0);
  latency(gpu, frames);
}

}  // namespace
}  // namespace rashpa::link::pcie

int main(int count, char** values) {
  try {
    for (int i = 1; i < count; ++i) {
      if (std::string_view(values[i]) == "--json") rashpa::link::pcie::json = true;
      if (std::string_view(values[i]) == "--only" && i + 1 < count) {
        rashpa::link::pcie::only_device = std::string_view(values[++i]) == "device";
      }
      if (std::string_view(values[i]) == "--seconds" && i + 1 < count) {
        rashpa::link::pcie::seconds = std::strtod(values[++i], nullptr);
      }
    }
    rashpa::link::pcie::run();
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
