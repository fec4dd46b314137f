// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "rashpa/kernel/opencl_pass.hpp"
#include "rashpa/memory/opencl/device.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/steps.hpp"

namespace rashpa::unit::opencl {

using kernel::opencl::ImageBooks;

/// All memory of a unit on an OpenCL device, and the steps of one stack put into its three queues: images in, the
/// pipeline's passes, results out. Stacks are worked on at benches, each with memory of its own, so that one comes in
/// while another is computed and a third goes out. One thread; functions return the first error, a cl_int; none waits.
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

  /// The stack in `slot` begins at `bench`, where nothing is under way: image i is processed when work[i] is not 0.
  cl_int start(std::uint32_t bench, std::uint32_t slot, std::span<const std::uint8_t> work) noexcept;
  /// CL_COMPLETE when the books of the stack at `bench` are there; above it while they are not; below: an error.
  [[nodiscard]] cl_int decided(std::uint32_t bench) const noexcept { return status(benches_[bench].decided); }
  /// Then: what was found in image i.
  [[nodiscard]] const ImageBooks& books(std::uint32_t bench, std::uint32_t image) const noexcept {
    return benches_[bench].host_books.as<ImageBooks>()[image];
  }
  /// Lets go out what accepted images have: image i when kept[i] is not 0, and nothing else.
  cl_int deliver(std::uint32_t bench, std::uint32_t slot, std::span<const std::uint8_t> kept) noexcept;
  /// As decided(), of what deliver() was asked for.
  [[nodiscard]] cl_int delivered(std::uint32_t bench) const noexcept { return status(benches_[bench].delivered); }
  /// In host memory, once delivered.
  [[nodiscard]] const std::byte* pixels(std::uint32_t slot, std::uint32_t image) const noexcept;
  [[nodiscard]] SparseView list(std::uint32_t bench, std::uint32_t slot, std::uint32_t image) const noexcept;
  /// Number of the step that makes lists; the number of steps when none does.
  [[nodiscard]] std::size_t lister() const noexcept { return lister_; }
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
  };
  struct Slot {
    Memory raw;  // in place
    void* raw_mapped = nullptr;
    Memory made;  // in place: the pixels that leave
    std::byte* made_mapped = nullptr;
    memory::opencl::HostMemory pixels;  // copied
    memory::opencl::HostMemory index, value;
  };
  void make_passes(const memory::opencl::Device& device);
  void make_slots(const memory::opencl::Device& device);
  void make_benches(const memory::opencl::Device& device);
  void warm_up();
  cl_int bring_in(Bench& bench, std::uint32_t slot) noexcept;
  cl_int compute(std::uint32_t number, std::uint32_t slot) noexcept;
  cl_int bring_books(Bench& bench, std::uint32_t slot) noexcept;
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
  std::size_t pixels_;
  std::size_t padded_;      // pixels from one image that a step has made to the next
  std::size_t mark_words_;  // from one image's marks to the next's
  bool passed_on_;          // pixels that leave are those of the slot: nobody has made any
  bool pixels_leave_;       // made ones
  std::size_t lister_;
  const memory::opencl::Device& device_;
  memory::opencl::Queue in_, compute_, out_;
  std::vector<std::unique_ptr<kernel::opencl::DevicePass>> passes_;         // by step; null: it rides
  std::vector<std::unique_ptr<kernel::opencl::SettleCounts>> settlements_;  // by step; null: it does not
  std::vector<Slot> slots_;
  std::vector<Bench> benches_;
  std::int64_t ready_ns_ = 0;
};

}  // namespace rashpa::unit::opencl
