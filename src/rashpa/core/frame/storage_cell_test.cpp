// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/frame/storage_cell.hpp"

#include <gtest/gtest.h>

#include "rashpa/core/frame/frame_record.hpp"

namespace rashpa {
namespace {

TEST(StorageCell, a_cell_goes_into_flags_and_out_of_them) {
  for (std::uint32_t cell = 0; cell < kCells; ++cell) {
    EXPECT_EQ(cell_of(flags_of_cell(cell) | FrameRecord::dark | FrameRecord::last_of_run), cell);
  }
  EXPECT_EQ(cell_of(FrameRecord::laser), 0U) << "no cell is said";
}

TEST(StorageCell, modules_with_one_cell_keep_it_and_others_have_none) {
  const std::uint32_t five = flags_of_cell(5);
  EXPECT_EQ(joined_flags(five, five | FrameRecord::laser), five | FrameRecord::laser);
  EXPECT_EQ(cell_of(joined_flags(five, flags_of_cell(3))), kNoCell) << "5 or-ed with 3 were 7";
  EXPECT_EQ(cell_of(joined_flags(five, 0)), kNoCell);
  EXPECT_EQ(cell_of(joined_flags(joined_flags(five, flags_of_cell(3)), five)), kNoCell) << "and it stays that";
}

}  // namespace
}  // namespace rashpa
