// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The common part of kernels that find peaks: the peak, the columns of an image and of its table, and the pass. One
/// thread processes an image, and the pass keeps the rows.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/frame/results.hpp"
#include "rashpa/kernel/contract/declaration.hpp"
#include "rashpa/kernel/contract/step.hpp"
#include "rashpa/kernel/peaks/peak.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::peaks {

inline std::vector<Column> numbers() {
  return {{.name = "n_peaks", .unit = "peaks", .doc = "Peaks of the image"},
          {.name = "peak_intensity", .type = Column::Type::f64, .doc = "Sum of their intensities"},
          {.name = "empty_rings", .unit = "rings", .doc = "Rings without background: no pixel of theirs is left"}};
}

/// The descriptions of the table's columns that differ between peak finders.
struct Docs {
  const char* intensity;
  const char* snr;
  const char* pixels;
  const char* largest;
  const char* background;
};
inline std::vector<Column> columns(const Docs& docs) {
  constexpr auto kReal = Column::Type::f64;
  return {{.name = "x", .type = kReal, .unit = "pixels", .doc = "Column of the centre"},
          {.name = "y", .type = kReal, .unit = "pixels", .doc = "Row of the centre"},
          {.name = "intensity", .type = kReal, .doc = docs.intensity},
          {.name = "snr", .type = kReal, .doc = docs.snr},
          {.name = "pixels", .unit = "pixels", .doc = docs.pixels},
          {.name = "largest", .type = kReal, .doc = docs.largest},
          {.name = "background", .type = kReal, .doc = docs.background}};
}

/// Writes a row of the table; returns the next row.
inline Scalar* write(const Peak& peak, Scalar* row) noexcept {
  for (const double value : {peak.x, peak.y, peak.intensity, peak.snr}) *row++ = Scalar::of_real(value);
  *row++ = Scalar::of_count(peak.pixels);
  for (const double value : {peak.largest, peak.background}) *row++ = Scalar::of_real(value);
  return row;
}

/// The peaks of one image.
struct Found {
  std::size_t peaks = 0;  ///< more than there is room for makes the image errored
  double intensity = 0;
  std::uint32_t empty = 0;  ///< number of rings without background
  const Scalar* rows = nullptr;
};

/// The table rows of all images. One thread at a time for each place.
class Rows {
 public:
  /// Takes the memory. Throws ResourceError.
  Rows(const Declaration& declaration, std::size_t most, std::uint32_t places)
      : name_(declaration.name),
        parameter_(declaration.made(Port::Kind::table)->capacity),
        columns_(declaration.made(Port::Kind::table)->columns.size()),
        most_(most),
        rows_(std::size_t{places} * most_ * columns_ * sizeof(Scalar), memory::MemoryKind::huge) {}
  /// Stores the peaks of an image. `count` is the number found, `peaks` has the first of them, and `empty` is the
  /// number of rings without background.
  Found keep(std::uint32_t place, std::span<const Peak> peaks, std::size_t count, std::uint32_t empty) noexcept {
    Scalar* row = reinterpret_cast<Scalar*>(rows_.data()) + std::size_t{place} * most_ * columns_;
    Found found{count, 0, empty, row};
    for (std::size_t i = 0; i < std::min(count, most_); ++i) {
      found.intensity += peaks[i].intensity;
      row = write(peaks[i], row);
    }
    return found;
  }
  void finish(const Found& found, Finding& finding) noexcept {
    finding.scalars[0] = Scalar::of_count(found.peaks);
    finding.scalars[1] = Scalar::of_real(found.intensity);
    finding.scalars[2] = Scalar::of_count(found.empty);
    finding.failed = found.peaks > most_;
    if (finding.failed) {
      std::size_t none = 0;
      too_many_.compare_exchange_strong(none, found.peaks, std::memory_order_relaxed);
    } else {
      finding.table = {found.rows, static_cast<std::uint32_t>(found.peaks)};
    }
  }
  [[nodiscard]] std::string failure() const {
    const std::size_t found = too_many_.load(std::memory_order_relaxed);
    if (found == 0) return {};
    return fmt::format("kernel {}: {} peaks are found in an image, and its table holds {}; set a larger {}", name_,
                       found, most_, parameter_);
  }

 private:
  std::string name_;
  std::string parameter_;
  std::size_t columns_;
  std::size_t most_;
  memory::Buffer rows_;                   // Scalar [place][row][column]
  std::atomic<std::size_t> too_many_{0};  // relaxed: threads of a unit write, the pass reads after they have met
};

/// The pass with a Finder for each thread, made from the kernel's Config, the shape, and the lookup that all of them
/// share.
template <typename Finder, typename Config, typename Lookup>
class Pass final : public CpuPass {
 public:
  Pass(const Declaration& declaration, const Config& config, const Setup& setup, Lookup lookup)
      : format_(setup.in),
        lookup_(std::move(lookup)),
        found_(setup.stack),
        rows_(declaration, config.max_peaks, setup.places) {
    for (unsigned worker = 0; worker < setup.workers; ++worker) {
      workers_.push_back(
          std::make_unique<Worker>(Worker{{config, setup.shape, lookup_}, std::vector<Peak>(config.max_peaks)}));
    }
  }

  [[nodiscard]] Grain grain() const noexcept override { return Grain::image; }
  void begin(std::size_t /*items*/) noexcept override {}
  void run(unsigned worker, const Items& items, std::size_t /*first*/, std::size_t /*last*/) noexcept override {
    Worker& own = *workers_[worker];
    for (std::size_t i = 0; i < items.count; ++i) {
      const std::size_t count = own.finder.find(items.in[i], format_, own.peaks);
      found_[items.first + i] = rows_.keep(items.place[i], own.peaks, count, own.finder.empty());
    }
  }
  void finish(std::size_t item, Finding& finding) noexcept override { rows_.finish(found_[item], finding); }
  [[nodiscard]] std::string failure() const override { return rows_.failure(); }

 private:
  struct Worker {
    Finder finder;
    std::vector<Peak> peaks;
  };
  PixelFormat format_;
  Lookup lookup_;
  std::vector<Found> found_;  // by item
  Rows rows_;
  std::vector<std::unique_ptr<Worker>> workers_;  // each on memory of its own
};

}  // namespace rashpa::kernel::peaks
