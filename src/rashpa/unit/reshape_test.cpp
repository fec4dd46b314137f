// SPDX-License-Identifier: Apache-2.0
/// Steps that change the shape of images: everything behind them sees the new one.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit {
namespace {

namespace jungfrau = kernel::jungfrau;
using kernel::Shape;

/// Each pixel becomes two beside each other, and a last row of 7 is added.
class Widened final : public kernel::Reshape {
 public:
  explicit Widened(const Shape& in) : in_(in) {}
  [[nodiscard]] Shape shape() const noexcept override { return {2 * in_.width, in_.height + 1}; }
  [[nodiscard]] Region place(const Region& region) const override {
    return {2 * region.x, region.y, 2 * region.width, region.height};
  }
  [[nodiscard]] std::vector<std::uint32_t> mask(std::span<const std::uint32_t> seen) const override {
    std::vector<std::uint32_t> made(shape().pixels(), 1);
    for (std::size_t i = 0; i < seen.size(); ++i) made[2 * i] = made[2 * i + 1] = seen[i];
    return made;
  }

 private:
  Shape in_;
};

class WidenPass final : public kernel::CpuPass {
 public:
  explicit WidenPass(const kernel::Setup& setup) : seen_(setup.shape.pixels()), made_(setup.made.pixels()) {}
  void begin(std::size_t /*items*/) noexcept override {}
  void run(unsigned /*worker*/, const kernel::Items& items, std::size_t first, std::size_t last) noexcept override {
    for (std::size_t i = 0; i < items.count; ++i) {
      const auto* in = reinterpret_cast<const std::uint16_t*>(items.in[i]);
      auto* out = reinterpret_cast<std::uint16_t*>(items.out[i]);
      for (std::size_t p = first; p < last; ++p) out[2 * p] = out[2 * p + 1] = in[p];
      if (last == seen_) std::fill(out + 2 * seen_, out + made_, std::uint16_t{7});
    }
  }
  void finish(std::size_t /*item*/, kernel::Finding& /*finding*/) noexcept override {}

 private:
  std::size_t seen_;
  std::size_t made_;
};

class Widen final : public kernel::Step, public kernel::Reshaping {
 public:
  [[nodiscard]] const kernel::Declaration& declaration() const noexcept override {
    static const kernel::Declaration declared{
        .name = "widen",
        .purpose = "for tests",
        .takes = {.kind = kernel::Port::Kind::pixels, .pixels = {PixelType::u16}},
        .makes = {{.kind = kernel::Port::Kind::pixels, .pixels = {PixelType::u16}}},
        .units = {"cpu", "cuda"}};
    return declared;
  }
  [[nodiscard]] kernel::PixelFormat fit(const Shape& /*shape*/, kernel::PixelFormat in) const override { return in; }
  [[nodiscard]] std::unique_ptr<const kernel::Reshape> reshape(const Shape& in) const override {
    return std::make_unique<Widened>(in);
  }
  [[nodiscard]] std::unique_ptr<kernel::CpuPass> on_cpu(const kernel::Setup& setup) const override {
    return std::make_unique<WidenPass>(setup);
  }
};

kernel::StepOf widen() { return {std::shared_ptr<const kernel::Step>(std::make_shared<Widen>())}; }

constexpr std::uint32_t kWidth = 129;
constexpr std::uint32_t kHeight = 101;
constexpr std::size_t kPixels = std::size_t{kWidth} * kHeight;

/// Raw words in a ring of one stack, and the same images widened.
struct Images {
  Images() : ring(kWidth, kHeight, 3, 1, memory::MemoryKind::pageable) {
    const auto config = jungfrau::synthetic::config(kWidth, kHeight, jungfrau::Output::photons, 1);
    const Widened widened({kWidth, kHeight});
    for (std::size_t i = 0; i < 3; ++i) {
      const auto frame = jungfrau::synthetic::frame(config, 0.03, i);
      std::memcpy(ring.all[0].images[i].raw, frame.data(), kPixels * 2);
      std::vector<std::uint16_t> wide(widened.shape().pixels(), 7);
      for (std::size_t p = 0; p < kPixels; ++p) wide[2 * p] = wide[2 * p + 1] = frame[p];
      wanted.push_back(wide);
    }
  }
  StackRing ring;
  std::vector<std::vector<std::uint16_t>> wanted;
};

TEST(Reshape, the_output_has_the_shape_of_the_last_step_that_changes_it) {
  const Steps steps = steps_of({.kernels = {widen(), kernel::csr::Config{2, 0.5}}}, {10, 4, PixelType::u16, 1, 1});
  EXPECT_EQ(steps.output.width, 20U);
  EXPECT_EQ(steps.output.height, 5U);
  EXPECT_EQ(steps.output.list_capacity, 50U);
  EXPECT_EQ(steps.setup(0, {10, 4, PixelType::u16, 1, 1}, 1, 1).made, (Shape{20, 5}));
  EXPECT_EQ(steps.setup(1, {10, 4, PixelType::u16, 1, 1}, 1, 1).shape, (Shape{20, 5}));
  const Steps none = steps_of({}, {10, 4, PixelType::u16, 1, 1});
  EXPECT_EQ(none.output.width, 10U);
  EXPECT_EQ(none.output.height, 4U);
}

TEST(Reshape, images_beyond_32_bit_are_refused_behind_the_step_too) {
  EXPECT_THROW(static_cast<void>(steps_of({.kernels = {widen()}}, {65536, 65535, PixelType::u16, 1, 1})), ConfigError);
}

TEST(Reshape, pixels_lists_and_counts_are_those_of_the_new_shape) {
  for (const unsigned threads : {1U, 2U, 5U}) {
    Images images;
    Doorbell bell;
    const auto unit =
        make_unit({.cores = {threads, -1}},
                  {.kernels = {widen(), kernel::bragg_count::Config{400, 0, 4'000'000}, kernel::csr::Config{400, 1.0}}},
                  images.ring.layout, bell);
    unit->submit(&images.ring.all[0]);
    while (unit->take() == nullptr) {
    }
    for (std::size_t i = 0; i < 3; ++i) {
      const StackImage& image = images.ring.all[0].images[i];
      ASSERT_EQ(image.decision, Decision::accepted);
      const auto& wanted = images.wanted[i];
      EXPECT_EQ(std::memcmp(image.pixels, wanted.data(), wanted.size() * 2), 0);
      std::vector<std::uint32_t> index;
      for (std::uint32_t p = 0; p < wanted.size(); ++p) {
        if (wanted[p] >= 400 && wanted[p] != 0xFFFF) index.push_back(p);
      }
      EXPECT_EQ(image.scalars[0].count(), index.size());
      EXPECT_EQ(std::vector<std::uint32_t>(image.sparse.index, image.sparse.index + image.sparse.count), index);
    }
  }
}

TEST(Reshape, steps_behind_it_may_make_pixels_of_the_new_shape) {
  Images images;
  Doorbell bell;
  const auto config = jungfrau::synthetic::config(2 * kWidth, kHeight + 1, jungfrau::Output::photons, 2);
  const auto unit = make_unit({.cores = {2, -1}}, {.kernels = {widen(), config, kernel::csr::Config{2, 1.0}}},
                              images.ring.layout, bell);
  unit->submit(&images.ring.all[0]);
  while (unit->take() == nullptr) {
  }
  for (std::size_t i = 0; i < 3; ++i) {
    const StackImage& image = images.ring.all[0].images[i];
    ASSERT_EQ(image.decision, Decision::accepted);
    const auto* pixels = reinterpret_cast<const std::int16_t*>(image.pixels);
    std::size_t listed = 0;
    for (std::size_t p = 0; p < images.wanted[i].size(); ++p) {
      ASSERT_EQ(pixels[p], jungfrau::photons_of(images.wanted[i][p], config, p)) << p;
      listed += pixels[p] >= 2 ? 1U : 0U;
    }
    EXPECT_EQ(image.sparse.count, listed);
  }
}

}  // namespace
}  // namespace rashpa::unit
