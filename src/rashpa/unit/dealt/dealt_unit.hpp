// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rashpa/unit/dealt/joined_windows.hpp"
#include "rashpa/unit/limits/joint_changes.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// One unit of several members, each on its own device. A stack goes to the member with the fewest unfinished stacks;
/// of equals, to the next in turn. A failed member gets no more stacks while another works: its stacks return errored,
/// and the run continues. No thread or lock of its own; each member has output memory for all slots. take() joins the
/// windows that end with a stack, and the bell may ring more often than stacks finish.
class DealtUnit final : public Unit, public Accumulating, public Adjusting, public OnDevice, public Noticing {
 public:
  /// Makes member `number`, which rings `bell` once for each finished stack.
  using Make = std::function<std::unique_ptr<Unit>(std::uint32_t number, Doorbell& bell)>;

  /// Makes the members. `windows` is set when the pipeline accumulates over images, and members then make parts; null
  /// otherwise. Throws ConfigError when there are too many members.
  DealtUnit(std::uint32_t members, std::uint32_t stacks, Doorbell& done_bell, const Make& make,
            std::unique_ptr<JoinedWindows> windows = nullptr);
  ~DealtUnit() override;

  void submit(Stack* stack) noexcept override;
  Stack* take() noexcept override;
  void stop() noexcept override;
  Accumulated conclude() noexcept override;
  [[nodiscard]] const Output& output() const noexcept override { return output_; }
  /// Returns the description: "2 devices: trigger graph on …; trigger graph on …".
  [[nodiscard]] std::string how() const override;
  /// Returns the bytes of all members.
  [[nodiscard]] std::size_t device_bytes() const noexcept override;
  /// Returns the error of the members; empty while one of them works.
  [[nodiscard]] std::string error() const override;
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const override;
  /// Returns the longest running step; also failed members, while others work, and lost windows.
  [[nodiscard]] std::optional<Busy> busy() const override;
  [[nodiscard]] std::string notice() const override;
  /// Prepares limits that all members apply from the same stack on.
  [[nodiscard]] ReadyLimits ready(std::size_t step, const kernel::StepOf& with) override;

 private:
  struct Member {
    explicit Member(Doorbell& done) : finished(done) {}
    Doorbell finished;            // rung once a stack
    std::uint32_t submitted = 0;  // as count() of the bell wraps
    std::unique_ptr<Unit> unit;
  };
  struct Dealt {
    std::uint32_t member = 0;
    JoinedWindows::Ending ending;
  };
  [[nodiscard]] std::uint32_t choose() noexcept;
  void submit_to(std::uint32_t member, Stack* stack) noexcept;

  Output output_;                           // a member's, but for windows
  std::unique_ptr<JoinedWindows> windows_;  // null: nothing is added up
  std::vector<std::unique_ptr<Member>> members_;
  memory::Ring<Dealt> order_;  // the members that have the submitted stacks, in that order
  std::uint32_t turn_ = 0;     // the member that is asked first
  JointChanges changes_;
  // Of the thread that takes:
  std::optional<Dealt> next_;  // the member that has the next one to be taken
  Stack* back_ = nullptr;      // that one, when not all of its shadows are back
  Members awaited_ = 0;        // the members that have one
};

/// Returns the numbers in "0,1"; any other text is returned whole.
std::vector<std::string> devices_in(const std::string& device);

}  // namespace rashpa::unit
