// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The frames of modules as DTPs take them: as the dataset has them, or turned, in memory of the emulator.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rashpa/core/image/orientation.hpp"
#include "rashpa/dataset/dataset.hpp"
#include "rashpa/dataset/memory_dataset.hpp"
#include "rashpa/transfer/dtp_source.hpp"

namespace rashpa::emulator {

/// The frames of one module. The frames outlive it.
struct ModuleFrames {
  const dataset::Dataset* dataset = nullptr;
  std::uint32_t module = 0;  ///< in the dataset, which for a turned module is one of its own

  [[nodiscard]] dataset::ModuleShape shape() const noexcept { return dataset->shape(); }
  /// Different ones; frame number n of a run is played from frame n mod frames().
  [[nodiscard]] std::uint64_t frames() const noexcept { return dataset->frames(); }
  [[nodiscard]] const std::byte* frame(std::uint64_t frame) const noexcept { return dataset->frame(module, frame); }
  [[nodiscard]] std::uint32_t flags(std::uint64_t frame) const noexcept { return dataset->flags(frame); }
  friend bool operator==(const ModuleFrames&, const ModuleFrames&) = default;
};

/// All frames that an emulator plays: the dataset, which outlives it, and a copy of each module's frames for every
/// other orientation that is asked for. Set-up thread; `of` from any.
class ModuleFramesStore {
 public:
  explicit ModuleFramesStore(const dataset::Dataset& dataset) : dataset_(dataset) {}
  /// Makes the copy, unless it is there. Throws as dataset::turned_frames does.
  void add(std::uint32_t module, Orientation way);
  /// The frames of a module and orientation that was added.
  [[nodiscard]] ModuleFrames of(const transfer::Dtp& dtp) const;
  /// The blocks in which all frames lie, which an RNIC registers.
  [[nodiscard]] std::vector<std::span<const std::byte>> memory() const;
  /// Bytes of the copies.
  [[nodiscard]] std::uint64_t copied_bytes() const noexcept;

 private:
  const dataset::Dataset& dataset_;
  std::map<std::pair<std::uint32_t, Orientation>, std::unique_ptr<const dataset::MemoryDataset>> turned_;
};

}  // namespace rashpa::emulator
