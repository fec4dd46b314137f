// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/messages/sls_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/link/stream2/messages/unpack.hpp"

namespace rashpa::link::stream2 {
namespace {

// As slsReceiver writes it: 4 × 2 pixels of 16 bits, of the port in row 1 of column 2.
const std::string kHeader =
    R"({"jsonversion":5, "bitmode":16, "fileIndex":6, "detshape":[3, 2], "shape":[4, 2], "size":16, "acqIndex":7, )"
    R"("frameIndex":7, "progress":1.5, "fname":"run", "data":1, "completeImage":1, "frameNumber":1007, )"
    R"("expLength":2000, "packetNumber":128, "detSpec1":77, "timestamp":123456, "modId":3, "row":1, "column":2, )"
    R"("detSpec2":0, "detSpec3":5, "detSpec4":0, "detType":3, "version":2, "flipRows":0, "quad":0, )"
    R"("addJsonHeader": {"sample":"7"} , "rx_roi":[-1, -1, -1, -1]})"
    "\n";
const std::string kPixels(16, 'p');

Buffer frames(const std::vector<std::string>& texts) {
  Buffer out;
  for (const std::string& text : texts) {
    std::ranges::copy(std::as_bytes(std::span(text)), out.room(text.size()).data());
    out.add_frame(text.size());
  }
  return out;
}

std::string changed(const std::string& from, const std::string& to) {
  std::string header = kHeader;
  header.replace(header.find(from), from.size(), to);
  return header;
}

TEST(SlsMessage, an_image_has_the_place_number_and_words_of_its_header) {
  Message message;
  const Buffer buffer = frames({kHeader, kPixels});
  ASSERT_TRUE(read_sls_message(buffer, message));
  EXPECT_EQ(message.type, Type::image);
  EXPECT_EQ(message.series, 6U);
  EXPECT_EQ(message.image, 1007U);
  EXPECT_EQ(message.module, 5U) << "2 columns of 2 ports are before it, and 1 port in its column";
  EXPECT_FALSE(message.partial);
  EXPECT_EQ(message.words, (FrameRecord::Words{1007, 77, 123456, 2000, 5, 3}));
  ASSERT_EQ(message.pixels().size(), 1U);
  EXPECT_EQ(message.pixels()[0].columns, 4U);
  EXPECT_EQ(message.pixels()[0].rows, 2U);
  EXPECT_EQ(message.pixels()[0].pixel, PixelType::u16);
  EXPECT_FALSE(message.pixels()[0].upside_down);
}

TEST(SlsMessage, words_of_older_versions_mean_the_same) {
  std::string header = changed(R"("jsonversion":5)", R"("jsonversion":4)");
  header.replace(header.find("flipRows\":0"), 11, "flippedDataX\":1");
  header.replace(header.find("detSpec1"), 8, "bunchId");
  header.replace(header.find("detSpec3"), 8, "debug");
  Message message;
  const Buffer buffer = frames({header, kPixels});
  ASSERT_TRUE(read_sls_message(buffer, message));
  EXPECT_TRUE(message.pixels()[0].upside_down);
  EXPECT_EQ(message.words[1], 77U);
  EXPECT_EQ(message.words[4], 5U);
}

TEST(SlsMessage, a_header_without_data_is_an_end_and_an_incomplete_image_is_partial) {
  Message message;
  ASSERT_TRUE(read_sls_message(frames({R"({"jsonversion":5,"data":0,"fileIndex":0})"}), message));
  EXPECT_EQ(message.type, Type::end);
  const Buffer buffer = frames({changed(R"("completeImage":1)", R"("completeImage":0)"), kPixels});
  ASSERT_TRUE(read_sls_message(buffer, message));
  EXPECT_TRUE(message.partial);
}

TEST(SlsMessage, pixels_have_8_16_or_32_bits) {
  Message message;
  const std::vector<std::pair<std::string, PixelType>> all{{"8", PixelType::u8}, {"32", PixelType::u32}};
  for (const auto& [bits, pixel] : all) {
    const std::string bytes(8 * pixel_bytes(pixel), 'p');
    std::string header = changed(R"("bitmode":16)", R"("bitmode":)" + bits);
    header.replace(header.find("\"size\":16"), 9, "\"size\":" + std::to_string(bytes.size()));
    const Buffer buffer = frames({header, bytes});
    ASSERT_TRUE(read_sls_message(buffer, message)) << bits;
    EXPECT_EQ(message.pixels()[0].pixel, pixel);
  }
  for (const char* bits : {"0", "4", "12", "64", "-16", "\"16\""}) {
    EXPECT_FALSE(
        read_sls_message(frames({changed("bitmode\":16", std::string("bitmode\":") + bits), kPixels}), message))
        << bits;
  }
}

TEST(SlsMessage, refuses_what_is_cut_or_lies_of_its_size_place_or_version) {
  Message message;
  for (std::size_t size = 0; size + 1 < kHeader.size(); ++size) {
    EXPECT_FALSE(read_sls_message(frames({kHeader.substr(0, size), kPixels}), message)) << size;
  }
  EXPECT_FALSE(read_sls_message(Buffer(), message));
  EXPECT_FALSE(read_sls_message(frames({kHeader}), message)) << "no pixels";
  EXPECT_FALSE(read_sls_message(frames({kHeader, kPixels, kPixels}), message));
  EXPECT_FALSE(read_sls_message(frames({kHeader, kPixels + "p"}), message));
  const std::vector<std::pair<std::string, std::string>> lies{
      {"jsonversion\":5", "jsonversion\":3"},
      {"jsonversion\":5", "jsonversion\":6"},
      {"\"size\":16", "\"size\":15"},
      {"\"shape\":[4, 2]", "\"shape\":[4, 3]"},
      {"\"shape\":[4, 2]", "\"shape\":[0, 2]"},
      {"\"shape\":[4, 2]", "\"shape\":[4294967296, 4294967296]"},
      {"\"shape\":[4, 2]", "\"shape\":[-4, -2]"},
      {"\"shape\":[4, 2]", "\"shape\":\"wide\""},
      {"\"row\":1", "\"row\":2"},
      {"\"row\":1", "\"row\":-1"},
      {"\"column\":2", "\"column\":3"},
      {"detshape\":[3, 2]", "detshape\":[3, 9999999]"},
      {"\"frameNumber\":1007", "\"frameNumber\":1.5"},
      {"\"fileIndex\":6", "\"other\":6"}};
  for (const auto& [from, to] : lies) {
    EXPECT_FALSE(read_sls_message(frames({changed(from, to), kPixels}), message)) << to;
  }
  EXPECT_FALSE(read_sls_message(frames({R"({"htype":"dimage-1.0","series":1,"frame":0})", kPixels}), message));
}

TEST(SlsMessage, lines_that_come_last_one_first_are_turned) {
  Message message;
  const Buffer buffer = frames({changed("\"flipRows\":0", "\"flipRows\":1"), "aaaaaaaabbbbbbbb"});
  ASSERT_TRUE(read_sls_message(buffer, message));
  Placement placement;
  placement.lines = 2;
  placement.line_bytes = 8;
  for (const std::uint64_t pitch : {std::uint64_t{8}, std::uint64_t{10}}) {
    placement.pitch = pitch;
    std::string room(20, '.');
    Scratch scratch;
    ASSERT_TRUE(unpack(message.pixels()[0], placement, reinterpret_cast<std::byte*>(room.data()), scratch));
    EXPECT_EQ(room.substr(0, pitch + 8), "bbbbbbbb" + std::string(pitch - 8, '.') + "aaaaaaaa");
  }
}

}  // namespace
}  // namespace rashpa::link::stream2
