// SPDX-License-Identifier: Apache-2.0
/// The unit on OpenCL devices: the contract of all units, images in place and copied, and its own features. On a
/// machine without OpenCL the tests are skipped and say why.
#include "rashpa/unit/opencl/opencl_unit.hpp"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/frame/frame_record.hpp"
#include "rashpa/core/testing/testing.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/accumulate/accumulate.hpp"
#include "rashpa/kernel/azimuthal/testing.hpp"
#include "rashpa/kernel/csr/csr.hpp"
#include "rashpa/kernel/jungfrau/testing/synthetic.hpp"
#include "rashpa/kernel/peakfinder8/peakfinder8.hpp"
#include "rashpa/kernel/roi_stats/roi_stats.hpp"
#include "rashpa/kernel/total_counts/total_counts.hpp"
#include "rashpa/kernel/veto/veto.hpp"
#include "rashpa/unit/contract/bench.hpp"
#include "rashpa/unit/contract/pipelines.hpp"
#include "rashpa/unit/dealt/windows_testing.hpp"
#include "rashpa/unit/unit_contract.hpp"

namespace rashpa::unit {
namespace {

using namespace contract;  // NOLINT(google-build-using-namespace): the bench of these tests

/// A device with memory of its own cannot work on images where they are.
std::vector<Transfer> transfers() {
  if (!opencl::available().usable) return {};
  if (!memory::opencl::devices()[0].unified) return {Transfer::copied};
  return {Transfer::in_place, Transfer::copied};
}

std::vector<Contestant> contestants() {
  std::vector<Contestant> all;
  for (const Transfer transfer : transfers()) {
    all.push_back({.name = transfer == Transfer::copied ? "copied" : "in_place",
                   .choice = {.kind = Kind::opencl, .transfer = transfer}});
  }
  if (!all.empty()) all.push_back({.name = "dealt", .choice = {.kind = Kind::opencl, .device = "0,0"}});
  return all;
}

INSTANTIATE_TEST_SUITE_P(Opencl, UnitContract, testing::ValuesIn(contestants()),
                         [](const auto& one) { return one.param.name; });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(UnitContract);

Contestant contestant() { return {.name = "opencl", .choice = {.kind = Kind::opencl}}; }

/// A kernel for OpenCL whose source is wrong, or which fails when it is to run.
class Broken final : public kernel::Step {
 public:
  explicit Broken(bool compiles) : compiles_(compiles) {
    declaration_.takes.pixels = {PixelType::u16};
    declaration_.makes = {{.kind = kernel::Port::Kind::scalars, .columns = {{.name = "nothing"}}}};
    declaration_.units = {"opencl"};
  }
  [[nodiscard]] const kernel::Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] kernel::PixelFormat fit(const kernel::Shape& /*shape*/, kernel::PixelFormat in) const override {
    return in;
  }
  [[nodiscard]] std::unique_ptr<kernel::CpuPass> on_cpu(const kernel::Setup& /*setup*/) const override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<kernel::opencl::DevicePass> on_opencl(
      const kernel::Setup& /*setup*/, const memory::opencl::Device& device) const override {
    if (!compiles_) kernel::opencl::build(device, "broken", {"kernel void f() { no_such_function(); }"}, "");
    return std::make_unique<Pass>();
  }

 private:
  /// The unit's warm-up at each of three benches, and one stack, are well.
  struct Pass final : kernel::opencl::DevicePass {
    cl_int enqueue(const kernel::opencl::DeviceStack& /*stack*/, std::uint32_t /*bench*/,
                   cl_command_queue /*queue*/) const noexcept override {
      return ++calls <= 4 ? CL_SUCCESS : CL_OUT_OF_RESOURCES;
    }
    mutable int calls = 0;
  };
  bool compiles_;
  kernel::Declaration declaration_{.name = "broken", .purpose = "to fail"};
};

/// A gate at which a device waits until it is opened.
class Gate {
 public:
  void shut() noexcept { shut_ = true; }
  void open() noexcept {
    if (event_ != nullptr) function<decltype(&clSetUserEventStatus)>("clSetUserEventStatus")(event_, CL_COMPLETE);
  }
  /// Enqueues as a pass does, behind an event that stays open: later steps wait.
  cl_int enqueue(cl_command_queue queue) noexcept {
    if (!shut_ || event_ != nullptr) return CL_SUCCESS;
    cl_context context = nullptr;
    cl_int code = CL_SUCCESS;
    function<decltype(&clGetCommandQueueInfo)>("clGetCommandQueueInfo")(queue, CL_QUEUE_CONTEXT, sizeof context,
                                                                        static_cast<void*>(&context), nullptr);
    event_ = function<decltype(&clCreateUserEvent)>("clCreateUserEvent")(context, &code);
    if (code != CL_SUCCESS) return code;
    return memory::opencl::api().barrier(queue, 1, &event_, nullptr);
  }

 private:
  /// The library is loaded at run time: here, too.
  template <typename Function>
  static Function function(const char* name) noexcept {
    static void* const library = ::dlopen("libOpenCL.so.1", RTLD_NOW);
    return reinterpret_cast<Function>(::dlsym(library, name));
  }
  std::atomic<bool> shut_{false};
  cl_event event_ = nullptr;
};

/// A kernel for OpenCL that does nothing, and waits at a gate.
class Waiting final : public kernel::Step {
 public:
  explicit Waiting(std::shared_ptr<Gate> gate) : gate_(std::move(gate)) {
    declaration_.takes.pixels = {PixelType::u16};
    declaration_.makes = {{.kind = kernel::Port::Kind::scalars, .columns = {{.name = "nothing"}}}};
    declaration_.units = {"opencl"};
  }
  [[nodiscard]] const kernel::Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] kernel::PixelFormat fit(const kernel::Shape& /*shape*/, kernel::PixelFormat in) const override {
    return in;
  }
  [[nodiscard]] std::unique_ptr<kernel::CpuPass> on_cpu(const kernel::Setup& /*setup*/) const override {
    return nullptr;
  }
  [[nodiscard]] std::unique_ptr<kernel::opencl::DevicePass> on_opencl(
      const kernel::Setup& /*setup*/, const memory::opencl::Device& /*device*/) const override {
    return std::make_unique<Pass>(gate_);
  }

 private:
  struct Pass final : kernel::opencl::DevicePass {
    explicit Pass(std::shared_ptr<Gate> at) : gate(std::move(at)) {}
    cl_int enqueue(const kernel::opencl::DeviceStack& /*stack*/, std::uint32_t /*bench*/,
                   cl_command_queue queue) const noexcept override {
      return gate->enqueue(queue);
    }
    std::shared_ptr<Gate> gate;
  };
  std::shared_ptr<Gate> gate_;
  kernel::Declaration declaration_{.name = "waiting", .purpose = "to wait"};
};

class OpenclUnit : public testing::Test {
 protected:
  void SetUp() override {
    const Available found = opencl::available();
    if (!found.usable) GTEST_SKIP() << "the tests of unit opencl are left out: " << found.what;
  }
  /// The message for a refused pipeline.
  static std::string refusal(const Choice& choice, const Pipeline& pipeline, const Layout& layout) {
    Doorbell bell;
    try {
      make_unit(choice, pipeline, layout, bell);
    } catch (const Error& error) {
      return error.what();
    }
    return "accepted";
  }
  StackRing ring{kWidth, kHeight, 2, 4, memory::MemoryKind::pageable};
};

TEST_F(OpenclUnit, a_device_is_chosen_by_number_or_by_a_part_of_its_name) {
  const memory::opencl::DeviceInfo& first = memory::opencl::devices()[0];
  EXPECT_EQ(&memory::opencl::device_of("0"), &first);
  if (memory::opencl::devices().size() == 1) {
    EXPECT_EQ(&memory::opencl::device_of(first.name.substr(1)), &first);
    EXPECT_EQ(&memory::opencl::device_of(first.platform), &first);
  }
  const Pipeline pipeline = vetoing().pipeline();
  const std::string known = memory::opencl::devices_text();
  EXPECT_EQ(refusal({.kind = Kind::opencl, .device = "1000"}, pipeline, ring.layout),
            "unit: there is no OpenCL device 1000; choose one of " + known);
  EXPECT_EQ(refusal({.kind = Kind::opencl, .device = "no such device"}, pipeline, ring.layout),
            "unit: no OpenCL device has 'no such device' in its name; choose one of " + known);
  EXPECT_NE(refusal({.kind = Kind::opencl, .trigger = Trigger::graph}, pipeline, ring.layout).find("unit cuda"),
            std::string::npos);
}

TEST_F(OpenclUnit, how_it_works_is_said) {
  Doorbell bell;
  const auto unit = make_unit(contestant().choice, vetoing().pipeline(), ring.layout, bell);
  EXPECT_NE(unit->how().find(memory::opencl::devices()[0].name), std::string::npos);
  EXPECT_NE(unit->how().find("jungfrau, bragg_count (counted on the way)"), std::string::npos) << unit->how();
}

TEST_F(OpenclUnit, images_stay_where_they_are_only_where_device_and_host_share_memory) {
  const memory::opencl::DeviceInfo& device = memory::opencl::devices()[0];
  EXPECT_EQ(refusal({.kind = Kind::opencl, .transfer = Transfer::in_place}, {}, ring.layout),
            device.unified ? "accepted"
                           : "unit: " + device.name + " cannot work on the images where they are; let them be copied");
}

TEST_F(OpenclUnit, what_the_devices_compiler_says_is_said) {
  const Pipeline pipeline{{kernel::StepOf(std::make_shared<Broken>(false))}};
  const std::string said = refusal(contestant().choice, pipeline, ring.layout);
  EXPECT_NE(said.find("kernel broken does not compile for"), std::string::npos) << said;
  EXPECT_NE(said.find("no_such_function"), std::string::npos) << said;
}

TEST_F(OpenclUnit, a_device_that_fails_ends_the_unit_and_every_stack_comes_back) {
  Doorbell bell;
  const Pipeline pipeline{{kernel::StepOf(std::make_shared<Broken>(true))}};
  const auto unit = make_unit(contestant().choice, pipeline, ring.layout, bell);
  std::size_t accepted = 0;
  for (int round = 0; round < 3; ++round) {
    for (Stack& stack : ring.all) unit->submit(&stack);
    for (Stack& stack : ring.all) {
      Stack* back = nullptr;
      while ((back = unit->take()) == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
      ASSERT_EQ(back, &stack);
      for (const StackImage& image : stack.view()) {
        accepted += image.decision == Decision::accepted ? 1 : 0;
        EXPECT_TRUE(image.decision == Decision::accepted || image.decision == Decision::errored);
      }
    }
  }
  EXPECT_EQ(accepted, 2U) << "the first stack";
  EXPECT_NE(unit->error().find("CL_OUT_OF_RESOURCES"), std::string::npos) << unit->error();
}

TEST_F(OpenclUnit, a_kernel_that_does_not_come_to_its_end_is_named_with_its_image_and_since_when) {
  Doorbell bell;
  const auto gate = std::make_shared<Gate>();
  const Pipeline pipeline{{kernel::StepOf(std::make_shared<Waiting>(gate))}};
  const auto unit = make_unit(contestant().choice, pipeline, ring.layout, bell);
  EXPECT_FALSE(unit->busy());
  ring.all[0].images[0].index = 70;
  ring.all[0].images[0].frame_number = 210;
  gate->shut();
  const std::int64_t before = now_ns();
  unit->submit(&ring.all[0]);
  ASSERT_EVENTUALLY(unit->busy().has_value());
  const Busy busy = unit->busy().value();
  EXPECT_EQ(busy.kernel, "waiting");
  EXPECT_EQ(busy.image, 70U);
  EXPECT_EQ(busy.frame, 210U);
  EXPECT_GE(busy.since_ns, before);
  gate->open();
  ASSERT_EVENTUALLY(unit->take() != nullptr);
  EXPECT_FALSE(unit->busy());
}

TEST_F(OpenclUnit, stopped_in_any_state_it_ends_and_gives_everything_back) {
  for (int round = 0; round < 20; ++round) {
    Doorbell bell;
    const auto unit = make_unit(contestant().choice, vetoing().pipeline(), ring.layout, bell);
    const auto submitted = static_cast<std::size_t>(round % 5);
    for (std::size_t s = 0; s < submitted; ++s) unit->submit(&ring.all[s]);
    const auto start = std::chrono::steady_clock::now();
    unit->stop();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(10));
    std::size_t back = 0;
    while (unit->take() != nullptr) ++back;
    EXPECT_EQ(back, submitted);
    EXPECT_EQ(unit->error(), "");
  }
}

TEST_F(OpenclUnit, without_kernels_raw_images_are_passed_on) {
  for (const Transfer transfer : transfers()) {
    Doorbell bell;
    const auto unit = make_unit({.kind = Kind::opencl, .transfer = transfer}, {}, ring.layout, bell);
    for (Stack& stack : ring.all) unit->submit(&stack);
    for (Stack& stack : ring.all) {
      while (unit->take() == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
      for (const StackImage& image : stack.view()) {
        EXPECT_EQ(image.decision, Decision::accepted);
        EXPECT_EQ(image.pixels, image.raw);
      }
    }
  }
}

TEST_F(OpenclUnit, a_sum_of_counts_decides_as_on_processors) {
  Recipe recipe = vetoing(0);
  const Pipeline pipeline{{recipe.conversion.value(), kernel::total_counts::Config{2000, 1'000'000, 0.5}}};
  StackRing truth(kWidth, kHeight, 2, 4, memory::MemoryKind::pageable);
  Doorbell bell;
  const auto device = make_unit(contestant().choice, pipeline, ring.layout, bell);
  const auto cpu = make_unit({}, pipeline, truth.layout, bell);
  std::uint64_t number = 0;
  std::size_t accepted = 0;
  for (std::size_t s = 0; s < ring.all.size(); ++s) {
    for (std::size_t i = 0; i < 2; ++i) {
      const auto frame = jungfrau::synthetic::frame(*recipe.conversion, number % 2 == 0 ? 0.03 : 0.0, number);
      std::memcpy(ring.all[s].images[i].raw, frame.data(), kPixels * 2);
      std::memcpy(truth.all[s].images[i].raw, frame.data(), kPixels * 2);
      ++number;
    }
    for (const auto& [unit, stack] : {std::pair{device.get(), &ring.all[s]}, std::pair{cpu.get(), &truth.all[s]}}) {
      unit->submit(stack);
      while (unit->take() == nullptr) bell.wait(bell.count(), std::chrono::milliseconds(1));
    }
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(ring.all[s].images[i].decision, truth.all[s].images[i].decision);
      EXPECT_EQ(ring.all[s].images[i].reason, truth.all[s].images[i].reason);
      EXPECT_EQ(ring.all[s].images[i].scalars, truth.all[s].images[i].scalars);
      accepted += truth.all[s].images[i].decision == Decision::accepted ? 1 : 0;
    }
  }
  EXPECT_TRUE(accepted > 0 && accepted < number) << accepted;
}

/// A pipeline on a device against unit cpu, images in place and copied.
class OpenclPipelines : public OpenclUnit, protected Pipelines {
 protected:
  static void expect_as_cpu(const Pipeline& pipeline, const jungfrau::Config& calibration, std::size_t accepted) {
    const Outcome truth = run({}, pipeline, calibration);
    EXPECT_EQ(accepted_of(truth), accepted);
    for (const Transfer transfer : transfers()) {
      expect_same(run({.kind = Kind::opencl, .transfer = transfer}, pipeline, calibration), truth);
    }
  }
  /// The check `expect` of every choice.
  template <typename Expect>
  static void of_every_choice(Expect expect) {
    for (const Transfer transfer : transfers()) expect(Choice{.kind = Kind::opencl, .transfer = transfer});
  }
};

TEST_F(OpenclPipelines, verdicts_of_the_host_are_known_to_what_follows_on_the_device) {
  const jungfrau::Config calibration = contract::calibration(jungfrau::Output::photons);
  kernel::peakfinder8::Config peaks{.threshold = 2, .min_snr = 3, .min_pixels = 1, .beam_x = 60, .beam_y = 50};
  const Pipeline pipeline{{calibration, bragg_count::Config{1, 100, 1'000'000}, peaks,
                           kernel::veto::Config{"n_peaks >= 1", "no_peaks"}, kernel::accumulate::Config{.window = 8}}};
  const Outcome truth = run({}, pipeline, calibration);
  const auto kept = std::count_if(truth.images.begin(), truth.images.end(),
                                  [](const StackImage& one) { return one.decision == Decision::accepted; });
  EXPECT_EQ(truth.windows.size(), 3U);
  expect_as_cpu(pipeline, calibration, static_cast<std::size_t>(kept));
}

TEST_F(OpenclPipelines, windows_end_when_every_image_is_refused) {
  const jungfrau::Config calibration = contract::calibration(jungfrau::Output::photons);
  const Pipeline pipeline{{calibration, kernel::roi_stats::Config{"all=0,0,129,101"},
                           kernel::veto::Config{"all_sum > 1000000000", "dim"},
                           kernel::accumulate::Config{.window = 4}}};
  expect_as_cpu(pipeline, calibration, 0);
}

TEST_F(OpenclPipelines, windows_of_a_device_named_twice_are_those_of_processors) {
  namespace sums = windows_testing;
  using kernel::accumulate::Config;
  const sums::Make twice = [](const Pipeline& pipeline, const Layout& layout, Doorbell& bell) {
    auto unit = make_unit({.kind = Kind::opencl, .device = "0,0"}, pipeline, layout, bell);
    EXPECT_NE(unit->how().find("; sums joined on the host"), std::string::npos) << unit->how();
    return unit;
  };
  const kernel::total_counts::Config some{.max_counts = 95'000};
  for (const std::int64_t window : {0, 4, 12}) {
    SCOPED_TRACE(window);
    sums::expect_as_one(twice, {{some, Config{.variance = true, .window = window}}}, 38);
  }
  sums::expect_as_one(twice, {{Config{.window = 16}}}, 38, 1e-12, PixelType::f32);
  kernel::azimuthal::Config rings = kernel::azimuthal::test_rings({sums::kWidth, sums::kHeight}, 20,
                                                                  kernel::azimuthal::Errors::poisson, false, false);
  rings.added = kernel::azimuthal::Added::accepted;
  rings.window = 8;
  sums::expect_as_one(twice, {{some, rings, Config{.window = 12}}}, 38, 1e-12);
}

TEST_F(OpenclPipelines, pedestals_follow_as_on_processors) { of_every_choice(expect_pedestals_to_follow); }
TEST_F(OpenclPipelines, pedestals_of_cells_follow_as_on_processors) {
  of_every_choice(expect_pedestals_of_cells_to_follow);
}

TEST_F(OpenclPipelines, storage_cells_have_their_pedestals_as_on_processors) {
  of_every_choice(expect_cells_to_have_their_pedestals);
}

TEST_F(OpenclPipelines, dark_images_are_learned_from_whatever_steps_before_say_of_them) {
  of_every_choice(expect_darks_to_be_learned_from);
}

TEST_F(OpenclPipelines, a_rule_on_the_drift_and_windows_are_as_on_processors) {
  of_every_choice(expect_rules_on_the_drift);
}

TEST(OpenclLibrary, a_missing_library_is_refused_with_its_name_and_what_to_try) {
  try {
    memory::opencl::load_api("libOpenCL-that-is-not-there.so.1");
    FAIL();
  } catch (const ResourceError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("libOpenCL-that-is-not-there.so.1"), std::string::npos) << text;
    EXPECT_NE(text.find("pocl-opencl-icd"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace rashpa::unit
