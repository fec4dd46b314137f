// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/sls/packet_map.hpp"

#include <gtest/gtest.h>

#include <tuple>
#include <vector>

#include "rashpa/core/error.hpp"

namespace rashpa::link::sls {
namespace {

Options eiger(std::uint32_t bits, std::uint32_t gigabits) {
  Options options;
  options.detector = Detector::eiger;
  options.bits = bits;
  options.gigabits = gigabits;
  return options;
}

struct Byte {
  std::uint32_t tile;
  std::uint32_t line;
  std::uint32_t column;
  friend bool operator==(const Byte&, const Byte&) = default;
};

/// Returns where a map has a byte of a packet.
Byte place_of(const PacketMap& map, const Tiles& tiles, std::uint32_t packet, std::uint32_t at) {
  for (const Piece& piece : map.pieces(packet)) {
    if (at < piece.at || at >= piece.at + piece.bytes) continue;
    const std::uint32_t linear = piece.line * tiles.line_bytes + piece.column + at - piece.at;
    return {piece.tile, linear / tiles.line_bytes, linear % tiles.line_bytes};
  }
  ADD_FAILURE() << "byte " << at << " of packet " << packet << " has no place";
  return {};
}

TEST(SlsPacketMap, eiger_pixels_lie_where_the_test_vectors_say) {
  const auto whole = [](const Options& options, bool flip) {
    const PortShape shape = shape_of(options, 0);
    return std::pair{PacketMap(shape, tiles_of(shape, shape.row_bytes, shape.rows), true, flip),
                     tiles_of(shape, shape.row_bytes, shape.rows)};
  };
  const auto [map32, tiles32] = whole(eiger(32, 10), true);
  EXPECT_EQ(place_of(map32, tiles32, 63, 1000), (Byte{0, 129, 250 * 4}));
  const auto [map16, tiles16] = whole(eiger(16, 10), false);
  EXPECT_EQ(place_of(map16, tiles16, 5, 0), (Byte{0, 276 - 256, 0}));
  const auto [map8, tiles8] = whole(eiger(8, 1), true);
  EXPECT_EQ(place_of(map8, tiles8, 3, 700), (Byte{0, 248, 188}));
  const auto [map12, tiles12] = whole(eiger(12, 10), true);
  EXPECT_EQ(place_of(map12, tiles12, 1, 0), (Byte{0, 250, 170 * 12 / 8 + 1})) << "bits 11-8 of pixel 170";
}

class EveryShape : public ::testing::TestWithParam<std::tuple<Options, const char*>> {};

/// Each byte of a port has one place, in order, by an oracle that knows nothing of pieces.
TEST_P(EveryShape, has_each_byte_once_and_in_the_row_where_it_belongs) {
  const Options& options = std::get<0>(GetParam());
  check(options);
  for (std::uint32_t port = 0; port < module_of(options).ports; ++port) {
    const PortShape shape = shape_of(options, port);
    const std::uint32_t payload = shape.payload * shape.widening();
    ASSERT_EQ(std::uint64_t{shape.packets} * payload, std::uint64_t{shape.rows} * shape.row_bytes);
    for (const bool flip : {false, true}) {
      for (const std::uint32_t across : {1U, 2U}) {
        const Tiles tiles = tiles_of(shape, shape.row_bytes / across, shape.rows);
        const PacketMap map(shape, tiles, across == 1, flip);
        EXPECT_TRUE(map.pieces(shape.first_packet - 1).empty());
        EXPECT_TRUE(map.pieces(shape.first_packet + shape.packets).empty());
        EXPECT_TRUE(map.pieces(~0U).empty());
        for (std::uint32_t packet = 0; packet < shape.packets; ++packet) {
          std::uint32_t next = 0;
          for (const Piece& piece : map.pieces(shape.first_packet + packet)) {
            ASSERT_EQ(piece.at, next);
            next += piece.bytes;
            ASSERT_EQ((piece.line * tiles.line_bytes + piece.column) % map.unit(), 0U);
            ASSERT_EQ(piece.bytes % map.unit(), 0U);
          }
          ASSERT_EQ(next, payload);
          for (const std::uint32_t at : {0U, 1U, payload / 3, payload - 1}) {
            const std::uint64_t byte = std::uint64_t{packet} * payload + at;
            const auto row = static_cast<std::uint32_t>(byte / shape.row_bytes);
            const auto column = static_cast<std::uint32_t>(byte % shape.row_bytes);
            const Byte expected{column / tiles.line_bytes, flip ? shape.rows - 1 - row : row,
                                column % tiles.line_bytes};
            ASSERT_EQ(place_of(map, tiles, shape.first_packet + packet, at), expected);
          }
        }
      }
    }
  }
}

Options jungfrau(std::uint32_t interfaces, std::uint32_t rows = 0) {
  Options options;
  options.interfaces = interfaces;
  options.read_rows = rows;
  return options;
}
Options moench(std::uint32_t interfaces, std::uint32_t rows = 0) {
  Options options = jungfrau(interfaces, rows);
  options.detector = Detector::moench;
  return options;
}
Options rows_of(Options options, std::uint32_t rows) {
  options.read_rows = rows;
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, EveryShape,
    ::testing::Values(std::tuple{jungfrau(1), "jungfrau"}, std::tuple{jungfrau(2), "jungfrau_two"},
                      std::tuple{jungfrau(1, 8), "jungfrau_8_rows"}, std::tuple{jungfrau(2, 64), "jungfrau_two_64"},
                      std::tuple{moench(1), "moench"}, std::tuple{moench(2), "moench_two"},
                      std::tuple{moench(1, 16), "moench_16_rows"}, std::tuple{eiger(4, 10), "eiger_4"},
                      std::tuple{eiger(8, 10), "eiger_8"}, std::tuple{eiger(12, 10), "eiger_12"},
                      std::tuple{eiger(16, 10), "eiger_16"}, std::tuple{eiger(32, 10), "eiger_32"},
                      std::tuple{eiger(4, 1), "eiger_4_1g"}, std::tuple{eiger(8, 1), "eiger_8_1g"},
                      std::tuple{eiger(12, 1), "eiger_12_1g"}, std::tuple{eiger(16, 1), "eiger_16_1g"},
                      std::tuple{eiger(32, 1), "eiger_32_1g"},
                      std::tuple{rows_of(eiger(12, 10), 16), "eiger_12_16_rows"}),
    [](const auto& param) { return std::get<1>(param.param); });

TEST(SlsPortShape, packets_of_a_frame_are_as_many_as_the_detectors_send) {
  EXPECT_EQ(shape_of(jungfrau(1), 0).packets, 128U);
  EXPECT_EQ(shape_of(jungfrau(2), 1).packets, 64U);
  EXPECT_EQ(shape_of(moench(1), 0).packets, 50U);
  EXPECT_EQ(shape_of(moench(2), 0).packets, 25U);
  const std::uint32_t bits[] = {4, 8, 12, 16, 32};
  const std::uint32_t at10[] = {16, 32, 48, 64, 128};
  const std::uint32_t at1[] = {64, 128, 192, 256, 512};
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(shape_of(eiger(bits[i], 10), 0).packets, at10[i]);
    EXPECT_EQ(shape_of(eiger(bits[i], 1), 0).packets, at1[i]);
  }
}

TEST(SlsPortShape, rows_read_out_in_part_keep_the_numbers_of_their_packets) {
  const PortShape one = shape_of(jungfrau(1, 64), 0);
  EXPECT_EQ(one.first_packet, 64U - 8);
  EXPECT_EQ(one.packets, 16U);
  const PortShape lower = shape_of(jungfrau(2, 64), 0);
  EXPECT_EQ(lower.first_packet, 64U - 8);
  EXPECT_EQ(lower.packets, 8U);
  const PortShape upper = shape_of(jungfrau(2, 64), 1);
  EXPECT_EQ(upper.first_packet, 0U);
  EXPECT_EQ(upper.packets, 8U);
  EXPECT_EQ(shape_of(rows_of(eiger(32, 10), 64), 0).packets, 32U);
}

TEST(SlsPortShape, impossible_rows_and_shapes_are_refused) {
  EXPECT_THROW(check(jungfrau(1, 12)), ConfigError);
  EXPECT_THROW(check(jungfrau(2, 520)), ConfigError);
  EXPECT_THROW(check(moench(1, 8)), ConfigError);
  EXPECT_THROW(check(rows_of(eiger(12, 10), 8)), ConfigError);
  const PortShape shape = shape_of(jungfrau(1), 0);
  EXPECT_THROW(tiles_of(shape, 1000, 512), ConfigError);
  EXPECT_THROW(tiles_of(shape, 2048, 300), ConfigError);
  EXPECT_THROW(tiles_of(shape, 0, 0), ConfigError);
  EXPECT_EQ(tiles_of(shape, 512, 256).count(), 8U) << "chips";
}

TEST(SlsPortShape, eiger_flips_the_half_with_the_even_row_and_others_as_they_are_told) {
  EXPECT_TRUE(flipped(eiger(16, 10), 4));
  EXPECT_FALSE(flipped(eiger(16, 10), 5));
  EXPECT_FALSE(flipped(jungfrau(2), 0));
  Options options = jungfrau(2);
  options.flip = Flip::even;
  EXPECT_TRUE(flipped(options, 0));
  EXPECT_FALSE(flipped(options, 1));
  options.flip = Flip::odd;
  EXPECT_TRUE(flipped(options, 1));
  options.flip = Flip::all;
  EXPECT_TRUE(flipped(options, 0));
  options.detector = Detector::eiger;
  options.flip = Flip::none;
  EXPECT_FALSE(flipped(options, 0));
}

}  // namespace
}  // namespace rashpa::link::sls
