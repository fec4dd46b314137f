// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/testing/store_images.hpp"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::sink {
namespace {

StackImage describe(const ImageArray& images, std::size_t i) {
  StackImage image;
  image.index = i;
  image.frame_number = images.frame_numbers[i];
  image.completeness = images.completeness[i];
  image.decision = images.decisions[i];
  image.reason = images.reasons[i];
  image.pixels = images.pixels + i * images.image_bytes;
  return image;
}

void count(Books& books, const StackImage& image) {
  books.expected += 1;
  books.complete += image.completeness == Completeness::complete ? 1U : 0U;
  books.partial += image.completeness == Completeness::partial ? 1U : 0U;
  books.missing += image.completeness == Completeness::missing ? 1U : 0U;
  books.accepted += image.decision == Decision::accepted ? 1U : 0U;
  books.vetoed += image.decision == Decision::vetoed ? 1U : 0U;
  books.errored += image.decision == Decision::errored ? 1U : 0U;
}

}  // namespace

void put_and_mark(Sink& sink, Stack& stack) {
  std::vector<ErrorReason> results(stack.count);
  if (sink.put(stack, results) == Put::later) {
    // A sink gives a stack back when its storage has it, and rings nobody.
    auto* const deferring = able<Deferring>(sink);
    while (deferring != nullptr && deferring->take() == nullptr)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));  // wait: no bell
  }
  const auto images = stack.view();
  for (std::size_t i = 0; i < images.size(); ++i) {
    if (images[i].decision == Decision::accepted && results[i] != ErrorReason::none) images[i].fail(results[i]);
  }
}

Books store_images(Sink& sink, const ImageArray& images, std::uint32_t stack) {
  const std::size_t size = images.frame_numbers.size();
  if (images.completeness.size() != size || images.decisions.size() != size || images.reasons.size() != size ||
      stack == 0) {
    throw ConfigError(
        "store_images: frame numbers, completeness, decisions and reasons must have one value for each image");
  }
  Books books;
  Stack work;
  work.images.resize(stack);
  for (std::size_t first = 0; first < size; first += stack) {
    work.count = static_cast<std::uint32_t>(std::min<std::size_t>(stack, size - first));
    for (std::uint32_t i = 0; i < work.count; ++i) work.images[i] = describe(images, first + i);
    put_and_mark(sink, work);
    for (const StackImage& image : work.view()) count(books, image);
    work.number += 1;
  }
  const std::uint64_t lost = sink.settle().size();
  books.accepted -= lost;
  books.errored += lost;
  books.written = sink.stats().images_written;
  sink.close(books);
  return books;
}

}  // namespace rashpa::sink
