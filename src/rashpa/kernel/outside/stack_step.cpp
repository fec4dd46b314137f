// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/outside/stack_step.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/time/clock.hpp"
#include "rashpa/kernel/outside/image_step.hpp"
#ifdef RASHPA_HAVE_CUDA
#include "rashpa/kernel/outside/settle_numbers.hpp"
#include "rashpa/memory/cuda/resources.hpp"
#endif

namespace rashpa::kernel::outside {

namespace {

#ifdef RASHPA_HAVE_CUDA
using memory::cuda::check;
using memory::cuda::DeviceMemory;
using memory::cuda::Stream;

constexpr std::size_t kAlignment = 128;  // from one image to the next

class Pass final : public cuda::DevicePass {
 public:
  Pass(const Declaration& declaration, std::unique_ptr<StackFunction> function, const Setup& setup)
      : name_(declaration.name), function_(std::move(function)), found_(setup.benches) {
    if (const Port* scalars = declaration.made(Port::Kind::scalars)) {
      for (const Column& column : scalars->columns) numbers_.types[numbers_.count++] = column.type;
    }
    if (const Port* verdict = declaration.made(Port::Kind::verdict)) {
      numbers_.reasons = static_cast<std::uint32_t>(verdict->reasons.size());
    }
    for (StackFindings& one : found_) one.columns.resize(numbers_.count);
    warm_up(setup);
  }

  int enqueue(const cuda::DeviceStack& stack, std::uint32_t bench, CUstream_st* stream) const noexcept override {
    StackFindings& found = found_[bench];
    std::string why;
    if (!function_->look(stack, bench, stream, found, why)) {
      note(why);
      return fail_stack(stack, stream);
    }
    NumbersOfStack numbers = numbers_;
    std::copy_n(found.columns.begin(), numbers.count, numbers.columns.begin());
    numbers.verdicts = found.verdicts;
    return settle_numbers(stack, numbers, stream);
  }

  [[nodiscard]] std::string words() const override { return words_; }
  [[nodiscard]] std::string failure() const override {
    const std::lock_guard lock(mutex_);
    if (!why_.empty()) return why_;
    return fmt::format("kernel {}: a number does not fit its column, or its verdict is none of its {} reasons", name_,
                       numbers_.reasons);
  }

 private:
  /// Calls it with images of zeros, twice: so it compiles its kernels before the run, and its failures are known then.
  /// Throws ConfigError when it fails.
  void warm_up(const Setup& setup) {
    const std::size_t stride =
        (setup.shape.pixels() * pixel_bytes(setup.in.type) + kAlignment - 1) / kAlignment * kAlignment;
    const DeviceMemory images(setup.stack * stride);
    const Stream stream;
    int device = 0;
    check(cudaGetDevice(&device), "which device is current");
    cuda::DeviceStack stack{};
    stack.in = images.as<std::byte>();
    stack.in_stride = stride;
    stack.count = setup.stack;
    stack.device = device;
    std::int64_t host = 0;
    std::int64_t all = 0;
    for (int call = 0; call < 2; ++call) {
      std::string why;
      const std::int64_t begin = now_ns();
      const bool good = function_->look(stack, 0, stream.get(), found_[0], why);
      host = now_ns() - begin;
      if (!good)
        throw ConfigError(fmt::format(
            "kernel {}: it fails with images of zeros: {}; correct it for images without signal", name_, why));
      check(cudaStreamSynchronize(stream.get()), name_ + " with images of zeros");
      all = now_ns() - begin;
    }
    words_ = fmt::format("{} took {:.3f} ms for a stack of zeros, of the host {:.3f}", name_,
                         static_cast<double>(all) * 1e-6, static_cast<double>(host) * 1e-6);
  }

  /// Takes a lock, and only for images that are lost anyway.
  void note(const std::string& why) const noexcept {
    const std::lock_guard lock(mutex_);
    if (why_.empty()) why_ = fmt::format("kernel {}: {}", name_, why.empty() ? "it failed and does not say why" : why);
  }

  std::string name_;
  NumbersOfStack numbers_;
  std::unique_ptr<StackFunction> function_;
  mutable std::vector<StackFindings> found_;  // by bench
  mutable std::mutex mutex_;
  mutable std::string why_;
  std::string words_;
};
#endif

class StackStep final : public Step, public EnqueuedEachTime {
 public:
  StackStep(Declaration declaration, MakeStackFunction make)
      : declaration_(std::move(declaration)), make_(std::move(make)) {}
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] PixelFormat fit(const Shape& /*shape*/, PixelFormat in) const override { return in; }
  [[nodiscard]] std::unique_ptr<CpuPass> on_cpu(const Setup& /*setup*/) const override { return nullptr; }
#ifdef RASHPA_HAVE_CUDA
  [[nodiscard]] std::unique_ptr<cuda::DevicePass> on_cuda(const Setup& setup) const override {
    return std::make_unique<Pass>(declaration_, make_(setup), setup);
  }
#endif

 private:
  Declaration declaration_;
  MakeStackFunction make_;
};

}  // namespace

std::shared_ptr<const Step> stack_step(Declaration declaration, MakeStackFunction make) {
  declaration.units = {"cuda"};
  check_outside(declaration);
  if (declaration.made(Port::Kind::table) != nullptr || declaration.made(Port::Kind::profile) != nullptr) {
    throw ConfigError(
        fmt::format("{}: a function on a device makes neither tables nor profiles; declare columns and a verdict",
                    declaration.origin));
  }
  return std::make_shared<StackStep>(std::move(declaration), std::move(make));
}

}  // namespace rashpa::kernel::outside
