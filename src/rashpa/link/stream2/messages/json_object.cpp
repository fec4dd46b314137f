// SPDX-License-Identifier: Apache-2.0
#include "rashpa/link/stream2/messages/json_object.hpp"

#include <algorithm>
#include <charconv>

namespace rashpa::link::stream2 {

namespace {

constexpr std::size_t kMostJsonBytes = 1U << 20;
constexpr unsigned kDeepestJson = 16;

bool is_space(char one) noexcept { return one == ' ' || one == '\t' || one == '\n' || one == '\r'; }

std::string_view trimmed(std::string_view text) noexcept {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> count_of(std::string_view text) noexcept {
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = !text.empty() && read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole ? std::optional(number) : std::nullopt;
}

}  // namespace

JsonObject::JsonObject(std::span<const std::byte> bytes) noexcept
    : in_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {
  good_ = bytes.size() <= kMostJsonBytes && take('{') && entries() && at_end();
}

std::string_view JsonObject::value(std::string_view key) const noexcept {
  const auto* const end = entries_.data() + count_;
  const auto* const found = std::find_if(entries_.data(), end, [&](const Entry& entry) { return entry.key == key; });
  return found == end ? std::string_view() : found->value;
}

std::optional<std::uint64_t> JsonObject::count(std::string_view key) const noexcept { return count_of(value(key)); }

std::string_view JsonObject::text(std::string_view key) const noexcept {
  const std::string_view raw = value(key);
  return raw.size() >= 2 && raw.front() == '"' ? raw.substr(1, raw.size() - 2) : std::string_view();
}

std::optional<std::pair<std::uint64_t, std::uint64_t>> JsonObject::sides(std::string_view key) const noexcept {
  std::string_view raw = value(key);
  const std::size_t comma = raw.find(',');
  if (raw.size() < 5 || raw.front() != '[' || comma == std::string_view::npos) return std::nullopt;
  const auto first = count_of(trimmed(raw.substr(1, comma - 1)));
  const auto second = count_of(trimmed(raw.substr(comma + 1, raw.size() - comma - 2)));
  return first && second ? std::optional(std::pair(*first, *second)) : std::nullopt;
}

void JsonObject::skip_space() noexcept {
  while (at_ < in_.size() && is_space(in_[at_])) ++at_;
}

bool JsonObject::at_end() noexcept {
  skip_space();
  return std::all_of(in_.begin() + static_cast<std::ptrdiff_t>(at_), in_.end(), [](char one) { return one == 0; });
}

bool JsonObject::take(char wanted) noexcept {
  skip_space();
  if (at_ >= in_.size() || in_[at_] != wanted) return false;
  ++at_;
  return true;
}

bool JsonObject::entries() noexcept {
  if (take('}')) return true;
  do {
    skip_space();
    const std::size_t key = at_;
    if (!string() || count_ == kMostKeys) return false;
    const std::string_view name = in_.substr(key + 1, at_ - key - 2);
    if (!take(':')) return false;
    skip_space();
    const std::size_t begin = at_;
    if (!pass(0)) return false;
    entries_[count_++] = {name, in_.substr(begin, at_ - begin)};
  } while (take(','));
  return take('}');
}

bool JsonObject::string() noexcept {
  if (at_ >= in_.size() || in_[at_] != '"') return false;
  for (++at_; at_ < in_.size(); ++at_) {
    if (in_[at_] == '\\') {
      ++at_;
    } else if (in_[at_] == '"') {
      ++at_;
      return true;
    }
  }
  return false;
}

// Passes over a value of any kind.
bool JsonObject::pass(unsigned depth) noexcept {
  skip_space();
  if (at_ >= in_.size() || depth > kDeepestJson) return false;
  const char first = in_[at_];
  if (first == '"') return string();
  if (first != '{' && first != '[') {
    const std::size_t begin = at_;
    while (at_ < in_.size() && !is_space(in_[at_]) && in_[at_] != ',' && in_[at_] != '}' && in_[at_] != ']') ++at_;
    return at_ > begin;
  }
  ++at_;
  const char last = first == '{' ? '}' : ']';
  if (take(last)) return true;
  do {
    skip_space();
    if (first == '{' && (!string() || !take(':'))) return false;
    if (!pass(depth + 1)) return false;
  } while (take(','));
  return take(last);
}

}  // namespace rashpa::link::stream2
