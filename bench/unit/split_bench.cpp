// SPDX-License-Identifier: Apache-2.0
/// The part `--only split` of rashpa_cuda_unit_bench.
#include "rashpa/kernel/bragg_count/bragg_count.hpp"
#include "unit_bench.hpp"

namespace rashpa::unit::bench {

namespace {

constexpr std::uint32_t kSide = 4096, kSlots = 24;
constexpr std::uint64_t kAlone = 500;  // images, each when the one before is back

void rows_of(const std::string& what, const Choice& choice, Ring& ring, const Pipeline& pipeline, std::uint64_t images,
             double copied) {
  Doorbell bell;
  const auto unit = make_unit(choice, pipeline, ring.layout, bell);
  if (!json_rows) fmt::print("{}\n", unit->how());
  std::uint64_t submitted = 0;
  const auto submit = [&] { unit->submit(&ring.all[submitted++ % kSlots]); };
  std::vector<std::int64_t> times;
  for (std::uint64_t n = 0; n < kSlots + kAlone; ++n) {
    const std::int64_t start = now_ns();
    submit();
    take(*unit);
    if (n >= kSlots) times.push_back(now_ns() - start);  // the first of each slot warm up
  }
  const std::uint64_t end = submitted + images;
  const std::int64_t start = now_ns();
  while (submitted < std::min(end, kSlots + kAlone + kSlots)) submit();
  std::uint64_t unexplained = 0;
  for (std::uint64_t taken = 0; taken < images; ++taken) {
    const Decision decision = take(*unit)->images.front().decision;
    unexplained += decision == Decision::accepted || decision == Decision::vetoed ? 0 : 1;
    if (submitted < end) submit();
  }
  const double rate = static_cast<double>(images * ring.stride) / static_cast<double>(now_ns() - start);
  std::sort(times.begin(), times.end());
  const auto at = [&](double part) {
    return static_cast<double>(times[static_cast<std::size_t>(part * static_cast<double>(times.size() - 1))]) / 1000;
  };
  const std::string name = "JUNGFRAU 16M, stack 1, convert + count, " + what;
  row(name, rate, "GB/s", "pinned host to one device", copied);
  row(name + ": submit to decision and image in host memory, p50", at(0.5), "us");
  row(name + ": submit to decision and image in host memory, p99", at(0.99), "us");
  row(name + ", unexplained", static_cast<double>(unexplained), "images");
}

}  // namespace

void split(std::uint64_t images) {
  const std::size_t count = cuda::devices().size();
  std::string all = count < 2 ? "0,0" : "0";
  for (std::size_t device = 1; device < count; ++device) all += fmt::format(",{}", device);
  const std::string several = count < 2 ? "one device twice" : fmt::format("{} devices", count);
  const auto config = jungfrau::synthetic::config(kSide, kSide, jungfrau::Output::photons, 1);
  Ring ring(kSide, kSide, 1, kSlots);
  ring.fill(config);
  const double copied = copy_rate(ring, 200);
  const Pipeline pipeline{{config, kernel::bragg_count::Config{20, 500}}, PartialPolicy::keep, false};
  const auto measure = [&](const std::string& what, const Choice& choice) {
    rows_of(what, choice, ring, pipeline, images, copied);
  };
  measure("one device", {.kind = Kind::cuda, .trigger = Trigger::graph});
  measure("dealt to " + several, {.kind = Kind::cuda, .device = all, .trigger = Trigger::graph});
  measure("split over " + several,
          {.kind = Kind::cuda, .device = all, .share = Share::rows, .trigger = Trigger::graph});
}

}  // namespace rashpa::unit::bench
