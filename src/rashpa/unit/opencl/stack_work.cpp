// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/stack_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"

namespace rashpa::unit::opencl {

namespace {

using memory::opencl::api;
using memory::opencl::check;
using memory::opencl::Device;

constexpr std::size_t kAlignment = 16;  // of the bytes that work items load at once

const Layout& checked(const Steps& steps, const Layout& layout) {
  for (const PlannedStep& step : steps.steps) {
    const kernel::Declaration& declaration = step.step->declaration();
    if (!declaration.runs_on("opencl")) {
      throw ConfigError(
          fmt::format("unit: unit opencl has no version of the kernel {}; use unit cpu", declaration.name));
    }
  }
  if (steps.steps.empty()) return layout;
  if (layout.images == nullptr || layout.image_stride % kAlignment != 0 ||
      layout.image_stride < std::size_t{layout.width} * layout.height * pixel_bytes(layout.input) ||
      reinterpret_cast<std::uintptr_t>(layout.images) % kAlignment != 0) {
    throw ConfigError(
        fmt::format("unit: unit opencl needs images that begin at multiples of {} bytes; they lie {} apart", kAlignment,
                    layout.image_stride));
  }
  return layout;
}

bool placed_for(const Device& device, const Layout& layout) {
  const std::size_t slot = layout.stack * layout.image_stride;
  return reinterpret_cast<std::uintptr_t>(layout.images) % device.info().base_alignment == 0 &&
         slot % device.info().base_alignment == 0;
}

bool works_in_place(const Device& device, const Layout& layout, Transfer transfer) {
  if (transfer == Transfer::copied) return false;
  const bool possible = device.info().unified && placed_for(device, layout);
  if (transfer == Transfer::in_place && !possible) {
    throw ConfigError(
        fmt::format("unit: {} cannot work on the images where they are; let them be copied", device.info().name));
  }
  return possible;
}

/// None where nothing is done to images, or where they are copied.
SlotsInPlace slots_of(const Device& device, const Steps& steps, const Layout& layout, const Places& places,
                      cl_command_queue queue) {
  if (steps.steps.empty() || !places.in_place) return {};
  return {device, layout, places, queue};
}

/// Returns true when the image has not been vetoed and has not failed before this step.
bool is_there_for(const ImageBooks& books, std::size_t step) noexcept {
  return (books.verdict == 0 || books.step >= step) && (books.failed == 0 || books.failed > step);
}

}  // namespace

StackWork::StackWork(const Device& device, const Steps& steps, const Layout& layout, std::uint32_t benches,
                     Transfer transfer)
    : ready_ns_(now_ns()),
      steps_(steps),
      layout_(checked(steps, layout)),
      places_(steps, layout, works_in_place(device, layout, transfer)),
      in_(device.queue()),
      compute_(device.queue()),
      out_(device.queue()),
      passes_(device, steps_, layout, benches),
      slots_(slots_of(device, steps_, layout_, places_, out_.get())),
      memory_(device, steps_, places_, steps_.steps.empty() ? 0 : benches, compute_.get()),
      delivery_(device, steps_.output, places_, steps_.steps.empty() ? 0 : layout.stacks, lists_delivered()),
      flights_(benches) {
  if (!steps_.steps.empty()) {
    make_sums();
    warm_up();
  }
  ready_ns_ = now_ns() - ready_ns_;
}

void StackWork::make_sums() {
  for (std::size_t number = 0; number < steps_.steps.size(); ++number) {
    const PlannedStep& step = steps_.steps[number];
    if (!step.accumulation) continue;
    sums_.add(number, steps_.output.results.accumulations[*step.accumulation], layout_, *passes_.pass(number));
  }
}

void StackWork::warm_up() {
  const std::vector<std::uint8_t> none(layout_.stack, 0);
  Stack nothing{.slot = 0, .number = 0, .count = 0, .images = std::vector<StackImage>(layout_.stack)};
  for (std::uint32_t bench = 0; bench < flights_.size(); ++bench) {
    check(start(bench, nothing, none), "run the kernels once");
    for (;;) {
      for (const cl_command_queue queue : {in_.get(), compute_.get(), out_.get()}) {
        check(api().finish(queue), "run the kernels once");
      }
      const cl_int state = decided(bench);
      check(state < 0 ? state : CL_SUCCESS, "run the kernels once");
      if (legs_begun(bench) == passes_.legs().size()) break;
      check(go_on(bench, nothing), "run the kernels once");
    }
    check(sums_.conclude_all(bench, compute_.get()), "run the kernels once");
    check(api().finish(compute_.get()), "run the kernels once");
  }
}

cl_int StackWork::status(const Event& event) noexcept {
  cl_int state = CL_COMPLETE;
  const cl_int code =
      api().get_event_info(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr);
  return code != CL_SUCCESS ? code : state;
}

cl_int StackWork::start(std::uint32_t bench, const Stack& stack, std::span<const std::uint8_t> work) noexcept {
  memory_.begin(bench, work);
  flights_[bench].leg = 0;
  flights_[bench].number = stack.number;
  return start_leg(bench, stack);
}

cl_int StackWork::go_on(std::uint32_t bench, const Stack& stack) noexcept {
  flights_[bench].leg += 1;
  return start_leg(bench, stack);
}

cl_int StackWork::start_leg(std::uint32_t bench, const Stack& stack) noexcept {
  cl_int code = bring_in(bench, stack);
  if (code == CL_SUCCESS) code = compute(bench, stack);
  if (code == CL_SUCCESS) code = bring_out(bench, stack);
  if (code == CL_SUCCESS) code = flush();
  return code;
}

cl_int StackWork::bring_in(std::uint32_t bench, const Stack& stack) noexcept {
  cl_int code = CL_SUCCESS;
  if (places_.in_place) {
    code = slots_.to_device(stack.slot, in_.get());
  } else if (flights_[bench].leg == 0) {
    code = memory_.bring_in(bench, stack.images, in_.get());
  }
  return code != CL_SUCCESS ? code : memory_.send_books(bench, in_.get(), flights_[bench].came.fill());
}

kernel::opencl::DeviceStack StackWork::seen_by(std::size_t step, std::uint32_t bench,
                                               const Stack& stack) const noexcept {
  const auto made = [&](std::size_t number) {
    return places_.made_in_slot(number) ? slots_.made(stack.slot) : memory_.made(bench, number);
  };
  kernel::opencl::DeviceStack seen{};
  seen.in = places_.in_place ? slots_.raw(stack.slot) : memory_.raw(bench);
  seen.in_stride = static_cast<std::uint32_t>(places_.image_stride);
  seen.delivered = true;
  for (std::size_t before = 0; before < step; ++before) {
    if (!steps_.steps[before].makes_pixels) continue;
    seen.in = made(before);
    seen.in_stride = static_cast<std::uint32_t>(places_.made_strides[before]);
    seen.delivered = false;
  }
  seen.out = made(step);
  seen.out_stride = static_cast<std::uint32_t>(places_.made_strides[step]);
  seen.marks = memory_.marks(bench);
  seen.marks_stride = static_cast<std::uint32_t>(places_.mark_words);
  seen.books = memory_.device_books(bench);
  seen.count = places_.stack;
  seen.step = static_cast<std::uint32_t>(step);
  seen.first_column = static_cast<std::uint32_t>(steps_.steps[step].first_column);
  seen.images = stack.images.data();
  seen.work = memory_.work(bench).data();
  return seen;
}

cl_int StackWork::compute(std::uint32_t bench, const Stack& stack) noexcept {
  Flight& flight = flights_[bench];
  const cl_event came = flight.came.get();
  cl_int code = api().barrier(compute_.get(), 1, &came, nullptr);
  for (std::size_t i = leg_of(bench).first; i < leg_of(bench).last && code == CL_SUCCESS; ++i) {
    if (!passes_.on_device(i)) continue;
    code = passes_.enqueue(seen_by(i, bench, stack), bench, compute_.get());
    if (const auto& sum = steps_.steps[i].accumulation; code == CL_SUCCESS && sum && stack.count != 0) {
      code = sums_.conclude(*sum, bench, stack.number, compute_.get());
    }
    if (code == CL_SUCCESS) code = let_darks_on(i, bench, stack);
  }
  return code != CL_SUCCESS ? code : api().marker(compute_.get(), 0, nullptr, flight.computed.fill());
}

/// Lets images go on behind step `step` that kernels only learn from, as far as steps learn, whatever the step says of
/// them.
cl_int StackWork::let_darks_on(std::size_t step, std::uint32_t bench, const Stack& stack) noexcept {
  static_assert(offsetof(ImageBooks, verdict) == offsetof(ImageBooks, work) + 1);
  const std::span<const std::uint8_t> work = memory_.work(bench);
  cl_int code = CL_SUCCESS;
  for (std::uint32_t i = 0; step < steps_.learned && i < stack.count && code == CL_SUCCESS; ++i) {
    if (work[i] == 0 || !steps_.only_learned(stack.images[i])) continue;
    const std::array<cl_uchar, 2> work_and_verdict{static_cast<cl_uchar>(step + 1 < steps_.learned ? 1 : 0), 0};
    code = api().fill_buffer(compute_.get(), memory_.device_books(bench), work_and_verdict.data(),
                             work_and_verdict.size(), i * sizeof(ImageBooks) + offsetof(ImageBooks, work),
                             work_and_verdict.size(), 0, nullptr, nullptr);
  }
  return code;
}

cl_int StackWork::bring_out(std::uint32_t bench, const Stack& stack) noexcept {
  Flight& flight = flights_[bench];
  const cl_event computed = flight.computed.get();
  cl_int code = api().barrier(out_.get(), 1, &computed, nullptr);
  for (std::size_t i = leg_of(bench).first; i < leg_of(bench).last && code == CL_SUCCESS; ++i) {
    code = passes_.fetch(seen_by(i, bench, stack), bench, out_.get());
  }
  if (places_.in_place && code == CL_SUCCESS) code = slots_.to_host(stack.slot, out_.get());
  return code != CL_SUCCESS ? code : memory_.fetch_books(bench, out_.get(), flight.decided.fill());
}

bool StackWork::looked_at(std::size_t step, std::uint32_t bench, const Stack& stack,
                          std::uint32_t image) const noexcept {
  return memory_.work(bench)[image] != 0 && is_there_for(books(bench, image), step) &&
         (step < steps_.learned || !steps_.only_learned(stack.images[image]));
}

/// Does the host's part of a step.
void StackWork::settle_step(std::size_t step, std::uint32_t bench, Stack& stack) noexcept {
  const PlannedStep& planned = steps_.steps[step];
  const std::span<ImageBooks> books = memory_.books(bench);
  const bool delivered = seen_by(step, bench, stack).delivered;
  for (std::uint32_t i = 0; i < stack.count; ++i) {
    if (!looked_at(step, bench, stack, i)) continue;
    StackImage& image = stack.images[i];
    const kernel::opencl::HostItem item{bench, i, stack.slot * places_.stack + i, &image, delivered};
    kernel::Finding finding{.scalars = books[i].scalars + planned.first_column, .before = books[i].scalars};
    passes_.pass(step)->settle(item, finding);
    if (steps_.only_learned(image)) continue;
    if (finding.failed) {
      books[i].failed = static_cast<std::uint8_t>(step + 1);
    } else if (finding.verdict != 0) {
      books[i].verdict = finding.verdict;
      books[i].step = static_cast<std::uint8_t>(step);
    } else {
      if (planned.makes_list) image.sparse = finding.list;
      if (planned.table) image.tables[*planned.table] = finding.table;
      if (planned.profile) image.profiles[*planned.profile] = finding.profile;
    }
  }
}

bool StackWork::settle(std::uint32_t bench, Stack& stack) noexcept {
  const std::span<ImageBooks> books = memory_.books(bench);
  const Leg& leg = leg_of(bench);
  for (std::size_t step = leg.first; step < leg.last; ++step) {
    for (std::uint32_t i = 0; i < stack.count && step == passes_.lister(); ++i) {
      if (looked_at(step, bench, stack, i) && books[i].entries == kernel::opencl::kListOverflow) {
        books[i].failed = static_cast<std::uint8_t>(step + 1);
      }
    }
    if (passes_.on_host(step)) settle_step(step, bench, stack);
  }
  bool any = false;
  for (std::uint32_t i = 0; i < places_.stack; ++i) {
    if (i < stack.count && looked_at(leg.last, bench, stack, i)) {
      any = true;
    } else {
      memory_.work(bench)[i] = books[i].work = 0;
    }
  }
  const Flight& flight = flights_[bench];
  return flight.leg + 1 < passes_.legs().size() && (any || ends_windows(flight.number));
}

void StackWork::account(std::uint32_t bench, bool started, Stack& stack) noexcept {
  sums_.account(bench, started, stack,
                [&](std::uint32_t image, std::size_t step) { return is_there_for(books(bench, image), step + 1); });
}

cl_int StackWork::deliver(std::uint32_t bench, std::uint32_t slot, std::span<const std::uint8_t> kept) noexcept {
  const bool any = std::any_of(kept.begin(), kept.end(), [](std::uint8_t one) { return one != 0; });
  cl_int code = CL_SUCCESS;
  SlotDelivery::Source from{.books = memory_.books(bench)};
  if (places_.pixels_leave && !places_.in_place) from.made = memory_.made(bench, places_.last_maker);
  if (lists_delivered()) from.lists = passes_.pass(passes_.lister())->lists(bench);
  if (any && places_.pixels_leave && places_.in_place) code = slots_.made_to_host(slot, out_.get());
  if (code == CL_SUCCESS) code = delivery_.deliver(from, slot, kept, out_.get());
  if (code == CL_SUCCESS) code = api().marker(out_.get(), 0, nullptr, flights_[bench].delivered.fill());
  return code != CL_SUCCESS ? code : flush();
}

cl_int StackWork::flush() noexcept {
  for (const cl_command_queue queue : {in_.get(), compute_.get(), out_.get()}) {
    if (const cl_int code = api().flush(queue); code != CL_SUCCESS) return code;
  }
  return CL_SUCCESS;
}

const std::byte* StackWork::pixels(const Stack& stack, std::uint32_t image) const noexcept {
  if (places_.passed_on) return stack.images[image].raw;
  if (!places_.in_place) return delivery_.pixels(stack.slot, image);
  return slots_.made_images(stack.slot) + image * places_.leaving_stride();
}

SparseView StackWork::list(std::uint32_t bench, std::uint32_t slot, std::uint32_t image) const noexcept {
  return delivery_.list(slot, image, books(bench, image).entries);
}

}  // namespace rashpa::unit::opencl
