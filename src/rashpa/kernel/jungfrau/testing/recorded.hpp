// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Recorded frames and pedestals of a real module, and dark frames of another one, for tests:
/// ../shared/data/jungfrau_m049 and jungfrau_dark, relative to the working directory of the test.
#include <gtest/gtest.h>
#include <zstd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::kernel::jungfrau::recorded {

inline constexpr std::size_t kPixels = std::size_t{512} * 1024;
inline const std::filesystem::path kFolder = "../shared/data/jungfrau_m049";

inline const std::filesystem::path kDarks = "../shared/data/jungfrau_dark";

inline bool available() { return std::filesystem::exists(kFolder / "mod5_raw0.bin.zst"); }

inline bool darks_available() { return std::filesystem::exists(kDarks / "jungfrau_single_d0_f0_0.raw.zst"); }

inline std::string packed_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class T>
std::vector<T> load(const std::string& name) {
  const std::string packed = packed_bytes(kFolder / (name + ".zst"));
  std::vector<T> values(kPixels);
  EXPECT_EQ(ZSTD_decompress(values.data(), kPixels * sizeof(T), packed.data(), packed.size()), kPixels * sizeof(T))
      << name;
  return values;
}

/// Returns recorded dark frames. The files are those of the SLS receiver, with a header of 112 bytes before each frame.
inline std::vector<std::vector<std::uint16_t>> darks() {
  constexpr std::size_t kHeader = 112, kFrame = kHeader + kPixels * sizeof(std::uint16_t);
  std::vector<std::vector<std::uint16_t>> frames;
  for (int part = 0; part < 4; ++part) {
    const std::string packed = packed_bytes(kDarks / ("jungfrau_single_d0_f" + std::to_string(part) + "_0.raw.zst"));
    std::vector<std::byte> bytes(3 * kFrame);
    const std::size_t size = ZSTD_decompress(bytes.data(), bytes.size(), packed.data(), packed.size());
    EXPECT_FALSE(ZSTD_isError(size)) << part;
    for (std::size_t at = 0; !ZSTD_isError(size) && at + kFrame <= size; at += kFrame) {
      std::memcpy(frames.emplace_back(kPixels).data(), bytes.data() + at + kHeader, kFrame - kHeader);
    }
  }
  return frames;
}

/// Returns the recorded pedestals with the module's median gains. True gains differ by a few percent from pixel to
/// pixel.
inline Config config() {
  Config config{12.4, Output::photons, {1024, 512, {}, {}, {}}};
  for (const char* name : {"mod5_pedeG0.bin", "mod5_pedeG1.bin", "mod5_pedeG2.bin"}) {
    const auto plane = load<float>(name);
    config.calibration.pedestal.insert(config.calibration.pedestal.end(), plane.begin(), plane.end());
  }
  for (const float gain : {41.0F, -1.450F, -0.1156F}) {
    config.calibration.gain.insert(config.calibration.gain.end(), kPixels, gain);
  }
  return config;
}

}  // namespace rashpa::kernel::jungfrau::recorded
