// SPDX-License-Identifier: Apache-2.0
/// Delivers out of the memory of a card that is a directory of plain files; lists of a whole card are in sim/card.
#include "rashpa/unit/fpga/card_delivery.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/card/card.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/testing/temporary_folder.hpp"

namespace rashpa::unit::fpga {
namespace {

namespace fs = std::filesystem;
namespace registers = card::registers;

constexpr std::size_t kPixels = 3000;

class CardDeliveryTest : public testing::Test {
 protected:
  void SetUp() override {
    std::vector<char> page(registers::kPageBytes);
    const auto put = [&](std::uint32_t address, std::uint32_t value) {
      std::memcpy(page.data() + address, &value, sizeof value);
    };
    put(registers::identity::kMagic, 0x43505352);
    put(registers::identity::kVersion, 1);
    put(registers::identity::kMemoryBytes, 1 << 20);
    std::ofstream(node("user"), std::ios::binary).write(page.data(), static_cast<std::streamsize>(page.size()));
    std::ofstream(node("h2c_0")).close();
    fs::resize_file(node("h2c_0"), 1 << 20);
    fs::create_hard_link(node("h2c_0"), node("c2h_0"));
    ASSERT_EQ(mkfifo(node("events_0").c_str(), 0600), 0);
    card.emplace(folder.path());
    std::vector<std::int16_t> photons(kPixels);
    for (std::size_t i = 0; i < kPixels; ++i) photons[i] = static_cast<std::int16_t>(i);
    card->to_card(7 * card::kCardPage, std::as_bytes(std::span(photons)));
  }
  [[nodiscard]] fs::path node(const std::string& name) const { return folder.path() / ("xdma0_" + name); }
  /// Photons from page 7, a list from page 20.
  static CardDelivery::Source source(std::uint32_t listed, std::uint32_t beats) {
    return {.photons = 7, .list = 20, .counts = {.listed = listed, .list_beats = beats}};
  }
  const TemporaryFolder folder;
  std::optional<card::Card> card;
};

std::int16_t pixel_of(const StackImage& image, std::size_t at) {
  std::int16_t pixel = 0;
  std::memcpy(&pixel, image.pixels + at * sizeof pixel, sizeof pixel);
  return pixel;
}

TEST_F(CardDeliveryTest, photons_go_to_the_place_of_their_image) {
  CardDelivery delivery({.pixels = kPixels, .images = 4});
  StackImage one;
  StackImage other;
  delivery.fetch(*card, source(0, 0), 1, one);
  delivery.fetch(*card, {.photons = 8}, 2, other);
  EXPECT_EQ(pixel_of(one, kPixels - 1), kPixels - 1);
  EXPECT_EQ(pixel_of(other, 0), 2048) << "a page further";
  EXPECT_EQ(pixel_of(one, 0), 0) << "it stays what it was";
  EXPECT_EQ(one.sparse.index, nullptr) << "there are no lists";
}

TEST_F(CardDeliveryTest, where_lists_leave_alone_no_photons_do) {
  CardDelivery delivery({.pixels = kPixels, .images = 1, .photons = false, .list_capacity = 40, .list_pages = 1});
  StackImage image;
  delivery.fetch(*card, source(0, 0), 0, image);
  EXPECT_EQ(image.pixels, nullptr);
  EXPECT_NE(image.sparse.index, nullptr);
  EXPECT_EQ(image.sparse.count, 0U);
}

TEST_F(CardDeliveryTest, counts_that_contradict_the_list_are_an_error) {
  CardDelivery delivery({.pixels = kPixels, .images = 1, .list_capacity = 40, .list_pages = 1});
  StackImage image;
  EXPECT_THROW(delivery.fetch(*card, source(3, 0), 0, image), StateError) << "entries without beats";
  EXPECT_THROW(delivery.fetch(*card, source(3, 1), 0, image), StateError) << "a beat without entries";
  EXPECT_THROW(delivery.fetch(*card, source(3, 65), 0, image), StateError) << "more beats than a page has";
  EXPECT_THROW(delivery.fetch(*card, source(4000, 64), 0, image), StateError) << "more entries than there is room for";
}

TEST_F(CardDeliveryTest, memory_that_does_not_answer_is_an_error) {
  CardDelivery delivery({.pixels = kPixels, .images = 1});
  StackImage image;
  EXPECT_THROW(delivery.fetch(*card, {.photons = 1000}, 0, image), ConfigError);
}

}  // namespace
}  // namespace rashpa::unit::fpga
