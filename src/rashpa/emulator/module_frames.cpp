// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/module_frames.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rashpa/core/error.hpp"
#include "rashpa/dataset/reduced_frames.hpp"
#include "rashpa/dataset/turned_frames.hpp"

namespace rashpa::emulator {

void ModuleFramesStore::add(std::uint32_t module, Orientation way) {
  if (way.upright() || turned_.contains({module, way})) return;
  turned_[{module, way}] = dataset::turned_frames(dataset_, module, way);
}

void ModuleFramesStore::reduce(transfer::Dtp& dtp, const dataset::Reduction& reduction) {
  const auto same = [&](const Reduced& one) {
    return one.module == dtp.module && one.way == dtp.orientation && one.region == dtp.region &&
           one.reduction == reduction;
  };
  auto found = std::find_if(reduced_.begin(), reduced_.end(), same);
  if (found == reduced_.end()) {
    try {
      auto frames = dataset::reduced_frames(dataset_, dtp.module, dtp.orientation, dtp.region, reduction);
      reduced_.push_back({dtp.module, dtp.orientation, dtp.region, reduction, std::move(frames)});
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("emulator: DTP {}: {}", dtp.id, error.what()));
    } catch (const ResourceError& error) {
      throw ResourceError(fmt::format("emulator: reduced frames of DTP {}: {}", dtp.id, error.what()));
    }
    found = std::prev(reduced_.end());
  }
  const dataset::ModuleShape shape = found->frames->shape();
  dtp.region = {0, 0, shape.width, shape.height};
  reduced_of_[dtp.id] = found->frames.get();
}

ModuleFrames ModuleFramesStore::of(const transfer::Dtp& dtp) const {
  if (const auto reduced = reduced_of_.find(dtp.id); reduced != reduced_of_.end()) return {reduced->second, 0};
  if (dtp.orientation.upright()) return {&dataset_, dtp.module};
  return {turned_.at({dtp.module, dtp.orientation}).get(), 0};
}

std::vector<std::span<const std::byte>> ModuleFramesStore::memory() const {
  std::vector<std::span<const std::byte>> blocks{dataset_.memory()};
  for (const auto& [key, frames] : turned_) blocks.push_back(frames->memory());
  for (const Reduced& one : reduced_) blocks.push_back(one.frames->memory());
  return blocks;
}

std::uint64_t ModuleFramesStore::copied_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [key, frames] : turned_) bytes += frames->memory().size();
  for (const Reduced& one : reduced_) bytes += one.frames->memory().size();
  return bytes;
}

}  // namespace rashpa::emulator
