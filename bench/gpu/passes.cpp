// SPDX-License-Identifier: Apache-2.0
/// Steps that stream, as the unit runs them, beside the time that their bytes alone take.
#include <fmt/format.h>

#include <algorithm>
#include <random>

#include "beside.hpp"
#include "rashpa/core/ability.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/checksum/checksum.hpp"
#include "rashpa/kernel/contract/device_pass.hpp"
#include "rashpa/kernel/device/device_array.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/roi_stats/roi_stats.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/kernel/unpack/unpack.hpp"
#include "rows.hpp"

namespace rashpa::kernel::gpu_bench {

namespace {

constexpr std::uint32_t kImages = 40;
constexpr std::uint32_t kPlaces = kImages * kInFlight;
constexpr std::uint32_t kWidth = 2048, kHeight = 2048;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;
constexpr std::size_t kMostBytes = kPixels * 4;  // of an image, in or out
constexpr std::uint32_t kDarkEvery = 10;         // images, of detectors whose pedestals are followed

/// A step, and what it is given.
struct Case {
  std::string name;
  StepOf step;
  Shape shape{};
  PixelType type{};
  std::vector<PayloadSum> sums{};  ///< their CRC32Cs do not matter: they are compared, that is all
  std::size_t bytes = 0;           ///< of an image, read and written
  std::size_t stack_bytes = 0;     ///< of a stack besides, read and written
  bool raw_words = false;          ///< images of JUNGFRAU, all in the highest gain; else noise
  std::size_t dark_bytes = 0;      ///< of a stack that has a dark image, besides
  bool in_turn = false;            ///< stacks wait for one another: several in flight are not measured
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

/// JUNGFRAU 4M: eight modules, with the gaps that assembled images need.
jungfrau::Config detector() {
  constexpr std::uint32_t kModuleWidth = 1024, kModuleHeight = 512;
  jungfrau::Config config = jungfrau::synthetic::config(2064, 2056, jungfrau::Output::photons, 3, 0.001);
  config.calibration.rms.assign(std::size_t{2064} * 2056, 20.0F);
  config.calibration.module_width = kModuleWidth;
  config.calibration.module_height = kModuleHeight;
  for (std::uint32_t module = 0; module < 8; ++module) {
    config.calibration.parts.push_back(
        {module, {0, 0, kModuleWidth, kModuleHeight}, module % 2 * 1040, module / 2 * 514});
  }
  return config;
}

/// Conversion alone, with pedestals that follow a dark image in ten, and into assembled images.
void add_jungfrau(std::vector<Case>& all) {
  const Shape shape{2064, 2056};
  const std::size_t pixels = shape.pixels();
  jungfrau::Config config = detector();
  const auto add = [&](const char* name, std::size_t bytes, std::size_t stack_bytes, std::size_t dark_bytes = 0) {
    const bool in_turn = config.tracking.from != jungfrau::Tracking::From::off;
    all.push_back(
        {name, jungfrau::step_of(config), shape, PixelType::u16, {}, bytes, stack_bytes, true, dark_bytes, in_turn});
  };
  add("jungfrau to photons", pixels * 4, pixels * 8);
  config.tracking.from = jungfrau::Tracking::From::darks;
  // Pedestals and variances are read and written where there is a dark image, and its words are read once more.
  add("jungfrau, pedestals follow one dark image in ten", pixels * 4 + pixels * 2 / kDarkEvery, pixels * 8,
      pixels * 16);
  config.tracking.from = jungfrau::Tracking::From::empty;
  add("jungfrau, pedestals follow dark images and empty pixels", pixels * 4 + pixels * 2 / kDarkEvery,
      pixels * 8 + pixels * 18);
  config.tracking.from = jungfrau::Tracking::From::off;
  config.borders = jungfrau::Borders::shared;
  add("jungfrau, assembled with shared borders", pixels * 8, pixels * 12);
}

std::vector<Case> cases() {
  std::vector<Case> all;
  add_jungfrau(all);
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
  const auto add = [&](const char* name, const accumulate::Config& config, PixelType type, std::size_t sums) {
    all.push_back({name, config, shape, type, {}, kPixels * pixel_bytes(type), sums, false, 0, true});
  };
  add("accumulate sum, mean, max of uint16", {}, PixelType::u16, kSums);
  add("accumulate variance, too, of uint16", with_variance, PixelType::u16, kSums + kSquares);
  add("accumulate variance, too, of uint32", with_variance, PixelType::u32, kSums + 3 * kSquares);
  add("accumulate sum, mean, max of float32", {}, PixelType::f32, kSums);
  return all;
}

/// Memory of all cases.
struct Room {
  Room()
      : in(kImages * kMostBytes),
        out(kImages * (kMostBytes + kMostBytes / 16)),
        work(kPlaces),
        scalars(std::size_t{kPlaces} * 8),
        findings(kPlaces),
        raw(kImages * kPixels * 2 + kImages * kPixels / 8),
        dark(kImages) {
    std::mt19937_64 random(1);
    std::vector<std::uint64_t> noise(in.size() / sizeof(std::uint64_t));
    for (auto& word : noise) word = random();
    memory::cuda::check(cudaMemcpy(in.data(), noise.data(), in.size(), cudaMemcpyHostToDevice), "noise");
    for (auto& word : noise) word &= 0x3FFF3FFF3FFF3FFFULL;
    memory::cuda::check(cudaMemcpy(raw.data(), noise.data(), raw.size(), cudaMemcpyHostToDevice), "raw words");
    std::vector<std::uint8_t> some(kImages, 0);
    for (std::uint32_t i = kDarkEvery / 2; i < kImages; i += kDarkEvery) some[i] = 1;
    memory::cuda::check(cudaMemcpy(dark.data(), some.data(), some.size(), cudaMemcpyHostToDevice), "dark images");
  }
  DeviceArray<std::byte> in, out;
  DeviceArray<std::uint8_t> work;
  DeviceArray<Scalar> scalars;
  DeviceArray<kernel::cuda::DeviceFinding> findings;
  DeviceArray<std::byte> raw;
  DeviceArray<std::uint8_t> dark;
};

/// A step over all images in stacks. `work` is made anew each time, since steps with verdicts clear it.
class Bench {
 public:
  Bench(const Room& room, const Case& given, kernel::cuda::DevicePass& pass, std::uint32_t stack,
        const std::byte* limits)
      : room_(room), given_(given), pass_(pass), stack_(stack), limits_(limits) {
    StackImage image{};
    image.sums = given.sums;
    if (auto* const preparing = able<kernel::cuda::Preparing>(pass)) {
      for (std::uint32_t place = 0; place < kPlaces; ++place) preparing->prepare(place, image);
    }
  }
  /// One stack behind the other.
  void enqueue(cudaStream_t stream) const {
    clear(stream);
    for (std::uint32_t first = 0; first < kImages; first += stack_) put(first, 0, stream);
  }
  /// All images kInFlight times, so many stacks in flight.
  void enqueue_in_flight(cudaStream_t stream) const {
    clear(stream);
    in_flight_.enqueue(kImages, stack_, stream,
                       [this](std::uint32_t first, std::uint32_t bench, cudaStream_t to) { put(first, bench, to); });
  }

 private:
  void clear(cudaStream_t stream) const {
    memory::cuda::check(cudaMemsetAsync(room_.work.data(), 1, room_.work.size(), stream), "work");
  }
  void put(std::uint32_t first, std::uint32_t bench, cudaStream_t stream) const {
    const std::uint32_t place = bench * kImages + first;
    kernel::cuda::DeviceStack one{};
    one.in_stride = given_.shape.pixels() * pixel_bytes(given_.type);
    one.in = (given_.raw_words ? room_.raw : room_.in).data() + first * one.in_stride;
    one.dark = given_.raw_words ? room_.dark.data() + first : nullptr;
    one.out_stride = kMostBytes + kMostBytes / 16;
    one.out = room_.out.data() + first * one.out_stride;
    one.work = room_.work.data() + place;
    one.scalars_stride = 8;
    one.scalars = room_.scalars.data();
    one.findings = room_.findings.data() + place;
    one.count = stack_;
    one.place = place;
    one.limits = limits_;
    memory::cuda::check(static_cast<cudaError_t>(pass_.enqueue(one, bench, stream)), "a step");
  }

  const Room& room_;
  const Case& given_;
  kernel::cuda::DevicePass& pass_;
  std::uint32_t stack_;
  const std::byte* limits_;
  InFlight in_flight_;
};

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
      const Setup setup{.shape = given.shape,
                        .made = reshape ? reshape->shape() : given.shape,
                        .in = format,
                        .stack = stack,
                        .places = kPlaces,
                        .benches = kInFlight};
      const auto pass = given.step->on_cuda(setup);
      const DeviceArray<std::byte> limits(given.step->limits(setup).value_or(LimitBytes{}));
      const Bench bench(room, given, *pass, stack, limits.data());
      std::vector<Work> works{copy, [&](cudaStream_t on) { bench.enqueue(on); }};
      if (!given.in_turn) works.emplace_back([&](cudaStream_t on) { bench.enqueue_in_flight(on); });
      const std::vector<double> us = medians_us(works, repeats, stream.get());
      const double of_image = us[1] / kImages;
      const double bytes = static_cast<double>(given.bytes) + static_cast<double>(given.stack_bytes) / stack +
                           static_cast<double>(given.dark_bytes) / std::max(stack, kDarkEvery);
      const double floor = us[0] * bytes / (2.0 * static_cast<double>(room.in.size()));
      const std::string what = fmt::format("{}, 4M image, stack of {}", given.name, stack);
      rows.push_back({what, of_image, "us/image", "its bytes at the speed of a device copy", floor});
      rows.push_back({what + ", share of that floor", 100 * floor / of_image, "%"});
      if (!given.in_turn) {
        rows.push_back({fmt::format("{}, {} stacks in flight, share of that floor", what, kInFlight),
                        100 * floor * kImages * kInFlight / us[2], "%"});
      }
    }
  }
  return rows;
}

}  // namespace rashpa::kernel::gpu_bench
