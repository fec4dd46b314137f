// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The frames of modules as DTPs read them: from the dataset, or turned or reduced, in memory of the emulator.
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "rashpa/core/image/orientation.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/dataset/dataset.hpp"
#include "rashpa/dataset/memory_dataset.hpp"
#include "rashpa/dataset/reduction.hpp"
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

/// All frames that an emulator plays: the dataset, which outlives it, copies of modules' frames in other orientations,
/// and reduced frames. The set-up thread adds copies; any thread calls of().
class ModuleFramesStore {
 public:
  explicit ModuleFramesStore(const dataset::Dataset& dataset) : dataset_(dataset) {}
  /// Makes the turned copy unless it exists. Throws as dataset::turned_frames().
  void add(std::uint32_t module, Orientation way);
  /// Makes the reduced frames of a DTP, unless another DTP has the same, and sets `dtp.region` to the whole reduced
  /// frame. Throws as dataset::reduced_frames().
  void reduce(transfer::Dtp& dtp, const dataset::Reduction& reduction);
  /// Returns the frames of a DTP whose orientation was added, or which was reduced.
  [[nodiscard]] ModuleFrames of(const transfer::Dtp& dtp) const;
  /// Returns the memory blocks with all frames, which an RNIC registers.
  [[nodiscard]] std::vector<std::span<const std::byte>> memory() const;
  /// Returns the bytes of the copies.
  [[nodiscard]] std::uint64_t copied_bytes() const noexcept;

 private:
  struct Reduced {
    std::uint32_t module = 0;
    Orientation way{};
    Region region{};
    dataset::Reduction reduction{};
    std::unique_ptr<const dataset::MemoryDataset> frames{};
  };
  const dataset::Dataset& dataset_;
  std::vector<Reduced> reduced_;
  std::map<std::uint32_t, const dataset::MemoryDataset*> reduced_of_;  // by id of the DTP
  std::map<std::pair<std::uint32_t, Orientation>, std::unique_ptr<const dataset::MemoryDataset>> turned_;
};

}  // namespace rashpa::emulator
