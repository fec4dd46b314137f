// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/image/special_value.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rashpa/core/error.hpp"

namespace rashpa {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(SpecialValue, counts_end_below_the_smallest_special_value_that_is_not_negative) {
  const std::vector<SpecialValue> pilatus{{-1, Meaning::gap}, {-2, Meaning::dead}};
  EXPECT_EQ(largest_count_of(PixelType::i32, pilatus), kNoLargestCount);
  std::vector<SpecialValue> with_cutoff = pilatus;
  with_cutoff.push_back({1'048'575, Meaning::saturated});
  EXPECT_EQ(largest_count_of(PixelType::i32, with_cutoff), 1'048'574);
  const std::vector<SpecialValue> eiger{{65535, Meaning::gap}, {65534, Meaning::saturated}};
  EXPECT_EQ(largest_count_of(PixelType::u32, eiger), 65533) << "what a 16-bit readout says in 32 bits";
}

TEST(SpecialValue, what_pixels_cannot_hold_is_refused) {
  const auto check = [](PixelType type, std::vector<SpecialValue> special) {
    return [type, special] { static_cast<void>(largest_count_of(type, special)); };
  };
  EXPECT_THAT(check(PixelType::u16, {{-1, Meaning::gap}}), ThrowsMessage<ConfigError>(HasSubstr("hold 0 to 65535")));
  EXPECT_THAT(check(PixelType::i16, {{40'000, Meaning::gap}}),
              ThrowsMessage<ConfigError>(HasSubstr("-32768 to 32767")));
  EXPECT_THAT(check(PixelType::f32, {{-1, Meaning::gap}}), ThrowsMessage<ConfigError>(HasSubstr("NaN")));
  EXPECT_THAT(check(PixelType::i32, {{0, Meaning::gap}}), ThrowsMessage<ConfigError>(HasSubstr("counts 0")));
  EXPECT_THAT(check(PixelType::i32, {{-1, Meaning::gap}, {-1, Meaning::dead}}),
              ThrowsMessage<ConfigError>(HasSubstr("twice")));
}

TEST(SpecialValue, lasting_properties_are_bits_of_the_mask) {
  const std::vector<SpecialValue> special{{-1, Meaning::gap}, {-2, Meaning::dead}, {900, Meaning::saturated}};
  const std::vector<std::int32_t> image{5, -1, 0, -2, 900, -3};
  std::vector<std::uint32_t> mask(image.size());
  mask[0] = 16;
  mark_special(PixelType::i32, special, image.data(), mask);
  EXPECT_THAT(mask, ElementsAre(16, 1, 0, 2, 0, 0));
}

TEST(SpecialValue, meanings_have_names) {
  for (int i = 0; i <= static_cast<int>(Meaning::saturated); ++i) {
    EXPECT_EQ(meaning_of(name_of(static_cast<Meaning>(i))), static_cast<Meaning>(i));
  }
  EXPECT_EQ(name_of(Meaning::saturated), "saturated");
  EXPECT_THROW(static_cast<void>(meaning_of("hot")), ConfigError);
}

}  // namespace
}  // namespace rashpa
