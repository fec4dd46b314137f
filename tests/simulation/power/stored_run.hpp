// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A run of a sink that writes files, drawn from a seed: its images, and what must be found of them.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "rashpa/sink/hdf5_config.hpp"

namespace rashpa::simulation::power {

struct StoredRun {
  std::uint64_t seed = 0;
  sink::ImageForm form = sink::ImageForm::dense;
  std::uint32_t width = 32, height = 32;
  std::uint64_t images = 8, stack = 2;
  std::uint32_t images_per_file = 4;
  unsigned threads = 1, in_flight = 2;
  bool tables = false, accumulations = false;
  bool earlier = false;                        ///< a run of the same name was there before
  bool end_known = true;                       ///< else it is told
  std::uint64_t in_series = 0;                 ///< images of a series; 0: one run of files
  bool converted = false;                      ///< a raw run, afterwards
  std::uint64_t room_to_convert = UINT64_MAX;  ///< bytes
  bool killed = false;                         ///< before its end, and repaired
  std::uint64_t room = UINT64_MAX;             ///< bytes of the disk
  bool names_by_any_sync = true;               ///< as on file systems with a journal

  [[nodiscard]] std::string describe() const;
  /// Of its files, in order of images.
  [[nodiscard]] std::vector<std::string> names() const;
  [[nodiscard]] std::size_t pixels() const noexcept { return std::size_t{width} * height; }
  [[nodiscard]] bool accepted(std::uint64_t image) const noexcept { return image % 7 != 3; }
  /// Frame numbers of the earlier run are others.
  [[nodiscard]] std::uint64_t frame(std::uint64_t image, bool of_earlier) const noexcept {
    return (of_earlier ? 1'000'000U : 100U) + image;
  }
  /// None of them is 0: what was never written is seen.
  [[nodiscard]] std::vector<std::uint16_t> image(std::uint64_t frame) const;
  [[nodiscard]] std::uint32_t rows(std::uint64_t frame) const noexcept {
    return tables ? static_cast<std::uint32_t>(1 + frame % 90) : 0;
  }
  /// Of a row of its table.
  [[nodiscard]] std::uint64_t value(std::uint64_t frame, std::uint32_t row) const noexcept {
    return frame * 1000 + row + 1;
  }
  [[nodiscard]] double bin(std::uint64_t frame, std::size_t bin) const noexcept {
    return static_cast<double>(frame) + static_cast<double>(bin) / 1024 + 1;
  }
  /// That end with a stack.
  [[nodiscard]] std::uint64_t whole_windows() const noexcept { return images / 4; }
  [[nodiscard]] std::int64_t sum(std::uint64_t window, std::size_t pixel) const noexcept {
    return static_cast<std::int64_t>(window * 100'000 + pixel % 1000 + 1);
  }
};

inline constexpr std::size_t kBins = 700;                   // of its profile
inline constexpr const char* kConvertedName = "converted";  // of the files that are made of raw ones

StoredRun draw_stored(std::uint64_t seed);
sink::Hdf5Config config_of(const StoredRun& run, const std::filesystem::path& folder);
/// Plays it in a world of its own on a disk that records, and stores the trace. Throws.
void record(const StoredRun& run, const std::filesystem::path& folder, const std::filesystem::path& trace);

}  // namespace rashpa::simulation::power
