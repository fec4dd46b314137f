// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "rashpa/kernel/bragg_count/bragg_count_cuda.hpp"
#include "rashpa/kernel/csr/csr_cuda.hpp"
#include "rashpa/kernel/device/device_array.hpp"
#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rows.hpp"

namespace rashpa::kernel::gpu_bench {

namespace {

// 671 MB in and out, so that the second-level cache (50 MB) serves none of it; ten different frames, four times over.
constexpr std::uint32_t kImages = 40;
constexpr std::uint32_t kFrames = 10;
constexpr std::uint32_t kWidth = 1024;
constexpr std::uint32_t kHeight = 4096;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
constexpr double kSwitched = 0.001;  // of the pixels, in spots: as in the recorded frames of PSI's module M049
constexpr PixelFormat kPhotons{PixelType::i16, Masked::minimum};
constexpr std::int16_t kBright = 10;
constexpr std::int16_t kKept = 2;

jungfrau::Config config_for(jungfrau::Output output) { return jungfrau::synthetic::config(kWidth, kHeight, output, 1); }

std::vector<std::vector<std::uint16_t>> make_frames(const jungfrau::Config& config) {
  std::vector<std::vector<std::uint16_t>> frames(kFrames);
  std::atomic<std::uint32_t> next{0};
  std::vector<std::jthread> threads;
  for (unsigned t = 0; t < std::max(1U, std::thread::hardware_concurrency()); ++t) {
    threads.emplace_back([&] {
      for (std::uint32_t f = next++; f < kFrames; f = next++)
        frames[f] = jungfrau::synthetic::frame(config, kSwitched, f);
    });
  }
  threads.clear();
  return frames;
}

/// The images, their calibration and room for every result, on the device.
class Bench {
 public:
  Bench()
      : photons_(config_for(jungfrau::Output::photons)),
        kev_(config_for(jungfrau::Output::kev)),
        raw_(kImages * kPixels),
        out_(kImages * kPixels),
        kev_out_(kImages * kPixels),
        marks_(kImages * kPixels / jungfrau::kGroup),
        counts_(kImages),
        index_(kImages * kCapacity),
        value_(kImages * kCapacity),
        entries_(kImages),
        scratch_(csr::cuda::scratch_bytes(kPixels, kImages)) {
    const auto frames = make_frames(config_for(jungfrau::Output::photons));
    for (std::uint32_t i = 0; i < kImages; ++i) raw_.upload(frames[i % kFrames], i * kPixels);
    counts_.fill(0);
  }

  [[nodiscard]] Work copy() const {
    return [this](cudaStream_t stream) {
      memory::cuda::check(cudaMemcpyAsync(out_.data(), raw_.data(), raw_.bytes(), cudaMemcpyDeviceToDevice, stream),
                          "copy");
    };
  }
  [[nodiscard]] Work convert(std::uint32_t stack, const jungfrau::Taps& taps) const {
    return [this, stack, taps](cudaStream_t stream) {
      each_stack(stack, [&](std::uint32_t first) { convert_stack(first, stack, taps, stream); });
    };
  }
  [[nodiscard]] Work convert_kev(std::uint32_t stack) const {
    return [this, stack](cudaStream_t stream) {
      each_stack(stack, [&](std::uint32_t first) {
        jungfrau::cuda::Batch batch = batch_of(first, stack);
        batch.out = kev_out_.data() + first * kPixels;
        memory::cuda::check(jungfrau::cuda::convert(kev_.tables(), kev_.output(), batch, {}, stream), "convert");
      });
    };
  }
  /// Conversion with marks, then the lists.
  [[nodiscard]] Work convert_and_compact(std::uint32_t stack, const jungfrau::Taps& taps) const {
    return [this, stack, taps](cudaStream_t stream) {
      each_stack(stack, [&](std::uint32_t first) {
        convert_stack(first, stack, taps, stream);
        memory::cuda::check(csr::cuda::compact_marked(lists_of(first, stack), scratch_.data(), stream),
                            "compact_marked");
      });
    };
  }
  [[nodiscard]] Work compact(std::uint32_t stack) const {
    return [this, stack](cudaStream_t stream) {
      each_stack(stack, [&](std::uint32_t first) {
        memory::cuda::check(csr::cuda::compact(lists_of(first, stack), kKept, scratch_.data(), stream), "compact");
      });
    };
  }
  [[nodiscard]] Work count(std::uint32_t stack) const {
    return [this, stack](cudaStream_t stream) {
      each_stack(stack, [&](std::uint32_t first) {
        const bragg_count::cuda::Batch batch{.images = out_.data() + first * kPixels,
                                             .format = kPhotons,
                                             .stride = kPixels,
                                             .pixels = kPixels,
                                             .count = stack};
        memory::cuda::check(bragg_count::cuda::count(batch, kBright, entries_.data() + first, stream), "count");
      });
    };
  }
  /// Kept pixels per pixel, of the lists made last.
  [[nodiscard]] double density() const {
    double kept = 0;
    for (const std::uint32_t entries : entries_.download()) kept += entries;
    return kept / static_cast<double>(kImages * kPixels);
  }

 private:
  static constexpr std::size_t kCapacity = kPixels / 10;

  template <class Run>
  static void each_stack(std::uint32_t stack, Run run) {
    for (std::uint32_t first = 0; first < kImages; first += stack) run(first);
  }
  [[nodiscard]] jungfrau::cuda::Batch batch_of(std::uint32_t first, std::uint32_t stack) const {
    jungfrau::cuda::Batch batch{};
    batch.raw = raw_.data() + first * kPixels;
    batch.raw_stride = kPixels;
    batch.out = out_.data() + first * kPixels;
    batch.out_stride = kPixels;
    batch.marks = marks_.data() + first * kPixels / jungfrau::kGroup;
    batch.marks_stride = kPixels / jungfrau::kGroup;
    batch.counts = counts_.data() + first;
    batch.count = stack;
    return batch;
  }
  void convert_stack(std::uint32_t first, std::uint32_t stack, const jungfrau::Taps& taps, cudaStream_t stream) const {
    memory::cuda::check(
        jungfrau::cuda::convert(photons_.tables(), photons_.output(), batch_of(first, stack), taps, stream), "convert");
  }
  [[nodiscard]] csr::cuda::Batch lists_of(std::uint32_t first, std::uint32_t stack) const {
    csr::cuda::Batch batch{};
    batch.images = out_.data() + first * kPixels;
    batch.format = kPhotons;
    batch.image_stride = kPixels;
    batch.pixels = kPixels;
    batch.marks = marks_.data() + first * kPixels / jungfrau::kGroup;
    batch.marks_stride = kPixels / jungfrau::kGroup;
    batch.index = index_.data() + first * kCapacity;
    batch.value = value_.data() + first * kCapacity;
    batch.list_stride = kCapacity;
    batch.capacity = kCapacity;
    batch.entries = entries_.data() + first;
    batch.count = stack;
    return batch;
  }

  jungfrau::cuda::Calibration photons_;
  jungfrau::cuda::Calibration kev_;
  DeviceArray<std::uint16_t> raw_;
  DeviceArray<std::int16_t> out_;
  DeviceArray<float> kev_out_;
  DeviceArray<std::uint64_t> marks_;
  DeviceArray<jungfrau::Counts> counts_;
  DeviceArray<std::uint32_t> index_;
  DeviceArray<std::int16_t> value_;
  DeviceArray<std::uint32_t> entries_;
  DeviceArray<std::uint8_t> scratch_;
};

}  // namespace

Rows kernel_rows(int repeats) {
  const Bench bench;
  const memory::cuda::Stream stream;
  Rows rows;
  for (const std::uint32_t stack : {1U, 10U, 40U}) {
    const std::vector<double> total =
        medians_us({bench.copy(), bench.convert(stack, {}), bench.convert(stack, {true, kBright, false, 0}),
                    bench.convert(stack, {false, 0, true, kKept}), bench.count(stack), bench.compact(stack),
                    bench.convert_kev(stack), bench.convert_and_compact(stack, {true, kBright, true, kKept}),
                    bench.convert_and_compact(stack, {false, 0, true, kKept})},
                   repeats, stream.get());
    const auto us = [&](std::size_t i) { return total[i] / kImages; };
    const std::string of = fmt::format(", 4M image, stack of {}", stack);
    const char* const kUnit = "us/image";
    const std::string copied = "device copy of 2 B a pixel";
    const std::string alone = "conversion to photons alone";
    if (stack == 1) {
      rows.push_back({copied, kPixels * 4 / us(0) * 1e-6, "TB/s"});
      rows.push_back({copied, us(0), kUnit});
    }
    rows.push_back({"jungfrau to photons" + of, us(1), kUnit, copied, us(0)});
    rows.push_back({"jungfrau to photons, share of the copy floor" + of, 100 * us(0) / us(1), "%"});
    rows.push_back({"jungfrau to photons, + count" + of, us(2), kUnit, alone, us(1)});
    rows.push_back({"jungfrau to photons, + marks" + of, us(3), kUnit, alone, us(1)});
    rows.push_back({fmt::format("jungfrau to photons, + marks, then csr of {:.2f} %", 100 * bench.density()) + of,
                    us(8), kUnit, alone, us(1)});
    rows.push_back({"jungfrau to photons, + count + marks, then csr" + of, us(7), kUnit, alone, us(1)});
    rows.push_back({"jungfrau to keV" + of, us(6), kUnit, copied, us(0)});
    rows.push_back({"bragg_count of photons" + of, us(4), kUnit, copied, us(0)});
    rows.push_back({"csr of photons without marks" + of, us(5), kUnit, copied, us(0)});
  }
  return rows;
}

}  // namespace rashpa::kernel::gpu_bench
