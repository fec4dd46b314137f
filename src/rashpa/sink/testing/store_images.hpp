// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <span>

#include "rashpa/sink/sink.hpp"

namespace rashpa::sink {

/// Images in memory with their facts. All spans have one value for each image.
struct ImageArray {
  const std::byte* pixels = nullptr;  ///< [image][row][column]
  std::size_t image_bytes = 0;
  std::span<const std::uint64_t> frame_numbers;
  std::span<const Completeness> completeness;
  std::span<const Decision> decisions;
  std::span<const VetoReason> reasons;
};

/// Puts one stack, waits until the sink has finished it, and marks images that the sink could not keep as errored.
void put_and_mark(Sink& sink, Stack& stack);

/// Puts the images into `sink` in stacks of at most `stack`, closes it, and returns the books. It stores images that
/// were processed elsewhere (scripts, tests) with the tables of a run. Throws ConfigError when the spans differ in
/// length, FileError as close().
Books store_images(Sink& sink, const ImageArray& images, std::uint32_t stack = 10);

}  // namespace rashpa::sink
