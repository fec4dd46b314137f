// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/stack_work.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/device/settle_counts.hpp"

namespace rashpa::unit::cuda {

namespace {

constexpr std::size_t kAlignment = 16;  // of the bytes that threads load and store at once

const Layout& checked(const Steps& steps, const Layout& layout) {
  check_fit(steps, layout);
  return layout;
}

}  // namespace

void check_fit(const Steps& steps, const Layout& layout) {
  if (steps.steps.empty()) {
    throw ConfigError("unit: unit cuda has nothing to do without a kernel; add one, or use unit cpu");
  }
  for (const PlannedStep& step : steps.steps) {
    const kernel::Declaration& declaration = step.step->declaration();
    if (!declaration.runs_on("cuda")) {
      throw ConfigError(fmt::format("unit: unit cuda has no version of the kernel {}; use unit cpu", declaration.name));
    }
  }
  if (layout.images == nullptr || layout.image_stride % kAlignment != 0 ||
      layout.image_stride < std::size_t{layout.width} * layout.height * pixel_bytes(layout.input) ||
      reinterpret_cast<std::uintptr_t>(layout.images) % kAlignment != 0) {
    throw ConfigError(fmt::format("unit: unit cuda needs images that begin at multiples of {} bytes; they lie {} apart",
                                  kAlignment, layout.image_stride));
  }
}

StackWork::StackWork(const Steps& steps, const Layout& layout, std::uint32_t benches, Input input,
                     std::uint32_t windows_on_device, const std::optional<Seat>& seat)
    : steps_(steps),
      layout_(checked(steps, layout)),
      seat_(seat),
      places_(steps, layout, seat ? seat->joint->image_bytes() : 0),
      limits_(steps, layout, order_bytes(layout.stack), seat ? seat->joint->meetings() : std::vector<Meeting>{}),
      control_(sizeof(Control)),
      triggers_(layout.stacks * sizeof(SlotTrigger)),
      orders_(layout.stacks * limits_.stride()),
      results_(steps.output, places_, layout, seat_ ? &*seat_ : nullptr),
      passes_(steps_, layout_, benches),
      memory_(steps_, places_, limits_.stride(), benches, input == Input::copied && !on_device()) {
  check(cudaGetDevice(&device_), "which device is current");
  if (on_device()) check_device_images();
  // Those of all members are pinned once.
  if (!seat && !on_device()) {
    pinning_.emplace(layout.images, std::size_t{layout.stacks} * layout.stack * layout.image_stride);
  }
  make_sums(windows_on_device);
}

void StackWork::check_device_images() const {
  cudaPointerAttributes found{};
  check(cudaPointerGetAttributes(&found, layout_.images), "whose memory the images lie in");
  if (found.type != cudaMemoryTypeDevice || found.device != device_) {
    throw ConfigError(
        fmt::format("unit: the images lie in memory of {}, and unit cuda works on device {}; take their memory there",
                    found.type == cudaMemoryTypeDevice ? fmt::format("device {}", found.device) : "the host", device_));
  }
  if (steps_.output.pixels && places_.passed_on) {
    throw ConfigError(
        "unit: no kernel makes pixels, and those that arrive lie in the device's memory, where no sink reads them; add "
        "one that does (jungfrau, unpack, csr, …), or take the buffer in host memory");
  }
}

void StackWork::make_sums(std::uint32_t windows_on_device) {
  for (std::size_t number = 0; number < steps_.steps.size(); ++number) {
    const std::optional<std::size_t>& made = steps_.steps[number].accumulation;
    if (!made) continue;
    sums_.add(number, steps_.output.results.accumulations[*made], layout_, *passes_.pass(number),
              (windows_on_device >> *made & 1U) != 0);
  }
}

Order& StackWork::order(std::uint32_t slot) const noexcept {
  return *reinterpret_cast<Order*>(orders_.as<std::byte>() + slot * limits_.stride());
}

void StackWork::give_order(const Stack& stack, std::span<const std::uint8_t> asked, std::uint32_t ticket) noexcept {
  Order& order = this->order(stack.slot);
  order.changed = limits_.write(stack.slot, reinterpret_cast<std::byte*>(&order)) ? 1 : 0;
  std::uint8_t* const work = order.work();
  std::uint8_t* const dark = order.dark(layout_.stack);
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    work[i] = asked[i];
    dark[i] = (stack.images[i].flags & FrameRecord::dark) != 0 ? work[i] : std::uint8_t{0};
    if (work[i] != 0) passes_.prepare(place(stack.slot, i), stack.images[i]);
  }
  for (std::uint32_t i = stack.count; i < layout_.stack; ++i) work[i] = dark[i] = 0;
  order.images = stack.count;
  order.first = stack.number * layout_.stack;
  if (passes_.take_turns()) sums_.order(stack, order);
  order.ticket = ticket;
}

void StackWork::order_ahead(std::uint32_t slot, std::uint64_t number, std::uint32_t ticket) noexcept {
  std::byte* const at = watching_->ahead + slot * limits_.stride();
  Order& order = *reinterpret_cast<Order*>(at);
  limits_.write_ahead(at);
  std::fill_n(order.work(), layout_.stack, std::uint8_t{1});
  std::fill_n(order.dark(layout_.stack), layout_.stack, std::uint8_t{0});
  order.images = layout_.stack;
  order.first = number * layout_.stack;
  order.ticket = ticket;
}

void StackWork::account(Stack& stack, bool finished) noexcept {
  const auto kept = [&](std::uint32_t image, std::size_t step) {
    return passes_.got_past(step, results_.finding(stack.slot, image));
  };
  sums_.account(stack, finished, place(stack.slot), kept);
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

bool StackWork::any_to_process(std::uint32_t slot) const noexcept {
  const std::uint8_t* const work = order(slot).work();
  return std::any_of(work, work + layout_.stack, [](std::uint8_t one) { return one != 0; });
}

cudaError_t StackWork::enqueue_without_images(std::uint32_t slot, cudaStream_t stream) const noexcept {
  cudaError_t code = copy_order(slot, stream);
  if (code == cudaSuccess) code = compute(slot, stream);
  if (code == cudaSuccess) code = copy_out(slot, stream);
  return code;
}

cudaError_t StackWork::copy_order(std::uint32_t slot, cudaStream_t stream) const noexcept {
  const void* const from = watching_ ? static_cast<const void*>(watching_->ahead + slot * limits_.stride())
                                     : static_cast<const void*>(&order(slot));
  return cudaMemcpyAsync(memory_.order(bench_of(slot)), from, limits_.stride(), cudaMemcpyHostToDevice, stream);
}

cudaError_t StackWork::wait_for_words(std::uint32_t slot, cudaStream_t stream) const noexcept {
  return cuda::watch({.order = memory_.order(bench_of(slot)),
                      .by_host = reinterpret_cast<const std::byte*>(&order(slot)),
                      .order_bytes = static_cast<std::uint32_t>(limits_.stride()),
                      .stack = layout_.stack,
                      .control = control_.as<Control>(),
                      .start = watching_->starts + slot,
                      .words = watching_->words,
                      .dtps = watching_->dtps,
                      .over = watching_->over},
                     stream);
}

cudaError_t StackWork::copy_in(std::uint32_t slot, cudaStream_t stream) const noexcept {
  cudaError_t code = copy_order(slot, stream);
  if (code == cudaSuccess && watching_) code = wait_for_words(slot, stream);
  if (code != cudaSuccess || on_device()) return code;
  std::byte* const there = memory_.raw(bench_of(slot));
  const std::byte* const images = layout_.images + places_.at(slot) * layout_.image_stride;
  if (seat_) {
    const std::size_t bytes = std::size_t{layout_.width} * layout_.height * pixel_bytes(layout_.input);
    return cudaMemcpy2DAsync(there, places_.raw_stride, images, layout_.image_stride, bytes, layout_.stack,
                             cudaMemcpyHostToDevice, stream);
  }
  return cudaMemcpyAsync(there, images, layout_.stack * layout_.image_stride, cudaMemcpyHostToDevice, stream);
}

const std::byte* StackWork::raw(std::uint32_t slot) const noexcept {
  return on_device() ? layout_.images + places_.at(slot) * layout_.image_stride : memory_.raw(bench_of(slot));
}

std::byte* const* StackWork::ended(std::size_t step, std::uint32_t bench) const noexcept {
  const auto& made = steps_.steps[step].accumulation;
  if (!made || steps_.output.results.accumulations[*made].window == 0) return nullptr;
  return memory_.order(bench)->ended[*made].data();
}

cudaError_t StackWork::compute(std::uint32_t slot, cudaStream_t stream) const noexcept {
  const std::uint32_t bench = bench_of(slot);
  kernel::cuda::DeviceStack stack{};
  stack.in = raw(slot);
  stack.in_stride = places_.raw_stride;
  stack.marks = memory_.marks(bench);
  stack.marks_stride = places_.mark_words;
  stack.work = memory_.work(bench);
  stack.dark = stack.work + layout_.stack;
  stack.scalars_stride = places_.columns;
  stack.findings = memory_.findings(bench);
  stack.count = layout_.stack;
  stack.place = place(slot);
  for (std::size_t i = 0; i < steps_.steps.size(); ++i) {
    const PlannedStep& step = steps_.steps[i];
    stack.out = memory_.made(bench, i);
    stack.out_stride = places_.made_strides[i];
    stack.scalars = memory_.scalars(bench) + step.first_column;
    stack.step = static_cast<std::uint8_t>(i);
    stack.device = device_;
    stack.limits = memory_.limits(bench, limits_.of(i));
    if (settled_on_delivery(i)) break;
    stack.ended = ended(i, bench);
    if (const cudaError_t code = compute_step(i, slot, stack, stream); code != cudaSuccess) return code;
    if (!step.makes_pixels) continue;
    stack.in = stack.out;
    stack.in_stride = stack.out_stride;
  }
  return cudaSuccess;
}

cudaError_t StackWork::compute_step(std::size_t step, std::uint32_t slot, const kernel::cuda::DeviceStack& stack,
                                    cudaStream_t stream) const noexcept {
  const std::uint32_t bench = bench_of(slot);
  const Order* const order = memory_.order(bench);
  auto* const turn = turn_.as<std::uint32_t>();
  const auto& rides = steps_.steps[step].rides;
  auto code = passes_.begins_turn(step) ? take_turn(order, turn, stream) : cudaSuccess;
  if (code == cudaSuccess) {
    code = static_cast<cudaError_t>(rides ? kernel::cuda::settle_counts(stack, nullptr, stream)
                                          : passes_.pass(step)->enqueue(stack, bench, stream));
  }
  if (code == cudaSuccess && step < steps_.learned && !steps_.keep_darks) {
    code = let_darks_on(memory_.order(bench), layout_.stack, stack.findings, step + 1 < steps_.learned, stream);
  }
  if (code == cudaSuccess) code = meet(slot, step + 1, stream);
  if (code == cudaSuccess && passes_.ends_turn(step)) code = give_turn(order, turn, stream);
  return code;
}

cudaError_t StackWork::make_chunks(std::uint32_t slot, cudaStream_t stream) const noexcept {
  const std::uint32_t bench = bench_of(slot);
  const std::size_t maker = steps_.last_maker;
  const kernel::bitshuffle_lz4::cuda::DeviceImages images{
      .images = places_.passed_on ? raw(slot) : memory_.made(bench, maker),
      .stride = places_.passed_on ? places_.raw_stride : places_.made_strides[maker],
      .work = memory_.work(bench),
      .count = layout_.stack};
  return static_cast<cudaError_t>(memory_.encoder(bench)->enqueue(images, results_.chunks(slot), stream));
}

cudaError_t StackWork::meet(std::uint32_t slot, std::size_t steps, cudaStream_t stream) const noexcept {
  if (!seat_) return cudaSuccess;
  const std::vector<Meeting>& meetings = seat_->joint->meetings();
  const auto found = std::find_if(meetings.begin(), meetings.end(),
                                  [steps](const Meeting& meeting) { return meeting.behind == steps; });
  if (found == meetings.end()) return cudaSuccess;
  const std::uint32_t bench = bench_of(slot);
  Exchange exchanged{};
  exchanged.order = memory_.order(bench);
  exchanged.work = memory_.work(bench);
  exchanged.stack = layout_.stack;
  exchanged.scalars = memory_.scalars(bench);
  exchanged.columns = places_.columns;
  exchanged.first = static_cast<std::uint32_t>(found->first);
  exchanged.end = static_cast<std::uint32_t>(found->end);
  exchanged.findings = memory_.findings(bench);
  exchanged.boxes = seat_->joint->boxes(static_cast<std::size_t>(found - meetings.begin()), slot);
  exchanged.members = seat_->joint->members();
  exchanged.self = seat_->member;
  exchanged.over = seat_->joint->over_word();
  if (!found->bounds.empty()) {
    exchanged.bounds = reinterpret_cast<const kernel::Bound*>(memory_.limits(bench, limits_.bounds_of(steps - 1)));
  }
  exchanged.bound_count = static_cast<std::uint32_t>(found->bounds.size());
  exchanged.bound_column = static_cast<std::uint32_t>(steps_.steps[steps - 1].first_column);
  exchanged.step = static_cast<std::uint8_t>(steps - 1);
  return exchange(exchanged, stream);
}

cudaError_t StackWork::copy_out(std::uint32_t slot, cudaStream_t stream) const noexcept {
  const std::uint32_t bench = bench_of(slot);
  if (memory_.encoder(bench) != nullptr) {
    if (const cudaError_t code = make_chunks(slot, stream); code != cudaSuccess) return code;
  }
  Deliver delivery{};
  delivery.order = memory_.order(bench);
  delivery.stack = layout_.stack;
  delivery.findings = memory_.findings(bench);
  delivery.scalars = memory_.scalars(bench);
  delivery.columns = places_.columns;
  if (steps_.output.pixels && !places_.passed_on) {
    delivery.images = memory_.made(bench, steps_.last_maker);
    delivery.image_stride = places_.made_strides[steps_.last_maker];
  }
  results_.address(slot, delivery);
  delivery.blocks_done = memory_.blocks_done(bench);
  if (const std::size_t last = steps_.steps.size() - 1; settled_on_delivery(last)) {
    delivery.tap = reinterpret_cast<const kernel::CountTap*>(memory_.limits(bench, limits_.of(last)));
    delivery.tap_column = static_cast<std::uint32_t>(steps_.steps[last].first_column);
    delivery.tap_step = static_cast<std::uint8_t>(last);
  }
  return deliver(delivery, stream);
}

}  // namespace rashpa::unit::cuda
