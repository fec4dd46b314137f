// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Recorded frames and pedestals of a real module, for tests: ../shared/data/jungfrau_m049 from the folder that a test
/// runs in.
#include <gtest/gtest.h>
#include <zstd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "rashpa/kernel/jungfrau/jungfrau.hpp"

namespace rashpa::kernel::jungfrau::recorded {

inline constexpr std::size_t kPixels = std::size_t{512} * 1024;
inline const std::filesystem::path kFolder = "../shared/data/jungfrau_m049";

inline bool available() { return std::filesystem::exists(kFolder / "mod5_raw0.bin.zst"); }

template <class T>
std::vector<T> load(const std::string& name) {
  std::ifstream file(kFolder / (name + ".zst"), std::ios::binary);
  const std::string packed{std::istreambuf_iterator<char>(file), {}};
  std::vector<T> values(kPixels);
  EXPECT_EQ(ZSTD_decompress(values.data(), kPixels * sizeof(T), packed.data(), packed.size()), kPixels * sizeof(T))
      << name;
  return values;
}

/// The recorded pedestals with the module's median gains: the true gains differ by a few percent from pixel to pixel.
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
