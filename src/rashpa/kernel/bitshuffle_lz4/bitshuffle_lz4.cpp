// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"

#include <lz4.h>

#include <array>
#include <cstring>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle.hpp"

namespace rashpa::kernel::bitshuffle_lz4 {
namespace {

void put_big_endian(std::byte* out, std::uint64_t value, std::size_t bytes) noexcept {
  for (std::size_t i = 0; i < bytes; ++i) out[i] = static_cast<std::byte>(value >> (8 * (bytes - 1 - i)));
}

std::uint64_t get_big_endian(const std::byte* in, std::size_t bytes) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < bytes; ++i) value = value << 8 | std::to_integer<std::uint64_t>(in[i]);
  return value;
}

char* chars(std::byte* p) noexcept { return reinterpret_cast<char*>(p); }
const char* chars(const std::byte* p) noexcept { return reinterpret_cast<const char*>(p); }

}  // namespace

struct Compressor::State {
  alignas(64) std::array<std::byte, kTargetBlockBytes> planes{};
  LZ4_stream_t lz4{};
};

std::size_t compressed_bound(std::size_t bytes, std::size_t element_bytes) noexcept {
  const std::size_t block_bytes = default_block_elements(element_bytes) * element_bytes;
  const auto block_bound = static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(block_bytes))) + 4;
  return kHeaderBytes + (bytes / block_bytes + 1) * block_bound + 8 * element_bytes;
}

Compressor::Compressor(std::size_t element_bytes) : element_bytes_(element_bytes), state_(std::make_unique<State>()) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4) {
    throw ConfigError("bitshuffle_lz4: elements of " + std::to_string(element_bytes) +
                      " bytes are not supported; use a pixel type of 1, 2 or 4 bytes");
  }
  LZ4_initStream(&state_->lz4, sizeof(state_->lz4));
}
Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;
Compressor::~Compressor() = default;

std::size_t Compressor::compress(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  if (in.size() % element_bytes_ != 0 || out.size() < compressed_bound(in.size(), element_bytes_)) return 0;
  const std::size_t block_bytes = default_block_elements(element_bytes_) * element_bytes_;
  const std::size_t group_bytes = 8 * element_bytes_;
  const std::size_t shuffled_bytes = in.size() / group_bytes * group_bytes;
  put_big_endian(out.data(), in.size(), 8);
  put_big_endian(out.data() + 8, block_bytes, 4);
  std::byte* to = out.data() + kHeaderBytes;
  for (std::size_t at = 0; at < shuffled_bytes; at += block_bytes) {
    const std::size_t n = std::min(block_bytes, shuffled_bytes - at);
    shuffle(in.data() + at, state_->planes.data(), n / element_bytes_, element_bytes_);
    // A stream that is reset before each block gives independent blocks, like LZ4_compress_default, but without
    // clearing a hash table of 16 KiB for each 8 KiB: the reset moves the table's origin instead.
    LZ4_resetStream_fast(&state_->lz4);
    const int written = LZ4_compress_fast_continue(&state_->lz4, chars(state_->planes.data()), chars(to + 4),
                                                   static_cast<int>(n), LZ4_compressBound(static_cast<int>(n)), 1);
    put_big_endian(to, static_cast<std::uint64_t>(written), 4);
    to += 4 + written;
  }
  const std::size_t rest = in.size() - shuffled_bytes;  // fewer than 8 elements: verbatim
  if (rest > 0) std::memcpy(to, in.data() + shuffled_bytes, rest);
  return static_cast<std::size_t>(to - out.data()) + rest;
}

std::optional<std::uint64_t> uncompressed_bytes(std::span<const std::byte> chunk) noexcept {
  if (chunk.size() < kHeaderBytes) return std::nullopt;
  return get_big_endian(chunk.data(), 8);
}

bool decompress(std::span<const std::byte> chunk, std::size_t element_bytes, std::span<std::byte> out) {
  if (element_bytes != 1 && element_bytes != 2 && element_bytes != 4) return false;
  const auto stated = uncompressed_bytes(chunk);
  if (!stated || *stated != out.size() || out.size() % element_bytes != 0) return false;
  const std::size_t group_bytes = 8 * element_bytes;
  const std::size_t block_bytes = get_big_endian(chunk.data() + 8, 4);
  // The largest block that LZ4's int sizes and our scratch should take; no writer makes blocks near it.
  constexpr std::size_t kLargestBlock = std::size_t{1} << 26;
  if (block_bytes == 0 || block_bytes % group_bytes != 0 || block_bytes > kLargestBlock) return false;
  const std::size_t shuffled_bytes = out.size() / group_bytes * group_bytes;
  std::vector<std::byte> planes(std::min(block_bytes, shuffled_bytes));
  std::span<const std::byte> rest = chunk.subspan(kHeaderBytes);
  for (std::size_t at = 0; at < shuffled_bytes; at += block_bytes) {
    const std::size_t n = std::min(block_bytes, shuffled_bytes - at);
    if (rest.size() < 4) return false;
    const std::size_t packed = get_big_endian(rest.data(), 4);
    rest = rest.subspan(4);
    if (packed > rest.size() || packed > static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(n)))) return false;
    const int got =
        LZ4_decompress_safe(chars(rest.data()), chars(planes.data()), static_cast<int>(packed), static_cast<int>(n));
    if (got < 0 || static_cast<std::size_t>(got) != n) return false;
    unshuffle(planes.data(), out.data() + at, n / element_bytes, element_bytes);
    rest = rest.subspan(packed);
  }
  if (rest.size() != out.size() - shuffled_bytes) return false;
  if (!rest.empty()) std::memcpy(out.data() + shuffled_bytes, rest.data(), rest.size());
  return true;
}

}  // namespace rashpa::kernel::bitshuffle_lz4
