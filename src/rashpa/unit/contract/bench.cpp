// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/contract/bench.hpp"

#include <chrono>
#include <cstring>
#include <limits>
#include <random>
#include <type_traits>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::unit::contract {

namespace {

using kernel::PixelFormat;

constexpr PixelFormat kPhotons{PixelType::i16, kernel::Masked::minimum};

/// Images that a detector delivers as photons: some masked, spots in every second one.
template <typename T>
std::vector<T> delivered_photons(std::uint64_t seed) {
  std::mt19937 random(static_cast<std::uint32_t>(seed));
  std::vector<T> image(kPixels);
  for (T& pixel : image) {
    const auto dice = random();
    pixel = static_cast<T>(dice % 5 == 0 ? 1 : 0);
    if (seed % 2 == 0 && dice % 64 == 1) pixel = static_cast<T>(10 + dice / 64 % 100);
    if (dice % 1000 == 2) pixel = std::is_signed_v<T> ? static_cast<T>(-1) : std::numeric_limits<T>::max();
  }
  return image;
}

}  // namespace

Pipeline Recipe::pipeline() const {
  Pipeline made;
  if (conversion) made.kernels.emplace_back(*conversion);
  if (veto) made.kernels.emplace_back(*veto);
  if (list) made.kernels.emplace_back(*list);
  made.partial = partial;
  made.keep_darks = keep_darks;
  made.delivery = delivery;
  made.passes = passes;
  return made;
}

jungfrau::Config calibration(jungfrau::Output output) {
  return jungfrau::synthetic::config(kWidth, kHeight, output, 1, 0.01);
}

Recipe vetoing(std::uint32_t min_pixels) {
  return {.conversion = calibration(jungfrau::Output::photons), .veto = bragg_count::Config{10, min_pixels, 100'000}};
}
Recipe full(std::uint32_t min_pixels, double capacity) {
  Recipe recipe = vetoing(min_pixels);
  recipe.list = csr::Config{2, capacity};
  return recipe;
}

Bench::Bench(const Contestant& who, Recipe recipe_in, std::uint32_t k, std::uint32_t stacks)
    : recipe(std::move(recipe_in)), ring(kWidth, kHeight, k, stacks, memory::MemoryKind::pageable, recipe.input) {
  const auto config = calibration(jungfrau::Output::photons);
  std::uint64_t n = 0;
  for (Stack& stack : ring.all) {
    for (StackImage& image : stack.view()) {
      if (recipe.conversion) {
        const auto frame = jungfrau::synthetic::frame(config, n % 2 == 0 ? 0.03 : 0.0, n);
        std::memcpy(image.raw, frame.data(), kPixels * 2);
      } else {
        kernel::with_type(recipe.input, [&]<typename T>(T) {
          const auto frame = delivered_photons<T>(n);
          std::memcpy(image.raw, frame.data(), kPixels * sizeof(T));
        });
      }
      ++n;
    }
  }
  const bool kev = recipe.conversion && recipe.conversion->output == jungfrau::Output::kev;
  if ((who.resident && !recipe.fits_resident()) || (who.photons_only && kev)) {
    EXPECT_THROW(make_unit(who.choice, recipe.pipeline(), ring.layout, bell), ConfigError);
  } else {
    ring.layout.largest_count = recipe.largest_count;
    unit = make_unit(who.choice, recipe.pipeline(), ring.layout, bell);
  }
}

Stack* Bench::wait() {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (std::chrono::steady_clock::now() < deadline) {
    const std::uint32_t seen = bell.count();
    if (Stack* stack = unit->take()) return stack;
    bell.wait(seen, std::chrono::milliseconds(1));
  }
  return nullptr;
}

void Bench::run_all() {
  for (Stack& stack : ring.all) unit->submit(&stack);
  for (Stack& stack : ring.all) ASSERT_EQ(wait(), &stack) << "results come back in order; " << unit->error();
  EXPECT_EQ(unit->error(), "");
}

std::uint64_t Bench::scalar(const StackImage& image, const char* name) const {
  const std::size_t column = unit->output().results.column(name);
  EXPECT_LT(column, unit->output().results.columns.size()) << name;
  return image.scalars[column].count();
}

std::string Bench::reason(const StackImage& image) const {
  return unit->output().results.reasons.names()[static_cast<std::size_t>(image.reason)];
}

void Bench::expect_all_as_references() const {
  for (const Stack& stack : ring.all) {
    for (const StackImage& image : stack.view()) {
      SCOPED_TRACE(testing::Message() << "stack " << stack.slot << " image " << &image - stack.images.data());
      expect_as_reference(image);
    }
  }
}

void Bench::expect_as_reference(const StackImage& image) const {
  EXPECT_TRUE(image.measured);
  PixelFormat format = kernel::delivered(recipe.input, recipe.largest_count);
  const std::byte* pixels = image.raw;
  std::vector<std::byte> converted(kPixels * sizeof(float));
  if (recipe.conversion) {
    format = recipe.conversion->output == jungfrau::Output::kev
                 ? PixelFormat{PixelType::f32, kernel::Masked::not_a_number}
                 : kPhotons;
    const auto* raw = reinterpret_cast<const std::uint16_t*>(image.raw);
    void* out = converted.data();
    jungfrau::Counts counts{};
    jungfrau::convert_reference(*recipe.conversion, {1, &raw, &out, nullptr, &counts}, {}, 0, kPixels);
    EXPECT_EQ(scalar(image, "masked_pixels"), counts.masked);
    EXPECT_EQ(scalar(image, "saturated_pixels"), counts.saturated);
    pixels = converted.data();
  }
  if (recipe.veto) {
    const std::uint32_t bright = bragg_count::count_reference(pixels, format, kPixels, recipe.veto->threshold);
    EXPECT_EQ(scalar(image, "bright_pixels"), bright);
    const bool few = bright < recipe.veto->min_pixels;
    const bool many = bright > recipe.veto->max_pixels;
    EXPECT_EQ(reason(image), few ? "too_few" : many ? "too_many" : "none");
    ASSERT_EQ(image.decision, few || many ? Decision::vetoed : Decision::accepted);
  }
  if (image.decision != Decision::accepted) {
    EXPECT_EQ(image.pixels, nullptr);
    EXPECT_EQ(image.sparse.index, nullptr);
    EXPECT_TRUE(image.chunk.empty());
    return;
  }
  const std::size_t pixel_size = pixel_bytes(format.type);
  EXPECT_EQ(image.chunk.empty(), !unit->output().chunked);
  if (recipe.list && recipe.delivery != Delivery::everything) {
    EXPECT_EQ(image.pixels, nullptr);
  } else if (unit->output().chunked) {
    EXPECT_EQ(image.pixels, nullptr);
    std::vector<std::byte> unpacked(kPixels * pixel_size);
    ASSERT_TRUE(kernel::bitshuffle_lz4::decompress(image.chunk, pixel_size, unpacked));
    EXPECT_EQ(std::memcmp(unpacked.data(), pixels, unpacked.size()), 0);
  } else {
    ASSERT_NE(image.pixels, nullptr) << "pixels are delivered beside a list, too";
    EXPECT_EQ(std::memcmp(image.pixels, pixels, kPixels * pixel_size), 0);
    EXPECT_EQ(image.pixels == image.raw, !recipe.conversion);
  }
  if (!recipe.list) return;
  std::vector<std::uint32_t> index(kPixels);
  std::vector<std::byte> value(kPixels * pixel_size);
  const std::size_t count =
      csr::compact_reference(pixels, format, kPixels, recipe.list->threshold, {index.data(), value.data(), kPixels});
  ASSERT_EQ(image.sparse.count, count);
  EXPECT_GT(count, 0U);
  EXPECT_EQ(std::memcmp(image.sparse.index, index.data(), count * sizeof(std::uint32_t)), 0);
  EXPECT_EQ(std::memcmp(image.sparse.value, value.data(), count * pixel_size), 0);
}

}  // namespace rashpa::unit::contract
