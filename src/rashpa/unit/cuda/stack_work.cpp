// SPDX-License-Identifier: Apache-2.0
#include "rashpa/unit/cuda/stack_work.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>

#include "rashpa/core/ability.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/kernel/device/settle_counts.hpp"

namespace rashpa::unit::cuda {

namespace {

constexpr std::size_t kAlignment = 16;  // of the bytes that threads load and store at once
constexpr std::size_t kMarks = 64;      // pixels of a word

/// Words from one image's marks to the next's.
std::size_t mark_words(const Steps& steps) noexcept {
  std::size_t words = 0;
  for (const PlannedStep& step : steps.steps) {
    if (step.mark_at) words = std::max(words, padded(step.out_shape) / kMarks);
  }
  return words;
}

/// Of the output, as they lie in files.
std::size_t image_bytes(const Steps& steps) noexcept {
  return std::size_t{steps.output.width} * steps.output.height * pixel_bytes(steps.output.pixel);
}

std::size_t chunk_room(const Steps& steps) noexcept {
  return steps.output.chunked
             ? kernel::bitshuffle_lz4::cuda::room_for_chunk(image_bytes(steps), pixel_bytes(steps.output.pixel))
             : 0;
}

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
    throw ConfigError(fmt::format("unit: unit cuda needs the images' memory, {} bytes aligned and as far apart, not {}",
                                  kAlignment, layout.image_stride));
  }
}

StackWork::Bench::Bench(const StackWork& work, Input input)
    : order(order_bytes(work.layout_.stack)),
      raw(input == Input::copied && !work.on_device() ? work.layout_.stack * work.raw_stride_ : 0),
      marks(work.layout_.stack * work.mark_words_ * sizeof(std::uint64_t)),
      findings(work.layout_.stack * sizeof(DeviceFinding)),
      scalars(std::max<std::size_t>(1, std::size_t{work.layout_.stack} * work.columns_) * sizeof(Scalar)),
      blocks_done(sizeof(std::uint32_t)) {
  for (std::size_t step = 0; step < work.steps_.steps.size(); ++step) {
    made.emplace_back(work.layout_.stack * work.made_stride(step));
  }
  if (work.steps_.output.chunked) {
    encoder = std::make_unique<kernel::bitshuffle_lz4::cuda::Encoder>(
        image_bytes(work.steps_), pixel_bytes(work.steps_.output.pixel), work.layout_.stack);
  }
}

StackWork::StackWork(const Steps& steps, const Layout& layout, std::uint32_t benches, Input input,
                     std::uint32_t windows_on_device, const std::optional<Seat>& seat)
    : steps_(steps),
      layout_(checked(steps, layout)),
      seat_(seat),
      benches_(benches),
      mark_words_(mark_words(steps)),
      raw_stride_(seat ? padded({layout.width, layout.height}) * pixel_bytes(layout.input) : layout.image_stride),
      out_bytes_(seat ? seat->joint->image_bytes()
                      : padded({steps.output.width, steps.output.height}) * pixel_bytes(steps.output.pixel)),
      chunk_room_(chunk_room(steps)),
      columns_(static_cast<std::uint32_t>(steps.output.results.columns.size())),
      passed_on_(steps.last_maker == steps.steps.size()),
      control_(sizeof(Control)),
      triggers_(layout.stacks * sizeof(SlotTrigger)),
      orders_(layout.stacks * order_bytes(layout.stack)),
      decided_(layout.stacks * sizeof(Word)),
      done_(layout.stacks * sizeof(Word)),
      findings_(place(layout.stacks) * sizeof(DeviceFinding)),
      scalars_(place(layout.stacks) * std::max(1U, columns_) * sizeof(Scalar)),
      images_(steps.output.pixels && !passed_on_ && !seat ? place(layout.stacks) * out_bytes_ : 0),
      chunks_(place(layout.stacks) * chunk_room_),
      chunk_bytes_(chunk_room_ != 0 ? place(layout.stacks) * sizeof(std::uint32_t) : 0) {
  check(cudaGetDevice(&device_), "which device is current");
  if (on_device()) check_device_images();
  // Those of all members are pinned once.
  if (!seat && !on_device()) {
    pinning_.emplace(layout.images, std::size_t{layout.stacks} * layout.stack * layout.image_stride);
  }
  make_passes(windows_on_device);
  bench_.reserve(benches);
  for (std::uint32_t bench = 0; bench < benches; ++bench) bench_.emplace_back(*this, input);
}

void StackWork::check_device_images() const {
  cudaPointerAttributes found{};
  check(cudaPointerGetAttributes(&found, layout_.images), "whose memory the images lie in");
  if (found.type != cudaMemoryTypeDevice || found.device != device_) {
    throw ConfigError(
        fmt::format("unit: the images lie in memory of {}, and unit cuda works on device {}; take their memory there",
                    found.type == cudaMemoryTypeDevice ? fmt::format("device {}", found.device) : "the host", device_));
  }
  if (steps_.output.pixels && passed_on_) {
    throw ConfigError(
        "unit: no kernel makes pixels, and those that arrive lie in the device's memory, where no sink reads them; add "
        "one that does (jungfrau, unpack, csr, …), or take the buffer in host memory");
  }
}

void StackWork::make_passes(std::uint32_t windows_on_device) {
  lister_ = steps_.steps.size();
  for (std::size_t number = 0; number < steps_.steps.size(); ++number) {
    const PlannedStep& step = steps_.steps[number];
    passes_.push_back(step.rides ? nullptr : step.step->on_cuda(steps_.setup(number, layout_, 1, benches_)));
    if (!step.rides && passes_.back() == nullptr) {
      throw ConfigError(fmt::format("unit: the kernel {} says that it runs on cuda, and makes nothing for it",
                                    step.step->declaration().name));
    }
    if (step.makes_list) lister_ = number;
    if (!step.rides) {
      if (auto* const preparing = able<kernel::cuda::Preparing>(*passes_.back())) preparing_.push_back(preparing);
    }
    if (!step.rides && passes_.back()->in_turn()) {
      if (!first_in_turn_) first_in_turn_ = number;
      last_in_turn_ = number;
    }
    if (!step.accumulation) continue;
    adders_.push_back({number, able<kernel::cuda::HostAdding>(*passes_.back()),
                       able<const kernel::cuda::DeviceAdding>(*passes_.back())});
    make_windows(step, (windows_on_device >> *step.accumulation & 1U) != 0);
  }
}

void StackWork::make_windows(const PlannedStep& step, bool on_device) {
  const Accumulation& facts = steps_.output.results.accumulations[*step.accumulation];
  if (on_device) {
    const DeviceMemory& memory = device_windows_.emplace_back(Windows::bytes_for(facts, layout_.stack, layout_.stacks));
    windows_.emplace_back(facts, layout_.stack, layout_.stacks, memory.as<std::byte>());
    return;
  }
  windows_.emplace_back(facts, layout_.stack, layout_.stacks);
  if (adders_.back().on_device == nullptr) return;
  const std::span<std::byte> results = windows_.back().memory();
  window_pinnings_.emplace_back(results.data(), results.size());
}

std::vector<std::string> StackWork::words() const {
  std::vector<std::string> all;
  for (const auto& pass : passes_) {
    if (pass == nullptr) continue;
    if (std::string one = pass->words(); !one.empty()) all.push_back(std::move(one));
  }
  return all;
}

std::string StackWork::notice() const {
  for (const auto& pass : passes_) {
    if (pass == nullptr) continue;
    if (std::string text = pass->notice(); !text.empty()) return text;
  }
  return {};
}

std::size_t StackWork::made_stride(std::size_t step) const noexcept {
  const PlannedStep& planned = steps_.steps[step];
  return planned.makes_pixels ? padded(planned.out_shape) * pixel_bytes(planned.out.type) : 0;
}

Order& StackWork::order(std::uint32_t slot) const noexcept {
  return *reinterpret_cast<Order*>(orders_.as<std::byte>() + slot * order_bytes(layout_.stack));
}
std::uint32_t StackWork::done(std::uint32_t slot) const noexcept {  // acquire: the device's results
  return std::atomic_ref(done_.as<Word>()[slot].value).load(std::memory_order_acquire);
}
std::uint32_t StackWork::decided(std::uint32_t slot) const noexcept {  // acquire: its findings
  return std::atomic_ref(decided_.as<Word>()[slot].value).load(std::memory_order_acquire);
}
const DeviceFinding& StackWork::finding(std::uint32_t slot, std::uint32_t image) const noexcept {
  return findings_.as<DeviceFinding>()[place(slot, image)];
}
const Scalar* StackWork::scalars(std::uint32_t slot, std::uint32_t image) const noexcept {
  return scalars_.as<Scalar>() + place(slot, image) * columns_;
}
const std::byte* StackWork::pixels(std::uint32_t slot, std::uint32_t image) const noexcept {
  if (passed_on_) return layout_.images + place(slot, image) * layout_.image_stride;
  return host_images() + place(slot, image) * out_bytes_;
}
kernel::cuda::HostList StackWork::list(std::uint32_t slot, std::uint32_t image) const noexcept {
  return passes_[lister_]->list(static_cast<std::uint32_t>(place(slot, image)));
}
std::span<const std::byte> StackWork::chunk(std::uint32_t slot, std::uint32_t image) const noexcept {
  const std::size_t at = place(slot, image);
  return {chunks_.as<std::byte>() + at * chunk_room_, chunk_bytes_.as<std::uint32_t>()[at]};
}
ProfileView StackWork::profile(std::size_t step, std::uint32_t slot, std::uint32_t image) const noexcept {
  return passes_[step]->profile(static_cast<std::uint32_t>(place(slot, image)));
}
TableView StackWork::table(std::size_t step, std::uint32_t slot, std::uint32_t image) const noexcept {
  return passes_[step]->table(static_cast<std::uint32_t>(place(slot, image)));
}

bool StackWork::got_past(std::size_t step, const DeviceFinding& finding) const noexcept {
  return (finding.verdict == 0 || finding.step > step) && (finding.failed == 0 || finding.failed > step + 1) &&
         (finding.entries != kernel::cuda::kListOverflow || lister_ > step);
}

void StackWork::account(Stack& stack, bool finished) noexcept {
  stack.accumulated = {};
  for (std::size_t a = 0; a < windows_.size(); ++a) {
    Windows& windows = windows_[a];
    const Adder& adder = adders_[a];
    const bool on_device = adder.on_device != nullptr;
    windows.open(stack);
    for (std::uint32_t i = 0; i < stack.count && finished; ++i) {
      if (!stack.images[i].measured || !got_past(adder.step, finding(stack.slot, i))) continue;
      if (adder.on_host != nullptr) adder.on_host->add(static_cast<std::uint32_t>(place(stack.slot, i)));
      windows.add(1);
    }
    if (!windows.ends_with(stack.number)) continue;
    if (adder.on_host != nullptr) adder.on_host->write(windows.arrays());
    const AccumulatedView window = windows.close();
    // Results that a failed device owes are nowhere.
    if (!on_device || finished) stack.accumulated[a] = window;
  }
}

cudaError_t StackWork::conclude(Accumulated& all) noexcept {
  all = {};
  for (std::size_t a = 0; a < windows_.size(); ++a) {
    if (!windows_[a].is_open()) continue;
    const Adder& adder = adders_[a];
    if (adder.on_device != nullptr) {
      auto code = static_cast<cudaError_t>(adder.on_device->conclude(windows_[a].arrays(), nullptr));
      if (code == cudaSuccess) code = cudaStreamSynchronize(nullptr);
      if (code != cudaSuccess) return code;
    } else if (adder.on_host != nullptr) {
      adder.on_host->write(windows_[a].arrays());
    }
    all[a] = windows_[a].close();
  }
  return cudaSuccess;
}

void StackWork::order_windows(const Stack& stack) const noexcept {
  if (!first_in_turn_) return;
  for (std::size_t a = 0; a < windows_.size(); ++a) {
    order(stack.slot).ended[a] = windows_[a].ends_with(stack.number)
                                     ? windows_[a].arrays_of(windows_[a].window_of(stack.number))
                                     : kernel::AccumulatedArrays{};
  }
}

void StackWork::prepare(std::uint32_t slot, std::uint32_t number, const StackImage& image) const noexcept {
  for (auto* const pass : preparing_) pass->prepare(static_cast<std::uint32_t>(place(slot, number)), image);
}
std::string StackWork::failure(std::uint8_t failed_in) const {
  if (failed_in == 0 || failed_in > passes_.size() || passes_[failed_in - 1U] == nullptr) return {};
  return passes_[failed_in - 1U]->failure();
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
  return cudaMemcpyAsync(bench_[bench_of(slot)].order.as<void>(), &order(slot), order_bytes(layout_.stack),
                         cudaMemcpyHostToDevice, stream);
}

cudaError_t StackWork::copy_in(std::uint32_t slot, cudaStream_t stream) const noexcept {
  const Bench& bench = bench_[bench_of(slot)];
  if (const cudaError_t code = copy_order(slot, stream); code != cudaSuccess || on_device()) return code;
  const std::byte* const images = layout_.images + place(slot) * layout_.image_stride;
  if (seat_) {
    const std::size_t bytes = std::size_t{layout_.width} * layout_.height * pixel_bytes(layout_.input);
    return cudaMemcpy2DAsync(bench.raw.as<void>(), raw_stride_, images, layout_.image_stride, bytes, layout_.stack,
                             cudaMemcpyHostToDevice, stream);
  }
  return cudaMemcpyAsync(bench.raw.as<void>(), images, layout_.stack * layout_.image_stride, cudaMemcpyHostToDevice,
                         stream);
}

const std::byte* StackWork::raw(std::uint32_t slot) const noexcept {
  return on_device() ? layout_.images + place(slot) * layout_.image_stride : bench_[bench_of(slot)].raw.as<std::byte>();
}

std::byte* const* StackWork::ended(std::size_t step, const Bench& bench) const noexcept {
  const auto& made = steps_.steps[step].accumulation;
  if (!made || steps_.output.results.accumulations[*made].window == 0) return nullptr;
  return bench.order.as<Order>()->ended[*made].data();
}

cudaError_t StackWork::compute(std::uint32_t slot, cudaStream_t stream) const noexcept {
  const std::uint32_t number = bench_of(slot);
  const Bench& bench = bench_[number];
  kernel::cuda::DeviceStack stack{};
  stack.in = raw(slot);
  stack.in_stride = raw_stride_;
  stack.marks = bench.marks.as<std::uint64_t>();
  stack.marks_stride = mark_words_;
  stack.work = bench.order.as<std::uint8_t>() + sizeof(Order);
  stack.dark = stack.work + layout_.stack;
  stack.scalars_stride = columns_;
  stack.findings = bench.findings.as<DeviceFinding>();
  stack.count = layout_.stack;
  stack.place = static_cast<std::uint32_t>(place(slot));
  for (std::size_t i = 0; i < steps_.steps.size(); ++i) {
    const PlannedStep& step = steps_.steps[i];
    stack.out = bench.made[i].as<std::byte>();
    stack.out_stride = made_stride(i);
    stack.scalars = bench.scalars.as<Scalar>() + step.first_column;
    stack.step = static_cast<std::uint8_t>(i);
    stack.device = device_;
    if (settled_on_delivery(i)) break;
    stack.ended = ended(i, bench);
    auto code = cudaSuccess;
    if (first_in_turn_ == i) code = take_turn(bench.order.as<Order>(), turn_.as<std::uint32_t>(), stream);
    if (code == cudaSuccess) {
      code = static_cast<cudaError_t>(step.rides ? kernel::cuda::settle_counts(stack, nullptr, *step.rides, stream)
                                                 : passes_[i]->enqueue(stack, number, stream));
    }
    if (code == cudaSuccess && i < steps_.learned && !steps_.keep_darks) {
      const bool on = i + 1 < steps_.learned;
      code = let_darks_on(bench.order.as<Order>(), layout_.stack, bench.findings.as<DeviceFinding>(), on, stream);
    }
    if (code == cudaSuccess) code = meet(slot, i + 1, stream);
    if (code == cudaSuccess && first_in_turn_ && last_in_turn_ == i) {
      code = give_turn(bench.order.as<Order>(), turn_.as<std::uint32_t>(), stream);
    }
    if (code != cudaSuccess) return code;
    if (!step.makes_pixels) continue;
    stack.in = stack.out;
    stack.in_stride = stack.out_stride;
  }
  return cudaSuccess;
}

cudaError_t StackWork::make_chunks(std::uint32_t slot, cudaStream_t stream) const noexcept {
  const Bench& bench = bench_[bench_of(slot)];
  const std::size_t maker = steps_.last_maker;
  const kernel::bitshuffle_lz4::cuda::DeviceImages images{
      .images = passed_on_ ? raw(slot) : bench.made[maker].as<std::byte>(),
      .stride = passed_on_ ? raw_stride_ : made_stride(maker),
      .work = bench.order.as<std::uint8_t>() + sizeof(Order),
      .count = layout_.stack};
  const kernel::bitshuffle_lz4::cuda::Chunks out{.chunks = chunks_.as<std::byte>() + place(slot) * chunk_room_,
                                                 .stride = chunk_room_,
                                                 .bytes = chunk_bytes_.as<std::uint32_t>() + place(slot)};
  return static_cast<cudaError_t>(bench.encoder->enqueue(images, out, stream));
}

cudaError_t StackWork::meet(std::uint32_t slot, std::size_t steps, cudaStream_t stream) const noexcept {
  if (!seat_) return cudaSuccess;
  const std::vector<Meeting>& meetings = seat_->joint->meetings();
  const auto found = std::find_if(meetings.begin(), meetings.end(),
                                  [steps](const Meeting& meeting) { return meeting.behind == steps; });
  if (found == meetings.end()) return cudaSuccess;
  const Bench& bench = bench_[bench_of(slot)];
  Exchange exchanged{};
  exchanged.order = bench.order.as<Order>();
  exchanged.work = bench.order.as<std::uint8_t>() + sizeof(Order);
  exchanged.stack = layout_.stack;
  exchanged.scalars = bench.scalars.as<Scalar>();
  exchanged.columns = columns_;
  exchanged.first = static_cast<std::uint32_t>(found->first);
  exchanged.end = static_cast<std::uint32_t>(found->end);
  exchanged.findings = bench.findings.as<DeviceFinding>();
  exchanged.boxes = seat_->joint->boxes(static_cast<std::size_t>(found - meetings.begin()), slot);
  exchanged.members = seat_->joint->members();
  exchanged.self = seat_->member;
  exchanged.over = seat_->joint->over_word();
  std::copy(found->bounds.begin(), found->bounds.end(), exchanged.bounds.begin());
  exchanged.bound_count = static_cast<std::uint32_t>(found->bounds.size());
  exchanged.bound_column = static_cast<std::uint32_t>(steps_.steps[steps - 1].first_column);
  exchanged.step = static_cast<std::uint8_t>(steps - 1);
  return exchange(exchanged, stream);
}

cudaError_t StackWork::copy_out(std::uint32_t slot, cudaStream_t stream) const noexcept {
  const Bench& bench = bench_[bench_of(slot)];
  if (bench.encoder != nullptr) {
    if (const cudaError_t code = make_chunks(slot, stream); code != cudaSuccess) return code;
  }
  Deliver delivery{};
  delivery.order = bench.order.as<Order>();
  delivery.stack = layout_.stack;
  delivery.findings = bench.findings.as<DeviceFinding>();
  delivery.scalars = bench.scalars.as<Scalar>();
  delivery.columns = columns_;
  if (steps_.output.pixels && !passed_on_) {
    delivery.images = bench.made[steps_.last_maker].as<std::byte>();
    delivery.image_stride = made_stride(steps_.last_maker);
  }
  delivery.host_images = host_images() + place(slot) * out_bytes_;
  delivery.host_stride = out_bytes_;
  delivery.host_bytes = padded({steps_.output.width, steps_.output.height}) * pixel_bytes(steps_.output.pixel);
  delivery.host_findings = findings_.as<DeviceFinding>() + place(slot);
  delivery.host_scalars = scalars_.as<Scalar>() + place(slot) * columns_;
  delivery.host_done = &done_.as<Word>()[slot].value;
  delivery.blocks_done = bench.blocks_done.as<std::uint32_t>();
  if (const std::size_t last = steps_.steps.size() - 1; settled_on_delivery(last)) {
    delivery.settles = true;
    delivery.tap = *steps_.steps[last].rides;
    delivery.tap_column = static_cast<std::uint32_t>(steps_.steps[last].first_column);
    delivery.tap_step = static_cast<std::uint8_t>(last);
  }
  return deliver(delivery, stream);
}

}  // namespace rashpa::unit::cuda
