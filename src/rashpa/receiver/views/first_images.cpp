// SPDX-License-Identifier: Apache-2.0
#include "rashpa/receiver/views/first_images.hpp"

#include <algorithm>

namespace rashpa::receiver {

namespace {

bool is(const StackImage& image, FirstOf what) noexcept {
  // An image that a device has vetoed in its own memory has no picture.
  if (image.dense() == nullptr && image.sparse.index == nullptr && image.chunk.empty()) return false;
  const bool decided = image.decision == Decision::accepted || image.decision == Decision::vetoed;
  if (what == FirstOf::partial) return decided && image.completeness == Completeness::partial;
  return image.decision == Decision::vetoed && image.reason != VetoReason::dark && image.reason != VetoReason::partial;
}

}  // namespace

FirstImages::FirstImages(const sink::Output& output, const ImageForm& arriving, std::uint32_t lost_per_image)
    : output_(output), arriving_(arriving) {
  for (auto& room : rooms_) {
    room = std::make_shared<Room>();
    reserve_for(output, lost_per_image, room->preview);
    room->preview.pixels.reserve(std::max(output.image_bytes(), arriving.bytes()));
  }
}

std::shared_ptr<const Preview> FirstImages::first(FirstOf what) const {
  const auto& room = rooms_.at(static_cast<std::size_t>(what));
  if (!room->filled.load(std::memory_order_acquire)) return nullptr;
  return {room, &room->preview};
}

void FirstImages::keep(const Stack& stack) {
  for (const FirstOf what : {FirstOf::vetoed, FirstOf::partial}) {
    Room& room = *rooms_.at(static_cast<std::size_t>(what));
    if (room.filled.load(std::memory_order_relaxed)) continue;
    const auto images = stack.view();
    const auto found =
        std::find_if(images.begin(), images.end(), [what](const StackImage& image) { return is(image, what); });
    if (found == images.end()) continue;
    copy_image(*found, output_, arriving_, room.preview);
    if (!stack.intact(*found, room.preview.pixels.data())) continue;  // another will come
    room.filled.store(true, std::memory_order_release);
    --awaited_;
  }
}

}  // namespace rashpa::receiver
