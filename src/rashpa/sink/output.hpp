// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/core/end.hpp"
#include "rashpa/core/frame/results.hpp"
#include "rashpa/core/image/pixel_type.hpp"
#include "rashpa/core/image/region.hpp"
#include "rashpa/core/image/special_value.hpp"
#include "rashpa/sink/chunk_board.hpp"
#include "rashpa/sink/special_mask.hpp"

namespace rashpa::sink {

/// The output of a buffer's pipeline, for the set-up of a sink.
struct Output {
  std::string buffer;
  std::uint32_t run = 0;  ///< run number, for the log
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  PixelType pixel = PixelType::u16;
  bool sparse = false;              ///< the pipeline makes CSR
  std::uint32_t list_capacity = 0;  ///< most pixels in an image's list; 0: there are no lists
  std::uint32_t stack = 0;
  std::uint64_t images = 0;  ///< images that are due, or the most that may come
  End end = End::known;
  Slice slice{};
  bool delivered = false;                             ///< true: pixels are the detector's own, not made by a kernel
  std::int64_t largest_count = kNoLargestCount;       ///< for delivered pixels: the largest count
  std::vector<SpecialValue> special{};                ///< for delivered pixels: values that are no counts
  std::shared_ptr<const SpecialMask> special_mask{};  ///< null: none is declared
  Results results{};                                  ///< numbers of each image, and veto reasons
  bool chunked = false;                               ///< images come as StackImage::chunk, without pixels
  std::shared_ptr<ChunkBoard> chunks{};  ///< for a sink that makes chunks for others or takes them; otherwise null

  [[nodiscard]] std::uint64_t image_bytes() const noexcept {  ///< bytes of a dense image
    return std::uint64_t{width} * height * pixel_bytes(pixel);
  }
};

}  // namespace rashpa::sink
