// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "rashpa/kernel/contract/opencl_pass.hpp"
#include "rashpa/memory/opencl/device.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/steps.hpp"
#include "rashpa/unit/windows.hpp"

namespace rashpa::unit::opencl {

using kernel::opencl::ImageBooks;

/// All memory of a unit on an OpenCL device, and the steps of one stack put into its three queues: images in, the
/// pipeline's passes, results out. Stacks are worked on at benches, each with memory of its own, so that one comes in
/// while another is computed and a third goes out. Steps are done leg after leg: a leg ends where the host must have
/// its say before the device goes on. One thread; functions return the first error, a cl_int; none waits unless it says
/// so.
class StackWork {
 public:
  /// Builds the programs, takes all memory, and runs every kernel once, on nothing: drivers compile at that moment.
  /// Throws ConfigError when a kernel has no version for OpenCL or the images' memory does not fit, ResourceError when
  /// the device has no memory or its compiler refuses a kernel.
  StackWork(const memory::opencl::Device& device, const Steps& steps, const Layout& layout, std::uint32_t benches,
            Transfer transfer);
  ~StackWork();
  StackWork(const StackWork&) = delete;
  StackWork& operator=(const StackWork&) = delete;

  /// The stack begins at `bench`, where nothing is under way: image i is processed when work[i] is not 0. Its first leg
  /// is put into the queues.
  cl_int start(std::uint32_t bench, const Stack& stack, std::span<const std::uint8_t> work) noexcept;
  /// CL_COMPLETE when what the leg has found is there; above it while it is not; below: an error.
  [[nodiscard]] cl_int decided(std::uint32_t bench) const noexcept { return status(benches_[bench].decided); }
  /// Then: the host's part of the leg. True when another leg is to be put into the queues, by go_on(), in the order of
  /// the stacks: kernels keep what is added up from one to the next.
  bool settle(std::uint32_t bench, Stack& stack) noexcept;
  cl_int go_on(std::uint32_t bench, const Stack& stack) noexcept;
  /// How many legs of the stack at `bench` have been put into the queues.
  [[nodiscard]] std::size_t legs_begun(std::uint32_t bench) const noexcept { return benches_[bench].leg + 1; }
  /// What the device is at where that many legs of a stack have been put into its queues.
  [[nodiscard]] Busy busy(const StepWatch::Doing& doing, std::size_t legs) const {
    const Leg& leg = legs_[legs - 1];
    return steps_.busy(doing, leg.first, leg.last);
  }
  /// Behind the last leg: what was found in image i.
  [[nodiscard]] const ImageBooks& books(std::uint32_t bench, std::uint32_t image) const noexcept {
    return benches_[bench].host_books.as<ImageBooks>()[image];
  }
  /// Lets go out what accepted images have: image i when kept[i] is not 0, and nothing else.
  cl_int deliver(std::uint32_t bench, std::uint32_t slot, std::span<const std::uint8_t> kept) noexcept;
  /// As decided(), of what deliver() was asked for.
  [[nodiscard]] cl_int delivered(std::uint32_t bench) const noexcept { return status(benches_[bench].delivered); }
  /// In host memory, once delivered.
  [[nodiscard]] const std::byte* pixels(const Stack& stack, std::uint32_t image) const noexcept;
  /// Whether lists come from the device; otherwise settle() has set them.
  [[nodiscard]] bool lists_delivered() const noexcept { return lister_ != steps_.steps.size(); }
  [[nodiscard]] SparseView list(std::uint32_t bench, std::uint32_t slot, std::uint32_t image) const noexcept;
  /// Whether windows end with the stack: it is started even when none of its images is processed.
  [[nodiscard]] bool ends_windows(std::uint64_t number) const noexcept;
  /// In the order of stacks, of a stack of which all is done: what it has added to windows, and those that end with it.
  /// `started`: it was.
  void account(std::uint32_t bench, bool started, Stack& stack) noexcept;
  /// The windows that are open when nothing is under way any more. Waits for the device.
  cl_int conclude(Accumulated& all) noexcept;
  [[nodiscard]] std::string failure(std::uint8_t failed_in) const;
  [[nodiscard]] std::string notice() const;
  /// How long the compilers and the rest of the set-up took.
  [[nodiscard]] std::int64_t ready_ns() const noexcept { return ready_ns_; }
  [[nodiscard]] bool in_place() const noexcept { return in_place_; }

 private:
  using Memory = memory::opencl::Memory;
  using Event = memory::opencl::Event;
  struct Bench {
    Memory raw;                // copied
    std::vector<Memory> made;  // by step: what it makes of the pixels, unless that lies in the slot
    Memory marks;
    Memory books;
    memory::opencl::HostMemory host_raw, host_books;
    Event came, computed, decided, delivered;
    std::vector<std::uint8_t> work;  // images that the leg begins with
    std::size_t leg = 0;
    std::uint64_t number = 0;  // of the stack
  };
  struct Slot {
    Memory raw;  // in place
    void* raw_mapped = nullptr;
    Memory made;  // in place: the pixels that leave
    std::byte* made_mapped = nullptr;
    memory::opencl::HostMemory pixels;  // copied
    memory::opencl::HostMemory index, value;
  };
  /// Steps that the device does without the host, and what the host does behind them.
  struct Leg {
    std::size_t first = 0;
    std::size_t last = 0;  // behind it
  };
  void make_passes(const memory::opencl::Device& device);
  void make_legs();
  void make_slots(const memory::opencl::Device& device);
  void make_benches(const memory::opencl::Device& device);
  void warm_up();
  cl_int start_leg(std::uint32_t number, const Stack& stack) noexcept;
  cl_int bring_in(Bench& bench, const Stack& stack) noexcept;
  cl_int compute(std::uint32_t number, const Stack& stack) noexcept;
  cl_int let_darks_on(std::size_t number, const Bench& bench, const Stack& stack) noexcept;
  cl_int bring_out(std::uint32_t number, const Stack& stack) noexcept;
  [[nodiscard]] kernel::opencl::DeviceStack seen_by(std::size_t step, const Bench& bench,
                                                    const Stack& stack) const noexcept;
  /// Whether the image is there for the step.
  [[nodiscard]] static bool reaches(const ImageBooks& books, std::size_t step) noexcept;
  [[nodiscard]] bool on_host(std::size_t step) const noexcept {
    return passes_[step] != nullptr && passes_[step]->where() != kernel::opencl::DevicePass::Where::device;
  }
  [[nodiscard]] bool on_device(std::size_t step) const noexcept {
    return passes_[step] == nullptr || passes_[step]->where() != kernel::opencl::DevicePass::Where::host;
  }
  cl_int read(cl_mem from, std::size_t offset, std::size_t bytes, void* to) noexcept;
  cl_int flush() noexcept;
  [[nodiscard]] static cl_int status(const Event& event) noexcept;
  [[nodiscard]] std::size_t made_stride(std::size_t step) const noexcept;
  [[nodiscard]] bool made_in_slot(std::size_t step) const noexcept {
    return in_place_ && pixels_leave_ && step == steps_.last_maker;
  }

  Steps steps_;
  Layout layout_;
  bool in_place_;
  std::size_t pixels_;          // of an image that comes in
  std::size_t mark_words_ = 0;  // from one image's marks to the next's
  bool passed_on_;              // pixels that leave are those of the slot: nobody has made any
  bool pixels_leave_;           // made ones
  std::size_t lister_;          // the step that makes lists on the device; the number of steps: none does
  const memory::opencl::Device& device_;
  memory::opencl::Queue in_, compute_, out_;
  std::vector<std::unique_ptr<kernel::opencl::DevicePass>> passes_;         // by step; null: it rides
  std::vector<std::unique_ptr<kernel::opencl::SettleCounts>> settlements_;  // by step; null: it does not
  std::vector<Leg> legs_;
  std::vector<Windows> windows_;  // by accumulation
  /// A step that adds up, with its pass as either of both.
  struct Adder {
    std::size_t step = 0;
    kernel::opencl::HostAdding* on_host = nullptr;
    kernel::opencl::DeviceAdding* on_device = nullptr;
  };
  std::vector<Adder> adders_;  // by accumulation
  std::vector<Slot> slots_;
  std::vector<Bench> benches_;
  std::int64_t ready_ns_ = 0;
};

}  // namespace rashpa::unit::opencl
