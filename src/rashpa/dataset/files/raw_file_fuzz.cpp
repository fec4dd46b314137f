// SPDX-License-Identifier: Apache-2.0
/// libFuzzer: a whole file of frames, in memory: header, frames, nothing behind them. The first byte chooses plain,
/// zstd, or zstd that is made here of the bytes (a mutated one rarely unpacks), and whether it is `.npy`; the second
/// the run file's description of it.
#include <zstd.h>

#include <array>
#include <cstdlib>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/dataset/files/raw_file.hpp"

namespace rashpa::dataset {
namespace {

constexpr std::uint64_t kMostBytes = 4096;

void check(bool ok) {
  if (!ok) std::abort();
}

std::vector<std::byte> packed(std::span<const std::byte> bytes) {
  static ZSTD_CCtx* const context = ZSTD_createCCtx();
  std::vector<std::byte> out(ZSTD_compressBound(bytes.size()));
  out.resize(ZSTD_compressCCtx(context, out.data(), out.size(), bytes.data(), bytes.size(), 1));
  return out;
}

void load(std::span<const std::byte> bytes, Compression compression, RawStorage::Content content,
          std::uint32_t header_bytes, ModuleShape shape) {
  static std::array<std::byte, kMostBytes> memory;
  ByteStream looked_at("fuzz", bytes, compression);
  const RawPlan plan = plan_raw(looked_at, content, header_bytes, shape, kMostBytes);
  check(plan.frames > 0 && plan.frames * (plan.header_bytes + shape.frame_bytes()) <= kMostBytes);
  ByteStream file("fuzz", bytes, compression);
  std::uint64_t placed = 0;
  read_raw(file, plan, [&](std::uint64_t n) {
    check(n == placed++);
    return std::span(memory).subspan(n * shape.frame_bytes(), shape.frame_bytes());
  });
  check(placed == plan.frames);
}

}  // namespace
}  // namespace rashpa::dataset

// Any bytes are frames, or an error of ours.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace rashpa::dataset;
  if (size < 2) return 0;
  const unsigned how = data[0];
  const unsigned said = data[1];
  const std::span bytes(reinterpret_cast<const std::byte*>(data) + 2, size - 2);
  const auto content = static_cast<RawStorage::Content>((how >> 2) % 3);
  ModuleShape shape;
  if ((said & 1U) != 0) shape = {1 + (said >> 1) % 8, 1 + (said >> 4) % 4, static_cast<rashpa::PixelType>(said % 6)};
  const std::uint32_t header_bytes = (how & 128U) != 0 ? 16 : 0;
  try {
    if (how % 4 == 3) {
      load(packed(bytes), Compression::zstd, content, header_bytes, shape);
    } else {
      load(bytes, how % 4 == 2 ? Compression::zstd : Compression::none, content, header_bytes, shape);
    }
  } catch (const rashpa::FileError&) {
  } catch (const rashpa::ConfigError&) {
  }
  return 0;
}
