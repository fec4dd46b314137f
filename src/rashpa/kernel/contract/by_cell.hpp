// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <span>

namespace rashpa::kernel {

/// A CPU pass whose results depend on the storage cell of an image (core/frame/storage_cell.hpp).
class ByCell {
 public:
  virtual ~ByCell() = default;
  /// Takes the cell of each item of a stack, before CpuPass::begin(); kNoCell where modules differ. One thread.
  virtual void take_cells(std::span<const std::uint8_t> cells) noexcept = 0;
};

/// A step whose results depend on the storage cell of an image for some calibrations; reads_cells() returns true for
/// those.
class CellReading {
 public:
  virtual ~CellReading() = default;
  [[nodiscard]] virtual bool reads_cells() const noexcept = 0;
};

}  // namespace rashpa::kernel
