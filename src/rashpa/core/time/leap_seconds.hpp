// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace rashpa {

inline constexpr std::uint64_t kNsOfSecond = 1'000'000'000;

/// The only conversion between TAI and UTC; its table is schema/leap_seconds.txt, which python/rashpa/data/base/tai.py
/// reads, too. Both count nanoseconds since 1970-01-01 without leap seconds of their own, as records of frames and
/// clocks of machines do. Before 1972 the first number counts, behind the end of the table the last one.
std::uint64_t tai_of_utc(std::uint64_t utc_ns);
/// UTC stands still at the last nanosecond of its minute while a leap second goes on: it never goes back.
std::uint64_t utc_of_tai(std::uint64_t tai_ns);

/// A step of TAI: it is ahead by this many nanoseconds from `from_ns` (UTC) on.
struct LeapStep {
  std::uint64_t from_ns = 0;
  std::uint64_t ahead_ns = 0;
};

struct LeapTable {
  std::vector<LeapStep> steps;
  std::uint64_t valid_until_ns = 0;  ///< UTC; from then on nobody has said yet whether there is another one
};

/// Reads the table from the text of the file. Throws ConfigError.
LeapTable leap_table_of(std::string_view text);
const LeapTable& leap_table();

}  // namespace rashpa
