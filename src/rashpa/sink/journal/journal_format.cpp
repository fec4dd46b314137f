// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/journal/journal_format.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>

namespace rashpa::sink {
namespace {

constexpr std::array<Column::Type, 4> kTypes{Column::Type::u32, Column::Type::u64, Column::Type::i64,
                                             Column::Type::f64};

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

/// Returns the number that a text of digits begins with; 0 when it has none.
std::uint32_t number_of(const std::string& text) noexcept {
  std::uint32_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// One line of a profile; of its axes only the lengths are known here. False when it is damaged.
bool read_profile_line(const std::vector<std::string>& parts, std::vector<Profile>& profiles) {
  if (parts.front() == "profile" && parts.size() == 3) {
    if (profiles.size() == kMostProfiles) return false;
    profiles.push_back({.name = parts[1], .arrays = {}, .axes = {}, .definition = parts[2]});
    return true;
  }
  if (parts.size() != 5 || profiles.empty()) return false;
  Profile& profile = profiles.back();
  if (parts.front() == "of_profile") {
    if (profile.arrays.size() == kMostProfileArrays) return false;
    profile.arrays.push_back({parts[1], Column::Type::f64, parts[3], parts[4]});
    return true;
  }
  const std::uint32_t bins = number_of(parts[4]);
  if (profile.axes.size() == 2 || bins == 0 || bins > kMostProfileBins) return false;
  profile.axes.push_back({parts[1], parts[2], parts[3], std::vector<double>(bins)});
  return true;
}

}  // namespace

std::vector<std::byte> block_of(const Results& results) {
  std::string text;
  const auto line_of = [&](const char* what, const Column& column) {
    text += fmt::format("{}\t{}\t{}\t{}\t{}\n", what, column.name, name_of(column.type), column.unit, column.doc);
  };
  for (const Column& column : results.columns) line_of(column.of_header ? "of_header" : "column", column);
  for (const Table& table : results.tables) {
    text += fmt::format("table\t{}\t{}\n", table.name, table.capacity);
    for (const Column& column : table.columns) line_of("of_table", column);
  }
  for (const Profile& profile : results.profiles) {
    text += fmt::format("profile\t{}\t{}\n", profile.name, profile.definition);
    for (const Axis& axis : profile.axes) {
      text += fmt::format("axis\t{}\t{}\t{}\t{}\n", axis.name, axis.unit, axis.doc, axis.values.size());
    }
    for (const Column& array : profile.arrays) line_of("of_profile", array);
  }
  for (const std::string& reason : results.reasons.names()) text += fmt::format("reason\t{}\n", reason);
  const auto bytes = static_cast<std::uint32_t>(text.size());
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(text)));
  std::vector<std::byte> block(sizeof(bytes) + text.size() + sizeof(crc));
  std::memcpy(block.data(), &bytes, sizeof(bytes));
  std::memcpy(block.data() + sizeof(bytes), text.data(), text.size());
  std::memcpy(block.data() + sizeof(bytes) + text.size(), &crc, sizeof(crc));
  return block;
}

std::uint64_t block_bytes(std::span<const std::byte> begin) noexcept {
  std::uint32_t bytes = 0;
  if (begin.size() < sizeof(bytes)) return 0;
  std::memcpy(&bytes, begin.data(), sizeof(bytes));
  return 2 * sizeof(std::uint32_t) + std::uint64_t{bytes};
}

bool read_block(std::span<const std::byte> block, Results& results) {
  std::uint32_t crc = 0;
  const std::uint64_t all = block_bytes(block);
  if (all == 0 || block.size() < all) return false;
  const std::size_t bytes = all - 2 * sizeof(crc);
  const auto text = block.subspan(sizeof(crc), bytes);
  std::memcpy(&crc, text.data() + bytes, sizeof(crc));
  if (crc != crc32c(text)) return false;
  for (const std::string& line : split(std::string(reinterpret_cast<const char*>(text.data()), bytes), '\n')) {
    const std::vector<std::string> parts = split(line, '\t');
    if (parts.front() == "reason" && parts.size() == 2) results.reasons.add(parts[1]);
    if (parts.front() == "table" && parts.size() == 3) {
      if (results.tables.size() == kMostTables) return false;
      results.tables.push_back({.name = parts[1], .columns = {}, .capacity = number_of(parts[2])});
    }
    if (parts.front() == "profile" || parts.front() == "axis" || parts.front() == "of_profile") {
      if (!read_profile_line(parts, results.profiles)) return false;
      continue;
    }
    const bool of_table = parts.front() == "of_table";
    const bool of_header = parts.front() == "of_header";
    if ((!of_table && !of_header && parts.front() != "column") || parts.size() != 5) continue;
    if (of_table && (results.tables.empty() || results.tables.back().columns.size() == kMostTableColumns)) return false;
    const auto type =
        std::find_if(kTypes.begin(), kTypes.end(), [&](Column::Type one) { return name_of(one) == parts[2]; });
    if (type == kTypes.end() || (!of_table && results.columns.size() == kMostColumns)) return false;
    auto& columns = of_table ? results.tables.back().columns : results.columns;
    columns.push_back({parts[1], *type, parts[3], parts[4], of_header});
  }
  return true;
}

}  // namespace rashpa::sink
