// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The frames of modules as DTPs read them: from the dataset, or turned, in memory of the emulator.
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

/// The frames of one module; they outlive this object.
struct ModuleFrames {
  const dataset::Dataset* dataset = nullptr;
  std::uint32_t module = 0;  ///< number in `dataset`; a turned module has a dataset of its own

  [[nodiscard]] dataset::ModuleShape shape() const noexcept { return dataset->shape(); }
  /// Returns the number of distinct frames. Frame number n of a run is frame n mod frames().
  [[nodiscard]] std::uint64_t frames() const noexcept { return dataset->frames(); }
  [[nodiscard]] const std::byte* frame(std::uint64_t frame) const noexcept { return dataset->frame(module, frame); }
  [[nodiscard]] std::uint32_t flags(std::uint64_t frame) const noexcept { return dataset->flags(frame); }
  friend bool operator==(const ModuleFrames&, const ModuleFrames&) = default;
};

/// All frames that an emulator plays: the dataset, which outlives it, and copies of modules' frames in other
/// orientations. The set-up thread adds copies; any thread calls of().
class ModuleFramesStore {
 public:
  explicit ModuleFramesStore(const dataset::Dataset& dataset) : dataset_(dataset) {}
  /// Makes the turned copy unless it exists. Throws as dataset::turned_frames().
  void add(std::uint32_t module, Orientation way);
  /// Returns the frames of a module in an orientation that was added.
  [[nodiscard]] ModuleFrames of(const transfer::Dtp& dtp) const;
  /// Returns the memory blocks with all frames, which an RNIC registers.
  [[nodiscard]] std::vector<std::span<const std::byte>> memory() const;
  /// Returns the bytes of the copies.
  [[nodiscard]] std::uint64_t copied_bytes() const noexcept;

 private:
  const dataset::Dataset& dataset_;
  std::map<std::pair<std::uint32_t, Orientation>, std::unique_ptr<const dataset::MemoryDataset>> turned_;
};

}  // namespace rashpa::emulator
