// SPDX-License-Identifier: Apache-2.0
#include "rashpa/core/cbor/cbor_reader.hpp"

namespace rashpa {

namespace {

constexpr unsigned kBreak = 0xFF;
constexpr unsigned kOpen = 31;  // of additional information

constexpr CborReader::Kind kind_of(unsigned first) noexcept { return static_cast<CborReader::Kind>(first >> 5U); }

}  // namespace

std::span<const std::byte> CborReader::take(std::uint64_t bytes) noexcept {
  if (!good_ || bytes > in_.size() - at_) {
    fail();
    return {};
  }
  const auto part = in_.subspan(at_, bytes);
  at_ += bytes;
  return part;
}

CborReader::Kind CborReader::peek() const noexcept {
  return good_ && at_ < in_.size() ? kind_of(std::to_integer<unsigned>(in_[at_])) : Kind::simple;
}

CborReader::Head CborReader::head() noexcept {
  const auto first = take(1);
  if (++items_ > kMostItems) fail();
  if (!good_) return {};
  const auto byte = std::to_integer<unsigned>(first[0]);
  const unsigned info = byte & 31U;
  Head head{.kind = kind_of(byte)};
  if (info < 24) {
    head.value = info;
  } else if (info < 28) {
    for (const std::byte part : take(1U << (info - 24U)))
      head.value = head.value << 8U | std::to_integer<unsigned>(part);
  } else if (info == kOpen && (head.kind == Kind::array || head.kind == Kind::map)) {
    head.open = true;
  } else {
    fail();  // also strings in chunks, and a break where none is due
  }
  if (!good_) return {};
  // Each item has a byte at least: a larger number lies.
  const std::uint64_t left = in_.size() - at_;
  const bool counts = head.kind == Kind::array || head.kind == Kind::map;
  if (counts && !head.open && head.value > (head.kind == Kind::map ? left / 2 : left)) fail();
  return good_ ? head : Head{};
}

bool CborReader::take_break() noexcept {
  if (at_ >= in_.size()) {
    fail();
    return false;
  }
  if (std::to_integer<unsigned>(in_[at_]) != kBreak) return false;
  ++at_;
  return true;
}

std::optional<std::uint64_t> CborReader::count() noexcept {
  if (peek() != Kind::count) {
    skip();
    return std::nullopt;
  }
  const Head number = head();
  return good_ ? std::optional(number.value) : std::nullopt;
}

std::optional<std::span<const std::byte>> CborReader::bytes() noexcept {
  if (peek() != Kind::bytes) {
    skip();
    return std::nullopt;
  }
  const auto part = take(head().value);
  return good_ ? std::optional(part) : std::nullopt;
}

std::optional<std::string_view> CborReader::text() noexcept {
  if (peek() != Kind::text) {
    skip();
    return std::nullopt;
  }
  const auto part = take(head().value);
  if (!good_) return std::nullopt;
  return std::string_view(reinterpret_cast<const char*>(part.data()), part.size());
}

std::optional<std::uint64_t> CborReader::tag() noexcept {
  if (peek() != Kind::tag) {
    skip();
    return std::nullopt;
  }
  const Head number = head();
  return good_ ? std::optional(number.value) : std::nullopt;
}

void CborReader::skip(unsigned depth) noexcept {
  if (depth_ + depth > kMostDepth) return fail();
  const Head item = head();
  if (!good_) return;
  switch (item.kind) {
    case Kind::bytes:
    case Kind::text:
      take(item.value);
      break;
    case Kind::tag:
      skip(depth + 1);
      break;
    case Kind::array:
    case Kind::map: {
      const std::uint64_t each = item.kind == Kind::map ? 2 : 1;
      for (std::uint64_t n = 0; good_ && (item.open ? !take_break() : n < item.value); ++n) {
        for (std::uint64_t part = 0; part < each && good_; ++part) skip(depth + 1);
      }
      break;
    }
    case Kind::count:
    case Kind::negative:
    case Kind::simple:
      break;
  }
}

}  // namespace rashpa
