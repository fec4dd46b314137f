// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/files/raw_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/dataset/files/npy_header.hpp"
#include "rashpa/dataset/memory_dataset.hpp"

namespace rashpa::dataset {

namespace {

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw FileError(fmt::format("dataset: {}: {}", path, why));
}

/// Checks the array against `shape`, which it sets when it is still empty. The frames are the product of the other
/// axes.
std::uint64_t frames_of(const NpyHeader& header, const std::string& path, ModuleShape& shape) {
  const std::size_t axes = header.shape.size();
  if (axes != 2 && axes != 3) {
    fail(path, fmt::format("an array of {} axes is not frames; save [row][column] or [frame][row][column]", axes));
  }
  const std::uint64_t height = header.shape[axes - 2];
  const std::uint64_t width = header.shape[axes - 1];
  if (width == 0 || height == 0 || width > kLargestSide || height > kLargestSide) {
    fail(path, fmt::format("frames of {} x {} pixels are not possible; width and height are 1 to {}", width, height,
                           kLargestSide));
  }
  const ModuleShape found{static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), header.pixel};
  if (shape.width == 0 && shape.height == 0) shape = found;
  if (found.width != shape.width || found.height != shape.height || found.pixel != shape.pixel) {
    fail(path, fmt::format("its frames are {} x {} {}, and the dataset has {} x {} {}; give files of its size and type",
                           found.width, found.height, pixel_name(found.pixel), shape.width, shape.height,
                           pixel_name(shape.pixel)));
  }
  return axes == 3 ? header.shape[0] : 1;
}

/// The plan of a `.npy` file, of which `prefix` was read, and the rest of the header now.
RawPlan plan_of_npy(ByteStream& file, std::span<const std::byte> prefix, ModuleShape& shape) {
  if (prefix.size() < kNpyPrefix) fail(file.path(), "it is too short for a .npy file; copy it again");
  RawPlan plan;
  NpyHeader parsed;
  std::vector<std::byte> header(prefix.begin(), prefix.end());
  try {
    plan.skip = npy_data_offset(prefix.first<kNpyPrefix>());
    header.resize(plan.skip);
    const std::size_t more = file.read(std::span(header).subspan(kNpyPrefix));
    parsed = parse_npy_header(std::span(header).first(kNpyPrefix + more));
  } catch (const FileError& error) {
    const std::string why = error.what();
    if (why.starts_with("dataset:")) throw;
    fail(file.path(), why);
  }
  plan.frames = frames_of(parsed, file.path(), shape);
  return plan;
}

/// The expected content of a file, in words.
std::string expected(const RawPlan& plan, std::uint64_t one, ModuleShape shape) {
  return fmt::format("{} frame(s) of {} bytes ({} x {} {}, {} header bytes)",
                     plan.skip == 0 ? "a whole number of" : fmt::format("{}", plan.frames), one, shape.width,
                     shape.height, pixel_name(shape.pixel), plan.header_bytes);
}

}  // namespace

RawFormat raw_format(std::string_view name) {
  constexpr std::array<std::string_view, 4> names{"auto", "bin", "zst", "npy"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<RawFormat>(i);
  }
  throw ConfigError(fmt::format("dataset: no file format '{}'; choose auto, bin, zst or npy", name));
}

RawStorage raw_storage(std::string_view path, RawFormat format) noexcept {
  using Content = RawStorage::Content;
  switch (format) {
    case RawFormat::bin:
      return {Compression::none, Content::bin};
    case RawFormat::zst:
      return {Compression::zstd, Content::by_magic};
    case RawFormat::npy:
      return {Compression::none, Content::npy};
    default:
      break;
  }
  if (path.ends_with(".npy")) return {Compression::none, Content::npy};
  if (path.ends_with(".npy.zst")) return {Compression::zstd, Content::npy};
  return {path.ends_with(".zst") ? Compression::zstd : Compression::none, Content::bin};
}

RawPlan plan_raw(ByteStream& file, RawStorage::Content content, std::uint32_t header_bytes, ModuleShape& shape,
                 std::uint64_t most_bytes) {
  using Content = RawStorage::Content;
  std::array<std::byte, kNpyPrefix> first{};
  const std::span<const std::byte> prefix = std::span(first).first(file.read(first));
  RawPlan plan{.skip = 0, .header_bytes = header_bytes, .frames = 0};
  const bool npy = content == Content::npy || (content == Content::by_magic && is_npy(prefix));
  if (npy) {
    plan = plan_of_npy(file, prefix, shape);
  } else if (shape.width == 0) {
    throw ConfigError(fmt::format("dataset: {} has no header; set width, height and pixel of [dataset]", file.path()));
  }
  check_shape(shape, 1);
  const std::uint64_t one = plan.header_bytes + shape.frame_bytes();
  if (npy && plan.frames > most_bytes / one) {
    fail(file.path(), fmt::format("it says that it has {}; {} bytes are the most that this machine has room for",
                                  expected(plan, one, shape), most_bytes));
  }
  // One byte more than there may be is enough to know.
  const std::uint64_t begun = npy ? 0 : prefix.size();
  const std::uint64_t most = npy ? plan.frames * one : most_bytes;
  const std::uint64_t rest = begun + file.skip_rest(most + 1 - std::min(begun, most));
  if (!npy && rest > most) {
    fail(file.path(), fmt::format("it holds more than {} bytes, the most that this machine has room for; give fewer or "
                                  "smaller files, or look whether it is damaged",
                                  most));
  }
  if (!npy) plan.frames = rest / one;
  if (plan.frames == 0 || rest != plan.frames * one) {
    fail(file.path(), fmt::format("{}{} bytes are not {}; check width, height, pixel and header_bytes",
                                  rest > most ? "more than " : "", std::min(rest, most), expected(plan, one, shape)));
  }
  return plan;
}

void read_raw(ByteStream& file, const RawPlan& plan,
              const std::function<std::span<std::byte>(std::uint64_t frame)>& place) {
  bool whole = file.skip(plan.skip) == plan.skip;
  std::vector<std::byte> header(plan.header_bytes);
  for (std::uint64_t i = 0; i < plan.frames && whole; ++i) {
    const std::span<std::byte> frame = place(i);
    whole = file.read(header) == header.size() && file.read(frame) == frame.size();
  }
  if (!whole) fail(file.path(), "it became shorter while it was read; wait until its writer has closed it");
}

}  // namespace rashpa::dataset
