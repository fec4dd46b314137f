// SPDX-License-Identifier: Apache-2.0
/// A disk that is too slow for a source without flow control: what is stored as complete must be right, all the same.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/types.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <thread>

#include "chain.hpp"
#include "rashpa/dataset/pattern_dataset.hpp"
#include "rashpa/sink/nxmx/hdf5_sink.hpp"
#include "rashpa/sink/testing/read_entry.hpp"

namespace {

std::atomic<std::int64_t> g_delay_us{0};
std::atomic<std::uint64_t> g_slow_writes{0};

void be_slow(std::size_t count) {
  const std::int64_t delay = g_delay_us.load(std::memory_order_relaxed);
  if (count <= 64 || delay == 0) return;
  g_slow_writes.fetch_add(1, std::memory_order_relaxed);
  std::this_thread::sleep_for(std::chrono::microseconds(delay));  // wait: this disk is slow
}

}  // namespace

/// Stand before the system's calls in this program: the HDF5 library writes images through one of the two, depending on
/// how it was built.
extern "C" ssize_t pwrite64(int file, const void* bytes, std::size_t count, off64_t offset) {
  static const auto system =
      reinterpret_cast<ssize_t (*)(int, const void*, std::size_t, off64_t)>(dlsym(RTLD_NEXT, "pwrite64"));
  be_slow(count);
  return system(file, bytes, count, offset);
}

extern "C" ssize_t pwrite(int file, const void* bytes, std::size_t count, off_t offset) {
  static const auto system =
      reinterpret_cast<ssize_t (*)(int, const void*, std::size_t, off_t)>(dlsym(RTLD_NEXT, "pwrite"));
  be_slow(count);
  return system(file, bytes, count, offset);
}

namespace rashpa::chain {
namespace {

namespace fs = std::filesystem;
using sink::read;

TEST(SlowDisk, no_image_that_was_overwritten_is_stored_as_complete) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the source writes what the receiver reads: that is what is tested";
#endif
  const fs::path folder = fs::temp_directory_path() / ("rashpa-slow-disk-" + std::to_string(getpid()));
  std::uint64_t overwritten = 0, stored = 0, wrong = 0;
  for (int round = 0; round < 5; ++round) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    Plan plan;
    plan.link = "pcie";
    plan.flow = link::Flow::paced;
    plan.modules = 1;
    plan.width = 128;
    plan.height = 128;
    plan.frames = 800;
    plan.rate_hz = 3000;
    plan.stack = 9;
    plan.slots = 27;  // odd: the pattern comes again after 8 frames, but in no slot before the eighth round of the ring
    plan.deadline_ms = 10'000;
    plan.sinks.emplace_back([&](const receiver::Output& output) {
      sink::Hdf5Config config;
      config.prefix = (folder / "run").string();
      config.width = output.width;
      config.height = output.height;
      config.pixel = output.pixel;
      config.images = output.images;
      config.threads = 1;  // at most two images are read before the first is written
      return std::make_unique<sink::Hdf5Sink>(config);
    });
    {
      Chain chain(plan);
      // A stack takes 18 ms; the source comes back to its first image after 6 ms, to its last after 9.
      g_delay_us = 2000;
      EXPECT_TRUE(chain.play(20));
      g_delay_us = 0;
      chain.receiver->stop();
      const receiver::BufferStatus buffer = chain.receiver->status().buffers[0];
      EXPECT_TRUE(buffer.books.balanced());
      EXPECT_EQ(buffer.errors[static_cast<std::size_t>(ErrorReason::overwritten)], buffer.books.errored);
      overwritten += buffer.books.errored;
    }
    const fs::path master = folder / "run_master.h5";
    const auto decision = read<std::uint8_t>(master, "/entry/rashpa/decision", H5T_NATIVE_UINT8);
    const auto error = read<std::uint8_t>(master, "/entry/rashpa/error_reason", H5T_NATIVE_UINT8);
    const auto frames = read<std::uint64_t>(master, "/entry/data/frame_number", H5T_NATIVE_UINT64);
    const auto pixels = read<std::uint16_t>(master, "/entry/data/data", H5T_NATIVE_UINT16);
    for (std::size_t i = 0; i < decision.size(); ++i) {
      EXPECT_EQ(error[i] == static_cast<std::uint8_t>(ErrorReason::overwritten),
                decision[i] == static_cast<std::uint8_t>(Decision::errored));
    }
    stored += frames.size();
    const std::size_t width = plan.width, height = std::size_t{plan.height} * plan.modules;
    ASSERT_EQ(pixels.size(), frames.size() * width * height);
    for (std::size_t image = 0; image < frames.size(); ++image) {
      bool right = true;
      for (std::uint32_t row = 0; row < height; ++row) {
        for (std::uint32_t column = 0; column < width; ++column) {
          const auto expected =
              dataset::pattern_value(PixelType::u16, row / plan.height, frames[image] % 8, row % plan.height, column);
          right = right && pixels[(image * height + row) * width + column] == expected;
        }
      }
      wrong += right ? 0U : 1U;
    }
  }
  fs::remove_all(folder);
  EXPECT_EQ(wrong, 0U) << "of " << stored;
  EXPECT_GT(stored, 0U);
  EXPECT_GT(g_slow_writes.load(), 0U) << "the library writes through another call";
  EXPECT_GT(overwritten, 0U) << "the disk was slow enough";
}

}  // namespace
}  // namespace rashpa::chain
