// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <atomic>
#include <optional>
#include <span>
#include <vector>

#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/team.hpp"
#include "rashpa/unit/beginning.hpp"
#include "rashpa/unit/limits/step_changes.hpp"
#include "rashpa/unit/step_watch.hpp"
#include "rashpa/unit/steps.hpp"
#include "rashpa/unit/unit.hpp"
#include "rashpa/unit/windows.hpp"

namespace rashpa::kernel {
class ByCell;
}

namespace rashpa::unit {

/// The processing unit on processor cores. All threads work on one stack at a time, pass after pass, by blocks of
/// pixels or by images, as the pass requires; blocks let a stack read the calibration once. Images vetoed by a step
/// skip all later steps. Kernels do not throw; an image that cannot be finished (its list is full) becomes `errored`.
class CpuUnit final : public Unit,
                      public Accumulating,
                      public Adjusting,
                      public Noticing,
                      public Beginning,
                      private memory::Team::Work {
 public:
  /// Creates the unit with its own copy of the calibration in block order. Throws as make_unit().
  CpuUnit(const Pipeline& pipeline, const Layout& layout, const Cores& cores, Doorbell& done_bell);
  ~CpuUnit() override;
  CpuUnit(const CpuUnit&) = delete;
  CpuUnit& operator=(const CpuUnit&) = delete;

  void submit(Stack* stack) noexcept override;
  Stack* take() noexcept override;
  void stop() noexcept override;
  [[nodiscard]] const Output& output() const noexcept override { return steps_.output; }
  [[nodiscard]] Accumulated conclude() noexcept override;
  [[nodiscard]] std::string how() const override;
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const override;
  [[nodiscard]] std::optional<Busy> busy() const override;
  [[nodiscard]] std::string notice() const override;
  [[nodiscard]] ReadyLimits ready(std::size_t step, const kernel::StepOf& with) override;
  bool begin_early(Stack& stack, std::uint32_t image, std::size_t end) noexcept override;

 private:
  /// The work of one step: a pass over pixels, or none when an earlier pass does it.
  struct Work {
    std::unique_ptr<kernel::CpuPass> pass;
    kernel::ByCell* by_cell = nullptr;  // the pass, when it is one
    std::optional<kernel::CountTap> rides{};
    memory::Buffer made;          // of a step that makes pixels for other steps: a stack of images
    std::size_t pixels = 0;       // of the images that it sees
    std::size_t task_pixels = 0;  // of one task
  };

  /// An accumulation, whose pass owns the sums.
  struct Accumulating {
    std::size_t step = 0;
    std::size_t elements = 0;       // of each quantity
    std::size_t task_elements = 0;  // written at once
    Windows windows;
    kernel::AccumulatedArrays to{};  // of the window that is being written
  };

  /// New limits for a step.
  struct Change {
    std::size_t step = 0;
    kernel::LimitBytes limits;
  };

  // Exactly one thread at a time owns the stack in hand: the submitting thread, or the team's thread that finished a
  // phase. The atomic counters (waiting_, the team's) hand the ownership over.
  void make_works();
  void make_accumulations();
  bool conclude_next() noexcept;
  void work_off() noexcept;
  bool begin(Stack& stack) noexcept;
  bool adopt(Change& change) noexcept;
  bool go_on() noexcept;
  bool begin_pass() noexcept;
  void add_blocks(std::uint32_t image, std::size_t first, std::size_t last) noexcept;
  [[nodiscard]] bool goes_on() const noexcept;
  void leave() noexcept;
  void make_early();
  void settle(std::size_t number) noexcept;
  bool settle(const PlannedStep& step, std::size_t item, kernel::Finding& finding) noexcept;
  bool settle_dark(std::size_t number, std::size_t item) noexcept;
  void deliver() noexcept;
  void hand_back() noexcept;

  void run(unsigned worker, std::uint32_t task) noexcept override;
  void finished() noexcept override;

  [[nodiscard]] StepWatch::Turn at_work(std::size_t worker, std::size_t step, std::size_t item) noexcept;
  [[nodiscard]] std::byte* made_by(std::size_t number, std::uint32_t place, std::size_t item) const noexcept;

  const Steps steps_;
  const Layout layout_;
  const unsigned threads_;
  Doorbell& done_bell_;

  std::size_t image_stride_ = 0;  // of the output
  std::size_t mark_words_ = 0;    // from one image's marks to the next's
  memory::Buffer outputs_;
  std::vector<std::uint64_t> marks_;
  std::vector<Work> works_;                 // by step
  std::vector<Accumulating> accumulating_;  // by accumulation

  memory::Ring<Stack*> in_;
  memory::Ring<Stack*> out_;
  std::atomic<std::uint32_t> waiting_{0};  // submitted, not handed back; acq_rel: a worker sees them
  StepChanges<Change> changes_;
  std::atomic<bool> stopping_{false};  // release by the owner, acquire by the thread that works

  // The stack in hand. Items are its images that are still processed.
  Stack* stack_ = nullptr;
  std::size_t step_ = 0;
  bool decided_ = false;
  bool delivered_ = false;
  std::size_t accumulation_ = 0;  // the step with the window to write next
  bool writing_ = false;          // the phase writes the window of accumulation_
  std::size_t items_ = 0;
  std::vector<std::uint32_t> image_;         // of item
  std::vector<std::uint32_t> place_;         // of item
  std::vector<std::uint8_t> dark_;           // of item
  std::vector<std::uint8_t> cell_;           // of item
  std::vector<const std::byte*> pixels_of_;  // the input of the next step
  std::vector<std::byte*> made_;             // where it puts what it makes
  std::vector<std::uint64_t*> marks_of_;
  std::vector<std::span<const PayloadSum>> sums_of_;
  std::vector<std::uint32_t> counted_;  // Tap::count
  StepWatch watch_;                     // a place a thread, and one for the thread that settles a step

  /// Pixels of one image for the first step's pass, in a phase before the stack is there, or behind such phases.
  struct Block {
    std::uint32_t image = 0;
    std::size_t first = 0;
    std::size_t last = 0;
  };
  bool can_begin_early_ = false;
  std::optional<std::uint64_t> early_stack_;  // number of the stack of which the first step has pixels already …
  std::uint32_t early_images_ = 0;            // … for that number of images …
  std::vector<std::size_t> early_done_;       // … up to these pixels
  bool early_ = false;                        // the phase is before the stack is there
  bool resumed_ = false;                      // the first step's pass goes on behind such phases
  std::vector<Block> blocks_;                 // of the phase

  std::unique_ptr<memory::Team> team_;  // last: its threads use all of the above
};

}  // namespace rashpa::unit
