// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/files/raw_dataset.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rashpa/core/error.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::dataset {

namespace {

constexpr std::uint32_t kLargestHeader = 1U << 20;

}  // namespace

std::unique_ptr<MemoryDataset> load_raw(const std::vector<std::vector<std::string>>& files, const RawOptions& options,
                                        Making* making) {
  if (options.header_bytes > kLargestHeader) {
    throw ConfigError(
        fmt::format("dataset: {} header bytes a frame are too many; give 1048576 or fewer", options.header_bytes));
  }
  const bool known = options.shape.width != 0 || options.shape.height != 0;
  if (files.empty() || files.front().empty()) throw ConfigError("dataset: no files; give at least one for each module");
  if (known || files.size() > kMostModules)
    check_shape(known ? options.shape : ModuleShape{1, 1}, static_cast<std::uint32_t>(files.size()));
  ModuleShape shape = options.shape;
  const std::uint64_t most_bytes = memory::available_bytes();
  std::vector<std::vector<RawPlan>> plans(files.size());
  std::vector<std::uint64_t> frames(files.size(), 0);
  for (std::size_t module = 0; module < files.size(); ++module) {
    for (const std::string& path : files[module]) {
      const RawStorage storage = raw_storage(path, options.format);
      ByteStream file(path, storage.compression);
      plans[module].push_back(plan_raw(file, storage.content, options.header_bytes, shape, most_bytes));
      frames[module] += plans[module].back().frames;
    }
    if (frames[module] != frames[0]) {
      throw FileError(
          fmt::format("dataset: module {} has {} frames and module 0 has {}; give all modules the same number", module,
                      frames[module], frames[0]));
    }
  }
  auto out = std::make_unique<MemoryDataset>(shape, static_cast<std::uint32_t>(files.size()), frames[0]);
  if (making != nullptr) making->begin(files.size() * frames[0]);
  for (std::size_t module = 0; module < files.size(); ++module) {
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < files[module].size(); ++i) {
      const RawPlan& plan = plans[module][i];
      ByteStream file(files[module][i], raw_storage(files[module][i], options.format).compression);
      read_raw(file, plan, [&](std::uint64_t n) {
        if (making != nullptr) making->count();
        return out->writable(static_cast<std::uint32_t>(module), first + n);
      });
      first += plan.frames;
    }
  }
  return out;
}

}  // namespace rashpa::dataset
