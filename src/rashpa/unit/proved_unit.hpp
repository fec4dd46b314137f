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

/// Copies images that steps learn from, where another image may be written over them (docs/decisions/0140): before the
/// unit has an image, and asks for it behind the copy. Of an image that was written over by then the unit sees nothing,
/// and it is errored. So what steps keep for later images is of images that the books call intact, and of all of them.
/// Any unit; the thread that submits makes the copy.
class ProvedUnit final : public Unit, public Accumulating, public Adjusting, public OnDevice, public Noticing {
 public:
  /// Throws ResourceError when there is no memory for the copies.
  ProvedUnit(const Choice& choice, const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell);

  /// Returns true when images of this pipeline have to be copied and proved.
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
