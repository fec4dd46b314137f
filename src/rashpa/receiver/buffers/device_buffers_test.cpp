// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/buffers/device_buffers.hpp"

#include <gtest/gtest.h>

#include <functional>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/checksum/checksum.hpp"
#include "rashpa/link/arrivals/receiver_memory.hpp"

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
  says([](Config& c) { c.link = link::stream2::Options{}; }, "link stream2 writes to host memory only");
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

/// Memory of a device of which a test sets whether its kernels see words in order.
class FilledImages final : public memory::DeviceImages {
 public:
  [[nodiscard]] const memory::DmaBlock& block() const noexcept override { return block_; }
  [[nodiscard]] const std::string& how() const noexcept override { return how_; }
  void order_writes() noexcept override {}
  [[nodiscard]] bool shows_words() const noexcept override { return words; }
  void fill(const memory::LostPart& part) noexcept override { filled.push_back(part); }
  void settle() noexcept override { ++settled; }
  [[nodiscard]] bool holds_lost(const memory::LostPart& /*part*/) noexcept override { return true; }
  bool words = true;
  std::vector<memory::LostPart> filled;
  int settled = 0;

 private:
  memory::DmaBlock block_;
  std::string how_;
};

Config waiting() {
  Config config = on_device();
  config.link = link::verbs::Options{};
  config.buffers[1].unit.trigger = unit::Trigger::word;
  return config;
}

TEST(LastWordsOfVerbs, are_laid_out_where_a_unit_waits_for_them) {
  EXPECT_EQ(last_words_of(waiting()), LastWords::behind_lines);
  Config config = waiting();
  config.buffers[1].unit.trigger = unit::Trigger::graph;
  EXPECT_EQ(last_words_of(config), LastWords::none);
  config = waiting();
  config.link = link::pcie::Options{};
  EXPECT_EQ(last_words_of(config), LastWords::none) << "it has lock words of its own";
}

TEST(LastWordsOfVerbs, are_cleared_on_a_device_that_shows_them_in_order_and_refused_on_another) {
  FilledImages images;
  MemoryLayout layout;
  layout.dtps.resize(3);
  clear_words(waiting(), layout, images);
  EXPECT_TRUE(images.filled.empty()) << "there are none";
  layout.words = 8192;
  clear_words(waiting(), layout, images);
  ASSERT_EQ(images.filled.size(), 1U);
  EXPECT_EQ(images.filled[0].first, 8192U);
  EXPECT_EQ(images.filled[0].lines, 3U);
  EXPECT_EQ(images.filled[0].pitch, link::kWordDistance);
  EXPECT_EQ(images.settled, 1);
  images.words = false;
  EXPECT_THROW(clear_words(waiting(), layout, images), ConfigError);
}

}  // namespace
}  // namespace rashpa::receiver
