// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/assembly/assembly.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <numeric>

#include "rashpa/core/error.hpp"
#include "rashpa/core/image/fill.hpp"
#include "rashpa/core/testing/target_testing.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"

namespace rashpa::kernel::jungfrau {
namespace {

constexpr Shape kModule{1024, 512};

ModulePart whole(std::uint32_t module, std::uint32_t x, std::uint32_t y) {
  return {module, {0, 0, kModule.width, kModule.height}, x, y};
}

TEST(Assembly, a_module_becomes_514_by_1030) {
  const Assembly one(kModule, kModule, std::vector{whole(0, 0, 0)}, Borders::shared);
  EXPECT_EQ(one.shape(), (Shape{1030, 514}));
  EXPECT_TRUE(one.gaps().empty());
  // columns 255 | 256 cover two pixels of the image each side, 1023 only one
  EXPECT_EQ(one.place({254, 0, 1, 1}), (Region{254, 0, 1, 1}));
  EXPECT_EQ(one.place({255, 0, 1, 1}), (Region{255, 0, 2, 1}));
  EXPECT_EQ(one.place({256, 0, 1, 1}), (Region{257, 0, 2, 1}));
  EXPECT_EQ(one.place({257, 0, 1, 1}), (Region{259, 0, 1, 1}));
  EXPECT_EQ(one.place({1023, 511, 1, 1}), (Region{1029, 513, 1, 1}));
  EXPECT_EQ(one.place({255, 255, 1, 1}), (Region{255, 255, 2, 2}));
  EXPECT_EQ(one.place({0, 256, 1024, 1}), (Region{0, 257, 1030, 2}));
  EXPECT_EQ(one.place({0, 0, 1024, 512}), (Region{0, 0, 1030, 514}));
}

TEST(Assembly, counts_are_shared_and_none_is_lost) {
  const Assembly one(kModule, kModule, std::vector{whole(0, 0, 0)}, Borders::shared);
  std::vector<std::int16_t> converted(kModule.pixels());
  std::vector<std::int16_t> out(one.shape().pixels(), -1);
  synthetic::Random random(1);
  for (auto& pixel : converted) pixel = static_cast<std::int16_t>(random.below(40)) - 5;
  assemble_reference(one, Output::photons, converted.data(), out.data());
  EXPECT_EQ(std::accumulate(converted.begin(), converted.end(), 0LL), std::accumulate(out.begin(), out.end(), 0LL));
  const auto pair = [&](std::size_t y, std::size_t x) { return out[y * 1030 + x]; };
  EXPECT_EQ(pair(3, 255) + pair(3, 256), converted[std::size_t{3} * 1024 + 255]);
  EXPECT_LE(std::abs(pair(3, 255) - pair(3, 256)), 1);
  EXPECT_EQ(pair(3, 257) + pair(3, 258), converted[std::size_t{3} * 1024 + 256]);
  EXPECT_EQ(pair(255, 7) + pair(256, 7), converted[std::size_t{255} * 1024 + 7]);
  EXPECT_EQ(pair(257, 7) + pair(258, 7), converted[std::size_t{256} * 1024 + 7]);
  EXPECT_EQ(pair(255, 255) + pair(255, 256) + pair(256, 255) + pair(256, 256),
            converted[std::size_t{255} * 1024 + 255]);
  EXPECT_EQ(pair(513, 1029), converted.back());
}

TEST(Assembly, codes_stay_codes_in_all_pixels_that_a_pixel_covers) {
  const Assembly one(kModule, kModule, std::vector{whole(0, 0, 0)}, Borders::shared);
  for (const std::int16_t code : {kMaskedPhotons, kSaturatedPhotons}) {
    std::vector<std::int16_t> converted(kModule.pixels(), 1);
    converted[std::size_t{255} * 1024 + 511] = code;
    std::vector<std::int16_t> out(one.shape().pixels());
    assemble_reference(one, Output::photons, converted.data(), out.data());
    for (const std::size_t y : {255U, 256U}) {
      for (const std::size_t x : {513U, 514U}) EXPECT_EQ(out[y * 1030 + x], code);
    }
  }
}

TEST(Assembly, the_mask_follows_and_names_pixels_that_are_shares) {
  const std::vector parts{whole(0, 0, 0), whole(1, 1038, 550)};
  std::vector<std::uint32_t> seen(std::size_t{2070} * 1070, 1);
  for (std::size_t y = 0; y < 512; ++y) std::fill_n(seen.begin() + static_cast<std::ptrdiff_t>(y * 2070), 1024, 0U);
  seen[std::size_t{100} * 2070 + 255] = 2;
  for (const Borders borders : {Borders::shared, Borders::masked}) {
    const Assembly two({2070, 1070}, kModule, parts, borders);
    EXPECT_EQ(two.shape(), (Shape{2070, 1070}));
    const auto mask = two.mask(seen);
    const std::uint32_t bit = borders == Borders::shared ? kVirtual : kUserMasked;
    EXPECT_EQ(mask[0], 0U);
    EXPECT_EQ(mask[256], bit);
    EXPECT_EQ(mask[std::size_t{100} * 2070 + 255], bit | 2U);
    EXPECT_EQ(mask[std::size_t{100} * 2070 + 256], bit | 2U);
    EXPECT_EQ(mask[std::size_t{256} * 2070], bit);
    EXPECT_EQ(mask[1030], kGapBetweenModules);
    EXPECT_EQ(mask[std::size_t{514} * 2070], kGapBetweenModules);
  }
}

std::string refusal(const Shape& seen, const std::vector<ModulePart>& parts) {
  try {
    const Assembly assembly(seen, kModule, parts, Borders::shared);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Assembly, modules_that_would_lie_on_each_other_are_refused_with_what_to_do) {
  EXPECT_EQ(
      refusal({1024, 1024}, {whole(0, 0, 0), whole(1, 0, 512)}),
      "kernel jungfrau: borders: module 1 at (0, 512) would lie on module 0 at (0, 0), which is 1030 × 514 pixels "
      "when it is assembled; give it x ≥ 1030 or y ≥ 514 in [[detector.module]]");
  EXPECT_EQ(refusal({1024, 1026}, {whole(0, 0, 0), whole(1, 0, 514)}), "accepted");
  EXPECT_NE(refusal(kModule, {}), "accepted");
  EXPECT_NE(refusal({1024, 300}, {whole(0, 0, 0)}), "accepted");
  EXPECT_NE(refusal({1024, 1024}, {{0, {0, 0, 1024, 256}, 0, 0}, {0, {0, 256, 1024, 256}, 0, 300}}), "accepted");
}

/// The fast kernels on a stack, against the plain references, on every instruction set.
void expect_equal(const Assembly& assembly, Output output, std::size_t images, std::uint64_t seed) {
  const Shape seen = assembly.seen();
  const Config config = synthetic::config(seen.width, seen.height, output, seed, 0.01);
  const Prepared prepared(config);
  const std::size_t bytes = output == Output::kev ? 4 : 2;
  const std::size_t out_bytes = assembly.shape().pixels() * bytes;
  std::vector<std::vector<std::uint16_t>> frames;
  std::vector<std::vector<std::byte>> wanted;
  std::vector<const std::uint16_t*> raw;
  std::vector<Counts> wanted_counts(images);
  for (std::size_t i = 0; i < images; ++i) {
    frames.push_back(synthetic::frame(config, 0.02, seed + i));
    for (std::size_t k = 0; k < 50; ++k) frames[i][(k * 7919) % frames[i].size()] = k % 2 == 0 ? 0xFFFF : 0xC000;
    std::vector<std::byte> converted(seen.pixels() * bytes);
    const std::uint16_t* in = frames[i].data();
    void* out = converted.data();
    convert_reference(config, {1, &in, &out, nullptr, &wanted_counts[i]}, {}, 0, seen.pixels());
    wanted.emplace_back(out_bytes);
    assemble_reference(assembly, output, converted.data(), wanted[i].data());
  }
  raw.reserve(images);
  for (const auto& frame : frames) raw.push_back(frame.data());
  on_every_target([&] {
    for (const std::size_t offset : {0U, 4U}) {
      Assembler assembler(assembly, output, 2);
      std::vector<std::vector<std::byte>> memory(images, std::vector<std::byte>(out_bytes + 256, std::byte{0xEE}));
      std::vector<void*> out;
      for (auto& room : memory) {
        const auto address = reinterpret_cast<std::uintptr_t>(room.data());
        out.push_back(room.data() + (64 - address % 64) + offset);
      }
      std::vector<Counts> counts(images);
      const Images all{images, raw.data(), out.data(), nullptr, counts.data()};
      for (std::size_t first = 0; first < seen.pixels(); first += 8192) {
        assembler.convert(first / 8192 % 2, prepared, all, first, std::min(first + 8192, seen.pixels()));
      }
      for (std::size_t i = 0; i < images; ++i) {
        EXPECT_EQ(std::memcmp(out[i], wanted[i].data(), out_bytes), 0) << "image " << i;
        const auto* begin = static_cast<const std::byte*>(out[i]);
        for (const std::byte& b : memory[i]) {
          if (&b < begin || &b >= begin + out_bytes) {
            ASSERT_EQ(b, std::byte{0xEE}) << "written outside the image";
          }
        }
      }
      EXPECT_EQ(counts, wanted_counts);
    }
  });
}

TEST(Assembly, fast_kernels_equal_the_reference) {
  for (const Borders borders : {Borders::shared, Borders::masked}) {
    for (const Output output : {Output::photons, Output::kev}) {
      expect_equal(Assembly(kModule, kModule, std::vector{whole(0, 0, 0)}, borders), output, 3, 7);
    }
  }
}

TEST(Assembly, several_modules_bands_and_parts_of_modules_equal_the_reference) {
  // two modules beside each other in bands, a third below them, and gaps; an image whose rows are no multiple of 64
  const std::vector<ModulePart> parts{{0, {0, 0, 1024, 200}, 0, 0},
                                      {0, {0, 200, 1024, 312}, 0, 200},
                                      {1, {0, 0, 1024, 512}, 1038, 10},
                                      {2, {300, 100, 500, 300}, 400, 560}};
  const Assembly assembly({2070, 870}, kModule, parts, Borders::shared);
  EXPECT_EQ(assembly.shape(), (Shape{2070, 870}));
  expect_equal(assembly, Output::photons, 18, 3);
  expect_equal(Assembly({500, 300}, kModule, std::vector<ModulePart>{{5, {300, 100, 500, 300}, 0, 0}}, Borders::shared),
               Output::kev, 2, 4);
}

}  // namespace
}  // namespace rashpa::kernel::jungfrau
