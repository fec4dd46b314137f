// SPDX-License-Identifier: Apache-2.0
/// rashpa_cuda_unit_bench: the unit on a device against the bus. First every trigger with one small image that is
/// accepted: from the word that the host writes to the decision, and to pixels and lists, in host memory. Then JUNGFRAU
/// 4M at full rate from a ring that is always full, against copies of the same pinned memory in the same run; and all
/// of it kept, as pixels and as chunks made on the device, beside what threads of the host compress. `--json` writes
/// one row a line.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/pause.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"
#include "rashpa/kernel/veto/veto.hpp"
#include "rashpa/memory/buffer.hpp"
#include "rashpa/memory/cpu_set.hpp"
#include "rashpa/unit/cuda/cuda_unit.hpp"
#include "rashpa/unit/stack_ring.hpp"
#include "unit_bench.hpp"

namespace rashpa::unit {
namespace {

using bench::copy_rate;
using bench::kAllWithSpots;
using bench::Ring;
using bench::row;
using bench::take;
namespace jungfrau = kernel::jungfrau;
namespace bragg_count = kernel::bragg_count;

struct Arguments {
  bool json = false;
  std::uint64_t images = 100'000;    // at full rate
  std::uint64_t triggers = 100'000;  // of each kind
  std::string only;
};

double percentile(std::vector<std::int64_t>& sorted, double p) {
  return static_cast<double>(sorted[static_cast<std::size_t>(p * static_cast<double>(sorted.size() - 1))]) / 1000;
}

/// Pipelines that decide quickly; all images are accepted.
struct Quick {
  const char* name;
  std::vector<kernel::StepOf> behind;  // jungfrau
};
std::vector<Quick> quick(std::uint32_t side) {
  const bragg_count::Config all{20, 0, ~0U >> 1U};
  const kernel::csr::Config list{10, 0.1};
  const double middle = side / 2.0;
  const kernel::peakfinder8::Config peaks{.threshold = 10, .beam_x = middle, .beam_y = middle};
  const kernel::veto::Config rule{"n_peaks < 100000", "few_peaks"};
  return {{"count", {all}}, {"count + csr", {all, list}}, {"peaks + rule + csr", {peaks, rule, list}}};
}
Pipeline pipeline_of(const Quick& one, const jungfrau::Config& config) {
  Pipeline pipeline{{config}, PartialPolicy::keep, false};
  pipeline.kernels.insert(pipeline.kernels.end(), one.behind.begin(), one.behind.end());
  return pipeline;
}

void rows(const std::string& what, std::vector<std::int64_t>& times) {
  std::sort(times.begin(), times.end());
  row(what + ", p50", percentile(times, 0.5), "us");
  row(what + ", p99", percentile(times, 0.99), "us");
  row(what + ", max", percentile(times, 1), "us");
}

/// The unit as the pipeline uses it: its thread sees that the device is done and hands the stack back.
void latency(Trigger trigger, const Quick& one, std::uint32_t side, std::uint64_t triggers) {
  const auto config = jungfrau::synthetic::config(side, side, jungfrau::Output::photons, 1);
  Ring ring(side, side, 1, 4);
  ring.fill(config, kAllWithSpots, kAllWithSpots);
  Doorbell bell;
  const auto unit = make_unit({.kind = Kind::cuda, .trigger = trigger}, pipeline_of(one, config), ring.layout, bell);
  std::vector<std::int64_t> times;
  times.reserve(triggers);
  constexpr std::uint64_t kWarm = 100;
  for (std::uint64_t n = 0; n < triggers + kWarm; ++n) {
    Stack& stack = ring.all[n % ring.all.size()];
    const std::int64_t start = now_ns();
    unit->submit(&stack);
    take(*unit);
    if (n >= kWarm) times.push_back(now_ns() - start);
    const StackImage& image = stack.images[0];
    if (image.decision != Decision::accepted) {
      throw ResourceError(fmt::format("image {} of {}, {}: {}, veto reason {}, error {}", n, name_of(trigger), one.name,
                                      name_of(image.decision), static_cast<int>(image.reason),
                                      static_cast<int>(image.error)));
    }
  }
  rows(
      fmt::format("unit, {}, {}, {} x {}: submit to everything in host memory", name_of(trigger), one.name, side, side),
      times);
}

/// Microseconds of a number of cycles.
double at_clock(std::int64_t cycles) {
  int device = 0;
  int khz = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, device);
  return khz == 0 ? 0 : static_cast<double>(cycles) * 1000 / khz;
}

/// From the store of the trigger word: to the first word that comes back, to the decision and to everything in host
/// memory. `options`: of the resident kernel, when that is the trigger; `in_spots`: of the pixels.
void stages(Trigger trigger, const Quick& one, std::uint32_t side, std::uint64_t triggers,
            cuda::ResidentOptions options = {}, const std::string& variant = {}, double in_spots = kAllWithSpots) {
  const auto config = jungfrau::synthetic::config(side, side, jungfrau::Output::photons, 1);
  Ring ring(side, side, 1, 4);
  ring.fill(config, in_spots, in_spots);
  const Steps steps = steps_of(pipeline_of(one, config), ring.layout);
  const bool resident = trigger == Trigger::persistent;
  cuda::StackWork work(steps, ring.layout, 1, resident ? cuda::Input::in_place : cuda::Input::copied);
  const cuda::PinnedMemory clocks(sizeof(cuda::ResidentClocks));
  options.clocks = clocks.as<cuda::ResidentClocks>();
  const auto dispatch = resident                    ? cuda::make_resident(work, options)
                        : trigger == Trigger::graph ? cuda::make_graph(work, ring.layout.stacks, 0)
                                                    : cuda::make_launch(work, 0);
  const std::atomic_ref seen(work.control().seen.value);
  jungfrau::synthetic::Random random(1);
  std::array<std::vector<std::int64_t>, 3> times;
  std::array<std::vector<std::int64_t>, 4> cycles;
  constexpr std::array kAsked{std::uint8_t{1}};
  const std::int64_t deadline = now_ns() + 20'000'000'000;
  const auto until = [&](auto come) {
    while (!come()) {
      if (now_ns() > deadline) throw ResourceError("a stack does not come back");
    }
    return now_ns();
  };
  for (std::uint32_t ticket = 1; ticket <= triggers; ++ticket) {
    const std::uint32_t slot = (ticket - 1) % ring.layout.stacks;
    work.give_order(ring.all[slot], kAsked, ticket);
    // Host and device would fall into step if each trigger came right behind the last answer.
    const std::int64_t pause = now_ns() + random.below(3000);
    until([&] { return now_ns() >= pause; });
    const std::int64_t start = now_ns();
    if (dispatch->submit(slot, ticket) != cudaSuccess) throw ResourceError("submit");
    if (resident) {
      times[0].push_back(until([&] { return seen.load(std::memory_order_acquire) == ticket; }) - start);
      if (options.tells_first) {
        times[1].push_back(until([&] { return work.results().decided(slot) == ticket; }) - start);
      }
    }
    times[2].push_back(until([&] { return work.results().done(slot) == ticket; }) - start);
    if (!resident) continue;
    const cuda::ResidentClocks found = *clocks.as<const cuda::ResidentClocks>();
    const std::array ends{found.read - found.taken, found.counted - found.read, found.decided - found.counted,
                          found.stored - found.decided};
    for (std::size_t stage = 0; stage < ends.size(); ++stage) cycles[stage].push_back(ends[stage]);
  }
  dispatch->stop();
  const std::string what = fmt::format("{}{}, {}, {} x {}: ", name_of(trigger), variant, one.name, side, side);
  const char* const last = resident && options.tells_first ? "trigger word to pixels and lists in host memory"
                                                           : "trigger word to everything in host memory";
  const std::array<const char*, 3> names{"trigger word to first effect seen by the host",
                                         "trigger word to decision in host memory", last};
  for (std::size_t stage = 0; stage < times.size(); ++stage) {
    if (!times[stage].empty()) rows(what + names[stage], times[stage]);
  }
  constexpr std::array kWork{"on the device, words read and converted", "on the device, all blocks have met",
                             "on the device, decided", "on the device, stored"};
  for (std::size_t stage = 0; stage < cycles.size(); ++stage) {
    if (cycles[stage].empty()) continue;
    std::sort(cycles[stage].begin(), cycles[stage].end());
    row(what + kWork[stage] + ", p50", at_clock(cycles[stage][cycles[stage].size() / 2]), "us");
  }
}

/// The resident kernel as it could be, and with images of which no pixel has switched its gain.
void variants(std::uint64_t triggers) {
  stages(Trigger::persistent, quick(64).front(), 64, triggers, {}, " (no spots)", 0);
  for (const std::uint32_t side : {64U, 512U}) {
    for (const Quick& one : quick(side)) {
      const bool peaks = one.behind.size() == 3;
      for (const bool one_block : {true, false}) {
        if (one_block && (peaks || side != 64)) continue;
        for (const std::uint32_t watchers : {1U, 2U, 4U, 6U, 8U}) {
          for (const bool even : {true, false}) {
            if (!even && peaks) continue;
            stages(Trigger::persistent, one, side, triggers / (side == 64 ? 1 : 4),
                   {.watchers = watchers, .even = even, .one_block = one_block},
                   fmt::format(" ({} watching{}{})", watchers, one_block ? ", one block" : "",
                               even ? "" : ", not at even distances"));
          }
        }
      }
    }
  }
}

void full_rate(Trigger trigger, std::uint32_t stack, std::uint64_t images, bool sparse) {
  constexpr std::uint32_t kSide = 2048;
  const auto config = jungfrau::synthetic::config(kSide, kSide, jungfrau::Output::photons, 1);
  Ring ring(kSide, kSide, stack, std::max(60 / stack, 4U));
  ring.fill(config);
  const double before = copy_rate(ring, 2000);
  Pipeline pipeline{{config, bragg_count::Config{20, 500}}, PartialPolicy::keep, false};
  if (sparse) pipeline.kernels.emplace_back(kernel::csr::Config{10, 0.01});
  std::uint64_t accepted = 0;
  std::uint64_t vetoed = 0;
  double rate = 0;
  {
    Doorbell bell;
    const auto unit = make_unit({.kind = Kind::cuda, .trigger = trigger}, pipeline, ring.layout, bell);
    const std::uint64_t stacks = images / stack;
    const std::size_t ahead = ring.all.size();
    std::uint64_t submitted = 0;
    const std::int64_t start = now_ns();
    for (; submitted < std::min<std::uint64_t>(ahead, stacks); ++submitted) unit->submit(&ring.all[submitted % ahead]);
    for (std::uint64_t taken = 0; taken < stacks; ++taken) {
      Stack* const done = take(*unit);
      for (const StackImage& image : done->view()) {
        accepted += image.decision == Decision::accepted ? 1 : 0;
        vetoed += image.decision == Decision::vetoed ? 1 : 0;
      }
      if (submitted < stacks) unit->submit(&ring.all[submitted++ % ahead]);
    }
    rate = static_cast<double>(stacks * stack * ring.stride) / static_cast<double>(now_ns() - start);
  }
  const double after = copy_rate(ring, 2000);
  const std::uint64_t processed = images / stack * stack;
  const std::uint64_t explained = accepted + vetoed;
  const std::string what = fmt::format("{}: JUNGFRAU 4M, stack {}, convert + count{}, {} images, {} kept",
                                       name_of(trigger), stack, sparse ? " + CSR" : "", processed, accepted);
  row(what, rate, "GB/s", "pinned host to device, mean of before and after", (before + after) / 2);
  row(what + ", unexplained", static_cast<double>(processed - explained), "images");
}

struct Kept {
  double rate = 0;         // GB/s of input
  double image_bytes = 0;  // that leave for an image
};

/// Every image kept; `last`: of the last stack, before the unit goes.
Kept keep_all(Ring& ring, const Pipeline& pipeline, std::uint64_t stacks,
              const std::function<void(const Stack&)>& last) {
  Doorbell bell;
  const auto unit = make_unit({.kind = Kind::cuda, .trigger = Trigger::graph}, pipeline, ring.layout, bell);
  const Output& output = unit->output();
  const double pixels = static_cast<double>(std::size_t{output.width} * output.height * pixel_bytes(output.pixel));
  const std::size_t ahead = ring.all.size();
  std::uint64_t submitted = 0;
  double left = 0;
  std::uint64_t accepted = 0;
  const std::int64_t start = now_ns();
  for (; submitted < std::min<std::uint64_t>(ahead, stacks); ++submitted) unit->submit(&ring.all[submitted]);
  for (std::uint64_t taken = 0; taken < stacks; ++taken) {
    Stack* const done = take(*unit);
    for (const StackImage& image : done->view()) {
      accepted += image.decision == Decision::accepted ? 1 : 0;
      left += output.chunked ? static_cast<double>(image.chunk.size()) : pixels;
    }
    if (submitted < stacks) unit->submit(&ring.all[submitted++ % ahead]);
  }
  const auto took = static_cast<double>(now_ns() - start);
  const auto images = static_cast<double>(stacks * ring.layout.stack);
  if (static_cast<double>(accepted) != images) throw ResourceError("not every image was accepted");
  last(ring.all[(stacks - 1) % ahead]);
  return {images * static_cast<double>(ring.stride) / took, left / images};
}

/// GB/s of input, and bytes of a chunk, of compressors on so many threads, each with images of its own.
Kept compress_on_host(const Stack& stack, std::size_t image_bytes, std::size_t element_bytes, unsigned threads) {
  constexpr std::int64_t kLeastNs = 2'000'000'000;
  std::atomic<std::uint64_t> images = 0, bytes = 0;
  const std::int64_t start = now_ns();
  std::vector<std::jthread> workers;
  for (unsigned t = 0; t < threads; ++t) {
    workers.emplace_back([&, t] {
      kernel::bitshuffle_lz4::Compressor compressor(element_bytes);
      std::vector<std::byte> chunk(kernel::bitshuffle_lz4::compressed_bound(image_bytes, element_bytes));
      for (std::size_t i = t; now_ns() - start < kLeastNs; ++i) {
        bytes += compressor.compress({stack.images[i % stack.count].pixels, image_bytes}, chunk);
        images += 1;
      }
    });
  }
  workers.clear();
  const auto all = static_cast<double>(images.load());
  return {all * static_cast<double>(image_bytes) / static_cast<double>(now_ns() - start),
          static_cast<double>(bytes.load()) / all};
}

/// JUNGFRAU 4M, all images kept, `switched` of their pixels in spots: what leaves as pixels, and as chunks.
void chunks(double switched, std::uint64_t images) {
  constexpr std::uint32_t kSide = 2048, kStack = 10;
  const auto config = jungfrau::synthetic::config(kSide, kSide, jungfrau::Output::photons, 1);
  Ring ring(kSide, kSide, kStack, 6);
  ring.fill(config, 0.002, switched);
  const double before = copy_rate(ring, 2000);
  Pipeline pipeline{{config, bragg_count::Config{20, 0}}, PartialPolicy::keep, false};
  constexpr std::size_t kBytes = std::size_t{kSide} * kSide * sizeof(std::int16_t);
  const std::string what =
      fmt::format("JUNGFRAU 4M, stack {}, convert + count, all kept, {} in spots", kStack, switched);
  std::vector<std::pair<unsigned, Kept>> host;
  const Kept pixels = keep_all(ring, pipeline, images / kStack, [&](const Stack& stack) {
    for (const unsigned threads : {1U, 4U, std::max(1U, std::thread::hardware_concurrency())}) {
      host.emplace_back(threads, compress_on_host(stack, kBytes, sizeof(std::int16_t), threads));
    }
  });
  pipeline.delivery = Delivery::chunk_in_place;
  const Kept packed = keep_all(ring, pipeline, images / kStack, [](const Stack&) {});
  const double bus = (before + copy_rate(ring, 2000)) / 2;
  const std::string against = "pinned host to device, mean of before and after";
  row(what + ": pixels out", pixels.rate, "GB/s", against, bus);
  row(what + ": pixels out, of an image", pixels.image_bytes, "B");
  row(what + ": chunks out", packed.rate, "GB/s", against, bus);
  row(what + ": chunks out, of an image", packed.image_bytes, "B", "pixels", static_cast<double>(kBytes));
  for (const auto& [threads, one] : host) {
    const std::string by = fmt::format("{}: compressed by {} threads of the host", what, threads);
    row(by, one.rate, "GB/s", "chunks out", packed.rate);
    row(by + ", of an image", one.image_bytes, "B", "chunks out", packed.image_bytes);
  }
}

/// When the stages of stacks of JUNGFRAU 4M began and ended, from events in their streams: one JSON row a stage.
void timeline(std::uint32_t stack) {
  constexpr std::uint32_t kSide = 2048;
  constexpr std::uint32_t kStacks = 8;
  const auto config = jungfrau::synthetic::config(kSide, kSide, jungfrau::Output::photons, 1);
  Ring ring(kSide, kSide, stack, kStacks);
  ring.fill(config);
  const Pipeline pipeline{{config, bragg_count::Config{20, 500}}, PartialPolicy::keep, false};
  cuda::StackWork work(steps_of(pipeline, ring.layout), ring.layout, cuda::kBenches);
  const std::vector<std::uint8_t> asked(stack, 1);
  std::vector<cuda::Stream> streams(cuda::kBenches);
  std::vector<cuda::Stages> stages(kStacks);
  for (auto& events : stages) {
    for (cudaEvent_t& event : events) cuda::check(cudaEventCreate(&event), "make an event");
  }
  for (std::uint32_t round = 0; round < 3; ++round) {  // the last one is shown
    for (std::uint32_t slot = 0; slot < kStacks; ++slot) {
      work.give_order(ring.all[slot], asked, round + 1);
      cuda::check(work.enqueue(slot, streams[work.bench_of(slot)].get(), &stages[slot]), "enqueue");
    }
    cuda::check(cudaDeviceSynchronize(), "wait");
  }
  constexpr std::array kNames{"in", "compute", "out"};
  for (std::uint32_t slot = 0; slot < kStacks; ++slot) {
    for (std::size_t stage = 0; stage < kNames.size(); ++stage) {
      float begin = 0;
      float end = 0;
      cuda::check(cudaEventElapsedTime(&begin, stages[0][0], stages[slot][stage]), "begin");
      cuda::check(cudaEventElapsedTime(&end, stages[0][0], stages[slot][stage + 1]), "end");
      fmt::print("{{\"stack\": {}, \"bench\": {}, \"stage\": \"{}\", \"begin_us\": {:.1f}, \"end_us\": {:.1f}}}\n",
                 slot, work.bench_of(slot), kNames[stage], begin * 1000, end * 1000);
    }
  }
  for (auto& events : stages) {
    for (const cudaEvent_t event : events) cudaEventDestroy(event);
  }
}

Arguments parse(int count, char** values) {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string name = values[i];
    if (name == "--json") {
      arguments.json = true;
    } else if (i + 1 < count && name == "--images") {
      arguments.images = std::stoull(values[++i]);
    } else if (i + 1 < count && name == "--triggers") {
      arguments.triggers = std::stoull(values[++i]);
    } else if (i + 1 < count && name == "--only") {
      arguments.only = values[++i];
    } else {
      throw ConfigError("cuda_unit_bench: " + name + ": there are --images N --triggers N --only PART --json");
    }
  }
  constexpr std::array kParts{"", "latency", "rate", "timeline", "variants", "chunks", "dealt", "split"};
  if (std::find(kParts.begin(), kParts.end(), arguments.only) == kParts.end()) {
    throw ConfigError(fmt::format("cuda_unit_bench: --only {}: there are {}", arguments.only,
                                  fmt::join(kParts.begin() + 1, kParts.end(), ", ")));
  }
  return arguments;
}

void run(const Arguments& arguments) {
  bench::json_rows = arguments.json;
  if (arguments.only == "dealt") return bench::dealt(arguments.images / 5);
  if (arguments.only == "split") return bench::split(std::max<std::uint64_t>(arguments.images / 20, 100));
  if (arguments.only == "timeline") return timeline(10);
  if (arguments.only == "variants") return variants(arguments.triggers);
  if (arguments.only == "chunks") {
    for (const double switched : {0.002, 0.05, 0.5}) chunks(switched, arguments.images / 20);
    return;
  }
  if (arguments.only != "rate") {
    for (const std::uint32_t watchers : {1U, 4U, 8U}) {
      stages(Trigger::persistent, quick(64).front(), 64, arguments.triggers, {.watchers = watchers},
             fmt::format(" ({} watching)", watchers));
    }
    for (const std::uint32_t side : {64U, 512U}) {
      for (const Quick& one : quick(side)) {
        const std::uint64_t triggers = arguments.triggers / (side == 64 ? 1 : 10);
        for (const Trigger trigger : {Trigger::launch, Trigger::graph, Trigger::persistent}) {
          stages(trigger, one, side, triggers);
        }
        stages(Trigger::persistent, one, side, triggers, {.tells_first = true}, " (decision first)");
        for (const Trigger trigger : {Trigger::launch, Trigger::graph, Trigger::stream, Trigger::persistent}) {
          latency(trigger, one, side, triggers);
        }
      }
    }
  }
  if (arguments.only != "latency") {
    for (const Trigger trigger : {Trigger::launch, Trigger::graph, Trigger::stream}) {
      full_rate(trigger, 10, arguments.images / 5, false);
    }
    full_rate(Trigger::graph, 1, arguments.images / 5, false);
    full_rate(Trigger::graph, 10, arguments.images, false);
    full_rate(Trigger::graph, 10, arguments.images / 5, true);
  }
}

}  // namespace
}  // namespace rashpa::unit

int main(int count, char** values) {
  try {
    rashpa::unit::run(rashpa::unit::parse(count, values));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 2;
  }
}
