// SPDX-License-Identifier: Apache-2.0
/// Kernels on photon images of every integer type on an OpenCL device against their plain references: odd sizes, masked
/// and special values, thresholds at the ends.
#include <random>

#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/kernel/testing/opencl_testing.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"

namespace rashpa::kernel {
namespace {

using Images = std::vector<std::vector<std::byte>>;

class PhotonsOpencl : public opencl::OpenclTest {
 protected:
  template <typename Check>
  void with_every_format(Check check) {
    std::mt19937 random(7);
    for (const PixelFormat format : opencl::photon_formats()) {
      for (const Shape shape : {Shape{1, 1}, Shape{129, 101}, Shape{513, 67}}) {
        SCOPED_TRACE(testing::Message() << pixel_name(format.type) << " up to " << format.largest_count << ", "
                                        << shape.width << " x " << shape.height);
        Images images;
        for (int i = 0; i < 3; ++i) {
          images.push_back(
              with_type(format.type, [&]<typename T>(T) { return opencl::random_image<T>(random, shape.pixels()); }));
        }
        check(kernel::Setup{.shape = shape, .in = format}, images);
      }
    }
  }
};

TEST_F(PhotonsOpencl, counts_and_verdicts_are_those_of_the_reference) {
  with_every_format([&](const kernel::Setup& setup, const Images& images) {
    const bragg_count::Config config{3, 100, 5000};
    const auto found = opencl::run_step(*device, *bragg_count::step_of(config), setup, images, 0);
    for (std::size_t i = 0; i < images.size(); ++i) {
      const auto bright =
          bragg_count::count_reference(images[i].data(), setup.in, setup.shape.pixels(), config.threshold);
      EXPECT_EQ(found.books[i].scalars[0].count(), bright);
      const int verdict = bright < 100 ? 1 : bright > 5000 ? 2 : 0;
      EXPECT_EQ(found.books[i].verdict, verdict);
      EXPECT_EQ(found.books[i].work, verdict == 0 ? 1 : 0);
    }
  });
}

TEST_F(PhotonsOpencl, sums_and_verdicts_are_those_of_the_reference) {
  with_every_format([&](const kernel::Setup& setup, const Images& images) {
    const total_counts::Config config{100, 1'000'000, 0.2};
    const auto limits = total_counts::limits_of(config, setup.shape.pixels());
    const auto found = opencl::run_step(*device, *total_counts::step_of(config), setup, images, 0);
    for (std::size_t i = 0; i < images.size(); ++i) {
      const auto truth = total_counts::total_reference(images[i].data(), setup.in, setup.shape.pixels());
      EXPECT_EQ(found.books[i].scalars[0].integer(), truth.counts);
      EXPECT_EQ(found.books[i].scalars[1].count(), truth.masked);
      EXPECT_EQ(found.books[i].verdict, limits.verdict(truth));
    }
  });
}

TEST_F(PhotonsOpencl, lists_are_those_of_the_reference_from_pixels_and_from_marks) {
  with_every_format([&](const kernel::Setup& given, const Images& images) {
    const std::size_t pixels = given.shape.pixels();
    for (const bool marked : {false, true}) {
      for (const double capacity : {1.0, 0.001}) {
        const csr::Config config{2, capacity};
        kernel::Setup setup = given;
        setup.marked = marked;
        std::vector<std::vector<std::uint64_t>> marks;
        const std::size_t room = csr::capacity_of(config, pixels);
        std::vector<std::uint32_t> index(pixels);
        std::vector<std::byte> value(pixels * pixel_bytes(setup.in.type));
        for (const auto& image : images) {
          const csr::Entries all{index.data(), value.data(), pixels};
          const std::size_t count = csr::compact_reference(image.data(), setup.in, pixels, 2, all);
          marks.emplace_back((pixels + 63) / 64, 0);
          for (std::size_t e = 0; e < count; ++e) marks.back()[index[e] / 64] |= std::uint64_t{1} << (index[e] % 64);
        }
        if (!marked) marks.clear();
        const auto found = opencl::run_step(*device, *csr::step_of(config), setup, images, 0, marks);
        for (std::size_t i = 0; i < images.size(); ++i) {
          const std::size_t count =
              csr::compact_reference(images[i].data(), setup.in, pixels, 2, {index.data(), value.data(), room});
          if (count == csr::kOverflow) {
            EXPECT_EQ(found.books[i].entries, opencl::kListOverflow);
            continue;
          }
          ASSERT_EQ(found.books[i].entries, count);
          EXPECT_TRUE(std::equal(found.index[i].begin(), found.index[i].end(), index.begin()));
          EXPECT_TRUE(std::equal(found.value[i].begin(), found.value[i].end(), value.begin()));
        }
      }
    }
  });
}

}  // namespace
}  // namespace rashpa::kernel
