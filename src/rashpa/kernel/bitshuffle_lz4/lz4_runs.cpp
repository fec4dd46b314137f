// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bitshuffle_lz4/lz4_runs.hpp"

#include <algorithm>

namespace rashpa::kernel::bitshuffle_lz4 {

namespace {

/// A length's half of the token.
unsigned half(std::size_t length) noexcept { return static_cast<unsigned>(std::min(length, kLong)); }

std::byte* put_more(std::size_t length, std::byte* to) noexcept {
  if (length < kLong) return to;
  for (length -= kLong; length >= 255; length -= 255) *to++ = std::byte{255};
  *to++ = static_cast<std::byte>(length);
  return to;
}

std::byte* put_literals(const std::byte* first, std::size_t literals, unsigned match_half, std::byte* to) noexcept {
  *to++ = static_cast<std::byte>(half(literals) << 4U | match_half);
  to = put_more(literals, to);
  return std::copy_n(first, literals, to);
}

}  // namespace

std::size_t pack_runs(const std::byte* in, std::size_t bytes, std::byte* out) noexcept {
  std::byte* to = out;
  std::size_t done = 0;
  for (std::size_t at = 1; at + kLastMatch <= bytes;) {
    std::size_t end = at;
    while (end < bytes && in[end] == in[at - 1]) ++end;
    if (end - at < kLeastMatch) {
      at = end + 1;
      continue;
    }
    end = std::min(end, bytes - kLastLiterals);
    to = put_literals(in + done, at - done, half(end - at - kLeastMatch), to);
    *to++ = std::byte{1};
    *to++ = std::byte{0};
    to = put_more(end - at - kLeastMatch, to);
    done = at = end;
    at += 1;
  }
  to = put_literals(in + done, bytes - done, 0, to);
  return static_cast<std::size_t>(to - out);
}

}  // namespace rashpa::kernel::bitshuffle_lz4
