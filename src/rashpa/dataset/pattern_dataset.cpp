// SPDX-License-Identifier: Apache-2.0
#include "rashpa/dataset/pattern_dataset.hpp"

#include <cstring>

#include "rashpa/dataset/random.hpp"

namespace rashpa::dataset {

namespace {

constexpr std::uint64_t values_of(PixelType pixel) noexcept {
  switch (pixel) {
    case PixelType::u8:
      return 0xFE;
    case PixelType::u16:
      return 0xFFFE;
    case PixelType::u32:
      return 0xFFFFFFFE;
    case PixelType::i16:
      return 0x7FFE;
    case PixelType::i32:
      return 0x7FFFFFFE;
    default:
      return 0xFFFFFE;  // f32
  }
}

constexpr std::uint64_t line_key(std::uint32_t module, std::uint64_t frame, std::uint32_t row) noexcept {
  return mix(mix(frame) ^ ((static_cast<std::uint64_t>(module) << 32) | row));
}

constexpr std::uint32_t value_at(std::uint64_t key, std::uint32_t column, std::uint64_t values) noexcept {
  return static_cast<std::uint32_t>(1 + (((mix(key + column) >> 32) * values) >> 32));
}

template <typename T>
void fill(MemoryDataset& out, std::uint32_t module, std::uint64_t frame) noexcept {
  const ModuleShape shape = out.shape();
  std::byte* at = out.writable(module, frame).data();
  for (std::uint32_t row = 0; row < shape.height; ++row) {
    const std::uint64_t key = line_key(module, frame, row);
    for (std::uint32_t column = 0; column < shape.width; ++column, at += sizeof(T)) {
      const T value = static_cast<T>(value_at(key, column, values_of(shape.pixel)));
      std::memcpy(at, &value, sizeof(T));
    }
  }
}

}  // namespace

std::uint32_t pattern_value(PixelType pixel, std::uint32_t module, std::uint64_t frame, std::uint32_t row,
                            std::uint32_t column) noexcept {
  return value_at(line_key(module, frame, row), column, values_of(pixel));
}

std::unique_ptr<MemoryDataset> make_pattern(ModuleShape shape, std::uint32_t modules, std::uint64_t frames) {
  auto out = std::make_unique<MemoryDataset>(shape, modules, frames);
  for (std::uint32_t module = 0; module < modules; ++module) {
    for (std::uint64_t frame = 0; frame < frames; ++frame) {
      switch (shape.pixel) {
        case PixelType::u8:
          fill<std::uint8_t>(*out, module, frame);
          break;
        case PixelType::u16:
        case PixelType::i16:
          fill<std::uint16_t>(*out, module, frame);
          break;
        case PixelType::u32:
        case PixelType::i32:
          fill<std::uint32_t>(*out, module, frame);
          break;
        case PixelType::f32:
          fill<float>(*out, module, frame);
          break;
      }
    }
  }
  return out;
}

}  // namespace rashpa::dataset
