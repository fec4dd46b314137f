// SPDX-License-Identifier: Apache-2.0
/// A GPU as the DMA engine that writes into memory of another GPU, or its own where there is one: every byte, the order
/// of events, two processes, overwritten images, lost lines. Run by `make test-device`.
#include "rashpa/link/pcie/cuda/cuda_images.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <thread>
#include <tuple>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/image/lost_value.hpp"
#include "rashpa/link/pcie/cuda/cuda_source.hpp"
#include "rashpa/link/pcie/cuda/faulty_kernel.hpp"
#include "rashpa/link/pcie/cuda/line_kernels.hpp"
#include "rashpa/link/pcie/cuda/testing.hpp"
#include "rashpa/link/pcie/receiver.hpp"
#include "rashpa/link/pcie/sender.hpp"
#include "rashpa/memory/cuda/resources.hpp"

namespace rashpa::link::pcie {
namespace {

using testing::cuda_end;
using testing::Detector;
using testing::within;
using Frames = std::vector<std::span<const std::byte>>;

/// The one that has the images; the engine is device 0.
int images_device() {
  int count = 0;
  memory::cuda::check(cudaGetDeviceCount(&count), "how many devices");
  return count > 1 ? 1 : 0;
}

std::vector<std::byte> copy_of(const std::byte* data, std::size_t bytes) {
  std::vector<std::byte> copy(bytes);
  memory::cuda::check(cudaMemcpy(copy.data(), data, bytes, cudaMemcpyDefault), "copy images to the host");
  return copy;
}

constexpr std::byte kGuard{0xA5};

void guard(const memory::DeviceImages& images) {
  const memory::cuda::DeviceScope scope(images_device());
  memory::cuda::check(cudaMemset(images.block().data, static_cast<int>(kGuard), images.block().bytes), "fill");
  memory::cuda::check(cudaDeviceSynchronize(), "fill");
}

class CudaImages : public ::testing::Test {
 protected:
  /// The images lie alone in the device's memory, the records alone in the region.
  void make(Detector& detector, Flow flow = Flow::credits) {
    Placement& p = detector.dtp.placement;
    p.records_offset = 128;
    images_ = make_cuda_images(images_device(), p.pixels_offset + p.slots * p.slot_bytes);
    guard(*images_);
    region_ = memory::Buffer(p.records_offset + (p.slots + 1ULL) * FrameRecord::kBytes, memory::MemoryKind::pageable,
                             memory::Sharing::machine);
    ReceiverConfig config;
    config.region_file = region_.shared_file();
    config.options.verify = Verify::off;
    config.flow = flow;
    receiver_ = std::make_unique<PcieReceiver>(config, ReceiverMemory(images_->block(), region_.bytes()),
                                               std::vector{detector.dtp}, queues_, bell_);
  }
  [[nodiscard]] std::unique_ptr<Sender> sender(Senders& senders, std::uint64_t images) const {
    return senders.make({.destination = receiver_->endpoints()[0], .id = 5, .images = images});
  }
  /// Succeeds when the slot of image `index` holds it, and nothing beside its lines was written.
  [[nodiscard]] ::testing::AssertionResult holds(const Detector& detector, std::uint64_t index) const {
    const Placement& p = detector.dtp.placement;
    const std::vector<std::byte> slot =
        copy_of(images_->block().data + p.pixels_offset + index % p.slots * p.slot_bytes, p.slot_bytes);
    std::vector<std::byte> expected(p.slot_bytes, kGuard);
    for (std::uint32_t n = 0; n < p.lines; ++n) {
      std::copy_n(detector.line(index, n), p.line_bytes, expected.begin() + p.first_line_offset + n * p.pitch);
    }
    const auto [at, want] = std::mismatch(slot.begin(), slot.end(), expected.begin());
    if (at == slot.end()) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "image " << index << " differs at byte " << at - slot.begin() << " of "
                                         << slot.size() << ", pitch " << p.pitch;
  }
  /// Takes `images` arrivals in order and looks at every `each`-th one's bytes when it has come; how many were
  /// complete.
  std::uint64_t take(const Detector& detector, std::uint64_t images, std::uint64_t each) {
    std::uint64_t complete = 0;
    const auto late = within(60);
    for (std::uint64_t k = 0; k < images && !late();) {
      const auto seen = bell_.count();
      Arrival arrival;
      while (queues_.try_pop(arrival)) {
        EXPECT_EQ(arrival.index, k++);
        complete += arrival.completeness == Completeness::complete ? 1U : 0U;
        if (arrival.index % each == 0) {
          EXPECT_TRUE(holds(detector, arrival.index));
        }
        receiver_->release(0, arrival.index + 1);
      }
      bell_.wait(seen, std::chrono::milliseconds(2));
    }
    return complete;
  }

  std::unique_ptr<memory::DeviceImages> images_;
  memory::Buffer region_;
  ArrivalQueues queues_{1, 1024};
  Doorbell bell_;
  std::unique_ptr<PcieReceiver> receiver_;
};

TEST_F(CudaImages, lines_arrive_whole_in_order_and_nothing_between_them_is_written) {
  // By the kernel, by the copy engine where they are long or lie crooked, whole, and as runs without gaps.
  for (const auto& [lines, bytes, gap] : {std::tuple{64U, 512U, 64U},
                                          {512U, 2048U, 2048U},
                                          {100U, 4096U, 512U},
                                          {31U, 1500U, 20U},
                                          {9U, 80U, 16U},
                                          {20U, 65536U, 1024U},
                                          {3U, 1U << 20, 64U},
                                          {16U, 4096U, 0U},
                                          {1500U, 4112U, 16U}}) {
    SCOPED_TRACE(std::to_string(bytes));
    Detector detector(lines, bytes, gap, 200);
    make(detector);
    const Frames frames{detector.memory.bytes()};
    Senders senders(cuda_end(), frames, std::nullopt);
    const auto own = sender(senders, 200);
    receiver_->start();
    std::jthread source([&] {
      const auto late = within(60);
      for (std::uint64_t k = 0; k < 200; ++k) ASSERT_TRUE(detector.send(*own, k, late));
      Detector::drain(*own, late);
    });
    EXPECT_EQ(take(detector, 200, 1), 200U);
    source.join();
    receiver_->stop();
    EXPECT_EQ(receiver_->stats()["bad_records"], 0U);
    EXPECT_EQ(own->stats()["send_errors"], 0U);
  }
}

TEST_F(CudaImages, frames_in_host_memory_arrive_too) {
  Detector detector(100, 4096, 512, 100);
  make(detector);
  const CudaSource gpu(0, {});
  const auto remote = RemoteMemory::open(receiver_->endpoints()[0]);
  PcieCopySender own({.memory = remote, .destination = receiver_->endpoints()[0]}, CopyEngine(gpu.make(remote)));
  receiver_->start();
  std::jthread source([&] {
    const auto late = within(60);
    for (std::uint64_t k = 0; k < 100; ++k) ASSERT_TRUE(detector.send(own, k, late));
    Detector::drain(own, late);
  });
  EXPECT_EQ(take(detector, 100, 1), 100U);
  source.join();
  receiver_->stop();
}

TEST_F(CudaImages, thousands_of_small_images_are_seen_only_when_they_are_whole) {
  Detector detector(2, 64, 64, 20'000, 64);
  make(detector);
  const Frames frames{detector.memory.bytes()};
  Senders senders(cuda_end(), frames, std::nullopt);
  const auto own = sender(senders, 20'000);
  receiver_->start();
  std::jthread source([&] {
    const auto late = within(60);
    for (std::uint64_t k = 0; k < 20'000; ++k) ASSERT_TRUE(detector.send(*own, k, late));
    Detector::drain(*own, late);
  });
  EXPECT_EQ(take(detector, 20'000, 17), 20'000U);
  source.join();
  receiver_->stop();
  EXPECT_EQ(receiver_->stats()["bad_records"], 0U);
}

TEST_F(CudaImages, a_source_in_another_process_opens_the_same_memory) {
  Detector detector(128, 1024, 128, 1000);
  make(detector);
  const Endpoint destination = receiver_->endpoints()[0];
  const std::string endpoint =
      destination.address + " " + std::to_string(destination.qpn) + " " + std::to_string(destination.rkey);
  const pid_t child = fork();
  if (child == 0) {
    setenv("RASHPA_TEST_ENDPOINT", endpoint.c_str(), 1);
    execl("/proc/self/exe", "cuda_images_test", "--gtest_also_run_disabled_tests",
          "--gtest_filter=CudaImages.DISABLED_the_other_process", nullptr);
    _exit(9);
  }
  receiver_->start();
  EXPECT_EQ(take(detector, 1000, 1), 1000U);
  int status = -1;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  receiver_->stop();
}

// The code that a_source_in_another_process runs there.
TEST_F(CudaImages, DISABLED_the_other_process) {
  const char* const text = std::getenv("RASHPA_TEST_ENDPOINT");
  if (text == nullptr) GTEST_SKIP() << "run by another test";
  Endpoint destination;
  std::istringstream(text) >> destination.address >> destination.qpn >> destination.rkey;
  Detector detector(128, 1024, 128, 1000);
  detector.dtp.placement.records_offset = 128;
  const Frames frames{detector.memory.bytes()};
  Senders senders(cuda_end(), frames, std::nullopt);
  const auto own = senders.make({.destination = destination, .id = 5, .images = 1000});
  const auto late = within(60);
  for (std::uint64_t k = 0; k < 1000; ++k) ASSERT_TRUE(detector.send(*own, k, late));
  Detector::drain(*own, late);
}

TEST_F(CudaImages, memory_of_another_process_that_is_none_is_refused) {
  Detector detector(4, 64, 64, 10);
  make(detector);
  const memory::Buffer control = memory::Buffer::open_shared(receiver_->endpoints()[0].address);
  auto& header = *reinterpret_cast<Header*>(control.data());
  header.lines_address = reinterpret_cast<std::uintptr_t>(region_.data());
  const Frames frames{detector.memory.bytes()};
  Senders senders(cuda_end(), frames, std::nullopt);
  EXPECT_THROW(static_cast<void>(sender(senders, 10)), ConfigError) << "that is memory of the host";
}

TEST_F(CudaImages, without_credits_an_overwritten_image_is_found) {
  Detector detector(64, 2048, 64, 100);
  make(detector, Flow::paced);
  EndOptions end = cuda_end();
  end.flow = Flow::paced;
  const Frames frames{detector.memory.bytes()};
  Senders senders(end, frames, std::nullopt);
  const auto own = sender(senders, 100);
  receiver_->start();
  const auto late = within(20);
  const auto send = [&](std::uint64_t index) {
    ASSERT_TRUE(detector.send(*own, index, late));
    Detector::drain(*own, late);
    Arrival arrival;
    while (!queues_.try_pop(arrival)) ASSERT_FALSE(late());
    EXPECT_EQ(arrival.index, index);
    EXPECT_EQ(arrival.completeness, Completeness::complete);
    EXPECT_TRUE(holds(detector, index));
  };
  for (std::uint64_t k = 0; k < 4; ++k) send(k);
  EXPECT_FALSE(receiver_->overwritten(0, 0));
  receiver_->release(0, 1);
  send(4);
  EXPECT_TRUE(receiver_->overwritten(0, 0));
  EXPECT_FALSE(receiver_->overwritten(0, 1));
  receiver_->stop();
}

TEST_F(CudaImages, an_image_of_runs_that_a_kernel_copies_and_of_others_comes_whole) {
  Detector detector(100, 4090, 54, 500);
  make(detector);
  const Frames frames{detector.memory.bytes()};
  Senders senders(cuda_end(), frames, std::nullopt);
  const auto own = sender(senders, 500);
  receiver_->start();
  std::jthread source([&] {
    const Placement& p = detector.dtp.placement;
    const auto late = within(60);
    for (std::uint64_t k = 0; k < 500; ++k) {
      while (own->granted() <= k && !late()) own->poll(500);
      // Columns of all lines, one after the other: the second lies crooked, and long lines of the third not.
      for (const auto& [from, to] : {std::pair{0U, 2048U}, {2048U, 2058U}, {2058U, 4090U}}) {
        for (std::uint32_t n = 0; n < p.lines; ++n) {
          const BufferDescriptor run{detector.line(k, n) + from, p.image_offset(k) + n * p.pitch + from, to - from};
          while (own->post({&run, 1}) == 0 && !late()) own->poll(500);
        }
      }
      FrameRecord record;
      record.dtp = detector.dtp.id;
      record.frame_number = detector.dtp.slice.frame(k);
      record.index = k;
      record.slot = static_cast<std::uint32_t>(k % p.slots);
      record.lines = p.lines;
      record.payload_bytes = p.payload_bytes();
      record.run = detector.dtp.run;
      std::array<std::byte, FrameRecord::kBytes> bytes{};
      encode(record, bytes);
      const Event event{bytes.data(), p.record_offset(k), immediate_of(detector.dtp.id, k)};
      while (!own->post_event(event) && !late()) own->poll(500);
    }
    Detector::drain(*own, late);
  });
  EXPECT_EQ(take(detector, 500, 1), 500U);
  source.join();
  receiver_->stop();
  EXPECT_EQ(own->stats()["send_errors"], 0U);
}

TEST_F(CudaImages, without_credits_no_line_comes_later_than_those_of_the_next_image_of_its_slot) {
  for (const auto& [lines, bytes] : {std::pair{64U, 4096U}, {64U, 1500U}, {4U, 65536U}, {2U, 64U}, {3U, 1U << 20}}) {
    for (const std::uint32_t slots : {2U, 3U}) {
      SCOPED_TRACE(std::to_string(bytes) + " B, slots: " + std::to_string(slots));
      constexpr std::uint64_t kImages = 2000;
      Detector detector(lines, bytes, 64, kImages, slots);
      make(detector, Flow::paced);
      EndOptions end = cuda_end();
      end.flow = Flow::paced;
      const Frames frames{detector.memory.bytes()};
      Senders senders(end, frames, std::nullopt);
      const auto own = sender(senders, kImages);
      receiver_->start();
      std::uint64_t arrived = 0;
      std::jthread consumer([&](const std::stop_token& stop) {
        Arrival arrival;
        while (!stop.stop_requested()) {
          if (!queues_.try_pop(arrival)) continue;
          EXPECT_GE(arrival.index, arrived);
          arrived = arrival.index + 1;
          receiver_->release(0, arrived);
        }
      });
      const auto late = within(60);
      for (std::uint64_t k = 0; k < kImages; ++k) ASSERT_TRUE(detector.send(*own, k, late));
      Detector::drain(*own, late);
      EXPECT_EQ(own->pending(), 0U);
      for (std::uint64_t k = kImages - slots; k < kImages; ++k) EXPECT_TRUE(holds(detector, k));
      consumer.request_stop();
      consumer.join();
      receiver_->stop();
      EXPECT_EQ(own->stats()["send_errors"], 0U);
    }
  }
}

TEST_F(CudaImages, lost_lines_are_filled_and_nothing_else) {
  constexpr std::uint32_t kBytes = 1U << 16;
  const auto images = make_cuda_images(images_device(), kBytes);
  EXPECT_NE(images->how().find("CUDA device"), std::string::npos);
  for (const PixelType type :
       {PixelType::u8, PixelType::u16, PixelType::u32, PixelType::i16, PixelType::i32, PixelType::f32}) {
    SCOPED_TRACE(pixel_name(type));
    guard(*images);
    const memory::LostPart part{.first = 1028, .pitch = 2000, .line_bytes = 1204, .lines = 17, .type = type};
    images->fill(part);
    images->settle();
    std::vector<std::byte> expected(kBytes, kGuard);
    const std::uint32_t bits = lost_bits(type);
    for (std::uint32_t line = 0; line < part.lines; ++line) {
      for (std::uint32_t at = 0; at < part.line_bytes; at += pixel_bytes(type)) {
        std::memcpy(&expected[part.first + line * part.pitch + at], &bits, pixel_bytes(type));
      }
    }
    EXPECT_EQ(copy_of(images->block().data, kBytes), expected);
  }
}

TEST_F(CudaImages, a_device_that_is_not_there_is_refused) {
  EXPECT_THROW(make_cuda_images(63, 1024), ConfigError);
  EXPECT_THROW(make_cuda_images(-1, 1024), ConfigError);
  EXPECT_THROW(make_cuda_images(0, std::uint64_t{1} << 50), ResourceError);
}

TEST_F(CudaImages, a_device_that_faults_loses_images_and_holds_up_nobody) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Detector detector(64, 4096, 64, 500);
        make(detector);
        const Frames frames{detector.memory.bytes()};
        Senders senders(cuda_end(), frames, std::nullopt);
        const auto own = sender(senders, 500);
        receiver_->start();
        std::jthread consumer([&] {
          Arrival arrival;
          for (std::uint64_t k = 0; k < 100;) {
            if (!queues_.try_pop(arrival)) continue;
            receiver_->release(0, ++k);
          }
        });
        const auto late = within(20);
        bool sent = true;
        for (std::uint64_t k = 0; k < 100; ++k) sent = sent && detector.send(*own, k, late);
        Detector::drain(*own, late);
        consumer.join();
        EXPECT_EQ(own->stats()["send_errors"], 0U);
        cudaSetDevice(0);
        fault_now();
        for (std::uint64_t k = 100; k < 500; ++k) sent = sent && detector.send(*own, k, late);
        Detector::drain(*own, late);
        EXPECT_TRUE(sent) << "it waited";
        EXPECT_EQ(own->pending(), 0U);
        EXPECT_GE(own->stats()["send_errors"], 390U);
        receiver_->stop();
        std::exit(::testing::Test::HasFailure() ? 1 : 0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace rashpa::link::pcie
