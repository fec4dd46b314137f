// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What kernels that find peaks have in common: the columns of an image, and the pass that has each image looked at by
/// one thread and keeps the rows of its table.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "rashpa/core/results.hpp"
#include "rashpa/kernel/declaration.hpp"
#include "rashpa/kernel/step.hpp"
#include "rashpa/memory/buffer.hpp"

namespace rashpa::kernel::peaks {

/// Photons of any integer type, and float32.
inline std::vector<PixelType> pixel_types() {
  std::vector<PixelType> types = photon_types();
  types.push_back(PixelType::f32);
  return types;
}

inline std::vector<Column> numbers() {
  return {{.name = "n_peaks", .unit = "peaks", .doc = "Peaks of the image"},
          {.name = "peak_intensity", .type = Column::Type::f64, .doc = "Sum of their intensities"}};
}

/// In one image.
struct Found {
  std::size_t peaks = 0;  ///< more than there is room for: the image is errored
  double intensity = 0;
};

/// A worker with what it looks things up in.
template <typename Worker>
struct Held {
  std::shared_ptr<const void> needs;
  std::unique_ptr<Worker> worker;
};

/// `Worker::find(image, rows)` fills rows of a table with room for `most` and returns what it has Found.
template <typename Worker>
class Pass final : public CpuPass {
 public:
  template <typename Make>
  Pass(const Declaration& declaration, std::uint32_t most, const Setup& setup, Make make)
      : name_(declaration.name),
        parameter_(declaration.made(Port::Kind::table)->capacity),
        most_(most),
        columns_(declaration.made(Port::Kind::table)->columns.size()),
        found_(setup.stack),
        rows_of_(setup.stack),
        rows_(std::size_t{setup.places} * most * columns_ * sizeof(Scalar), memory::MemoryKind::huge) {
    for (unsigned worker = 0; worker < setup.workers; ++worker) workers_.push_back(make());
  }

  [[nodiscard]] Grain grain() const noexcept override { return Grain::image; }
  void begin(std::size_t /*items*/) noexcept override {}
  void run(unsigned worker, const Items& items, std::size_t /*first*/, std::size_t /*last*/) noexcept override {
    for (std::size_t i = 0; i < items.count; ++i) {
      Scalar* const rows = reinterpret_cast<Scalar*>(rows_.data()) + std::size_t{items.place[i]} * most_ * columns_;
      found_[items.first + i] = workers_[worker].worker->find(items.in[i], rows);
      rows_of_[items.first + i] = rows;
    }
  }
  void finish(std::size_t item, Finding& finding) noexcept override {
    const Found& found = found_[item];
    finding.scalars[0] = Scalar::of_count(found.peaks);
    finding.scalars[1] = Scalar::of_real(found.intensity);
    finding.failed = found.peaks > most_;
    if (finding.failed) {
      std::size_t none = 0;
      too_many_.compare_exchange_strong(none, found.peaks, std::memory_order_relaxed);
    } else {
      finding.table = {rows_of_[item], static_cast<std::uint32_t>(found.peaks)};
    }
  }
  [[nodiscard]] std::string failure() const override {
    const std::size_t found = too_many_.load(std::memory_order_relaxed);
    if (found == 0) return {};
    return fmt::format("kernel {}: {} peaks are found in an image, and its table holds {}; set a larger {}", name_,
                       found, most_, parameter_);
  }

 private:
  std::string name_;
  std::string parameter_;
  std::size_t most_;
  std::size_t columns_;
  std::vector<Found> found_;            // by item
  std::vector<const Scalar*> rows_of_;  // by item
  memory::Buffer rows_;                 // Scalar [place][row][column]
  std::vector<Held<Worker>> workers_;
  std::atomic<std::size_t> too_many_{0};
};

}  // namespace rashpa::kernel::peaks
