// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/roi_stats/roi_stats.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/photons/photons.hpp"

namespace rashpa::kernel::roi_stats {

namespace {

constexpr std::size_t kLongestName = 24;

[[noreturn]] void refuse(const std::string& why) { throw ConfigError("kernel roi_stats: regions: " + why); }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Returns the text before `mark`; `text` keeps the rest behind it.
std::string_view cut(std::string_view& text, char mark) {
  const std::size_t at = text.find(mark);
  const std::string_view head = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return trimmed(head);
}

bool is_name(std::string_view name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  return !name.empty() && name.size() <= kLongestName && name.front() >= 'a' && name.front() <= 'z' &&
         std::all_of(name.begin(), name.end(), fits);
}

NamedRegion region_of(std::string_view text) {
  const std::string whole(text);
  NamedRegion region;
  region.name = std::string(cut(text, '='));
  if (!is_name(region.name)) {
    refuse(
        fmt::format("'{}' does not begin with a name; write name=x,y,width,height, names of a-z, 0-9 and _, {} at most",
                    whole, kLongestName));
  }
  for (std::uint32_t* value : {&region.x, &region.y, &region.width, &region.height}) {
    const std::string_view number = cut(text, ',');
    const auto [end, failed] = std::from_chars(number.data(), number.data() + number.size(), *value);
    if (failed != std::errc() || end != number.data() + number.size() || number.empty()) {
      refuse(fmt::format("'{}' is no region; give name=x,y,width,height", whole));
    }
  }
  if (!trimmed(text).empty()) refuse(fmt::format("'{}' is no region; give name=x,y,width,height and no more", whole));
  if (region.width == 0 || region.height == 0)
    refuse(fmt::format("{} has no pixels; give a width and a height of 1 or more", region.name));
  return region;
}

}  // namespace

std::vector<NamedRegion> parse(const std::string& text) {
  std::vector<NamedRegion> regions;
  for (std::string_view rest = text; !trimmed(rest).empty();) {
    regions.push_back(region_of(cut(rest, ';')));
    const auto twice = [&](const NamedRegion& one) { return one.name == regions.back().name; };
    if (std::count_if(regions.begin(), regions.end(), twice) > 1)
      refuse(regions.back().name + " is there twice; give each region its own name");
  }
  if (regions.empty()) refuse("there is none; write name=x,y,width,height, several with ; between them");
  if (regions.size() > kMostRegions)
    refuse(fmt::format("there are {} regions; give {} or fewer", regions.size(), kMostRegions));
  return regions;
}

Stats stats_reference(const void* pixels, PixelFormat format, std::size_t count) noexcept {
  const PhotonRange range = photon_range(format);
  return with_type(format.type, [&]<typename T>(T) {
    Stats found;
    for (std::size_t i = 0; i < count; ++i) {
      const auto value = static_cast<std::int64_t>(static_cast<const T*>(pixels)[i]);
      if (value < range.least || value > range.most) continue;
      found.add({value, value, value, 1});
    }
    return found;
  });
}

}  // namespace rashpa::kernel::roi_stats
