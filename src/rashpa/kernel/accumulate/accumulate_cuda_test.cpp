// SPDX-License-Identifier: Apache-2.0
/// The kernel on a GPU against its plain reference: run by `make test-device`.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "rashpa/core/ability.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/accumulate/parts.hpp"
#include "rashpa/kernel/photons/photons.hpp"
#include "rashpa/kernel/testing/cuda_testing.hpp"

namespace rashpa::kernel::accumulate {
namespace {

using memory::cuda::check;
using memory::cuda::PinnedMemory;
using Images = std::vector<std::vector<std::byte>>;

constexpr Config kAll{.variance = true};

/// The quantities of one window, as the reference or the device has written them.
struct Quantities {
  Quantities(const Step& step, const Shape& shape, PixelFormat format)
      : facts(*step.accumulation(shape, format)), memory(facts.bytes() + kMostQuantities * kLine) {
    std::byte* at = memory.as<std::byte>();
    for (std::size_t q = 0; q < facts.quantities.size(); ++q) {
      to[q] = at;
      at += (facts.elements() * bytes_of(facts.quantities[q].type) + kLine - 1) / kLine * kLine;
    }
    std::memset(memory.as<void>(), 0xEE, facts.bytes());
  }
  [[nodiscard]] std::size_t bytes_of_one(std::size_t q) const {
    return facts.elements() * bytes_of(facts.quantities[q].type);
  }
  static constexpr std::size_t kLine = 64;
  Accumulation facts;
  PinnedMemory memory;
  AccumulatedArrays to{};
};

/// Integers alike, reals as far apart as rounding once more makes them. The variance of reals is rounded with every
/// image, and a device multiplies and adds at once.
void expect_same(const Quantities& found, const Quantities& truth, PixelType pixel) {
  for (std::size_t q = 0; q < truth.facts.quantities.size(); ++q) {
    SCOPED_TRACE(truth.facts.quantities[q].name);
    if (truth.facts.quantities[q].type != Quantity::Type::f64) {
      EXPECT_EQ(std::memcmp(found.to[q], truth.to[q], truth.bytes_of_one(q)), 0);
      continue;
    }
    const auto* const values = reinterpret_cast<const double*>(found.to[q]);
    const auto* const wanted = reinterpret_cast<const double*>(truth.to[q]);
    for (std::size_t p = 0; p < truth.facts.elements(); ++p) {
      ASSERT_EQ(std::isnan(values[p]), std::isnan(wanted[p])) << p;
      if (!std::isnan(wanted[p])) {
        const std::string& name = truth.facts.quantities[q].name;
        if (pixel == PixelType::f32 && (name == "variance" || name == "real_mean" || name == "real_squares")) {
          ASSERT_NEAR(values[p], wanted[p], 1e-12 * std::abs(wanted[p])) << p;
        } else {
          ASSERT_DOUBLE_EQ(values[p], wanted[p]) << p;
        }
      }
    }
  }
}

/// A step on the device and the reference beside it, stack by stack.
class Both {
 public:
  Both(const Config& config, const Shape& shape, PixelFormat format, std::uint32_t stack)
      : config_(config),
        step_(step_of(config)),
        shape_(shape),
        format_(format),
        sums_(config, format, shape.pixels()),
        pass_(step_->on_cuda({.shape = shape, .made = shape, .in = format, .stack = stack, .places = stack})),
        ended_(kMostQuantities) {}
  /// Images that are wanted; the window ends with them or does not, or no window ever ends with a stack.
  enum class End : std::uint8_t { never, no, yes };
  void add(const Images& images, const std::vector<std::uint8_t>& wanted, End end) {
    const std::size_t bytes = shape_.pixels() * pixel_bytes(format_.type);
    cuda::DeviceStack stack{};
    stack.in_stride = (bytes + 15) / 16 * 16;
    std::vector<std::byte> all(images.size() * stack.in_stride, std::byte{0x01});
    for (std::size_t i = 0; i < images.size(); ++i) {
      std::memcpy(all.data() + i * stack.in_stride, images[i].data(), bytes);
      const std::byte* const image = images[i].data();
      if (wanted[i] != 0) add_reference(sums_, &image, 1, 0, shape_.pixels());
    }
    const DeviceArray<std::byte> in(all);
    const DeviceArray<std::uint8_t> work(wanted);
    stack.in = in.data();
    stack.work = work.data();
    stack.count = static_cast<std::uint32_t>(images.size());
    const Quantities found(*step_, shape_, format_);
    std::vector<std::byte*> to(kMostQuantities, nullptr);
    if (end == End::yes) std::copy(found.to.begin(), found.to.end(), to.begin());
    ended_.upload(to);
    if (end != End::never) stack.ended = ended_.data();
    check(static_cast<cudaError_t>(pass_->enqueue(stack, 0, nullptr)), "enqueue");
    check(cudaDeviceSynchronize(), "accumulate");
    EXPECT_EQ(work.download(), wanted) << "it refuses nothing";
    if (end == End::yes) expect_window(found);
  }
  void conclude() {
    const Quantities found(*step_, shape_, format_);
    check(static_cast<cudaError_t>(able<const kernel::cuda::DeviceAdding>(*pass_)->conclude(found.to, nullptr)),
          "conclude");
    check(cudaDeviceSynchronize(), "accumulate");
    expect_window(found);
  }

 private:
  void expect_window(const Quantities& found) {
    const Quantities truth(*step_, shape_, format_);
    write_window(config_, sums_, truth.to, 0, shape_.pixels());
    sums_.start_anew(0, shape_.pixels());
    expect_same(found, truth, format_.type);
  }
  Config config_;
  std::shared_ptr<const Step> step_;
  Shape shape_;
  PixelFormat format_;
  Sums sums_;
  std::unique_ptr<cuda::DevicePass> pass_;
  DeviceArray<std::byte*> ended_;
};

std::vector<std::uint8_t> some_of(std::mt19937& random, std::size_t images) {
  std::vector<std::uint8_t> wanted(images, 0);
  for (auto& one : wanted) one = random() % 4 == 0 ? 0 : 1;
  return wanted;
}

std::vector<PixelFormat> formats() {
  std::vector<PixelFormat> all = opencl::photon_formats();
  all.push_back({PixelType::i32, Masked::minimum});
  all.push_back(delivered(PixelType::f32));
  return all;
}

TEST(AccumulateCuda, windows_of_every_type_are_the_reference_s) {
  std::mt19937 random(test_seed());
  for (const PixelFormat format : formats()) {
    for (const Shape shape : {Shape{1, 1}, Shape{129, 67}, Shape{1030, 514}}) {
      SCOPED_TRACE(testing::Message() << pixel_name(format.type) << " up to " << format.largest_count << ", "
                                      << shape.width << ", RASHPA_SEED=" << test_seed());
      Both both(kAll, shape, format, 5);
      for (int window = 0; window < 2; ++window) {
        for (const auto end : {Both::End::no, Both::End::no, Both::End::yes}) {
          both.add(opencl::random_images(random, format, shape.pixels(), 5), some_of(random, 5), end);
        }
      }
      both.add(opencl::random_images(random, format, shape.pixels(), 5), {0, 0, 1, 0, 0}, Both::End::no);
      both.conclude();
      both.conclude();
    }
  }
}

TEST(AccumulateCuda, a_stack_may_have_any_number_of_images) {
  std::mt19937 random(test_seed());
  for (const PixelFormat format : {delivered(PixelType::u16), delivered(PixelType::f32)}) {
    const Shape shape{67, 31};
    for (const std::uint32_t stack : {1U, 8U, 31U, 33U, 100U}) {
      SCOPED_TRACE(testing::Message() << stack << ", RASHPA_SEED=" << test_seed());
      Both both(kAll, shape, format, stack);
      const auto images = opencl::random_images(random, format, shape.pixels(), stack);
      both.add(images, std::vector<std::uint8_t>(stack, 1), Both::End::never);
      both.add(images, some_of(random, stack), Both::End::never);
      both.add(images, std::vector<std::uint8_t>(stack, 0), Both::End::never);
      both.conclude();
    }
  }
}

TEST(AccumulateCuda, the_largest_counts_fit) {
  for (const PixelType type : photon_types()) {
    SCOPED_TRACE(pixel_name(type));
    const PixelFormat format = delivered(type);
    const Shape shape{37, 3};
    const auto image = with_type(type, [&]<typename T>(T) {
      const std::vector<T> pixels(shape.pixels(), static_cast<T>(photon_range(format).most));
      const auto* bytes = reinterpret_cast<const std::byte*>(pixels.data());
      return std::vector<std::byte>(bytes, bytes + pixels.size() * sizeof(T));
    });
    Both both(kAll, shape, format, 64);
    for (int stack = 0; stack < 4; ++stack) {
      both.add(Images(64, image), std::vector<std::uint8_t>(64, 1), Both::End::no);
    }
    both.conclude();
  }
}

TEST(AccumulateCuda, what_is_not_asked_for_is_not_there) {
  std::mt19937 random(test_seed());
  const Shape shape{129, 5};
  for (const PixelType type : {PixelType::u16, PixelType::i32, PixelType::f32}) {
    const PixelFormat format = delivered(type);
    for (const Config& config :
         {Config{.mean = false, .max = false}, Config{.sum = false, .mean = false},
          Config{.sum = false, .max = false, .variance = true}, Config{.sum = false, .max = false}}) {
      Both both(config, shape, format, 3);
      both.add(opencl::random_images(random, format, shape.pixels(), 3), {1, 1, 0}, Both::End::yes);
      both.add(opencl::random_images(random, format, shape.pixels(), 3), {0, 1, 0}, Both::End::yes);
    }
  }
}

/// Where a device sees pixels as they are: a pixel that is masked in all images has the same largest value there.
std::vector<PixelFormat> plain_formats() {
  return {delivered(PixelType::u8), delivered(PixelType::u16), delivered(PixelType::u32),
          PixelFormat{PixelType::i32, Masked::minimum}, delivered(PixelType::f32)};
}

TEST(AccumulateCuda, parts_are_the_reference_s) {
  std::mt19937 random(test_seed());
  Config parts = kAll;
  parts.parts = true;
  for (const PixelFormat format : plain_formats()) {
    const Shape shape{129, 67};
    SCOPED_TRACE(testing::Message() << pixel_name(format.type) << ", RASHPA_SEED=" << test_seed());
    Both both(parts, shape, format, 5);
    for (const auto end : {Both::End::no, Both::End::yes, Both::End::yes}) {
      both.add(opencl::random_images(random, format, shape.pixels(), 5), some_of(random, 5), end);
    }
    both.conclude();
  }
}

TEST(AccumulateCuda, quantities_are_made_of_parts) {
  std::mt19937 random(test_seed());
  for (const PixelFormat format : plain_formats()) {
    SCOPED_TRACE(testing::Message() << pixel_name(format.type) << ", RASHPA_SEED=" << test_seed());
    const Shape shape{129, 67};
    const Config config{.variance = format.type != PixelType::f32};
    const auto step = step_of(config);
    const auto join = dynamic_cast<const Joinable&>(*step).join(shape, format);
    const auto writer = join->on_cuda();
    ASSERT_NE(writer, nullptr);
    Sums sums(config, format, shape.pixels());
    for (const auto& image : opencl::random_images(random, format, shape.pixels(), 7)) {
      const std::byte* const pixels = image.data();
      add_reference(sums, &pixels, 1, 0, shape.pixels());
    }
    const Quantities parts(*join->part(), shape, format);
    write_parts(sums, parts.to, 0, shape.pixels());
    const Quantities found(*step, shape, format), truth(*step, shape, format);
    check(static_cast<cudaError_t>(writer->write(parts.to, found.to, nullptr)), "write");
    check(cudaDeviceSynchronize(), "write");
    write(sums, arrays_of(config, truth.to), 0, shape.pixels());
    expect_same(found, truth, format.type);
  }
}

TEST(AccumulateCuda, the_variance_of_reals_is_no_plain_sum) {
  const Shape shape{16, 16};
  const auto step = step_of(kAll);
  EXPECT_EQ(dynamic_cast<const Joinable&>(*step).join(shape, delivered(PixelType::f32))->on_cuda(), nullptr);
}

}  // namespace
}  // namespace rashpa::kernel::accumulate
