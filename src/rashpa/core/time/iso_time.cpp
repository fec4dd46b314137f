// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/time/iso_time.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <ctime>

#include "rashpa/core/time/leap_seconds.hpp"

namespace rashpa {

namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

/// Takes what a text begins with.
class Reader {
 public:
  explicit Reader(std::string_view text) : left_(text) {}
  /// Returns the number that the next `count` digits make; any other character makes the whole text wrong.
  int digits(std::size_t count) {
    int value = 0;
    const std::string_view part = left_.substr(0, count);
    const bool all = part.size() == count && std::all_of(part.begin(), part.end(), is_digit);
    if (all) std::from_chars(part.data(), part.data() + count, value);
    good_ = good_ && all;
    left_.remove_prefix(part.size());
    return value;
  }
  bool take(char wanted) {
    const bool there = left_.starts_with(wanted);
    if (there) left_.remove_prefix(1);
    return there;
  }
  void need(char wanted) { good_ = take(wanted) && good_; }
  /// Digits behind the point, as nanoseconds.
  std::uint64_t fraction() {
    std::uint64_t ns = 0, unit = kNsOfSecond;
    good_ = good_ && !left_.empty() && is_digit(left_.front());
    while (!left_.empty() && is_digit(left_.front())) {
      unit /= 10;
      ns += static_cast<std::uint64_t>(left_.front() - '0') * unit;
      left_.remove_prefix(1);
    }
    return ns;
  }
  [[nodiscard]] bool good() const { return good_; }
  [[nodiscard]] bool at_end() const { return left_.empty(); }

 private:
  static bool is_digit(char one) { return one >= '0' && one <= '9'; }
  std::string_view left_;
  bool good_ = true;
};

}  // namespace

std::string iso_time(std::uint64_t utc_ns) {
  const auto whole = static_cast<std::time_t>(utc_ns / kNsOfSecond);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(whole), utc_ns % kNsOfSecond / kMillisecond);
}

std::optional<std::uint64_t> utc_of_iso(std::string_view text) {
  Reader reader(text);
  std::tm at{};
  at.tm_year = reader.digits(4) - 1900;
  reader.need('-');
  at.tm_mon = reader.digits(2) - 1;
  reader.need('-');
  at.tm_mday = reader.digits(2);
  reader.need('T');
  at.tm_hour = reader.digits(2);
  reader.need(':');
  at.tm_min = reader.digits(2);
  reader.need(':');
  at.tm_sec = reader.digits(2);
  const std::uint64_t part = reader.take('.') ? reader.fraction() : 0;
  std::int64_t ahead = 0;
  if (!reader.take('Z')) {
    const bool east = reader.take('+');
    if (!east) reader.need('-');
    ahead = std::int64_t{reader.digits(2)} * 3600;
    reader.take(':');
    ahead += std::int64_t{reader.digits(2)} * 60;
    if (!east) ahead = -ahead;
  }
  const std::tm asked = at;
  const std::time_t seconds = ::timegm(&at);
  const bool a_date = at.tm_mon == asked.tm_mon && at.tm_mday == asked.tm_mday && at.tm_hour == asked.tm_hour;
  if (!reader.good() || !reader.at_end() || !a_date || seconds - ahead < 0) return std::nullopt;
  return static_cast<std::uint64_t>(seconds - ahead) * kNsOfSecond + part;
}

}  // namespace rashpa
