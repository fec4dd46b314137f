// SPDX-License-Identifier: Apache-2.0
/// Steps that stream, as the unit runs them, beside the time that their bytes alone take.
#include <fmt/format.h>

#include <random>

#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/checksum/checksum.hpp"
#include "rashpa/kernel/device_array.hpp"
#include "rashpa/kernel/device_pass.hpp"
#include "rashpa/kernel/gpu_bench/rows.hpp"
#include "rashpa/kernel/roi_stats/roi_stats.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/kernel/unpack/unpack.hpp"

namespace rashpa::kernel::gpu_bench {

namespace {

constexpr std::uint32_t kImages = 40;
constexpr std::uint32_t kWidth = 2048, kHeight = 2048;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
constexpr std::size_t kMostBytes = kPixels * 4;  // of an image, in or out

/// A step, and what it is given.
struct Case {
  std::string name;
  StepOf step;
  Shape shape{};
  PixelType type{};
  std::vector<PayloadSum> sums{};  ///< their CRC32Cs do not matter: they are compared, that is all
  std::size_t bytes = 0;           ///< of an image, read and written
  std::size_t stack_bytes = 0;     ///< of a stack besides, read and written
};

/// `across` × `down` modules, with whatever they sum up to.
std::vector<PayloadSum> parts(std::uint32_t across, std::uint32_t down) {
  constexpr std::uint32_t kRow = kWidth * 2;
  std::vector<PayloadSum> sums;
  for (std::uint32_t part = 0; part < across * down; ++part) {
    const std::uint64_t first =
        std::uint64_t{part / across} * (kHeight / down) * kRow + std::uint64_t{part % across} * (kRow / across);
    sums.push_back({first, kRow, kRow / across, kHeight / down, 0, true});
  }
  return sums;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  const Shape shape{kWidth, kHeight};
  all.push_back({"total_counts", total_counts::Config{}, shape, PixelType::u16, {}, kPixels * 2});
  all.push_back(
      {"roi_stats of the image", roi_stats::Config{"all=0,0,2048,2048"}, shape, PixelType::u16, {}, kPixels * 2});
  all.push_back({"roi_stats of a region of 2000 x 2000",
                 roi_stats::Config{"most=21,17,2000,2000"},
                 shape,
                 PixelType::u16,
                 {},
                 std::size_t{2000} * 2000 * 2});
  for (const unpack::Bits bits :
       {unpack::Bits::one, unpack::Bits::six, unpack::Bits::twelve, unpack::Bits::twenty_four}) {
    for (const std::uint32_t gap : {0U, 3U}) {
      const unpack::Config config{bits, 512, 512, 4, 4, gap, gap};
      all.push_back({fmt::format("unpack of {} bits, gaps of {}", unpack::count_of(bits), gap),
                     config,
                     config.packed(),
                     PixelType::u8,
                     {},
                     config.packed().pixels() + config.made().pixels() * pixel_bytes(unpack::type_of(bits))});
    }
  }
  const checksum::Config veto{checksum::OnMismatch::veto};
  all.push_back({"checksum of the image", veto, shape, PixelType::u16, {}, kPixels * 2});
  all.push_back({"checksum of 8 modules below each other", veto, shape, PixelType::u16, parts(1, 8), kPixels * 2});
  all.push_back({"checksum of 8 modules beside each other, image read twice", veto, shape, PixelType::u16, parts(8, 1),
                 kPixels * 4});
  // Of each pixel, once a stack: how often it was counted, its sum, its maximum; 8 bytes more for its squares.
  constexpr std::size_t kSums = kPixels * 2 * 16;
  constexpr std::size_t kSquares = kPixels * 2 * 8;
  const accumulate::Config with_variance{.variance = true};
  all.push_back(
      {"accumulate sum, mean, max of uint16", accumulate::Config{}, shape, PixelType::u16, {}, kPixels * 2, kSums});
  all.push_back(
      {"accumulate variance, too, of uint16", with_variance, shape, PixelType::u16, {}, kPixels * 2, kSums + kSquares});
  all.push_back({"accumulate variance, too, of uint32",
                 with_variance,
                 shape,
                 PixelType::u32,
                 {},
                 kPixels * 4,
                 kSums + 3 * kSquares});
  all.push_back(
      {"accumulate sum, mean, max of float32", accumulate::Config{}, shape, PixelType::f32, {}, kPixels * 4, kSums});
  return all;
}

/// Memory of all cases.
struct Room {
  Room()
      : in(kImages * kMostBytes),
        out(kImages * (kMostBytes + kMostBytes / 16)),
        work(kImages),
        scalars(std::size_t{kImages} * 8),
        findings(kImages) {
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> noise(in.size() / sizeof(std::uint64_t));
    for (auto& word : noise) word = random();
    memory::cuda::check(cudaMemcpy(in.data(), noise.data(), in.size(), cudaMemcpyHostToDevice), "noise");
  }
  DeviceArray<std::byte> in, out;
  DeviceArray<std::uint8_t> work;
  DeviceArray<Scalar> scalars;
  DeviceArray<kernel::cuda::DeviceFinding> findings;
};

/// All images in stacks of `stack`. `work` is made anew each time, since steps with verdicts clear it.
Work work_of(const Room& room, const Case& given, kernel::cuda::DevicePass& pass, std::uint32_t stack) {
  kernel::cuda::DeviceStack all{};
  all.in_stride = given.shape.pixels() * pixel_bytes(given.type);
  all.out_stride = kMostBytes + kMostBytes / 16;
  all.scalars_stride = 8;
  all.scalars = room.scalars.data();
  all.count = stack;
  for (std::uint32_t i = 0; i < kImages; ++i) {
    StackImage image{};
    image.sums = given.sums;
    pass.prepare(i, image);
  }
  return [&room, &pass, all, stack](cudaStream_t stream) {
    memory::cuda::check(cudaMemsetAsync(room.work.data(), 1, kImages, stream), "work");
    for (std::uint32_t first = 0; first < kImages; first += stack) {
      kernel::cuda::DeviceStack one = all;
      one.in = room.in.data() + first * all.in_stride;
      one.out = room.out.data() + first * all.out_stride;
      one.work = room.work.data() + first;
      one.findings = room.findings.data() + first;
      one.place = first;
      memory::cuda::check(static_cast<cudaError_t>(pass.enqueue(one, 0, stream)), "a step");
    }
  };
}

}  // namespace

Rows pass_rows(int repeats) {
  const Room room;
  const memory::cuda::Stream stream;
  const Work copy = [&](cudaStream_t on) {
    memory::cuda::check(cudaMemcpyAsync(room.out.data(), room.in.data(), room.in.size(), cudaMemcpyDeviceToDevice, on),
                        "copy");
  };
  Rows rows;
  for (const Case& given : cases()) {
    const PixelFormat format = delivered(given.type);
    const auto reshape = given.step->reshape(given.shape);
    for (const std::uint32_t stack : {1U, 10U, 40U}) {
      const auto pass = given.step->on_cuda({.shape = given.shape,
                                             .made = reshape ? reshape->shape() : given.shape,
                                             .in = format,
                                             .stack = stack,
                                             .places = kImages});
      const std::vector<double> us = medians_us({copy, work_of(room, given, *pass, stack)}, repeats, stream.get());
      const double of_image = us[1] / kImages;
      const double bytes = static_cast<double>(given.bytes) + static_cast<double>(given.stack_bytes) / stack;
      const double floor = us[0] * bytes / (2.0 * static_cast<double>(room.in.size()));
      const std::string what = fmt::format("{}, 4M image, stack of {}", given.name, stack);
      rows.push_back({what, of_image, "us/image", "its bytes at the speed of a device copy", floor});
      rows.push_back({what + ", share of that floor", 100 * floor / of_image, "%"});
    }
  }
  return rows;
}

}  // namespace rashpa::kernel::gpu_bench
