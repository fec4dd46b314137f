// SPDX-License-Identifier: Apache-2.0
/// Chunks of bitshuffle_lz4 made on the device, to memory of the device and of the host.
#include <fmt/format.h>

#include <cstring>
#include <fstream>
#include <iterator>
#include <random>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4_cuda.hpp"
#include "rashpa/kernel/device/device_array.hpp"
#include "rows.hpp"

namespace rashpa::kernel::gpu_bench {

namespace {

namespace bslz4 = bitshuffle_lz4::cuda;

constexpr std::uint32_t kImages = 40;
constexpr std::size_t kPixels = std::size_t{2048} * 2048;
constexpr std::size_t kBytes = kPixels * 2;

/// A stack of images.
struct Given {
  std::string name;
  std::vector<std::uint16_t> pixels;
};

/// As kernel_bench has them: a background of `mean` photons, 100 spots in each 2²⁰ pixels, every 500th pixel masked.
Given photons(double mean) {
  std::mt19937 random(1);
  std::poisson_distribution<unsigned> background(mean);
  Given given{fmt::format("{:g} photons a pixel", mean), std::vector<std::uint16_t>(kImages * kPixels)};
  // Four different images are enough: no block sees another.
  constexpr std::size_t kDifferent = 4 * kPixels;
  for (std::size_t p = 0; p < kDifferent; ++p) given.pixels[p] = static_cast<std::uint16_t>(background(random));
  for (int spot = 0; spot < 1600; ++spot) {
    given.pixels[random() % kDifferent] = static_cast<std::uint16_t>(50 + random() % 500);
  }
  for (std::size_t p = 0; p < kDifferent; p += 500) given.pixels[p] = 0x8000;
  for (std::size_t p = kDifferent; p < given.pixels.size(); ++p) given.pixels[p] = given.pixels[p - kDifferent];
  return given;
}

Given of_file(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  if (bytes.size() < 2) throw ConfigError("gpu_bench: --images: nothing to read in " + name);
  Given given{name, std::vector<std::uint16_t>(kImages * kPixels)};
  const std::size_t pixels = bytes.size() / 2;
  for (std::size_t at = 0; at < given.pixels.size(); at += pixels) {
    std::memcpy(given.pixels.data() + at, bytes.data(), std::min(pixels, given.pixels.size() - at) * 2);
  }
  return given;
}

}  // namespace

Rows compress_rows(int repeats, const std::string& file) {
  std::vector<Given> all;
  if (file.empty()) {
    for (const double mean : {0.01, 0.05, 0.2, 1.0, 10.0}) all.push_back(photons(mean));
  } else {
    all.push_back(of_file(file));
  }
  const memory::cuda::Stream stream;
  const std::size_t room = bslz4::room_for_chunk(kBytes, 2);
  DeviceArray<std::uint16_t> in(kImages * kPixels);
  const DeviceArray<std::uint16_t> copied(kImages * kPixels);
  const DeviceArray<std::byte> on_device(kImages * room);
  const DeviceArray<std::uint32_t> lengths(kImages);
  const DeviceArray<std::uint8_t> work(std::vector<std::uint8_t>(kImages, 1));
  const memory::cuda::PinnedMemory host(kImages * room);
  const memory::cuda::PinnedMemory host_lengths(kImages * sizeof(std::uint32_t));
  const Work copy = [&](cudaStream_t on) {
    memory::cuda::check(cudaMemcpyAsync(copied.data(), in.data(), in.bytes(), cudaMemcpyDeviceToDevice, on), "copy");
  };
  Rows rows;
  for (const Given& given : all) {
    in.upload(given.pixels);
    for (const std::uint32_t stack : {1U, 10U, 40U}) {
      const bslz4::Encoder encoder(kBytes, 2, stack);
      const auto work_to = [&](std::byte* chunks, std::uint32_t* bytes) -> Work {
        return [&, chunks, bytes](cudaStream_t on) {
          for (std::uint32_t first = 0; first < kImages; first += stack) {
            const bslz4::DeviceImages images{reinterpret_cast<const std::byte*>(in.data()) + first * kBytes, kBytes,
                                             work.data() + first, stack};
            const bslz4::Chunks out{chunks + first * room, room, bytes + first};
            memory::cuda::check(static_cast<cudaError_t>(encoder.enqueue(images, out, on)), "compress");
          }
        };
      };
      const std::vector<double> us = medians_us({copy, work_to(on_device.data(), lengths.data()),
                                                 work_to(host.as<std::byte>(), host_lengths.as<std::uint32_t>())},
                                                repeats, stream.get());
      std::uint64_t packed = 0;
      for (std::uint32_t i = 0; i < kImages; ++i) packed += host_lengths.as<std::uint32_t>()[i];
      constexpr double kAll = static_cast<double>(kImages * kBytes);
      const std::string what = fmt::format("bitshuffle_lz4 of {}, 4M uint16, stack of {}", given.name, stack);
      const double floor = us[0] * (kAll + static_cast<double>(packed)) / (2 * kAll);
      rows.push_back({what, us[1] / kImages, "us/image", "its bytes at the speed of a device copy", floor / kImages});
      rows.push_back({what + ", input", kAll / us[1] / 1e3, "GB/s"});
      rows.push_back({what + ", input, chunks to host memory", kAll / us[2] / 1e3, "GB/s"});
      rows.push_back({what + ", ratio", kAll / static_cast<double>(packed), "x"});
    }
  }
  return rows;
}

}  // namespace rashpa::kernel::gpu_bench
