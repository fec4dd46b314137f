#include "rashpa/unit/cuda/stack_work.hpp"

#include <fmt/core.h>

#include <atomic>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/csr/csr_cuda.hpp"
#include "rashpa/unit/cuda/stage_kernels.hpp"

namespace rashpa::unit::cuda {

namespace {

namespace jungfrau = kernel::jungfrau;
namespace csr = kernel::csr;

constexpr std::size_t kAlignment = 16;  // of what threads load and store at once

constexpr std::size_t round_up(std::size_t value, std::size_t step) noexcept {
  return (value + step - 1) / step * step;
}

const Layout& checked(const Steps& steps, const Layout& layout) {
  if (!steps.converts) {
    throw ConfigError("unit: unit cuda has nothing to do without the kernel jungfrau; add it, or use unit cpu");
  }
  if (layout.images == nullptr || layout.image_stride % kAlignment != 0 ||
      layout.image_stride < std::size_t{layout.width} * layout.height * sizeof(std::uint16_t) ||
      reinterpret_cast<std::uintptr_t>(layout.images) % kAlignment != 0) {
    throw ConfigError(fmt::format("unit: unit cuda needs the images' memory, {} bytes aligned and as far apart, not {}",
                                  kAlignment, layout.image_stride));
  }
  return layout;
}

}  // namespace

StackWork::Bench::Bench(const StackWork& work, Input input)
    : order(order_bytes(work.layout_.stack)),
      raw(input == Input::copied ? work.layout_.stack * work.layout_.image_stride : 0),
      out(work.layout_.stack * work.out_bytes_),
      marks(work.layout_.stack * work.mark_words_ * sizeof(std::uint64_t)),
      counts(work.layout_.stack * sizeof(jungfrau::Counts)),
      accepted(work.layout_.stack),
      outcomes(work.layout_.stack * sizeof(Outcome)),
      entries(work.layout_.stack * sizeof(std::uint32_t)),
      scratch(work.steps_.compaction ? csr::cuda::scratch_bytes(work.pixels_, work.layout_.stack) : 0),
      blocks_done(sizeof(std::uint32_t)) {}

StackWork::StackWork(const Steps& steps, const Layout& layout, std::uint32_t benches, Input input)
    : steps_(steps),
      layout_(checked(steps, layout)),
      benches_(benches),
      pixels_(layout.width * layout.height),
      out_pixels_(round_up(pixels_, jungfrau::kGroup)),
      out_bytes_(out_pixels_ * pixel_bytes(steps.output)),
      mark_words_(steps.compaction ? out_pixels_ / jungfrau::kGroup : 0),
      list_stride_(steps.compaction ? round_up(csr::capacity_of(*steps.compaction, pixels_), jungfrau::kGroup) : 0),
      pinning_(layout.images, std::size_t{layout.stacks} * layout.stack * layout.image_stride),
      calibration_(*steps.conversion),
      control_(sizeof(Control)),
      triggers_(layout.stacks * sizeof(SlotTrigger)),
      orders_(layout.stacks * order_bytes(layout.stack)),
      done_(layout.stacks * sizeof(Word)),
      outcomes_(place(layout.stacks) * sizeof(Outcome)),
      images_(steps.compaction ? 0 : place(layout.stacks) * out_bytes_),
      index_(place(layout.stacks) * list_stride_ * sizeof(std::uint32_t)),
      value_(place(layout.stacks) * list_stride_ * sizeof(std::int16_t)) {
  steps_.conversion = nullptr;
  bench_.reserve(benches);
  for (std::uint32_t bench = 0; bench < benches; ++bench) bench_.emplace_back(*this, input);
}

Order& StackWork::order(std::uint32_t slot) const noexcept {
  return *reinterpret_cast<Order*>(orders_.as<std::byte>() + slot * order_bytes(layout_.stack));
}
std::uint32_t StackWork::done(std::uint32_t slot) const noexcept {
  return std::atomic_ref(done_.as<Word>()[slot].value).load(std::memory_order_acquire);
}
const Outcome* StackWork::outcomes(std::uint32_t slot) const noexcept { return outcomes_.as<Outcome>() + place(slot); }
const std::byte* StackWork::pixels(std::uint32_t slot, std::uint32_t image) const noexcept {
  return images_.as<std::byte>() + place(slot, image) * out_bytes_;
}
const std::uint32_t* StackWork::list_index(std::uint32_t slot, std::uint32_t image) const noexcept {
  return index_.as<std::uint32_t>() + place(slot, image) * list_stride_;
}
const std::int16_t* StackWork::list_value(std::uint32_t slot, std::uint32_t image) const noexcept {
  return value_.as<std::int16_t>() + place(slot, image) * list_stride_;
}

cudaError_t StackWork::enqueue(std::uint32_t slot, cudaStream_t stream, const Stages* stages) const noexcept {
  const auto mark = [&](std::size_t stage) {
    return stages != nullptr ? cudaEventRecord((*stages)[stage], stream) : cudaSuccess;
  };
  cudaError_t code = mark(0);
  if (code == cudaSuccess) code = copy_in(slot, stream);
  if (code == cudaSuccess) code = mark(1);
  if (code == cudaSuccess) code = compute(slot, stream);
  if (code == cudaSuccess) code = mark(2);
  if (code == cudaSuccess) code = copy_out(slot, stream);
  if (code == cudaSuccess) code = mark(3);
  return code;
}

cudaError_t StackWork::copy_in(std::uint32_t slot, cudaStream_t stream) const noexcept {
  const Bench& bench = bench_[bench_of(slot)];
  const cudaError_t code =
      cudaMemcpyAsync(bench.order.as<void>(), &order(slot), order_bytes(layout_.stack), cudaMemcpyHostToDevice, stream);
  if (code != cudaSuccess) return code;
  return cudaMemcpyAsync(bench.raw.as<void>(), layout_.images + place(slot) * layout_.image_stride,
                         layout_.stack * layout_.image_stride, cudaMemcpyHostToDevice, stream);
}

cudaError_t StackWork::compute(std::uint32_t slot, cudaStream_t stream) const noexcept {
  const Bench& bench = bench_[bench_of(slot)];
  jungfrau::cuda::Batch images{};
  images.raw = bench.raw.as<std::uint16_t>();
  images.raw_stride = layout_.image_stride / sizeof(std::uint16_t);
  images.out = bench.out.as<void>();
  images.out_stride = out_pixels_;
  images.marks = bench.marks.as<std::uint64_t>();
  images.marks_stride = mark_words_;
  images.counts = bench.counts.as<jungfrau::Counts>();
  images.work = bench.order.as<std::uint8_t>() + sizeof(Order);
  images.count = layout_.stack;
  cudaError_t code = jungfrau::cuda::convert(calibration_.tables(), calibration_.output(), images, steps_.taps, stream);
  if (code != cudaSuccess) return code;

  Decide decision{};
  decision.order = bench.order.as<Order>();
  decision.stack = layout_.stack;
  decision.counts = bench.counts.as<jungfrau::Counts>();
  decision.veto = steps_.veto.has_value();
  if (steps_.veto) decision.config = *steps_.veto;
  decision.outcomes = bench.outcomes.as<Outcome>();
  decision.accepted = bench.accepted.as<std::uint8_t>();
  code = decide(decision, stream);
  if (code != cudaSuccess || !steps_.compaction) return code;

  csr::cuda::Batch lists{};
  lists.photons = bench.out.as<std::int16_t>();
  lists.photons_stride = out_pixels_;
  lists.pixels = pixels_;
  lists.marks = bench.marks.as<std::uint64_t>();
  lists.marks_stride = mark_words_;
  lists.index = index_.as<std::uint32_t>() + place(slot) * list_stride_;
  lists.value = value_.as<std::int16_t>() + place(slot) * list_stride_;
  lists.list_stride = list_stride_;
  lists.capacity = csr::capacity_of(*steps_.compaction, pixels_);
  lists.entries = bench.entries.as<std::uint32_t>();
  lists.work = bench.accepted.as<std::uint8_t>();
  lists.count = layout_.stack;
  return csr::cuda::compact_marked(lists, bench.scratch.as<void>(), stream);
}

cudaError_t StackWork::copy_out(std::uint32_t slot, cudaStream_t stream) const noexcept {
  const Bench& bench = bench_[bench_of(slot)];
  Deliver delivery{};
  delivery.order = bench.order.as<Order>();
  delivery.stack = layout_.stack;
  delivery.outcomes = bench.outcomes.as<Outcome>();
  delivery.accepted = bench.accepted.as<std::uint8_t>();
  delivery.entries = steps_.compaction ? bench.entries.as<std::uint32_t>() : nullptr;
  delivery.images = steps_.compaction ? nullptr : bench.out.as<std::byte>();
  delivery.host_images = images_.as<std::byte>() + place(slot) * out_bytes_;
  delivery.image_bytes = out_bytes_;
  delivery.host_outcomes = outcomes_.as<Outcome>() + place(slot);
  delivery.host_done = &done_.as<Word>()[slot].value;
  delivery.blocks_done = bench.blocks_done.as<std::uint32_t>();
  return deliver(delivery, stream);
}

}  // namespace rashpa::unit::cuda
