// SPDX-License-Identifier: Apache-2.0
/// Images that are written over while a unit has them, for every kernel of the registry: results of the others are the
/// same as if these had never come.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/system/doorbell.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/registry.hpp"
#include "rashpa/unit/contract/bench.hpp"
#include "rashpa/unit/factory.hpp"
#include "rashpa/unit/stack_ring.hpp"

namespace rashpa::unit::contract {

namespace {

/// A pipeline for one kernel. Every kernel of the registry has one at least.
struct Kept {
  std::string name;
  std::vector<kernel::StepOf> steps;
  PixelType input = PixelType::u16;
};

kernel::StepOf step_named(const std::string& name, const NamedValues& values, const kernel::GivenArrays& arrays = {}) {
  kernel::Given given;
  given.arrays = std::make_shared<const kernel::GivenArrays>(arrays);
  return kernel::kernel_named(name).make(values, given);
}

kernel::StepOf following(jungfrau::Tracking::From from) {
  jungfrau::Config config = calibration(jungfrau::Output::photons);
  config.calibration.rms.assign(kPixels, 24.0F);
  config.tracking = {from, 12, 3.0, 0.2};
  return config;
}

/// A foreign kernel that does not say what it keeps: the sum of the first pixels of all images so far.
class Remembering final : public kernel::Step {
 public:
  Remembering() {
    declaration_.name = "remembering";
    declaration_.takes.pixels = {PixelType::u16};
    declaration_.makes = {{.kind = kernel::Port::Kind::scalars, .columns = {{.name = "all"}}}};
    declaration_.origin = "plugin of the test";
  }
  [[nodiscard]] const kernel::Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] kernel::PixelFormat fit(const kernel::Shape& /*shape*/, kernel::PixelFormat in) const override {
    return in;
  }
  [[nodiscard]] std::unique_ptr<kernel::CpuPass> on_cpu(const kernel::Setup& /*setup*/) const override {
    return std::make_unique<Pass>();
  }

 private:
  class Pass final : public kernel::CpuPass {
   public:
    void begin(std::size_t /*items*/) noexcept override {}
    void run(unsigned /*worker*/, const kernel::Items& items, std::size_t first,
             std::size_t /*last*/) noexcept override {
      if (first != 0) return;
      for (std::size_t i = 0; i < items.count; ++i) {
        std::uint16_t pixel = 0;
        std::memcpy(&pixel, items.in[i], sizeof(pixel));
        sum_ += pixel;
      }
    }
    void finish(std::size_t /*item*/, kernel::Finding& finding) noexcept override {
      finding.scalars[0] = Scalar::of_count(sum_ & 0xFFFFFFFFU);
    }

   private:
    std::uint64_t sum_ = 0;
  };
  kernel::Declaration declaration_;
};

std::vector<Kept> pipelines_that_may_keep() {
  constexpr std::uint32_t kBins = 10;
  std::vector<std::uint32_t> bins(kPixels);
  for (std::size_t p = 0; p < kPixels; ++p) bins[p] = static_cast<std::uint32_t>(p % kBins);
  const kernel::GivenArrays rings{
      {"bins", kernel::GivenArray::of(bins, {kHeight, kWidth})},
      {"norm", kernel::GivenArray::of(std::vector<float>(kPixels, 1.0F), {kHeight, kWidth})},
      {"radial_axis", kernel::GivenArray::of(std::vector<double>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}};
  const NamedValue x{"beam_x", 64.0};
  const NamedValue y{"beam_y", 50.0};
  const NamedValue poni{"poni", std::string("given")};
  const kernel::StepOf total = step_named("total_counts", {});
  using From = jungfrau::Tracking::From;
  return {
      {"jungfrau", {following(From::off)}},
      {"jungfrau, darks", {following(From::darks)}},
      {"jungfrau, empty pixels", {following(From::empty)}},
      {"bragg_count",
       {step_named("bragg_count", {{"threshold", std::int64_t{2450}}, {"min_pixels", std::int64_t{0}}})}},
      {"csr", {step_named("csr", {{"threshold", std::int64_t{2500}}, {"capacity", 1.0}})}},
      {"total_counts", {total}},
      {"accumulate", {step_named("accumulate", {{"variance", true}, {"window", std::int64_t{8}}})}},
      {"accumulate, all images", {step_named("accumulate", {{"added", std::string("reached")}})}},
      {"accumulate behind a conversion", {following(From::darks), step_named("accumulate", {})}},
      {"roi_stats", {step_named("roi_stats", {{"regions", std::string("a=0,0,20,20")}})}},
      {"checksum", {step_named("checksum", {})}},
      {"unpack",
       {step_named("unpack", {{"bits", std::string("1")},
                              {"module_width", std::int64_t{kWidth * 8}},
                              {"module_height", std::int64_t{kHeight}}})},
       PixelType::u8},
      {"of somebody else", {std::shared_ptr<const kernel::Step>(std::make_shared<Remembering>())}},
      {"veto",
       {total, step_named("veto", {{"keep", std::string("total_counts > 31000000")}, {"reason", std::string("dim")}})}},
      {"peakfinder8", {step_named("peakfinder8", {{"threshold", 2600.0}, {"min_snr", 2.0}, x, y})}},
      {"peakfinder", {step_named("peakfinder", {x, y})}},
      {"sparsify", {step_named("sparsify", {{"capacity", 1.0}, x, y})}},
      {"azimuthal", {step_named("azimuthal", {poni}, rings)}},
      {"azimuthal, added",
       {step_named("azimuthal", {poni, {"added", std::string("accepted")}, {"window", std::int64_t{8}}}, rings)}},
  };
}

constexpr std::uint32_t kStack = 4, kStacks = 3, kRun = 22;  // the last stack is not full
bool dark(std::uint64_t image) { return image % 5 == 1; }
/// Returns true for an image that is overwritten before its copy is complete.
bool spoilt(std::uint64_t image) { return image % 7 == 3 || image == 6 || image == 12; }
/// Returns true for an image that another process changes before the copy, which only the checksum of its source shows.
bool changed(std::uint64_t image) { return image == 8 || image == 16; }
/// Returns true for an image that must be errored.
bool lost(std::uint64_t image) { return spoilt(image) || changed(image); }
/// Returns true for an image that is overwritten right after its copy.
bool late(std::uint64_t image) { return image % 3 == 0 && !lost(image); }

/// Guards slots as a lane does whose sources do not ask whether a slot is free.
class Guard final : public SlotGuard {
 public:
  [[nodiscard]] bool overwritten(const StackImage& image) const noexcept override {
    if (late(image.index)) std::memset(image.raw, 0x5A, kPixels * pixel_bytes(type));
    return spoilt(image.index);
  }
  PixelType type = PixelType::u16;
};

/// The results of images and windows, as bytes.
struct Outcome {
  std::map<std::uint64_t, std::vector<std::byte>> images;  // not of errored ones
  std::set<std::uint64_t> overwritten;
  std::vector<std::vector<std::byte>> windows;
  std::uint64_t added = 0;
};
class Bytes {
 public:
  template <typename T>
  void add(const T& value) {
    add(&value, sizeof(value));
  }
  void add(const void* data, std::size_t bytes) {
    const auto* const from = static_cast<const std::byte*>(data);
    all.insert(all.end(), from, from + bytes);
  }
  std::vector<std::byte> all;
};
std::vector<std::byte> bytes_of_image(const Output& output, const StackImage& image) {
  Bytes bytes;
  bytes.add(image.decision);
  bytes.add(image.reason);
  const Results& results = output.results;
  for (std::size_t c = 0; c < results.columns.size(); ++c) bytes.add(image.scalars[c].count());
  if (image.decision != Decision::accepted) return bytes.all;
  if (image.pixels != nullptr) {
    bytes.add(image.pixels, std::size_t{output.width} * output.height * pixel_bytes(output.pixel));
  }
  if (image.sparse.index != nullptr) {
    bytes.add(image.sparse.index, image.sparse.count * sizeof(std::uint32_t));
    bytes.add(image.sparse.value, image.sparse.count * pixel_bytes(output.pixel));
  }
  for (std::size_t t = 0; t < results.tables.size(); ++t) {
    bytes.add(image.tables[t].values, image.tables[t].rows * results.tables[t].columns.size() * sizeof(Scalar));
  }
  for (std::size_t p = 0; p < results.profiles.size(); ++p) {
    const Profile& profile = results.profiles[p];
    bytes.add(image.profiles[p].values, profile.bins() * profile.arrays.size() * sizeof(double));
  }
  return bytes.all;
}
void keep(const Output& output, const Accumulated& views, Outcome& all) {
  for (std::size_t a = 0; a < output.results.accumulations.size(); ++a) {
    if (!views[a].ended()) continue;
    const Accumulation& facts = output.results.accumulations[a];
    Bytes bytes;
    bytes.add(views[a].window);
    bytes.add(views[a].images);
    for (std::size_t q = 0; q < facts.quantities.size(); ++q) {
      bytes.add(views[a].values[q], facts.elements() * bytes_of(facts.quantities[q].type));
    }
    all.windows.push_back(bytes.all);
    all.added += views[a].images;
  }
}

void fill(const Kept& kept, std::uint64_t number, std::byte* pixels) {
  static const jungfrau::Config words = calibration(jungfrau::Output::photons);
  const auto frame =
      jungfrau::synthetic::frame(words, number % 2 == 0 ? 0.0 : 0.03, static_cast<std::uint32_t>(number));
  std::memcpy(pixels, frame.data(), kPixels * pixel_bytes(kept.input));
}

/// `guarded`: images are written over. Otherwise those that would have been have not come.
Outcome run(const Choice& choice, const Kept& kept, bool guarded) {
  StackRing ring(kWidth, kHeight, kStack, kStacks, memory::MemoryKind::pageable, kept.input);
  if (guarded) ring.layout.changes = true;
  const std::uint32_t bytes_of_line = kWidth * pixel_bytes(kept.input);
  const PayloadSum wrong{.pitch = bytes_of_line,
                         .line_bytes = bytes_of_line,
                         .lines = kHeight,
                         .crc32c = 1,
                         .known = true,
                         .compared = true};
  Guard guard;
  guard.type = kept.input;
  Doorbell bell;
  const auto unit = make_unit(choice, {.kernels = kept.steps}, ring.layout, bell);
  Outcome all;
  const std::uint32_t stacks = (kRun + kStack - 1) / kStack;
  std::uint32_t submitted = 0;
  for (std::uint32_t taken = 0; taken < stacks; ++taken) {
    for (; submitted < stacks && submitted < taken + kStacks; ++submitted) {
      Stack& stack = ring.all[submitted % kStacks];
      stack.number = submitted;
      stack.count = std::min(kStack, kRun - submitted * kStack);
      stack.guard = guarded ? &guard : nullptr;
      for (std::uint32_t i = 0; i < stack.count; ++i) {
        StackImage& image = stack.images[i];
        image.index = std::uint64_t{submitted} * kStack + i;
        image.flags = dark(image.index) ? FrameRecord::dark : 0U;
        image.completeness = Completeness::complete;
        fill(kept, image.index, image.raw);
        image.sums = changed(image.index) && guarded ? std::span(&wrong, 1) : std::span<const PayloadSum>();
        if (lost(image.index) && guarded) std::memset(image.raw, 0x33, kPixels * pixel_bytes(kept.input));
        if (lost(image.index) && !guarded) image.completeness = Completeness::missing;
      }
      unit->submit(&stack);
    }
    Stack* back = nullptr;
    while ((back = unit->take()) == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
    for (StackImage& image : back->view()) {
      // as a lane refuses what the unit did not prove
      const bool decided = image.decision == Decision::accepted || image.decision == Decision::vetoed;
      if (guarded && decided && !image.proved && lost(image.index)) image.fail(ErrorReason::overwritten);
      if (image.error == ErrorReason::overwritten) all.overwritten.insert(image.index);
      if (image.decision == Decision::accepted || image.decision == Decision::vetoed) {
        all.images.emplace(image.index, bytes_of_image(unit->output(), image));
      }
    }
    keep(unit->output(), back->accumulated, all);
  }
  keep(unit->output(), concluded(*unit), all);
  EXPECT_EQ(unit->error(), "");
  return all;
}

void expect_nothing_of_spoilt_images(const Choice& choice, const Kept& kept) {
  const Outcome truth = run(choice, kept, false);
  const Outcome found = run(choice, kept, true);
  ASSERT_FALSE(truth.images.empty());
  EXPECT_TRUE(truth.images == found.images) << "an image shows what was kept of one that was written over";
  EXPECT_TRUE(truth.windows == found.windows) << "a window holds an image that was written over";
  EXPECT_EQ(truth.added, found.added);
  EXPECT_FALSE(found.overwritten.empty());
  for (const std::uint64_t image : found.overwritten) EXPECT_TRUE(lost(image)) << image;
}

}  // namespace

TEST(Proof, every_kernel_of_the_registry_has_a_pipeline_here) {
  std::set<std::string> tried;
  for (const Kept& kept : pipelines_that_may_keep()) {
    for (const kernel::StepOf& step : kept.steps) tried.insert(step->declaration().name);
  }
  for (const kernel::Kernel* kernel : kernel::kernels()) {
    EXPECT_TRUE(tried.contains(kernel->declaration().name))
        << kernel->declaration().name << ": add a pipeline, one for each way in which it keeps something of images";
  }
}

TEST_P(UnitContract, no_kernel_keeps_anything_of_an_image_that_is_written_over) {
  const Choice& choice = GetParam().choice;
  for (const Kept& kept : pipelines_that_may_keep()) {
    SCOPED_TRACE(kept.name);
    const std::string unit(name_of(choice.kind));
    const auto can = [&](const kernel::StepOf& step) { return step->declaration().runs_on(unit); };
    if (!std::all_of(kept.steps.begin(), kept.steps.end(), can)) continue;
    try {
      expect_nothing_of_spoilt_images(choice, kept);
    } catch (const ConfigError&) {
      if (choice.kind == Kind::cpu) throw;  // another unit may have no version with these parameters
    }
  }
}

}  // namespace rashpa::unit::contract
