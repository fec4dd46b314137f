// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"

#include <lz4.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/bitshuffle_lz4/big_endian.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle.hpp"
#include "rashpa/kernel/bitshuffle_lz4/lz4_block.hpp"
#include "rashpa/memory/team.hpp"

namespace rashpa::kernel::bitshuffle_lz4 {

struct Compressor::State {
  alignas(64) std::array<std::byte, kTargetBlockBytes> planes{};
  BlockCompressor blocks;
};

std::size_t compressed_bound(std::size_t bytes, std::size_t element_bytes) noexcept {
  const std::size_t block_bytes = default_block_elements(element_bytes) * element_bytes;
  const auto block_bound = static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(block_bytes))) + 4;
  return kHeaderBytes + (bytes / block_bytes + 1) * block_bound + 8 * element_bytes;
}

Compressor::Compressor(std::size_t element_bytes) : element_bytes_(element_bytes), state_(std::make_unique<State>()) {
  if (!is_element(element_bytes)) {
    throw ConfigError("bitshuffle_lz4: elements of " + std::to_string(element_bytes) +
                      " bytes are not supported; use a type of 1, 2, 4 or 8 bytes");
  }
}
Compressor::Compressor(Compressor&&) noexcept = default;
Compressor& Compressor::operator=(Compressor&&) noexcept = default;
Compressor::~Compressor() = default;

Part part_of(std::size_t bytes, std::size_t element_bytes, std::size_t number, std::size_t parts) noexcept {
  const std::size_t block_bytes = default_block_elements(element_bytes) * element_bytes;
  const std::size_t blocks = bytes / block_bytes;
  const auto begin = [&](std::size_t n) { return n == parts ? bytes : blocks * n / parts * block_bytes; };
  return {begin(number), begin(number + 1), number == 0};
}

std::size_t Compressor::compress(std::span<const std::byte> in, std::span<std::byte> out) noexcept {
  return compress_part(in, {0, in.size()}, out);
}

std::size_t Compressor::compress_part(std::span<const std::byte> in, Part part, std::span<std::byte> out) noexcept {
  const std::size_t bytes = part.last - part.first;
  if (in.size() % element_bytes_ != 0 || out.size() < compressed_bound(bytes, element_bytes_)) return 0;
  const std::size_t block_bytes = default_block_elements(element_bytes_) * element_bytes_;
  const std::size_t group_bytes = 8 * element_bytes_;
  const std::size_t shuffled_bytes = bytes / group_bytes * group_bytes;
  std::byte* to = out.data();
  if (part.head) {
    put_big_endian(to, in.size(), 8);
    put_big_endian(to + 8, block_bytes, 4);
    to += kHeaderBytes;
  }
  const std::byte* from = in.data() + part.first;
  for (std::size_t at = 0; at < shuffled_bytes; at += block_bytes) {
    const std::size_t n = std::min(block_bytes, shuffled_bytes - at);
    shuffle(from + at, state_->planes.data(), n / element_bytes_, element_bytes_);
    const std::size_t written = state_->blocks.compress(state_->planes.data(), n, n / (8 * element_bytes_), to + 4);
    put_big_endian(to, written, 4);
    to += 4 + written;
  }
  const std::size_t rest = bytes - shuffled_bytes;  // fewer than 8 elements: verbatim
  if (rest > 0) std::memcpy(to, from + shuffled_bytes, rest);
  return static_cast<std::size_t>(to - out.data()) + rest;
}

std::optional<std::uint64_t> uncompressed_bytes(std::span<const std::byte> chunk) noexcept {
  if (chunk.size() < kHeaderBytes) return std::nullopt;
  return get_big_endian(chunk.data(), 8);
}

namespace {

/// The facts of a chunk's header, checked against the request.
struct Facts {
  std::size_t block_bytes = 0;
  std::size_t shuffled_bytes = 0;  // the rest is verbatim
};

std::optional<Facts> facts_of(std::span<const std::byte> chunk, std::size_t element_bytes, std::size_t bytes) noexcept {
  const auto stated = uncompressed_bytes(chunk);
  if (!is_element(element_bytes) || !stated || *stated != bytes || bytes % element_bytes != 0) return std::nullopt;
  const std::size_t group_bytes = 8 * element_bytes;
  const std::size_t block_bytes = get_big_endian(chunk.data() + 8, 4);
  // The largest block that LZ4's int sizes and our scratch should take; no writer makes blocks near it.
  constexpr std::size_t kLargestBlock = std::size_t{1} << 26;
  if (block_bytes == 0 || block_bytes % group_bytes != 0 || block_bytes > kLargestBlock) return std::nullopt;
  return Facts{block_bytes, bytes / group_bytes * group_bytes};
}

/// Bytes of the compressed block at the beginning of `rest`, which is `n` bytes long when it is not compressed; nothing
/// when it does not lie within.
std::optional<std::size_t> block_at(std::span<const std::byte> rest, std::size_t n) noexcept {
  if (rest.size() < 4) return std::nullopt;
  const std::size_t packed = get_big_endian(rest.data(), 4);
  if (packed > rest.size() - 4 || packed > static_cast<std::size_t>(LZ4_compressBound(static_cast<int>(n)))) {
    return std::nullopt;
  }
  return packed;
}

/// Blocks of `out` from `first` to `last`, of which the first one's length is at the beginning of `rest`. False when
/// one is bad; `rest` then ends up anywhere in it.
bool decode_blocks(std::span<const std::byte>& rest, std::size_t element_bytes, const Facts& facts, std::size_t first,
                   std::size_t last, std::byte* out, std::vector<std::byte>& planes) {
  planes.resize(std::max(planes.size(), std::min(facts.block_bytes, facts.shuffled_bytes)));
  for (std::size_t at = first; at < last; at += facts.block_bytes) {
    const std::size_t n = std::min(facts.block_bytes, facts.shuffled_bytes - at);
    const auto packed = block_at(rest, n);
    if (!packed) return false;
    const int got = LZ4_decompress_safe(chars(rest.data() + 4), chars(planes.data()), static_cast<int>(*packed),
                                        static_cast<int>(n));
    if (got < 0 || static_cast<std::size_t>(got) != n) return false;
    unshuffle(planes.data(), out + at, n / element_bytes, element_bytes);
    rest = rest.subspan(4 + *packed);
  }
  return true;
}

bool copy_rest(std::span<const std::byte> rest, const Facts& facts, std::span<std::byte> out) noexcept {
  if (rest.size() != out.size() - facts.shuffled_bytes) return false;
  if (!rest.empty()) std::memcpy(out.data() + facts.shuffled_bytes, rest.data(), rest.size());
  return true;
}

}  // namespace

bool decompress(std::span<const std::byte> chunk, std::size_t element_bytes, std::span<std::byte> out) {
  const auto facts = facts_of(chunk, element_bytes, out.size());
  if (!facts) return false;
  std::vector<std::byte> planes;
  std::span<const std::byte> rest = chunk.subspan(kHeaderBytes);
  return decode_blocks(rest, element_bytes, *facts, 0, facts->shuffled_bytes, out.data(), planes) &&
         copy_rest(rest, *facts, out);
}

ThreadedCodec::ThreadedCodec(std::size_t element_bytes, unsigned threads) : element_bytes_(element_bytes) {
  if (threads == 0) throw ConfigError("bitshuffle_lz4: 0 threads are not possible; give 1 or more");
  for (unsigned i = 0; i < threads; ++i) compressors_.emplace_back(element_bytes);
  planes_.resize(threads);
  team_ = std::make_unique<memory::Team>(threads - 1, -1, "codec");
}
ThreadedCodec::~ThreadedCodec() = default;

namespace {
// Several tasks a thread, so that threads end together.
constexpr std::size_t kTasks = 4;
}  // namespace

std::size_t ThreadedCodec::compress(std::span<const std::byte> in, std::span<std::byte> out) {
  if (compressors_.size() == 1) return compressors_[0].compress(in, out);
  if (in.size() % element_bytes_ != 0 || out.size() < compressed_bound(in.size(), element_bytes_)) return 0;
  const std::size_t parts = kTasks * compressors_.size();
  pieces_.resize(parts);
  std::vector<std::size_t> bytes(parts);
  const auto part = [&](std::size_t number) { return part_of(in.size(), element_bytes_, number, parts); };
  for (std::size_t number = 1; number < parts; ++number) {
    const Part one = part(number);
    const std::size_t bound = compressed_bound(one.last - one.first, element_bytes_);
    if (pieces_[number].size() < bound) pieces_[number].resize(bound);
  }
  team_->run(static_cast<std::uint32_t>(parts), [&](unsigned worker, std::size_t number) {
    bytes[number] =
        compressors_[worker].compress_part(in, part(number), number == 0 ? out : std::span(pieces_[number]));
  });
  std::vector<std::size_t> at(parts + 1);
  for (std::size_t number = 0; number < parts; ++number) at[number + 1] = at[number] + bytes[number];
  team_->run(static_cast<std::uint32_t>(parts - 1), [&](unsigned, std::size_t task) {
    const std::size_t number = task + 1;
    if (bytes[number] > 0) std::memcpy(out.data() + at[number], pieces_[number].data(), bytes[number]);
  });
  return at[parts];
}

bool ThreadedCodec::decompress(std::span<const std::byte> chunk, std::span<std::byte> out) {
  const auto facts = facts_of(chunk, element_bytes_, out.size());
  if (!facts) return false;
  // Where the tasks' first blocks are: all lengths are read once, and proven to lie within.
  const std::size_t blocks = (facts->shuffled_bytes + facts->block_bytes - 1) / facts->block_bytes;
  const std::size_t tasks = std::min(std::max<std::size_t>(blocks, 1), kTasks * planes_.size());
  std::vector<std::span<const std::byte>> rests(tasks);
  std::span<const std::byte> rest = chunk.subspan(kHeaderBytes);
  const auto begin = [&](std::size_t task) { return blocks * task / tasks; };
  for (std::size_t block = 0, task = 0; block < blocks; ++block) {
    if (block == begin(task)) rests[task++] = rest;
    const auto packed =
        block_at(rest, std::min(facts->block_bytes, facts->shuffled_bytes - block * facts->block_bytes));
    if (!packed) return false;
    rest = rest.subspan(4 + *packed);
  }
  if (!copy_rest(rest, *facts, out)) return false;
  if (blocks == 0) return true;
  std::atomic<bool> good{true};  // relaxed: the team's end orders what its threads have found
  team_->run(static_cast<std::uint32_t>(tasks), [&](unsigned worker, std::size_t task) {
    const std::size_t last = std::min(begin(task + 1) * facts->block_bytes, facts->shuffled_bytes);
    if (!decode_blocks(rests[task], element_bytes_, *facts, begin(task) * facts->block_bytes, last, out.data(),
                       planes_[worker])) {
      good.store(false, std::memory_order_relaxed);
    }
  });
  return good.load(std::memory_order_relaxed);
}

}  // namespace rashpa::kernel::bitshuffle_lz4
