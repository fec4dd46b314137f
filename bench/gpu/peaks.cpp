// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/device/device_array.hpp"
#include "rashpa/kernel/peakfinder/peakfinder.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"
#include "rashpa/kernel/rings/rings_cuda.hpp"
#include "rashpa/kernel/sigma_clip/device_method.hpp"
#include "rashpa/kernel/sparsify/sparsify.hpp"
#include "rows.hpp"

namespace rashpa::kernel::gpu_bench {

namespace {

// 336 MB of pixels, seven times the second-level cache; ten different images, four times over.
constexpr std::uint32_t kImages = 40;
constexpr std::uint32_t kDifferent = 10;
constexpr std::uint32_t kWidth = 2048;
constexpr std::size_t kPixels = std::size_t{kWidth} * kWidth;
constexpr std::uint32_t kSpots = 150;

/// A background that falls with the radius from 5 photons to 1, and spots.
std::vector<std::uint16_t> image_of(std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::poisson_distribution<int>> by_radius;
  by_radius.reserve(1500);
  for (int radius = 0; radius < 1500; ++radius) by_radius.emplace_back(1 + 4 * std::exp(-radius / 400.0));
  std::vector<std::uint16_t> image(kPixels);
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
    const std::size_t column = pixel % kWidth, row = pixel / kWidth;
    const double x = static_cast<double>(column) - 1024, y = static_cast<double>(row) - 1024;
    image[pixel] = static_cast<std::uint16_t>(by_radius[static_cast<std::size_t>(std::hypot(x, y))](random));
  }
  for (std::uint32_t spot = 0; spot < kSpots; ++spot) {
    const std::size_t at = (10 + random() % 2000) * kWidth + 10 + random() % 2000;
    for (std::size_t dy = 0; dy < 3; ++dy) {
      for (std::size_t dx = 0; dx < 3; ++dx)
        image[at + dy * kWidth + dx] = static_cast<std::uint16_t>(60 + random() % 90);
    }
  }
  return image;
}

std::vector<std::vector<std::uint16_t>> made_images() {
  std::vector<std::vector<std::uint16_t>> made(kDifferent);
  std::atomic<std::uint32_t> next{0};
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      for (std::uint32_t i = next++; i < kDifferent; i = next++) made[i] = image_of(i);
    });
  }
  threads.clear();
  return made;
}

/// All images as stacks of `stack`; what `enqueue` is given has no memory for results.
template <class Enqueue>
void for_stacks(std::uint32_t stack, const DeviceArray<std::uint16_t>& images, const DeviceArray<std::uint8_t>& work,
                const Enqueue& enqueue) {
  for (std::uint32_t first = 0; first < kImages; first += stack) {
    kernel::cuda::DeviceStack one{};
    one.in = reinterpret_cast<const std::byte*>(images.data() + first * kPixels);
    one.in_stride = kPixels * sizeof(std::uint16_t);
    one.work = work.data() + first;
    one.count = stack;
    one.place = first;
    enqueue(one);
  }
}

/// Sigma clipping alone: the background of all images by radius, and which pixels may stick out of it.
class ClipBench {
 public:
  ClipBench(const sigma_clip::Config& config, std::uint32_t stack, const DeviceArray<std::uint16_t>& images)
      : stack_(stack),
        images_(images),
        radii_(config, {kWidth, kWidth}, "gpu_bench"),
        rings_(radii_.rings(), sigma_clip::device_method(config, radii_),
               {.shape = {kWidth, kWidth},
                .made = {kWidth, kWidth},
                .in = delivered(PixelType::u16),
                .stack = stack,
                .places = kImages}),
        work_(std::vector<std::uint8_t>(kImages, 1)) {}
  void enqueue(cudaStream_t stream) const {
    for_stacks(stack_, images_, work_, [&](const kernel::cuda::DeviceStack& stack) {
      memory::cuda::check(rings_.enqueue(stack, 0, stream), "sigma clipping");
    });
  }
  /// Counts of the background, the mean over the radii of the first image of the last stack.
  [[nodiscard]] double found() const {
    std::vector<RingLimit> limits(radii_.rings().count());
    memory::cuda::check(
        cudaMemcpy(limits.data(), rings_.seen(0).limits, limits.size() * sizeof(RingLimit), cudaMemcpyDeviceToHost),
        "the background");
    double sum = 0;
    for (const RingLimit& limit : limits) sum += double{limit.first};
    return sum / static_cast<double>(limits.size());
  }

 private:
  std::uint32_t stack_;
  const DeviceArray<std::uint16_t>& images_;
  sigma_clip::Radii radii_;
  kernel::cuda::MarkedRings rings_;
  DeviceArray<std::uint8_t> work_;
};

/// `step` on all images, `stack` of them at a time.
class Bench {
 public:
  Bench(const Step& step, std::uint32_t stack, const DeviceArray<std::uint16_t>& images)
      : stack_(stack),
        images_(images),
        pass_(step.on_cuda({.shape = {kWidth, kWidth},
                            .made = {kWidth, kWidth},
                            .in = delivered(PixelType::u16),
                            .stack = stack,
                            .places = kImages})),
        work_(std::vector<std::uint8_t>(kImages, 1)),
        scalars_(std::size_t{kImages} * kScalars),
        findings_(kImages) {}
  void enqueue(cudaStream_t stream) const {
    for_stacks(stack_, images_, work_, [&](kernel::cuda::DeviceStack stack) {
      stack.scalars = scalars_.data() + std::size_t{stack.place} * kScalars;
      stack.scalars_stride = kScalars;
      stack.findings = findings_.data() + stack.place;
      memory::cuda::check(static_cast<cudaError_t>(pass_->enqueue(stack, 0, stream)), "a step that finds peaks");
    });
  }
  /// Of an image: what the step has counted last. Throws ResourceError when an image has failed.
  [[nodiscard]] double found() const {
    if (const std::string why = pass_->failure(); !why.empty()) throw ResourceError(why);
    double sum = 0;
    const auto scalars = scalars_.download();
    for (std::size_t i = 0; i < scalars.size(); i += kScalars) sum += static_cast<double>(scalars[i].count());
    return sum / kImages;
  }

 private:
  static constexpr std::size_t kScalars = 2;
  std::uint32_t stack_;
  const DeviceArray<std::uint16_t>& images_;
  std::unique_ptr<kernel::cuda::DevicePass> pass_;
  DeviceArray<std::uint8_t> work_;
  DeviceArray<Scalar> scalars_;
  DeviceArray<kernel::cuda::DeviceFinding> findings_;
};

}  // namespace

Rows peak_rows(int repeats, const std::string& file) {
  DeviceArray<std::uint16_t> on_device(kImages * kPixels);
  const DeviceArray<std::uint16_t> copy(kImages * kPixels);
  const auto given = file.empty() ? made_images() : images_of(file, kPixels);
  for (std::uint32_t i = 0; i < kImages; ++i) on_device.upload(given[i % given.size()], i * kPixels);
  const memory::cuda::Stream stream;
  const Work copied = [&](cudaStream_t to) {
    memory::cuda::check(cudaMemcpyAsync(copy.data(), on_device.data(), on_device.bytes(), cudaMemcpyDeviceToDevice, to),
                        "copy");
  };
  struct Named {
    const char* what;
    const char* found;
    std::shared_ptr<const Step> step;
  };
  peakfinder::Config peaks;
  peaks.beam_x = peaks.beam_y = 1024;
  peaks.cutoff = 6;
  sparsify::Config pixels;
  pixels.beam_x = pixels.beam_y = 1024;
  const Named steps[] = {
      {"peakfinder8", "peaks", peakfinder8::step_of({.threshold = 20, .min_snr = 5, .beam_x = 1024, .beam_y = 1024})},
      {"peakfinder", "peaks", peakfinder::step_of(peaks)},
      {"sparsify", "pixels", sparsify::step_of(pixels)},
  };
  Rows rows;
  for (const std::uint32_t stack : {1U, 10U, 40U}) {
    for (const Named& one : steps) {
      const Bench bench(*one.step, stack, on_device);
      const auto us = medians_us({copied, [&](cudaStream_t to) { bench.enqueue(to); }}, repeats, stream.get());
      rows.push_back(
          {fmt::format("{}, {:.0f} {} in a 4M image, stack of {}", one.what, bench.found(), one.found, stack),
           us[1] / kImages, "us/image", "device copy of 2 B a pixel", us[0] / kImages});
    }
    const ClipBench clip(pixels, stack, on_device);
    const auto us = medians_us({copied, [&](cudaStream_t to) { clip.enqueue(to); }}, repeats, stream.get());
    rows.push_back(
        {fmt::format("sigma_clip, {:.3f} counts of background in a 4M image, stack of {}", clip.found(), stack),
         us[1] / kImages, "us/image", "device copy of 2 B a pixel", us[0] / kImages});
  }
  return rows;
}

}  // namespace rashpa::kernel::gpu_bench
