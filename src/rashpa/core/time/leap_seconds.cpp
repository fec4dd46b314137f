// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/time/leap_seconds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <functional>
#include <iterator>
#include <string_view>
#include <vector>

#include "rashpa/core/error.hpp"

namespace rashpa {

extern const std::string_view leap_seconds_txt;  // schema/leap_seconds.txt

namespace {

/// A number that is all of `text`. Throws ConfigError.
unsigned number_of(std::string_view text) {
  unsigned value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc{} || end != text.data() + text.size() || text.empty())
    throw ConfigError(fmt::format("leap seconds: '{}' is no number; take the file that rashpa brings", text));
  return value;
}

/// Nanoseconds from 1970 to 0 h of "YYYY-MM-DD". Throws ConfigError.
std::uint64_t day_of(std::string_view text) {
  if (text.size() != 10)
    throw ConfigError(
        fmt::format("leap seconds: '{}' is no day such as 2017-01-01; take the file that rashpa brings", text));
  const std::chrono::year_month_day day{std::chrono::year{static_cast<int>(number_of(text.substr(0, 4)))},
                                        std::chrono::month{number_of(text.substr(5, 2))},
                                        std::chrono::day{number_of(text.substr(8, 2))}};
  if (!day.ok() || day.year() < std::chrono::year{1970})
    throw ConfigError(
        fmt::format("leap seconds: '{}' is no day such as 2017-01-01; take the file that rashpa brings", text));
  return static_cast<std::uint64_t>(std::chrono::seconds(std::chrono::sys_days(day).time_since_epoch()).count()) *
         kNsOfSecond;
}

}  // namespace

LeapTable leap_table_of(std::string_view text) {
  LeapTable table;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.empty() || line.front() == '#') continue;
    const std::size_t space = line.find(' ');
    const std::string_view first = line.substr(0, space);
    const std::string_view second = space == std::string_view::npos ? "" : line.substr(space + 1);
    if (first == "valid_until") {
      table.valid_until_ns = day_of(second);
    } else {
      table.steps.push_back({day_of(first), number_of(second) * kNsOfSecond});
    }
  }
  const bool sorted = std::ranges::is_sorted(table.steps, std::ranges::less_equal{}, &LeapStep::from_ns);
  if (table.steps.empty() || table.valid_until_ns == 0 || !sorted)
    throw ConfigError("leap seconds: the table is not whole, or not in order; take the file that rashpa brings");
  return table;
}

const LeapTable& leap_table() {
  static const LeapTable table = leap_table_of(leap_seconds_txt);
  return table;
}

std::uint64_t tai_of_utc(std::uint64_t utc_ns) {
  const std::vector<LeapStep>& steps = leap_table().steps;
  const auto next = std::ranges::upper_bound(steps, utc_ns, {}, &LeapStep::from_ns);
  return utc_ns + (next == steps.begin() ? steps.front() : *std::prev(next)).ahead_ns;
}

std::uint64_t utc_of_tai(std::uint64_t tai_ns) {
  const std::vector<LeapStep>& steps = leap_table().steps;
  const auto begins = [](const LeapStep& step) { return step.from_ns + step.ahead_ns; };
  const auto next = std::ranges::upper_bound(steps, tai_ns, {}, begins);
  const std::uint64_t ahead = (next == steps.begin() ? steps.front() : *std::prev(next)).ahead_ns;
  const std::uint64_t utc = tai_ns - std::min(tai_ns, ahead);
  return next == steps.end() ? utc : std::min(utc, next->from_ns - 1);
}

}  // namespace rashpa
