// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/azimuthal/azimuthal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "beside.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/device/device_array.hpp"
#include "rows.hpp"

namespace rashpa::kernel::gpu_bench {

namespace {

// 336 MB of pixels, seven times the second-level cache.
constexpr std::uint32_t kImages = 40;
constexpr std::uint32_t kWidth = 2048;
constexpr std::size_t kPixels = std::size_t{kWidth} * kWidth;
constexpr std::size_t kBins = 1000;
constexpr std::uint32_t kPlaces = kInFlight * kImages;

azimuthal::Config rings() {
  azimuthal::Config config{.errors = azimuthal::Errors::poisson};
  config.width = kWidth;
  for (std::size_t bin = 0; bin < kBins; ++bin) config.radial_axis.push_back(static_cast<double>(bin));
  for (std::size_t pixel = 0; pixel < kPixels; ++pixel) {
    const std::size_t column = pixel % kWidth, row = pixel / kWidth;
    const double x = static_cast<double>(column) - 1024, y = static_cast<double>(row) - 1024;
    config.bins.push_back(static_cast<std::uint32_t>(std::hypot(x, y) / 1449 * kBins));
  }
  config.norm.assign(kPixels, 1);
  return config;
}

/// Photons in `percent` of the pixels.
std::vector<std::uint16_t> photons(double percent, std::uint32_t seed) {
  std::mt19937 random(seed);
  const auto limit = static_cast<std::uint32_t>(percent / 100 * 4294967295.0);
  std::vector<std::uint16_t> image(kPixels);
  for (auto& pixel : image) pixel = random() <= limit ? static_cast<std::uint16_t>(1 + random() % 5) : std::uint16_t{0};
  return image;
}

Setup setup_of(std::uint32_t stack) {
  return {.shape = {kWidth, kWidth},
          .made = {kWidth, kWidth},
          .in = delivered(PixelType::u16),
          .stack = stack,
          .places = kPlaces,
          .benches = kInFlight};
}

/// `step` on stacks of `stack` images.
class Bench {
 public:
  Bench(const Step& step, std::uint32_t stack, const DeviceArray<std::uint16_t>& images)
      : stack_(stack),
        images_(images),
        pass_(step.on_cuda(setup_of(stack))),
        limits_(*step.limits(setup_of(stack))),
        work_(std::vector<std::uint8_t>(kPlaces, 1)),
        scalars_(kPlaces),
        findings_(kPlaces) {}
  /// All images, one stack behind the other.
  void enqueue(cudaStream_t stream) const {
    for (std::uint32_t first = 0; first < kImages; first += stack_) put(first, 0, stream);
  }
  /// All images kInFlight times, as the unit has them: so many stacks in flight, each in a stream of its own.
  void enqueue_in_flight(cudaStream_t stream) const {
    in_flight_.enqueue(kImages, stack_, stream,
                       [this](std::uint32_t first, std::uint32_t bench, cudaStream_t to) { put(first, bench, to); });
  }

 private:
  void put(std::uint32_t first, std::uint32_t bench, cudaStream_t stream) const {
    const std::uint32_t place = bench * kImages + first;
    kernel::cuda::DeviceStack stack{};
    stack.in = reinterpret_cast<const std::byte*>(images_.data() + first * kPixels);
    stack.in_stride = kPixels * sizeof(std::uint16_t);
    stack.work = work_.data() + place;
    stack.scalars = scalars_.data() + place;
    stack.scalars_stride = 1;
    stack.findings = findings_.data() + place;
    stack.count = stack_;
    stack.place = place;
    stack.limits = limits_.data();
    memory::cuda::check(static_cast<cudaError_t>(pass_->enqueue(stack, bench, stream)), "azimuthal");
  }

  std::uint32_t stack_;
  const DeviceArray<std::uint16_t>& images_;
  std::unique_ptr<kernel::cuda::DevicePass> pass_;
  DeviceArray<std::byte> limits_;
  DeviceArray<std::uint8_t> work_;
  DeviceArray<Scalar> scalars_;
  DeviceArray<kernel::cuda::DeviceFinding> findings_;
  InFlight in_flight_;
};

}  // namespace

Rows azimuthal_rows(int repeats, const std::string& file) {
  const auto step = step_of(rings());
  DeviceArray<std::uint16_t> images(kImages * kPixels);
  const DeviceArray<std::uint16_t> copy(kImages * kPixels);
  const memory::cuda::Stream stream;
  const Work copied = [&](cudaStream_t to) {
    memory::cuda::check(cudaMemcpyAsync(copy.data(), images.data(), images.bytes(), cudaMemcpyDeviceToDevice, to),
                        "copy");
  };
  Rows rows;
  struct Given {
    std::string what;
    std::vector<std::vector<std::uint16_t>> images;
  };
  std::vector<Given> all;
  if (!file.empty()) all.push_back({"images of a file", images_of(file, kPixels)});
  for (const double percent : {2.0, 10.0, 50.0, 100.0}) {
    if (file.empty()) all.push_back({fmt::format("{:.0f} % with photons", percent), {photons(percent, 7)}});
  }
  for (const Given& given : all) {
    for (std::uint32_t i = 0; i < kImages; ++i) images.upload(given.images[i % given.images.size()], i * kPixels);
    for (const std::uint32_t stack : {1U, 10U, 40U}) {
      const Bench bench(*step, stack, images);
      const auto us = medians_us(
          {copied, [&](cudaStream_t to) { bench.enqueue(to); }, [&](cudaStream_t to) { bench.enqueue_in_flight(to); }},
          repeats, stream.get());
      // The copy moves a byte twice; pixels are read once, and the map of bins once a stack.
      const double bytes = 2.0 * kPixels * (1 + 1.0 / stack);
      const double floor = us[0] / kImages * bytes / (4.0 * kPixels);
      const std::string of = fmt::format(", {} bins, 4M image, {}, stack of {}", kBins, given.what, stack);
      const std::string against = "its bytes at the rate of the copy";
      rows.push_back({"azimuthal" + of, us[1] / kImages, "us/image", against, floor});
      rows.push_back({fmt::format("azimuthal, {} stacks in flight{}", kInFlight, of), us[2] / kImages / kInFlight,
                      "us/image", against, floor});
    }
  }
  return rows;
}

}  // namespace rashpa::kernel::gpu_bench
