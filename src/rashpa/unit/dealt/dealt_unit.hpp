// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// One unit of several members, each on a device of its own. A stack goes to the member that has the fewest unfinished
/// ones; of equals, to the next in turn. A member that has failed gets nothing more while another works: what it had
/// comes back errored, the run goes on. No thread and no lock of its own; each member has output memory for all slots.
class DealtUnit final : public Unit {
 public:
  /// Makes member `number`, which rings `bell` once for each stack that it has finished.
  using Make = std::function<std::unique_ptr<Unit>(std::uint32_t number, Doorbell& bell)>;

  /// Throws ConfigError when the pipeline adds up over images, which members cannot do together.
  DealtUnit(std::uint32_t members, std::uint32_t stacks, Doorbell& done_bell, const Make& make);
  ~DealtUnit() override;

  void submit(Stack* stack) noexcept override;
  Stack* take() noexcept override;
  void stop() noexcept override;
  [[nodiscard]] const Output& output() const noexcept override { return members_.front()->unit->output(); }
  /// "2 devices: trigger graph on …; trigger graph on …".
  [[nodiscard]] std::string how() const override;
  /// Of all members.
  [[nodiscard]] std::size_t device_bytes() const noexcept override;
  /// Empty while a member works.
  [[nodiscard]] std::string error() const override;
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const override;
  /// Which members have failed, while others work.
  [[nodiscard]] std::string notice() const override;

 private:
  struct Member {
    explicit Member(Doorbell& done) : finished(done) {}
    Doorbell finished;            // rung once a stack
    std::uint32_t submitted = 0;  // as count() of the bell wraps
    std::unique_ptr<Unit> unit;
  };
  [[nodiscard]] std::uint32_t choose() noexcept;

  std::vector<std::unique_ptr<Member>> members_;
  memory::Ring<std::uint32_t> order_;  // who has what was submitted, in that order
  std::uint32_t turn_ = 0;             // who is asked first
  std::uint32_t next_;                 // who has the next one to be taken; members_.size(): not known
};

/// The numbers in "0,1"; a text that is none such stays whole.
std::vector<std::string> devices_in(const std::string& device);

}  // namespace rashpa::unit
