// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/opencl/stack_work.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"

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
  for (const PlannedStep& step : steps_.steps) {
    mark_words_ = std::max(mark_words_, round_up(step.out_shape.pixels(), kMarks) / kMarks);
  }
  make_passes(device);
  make_legs();
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
    if (step.makes_list && !on_host(number)) lister_ = number;
    if (!step.accumulation) continue;
    windows_.emplace_back(steps_.output.results.accumulations[*step.accumulation], layout_.stack, layout_.stacks);
    adders_.push_back({number, able<kernel::opencl::HostAdding>(*passes_.back()),
                       able<kernel::opencl::DeviceAdding>(*passes_.back())});
  }
}

/// The device cannot go on where the host decides what goes on; and the host need not be brought what the device has
/// refused.
void StackWork::make_legs() {
  legs_.push_back({});
  bool host_decides = false;
  bool device_decides = false;
  for (std::size_t number = 0; number < steps_.steps.size(); ++number) {
    const kernel::Declaration& declaration = steps_.steps[number].step->declaration();
    const bool host = on_host(number);
    if (on_device(number) && (host_decides || (host && device_decides))) {
      legs_.push_back({number, number});
      host_decides = device_decides = false;
    }
    const bool decides = declaration.made(kernel::Port::Kind::verdict) != nullptr ||
                         declaration.made(kernel::Port::Kind::list) != nullptr ||
                         declaration.made(kernel::Port::Kind::table) != nullptr;
    host_decides = host_decides || (host && decides);
    device_decides = device_decides || (!host && decides);
    legs_.back().last = number + 1;
  }
}

void StackWork::make_slots(const Device& device) {
  const std::size_t raw_bytes = layout_.stack * layout_.image_stride;
  const std::size_t made_bytes = pixels_leave_ ? layout_.stack * made_stride(steps_.last_maker) : 0;
  const std::size_t entries = lists_delivered() ? layout_.stack * steps_.output.list_capacity : 0;
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
    bench.work.resize(layout_.stack);
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
  Stack nothing{.slot = 0, .number = 0, .count = 0, .images = std::vector<StackImage>(layout_.stack)};
  for (std::uint32_t bench = 0; bench < benches_.size(); ++bench) {
    check(start(bench, nothing, none), "run the kernels once");
    for (;;) {
      for (const cl_command_queue queue : {in_.get(), compute_.get(), out_.get()}) {
        check(api().finish(queue), "run the kernels once");
      }
      const cl_int state = decided(bench);
      check(state < 0 ? state : CL_SUCCESS, "run the kernels once");
      if (legs_begun(bench) == legs_.size()) break;
      check(go_on(bench, nothing), "run the kernels once");
    }
    for (const Adder& adder : adders_) {
      if (adder.on_device != nullptr) check(adder.on_device->conclude(bench, compute_.get()), "run the kernels once");
    }
    check(api().finish(compute_.get()), "run the kernels once");
  }
}

std::size_t StackWork::made_stride(std::size_t step) const noexcept {
  const PlannedStep& planned = steps_.steps[step];
  return planned.makes_pixels ? round_up(planned.out_shape.pixels(), kMarks) * pixel_bytes(planned.out.type) : 0;
}

cl_int StackWork::status(const Event& event) noexcept {
  cl_int state = CL_COMPLETE;
  const cl_int code =
      api().get_event_info(event.get(), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(state), &state, nullptr);
  return code != CL_SUCCESS ? code : state;
}

cl_int StackWork::start(std::uint32_t bench, const Stack& stack, std::span<const std::uint8_t> work) noexcept {
  Bench& own = benches_[bench];
  auto* const books = own.host_books.as<ImageBooks>();
  for (std::size_t i = 0; i < layout_.stack; ++i) {
    own.work[i] = i < work.size() ? work[i] : 0;
    books[i] = ImageBooks{};
    books[i].work = own.work[i];
  }
  own.leg = 0;
  own.number = stack.number;
  return start_leg(bench, stack);
}

cl_int StackWork::start_leg(std::uint32_t number, const Stack& stack) noexcept {
  cl_int code = bring_in(benches_[number], stack);
  if (code == CL_SUCCESS) code = compute(number, stack);
  if (code == CL_SUCCESS) code = bring_out(number, stack);
  if (code == CL_SUCCESS) code = flush();
  return code;
}

cl_int StackWork::go_on(std::uint32_t bench, const Stack& stack) noexcept {
  benches_[bench].leg += 1;
  return start_leg(bench, stack);
}

cl_int StackWork::bring_in(Bench& bench, const Stack& stack) noexcept {
  Slot& of_slot = slots_[stack.slot];
  cl_int code = CL_SUCCESS;
  if (in_place_) {
    // What the host has written becomes the device's.
    if (void* const mapped = std::exchange(of_slot.raw_mapped, nullptr)) {
      code = api().unmap(in_.get(), of_slot.raw.get(), mapped, 0, nullptr, nullptr);
    }
    if (void* const mapped = std::exchange(of_slot.made_mapped, nullptr); mapped != nullptr && code == CL_SUCCESS) {
      code = api().unmap(in_.get(), of_slot.made.get(), mapped, 0, nullptr, nullptr);
    }
  } else if (bench.leg == 0) {
    for (std::uint32_t i = 0; i < layout_.stack && code == CL_SUCCESS; ++i) {
      if (bench.work[i] == 0) continue;
      const std::size_t offset = i * layout_.image_stride;
      std::byte* const staged = bench.host_raw.as<std::byte>() + offset;
      std::memcpy(staged, stack.images[i].raw, pixels_ * pixel_bytes(layout_.input));
      code = api().write_buffer(in_.get(), bench.raw.get(), CL_FALSE, offset, pixels_ * pixel_bytes(layout_.input),
                                staged, 0, nullptr, nullptr);
    }
  }
  if (code != CL_SUCCESS) return code;
  return api().write_buffer(in_.get(), bench.books.get(), CL_FALSE, 0, layout_.stack * sizeof(ImageBooks),
                            bench.host_books.as<void>(), 0, nullptr, bench.came.fill());
}

kernel::opencl::DeviceStack StackWork::seen_by(std::size_t number, const Bench& bench,
                                               const Stack& stack) const noexcept {
  kernel::opencl::DeviceStack seen{};
  seen.in = in_place_ ? slots_[stack.slot].raw.get() : bench.raw.get();
  seen.in_stride = static_cast<std::uint32_t>(layout_.image_stride);
  seen.delivered = true;
  for (std::size_t before = 0; before < number; ++before) {
    if (!steps_.steps[before].makes_pixels) continue;
    seen.in = made_in_slot(before) ? slots_[stack.slot].made.get() : bench.made[before].get();
    seen.in_stride = static_cast<std::uint32_t>(made_stride(before));
    seen.delivered = false;
  }
  seen.out = made_in_slot(number) ? slots_[stack.slot].made.get() : bench.made[number].get();
  seen.out_stride = static_cast<std::uint32_t>(made_stride(number));
  seen.marks = bench.marks.get();
  seen.marks_stride = static_cast<std::uint32_t>(mark_words_);
  seen.books = bench.books.get();
  seen.count = layout_.stack;
  seen.step = static_cast<std::uint32_t>(number);
  seen.first_column = static_cast<std::uint32_t>(steps_.steps[number].first_column);
  seen.images = stack.images.data();
  seen.work = bench.work.data();
  return seen;
}

cl_int StackWork::compute(std::uint32_t number, const Stack& stack) noexcept {
  Bench& bench = benches_[number];
  const cl_event came = bench.came.get();
  cl_int code = api().barrier(compute_.get(), 1, &came, nullptr);
  for (std::size_t i = legs_[bench.leg].first; i < legs_[bench.leg].last && code == CL_SUCCESS; ++i) {
    if (!on_device(i)) continue;
    const PlannedStep& step = steps_.steps[i];
    const kernel::opencl::DeviceStack seen = seen_by(i, bench, stack);
    code = step.rides ? settlements_[i]->enqueue(seen, nullptr, 0, compute_.get())
                      : passes_[i]->enqueue(seen, number, compute_.get());
    if (code == CL_SUCCESS && step.accumulation && stack.count != 0) {
      auto* const adder = adders_[*step.accumulation].on_device;
      const bool ends = windows_[*step.accumulation].ends_with(stack.number);
      if (ends && adder != nullptr) code = adder->conclude(number, compute_.get());
    }
    if (code == CL_SUCCESS) code = let_darks_on(i, bench, stack);
  }
  return code != CL_SUCCESS ? code : api().marker(compute_.get(), 0, nullptr, bench.computed.fill());
}

/// Behind step `number`, images that are only learned from go on, whatever it says of them, as far as steps learn.
cl_int StackWork::let_darks_on(std::size_t number, const Bench& bench, const Stack& stack) noexcept {
  static_assert(offsetof(ImageBooks, verdict) == offsetof(ImageBooks, work) + 1);
  cl_int code = CL_SUCCESS;
  for (std::uint32_t i = 0; number < steps_.learned && i < stack.count && code == CL_SUCCESS; ++i) {
    if (bench.work[i] == 0 || !steps_.only_learned(stack.images[i])) continue;
    const std::array<cl_uchar, 2> work_and_verdict{static_cast<cl_uchar>(number + 1 < steps_.learned ? 1 : 0), 0};
    code = api().fill_buffer(compute_.get(), bench.books.get(), work_and_verdict.data(), work_and_verdict.size(),
                             i * sizeof(ImageBooks) + offsetof(ImageBooks, work), work_and_verdict.size(), 0, nullptr,
                             nullptr);
  }
  return code;
}

cl_int StackWork::bring_out(std::uint32_t number, const Stack& stack) noexcept {
  Bench& bench = benches_[number];
  const cl_event computed = bench.computed.get();
  cl_int code = api().barrier(out_.get(), 1, &computed, nullptr);
  for (std::size_t i = legs_[bench.leg].first; i < legs_[bench.leg].last && code == CL_SUCCESS; ++i) {
    if (on_host(i) && on_device(i)) code = passes_[i]->fetch(seen_by(i, bench, stack), number, out_.get());
  }
  if (in_place_ && code == CL_SUCCESS) {
    // The slot is the host's again.
    Slot& of_slot = slots_[stack.slot];
    of_slot.raw_mapped = api().map_buffer(out_.get(), of_slot.raw.get(), CL_FALSE, CL_MAP_READ | CL_MAP_WRITE, 0,
                                          layout_.stack * layout_.image_stride, 0, nullptr, nullptr, &code);
  }
  if (code != CL_SUCCESS) return code;
  return api().read_buffer(out_.get(), bench.books.get(), CL_FALSE, 0, layout_.stack * sizeof(ImageBooks),
                           bench.host_books.as<void>(), 0, nullptr, bench.decided.fill());
}

bool StackWork::reaches(const ImageBooks& books, std::size_t step) noexcept {
  return (books.verdict == 0 || books.step >= step) && (books.failed == 0 || books.failed > step);
}

bool StackWork::settle(std::uint32_t number, Stack& stack) noexcept {
  Bench& bench = benches_[number];
  const Leg& leg = legs_[bench.leg];
  auto* const books = bench.host_books.as<ImageBooks>();
  const auto looked_at = [&](std::uint32_t i, std::size_t step) {
    return bench.work[i] != 0 && reaches(books[i], step) &&
           (step < steps_.learned || !steps_.only_learned(stack.images[i]));
  };
  for (std::size_t s = leg.first; s < leg.last; ++s) {
    const PlannedStep& step = steps_.steps[s];
    for (std::uint32_t i = 0; i < stack.count && s == lister_; ++i) {
      if (looked_at(i, s) && books[i].entries == kernel::opencl::kListOverflow) {
        books[i].failed = static_cast<std::uint8_t>(s + 1);
      }
    }
    if (!on_host(s)) continue;
    const kernel::opencl::DeviceStack seen = seen_by(s, bench, stack);
    for (std::uint32_t i = 0; i < stack.count; ++i) {
      if (!looked_at(i, s)) continue;
      StackImage& image = stack.images[i];
      const kernel::opencl::HostItem item{number, i, stack.slot * layout_.stack + i, &image, seen.delivered};
      kernel::Finding finding{.scalars = books[i].scalars + step.first_column, .before = books[i].scalars};
      passes_[s]->settle(item, finding);
      if (steps_.only_learned(image)) continue;
      if (finding.failed) {
        books[i].failed = static_cast<std::uint8_t>(s + 1);
      } else if (finding.verdict != 0) {
        books[i].verdict = finding.verdict;
        books[i].step = static_cast<std::uint8_t>(s);
      } else {
        if (step.makes_list) image.sparse = finding.list;
        if (step.table) image.tables[*step.table] = finding.table;
        if (step.profile) image.profiles[*step.profile] = finding.profile;
      }
    }
  }
  bool any = false;
  for (std::uint32_t i = 0; i < layout_.stack; ++i) {
    if (i < stack.count && looked_at(i, leg.last)) {
      any = true;
    } else {
      bench.work[i] = books[i].work = 0;
    }
  }
  return bench.leg + 1 < legs_.size() && (any || ends_windows(bench.number));
}

bool StackWork::ends_windows(std::uint64_t number) const noexcept {
  return std::any_of(windows_.begin(), windows_.end(), [&](const Windows& one) { return one.ends_with(number); });
}

void StackWork::account(std::uint32_t bench, bool started, Stack& stack) noexcept {
  stack.accumulated = {};
  for (std::size_t a = 0; a < windows_.size(); ++a) {
    Windows& windows = windows_[a];
    const Adder& adder = adders_[a];
    windows.open(stack);
    for (std::uint32_t i = 0; i < stack.count && started; ++i) {
      if (!stack.images[i].measured || !reaches(books(bench, i), adder.step + 1)) continue;
      if (adder.on_host != nullptr)
        adder.on_host->add({bench, i, stack.slot * layout_.stack + i, &stack.images[i], false});
      windows.add(1);
    }
    if (!windows.ends_with(stack.number)) continue;
    if (started && adder.on_device != nullptr) adder.on_device->write(bench, windows.arrays());
    if (started && adder.on_host != nullptr) adder.on_host->write(windows.arrays());
    stack.accumulated[a] = windows.close();
  }
}

cl_int StackWork::conclude(Accumulated& all) noexcept {
  for (std::size_t a = 0; a < windows_.size(); ++a) {
    if (!windows_[a].is_open()) continue;
    const Adder& adder = adders_[a];
    cl_int code = adder.on_device == nullptr ? CL_SUCCESS : adder.on_device->conclude(0, compute_.get());
    if (code == CL_SUCCESS) code = api().finish(compute_.get());
    if (code != CL_SUCCESS) return code;
    if (adder.on_device != nullptr) adder.on_device->write(0, windows_[a].arrays());
    if (adder.on_host != nullptr) adder.on_host->write(windows_[a].arrays());
    all[a] = windows_[a].close();
  }
  return CL_SUCCESS;
}

std::string StackWork::failure(std::uint8_t failed_in) const {
  if (failed_in == 0 || failed_in > passes_.size() || passes_[failed_in - 1U] == nullptr) return {};
  return passes_[failed_in - 1U]->failure();
}

std::string StackWork::notice() const {
  for (const auto& pass : passes_) {
    if (pass == nullptr) continue;
    if (std::string text = pass->notice(); !text.empty()) return text;
  }
  return {};
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
  const bool lists = lists_delivered();
  const auto from = lists ? passes_[lister_]->lists(bench) : kernel::opencl::DeviceLists{};
  for (std::size_t i = 0; i < kept.size() && code == CL_SUCCESS; ++i) {
    if (kept[i] == 0) continue;
    if (pixels_leave_ && !in_place_) {
      code = read(own.made[steps_.last_maker].get(), i * stride,
                  std::size_t{steps_.output.width} * steps_.output.height * value_bytes,
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

const std::byte* StackWork::pixels(const Stack& stack, std::uint32_t image) const noexcept {
  if (passed_on_) return stack.images[image].raw;
  const Slot& slot = slots_[stack.slot];
  const std::byte* const first = in_place_ ? slot.made_mapped : slot.pixels.as<std::byte>();
  return first + image * made_stride(steps_.last_maker);
}

SparseView StackWork::list(std::uint32_t bench, std::uint32_t slot, std::uint32_t image) const noexcept {
  const std::size_t at = image * steps_.output.list_capacity;
  return {slots_[slot].index.as<std::uint32_t>() + at,
          slots_[slot].value.as<std::byte>() + at * pixel_bytes(steps_.output.pixel), books(bench, image).entries};
}

}  // namespace rashpa::unit::opencl
