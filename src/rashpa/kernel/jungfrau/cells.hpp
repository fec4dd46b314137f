// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Calibrations with a set of pedestals for each storage cell. Each set is a plain calibration, so that images of one
/// cell convert as without cells (README.md).
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "rashpa/core/frame/storage_cell.hpp"
#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::kernel::jungfrau {

/// Finds the pedestal set of an image's cell, and records the first cell without a set. Any thread may call set_of().
class Cells {
 public:
  static constexpr std::uint8_t kNoSet = 0xFF;
  /// Reads the cells of a configuration. Throws ConfigError when a cell is named twice or out of range, or when there
  /// are too few pedestals, gains or RMS.
  explicit Cells(const Config& config);
  /// Returns false when one set is valid for all cells.
  [[nodiscard]] bool named() const noexcept { return !cells_.empty(); }
  /// Returns the set of `cell`; kNoSet: there is none, and its images must not be converted.
  [[nodiscard]] std::uint8_t set_of(std::uint8_t cell) const noexcept {
    if (!named()) return 0;
    return cell < kCells ? set_of_[cell] : kNoSet;
  }
  /// Records that an image of `cell`, which has no set, came. Any thread.
  void refuse(std::uint8_t cell) const noexcept;
  /// Returns why images were not converted, as CpuPass::failure() does.
  [[nodiscard]] std::string failure() const;

 private:
  std::vector<std::uint32_t> cells_;
  std::array<std::uint8_t, kCells> set_of_{};
  mutable std::atomic<std::uint32_t> refused_{0};  // the first one, + 1
};

/// Returns the configuration with set `set` alone, valid for all cells; `config` itself when it has no cells. `config`
/// must be one that Cells accepts.
Config config_of_set(const Config& config, std::size_t set);

/// Returns each set in the fast kernel's layout; one when the calibration has no cells. Throws as Prepared does.
std::vector<Prepared> prepared_sets(const Config& config);

/// Throws ConfigError that names the unit when the calibration has cells, which that unit does not support.
void refuse_cells(const Config& config, const std::string& unit);

}  // namespace rashpa::kernel::jungfrau
