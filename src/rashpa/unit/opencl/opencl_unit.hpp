// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "rashpa/memory/opencl/device.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/limits/step_changes.hpp"
#include "rashpa/unit/opencl/stack_work.hpp"
#include "rashpa/unit/stack_flow.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::opencl {

/// The stacks in flight on the device: one comes in, one is computed, one goes out.
inline constexpr std::uint32_t kBenches = 3;

/// The processing unit on one OpenCL device. A thread of the unit enqueues stacks when benches are free, reads
/// decisions, fetches accepted images, and hands stacks back in order.
class OpenclUnit final : public Unit, public Accumulating, public Adjusting, public OnDevice, public Noticing {
 public:
  OpenclUnit(const Choice& choice, const Pipeline& pipeline, const Layout& layout, Doorbell& done_bell);
  ~OpenclUnit() override;
  OpenclUnit(const OpenclUnit&) = delete;
  OpenclUnit& operator=(const OpenclUnit&) = delete;

  void submit(Stack* stack) noexcept override { flow_.submit(stack); }
  Stack* take() noexcept override { return flow_.take(); }
  void stop() noexcept override;
  [[nodiscard]] const Output& output() const noexcept override { return steps_.output; }
  [[nodiscard]] std::string how() const override { return how_; }
  [[nodiscard]] std::size_t device_bytes() const noexcept override { return device_.taken(); }
  [[nodiscard]] std::string error() const override { return flow_.error(); }
  [[nodiscard]] Accumulated conclude() noexcept override;
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const override { return work_.failure(failed_in); }
  [[nodiscard]] std::string notice() const override { return work_.notice(); }
  [[nodiscard]] std::optional<Busy> busy() const override;
  [[nodiscard]] ReadyLimits ready(std::size_t step, const kernel::StepOf& with) override;

  /// The longest time that stop() waits for begun stacks.
  static constexpr std::int64_t kStopNs = 5'000'000'000;

 private:
  /// A stack at a bench.
  struct Flight {
    /// The progress of a stack. `waiting`: its next leg is enqueued after that of the previous stack.
    enum class Stage : std::uint8_t { computing, waiting, delivering, done, lost };
    Stack* stack = nullptr;
    Stage stage = Stage::done;
    bool started = false;  ///< true: the device has begun it
  };
  /// New limits for a step.
  struct Change {
    std::size_t step = 0;
    kernel::LimitBytes limits;
  };
  void run(const std::stop_token& ending, int processor) noexcept;
  bool start_next() noexcept;
  bool go_on(std::uint32_t place) noexcept;
  void start_leg(std::uint32_t bench, Flight& flight) noexcept;
  [[nodiscard]] bool may_start_leg(std::uint32_t place) const noexcept;
  [[nodiscard]] bool may_settle(std::uint32_t place) const noexcept;
  void adopt(std::uint64_t number, std::size_t leg, bool settled) noexcept;
  void decide(std::uint32_t bench, Flight& flight) noexcept;
  void settle(std::uint32_t bench, StackImage& image, std::uint32_t place) noexcept;
  bool hand_back() noexcept;
  void give_up() noexcept;
  void watch_oldest() noexcept;
  void fail(cl_int code, const char* what) noexcept;

  const Steps steps_;
  const Layout layout_;
  memory::opencl::Device device_;
  StackFlow flow_;  // StackFlow::asked() becomes which images are kept
  StackWork work_;
  std::string how_;
  StepChanges<Change> changes_;
  // Of the thread:
  std::vector<Flight> flights_;  // by bench
  std::uint32_t first_ = 0;      // bench of the oldest
  std::uint32_t flying_ = 0;
  StepWatch watch_{1};  // of the oldest, whose step is how many legs of it have begun
  std::optional<StepWatch::Turn> turn_;
  std::jthread thread_;
};

/// Makes the unit, as unit::make_unit(). Throws ConfigError when there is no such device, ResourceError when there are
/// no devices.
std::unique_ptr<Unit> make_unit(const Choice& choice, const Pipeline& pipeline, const Layout& layout,
                                Doorbell& done_bell);

/// Returns the OpenCL devices of this machine, or why there are none.
Available available();
/// Returns these devices with their memory; none without a library.
std::vector<UnitDevice> devices();

}  // namespace rashpa::unit::opencl
