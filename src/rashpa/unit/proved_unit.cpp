// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/proved_unit.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"

namespace rashpa::unit {

namespace {

/// Returns true for units of devices, whose addresses are set once.
bool has_one_place(Kind kind) noexcept { return kind == Kind::cuda || kind == Kind::fpga; }

Choice that_copies(Choice choice) {
  choice.transfer = Transfer::copied;
  return choice;
}

}  // namespace

bool ProvedUnit::needed(const Pipeline& pipeline, const Layout& layout) {
  return layout.changes && steps_of(pipeline, layout).keeps != kernel::Keeps::nothing;
}

ProvedUnit::ProvedUnit(const Choice& choice, const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell)
    : keeps_(steps_of(pipeline, layout).keeps),
      layout_(layout),
      all_(has_one_place(choice.kind)),
      bytes_(std::size_t{layout.width} * layout.height * pixel_bytes(layout.input)) {
  if (layout.images_in == ImagesIn::device) {
    throw ConfigError(
        "unit: a kernel keeps something of images for those that come later, and images in memory of a device may be "
        "written over meanwhile; set link.flow = \"credits\", or take the buffer in host memory");
  }
  copies_ = memory::Buffer(std::size_t{layout.stacks} * layout.stack * layout.image_stride, memory::MemoryKind::huge);
  Layout seen = layout;
  seen.changes = false;
  if (all_) seen.images = copies_.data();
  unit_ = make_unit(that_copies(choice), pipeline, seen, done_bell);
}

bool ProvedUnit::to_be_copied(const StackImage& image) const noexcept {
  const bool arrived = image.completeness == Completeness::complete || image.completeness == Completeness::partial;
  if (!arrived || all_) return arrived;
  return keeps_ == kernel::Keeps::of_images || (image.flags & FrameRecord::dark) != 0;
}

void ProvedUnit::submit(Stack* stack) noexcept {
  for (std::uint32_t i = 0; i < stack->count; ++i) {
    StackImage& image = stack->images[i];
    image.proved = image.refused = false;
    if (!to_be_copied(image)) continue;
    std::byte* const copy = copy_of(*stack, i);
    std::memcpy(copy, image.raw, bytes_);
    // Acquire: this thread copies before it reads the source's marks.
    std::atomic_thread_fence(std::memory_order_acquire);
    image.refused = !stack->slot_intact(image, copy);
    image.proved = !image.refused;
    image.raw = copy;
  }
  unit_->submit(stack);
}

Stack* ProvedUnit::take() noexcept {
  Stack* const stack = unit_->take();
  for (std::uint32_t i = 0; stack != nullptr && i < stack->count; ++i) stack->images[i].raw = slot_of(*stack, i);
  return stack;
}

std::string ProvedUnit::how() const {
  return fmt::format("{}; {} copied first, so that kernels learn from what nobody writes over", unit_->how(),
                     keeps_ == kernel::Keeps::of_darks && !all_ ? "dark images are" : "images are");
}

}  // namespace rashpa::unit
