// SPDX-License-Identifier: Apache-2.0
/// The part `--only dealt` of rashpa_cuda_unit_bench.
#include <array>
#include <atomic>
#include <memory>

#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "unit_bench.hpp"

namespace rashpa::unit::bench {

namespace {

constexpr std::uint32_t kSide = 2048, kStack = 10;
constexpr std::uint64_t kWindow = 1000;

struct Rate {
  double gigabytes = 0;                 // a second
  std::vector<std::int64_t> window_ns;  // how long take() has worked at each window
  std::uint64_t unexplained = 0;
};

/// One thread submits, as soon as there is room, another one takes, as in a receiver.
Rate rate_of(Ring& ring, const std::string& devices, const Pipeline& pipeline, std::uint64_t stacks) {
  Doorbell bell;
  const auto unit = make_unit({.kind = Kind::cuda, .device = devices}, pipeline, ring.layout, bell);
  const std::size_t ahead = ring.all.size();
  std::atomic<std::uint64_t> taken{0};
  const std::int64_t start = now_ns();
  const std::jthread submits([&](const std::stop_token& ending) {
    for (std::uint64_t number = 0; number < stacks; ++number) {
      while (number - taken.load(std::memory_order_acquire) >= ahead) {
        if (ending.stop_requested()) return;
        pause_spinning();
      }
      Stack& stack = ring.all[number % ahead];
      stack.number = number;
      unit->submit(&stack);
    }
  });
  Rate rate;
  while (taken.load(std::memory_order_relaxed) < stacks) {
    const std::int64_t begun = now_ns();
    const Stack* const stack = unit->take();
    if (stack == nullptr) {
      if (!unit->error().empty()) throw ResourceError(unit->error());
      pause_spinning();
      continue;
    }
    if (stack->accumulated[0].ended()) rate.window_ns.push_back(now_ns() - begun);
    for (const StackImage& image : stack->view()) {
      const bool decided = image.decision == Decision::accepted || image.decision == Decision::vetoed;
      rate.unexplained += decided ? 0 : 1;
    }
    taken.fetch_add(1, std::memory_order_release);
  }
  rate.gigabytes = static_cast<double>(stacks * kStack * ring.stride) / static_cast<double>(now_ns() - start);
  if (!json_rows) fmt::print("{}\n", unit->how());
  return rate;
}

/// GB/s of copies to all devices at once.
double copies_to_all(const Ring& ring, std::uint64_t images, std::size_t devices) {
  std::vector<std::jthread> threads;
  std::vector<double> rates(devices);
  for (std::size_t device = 0; device < devices; ++device) {
    threads.emplace_back([&, device] {
      const cuda::DeviceScope scope(static_cast<int>(device));
      rates[device] = copy_rate(ring, images);
    });
  }
  threads.clear();
  double sum = 0;
  for (const double rate : rates) sum += rate;
  return sum;
}

void windows_row(const std::string& what, Rate& rate) {
  if (rate.window_ns.empty()) return;
  std::sort(rate.window_ns.begin(), rate.window_ns.end());
  const auto at = [&](double part) {
    const auto last = static_cast<double>(rate.window_ns.size() - 1);
    return static_cast<double>(rate.window_ns[static_cast<std::size_t>(part * last)]) / 1000;
  };
  row(what + ": take() of a stack that ends a window, p50", at(0.5), "us");
  row(what + ": take() of a stack that ends a window, max", at(1), "us");
}

}  // namespace

void dealt(std::uint64_t images) {
  const std::size_t count = cuda::devices().size();
  std::string all = "0";
  for (std::size_t device = 1; device < count; ++device) all += fmt::format(",{}", device);
  const auto config = jungfrau::synthetic::config(kSide, kSide, jungfrau::Output::photons, 1);
  Ring ring(kSide, kSide, kStack, static_cast<std::uint32_t>(6 * count));
  ring.fill(config);
  const std::uint64_t stacks = images / kWindow * kWindow / kStack;
  const kernel::bragg_count::Config count_step{20, 500};
  const kernel::accumulate::Config sums{.window = static_cast<std::int64_t>(kWindow),
                                        .images = kernel::accumulate::Images::reached};
  const std::string copied = "pinned host to device";
  const std::string copied_to_all = fmt::format("pinned host to {} devices at once", count);
  const double one_copy = copy_rate(ring, images);
  const double all_copies = copies_to_all(ring, images, count);
  row(copied_to_all, all_copies, "GB/s", copied, one_copy);
  const std::array pipelines{
      std::pair{std::string("convert + count"), Pipeline{{config, count_step}}},
      std::pair{fmt::format("convert + sum, mean, max, windows of {} + count", kWindow),
                Pipeline{{config, sums, count_step}}},
  };
  for (const auto& [name, pipeline] : pipelines) {
    const std::string what = fmt::format("JUNGFRAU 4M, stack {}, {}, {} images", kStack, name, stacks * kStack);
    Rate one = rate_of(ring, "0", pipeline, stacks);
    row(fmt::format("{}: one device", what), one.gigabytes, "GB/s", copied, one_copy);
    windows_row(what + ": one device", one);
    if (count < 2) continue;
    Rate several = rate_of(ring, all, pipeline, stacks);
    const std::string on_all = fmt::format("{}: {} devices", what, count);
    row(on_all, several.gigabytes, "GB/s", "one device", one.gigabytes);
    row(on_all + ", of copies", several.gigabytes, "GB/s", copied_to_all, all_copies);
    row(on_all + ", unexplained", static_cast<double>(one.unexplained + several.unexplained), "images");
    windows_row(on_all, several);
  }
}

}  // namespace rashpa::unit::bench
