// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/stack_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "rashpa/core/clock.hpp"
#include "rashpa/core/error.hpp"

namespace rashpa::unit::opencl {

namespace {

using memory::opencl::api;
using memory::opencl::check;
using memory::opencl::Device;
using memory::opencl::HostMemory;

constexpr std::size_t kAlignment = 16;  // of what work items load at once
constexpr std::size_t kMarks = 64;      // pixels of a word

constexpr std::size_t round_up(std::size_t value, std::size_t step) noexcept {
  return (value + step - 1) / step * step;
}

const Layout& checked(const Steps& steps, const Layout& layout) {
  for (const PlannedStep& step : steps.steps) {
    const kernel::Declaration& declaration = step.step->declaration();
    if (!declaration.runs_on("opencl")) {
      throw ConfigError(
          fmt::format("unit: unit opencl has no version of the kernel {}; use unit cpu", declaration.name));
    }
  }
  steps.check_plain("opencl");
  if (steps.steps.empty()) return layout;
  if (layout.images == nullptr || layout.image_stride % kAlignment != 0 ||
      layout.image_stride < std::size_t{layout.width} * layout.height * pixel_bytes(layout.input) ||
      reinterpret_cast<std::uintptr_t>(layout.images) % kAlignment != 0) {
    throw ConfigError(
        fmt::format("unit: unit opencl needs the images' memory, {} bytes aligned and as far apart, not {}", kAlignment,
                    layout.image_stride));
  }
  return layout;
}

bool placed_for(const Device& device, const Layout& layout) {
  const std::size_t slot = layout.stack * layout.image_stride;
  return reinterpret_cast<std::uintptr_t>(layout.images) % device.info().base_alignment == 0 &&
         slot % device.info().base_alignment == 0;
}

bool in_place(const Device& device, const Layout& layout, Transfer transfer) {
  if (transfer == Transfer::copied) return false;
  const bool possible = device.info().unified && placed_for(device, layout);
  if (transfer == Transfer::in_place && !possible) {
    throw ConfigError(
        fmt::format("unit: {} cannot work on the images where they are; let them be copied", device.info().name));
  }
  return possible;
}

}  // namespace

StackWork::StackWork(const Device& device, const Steps& steps, const Layout& layout, std::uint32_t benches,
                     Transfer transfer)
    : steps_(steps),
      layout_(checked(steps, layout)),
      in_place_(opencl::in_place(device, layout, transfer)),
      pixels_(std::size_t{layout.width} * layout.height),
      padded_(round_up(pixels_, kMarks)),
      mark_words_(padded_ / kMarks),
      passed_on_(steps.last_maker == steps.steps.size()),
      pixels_leave_(steps.output.pixels && !passed_on_),
      lister_(steps.steps.size()),
      device_(device),
      in_(device.queue()),
      compute_(device.queue()),
      out_(device.queue()) {
  benches_.resize(benches);
  if (steps_.steps.empty()) return;
  const std::int64_t begun = now_ns();
  make_passes(device);
  make_slots(device);
  make_benches(device);
  warm_up();
  ready_ns_ = now_ns() - begun;
}

StackWork::~StackWork() {
  for (Slot& slot : slots_) {
    if (slot.raw_mapped != nullptr) api().unmap(out_.get(), slot.raw.get(), slot.raw_mapped, 0, nullptr, nullptr);
    if (slot.made_mapped != nullptr) api().unmap(out_.get(), slot.made.get(), slot.made_mapped, 0, nullptr, nullptr);
  }
  api().flush(out_.get());
}

void StackWork::make_passes(const Device& device) {
  const auto benches = static_cast<std::uint32_t>(benches_.size());
  for (std::size_t number = 0; number < steps_.steps.size(); ++number) {
    const PlannedStep& step = steps_.steps[number];
    passes_.push_back(step.rides ? nullptr : step.step->on_opencl(steps_.setup(number, layout_, 1, benches), device));
    settlements_.push_back(step.rides ? std::make_unique<kernel::opencl::SettleCounts>(device, *step.rides) : nullptr);
    if (!step.rides && passes_.back() == nullptr) {
      throw ConfigError(fmt::format("unit: the kernel {} says that it runs on opencl, and makes nothing for it",
                                    step.step->declaration().name));
    }
    if (step.makes_list) lister_ = number;
  }
}

void StackWork::make_slots(const Device& device) {
  const std::size_t raw_bytes = layout_.stack * layout_.image_stride;
  const std::size_t made_bytes = pixels_leave_ ? layout_.stack * made_stride(steps_.last_maker) : 0;
  const std::size_t entries = layout_.stack * steps_.output.list_capacity;
  for (std::uint32_t number = 0; number < layout_.stacks; ++number) {
    Slot slot;
    slot.pixels = HostMemory(device, in_place_ ? 0 : made_bytes, "accepted images");
    slot.index = HostMemory(device, entries * sizeof(std::uint32_t), "lists");
    slot.value = HostMemory(device, entries * pixel_bytes(steps_.output.pixel), "values of lists");
    if (in_place_) {
      slot.raw = device.memory_at(layout_.images + number * raw_bytes, raw_bytes, "the images of a stack");
      slot.made = device.shared_memory(made_bytes, "images of a stack");
      // The host's until a stack is submitted.
      cl_int code = CL_SUCCESS;
      slot.raw_mapped = api().map_buffer(out_.get(), slot.raw.get(), CL_TRUE, CL_MAP_READ | CL_MAP_WRITE, 0, raw_bytes,
                                         0, nullptr, nullptr, &code);
      check(code, "the images of a stack");
    }
    slots_.push_back(std::move(slot));
  }
}

void StackWork::make_benches(const Device& device) {
  const std::size_t raw_bytes = in_place_ ? 0 : layout_.stack * layout_.image_stride;
  const std::size_t marks_bytes = steps_.marks ? layout_.stack * mark_words_ * sizeof(std::uint64_t) : 0;
  const std::size_t books_bytes = layout_.stack * sizeof(ImageBooks);
  for (Bench& bench : benches_) {
    bench.raw = device.memory(raw_bytes, "raw images");
    bench.marks = device.memory(marks_bytes, "marks");
    bench.books = device.memory(books_bytes, "books of images");
    bench.host_raw = HostMemory(device, raw_bytes, "raw images on their way");
    bench.host_books = HostMemory(device, books_bytes, "books of images on their way");
    for (std::size_t step = 0; step < steps_.steps.size(); ++step) {
      const std::size_t bytes = made_in_slot(step) ? 0 : layout_.stack * made_stride(step);
      bench.made.push_back(device.memory(bytes, "images between kernels"));
    }
    if (marks_bytes != 0) {
      constexpr cl_uchar kNone = 0;
      check(api().fill_buffer(compute_.get(), bench.marks.get(), &kNone, sizeof(kNone), 0, marks_bytes, 0, nullptr,
                              nullptr),
            "clear marks");
    }
  }
}

void StackWork::warm_up() {
  const std::vector<std::uint8_t> none(layout_.stack, 0);
  for (std::uint32_t bench = 0; bench < benches_.size(); ++bench) {
    check(start(bench, 0, none), "run the kernels once");
    for (const cl_command_queue queue : {in_.get(), compute_.get(), out_.get()}) {
      check(api().finish(queue), "run the kernels once");
    }
    const cl_int state = decided(bench);
    check(state < 0 ? state : CL_SUCCESS, "run the kernels once");
  }
}

std::size_t StackWork::made_stride(std::size_t step) const noexcept {
  const PlannedStep& planned = steps_.steps[step];
  return planned.makes_pixels ? padded_ * pixel_bytes(planned.out.type) : 0;
}

cl_int StackWork::status(const Event& event) noexcept {
  cl_int state = CL_COMPLETE;
  const cl_int code =
      api().get_event_info(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr);
  return code != CL_SUCCESS ? code : state;
}

cl_int StackWork::start(std::uint32_t bench, std::uint32_t slot, std::span<const std::uint8_t> work) noexcept {
  Bench& own = benches_[bench];
  auto* const books = own.host_books.as<ImageBooks>();
  for (std::size_t i = 0; i < layout_.stack; ++i) {
    books[i] = ImageBooks{};
    books[i].work = i < work.size() ? work[i] : 0;
  }
  cl_int code = bring_in(own, slot);
  if (code == CL_SUCCESS) code = compute(bench, slot);
  if (code == CL_SUCCESS) code = bring_books(own, slot);
  if (code == CL_SUCCESS) code = flush();
  return code;
}

cl_int StackWork::bring_in(Bench& bench, std::uint32_t slot) noexcept {
  Slot& of_slot = slots_[slot];
  cl_int code = CL_SUCCESS;
  if (in_place_) {
    // What the host has written becomes the device's.
    if (void* const mapped = std::exchange(of_slot.raw_mapped, nullptr)) {
      code = api().unmap(in_.get(), of_slot.raw.get(), mapped, 0, nullptr, nullptr);
    }
    if (void* const mapped = std::exchange(of_slot.made_mapped, nullptr); mapped != nullptr && code == CL_SUCCESS) {
      code = api().unmap(in_.get(), of_slot.made.get(), mapped, 0, nullptr, nullptr);
    }
  } else {
    const auto* const books = bench.host_books.as<ImageBooks>();
    for (std::uint32_t i = 0; i < layout_.stack && code == CL_SUCCESS; ++i) {
      if (books[i].work == 0) continue;
      const std::size_t offset = i * layout_.image_stride;
      std::byte* const staged = bench.host_raw.as<std::byte>() + offset;
      std::memcpy(staged, layout_.images + (std::size_t{slot} * layout_.stack + i) * layout_.image_stride,
                  pixels_ * pixel_bytes(layout_.input));
      code = api().write_buffer(in_.get(), bench.raw.get(), CL_FALSE, offset, pixels_ * pixel_bytes(layout_.input),
                                staged, 0, nullptr, nullptr);
    }
  }
  if (code != CL_SUCCESS) return code;
  return api().write_buffer(in_.get(), bench.books.get(), CL_FALSE, 0, layout_.stack * sizeof(ImageBooks),
                            bench.host_books.as<void>(), 0, nullptr, bench.came.fill());
}

cl_int StackWork::compute(std::uint32_t number, std::uint32_t slot) noexcept {
  Bench& bench = benches_[number];
  const cl_event came = bench.came.get();
  cl_int code = api().barrier(compute_.get(), 1, &came, nullptr);
  kernel::opencl::DeviceStack stack{};
  stack.in = in_place_ ? slots_[slot].raw.get() : bench.raw.get();
  stack.in_stride = static_cast<std::uint32_t>(layout_.image_stride);
  stack.marks = bench.marks.get();
  stack.marks_stride = static_cast<std::uint32_t>(mark_words_);
  stack.books = bench.books.get();
  stack.count = layout_.stack;
  for (std::size_t i = 0; i < steps_.steps.size() && code == CL_SUCCESS; ++i) {
    const PlannedStep& step = steps_.steps[i];
    stack.out = made_in_slot(i) ? slots_[slot].made.get() : bench.made[i].get();
    stack.out_stride = static_cast<std::uint32_t>(made_stride(i));
    stack.step = static_cast<std::uint32_t>(i);
    stack.first_column = static_cast<std::uint32_t>(step.first_column);
    code = step.rides ? settlements_[i]->enqueue(stack, nullptr, 0, compute_.get())
                      : passes_[i]->enqueue(stack, number, compute_.get());
    if (!step.makes_pixels) continue;
    stack.in = stack.out;
    stack.in_stride = stack.out_stride;
  }
  return code != CL_SUCCESS ? code : api().marker(compute_.get(), 0, nullptr, bench.computed.fill());
}

cl_int StackWork::bring_books(Bench& bench, std::uint32_t slot) noexcept {
  const cl_event computed = bench.computed.get();
  cl_int code = api().barrier(out_.get(), 1, &computed, nullptr);
  if (in_place_ && code == CL_SUCCESS) {
    // The slot is the host's again.
    Slot& of_slot = slots_[slot];
    of_slot.raw_mapped = api().map_buffer(out_.get(), of_slot.raw.get(), CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                          layout_.stack * layout_.image_stride, 0, nullptr, nullptr, &code);
  }
  if (code != CL_SUCCESS) return code;
  return api().read_buffer(out_.get(), bench.books.get(), CL_FALSE, 0, layout_.stack * sizeof(ImageBooks),
                           bench.host_books.as<void>(), 0, nullptr, bench.decided.fill());
}

cl_int StackWork::read(cl_mem from, std::size_t offset, std::size_t bytes, void* to) noexcept {
  return api().read_buffer(out_.get(), from, CL_FALSE, offset, bytes, to, 0, nullptr, nullptr);
}

cl_int StackWork::deliver(std::uint32_t bench, std::uint32_t slot, std::span<const std::uint8_t> kept) noexcept {
  Bench& own = benches_[bench];
  Slot& of_slot = slots_[slot];
  const bool any = std::any_of(kept.begin(), kept.end(), [](std::uint8_t one) { return one != 0; });
  cl_int code = CL_SUCCESS;
  if (any && pixels_leave_ && in_place_) {
    of_slot.made_mapped = static_cast<std::byte*>(
        api().map_buffer(out_.get(), of_slot.made.get(), CL_FALSE, CL_MAP_READ, 0,
                         layout_.stack * made_stride(steps_.last_maker), 0, nullptr, nullptr, &code));
  }
  const std::size_t stride = pixels_leave_ ? made_stride(steps_.last_maker) : 0;
  const std::size_t value_bytes = pixel_bytes(steps_.output.pixel);
  const bool lists = lister_ != steps_.steps.size();
  const auto from = lists ? passes_[lister_]->lists(bench) : kernel::opencl::DeviceLists{};
  for (std::size_t i = 0; i < kept.size() && code == CL_SUCCESS; ++i) {
    if (kept[i] == 0) continue;
    if (pixels_leave_ && !in_place_) {
      code = read(own.made[steps_.last_maker].get(), i * stride, pixels_ * value_bytes,
                  of_slot.pixels.as<std::byte>() + i * stride);
    }
    const std::size_t entries = books(bench, static_cast<std::uint32_t>(i)).entries;
    if (!lists || entries == 0 || code != CL_SUCCESS) continue;
    const std::size_t to = i * steps_.output.list_capacity;
    code = read(from.index, i * from.stride * sizeof(std::uint32_t), entries * sizeof(std::uint32_t),
                of_slot.index.as<std::uint32_t>() + to);
    if (code == CL_SUCCESS) {
      code = read(from.value, i * from.stride * value_bytes, entries * value_bytes,
                  of_slot.value.as<std::byte>() + to * value_bytes);
    }
  }
  if (code == CL_SUCCESS) code = api().marker(out_.get(), 0, nullptr, own.delivered.fill());
  return code != CL_SUCCESS ? code : flush();
}

cl_int StackWork::flush() noexcept {
  for (const cl_command_queue queue : {in_.get(), compute_.get(), out_.get()}) {
    if (const cl_int code = api().flush(queue); code != CL_SUCCESS) return code;
  }
  return CL_SUCCESS;
}

const std::byte* StackWork::pixels(std::uint32_t slot, std::uint32_t image) const noexcept {
  if (passed_on_) return layout_.images + (std::size_t{slot} * layout_.stack + image) * layout_.image_stride;
  const std::byte* const first = in_place_ ? slots_[slot].made_mapped : slots_[slot].pixels.as<std::byte>();
  return first + image * made_stride(steps_.last_maker);
}

SparseView StackWork::list(std::uint32_t bench, std::uint32_t slot, std::uint32_t image) const noexcept {
  const std::size_t at = image * steps_.output.list_capacity;
  return {slots_[slot].index.as<std::uint32_t>() + at,
          slots_[slot].value.as<std::byte>() + at * pixel_bytes(steps_.output.pixel), books(bench, image).entries};
}

}  // namespace rashpa::unit::opencl
