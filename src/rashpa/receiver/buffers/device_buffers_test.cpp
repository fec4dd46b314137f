// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/buffers/device_buffers.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/checksum/checksum.hpp"

namespace rashpa::receiver {
namespace {

Config on_device() {
  BufferConfig buffer;
  buffer.name = "full";
  buffer.unit.kind = unit::Kind::cuda;
  buffer.dtps.resize(1);
  Config config;
  config.buffers = {buffer, buffer};
  config.images_in = unit::ImagesIn::device;
  config.link = link::pcie::Options{};
  return config;
}

std::string refusal(const std::function<void(Config&)>& change) {
  Config config = on_device();
  change(config);
  try {
    device_images(config, 1U << 20);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(DeviceBuffers, memory_has_three_names_and_others_are_refused) {
  Config config;
  for (const char* name : {"pageable", "huge", "device", "huge"}) {
    set_memory(config, name);
    EXPECT_EQ(memory_name(config), name);
  }
  EXPECT_EQ(device_images(config, 1U << 20), nullptr) << "nothing lies on a device";
  EXPECT_THROW(set_memory(config, "fast"), ConfigError);
}

TEST(DeviceBuffers, what_cannot_work_on_a_device_is_refused_with_the_reason) {
  const auto says = [](const std::function<void(Config&)>& change, const char* what) {
    EXPECT_NE(refusal(change).find(what), std::string::npos) << refusal(change) << ", not " << what;
  };
  says([](Config& c) { c.link = link::roce::Options{}; }, "link roce writes to host memory only");
  says([](Config& c) { c.buffers[0].unit.kind = unit::Kind::cpu; }, "unit cpu sees no byte there");
  says([](Config& c) { c.buffers[1].unit.kind = unit::Kind::opencl; }, "unit opencl sees no byte there");
  says([](Config& c) { c.buffers[1].unit.device = "1"; }, "this one names 1 where another has 0");
  says([](Config& c) { c.buffers[0].unit.device = c.buffers[1].unit.device = "0,1"; }, "is not one CUDA device");
  says([](Config& c) { c.buffers[0].unit.device = c.buffers[1].unit.device = "H200"; }, "is not one CUDA device");
  says([](Config& c) { c.buffers[0].special = {{.value = 65535, .meaning = Meaning::gap}}; }, "special values");
  says(
      [](Config& c) {
        c.buffers[0].dtps.resize(16);
        c.buffers[0].pipeline.kernels.emplace_back(kernel::checksum::Config{});
      },
      "at most 15 DTPs");
}

}  // namespace
}  // namespace rashpa::receiver
