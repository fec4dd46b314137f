// SPDX-License-Identifier: Apache-2.0
#include "rashpa/scheduler/lane/lost_lines.hpp"

#include <gtest/gtest.h>

#include <random>
#include <span>
#include <vector>

namespace rashpa::scheduler {
namespace {

TEST(LostLines, runs_cover_exactly_the_lines_that_did_not_arrive_whole) {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    const auto lines = static_cast<std::uint32_t>(1 + random() % 70);
    const auto units = static_cast<std::uint32_t>(1 + random() % 3);
    link::LineMap map(lines, units);
    for (std::uint64_t unit = 0; unit < map.units(); ++unit) {
      if (random() % 3 != 0) map.set(unit, 1);
    }
    std::vector<LostRun> runs(most_lost_runs(lines));
    runs.resize(list_lost_runs(map, 5, runs));
    std::vector<bool> lost(lines, false);
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(runs[i].dtp, 5U);
      EXPECT_GT(runs[i].lines, 0U);
      if (i > 0) {
        EXPECT_GT(runs[i].first_line, runs[i - 1].first_line + runs[i - 1].lines);
      }
      for (std::uint32_t line = runs[i].first_line; line < runs[i].first_line + runs[i].lines; ++line)
        lost.at(line) = true;
    }
    for (std::uint32_t line = 0; line < lines; ++line) EXPECT_EQ(lost[line], !map.line_arrived(line));
  }
}

TEST(LostLines, the_worst_map_fits) {
  link::LineMap map(9, 1);
  for (std::uint32_t line = 1; line < 9; line += 2) map.set(line, 1);
  std::vector<LostRun> runs(most_lost_runs(9));
  EXPECT_EQ(list_lost_runs(map, 0, runs), 5U);
}

TEST(LostLines, a_list_that_is_full_has_the_first_runs_and_nothing_is_written_behind_it) {
  link::LineMap map(9, 1);
  for (std::uint32_t line = 1; line < 9; line += 2) map.set(line, 1);
  std::vector<LostRun> runs(3, LostRun{7, 7, 7});
  EXPECT_EQ(list_lost_runs(map, 0, std::span(runs).first(2)), 2U);
  EXPECT_EQ(runs[0], (LostRun{0, 0, 1}));
  EXPECT_EQ(runs[1].first_line, 2U);
  EXPECT_EQ(runs[2], (LostRun{7, 7, 7}));
}

TEST(LostLines, one_byte_of_any_type_shows_that_lines_were_written_after_they_were_filled) {
  const Placement placement{
      .slot_bytes = 1024, .slots = 1, .first_line_offset = 64, .pitch = 64, .line_bytes = 48, .lines = 8};
  const LostRun run{.dtp = 1, .first_line = 2, .lines = 3};
  for (const PixelType type :
       {PixelType::u8, PixelType::u16, PixelType::i16, PixelType::u32, PixelType::i32, PixelType::f32}) {
    std::vector<std::byte> slot(1024);
    EXPECT_FALSE(holds_lost(slot.data(), placement, type, run));
    fill_lost(slot.data(), placement, type, run);
    for (std::size_t at = 0; at < slot.size(); ++at) {
      const std::size_t line = at / 64;
      const bool of_run = line >= 3 && line < 6 && at % 64 < 48;
      slot[at] ^= std::byte{1};
      EXPECT_EQ(holds_lost(slot.data(), placement, type, run), !of_run) << at;
      slot[at] ^= std::byte{1};
    }
  }
}

TEST(LostLines, filling_touches_only_the_lines_of_the_run) {
  const Placement place{
      .slot_bytes = 512, .slots = 1, .first_line_offset = 4, .pitch = 32, .line_bytes = 16, .lines = 8};
  std::vector<std::byte> slot(512, std::byte{1});
  fill_lost(slot.data(), place, PixelType::u16, {0, 2, 3});
  for (std::size_t at = 0; at < slot.size(); ++at) {
    const std::size_t line = at < 4 ? 99 : (at - 4) / 32;
    const bool in_run = line >= 2 && line < 5 && (at - 4) % 32 < 16;
    EXPECT_EQ(slot[at], in_run ? std::byte{0xFF} : std::byte{1}) << at;
  }
}

}  // namespace
}  // namespace rashpa::scheduler
