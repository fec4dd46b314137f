// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/cbor/cbor_reader.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "rashpa/core/cbor/cbor.hpp"

namespace rashpa {
namespace {

std::vector<std::byte> raw(std::initializer_list<unsigned> values) {
  std::vector<std::byte> out;
  for (const unsigned value : values) out.push_back(static_cast<std::byte>(value));
  return out;
}

TEST(CborReader, reads_back_what_the_writer_writes) {
  Cbor out;
  {
    Cbor::Map map(out);
    map.key("small").count(7);
    map.key("large").count(std::uint64_t{1} << 60);
    map.key("below").integer(-3);
    map.key("real").real(1.5);
    map.key("flag").flag(true);
    map.key("list").array(2);
    out.text("a");
    out.text("b");
  }
  CborReader in(out.bytes());
  std::vector<std::string> names;
  std::string list;
  std::uint64_t large = 0;
  EXPECT_TRUE(in.map([&](std::string_view name) {
    names.emplace_back(name);
    if (name == "large") large = in.count().value_or(0);
    if (name == "list") in.array([&](std::uint64_t) { list += in.text().value_or("?"); });
  }));
  EXPECT_TRUE(in.good());
  EXPECT_TRUE(in.at_end());
  EXPECT_EQ(names, (std::vector<std::string>{"small", "large", "below", "real", "flag", "list"}));
  EXPECT_EQ(large, std::uint64_t{1} << 60);
  EXPECT_EQ(list, "ab");
}

TEST(CborReader, takes_groups_of_unknown_length) {
  const auto bytes = raw({0xBF, 0x61, 'a', 0x9F, 1, 2, 0xFF, 0xFF});
  CborReader in(bytes);
  std::uint64_t sum = 0;
  EXPECT_TRUE(in.map([&](std::string_view) { in.array([&](std::uint64_t) { sum += in.count().value_or(100); }); }));
  EXPECT_EQ(sum, 3U);
  EXPECT_TRUE(in.at_end());
}

TEST(CborReader, refuses_lengths_that_lie_and_what_ends_too_soon) {
  const std::vector<std::vector<std::byte>> bad{
      {},
      raw({0x5B, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF}),
      raw({0x44, 1, 2}),
      raw({0x9B, 0, 0, 0, 1, 0, 0, 0, 0}),
      raw({0xBA, 0, 1, 0, 0, 0x61}),
      raw({0x81}),
      raw({0x9F, 1}),
      raw({0xFF}),
      raw({0x1C}),
      raw({0x7F, 0x61, 'a', 0xFF}),
      raw({0x19, 1}),
  };
  for (std::size_t i = 0; i < bad.size(); ++i) {
    CborReader in(bad[i]);
    in.skip();
    EXPECT_FALSE(in.good()) << i;
  }
}

TEST(CborReader, refuses_depth_and_numbers_of_items_beyond_its_bounds) {
  std::vector<std::byte> deep(CborReader::kMostDepth + 2, std::byte{0x81});
  deep.push_back(std::byte{0});
  CborReader in(deep);
  in.skip();
  EXPECT_FALSE(in.good());
  std::vector<std::byte> tags(1000, std::byte{0xC1});
  tags.push_back(std::byte{0});
  CborReader tagged(tags);
  tagged.skip();
  EXPECT_FALSE(tagged.good());
  std::vector<std::byte> many{std::byte{0x9F}};
  many.resize(CborReader::kMostItems + 10, std::byte{0});
  many.push_back(std::byte{0xFF});
  CborReader crowd(many);
  crowd.skip();
  EXPECT_FALSE(crowd.good());
}

TEST(CborReader, passes_over_items_of_another_kind) {
  const auto bytes = raw({0x83, 0x61, 'a', 0x05, 0xF6});
  CborReader in(bytes);
  std::vector<bool> counts;
  in.array([&](std::uint64_t) { counts.push_back(in.count().has_value()); });
  EXPECT_EQ(counts, (std::vector<bool>{false, true, false}));
  EXPECT_TRUE(in.at_end());
}

}  // namespace
}  // namespace rashpa
