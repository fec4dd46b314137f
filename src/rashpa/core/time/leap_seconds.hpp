// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace rashpa {

inline constexpr std::uint64_t kNsOfSecond = 1'000'000'000;

/// Converts UTC to TAI; all conversions use these two functions. Their table is schema/leap_seconds.txt, which
/// python/rashpa/data/base/tai.py also reads. Both times count nanoseconds since 1970-01-01 without leap seconds, as
/// frame records and system clocks do. Before 1972 the first offset applies, behind the end of the table the last one.
std::uint64_t tai_of_utc(std::uint64_t utc_ns);
/// Converts TAI to UTC. During a leap second UTC stays at the last nanosecond of its minute, and so never decreases.
std::uint64_t utc_of_tai(std::uint64_t tai_ns);

/// A step of the offset: from `from_ns` (UTC) on, TAI is ahead of UTC by `ahead_ns` nanoseconds.
struct LeapStep {
  std::uint64_t from_ns = 0;
  std::uint64_t ahead_ns = 0;
};

struct LeapTable {
  std::vector<LeapStep> steps;
  std::uint64_t valid_until_ns = 0;  ///< UTC; no later leap second has been announced or excluded
};

/// Reads the table from the text of the file. Throws ConfigError.
LeapTable leap_table_of(std::string_view text);
const LeapTable& leap_table();

}  // namespace rashpa
