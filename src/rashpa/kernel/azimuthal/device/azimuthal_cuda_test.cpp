// SPDX-License-Identifier: Apache-2.0
/// Azimuthal integration on a GPU against unit cpu: models of errors, split pixels, real numbers, few and many bins,
/// counts of any size, sums over images. Run by `make test-device`.
#include "rashpa/kernel/azimuthal/device/azimuthal_cuda.hpp"

#include <cstring>

#include "rashpa/core/ability.hpp"
#include "rashpa/kernel/azimuthal/testing.hpp"
#include "rashpa/kernel/testing/device_testing.hpp"
#include "rashpa/kernel/testing/opencl_testing.hpp"

namespace rashpa::kernel::azimuthal {
namespace {

using opencl::Case;
using opencl::Everything;

constexpr Shape kShape{97, 61};
constexpr double kRelative = 1e-9;

Config rings(std::size_t bins, Errors errors, bool split, bool dark) {
  return test_rings(kShape, bins, errors, split, dark);
}

/// The device's results; the images stand between others that must not be read. `times`: one after the other on the
/// same bench, of which the last is returned.
Everything on_cuda(const Step& step, const Case& given, int times = 2) {
  const auto count = static_cast<std::uint32_t>(given.images.size());
  const std::uint32_t places = 2 * count + 1;
  const Setup setup{.shape = given.shape, .made = given.shape, .in = given.format, .stack = places, .places = places};
  const auto pass = step.on_cuda(setup);
  const DeviceArray<std::byte> limits(*step.limits(setup));
  const std::size_t bytes = given.shape.pixels() * pixel_bytes(given.format.type);
  const std::size_t stride = (bytes + 15) / 16 * 16;
  const auto place_of = [](std::uint32_t image) { return 2 * image + 1; };
  std::vector<std::byte> in(places * stride, std::byte{0x55});
  std::vector<std::uint8_t> asked(places, 0);
  for (std::uint32_t i = 0; i < count; ++i) {
    std::memcpy(in.data() + place_of(i) * stride, given.images[i].data(), bytes);
    asked[place_of(i)] = 1;
  }
  const DeviceArray<std::byte> images(in);
  DeviceArray<std::uint8_t> work(asked);
  const DeviceArray<Scalar> scalars(std::size_t{places} * 3);
  DeviceArray<kernel::cuda::DeviceFinding> findings(places);
  kernel::cuda::DeviceStack stack{};
  stack.in = images.data();
  stack.in_stride = stride;
  stack.work = work.data();
  stack.scalars = scalars.data() + 1;
  stack.scalars_stride = 3;
  stack.findings = findings.data();
  stack.limits = limits.data();
  stack.count = places;
  stack.step = 4;
  for (int time = 0; time < times; ++time) {
    work.upload(asked);
    findings.fill(0);
    memory::cuda::check(static_cast<cudaError_t>(pass->enqueue(stack, 0, nullptr)), "enqueue");
    memory::cuda::check(cudaDeviceSynchronize(), "azimuthal");
  }
  const auto columns = scalars.download();
  const auto verdicts = findings.download();
  const auto left = work.download();
  const std::size_t values = kArrays * step.axes().back().values.size();
  Everything all{.images = std::vector<Everything::Image>(count)};
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t place = place_of(i);
    Everything::Image& image = all.images[i];
    image.scalars.assign(&columns[place * 3 + 1], &columns[place * 3 + 2]);
    image.verdict = verdicts[place].verdict;
    EXPECT_EQ(verdicts[place].step, image.verdict == 0 ? 0 : 4);
    EXPECT_EQ(left[place], image.verdict == 0 ? 1 : 0);
    EXPECT_EQ(verdicts[place - 1].verdict, 0);
    EXPECT_EQ(columns[(place - 1) * 3 + 1].count(), 0U);
    const double* const profile = pass->profile(place).values;
    image.profile.assign(profile, profile + values);
    if (image.verdict == 0) able<kernel::cuda::HostAdding>(*pass)->add(place);
  }
  if (const auto sums = step.accumulation(given.shape, given.format)) {
    AccumulatedArrays to{};
    for (const Quantity& one : sums->quantities) all.accumulated.emplace_back(sums->elements() * bytes_of(one.type));
    for (std::size_t q = 0; q < all.accumulated.size(); ++q) to[q] = all.accumulated[q].data();
    able<kernel::cuda::HostAdding>(*pass)->write(to);
  }
  return all;
}

class AzimuthalCuda : public testing::Test {
 protected:
  void expect_as_cpu(const Config& config, PixelFormat format, std::size_t count = 3) {
    expect_as_cpu(config, format, opencl::random_images(random, format, kShape.pixels(), count));
  }
  static void expect_as_cpu(const Config& config, PixelFormat format, const std::vector<std::vector<std::byte>>& images,
                            Shape shape = kShape) {
    SCOPED_TRACE(testing::Message() << pixel_name(format.type) << ", " << config.radial_axis.size() << " bins, errors "
                                    << static_cast<int>(config.errors) << (config.bins.empty() ? ", split" : "")
                                    << ", RASHPA_SEED=" << test_seed());
    const auto step = step_of(config);
    const Case given{shape, format, images};
    const Everything truth = opencl::on_cpu(*step, given);
    Everything found = on_cuda(*step, given);
    for (std::size_t i = 0; i < images.size(); ++i) {
      if (truth.images[i].verdict != 0) found.images[i].profile = truth.images[i].profile;
    }
    opencl::expect_alike(found, truth, *step, given, kRelative);
  }
  std::mt19937 random{test_seed()};
};

TEST_F(AzimuthalCuda, every_model_of_errors_gives_the_same_profiles) {
  for (const Errors errors : {Errors::none, Errors::poisson, Errors::azimuthal}) {
    for (const bool split : {false, true}) {
      for (const bool dark : {false, true}) expect_as_cpu(rings(20, errors, split, dark), delivered(PixelType::u16));
    }
  }
}

TEST_F(AzimuthalCuda, pixels_of_every_type_are_summed_alike) {
  for (const PixelFormat format : opencl::photon_formats()) {
    SCOPED_TRACE(format.largest_count);
    for (const bool split : {false, true}) expect_as_cpu(rings(9, Errors::poisson, split, true), format);
  }
  for (const Errors errors : {Errors::poisson, Errors::azimuthal}) {
    expect_as_cpu(rings(9, errors, false, true), delivered(PixelType::f32));
  }
}

TEST_F(AzimuthalCuda, any_number_of_bins_and_of_images) {
  for (const std::size_t bins : {1U, 7U, 3000U, 5000U, 9000U, 66000U}) {
    expect_as_cpu(rings(bins, Errors::poisson, false, false), delivered(PixelType::u32));
  }
  for (const std::size_t count : {1U, 2U, 4U, 5U, 33U}) {
    expect_as_cpu(rings(20, Errors::poisson, false, false), delivered(PixelType::i16), count);
  }
}

/// Gives every pixel the largest counts of its type: nothing overflows.
TEST_F(AzimuthalCuda, the_largest_counts_are_summed_exactly) {
  for (const PixelType type : photon_types()) {
    with_type(type, [&]<typename T>(T) {
      for (const std::int64_t value : {photon_range(delivered(type)).most, std::int64_t{4095}, std::int64_t{4096},
                                       std::int64_t{(1 << 24) - 1}, std::int64_t{1 << 24}}) {
        if (value > photon_range(delivered(type)).most) continue;
        const std::vector<T> image(kShape.pixels(), static_cast<T>(value));
        const auto* const bytes = reinterpret_cast<const std::byte*>(image.data());
        expect_as_cpu(rings(3, Errors::poisson, false, false), delivered(type),
                      std::vector(2, std::vector(bytes, bytes + image.size() * sizeof(T))));
      }
    });
  }
  const std::vector<std::int16_t> image(kShape.pixels(), std::numeric_limits<std::int16_t>::min() + 1);
  const auto* const bytes = reinterpret_cast<const std::byte*>(image.data());
  expect_as_cpu(rings(3, Errors::poisson, false, false), {PixelType::i16, Masked::minimum},
                {std::vector(bytes, bytes + image.size() * 2)});
}

TEST_F(AzimuthalCuda, a_block_takes_so_many_pixels_that_its_sums_do_not_overflow) {
  constexpr Shape kLarge{4096, 4096};
  Config config{.errors = Errors::poisson};
  config.width = kLarge.width;
  config.radial_axis = {0.5};
  config.bins.assign(kLarge.pixels(), 0);
  config.norm.assign(kLarge.pixels(), 1);
  const std::vector<std::uint16_t> image(kLarge.pixels(), 65533);
  const auto* const bytes = reinterpret_cast<const std::byte*>(image.data());
  for (const std::size_t count : {1U, 4U}) {
    const std::vector images(count, std::vector(bytes, bytes + image.size() * 2));
    const auto found = on_cuda(*step_of(config), Case{kLarge, delivered(PixelType::u16), images});
    const auto pixels = static_cast<double>(kLarge.pixels());
    for (const Everything::Image& one : found.images) {
      EXPECT_EQ(one.profile[2], 65533.0 * pixels);
      EXPECT_EQ(one.profile[1], std::sqrt(65533.0 * pixels) / pixels);
    }
  }
}

/// Profiles of the first ones are made, and some vetoed, while the last ones are still added up.
TEST_F(AzimuthalCuda, images_of_a_long_stack_do_not_disturb_each_other) {
  constexpr Shape kLarge{1024, 516};
  Config config{.errors = Errors::poisson};
  config.width = kLarge.width;
  for (std::uint32_t bin = 0; bin < 700; ++bin) config.radial_axis.push_back(0.5 + bin);
  for (std::size_t pixel = 0; pixel < kLarge.pixels(); ++pixel) {
    const double x = static_cast<double>(pixel % kLarge.width), y = static_cast<double>(pixel) / kLarge.width;
    config.bins.push_back(static_cast<std::uint32_t>(std::hypot(x - 300, y - 200) / 1.3));
    config.norm.push_back(1);
    if (config.bins.back() >= 700) config.bins.back() = kNoBin;
  }
  config.ring_min = 100;
  config.ring_max = 200;
  config.min_intensity = 2;
  std::vector<std::vector<std::byte>> images;
  for (std::uint32_t i = 0; i < 39; ++i) {
    std::vector<std::uint16_t> image(kLarge.pixels());
    for (std::uint16_t& pixel : image) pixel = static_cast<std::uint16_t>(random() % (i % 3 == 1 ? 3 : 10));
    const auto* const bytes = reinterpret_cast<const std::byte*>(image.data());
    images.emplace_back(bytes, bytes + image.size() * 2);
  }
  expect_as_cpu(config, delivered(PixelType::u16), images, kLarge);
}

TEST_F(AzimuthalCuda, rings_are_judged_and_profiles_added_up) {
  Config config = rings(20, Errors::poisson, false, true);
  config.added = Added::accepted;
  config.ring_min = 3;
  config.ring_max = 9;
  expect_as_cpu(config, delivered(PixelType::u8));
  config.min_intensity = 1e9;
  expect_as_cpu(config, delivered(PixelType::u8));
  config.min_intensity = 0;
  config.max_intensity = 1e-3;
  expect_as_cpu(config, delivered(PixelType::u8));
}

TEST_F(AzimuthalCuda, an_image_without_a_valid_pixel_has_no_mean) {
  const std::vector<std::uint16_t> image(kShape.pixels(), UINT16_MAX);
  const auto* const bytes = reinterpret_cast<const std::byte*>(image.data());
  for (const bool split : {false, true}) {
    expect_as_cpu(rings(20, Errors::poisson, split, true), delivered(PixelType::u16),
                  {std::vector(bytes, bytes + image.size() * 2)});
  }
}

}  // namespace
}  // namespace rashpa::kernel::azimuthal
