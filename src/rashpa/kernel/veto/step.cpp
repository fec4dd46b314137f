// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/contract/plain_kernel.hpp"
#include "rashpa/kernel/veto/rule.hpp"
#include "rashpa/kernel/veto/veto.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/veto/veto_cuda.hpp"
#endif
#ifdef RASHPA_HAVE_OPENCL
#include "rashpa/kernel/contract/opencl_pass.hpp"
#endif

namespace rashpa::kernel::veto {

namespace {

constexpr std::size_t kMostName = 48;
// Devices have room for this number of operations, or for those of the first rule: a rule may get longer while a run
// goes on.
constexpr std::size_t kRoom = 64;

const Parameters<Config>& parameters() {
  static const auto declared =
      Parameters<Config>("kernel veto")
          .add({.name = "keep", .doc = "condition on columns of the steps before it, as n_peaks >= 15", .live = true},
               &Config::keep, Need::needed)
          .add({.name = "reason", .doc = "name of the veto, in reports and files"}, &Config::reason, Need::needed);
  return declared;
}

const Declaration& declared() {
  static const Declaration declaration{
      .name = "veto",
      .purpose = "keeps an image when a rule on the numbers of the steps before it holds",
      .parameters = parameters().declared(),
      .takes = {.kind = Port::Kind::scalars, .by = "keep"},
      .makes = {{.kind = Port::Kind::verdict, .by = "reason"}},
      .several = true,
      .strips = true,
      .units = {"cpu", "opencl", "cuda"}};
  return declaration;
}

template <typename Work>
auto with_key(Work work) {
  try {
    return work();
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("kernel veto: keep: {}", error.what()));
  }
}

void check(const Config& config) {
  with_key([&] { Rule::check(config.keep); });
  const auto lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto allowed = [&](char c) { return lower(c) || (c >= '0' && c <= '9') || c == '_'; };
  const std::string& name = config.reason;
  if (name.empty() || name.size() > kMostName || !lower(name.front()) ||
      !std::all_of(name.begin(), name.end(), allowed) || name == VetoReasons::kFirst[0]) {
    throw ConfigError(
        fmt::format("kernel veto: reason: the name is not allowed; give a small letter and then small letters, digits "
                    "or _, at most "
                    "{}, and not none",
                    kMostName));
  }
}

/// Numbers of images are on the host, where rules look at them. `limits`: the operations of a rule.
void judge(const LimitBytes& limits, Finding& finding) noexcept {
  finding.verdict = holds(reinterpret_cast<const Operation*>(limits.data()), finding.before) ? 0 : 1;
}

class Pass final : public CpuPass, public Limited {
 public:
  explicit Pass(LimitBytes limits) : limits_(std::move(limits)) {}
  void begin(std::size_t /*items*/) noexcept override {}
  void run(unsigned /*worker*/, const Items& /*items*/, std::size_t /*first*/, std::size_t /*last*/) noexcept override {
  }
  void finish(std::size_t /*item*/, Finding& finding) noexcept override { judge(limits_, finding); }
  void adopt(LimitBytes& limits) noexcept override { limits_.swap(limits); }

 private:
  LimitBytes limits_;
};

#ifdef RASHPA_HAVE_OPENCL
class DevicePass final : public opencl::DevicePass, public Limited {
 public:
  explicit DevicePass(LimitBytes limits) : limits_(std::move(limits)) {}
  [[nodiscard]] Where where() const noexcept override { return Where::host; }
  cl_int enqueue(const opencl::DeviceStack& /*stack*/, std::uint32_t /*bench*/,
                 cl_command_queue /*queue*/) const noexcept override {
    return CL_SUCCESS;
  }
  void settle(const opencl::HostItem& /*item*/, Finding& finding) noexcept override { judge(limits_, finding); }
  void adopt(LimitBytes& limits) noexcept override { limits_.swap(limits); }

 private:
  LimitBytes limits_;
};
#endif

class Veto final : public Step, public Adjustable, public ColumnReading, public Splitting {
 public:
  explicit Veto(Config config) : config_(std::move(config)), declaration_(declared()) {
    check(config_);
    declaration_.makes.front().reasons = {config_.reason};
  }
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] PixelFormat fit(const Shape& /*shape*/, PixelFormat in) const override { return in; }
  void fit_columns(std::span<const Column> before) const override {
    with_key([&] { return Rule(config_.keep, before); });
  }
  [[nodiscard]] std::optional<Strip> strip(const Shape& /*whole*/, const Rows& /*rows*/) const override {
    return Strip{step_of(config_)};
  }
  [[nodiscard]] LimitBytes limits(const Setup& setup) const override {
    const Rule rule = with_key([&] { return Rule(config_.keep, setup.before); });
    std::vector<Operation> operations = rule.operations();
    operations.resize(std::max(operations.size(), kRoom), operations.back());
    return limit_bytes(std::span<const Operation>(operations));
  }
  [[nodiscard]] std::shared_ptr<const Step> with(const NamedValues& values) const override {
    return step_of(parameters().read(values));
  }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& setup) const override {
    return std::make_unique<Pass>(limits(setup));
  }
#ifdef RASHPA_HAVE_OPENCL
  [[nodiscard]] std::unique_ptr<opencl::DevicePass> on_opencl(const Setup& setup,
                                                              const memory::opencl::Device& /*device*/) const override {
    return std::make_unique<DevicePass>(limits(setup));
  }
#endif
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<kernel::cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return cuda::make_pass(static_cast<std::uint32_t>(setup.before.size()));
  }
#endif

 private:
  Config config_;
  Declaration declaration_;
};

}  // namespace

std::shared_ptr<const Step> step_of(const Config& config) { return std::make_shared<Veto>(config); }

const Kernel& kernel() noexcept;
const Kernel& kernel() noexcept {
  static const PlainKernel kernel(declared(), parameters());
  return kernel;
}

}  // namespace rashpa::kernel::veto
