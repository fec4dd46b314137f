// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/jungfrau/cells.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/jungfrau/constants.hpp"

namespace rashpa::kernel::jungfrau {

namespace {

std::size_t pixels_of(const Calibration& calibration) { return std::size_t{calibration.width} * calibration.height; }

/// Returns maps `[count · set, count · (set + 1))` of `all`; all of them where there is only one set.
std::vector<float> cut(const std::vector<float>& all, std::size_t set, std::size_t count) {
  if (all.size() <= count) return all;
  const auto first = all.begin() + static_cast<std::ptrdiff_t>(set * count);
  return {first, first + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

Cells::Cells(const Config& config) : cells_(config.cells) {
  set_of_.fill(kNoSet);
  if (!named()) return;
  for (std::size_t set = 0; set < cells_.size(); ++set) {
    const std::uint32_t cell = cells_[set];
    if (cell >= kCells) {
      throw ConfigError(fmt::format("calibration.cells: there is no storage cell {}; take 0 … {}", cell, kCells - 1));
    }
    if (set_of_[cell] != kNoSet) {
      throw ConfigError(fmt::format("calibration.cells: storage cell {} has two sets; name each cell once", cell));
    }
    set_of_[cell] = static_cast<std::uint8_t>(set);
  }
  const Calibration& calibration = config.calibration;
  const std::size_t one = kGainStages * pixels_of(calibration);
  const auto expect = [&](const char* name, std::size_t size) {
    if (size == one * cells_.size()) return;
    throw ConfigError(fmt::format("calibration.{}: {} values for {} storage cells of 3 × {} × {} pixels; give {}", name,
                                  size, cells_.size(), calibration.height, calibration.width, one * cells_.size()));
  };
  expect("pedestal", calibration.pedestal.size());
  if (calibration.gain.size() != one) expect("gain", calibration.gain.size());
  const std::size_t rms = calibration.rms.size();
  const std::size_t pixels = pixels_of(calibration);
  if (rms == 0 || rms == pixels || rms == pixels * cells_.size()) return;
  throw ConfigError(fmt::format("calibration.rms: {} values for {} storage cells of {} × {} pixels; give {}", rms,
                                cells_.size(), calibration.height, calibration.width, pixels * cells_.size()));
}

void Cells::refuse(std::uint8_t cell) const noexcept {
  std::uint32_t none = 0;
  // relaxed: failure() on any thread reads this number and nothing else that this thread has written
  refused_.compare_exchange_strong(none, cell + 1U, std::memory_order_relaxed);
}

std::string Cells::failure() const {
  // relaxed: as in refuse(), which runs on the unit's threads
  const std::uint32_t refused = refused_.load(std::memory_order_relaxed);
  if (refused == 0) return {};
  if (refused - 1 == kNoCell) return "its modules are of different storage cells; start them together";
  return fmt::format("it is of storage cell {}, and the calibration has {}; calibrate that cell", refused - 1,
                     fmt::join(cells_, ", "));
}

Config config_of_set(const Config& config, std::size_t set) {
  if (config.cells.empty()) return config;
  const Calibration& all = config.calibration;
  const std::size_t pixels = pixels_of(all);
  return Config{.photon_energy_kev = config.photon_energy_kev,
                .output = config.output,
                .calibration = {.width = all.width,
                                .height = all.height,
                                .pedestal = cut(all.pedestal, set, kGainStages * pixels),
                                .gain = cut(all.gain, set, kGainStages * pixels),
                                .mask = all.mask,
                                .rms = cut(all.rms, set, pixels),
                                .module_width = all.module_width,
                                .module_height = all.module_height,
                                .parts = all.parts},
                .borders = config.borders,
                .tracking = config.tracking};
}

std::vector<Prepared> prepared_sets(const Config& config) {
  std::vector<Prepared> all;
  if (config.cells.empty()) all.emplace_back(config);
  for (std::size_t set = 0; set < config.cells.size(); ++set) {
    all.emplace_back(config_of_set(config, set));
  }
  return all;
}

void refuse_cells(const Config& config, const std::string& unit) {
  if (config.cells.empty()) return;
  throw ConfigError(fmt::format(
      "unit: unit {} has no version of the kernel jungfrau for calibrations by storage cell; use unit cpu", unit));
}

}  // namespace rashpa::kernel::jungfrau
