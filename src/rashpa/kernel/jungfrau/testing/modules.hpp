// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Test modules whose images are assembled on devices.
#include <cstdint>
#include <string>
#include <vector>

#include "rashpa/kernel/jungfrau/jungfrau.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/testing/opencl_testing.hpp"

namespace rashpa::kernel::jungfrau {

struct Modules {
  std::string what;
  Config config;
  opencl::Case given;
};

/// Returns two modules, one below the other with a gap, of 512 columns and 300 rows, so that both directions have a
/// chip border. Each tenth word is random.
inline std::vector<Modules> modules_to_assemble() {
  synthetic::Random random(23);
  std::vector<Modules> all;
  for (const Borders borders : {Borders::shared, Borders::masked}) {
    for (const Output output : {Output::photons, Output::kev}) {
      Config config = synthetic::config(512, 612, output, 5, 0.05);
      config.borders = borders;
      config.calibration.module_width = 512;
      config.calibration.module_height = 300;
      config.calibration.parts = {{0, {0, 0, 512, 300}, 0, 0}, {1, {0, 0, 512, 300}, 0, 312}};
      opencl::Case given{{512, 612}, delivered(PixelType::u16), {}};
      for (int i = 0; i < 3; ++i) {
        auto words = synthetic::frame(config, 0.05, random.next());
        for (auto& word : words) word = random.below(10) == 0 ? static_cast<std::uint16_t>(random.next()) : word;
        const auto* bytes = reinterpret_cast<const std::byte*>(words.data());
        given.images.emplace_back(bytes, bytes + words.size() * 2);
      }
      all.push_back({std::string(borders == Borders::shared ? "shared" : "masked") +
                         (output == Output::kev ? ", keV" : ", photons"),
                     std::move(config), std::move(given)});
    }
  }
  return all;
}

}  // namespace rashpa::kernel::jungfrau
