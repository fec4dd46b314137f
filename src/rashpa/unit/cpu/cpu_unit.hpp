#pragma once
#include <atomic>
#include <vector>

#include "rashpa/memory/buffer.hpp"
#include "rashpa/unit/cpu/team.hpp"
#include "rashpa/unit/steps.hpp"
#include "rashpa/unit/unit.hpp"

namespace rashpa::unit {

/// The processing unit on processor cores: all threads work on one stack at a time, by blocks of pixels (so that
/// calibration is read once a stack), then by images for the compaction. Kernels do not throw, so nothing can leave a
/// thread; an image that cannot be finished (its list is full) becomes `errored`.
class CpuUnit final : public Unit, private Team::Work {
 public:
  /// Throws as make_unit does. Calibration is copied into the unit's own block order.
  CpuUnit(const Pipeline& pipeline, const Layout& layout, const Placement& placement, Doorbell& done_bell);
  ~CpuUnit() override;
  CpuUnit(const CpuUnit&) = delete;
  CpuUnit& operator=(const CpuUnit&) = delete;

  void submit(Stack* stack) noexcept override;
  Stack* take() noexcept override;
  void stop() noexcept override;
  [[nodiscard]] PixelType output() const noexcept override { return steps_.output; }
  [[nodiscard]] std::string how() const override;

 private:
  enum class Phase : std::uint8_t { convert, compact };

  // Exactly one thread at a time owns the stack in hand: the submitting thread, or the team's thread that finished a
  // phase. The atomic counters (waiting_, the team's) hand the ownership over.
  void work_off() noexcept;
  bool begin(Stack& stack) noexcept;
  void decide() noexcept;
  void decide(StackImage& image, std::size_t item) noexcept;
  void hand_back() noexcept;

  void run(unsigned worker, std::uint32_t task) noexcept override;
  void finished() noexcept override;
  void convert(unsigned worker, std::uint32_t task) noexcept;
  void compact(std::uint32_t task) noexcept;

  [[nodiscard]] std::byte* pixels_of(std::uint32_t slot, std::uint32_t image) const noexcept;

  const Steps steps_;  // its pointer to the conversion is not used after the constructor
  std::optional<kernel::jungfrau::Prepared> conversion_;
  const Layout layout_;
  const std::size_t pixels_;
  const std::size_t task_pixels_;
  const unsigned threads_;
  Doorbell& done_bell_;

  std::size_t image_stride_ = 0;
  std::size_t capacity_ = 0;     // entries of an image's list
  std::size_t list_stride_ = 0;  // bytes
  memory::Buffer outputs_;
  memory::Buffer lists_;
  std::vector<std::uint64_t> marks_;

  memory::Ring<Stack*> in_;
  memory::Ring<Stack*> out_;
  std::atomic<std::uint32_t> waiting_{0};  // stacks submitted and not handed back
  std::atomic<bool> stopping_{false};

  // The stack in hand. Items are its images that are processed.
  Stack* stack_ = nullptr;
  Phase phase_ = Phase::convert;
  std::size_t items_ = 0;
  std::vector<std::uint32_t> image_of_item_;
  std::vector<const std::uint16_t*> raw_of_item_;
  std::vector<void*> out_of_item_;
  std::vector<std::uint64_t*> marks_of_item_;
  std::vector<kernel::jungfrau::Counts> counts_;  // [worker][item]
  std::vector<std::uint32_t> compacted_;          // items
  std::size_t compactions_ = 0;

  std::unique_ptr<Team> team_;  // last: its threads use all of the above
};

}  // namespace rashpa::unit
