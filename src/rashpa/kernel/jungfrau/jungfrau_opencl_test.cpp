// SPDX-License-Identifier: Apache-2.0
/// Conversion on an OpenCL device against the plain reference, bit for bit: the table of cases, every word, odd sizes,
/// calibrations that no detector should have.
#include <cmath>
#include <cstring>

#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/kernel/jungfrau/testing/cases.hpp"
#include "rashpa/kernel/jungfrau/testing/modules.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/testing/opencl_testing.hpp"

namespace rashpa::kernel::jungfrau {
namespace {

using Words = std::vector<std::vector<std::uint16_t>>;

class JungfrauOpencl : public opencl::OpenclTest {
 protected:
  void expect_as_reference(const Config& config, const Words& stack, const Taps& taps) const {
    const std::size_t pixels = stack.front().size();
    const std::size_t made = config.output == Output::kev ? 4 : 2;
    kernel::Setup setup{.shape = {config.calibration.width, config.calibration.height},
                        .in = {PixelType::u16, Masked::maximum}};
    if (taps.count) setup.count_at = taps.bright_threshold;
    if (taps.mark) setup.mark_at = taps.mark_threshold;
    std::vector<std::vector<std::byte>> images;
    for (const auto& words : stack) {
      const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
      images.emplace_back(bytes, bytes + pixels * 2);
    }
    const opencl::StepResult found = opencl::run_step(*device, *step_of(config), setup, images, made);
    for (std::size_t i = 0; i < stack.size(); ++i) {
      std::vector<std::byte> truth(pixels * made);
      std::vector<std::uint64_t> marks((pixels + 63) / 64, 0);
      const std::uint16_t* raw = stack[i].data();
      void* out = truth.data();
      std::uint64_t* mark = marks.data();
      Counts counts;
      convert_reference(config, {1, &raw, &out, &mark, &counts}, taps, 0, pixels);
      EXPECT_TRUE(found.pixels[i] == truth) << "image " << i;
      EXPECT_EQ(found.books[i].scalars[0].count(), counts.masked);
      EXPECT_EQ(found.books[i].scalars[1].count(), counts.saturated);
      EXPECT_EQ(found.books[i].counted, counts.bright);
      EXPECT_TRUE(found.marks[i] == marks) << "image " << i;
    }
  }
};

TEST_F(JungfrauOpencl, every_row_of_the_decode_table_holds) {
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.what);
    for (const Output output : {Output::photons, Output::kev}) {
      const bool photons = output == Output::photons;
      expect_as_reference(config_of(row, output), Words(3, std::vector<std::uint16_t>(64, row.word)),
                          {photons, 5, photons, 50});
    }
  }
}

TEST_F(JungfrauOpencl, every_word_converts_as_the_reference_says) {
  for (const Output output : {Output::photons, Output::kev}) {
    const Config config = synthetic::config(256, 256, output, 11, 0.05);
    Words stack(2, std::vector<std::uint16_t>(65536));
    for (std::size_t i = 0; i < 65536; ++i) {
      stack[0][i] = static_cast<std::uint16_t>(i);
      stack[1][i] = static_cast<std::uint16_t>(i * 40503U);
    }
    const bool photons = output == Output::photons;
    expect_as_reference(config, stack, {photons, 1, photons, 1});
  }
}

TEST_F(JungfrauOpencl, odd_sizes_and_wild_calibrations_convert_alike) {
  synthetic::Random random(17);
  for (const std::uint32_t width : {1U, 7U, 63U, 64U, 65U, 129U, 1030U}) {
    for (const Output output : {Output::photons, Output::kev}) {
      Config config = synthetic::config(width, 17, output, random.next(), 0.05);
      config.photon_energy_kev = 0.5 + 30 * random.uniform();
      for (int i = 0; i < 100; ++i) {
        const std::size_t at = random.below(3 * 17 * width);
        constexpr float kOdd[] = {0.0F, -0.0F, 1e-30F, 1e-3F, 1e30F, NAN, INFINITY, -40.0F, 16384.0F, 3e7F};
        (i % 2 == 0 ? config.calibration.gain : config.calibration.pedestal)[at] = kOdd[random.below(10)];
      }
      Words stack(1 + random.below(4));
      for (auto& image : stack) {
        image = synthetic::frame(config, 0.05, random.next());
        for (auto& word : image) word = random.below(10) == 0 ? static_cast<std::uint16_t>(random.next()) : word;
      }
      SCOPED_TRACE(testing::Message() << width << " x 17");
      const bool photons = output == Output::photons;
      const auto least = static_cast<std::int16_t>(width == 63 ? INT16_MIN : 1);
      expect_as_reference(config, stack, {photons, least, photons, least});
    }
  }
}

TEST_F(JungfrauOpencl, photons_are_rounded_once_from_the_product_as_float32) {
  Config config = simple(Output::photons);
  config.photon_energy_kev = 1.0;
  for (std::size_t i = 0; i < 64; ++i) config.calibration.gain[i] = 6.0F;
  expect_as_reference(config, Words(2, std::vector<std::uint16_t>(64, 103)), {true, 1, true, 1});
}

TEST_F(JungfrauOpencl, modules_are_assembled_as_on_processors) {
  for (const Modules& one : modules_to_assemble()) {
    SCOPED_TRACE(one.what);
    opencl::expect_as_cpu(*device, *step_of(one.config), one.given);
  }
}

}  // namespace
}  // namespace rashpa::kernel::jungfrau
