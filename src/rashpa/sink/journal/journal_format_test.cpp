// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/journal/journal_format.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace rashpa::sink {
namespace {

Results everything() {
  Results made;
  made.columns = {{"bright_pixels", Column::Type::u32, "pixels", "pixels above the threshold"},
                  {"total", Column::Type::i64, "photons", ""},
                  {"energy", Column::Type::f64},
                  {"big", Column::Type::u64},
                  {"detector_counter", Column::Type::i64, "", "", true}};
  made.reasons.add("too_weak");
  made.tables = {{.name = "peaks", .columns = {{"x", Column::Type::f64, "pixels", "column"}}, .capacity = 1000},
                 {.name = "rois", .columns = {{"sum", Column::Type::i64}, {"number"}}, .capacity = 1}};
  made.profiles = {
      {.name = "azimuthal",
       .arrays = {{"I", Column::Type::f64, "photons", "mean"}, {"sigma", Column::Type::f64}},
       .axes = {{"chi", "deg", "angle", std::vector<double>(4)}, {"q", "1/nm", "", std::vector<double>(7)}},
       .definition = "NXazint1d"}};
  return made;
}

/// The block of a text, as a damaged disk or a stranger could have it: with a right checksum.
std::vector<std::byte> block_with(const std::string& text) {
  const auto length = static_cast<std::uint32_t>(text.size());
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(text)));
  std::vector<std::byte> block(text.size() + 8);
  std::memcpy(block.data(), &length, 4);
  std::memcpy(block.data() + 4, text.data(), text.size());
  std::memcpy(block.data() + 4 + text.size(), &crc, 4);
  return block;
}

TEST(JournalFormat, a_block_says_all_columns_tables_profiles_and_reasons) {
  const Results wanted = everything();
  const std::vector<std::byte> block = block_of(wanted);
  EXPECT_EQ(block_bytes(block), block.size());
  Results found;
  ASSERT_TRUE(read_block(block, found));
  EXPECT_EQ(found.columns, wanted.columns);
  EXPECT_EQ(found.tables, wanted.tables);
  EXPECT_EQ(found.profiles, wanted.profiles);
  EXPECT_EQ(found.reasons, wanted.reasons);
}

TEST(JournalFormat, a_block_of_nothing_is_read_as_nothing) {
  Results found;
  ASSERT_TRUE(read_block(block_of({}), found));
  EXPECT_TRUE(found.columns.empty() && found.tables.empty() && found.profiles.empty());
  EXPECT_EQ(found.reasons, VetoReasons());
}

TEST(JournalFormat, every_changed_byte_and_every_early_end_is_found) {
  const std::vector<std::byte> block = block_of(everything());
  for (std::size_t at = 0; at < block.size(); ++at) {
    std::vector<std::byte> changed = block;
    changed[at] ^= std::byte{0x10};
    Results found;
    EXPECT_FALSE(read_block(changed, found)) << "byte " << at;
    EXPECT_FALSE(read_block(std::span(block).first(at), found)) << at << " bytes";
  }
  EXPECT_EQ(block_bytes(std::span(block).first(3)), 0U) << "so few bytes do not say how many follow";
}

// The checksum is right, so a program wrote it: no line may take memory that a pipeline never needs.
TEST(JournalFormat, more_than_a_pipeline_can_have_is_refused) {
  const auto many = [](const std::string& line, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += line;
    return text;
  };
  const std::string table = "table\tpeaks\t10\n", column = "column\ta\tuint32\t\t\n",
                    in_table = "of_table\ta\tuint32\t\t\n";
  const std::string profile = "profile\tp\t\n", array = "of_profile\tI\tfloat64\t\t\n", axis = "axis\tq\t\t\t5\n";
  const struct {
    std::string name, good, bad;
  } cases[] = {
      {"columns", many(column, kMostColumns), many(column, kMostColumns + 1)},
      {"tables", many(table, kMostTables), many(table, kMostTables + 1)},
      {"columns of a table", table + many(in_table, kMostTableColumns), table + many(in_table, kMostTableColumns + 1)},
      {"a column of no table", table + in_table, in_table},
      {"profiles", many(profile, kMostProfiles), many(profile, kMostProfiles + 1)},
      {"arrays", profile + many(array, kMostProfileArrays), profile + many(array, kMostProfileArrays + 1)},
      {"axes", profile + axis + axis, profile + axis + axis + axis},
      {"an axis of no profile", profile + axis, axis},
      {"bins", profile + "axis\tq\t\t\t" + std::to_string(kMostProfileBins) + "\n",
       profile + "axis\tq\t\t\t" + std::to_string(kMostProfileBins + 1) + "\n"},
      {"no bins", profile + "axis\tq\t\t\t1\n", profile + "axis\tq\t\t\t0\n"},
      {"bins that are no number", profile + "axis\tq\t\t\t1\n", profile + "axis\tq\t\t\tx\n"},
      {"a type", column, "column\ta\tfloat32\t\t\n"},
  };
  for (const auto& one : cases) {
    Results found, refused;
    EXPECT_TRUE(read_block(block_with(one.good), found)) << one.name;
    EXPECT_FALSE(read_block(block_with(one.bad), refused)) << one.name;
  }
}

TEST(JournalFormat, lines_of_a_later_version_are_passed_over) {
  Results found;
  ASSERT_TRUE(read_block(block_with("novelty\ta\tb\ncolumn\ta\tuint32\t\t\ncolumn\ttoo short\n\n"), found));
  ASSERT_EQ(found.columns.size(), 1U);
  EXPECT_EQ(found.columns[0].name, "a");
}

TEST(JournalFormat, the_head_has_a_checksum_of_all_that_it_says) {
  JournalHead head{.images = 5, .width = 8, .height = 4};
  head.crc = head.own_crc();
  std::array<std::byte, sizeof(head)> bytes;
  std::memcpy(bytes.data(), &head, sizeof(head));
  EXPECT_EQ(std::memcmp(bytes.data(), "RSHAJNL1", 8), 0);
  for (std::size_t at = 0; at < sizeof(head); ++at) {
    std::array<std::byte, sizeof(head)> changed = bytes;
    changed[at] ^= std::byte{1};
    JournalHead read;
    std::memcpy(&read, changed.data(), sizeof(read));
    EXPECT_NE(read.crc, read.own_crc()) << "byte " << at;
  }
}

TEST(JournalFormat, a_record_has_room_for_its_columns_and_place) {
  EXPECT_EQ(record_bytes(0, false), 64U + 4U);
  EXPECT_EQ(record_bytes(3, false), 64U + 3U * 8U + 4U);
  EXPECT_EQ(record_bytes(3, true), 64U + 3U * 8U + 24U + 4U);
}

}  // namespace
}  // namespace rashpa::sink
