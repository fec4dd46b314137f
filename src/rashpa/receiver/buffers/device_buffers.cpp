// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/buffers/device_buffers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>

#include "rashpa/core/error.hpp"
#include "rashpa/link/arrivals/receiver_memory.hpp"
#include "rashpa/link/pcie/cuda/cuda_images.hpp"
#include "rashpa/sink/special_mask.hpp"

namespace rashpa::receiver {

namespace {

constexpr std::string_view kDevice = "device";
// The kernel reads parts and the bytes between them; of more it would ask the host, which sees no byte.
constexpr std::size_t kMostChecked = 15;

void check(const BufferConfig& buffer, const std::string& device) {
  const auto refuse = [&](const std::string& what) {
    throw ConfigError(fmt::format("buffer '{}': memory device: {}", buffer.name, what));
  };
  if (buffer.unit.kind != unit::Kind::cuda) {
    refuse(fmt::format("unit {} sees no byte there; use unit cuda, or memory huge", unit::name_of(buffer.unit.kind)));
  }
  if (buffer.unit.device != device) {
    refuse(
        fmt::format("all buffers of a receiver lie on one device, and this one names {} where another has {}; give "
                    "it a receiver of its own",
                    buffer.unit.device, device));
  }
  const bool lasting = std::any_of(buffer.special.begin(), buffer.special.end(),
                                   [](const SpecialValue& one) { return mask_bit(one.meaning) != 0; });
  if (lasting) {
    refuse(
        "special values that say gap, dead or noisy are looked for in an image that the host sees; leave them out, "
        "or use memory huge");
  }
  const bool checks = std::any_of(buffer.pipeline.kernels.begin(), buffer.pipeline.kernels.end(),
                                  [](const auto& step) { return step->declaration().name == "checksum"; });
  if (checks && buffer.dtps.size() > kMostChecked) {
    refuse(fmt::format("the kernel checksum compares at most {} DTPs on the device, not {}; use fewer, or memory huge",
                       kMostChecked, buffer.dtps.size()));
  }
}

int number_of(const std::string& device) {
  int number = -1;
  const auto [end, problem] = std::from_chars(device.data(), device.data() + device.size(), number);
  if (problem == std::errc{} && end == device.data() + device.size()) return number;
  throw ConfigError(fmt::format(
      "memory device: device {} is not one CUDA device; name one by its number, or use memory huge", device));
}

bool waits_for_words(const BufferConfig& buffer) noexcept {
  return buffer.unit.kind == unit::Kind::cuda && buffer.unit.trigger == unit::Trigger::word;
}

// Nothing for links that write to host memory only.
std::optional<link::pcie::Writers> writers_of(link::Kind kind) noexcept {
  switch (kind) {
    case link::Kind::pcie:
      return link::pcie::Writers::gpus;
    case link::Kind::verbs:
      return link::pcie::Writers::rnic;
    case link::Kind::roce:
    case link::Kind::sls:
      return link::pcie::Writers::itself;
    case link::Kind::fpga:
    case link::Kind::stream2:
      return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

void set_memory(Config& config, std::string_view name) {
  const bool device = name == kDevice;
  config.memory = device ? memory::MemoryKind::pageable : memory::memory_kind(name);
  config.images_in = device ? unit::ImagesIn::device : unit::ImagesIn::host;
}

std::string_view memory_name(const Config& config) noexcept {
  return config.images_in == unit::ImagesIn::device ? kDevice : memory::name_of(config.memory);
}

std::unique_ptr<memory::DeviceImages> device_images(const Config& config, std::uint64_t bytes) {
  if (config.images_in == unit::ImagesIn::host) return nullptr;
  const link::Kind kind = link::kind_of(config.link);
  const std::optional<link::pcie::Writers> writers = writers_of(kind);
  if (!writers) {
    throw ConfigError(
        fmt::format("memory device: link {} writes to host memory only; use link pcie with engine cuda, roce, sls or "
                    "verbs, or memory huge",
                    link::name_of(kind)));
  }
  const std::string& device = config.buffers.front().unit.device;
  for (const BufferConfig& buffer : config.buffers) check(buffer, device);
  return link::pcie::make_cuda_images(number_of(device), bytes, *writers);
}

LastWords last_words_of(const Config& config) noexcept {
  const bool awaited = std::any_of(config.buffers.begin(), config.buffers.end(), waits_for_words);
  return awaited && link::kind_of(config.link) == link::Kind::verbs ? LastWords::behind_lines : LastWords::none;
}

void clear_words(const Config& config, const MemoryLayout& layout, memory::DeviceImages& images) {
  if (!layout.words) return;
  if (!images.shows_words()) {
    const auto buffer = std::find_if(config.buffers.begin(), config.buffers.end(), waits_for_words);
    throw ConfigError(
        fmt::format("buffer {}: trigger word, and this device needs a flush by the host before it sees what an RNIC "
                    "wrote; set trigger = \"auto\", or memory = \"huge\"",
                    buffer->name));
  }
  images.fill({.first = *layout.words,
               .pitch = link::kWordDistance,
               .line_bytes = sizeof(std::uint32_t),
               .lines = static_cast<std::uint32_t>(layout.dtps.size()),
               .type = PixelType::u32});  // its lost value has all bits set
  images.settle();
}

}  // namespace rashpa::receiver
