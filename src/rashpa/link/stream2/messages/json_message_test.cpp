// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/messages/json_message.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

namespace rashpa::link::stream2 {
namespace {

Buffer frames(const std::vector<std::string>& texts) {
  Buffer out;
  for (const std::string& text : texts) {
    std::ranges::copy(std::as_bytes(std::span(text)), out.room(text.size()).data());
    out.add_frame(text.size());
  }
  return out;
}

const std::string kHead = R"({"htype": "dimage-1.0", "series": 4, "frame": 17, "hash": "f4"})";
const std::string kAbout = R"({"htype":"dimage_d-1.0","shape":[3, 2],"type":"uint16","encoding":"<","size":12})";
const std::string kData(12, 'x');

TEST(Stream1Message, an_image_has_its_series_number_and_pixels) {
  Message message;
  const Buffer buffer = frames({kHead, kAbout, kData, R"({"htype":"dconfig-1.0"})"});
  ASSERT_TRUE(is_json(buffer));
  ASSERT_TRUE(read_json_message(buffer, message));
  EXPECT_EQ(message.type, Type::image);
  EXPECT_EQ(message.series, 4U);
  EXPECT_EQ(message.image, 17U);
  ASSERT_EQ(message.pixels().size(), 1U);
  EXPECT_EQ(message.pixels()[0].rows, 2U) << "the first side is the width";
  EXPECT_EQ(message.pixels()[0].columns, 3U);
  EXPECT_EQ(message.pixels()[0].bytes.size(), 12U);
}

TEST(Stream1Message, a_start_has_the_date_of_its_description_and_images_the_time_since_then) {
  constexpr std::uint64_t kAt = 1'700'000'000'123'000'000 + 37'000'000'000;  // TAI
  const std::string head = R"({"htype":"dheader-1.0","series":4,"header_detail":"basic"})";
  Message message;
  for (const char* date : {"2023-11-14T22:13:20.123", "2023-11-14T22:13:20.123Z", "2023-11-15T00:13:20.123+02:00"}) {
    const std::string about = std::string(R"({"count_time":0.1,"data_collection_date":")") + date + "\"}";
    ASSERT_TRUE(read_json_message(frames({head, about}), message));
    EXPECT_EQ(message.timestamp_ns, kAt) << date;
  }
  for (const std::string bad : {R"({"data_collection_date":"tomorrow"})", R"({"data_collection_date":7})", "[]", ""}) {
    ASSERT_TRUE(read_json_message(frames({head, bad}), message)) << bad;
    EXPECT_EQ(message.timestamp_ns, 0U) << bad;
  }
  const auto timed = [&](const std::string& start) {
    const std::string times = R"({"htype":"dconfig-1.0","stop_time":9,"real_time":2,"start_time":)" + start + "}";
    EXPECT_TRUE(read_json_message(frames({kHead, kAbout, kData, times}), message));
    return message;
  };
  EXPECT_EQ(timed("7").since_ns, 7U);
  EXPECT_EQ(timed("7").words[0], 2U) << "real_time";
  EXPECT_EQ(timed("7").timestamp_ns, 0U);
  EXPECT_EQ(timed("1700000000123000000").timestamp_ns, kAt) << "a time behind 2001 is a date";
  EXPECT_FALSE(timed("1700000000123000000").since_ns);
  for (const char* bad : {"-1", "0.5", "\"7\"", "99999999999999999999", "18446744073709551615"}) {
    EXPECT_FALSE(timed(bad).since_ns) << bad;
    EXPECT_EQ(timed(bad).timestamp_ns, 0U) << bad;
  }
}

TEST(Stream1Message, starts_and_ends_have_their_series_and_others_are_passed_over) {
  Message message;
  const std::vector<std::pair<std::string, Type>> all{
      {R"({"htype":"dheader-1.0","series":4,"header_detail":"all","more":{"a":[1,{"b":"}"}]}})", Type::start},
      {R"({"htype":"dseries_end-1.0","series":4})", Type::end},
      {R"({"htype":"dother-1.0","series":4})", Type::other}};
  for (const auto& [text, type] : all) {
    ASSERT_TRUE(read_json_message(frames({text}), message)) << text;
    EXPECT_EQ(message.type, type);
    EXPECT_EQ(message.series, 4U);
  }
}

TEST(Stream1Message, each_encoding_is_known_by_its_name) {
  const auto encoded = [](const std::string& type, const std::string& encoding) {
    return R"({"htype":"dimage_d-1.0","shape":[3,2],"type":")" + type + R"(","encoding":")" + encoding + R"("})";
  };
  Message message;
  ASSERT_TRUE(read_json_message(frames({kHead, encoded("uint32", "bs32-lz4<"), "abc"}), message));
  EXPECT_EQ(message.pixels()[0].codec, Codec::bslz4);
  EXPECT_EQ(message.pixels()[0].element, 4U);
  ASSERT_TRUE(read_json_message(frames({kHead, encoded("uint16", "lz4<"), "abc"}), message));
  EXPECT_EQ(message.pixels()[0].codec, Codec::lz4_block);
  for (const char* bad : {"bs32-lz4>", "gzip<", "", "bs64-lz4<"}) {
    EXPECT_FALSE(read_json_message(frames({kHead, encoded("uint32", bad), "abc"}), message)) << bad;
  }
  EXPECT_FALSE(read_json_message(frames({kHead, encoded("float64", "<"), "abc"}), message));
}

TEST(Stream1Message, refuses_what_is_cut_nested_too_deep_or_lies_of_its_size) {
  Message message;
  for (std::size_t size = 0; size < kHead.size(); ++size) {
    EXPECT_FALSE(read_json_message(frames({kHead.substr(0, size), kAbout, kData}), message)) << size;
  }
  for (std::size_t size = 0; size < kAbout.size(); ++size) {
    EXPECT_FALSE(read_json_message(frames({kHead, kAbout.substr(0, size), kData}), message)) << size;
  }
  EXPECT_FALSE(read_json_message(frames({kHead, kAbout}), message));
  EXPECT_FALSE(read_json_message(frames({kHead, kAbout, kData + "x"}), message));
  const std::string deep(100'000, '[');
  EXPECT_FALSE(read_json_message(frames({R"({"htype":"dheader-1.0","series":1,"x":)" + deep}), message));
  std::string many = R"({"htype":"dheader-1.0","series":1)";
  for (int i = 0; i < 1000; ++i) many += ",\"a\":1";
  EXPECT_FALSE(read_json_message(frames({many + "}"}), message));
  EXPECT_FALSE(read_json_message(frames({R"({"htype":"dimage-1.0","series":-1,"frame":0})", kAbout, kData}), message));
}

}  // namespace
}  // namespace rashpa::link::stream2
