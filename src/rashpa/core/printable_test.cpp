// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/printable.hpp"

#include <gtest/gtest.h>

namespace rashpa {
namespace {

TEST(Printable, text_stays_and_bytes_are_shown) {
  EXPECT_EQ(printable("<u2 ~"), "<u2 ~");
  EXPECT_EQ(printable(std::string_view("<f8\xff\n\0", 6)), "<f8\\xff\\x0a\\x00");
  EXPECT_EQ(printable(std::string(200, 'a')), std::string(200, 'a'));
  std::string cut(200, 'a');
  cut.append("…");
  EXPECT_EQ(printable(std::string(5000, 'a')), cut);
}

}  // namespace
}  // namespace rashpa
