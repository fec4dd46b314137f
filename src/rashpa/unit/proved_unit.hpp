// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <memory>
#include <string>

#include "rashpa/memory/buffer.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/steps.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// A unit that copies images from which steps learn, where a source may overwrite them (docs/decisions/0140). It copies
/// before the inner unit gets an image, and then checks whether the image was overwritten; such an image is errored,
/// and the inner unit never gets it. So steps keep state from exactly the images that the books call intact. Any unit;
/// the submitting thread makes the copy.
class ProvedUnit final : public Unit, public Accumulating, public Adjusting, public OnDevice, public Noticing {
 public:
  /// Makes the inner unit and the memory for copies. Throws as make_unit(), and ResourceError when there is no memory
  /// for the copies.
  ProvedUnit(const Choice& choice, const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell);

  /// Returns true when images of this pipeline must be copied and proved.
  static bool needed(const Pipeline& pipeline, const Layout& layout);

  void submit(Stack* stack) noexcept override;
  Stack* take() noexcept override;
  void stop() noexcept override { unit_->stop(); }
  [[nodiscard]] const Output& output() const noexcept override { return unit_->output(); }
  [[nodiscard]] Accumulated conclude() noexcept override { return concluded(*unit_); }
  [[nodiscard]] std::string how() const override;
  [[nodiscard]] std::size_t device_bytes() const noexcept override { return device_bytes_of(*unit_); }
  [[nodiscard]] std::string error() const override { return unit_->error(); }
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const override { return unit_->failure(failed_in); }
  [[nodiscard]] std::optional<Busy> busy() const override { return unit_->busy(); }
  [[nodiscard]] std::string notice() const override { return notice_of(*unit_); }
  [[nodiscard]] ReadyLimits ready(std::size_t step, const kernel::StepOf& with) override {
    return unit::ready(*unit_, step, with);
  }

 private:
  [[nodiscard]] bool to_be_copied(const StackImage& image) const noexcept;
  [[nodiscard]] std::byte* copy_of(const Stack& stack, std::uint32_t number) const noexcept {
    return copies_.data() + (std::size_t{stack.slot} * layout_.stack + number) * layout_.image_stride;
  }
  [[nodiscard]] std::byte* slot_of(const Stack& stack, std::uint32_t number) const noexcept {
    return layout_.images + (std::size_t{stack.slot} * layout_.stack + number) * layout_.image_stride;
  }

  kernel::Keeps keeps_;
  Layout layout_;  // of the slots
  bool all_;       // the unit looks at one place alone, whatever is said of an image
  std::size_t bytes_;
  memory::Buffer copies_;
  std::unique_ptr<Unit> unit_;  // last: it reads the copies
};

}  // namespace rashpa::unit
