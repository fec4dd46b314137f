// SPDX-License-Identifier: Apache-2.0
#include "rashpa/emulator/module_frames.hpp"

#include "rashpa/dataset/turned_frames.hpp"

namespace rashpa::emulator {

void ModuleFramesStore::add(std::uint32_t module, Orientation way) {
  if (way.upright() || turned_.contains({module, way})) return;
  turned_[{module, way}] = dataset::turned_frames(dataset_, module, way);
}

ModuleFrames ModuleFramesStore::of(const transfer::Dtp& dtp) const {
  if (dtp.orientation.upright()) return {&dataset_, dtp.module};
  return {turned_.at({dtp.module, dtp.orientation}).get(), 0};
}

std::vector<std::span<const std::byte>> ModuleFramesStore::memory() const {
  std::vector<std::span<const std::byte>> blocks{dataset_.memory()};
  for (const auto& [key, frames] : turned_) blocks.push_back(frames->memory());
  return blocks;
}

std::uint64_t ModuleFramesStore::copied_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (const auto& [key, frames] : turned_) bytes += frames->memory().size();
  return bytes;
}

}  // namespace rashpa::emulator
