// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/unpack/unpack.hpp"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/target_testing.hpp"

namespace rashpa::kernel::unpack {
namespace {

constexpr Bits kAll[] = {Bits::one, Bits::six, Bits::twelve, Bits::twenty_four};

std::vector<std::byte> random_bytes(std::size_t n, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(n);
  for (auto& one : bytes) one = static_cast<std::byte>(random());
  return bytes;
}

TEST(Unpack, bits_lie_as_documented) {
  // counters 0x123 and 0xABC in three bytes, the first one lowest
  const std::byte twelve[] = {std::byte{0x23}, std::byte{0xC1}, std::byte{0xAB}};
  std::vector<std::byte> in(twelve, twelve + 3);
  in.resize(12);
  std::vector<std::uint16_t> words(8);
  unpack_reference(Bits::twelve, in.data(), reinterpret_cast<std::byte*>(words.data()), 8);
  EXPECT_EQ(words[0], 0x123);
  EXPECT_EQ(words[1], 0xABC);
  std::vector<std::uint32_t> long_words(8);
  in.resize(24);
  unpack_reference(Bits::twenty_four, in.data(), reinterpret_cast<std::byte*>(long_words.data()), 8);
  EXPECT_EQ(long_words[0], 0xABC123U);
  std::vector<std::uint8_t> flags(8), small(8);
  unpack_reference(Bits::one, in.data(), reinterpret_cast<std::byte*>(flags.data()), 8);
  EXPECT_EQ(flags, (std::vector<std::uint8_t>{1, 1, 0, 0, 0, 1, 0, 0}));
  unpack_reference(Bits::six, in.data(), reinterpret_cast<std::byte*>(small.data()), 8);
  EXPECT_EQ(small[0], 0xABC123 & 63);
  EXPECT_EQ(small[1], 0xABC123 >> 6 & 63);
  EXPECT_EQ(small[3], 0xABC123 >> 18);
}

TEST(Unpack, vectors_of_every_kind_are_as_the_reference_and_stay_inside) {
  constexpr std::byte kGuard{0x5A};
  for (const Bits bits : kAll) {
    for (const std::size_t pixels : {8U, 16U, 24U, 40U, 64U, 72U, 128U, 200U, 1536U, 3080U}) {
      const auto in = random_bytes(pixels / 8 * count_of(bits), static_cast<std::uint32_t>(pixels));
      const std::size_t bytes = pixels * pixel_bytes(type_of(bits));
      std::vector<std::byte> truth(bytes);
      unpack_reference(bits, in.data(), truth.data(), pixels);
      on_every_target([&] {
        for (const std::size_t shift : {0U, 1U, 64U}) {
          std::vector<std::byte> memory(bytes + 192, kGuard);
          std::byte* out = memory.data() + 64 - reinterpret_cast<std::uintptr_t>(memory.data()) % 64 + shift;
          unpack(bits, in.data(), out, pixels);
          ASSERT_TRUE(std::equal(truth.begin(), truth.end(), out))
              << count_of(bits) << " bits, " << pixels << " pixels";
          for (const std::byte& one : memory) {
            const bool inside = &one >= out && &one < out + bytes;
            ASSERT_TRUE(inside || one == kGuard);
          }
        }
      });
    }
  }
}

/// Runs the pass as a unit does: blocks of bytes of several packed images.
TEST(Unpack, modules_go_to_their_places_and_gaps_are_masked) {
  const Config config{Bits::twelve, 40, 30, 2, 2, 3, 5};
  const Shape packed = config.packed(), made = config.made();
  EXPECT_EQ(packed, (Shape{120, 60}));
  EXPECT_EQ(made, (Shape{83, 65}));
  const auto step = step_of(config);
  EXPECT_EQ(step->fit(packed, delivered(PixelType::u8)), (PixelFormat{PixelType::u16, Masked::maximum, 4095}));
  const auto pass =
      step->on_cpu({.shape = packed, .made = made, .in = delivered(PixelType::u8), .stack = 2, .places = 2});
  const std::vector<std::vector<std::byte>> images{random_bytes(packed.pixels(), 1), random_bytes(packed.pixels(), 2)};
  std::vector<std::vector<std::uint16_t>> out(2, std::vector<std::uint16_t>(made.pixels(), 7));
  const std::byte* in[] = {images[0].data(), images[1].data()};
  std::byte* to[] = {reinterpret_cast<std::byte*>(out[0].data()), reinterpret_cast<std::byte*>(out[1].data())};
  const Items items{0, 2, in, to, nullptr, nullptr};
  pass->begin(2);
  pass->run(0, items, 4096, packed.pixels());
  pass->run(0, items, 0, 4096);
  for (std::size_t i = 0; i < 2; ++i) {
    std::vector<std::uint16_t> line(40);
    std::size_t gaps = 0;
    for (std::uint32_t y = 0; y < made.height; ++y) {
      for (std::uint32_t x = 0; x < made.width; ++x) {
        const std::uint16_t found = out[i][std::size_t{y} * made.width + x];
        const bool gap = (x >= 40 && x < 43) || (y >= 30 && y < 35);
        gaps += gap ? 1U : 0U;
        const std::uint32_t module = x < 40 ? 0 : 1;
        const std::byte* from = in[i] + (y < 30 ? y : y - 5) * std::size_t{packed.width} + std::size_t{module} * 60;
        if (!gap) unpack_reference(Bits::twelve, from, reinterpret_cast<std::byte*>(line.data()), 40);
        ASSERT_EQ(found, gap ? 65535 : line[x - module * 43]) << x << ", " << y;
      }
    }
    EXPECT_EQ(gaps, 3 * 65 + 5 * 83 - 15U);
  }
}

TEST(Unpack, masks_and_regions_follow) {
  const Config config{Bits::twelve, 40, 30, 2, 2, 3, 5};
  const auto places = step_of(config)->reshape(config.packed());
  ASSERT_NE(places, nullptr);
  EXPECT_EQ(places->shape(), config.made());
  EXPECT_EQ(places->place({0, 0, 120, 60}), (Region{0, 0, 83, 65}));
  EXPECT_EQ(places->place({60, 30, 60, 1}), (Region{43, 35, 40, 1})) << "the first line of the last module";
  EXPECT_EQ(places->place({1, 2, 1, 1}), (Region{0, 2, 2, 1})) << "a byte that two pixels share";
  std::vector<std::uint32_t> seen(config.packed().pixels());
  seen[60 + 3] = 2;  // module 1, line 0: pixel 2
  const auto mask = places->mask(seen);
  ASSERT_EQ(mask.size(), config.made().pixels());
  EXPECT_EQ(mask[43 + 2], 2U);
  EXPECT_EQ(mask[43 + 1], 0U);
  EXPECT_EQ(mask[43 + 3], 0U);
  EXPECT_EQ(mask[41], 1U);
  EXPECT_EQ(mask[std::size_t{32} * 83], 1U);
}

TEST(Unpack, impossible_modules_and_images_are_refused) {
  EXPECT_THROW(step_of(Config{.module_width = 1537}), ConfigError);
  EXPECT_THROW(step_of(Config{.modules_down = 0}), ConfigError);
  const auto step = step_of(Config{.bits = Bits::six});
  EXPECT_NO_THROW(static_cast<void>(step->fit({1152, 1536}, delivered(PixelType::u8))));
  EXPECT_THROW(static_cast<void>(step->fit({1536, 1536}, delivered(PixelType::u8))), ConfigError);
}

}  // namespace
}  // namespace rashpa::kernel::unpack
