#include "rashpa/dataset/raw_dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>

#include "rashpa/core/error.hpp"
#include "rashpa/dataset/byte_stream.hpp"
#include "rashpa/dataset/npy_header.hpp"

namespace rashpa::dataset {

namespace {

constexpr std::uint32_t kLargestHeader = 1U << 20;

/// What is known of a file before its frames are read.
struct Plan {
  std::string path;
  Compression compression = Compression::none;
  std::uint64_t skip = 0;          // bytes before the first frame
  std::uint64_t header_bytes = 0;  // bytes before each frame
  std::uint64_t frames = 0;
};

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw FileError(fmt::format("dataset: {}: {}", path, why));
}

struct Storage {
  Compression compression;
  enum class Content : std::uint8_t { bin, npy, by_magic } content;
};

Storage storage_of(const std::string& path, RawFormat format) {
  using Content = Storage::Content;
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

/// Checks the array against `shape`, which it sets when it is still empty. The frames are the product of the other
/// axes.
std::uint64_t frames_of(const NpyHeader& header, const std::string& path, ModuleShape& shape) {
  const std::size_t axes = header.shape.size();
  if (axes != 2 && axes != 3) {
    fail(path, fmt::format("an array of {} axes is not frames; save [row][column] or [frame][row][column]", axes));
  }
  const std::uint64_t height = header.shape[axes - 2];
  const std::uint64_t width = header.shape[axes - 1];
  if (width > kLargestSide || height > kLargestSide)
    fail(path, fmt::format("frames of {} x {} pixels are too large", width, height));
  const ModuleShape found{static_cast<std::uint32_t>(width), static_cast<std::uint32_t>(height), header.pixel};
  if (shape.width == 0 && shape.height == 0) shape = found;
  if (found.width != shape.width || found.height != shape.height || found.pixel != shape.pixel) {
    fail(path, fmt::format("its frames are {} x {} {}, not {} x {} {} as the dataset's others", found.width,
                           found.height, pixel_name(found.pixel), shape.width, shape.height, pixel_name(shape.pixel)));
  }
  return axes == 3 ? header.shape[0] : 1;
}

Plan plan_of(const std::string& path, const RawOptions& options, ModuleShape& shape) {
  const Storage storage = storage_of(path, options.format);
  Plan plan{path, storage.compression, 0, options.header_bytes, 0};
  ByteStream stream(path, storage.compression);
  std::array<std::byte, kNpyPrefix> prefix{};
  std::uint64_t size = stream.read(prefix);
  const std::span<const std::byte> head = std::span(prefix).first(size);
  if (storage.content == Storage::Content::npy || (storage.content == Storage::Content::by_magic && is_npy(head))) {
    if (size < kNpyPrefix) fail(path, "it is too short for a .npy file");
    try {
      plan.skip = npy_data_offset(prefix);
      std::vector<std::byte> header(plan.skip);
      std::copy(prefix.begin(), prefix.end(), header.begin());
      size += stream.read(std::span(header).subspan(kNpyPrefix));
      plan.frames = frames_of(parse_npy_header(std::span(header).first(size)), path, shape);
    } catch (const FileError& error) {
      const std::string why = error.what();
      if (why.starts_with("dataset:")) throw;
      fail(path, why);
    }
    plan.header_bytes = 0;
  } else if (shape.width == 0) {
    throw ConfigError(fmt::format("dataset: {} has no header; give width, height and pixel type", path));
  }
  check_shape(shape, 1);
  size += stream.skip_rest();
  const std::uint64_t one = plan.header_bytes + shape.frame_bytes();
  const std::uint64_t rest = size - plan.skip;
  if (plan.skip == 0) plan.frames = rest / one;
  if (plan.frames == 0 || rest % one != 0 || rest / one != plan.frames) {
    fail(path, fmt::format(
                   "{} bytes are not {} frame(s) of {} bytes ({} x {} {}, {} header bytes); check width, height, pixel "
                   "and header_bytes",
                   rest, plan.skip == 0 ? "a whole number of" : fmt::format("{}", plan.frames), one, shape.width,
                   shape.height, pixel_name(shape.pixel), plan.header_bytes));
  }
  return plan;
}

std::uint64_t read_frames(const Plan& plan, std::uint32_t module, std::uint64_t first, MemoryDataset& out) {
  ByteStream stream(plan.path, plan.compression);
  bool whole = stream.skip(plan.skip) == plan.skip;
  std::vector<std::byte> header(plan.header_bytes);
  for (std::uint64_t i = 0; i < plan.frames && whole; ++i) {
    const std::span<std::byte> frame = out.writable(module, first + i);
    whole = stream.read(header) == header.size() && stream.read(frame) == frame.size();
  }
  if (!whole) fail(plan.path, "it became shorter while it was read");
  return first + plan.frames;
}

}  // namespace

RawFormat raw_format(std::string_view name) {
  constexpr std::array<std::string_view, 4> names{"auto", "bin", "zst", "npy"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<RawFormat>(i);
  }
  throw ConfigError(fmt::format("dataset: no file format '{}'; choose auto, bin, zst or npy", name));
}

std::unique_ptr<MemoryDataset> load_raw(const std::vector<std::vector<std::string>>& files, const RawOptions& options) {
  if (options.header_bytes > kLargestHeader) {
    throw ConfigError(
        fmt::format("dataset: {} header bytes a frame are too many; 1048576 is the limit", options.header_bytes));
  }
  const bool known = options.shape.width != 0 || options.shape.height != 0;
  if (files.empty() || files.front().empty()) throw ConfigError("dataset: no files; give at least one for each module");
  if (known || files.size() > kMostModules)
    check_shape(known ? options.shape : ModuleShape{1, 1}, static_cast<std::uint32_t>(files.size()));
  ModuleShape shape = options.shape;
  std::vector<std::vector<Plan>> plans(files.size());
  std::vector<std::uint64_t> frames(files.size(), 0);
  for (std::size_t module = 0; module < files.size(); ++module) {
    for (const std::string& path : files[module]) {
      plans[module].push_back(plan_of(path, options, shape));
      frames[module] += plans[module].back().frames;
    }
    if (frames[module] != frames[0]) {
      throw FileError(
          fmt::format("dataset: module {} has {} frames and module 0 has {}; all modules need the same number", module,
                      frames[module], frames[0]));
    }
  }
  auto out = std::make_unique<MemoryDataset>(shape, static_cast<std::uint32_t>(files.size()), frames[0]);
  for (std::size_t module = 0; module < files.size(); ++module) {
    std::uint64_t next = 0;
    for (const Plan& plan : plans[module]) next = read_frames(plan, static_cast<std::uint32_t>(module), next, *out);
  }
  return out;
}

}  // namespace rashpa::dataset
