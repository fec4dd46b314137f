// SPDX-License-Identifier: Apache-2.0
/// The CUDA kernel against the plain reference, bit for bit, on a GPU. Random words and calibrations are fresh in every
/// run; RASHPA_SEED repeats one.
#include "rashpa/kernel/jungfrau/jungfrau_cuda.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/jungfrau/testing/cases.hpp"
#include "rashpa/kernel/jungfrau/testing/modules.hpp"
#include "rashpa/kernel/jungfrau/testing/recorded.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/testing/cuda_testing.hpp"
#include "rashpa/kernel/testing/device_testing.hpp"

namespace rashpa::kernel::jungfrau {
namespace {

using Stack = std::vector<std::vector<std::uint16_t>>;
using synthetic::Random;

constexpr std::uint8_t kPoison = 0xEE;

/// A stack with room around every image, as the device gets it.
struct Job {
  const Config& config;
  const Stack& stack;
  Taps taps;
  std::vector<std::uint8_t> work;  // empty: all
  std::size_t pixels = stack.front().size();
  std::size_t stride = (pixels + 7) / 8 * 8 + 16;
  std::size_t marks_stride = (pixels + 63) / 64 + 1;
  std::size_t value_bytes = config.output == Output::kev ? 4 : 2;

  [[nodiscard]] bool works(std::size_t image) const { return work.empty() || work[image] != 0; }
};

/// Everything that the kernel may write, poisoned before.
struct Memory {
  std::vector<std::uint8_t> out;
  std::vector<std::uint64_t> marks;
  std::vector<Counts> counts;

  explicit Memory(const Job& job)
      : out(job.stack.size() * job.stride * job.value_bytes, kPoison),
        marks(job.stack.size() * job.marks_stride, 0xEEEEEEEEEEEEEEEE) {
    for (std::size_t i = 0; i < job.stack.size(); ++i) {
      counts.push_back({static_cast<std::uint32_t>(i), 7, static_cast<std::uint32_t>(3 * i)});
    }
  }
};

Memory expected(const Job& job) {
  Memory memory(job);
  for (std::size_t i = 0; i < job.stack.size(); ++i) {
    if (!job.works(i)) continue;
    std::uint64_t* marks = memory.marks.data() + i * job.marks_stride;
    if (job.taps.mark) std::fill_n(marks, (job.pixels + 63) / 64, 0);  // the reference leaves bits behind the end alone
    const std::uint16_t* raw = job.stack[i].data();
    void* out = memory.out.data() + i * job.stride * job.value_bytes;
    convert_reference(job.config, {1, &raw, &out, &marks, &memory.counts[i]}, job.taps, 0, job.pixels);
  }
  return memory;
}

Memory on_device(const Job& job) {
  Memory memory(job);
  std::vector<std::uint16_t> raw(job.stack.size() * job.stride, 0xABCD);
  for (std::size_t i = 0; i < job.stack.size(); ++i) {
    std::copy(job.stack[i].begin(), job.stack[i].end(), raw.begin() + static_cast<std::ptrdiff_t>(i * job.stride));
  }
  const cuda::Calibration calibration(job.config);
  const DeviceArray<std::uint16_t> device_raw(raw);
  const DeviceArray<std::uint8_t> out(memory.out);
  const DeviceArray<std::uint64_t> marks(memory.marks);
  const DeviceArray<Counts> counts(memory.counts);
  const DeviceArray<std::uint8_t> work(job.work.empty() ? std::vector<std::uint8_t>(1) : job.work);
  cuda::Batch batch{};
  batch.raw = device_raw.data();
  batch.raw_stride = job.stride;
  batch.out = out.data();
  batch.out_stride = job.stride;
  batch.marks = marks.data();
  batch.marks_stride = job.marks_stride;
  batch.counts = counts.data();
  batch.work = job.work.empty() ? nullptr : work.data();
  batch.count = static_cast<std::uint32_t>(job.stack.size());
  memory::cuda::check(cuda::convert(calibration.tables(), calibration.output(), batch, job.taps, nullptr), "convert");
  memory::cuda::check(cudaDeviceSynchronize(), "convert");
  memory.out = out.download();
  memory.marks = marks.download();
  memory.counts = counts.download();
  return memory;
}

/// The first byte that differs, for the message.
std::string difference(const Job& job, const Memory& truth, const Memory& got) {
  for (std::size_t at = 0; at < truth.out.size(); ++at) {
    if (truth.out[at] == got.out[at]) continue;
    const std::size_t pixel = at / job.value_bytes % job.stride;
    const std::size_t image = at / job.value_bytes / job.stride;
    const std::string word = pixel < job.pixels ? std::to_string(job.stack[image][pixel]) : "behind the end";
    return "image " + std::to_string(image) + " pixel " + std::to_string(pixel) + " of " + std::to_string(job.pixels) +
           ", word " + word + ": byte " + std::to_string(at % job.value_bytes) + " is " + std::to_string(got.out[at]) +
           ", must be " + std::to_string(truth.out[at]);
  }
  return "none";
}

void expect_equal(const Job& job) {
  const Memory truth = expected(job);
  const Memory got = on_device(job);
  EXPECT_EQ(difference(job, truth, got), "none") << "RASHPA_SEED=" << test_seed();
  EXPECT_EQ(got.counts, truth.counts) << "RASHPA_SEED=" << test_seed();
  EXPECT_TRUE(got.marks == truth.marks) << "marks differ; RASHPA_SEED=" << test_seed();
}

/// Compares device and reference with every combination of taps that the output allows.
void expect_equal_with_all_taps(const Config& config, const Stack& stack, std::int16_t bright, std::int16_t mark) {
  expect_equal({config, stack, {}, {}});
  if (config.output == Output::kev) return;
  expect_equal({config, stack, {true, bright, false, 0}, {}});
  expect_equal({config, stack, {false, 0, true, mark}, {}});
  expect_equal({config, stack, {true, bright, true, mark}, {}});
}

constexpr Output kOutputs[] = {Output::photons, Output::kev};

TEST(JungfrauCuda, every_row_of_the_decode_table_holds) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    for (const Output output : kOutputs) {
      const Config config = config_of(row, output);
      expect_equal_with_all_taps(config, Stack(3, std::vector<std::uint16_t>(64, row.word)), 5, 50);
    }
  }
}

TEST(JungfrauCuda, photons_are_rounded_once_from_the_product_as_float32) {
  Config config = simple(Output::photons);
  config.photon_energy_kev = 1.0;
  for (std::size_t i = 0; i < 64; ++i) config.calibration.gain[i] = 6.0F;
  expect_equal_with_all_taps(config, Stack(2, std::vector<std::uint16_t>(64, 103)), 0, 1);
}

TEST(JungfrauCuda, odd_sizes_are_converted_and_nothing_beside_them_is_touched) {
  Random random(test_seed());
  for (const std::uint32_t width : {1U, 7U, 8U, 9U, 63U, 64U, 65U, 129U, 255U, 257U, 1030U, 2047U, 2049U}) {
    for (const Output output : kOutputs) {
      SCOPED_TRACE(width);
      const std::uint32_t height = 1 + random.below(3);
      const Config config = synthetic::config(width, height, output, random.next(), 0.1);
      Stack stack(1 + random.below(9));
      for (auto& image : stack) {
        image = synthetic::frame(config, 0.05, random.next());
        for (auto& word : image) word = random.below(10) == 0 ? static_cast<std::uint16_t>(random.next()) : word;
      }
      expect_equal_with_all_taps(config, stack, 1, static_cast<std::int16_t>(random.below(3)));
    }
  }
}

TEST(JungfrauCuda, only_images_with_work_are_converted) {
  Random random(test_seed());
  const Config config = synthetic::config(100, 7, Output::photons, random.next(), 0.02);
  Stack stack(70);
  std::vector<std::uint8_t> work;
  for (auto& image : stack) {
    image = synthetic::frame(config, 0.02, random.next());
    work.push_back(random.below(3) == 0 ? 1 : 0);
  }
  expect_equal({config, stack, {true, 1, true, 1}, work});
  expect_equal({config, stack, {true, 1, true, 1}, std::vector<std::uint8_t>(70, 0)});
}

TEST(JungfrauCuda, stacks_longer_than_a_block_counts_at_once_are_converted) {
  Random random(test_seed());
  const Config config = synthetic::config(90, 3, Output::photons, random.next(), 0.1);
  Stack stack(600);
  for (auto& image : stack) image = synthetic::frame(config, 0.1, random.next());
  expect_equal({config, stack, {true, 1, true, 2}, {}});
}

TEST(JungfrauCudaLarge, every_word_converts_alike) {
  for (const Output output : kOutputs) {
    const Config config = synthetic::config(256, 256, output, test_seed(), 0.05);
    Stack stack(2, std::vector<std::uint16_t>(65536));
    for (std::size_t i = 0; i < 65536; ++i) {
      stack[0][i] = static_cast<std::uint16_t>(i);
      stack[1][i] = static_cast<std::uint16_t>(i * 40503U);
    }
    expect_equal_with_all_taps(config, stack, 1, 1);
  }
}

TEST(JungfrauCudaLarge, frames_all_in_one_gain_convert_alike) {
  Random random(test_seed());
  for (const Output output : kOutputs) {
    const Config config = synthetic::config(500, 130, output, random.next(), 0.01);
    Stack stack;
    for (const std::uint32_t code : {0x0000U, 0x4000U, 0x8000U, 0xC000U}) {
      for (auto& word : stack.emplace_back(500 * 130)) word = static_cast<std::uint16_t>(code | random.below(0x4000));
    }
    stack.emplace_back(500 * 130, 0xFFFF);
    stack.emplace_back(500 * 130, 0xC000);
    expect_equal_with_all_taps(config, stack, 100, 1000);
  }
}

TEST(JungfrauCudaLarge, random_words_and_calibrations_convert_alike) {
  Random random(test_seed());
  for (int round = 0; round < 24; ++round) {
    const bool photons = round % 4 != 3;
    Config config = synthetic::config(301, 67, photons ? Output::photons : Output::kev, random.next(), 0.02);
    config.photon_energy_kev = 0.5 + 30 * random.uniform();
    for (int i = 0; i < 300; ++i) {  // calibrations that no detector should have
      const std::size_t at = random.below(3 * 301 * 67);
      constexpr float kOdd[] = {0.0F, -0.0F, 1e-30F, 1e-3F, 1e30F, NAN, INFINITY, -40.0F, 16384.0F, 3e7F};
      (i % 2 == 0 ? config.calibration.gain : config.calibration.pedestal)[at] = kOdd[random.below(10)];
    }
    Stack stack(1 + random.below(20));
    std::vector<std::uint8_t> work;
    for (auto& image : stack) {
      image = synthetic::frame(config, 0.03, random.next());
      const std::uint32_t rare = 1U << random.below(12);
      for (auto& word : image) word = random.below(rare) == 0 ? static_cast<std::uint16_t>(random.next()) : word;
      work.push_back(random.below(4) == 0 ? 0 : 1);
    }
    const auto threshold = [&] { return static_cast<std::int16_t>(round == 0 ? INT16_MIN : random.next() % 64); };
    expect_equal(
        {config, stack, {photons && round % 3 != 0, threshold(), photons && round % 2 == 0, threshold()}, work});
  }
}

TEST(JungfrauCudaLarge, wild_calibrations_are_clamped_as_the_reference_does) {
  Random random(test_seed());
  Config config = synthetic::config(301, 67, Output::photons, random.next(), 0.02);
  config.photon_energy_kev = 0.005;
  Stack stack(3);
  for (auto& image : stack) {
    image.resize(std::size_t{301} * 67);
    for (auto& word : image) word = static_cast<std::uint16_t>(random.next());
  }
  expect_equal_with_all_taps(config, stack, 32766, -32767);
}

TEST(JungfrauCudaLarge, an_image_of_more_tiles_than_blocks_converts_alike) {
  Random random(test_seed());
  const Config config = synthetic::config(2068, 2165, Output::photons, random.next());
  Stack stack{synthetic::frame(config, 0.001, random.next()), synthetic::frame(config, 0.01, random.next()), {}};
  stack[2].resize(stack[0].size());
  for (auto& word : stack[2]) word = static_cast<std::uint16_t>(random.next());
  expect_equal({config, stack, {true, 10, true, 2}, {}});
}

TEST(JungfrauCudaLarge, ten_recorded_frames_convert_alike) {
  if (!recorded::available()) GTEST_SKIP() << recorded::kFolder << " is absent";
  for (const Output output : kOutputs) {
    Config config = recorded::config();
    config.output = output;
    Stack stack;
    for (std::size_t i = 0; i < 10; ++i) {
      stack.push_back(recorded::load<std::uint16_t>("mod5_raw" + std::to_string(i) + ".bin"));
    }
    expect_equal_with_all_taps(config, stack, 10, 2);
  }
}

TEST(JungfrauCuda, calibrations_of_wrong_size_are_refused) {
  Config config = simple(Output::photons);
  config.calibration.gain.pop_back();
  EXPECT_THROW(const cuda::Calibration calibration(config), ConfigError);
}

TEST(JungfrauCuda, modules_are_assembled_as_on_processors) {
  for (const Modules& one : modules_to_assemble()) {
    SCOPED_TRACE(one.what);
    kernel::cuda::expect_as_cpu(*step_of(one.config), one.given);
  }
}

TEST(JungfrauCuda, images_have_the_pedestals_of_their_storage_cell) {
  for (const Output output : {Output::photons, Output::kev}) {
    Config config = synthetic::config(301, 67, output, 5);
    for (const std::uint64_t seed : {6U, 7U}) {
      const Calibration more = synthetic::config(301, 67, output, seed).calibration;
      Calibration& all = config.calibration;
      all.pedestal.insert(all.pedestal.end(), more.pedestal.begin(), more.pedestal.end());
      all.gain.insert(all.gain.end(), more.gain.begin(), more.gain.end());
    }
    config.cells = {5, 0, 15};
    opencl::Case given{.shape = {301, 67}, .format = {PixelType::u16, Masked::maximum}, .images = {}};
    given.cells = {0, 5, 15, 7, 5, 0, 0, 15, 15, 5, 0};  // nobody has calibrated cell 7
    for (std::size_t i = 0; i < given.cells.size(); ++i) {
      const auto words = synthetic::frame(config, 0.05, i);
      const auto* const bytes = reinterpret_cast<const std::byte*>(words.data());
      given.images.emplace_back(bytes, bytes + words.size() * sizeof(std::uint16_t));
    }
    kernel::cuda::expect_as_cpu(*step_of(config), given);
  }
}

}  // namespace
}  // namespace rashpa::kernel::jungfrau
