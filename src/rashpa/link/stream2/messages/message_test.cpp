// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/messages/message.hpp"

#include <gtest/gtest.h>
#include <lz4.h>
#include <zstd.h>

#include <algorithm>

#include "rashpa/core/time/leap_seconds.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/link/stream2/messages/unpack.hpp"
#include "rashpa/link/stream2/testing/testing.hpp"

namespace rashpa::link::stream2 {
namespace {

using testing::Bytes;
using testing::image_message;
using testing::ImageSays;

TEST(Stream2Message, an_image_has_its_series_number_time_and_pixels) {
  const Bytes bytes = image_message({.series = 3, .image = 41});
  Message message;
  ASSERT_TRUE(read_message(bytes, message));
  EXPECT_EQ(message.type, Type::image);
  EXPECT_EQ(message.series, 3U);
  EXPECT_EQ(message.image, 41U);
  EXPECT_EQ(message.timestamp_ns, tai_of_utc(1'735'689'600'000'000'000) + 500'000'000);
  EXPECT_EQ(message.words[0], 1'500'000U) << "real_time";
  ASSERT_EQ(message.pixels().size(), 1U);
  const Packed& one = message.pixels()[0];
  EXPECT_EQ(one.channel, "threshold_1");
  EXPECT_EQ(one.rows, 2U);
  EXPECT_EQ(one.columns, 4U);
  EXPECT_EQ(one.pixel, PixelType::u16);
  EXPECT_EQ(one.codec, Codec::none);
  EXPECT_EQ(one.bytes.size(), 16U);
}

TEST(Stream2Message, a_start_has_its_channels_and_may_say_that_it_is_cbor) {
  Bytes bytes = testing::start_message(9, {"threshold_1", "threshold_2"});
  Message message;
  ASSERT_TRUE(read_message(bytes, message));
  EXPECT_EQ(message.type, Type::start);
  ASSERT_EQ(message.names().size(), 2U);
  EXPECT_EQ(message.names()[1], "threshold_2");
  const std::byte described[] = {std::byte{0xD9}, std::byte{0xD9}, std::byte{0xF7}};
  bytes.insert(bytes.begin(), described, described + 3);
  EXPECT_TRUE(read_message(bytes, message));
}

TEST(Stream2Message, refuses_what_lies_of_its_sizes_types_and_packing) {
  constexpr std::uint64_t kHuge = ~std::uint64_t{0};
  const std::vector<ImageSays> bad{
      {.rows = 3},
      {.rows = 0},
      {.rows = kHuge, .columns = kHuge},
      {.rows = 1U << 14, .columns = 1U << 14, .packing = "bslz4"},
      {.dtype = 65},
      {.dtype = 86},
      {.packing = "gzip"},
      {.packing = "bslz4", .element = 3},
      {.packing = "bslz4", .element = kHuge},
      {.packing = "bslz4", .data = {}},
      {.channels = {}},
      {.channels = std::vector<std::string>(kMostChannels + 1, "one")},
  };
  Message message;
  for (std::size_t i = 0; i < bad.size(); ++i) EXPECT_FALSE(read_message(image_message(bad[i]), message)) << i;
}

TEST(Stream2Message, refuses_every_message_that_ends_too_soon_or_too_late) {
  Message message;
  for (const Bytes& whole : {image_message({}), testing::start_message(1), testing::end_message(1)}) {
    ASSERT_TRUE(read_message(whole, message));
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_FALSE(read_message(std::span(whole).first(size), message)) << size;
    }
    Bytes longer = whole;
    longer.push_back(std::byte{0});
    EXPECT_FALSE(read_message(longer, message));
  }
}

class Stream2Unpack : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kRows = 33, kColumns = 70;
  Stream2Unpack() : pixels_(std::size_t{kRows} * kColumns * 2) {
    for (std::size_t i = 0; i < pixels_.size(); ++i) pixels_[i] = static_cast<std::byte>(i % 2 == 0 ? i / 7 : 0);
    place_.lines = kRows;
    place_.line_bytes = kColumns * 2;
    place_.pitch = kColumns * 2;
  }
  [[nodiscard]] Packed packed(Codec codec, const Bytes& bytes) const {
    return {.channel = {}, .rows = kRows, .columns = kColumns, .codec = codec, .element = 2, .bytes = bytes};
  }
  Bytes pixels_;
  Placement place_{};
  Scratch scratch_;
};

TEST_F(Stream2Unpack, gives_the_pixels_of_each_packing_back) {
  namespace bslz4 = kernel::bitshuffle_lz4;
  Bytes shuffled(bslz4::compressed_bound(pixels_.size(), 2));
  shuffled.resize(bslz4::Compressor(2).compress(pixels_, shuffled));
  Bytes zstd(ZSTD_compressBound(pixels_.size()));
  zstd.resize(ZSTD_compress(zstd.data(), zstd.size(), pixels_.data(), pixels_.size(), 1));
  Bytes block(static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(pixels_.size()))));
  block.resize(static_cast<std::size_t>(
      LZ4_compress_default(reinterpret_cast<const char*>(pixels_.data()), reinterpret_cast<char*>(block.data()),
                           static_cast<int>(pixels_.size()), static_cast<int>(block.size()))));
  Bytes chunk(12);
  chunk[6] = static_cast<std::byte>(pixels_.size() >> 8);
  chunk[7] = chunk[11] = static_cast<std::byte>(pixels_.size());
  chunk[10] = chunk[6];
  for (int i = 3; i >= 0; --i) chunk.push_back(static_cast<std::byte>(block.size() >> (8 * i)));
  chunk.insert(chunk.end(), block.begin(), block.end());
  const std::vector<std::pair<Codec, Bytes>> all{{Codec::none, pixels_},
                                                 {Codec::bslz4, shuffled},
                                                 {Codec::zstd, zstd},
                                                 {Codec::lz4, chunk},
                                                 {Codec::lz4_block, block}};
  for (const auto& [codec, bytes] : all) {
    Bytes out(pixels_.size());
    EXPECT_TRUE(unpack(packed(codec, bytes), place_, out.data(), scratch_)) << static_cast<int>(codec);
    EXPECT_EQ(out, pixels_) << static_cast<int>(codec);
    Bytes shorter(bytes.begin(), bytes.end() - 1);
    EXPECT_FALSE(unpack(packed(codec, shorter), place_, out.data(), scratch_)) << static_cast<int>(codec);
    EXPECT_FALSE(unpack(packed(codec, {}), place_, out.data(), scratch_)) << static_cast<int>(codec);
  }
}

TEST_F(Stream2Unpack, leaves_gaps_between_lines_alone) {
  place_.pitch = place_.line_bytes + 10;
  Bytes out(place_.pitch * kRows, std::byte{0xEE});
  ASSERT_TRUE(unpack(packed(Codec::none, pixels_), place_, out.data(), scratch_));
  for (std::size_t row = 0; row < kRows; ++row) {
    EXPECT_TRUE(std::equal(out.begin() + static_cast<std::ptrdiff_t>(row * place_.pitch),
                           out.begin() + static_cast<std::ptrdiff_t>(row * place_.pitch + place_.line_bytes),
                           pixels_.begin() + static_cast<std::ptrdiff_t>(row * place_.line_bytes)));
    EXPECT_EQ(out[row * place_.pitch + place_.line_bytes + 9], std::byte{0xEE});
  }
}

TEST_F(Stream2Unpack, a_bomb_writes_nothing_behind_the_image) {
  Bytes large(1U << 20, std::byte{0});
  Bytes bomb(ZSTD_compressBound(large.size()));
  bomb.resize(ZSTD_compress(bomb.data(), bomb.size(), large.data(), large.size(), 1));
  Bytes out(pixels_.size() + 64, std::byte{0xEE});
  EXPECT_FALSE(unpack(packed(Codec::zstd, bomb), place_, out.data(), scratch_));
  EXPECT_TRUE(std::all_of(out.end() - 64, out.end(), [](std::byte byte) { return byte == std::byte{0xEE}; }));
}

}  // namespace
}  // namespace rashpa::link::stream2
