// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/unit/cuda/dispatch.hpp"
#include "rashpa/unit/cuda/stack_work.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/limits/step_changes.hpp"
#include "rashpa/unit/stack_flow.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::cuda {

/// The processing unit on one CUDA device. The device does all work, from the images in the RASHPA buffer (pinned here)
/// to accepted images in host memory. The host writes an order and a trigger, and a thread of the unit reads finished
/// tickets, in order. With a `seat` it is one of several units with strips of the same images: when one fails or stops,
/// the others do not wait for it.
class CudaUnit final : public Unit, public Accumulating, public Adjusting, public OnDevice, public Noticing {
 public:
  CudaUnit(const Choice& choice, const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell,
           const std::optional<Seat>& seat = std::nullopt);
  ~CudaUnit() override;
  CudaUnit(const CudaUnit&) = delete;
  CudaUnit& operator=(const CudaUnit&) = delete;

  void submit(Stack* stack) noexcept override;
  Stack* take() noexcept override { return flow_.take(); }
  void stop() noexcept override;
  Accumulated conclude() noexcept override;
  [[nodiscard]] const Output& output() const noexcept override { return steps_.output; }
  [[nodiscard]] std::string how() const override { return how_; }
  [[nodiscard]] std::size_t device_bytes() const noexcept override { return device_bytes_; }
  [[nodiscard]] std::string error() const override { return flow_.error(); }
  [[nodiscard]] std::string notice() const override { return work_->passes().notice(); }
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const override {
    return work_->passes().failure(failed_in);
  }
  [[nodiscard]] std::optional<Busy> busy() const override;
  [[nodiscard]] ReadyLimits ready(std::size_t step, const kernel::StepOf& with) override;

 private:
  /// The state of the stack in a slot, from submit() on.
  struct InFlight {
    std::uint32_t ticket = 0;
    bool dispatched = false;  // else nothing comes back of it
  };
  void run(const std::stop_token& ending, int processor) noexcept;
  bool wait_for(std::uint32_t slot, const std::stop_token& ending) noexcept;
  void hand_back(Stack& stack, bool came) noexcept;
  void settle(StackImage& image, std::uint32_t slot, std::uint32_t place, Begun begun) noexcept;
  void come_back(std::uint32_t slot, Begun begun) noexcept;
  void fail(cudaError_t code, const char* what) noexcept;
  void fail(const std::string& why) noexcept;
  /// Returns why members with strips of the same images no longer wait for one another; Over::no: they do.
  [[nodiscard]] Over over() const noexcept { return seat_ ? seat_->joint->over() : Over::no; }

  const int device_;
  Steps steps_;  // not changed after the constructor
  const std::optional<Seat> seat_;
  StackFlow flow_;
  std::string how_;
  std::size_t device_bytes_ = 0;
  bool orders_ahead_ = false;   // trigger word
  std::uint64_t by_words_ = 0;  // stacks that began so; of the unit's thread, and of stop() after it
  std::uint64_t by_host_ = 0;
  std::unique_ptr<StackWork> work_;
  std::unique_ptr<Dispatch> dispatch_;
  std::uint32_t ticket_ = 0;
  std::vector<InFlight> flights_;  // by slot
  StepWatch watch_{1};             // of the stack that is waited for
  StepChanges<StackLimits::Change> changes_;
  std::jthread thread_;
};

/// Returns the number of the CUDA device that a run file names. Throws ConfigError when there is none with that number,
/// ResourceError when there are no devices.
int device_number(const std::string& wanted);

/// Makes the unit, as unit::make_unit(). Throws ResourceError when there is no such device.
std::unique_ptr<Unit> make_unit(const Choice& choice, const Pipeline& pipeline, const Layout& layout,
                                Doorbell& done_bell);
/// Makes one unit of `devices`, each with a strip of each image; a device may occur twice. Throws as make_unit(), and
/// ConfigError where a kernel or a trigger needs whole images.
std::unique_ptr<Unit> make_split(const Choice& choice, const std::vector<std::string>& devices,
                                 const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell);
Available available();
/// Returns the devices of this machine with their memory.
std::vector<UnitDevice> devices();

}  // namespace rashpa::unit::cuda
