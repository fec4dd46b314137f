// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/memory/buffer.hpp"
#include "rashpa/unit/limits/joint_changes.hpp"
#include "rashpa/unit/split/strips.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// One unit of several members, each with a strip of each image. A stack goes to all members and returns when all have
/// finished. Members decide alike, by numbers of the whole image. The first member's pixels lie where the whole image
/// begins; lists are joined here. An image that a member could not finish is errored, and the unit fails when a member
/// fails. No thread or lock of its own; `done_bell` rings once for each member and stack.
class SplitUnit final : public Unit, public Adjusting, public OnDevice, public Noticing {
 public:
  /// Makes member `number` for the strip `strips[number]`; it rings `bell` once for each finished stack.
  using Make = std::function<std::unique_ptr<Unit>(std::uint32_t number, Doorbell& bell)>;

  /// Makes the members. Throws ConfigError when the pipeline does not fit the layout.
  SplitUnit(const Pipeline& pipeline, const Layout& whole, const std::vector<kernel::Rows>& strips, Doorbell& done_bell,
            const Make& make);
  ~SplitUnit() override;

  void submit(Stack* stack) noexcept override;
  Stack* take() noexcept override;
  void stop() noexcept override;
  [[nodiscard]] const Output& output() const noexcept override { return output_; }
  /// Returns the description: "each image on 2 devices: rows 0 … 255, trigger graph on …; rows 256 … 511, trigger graph
  /// on …".
  [[nodiscard]] std::string how() const override;
  /// Returns the bytes of all members.
  [[nodiscard]] std::size_t device_bytes() const noexcept override;
  /// Returns the error of the first member that failed.
  [[nodiscard]] std::string error() const override;
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const override;
  [[nodiscard]] std::string notice() const override;
  /// The windows that are lost, and the members that have failed.
  [[nodiscard]] std::optional<Busy> busy() const override;
  [[nodiscard]] ReadyLimits ready(std::size_t step, const kernel::StepOf& with) override;

 private:
  struct Member {
    kernel::Rows rows{};
    std::size_t first_byte = 0;     // of the strip in an image
    std::uint32_t first_index = 0;  // of the strip's first pixel in the image that comes out
    std::vector<Stack> stacks{};    // by slot: its view of the stack there
    std::unique_ptr<Unit> unit{};
    bool has_come = false;  // the stack that is taken next
  };
  void join(Stack& stack) noexcept;
  void join(StackImage& image, std::uint32_t slot, std::uint32_t number) noexcept;
  bool join_lists(StackImage& image, std::uint32_t slot, std::uint32_t number) noexcept;

  Output output_;
  std::uint8_t list_step_ = 0;  // which makes lists, from 1
  std::uint32_t stack_;
  std::vector<Member> members_;
  memory::Buffer indices_, values_;  // of lists, by slot and image
  memory::Ring<Stack*> order_;       // the submitted stacks
  JointChanges changes_;
  Stack* next_ = nullptr;             // to be taken
  std::atomic<bool> stopped_{false};  // release by the owner, acquire by the devices' threads
};

}  // namespace rashpa::unit
