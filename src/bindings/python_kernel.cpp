// SPDX-License-Identifier: Apache-2.0
/// Kernels that are Python functions: a thread of their own calls them, with the interpreter's lock, one image after
/// the other.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "bindings.hpp"
#include "kernel.hpp"
#include "names.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/kernel/outside/image_step.hpp"
#include "rashpa/kernel/registry.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using kernel::Declaration;
using kernel::Port;
using kernel::outside::ImageFindings;
using kernel::outside::ImageFunction;

namespace {

using Bits = nb::ndarray<const std::uint64_t, nb::c_contig, nb::device::cpu>;
using Reals = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;
using ColumnFacts = std::tuple<std::string, std::string, std::string, std::string>;        // name, type, unit, doc
using AxisFacts = std::tuple<std::string, std::string, std::string, std::vector<double>>;  // name, unit, doc, bins

/// Set when the interpreter ends: from then on nothing of it may be touched.
std::atomic<bool>& interpreter_ends() {
  static std::atomic<bool> ends{false};
  return ends;
}

/// Calls that are in the interpreter.
std::atomic<int>& calls() {
  static std::atomic<int> count{0};
  return count;
}

struct Call {
  Call() { calls() += 1; }
  ~Call() { calls() -= 1; }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
};

/// A thread that is in the interpreter when that ends would not come back: none begins any more, those that are in it
/// are waited for, as long as a person would.
void end_calls() {
  constexpr auto kPatience = std::chrono::seconds(5);
  interpreter_ends() = true;
  const nb::gil_scoped_release release;
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (calls() > 0 && std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

/// A Python object that may be let go of on any thread.
class Callable {
 public:
  explicit Callable(nb::object object) : object_(std::move(object)) {}
  ~Callable() {
    const Call call;
    if (interpreter_ends()) {
      object_.release();
      return;
    }
    const nb::gil_scoped_acquire lock;
    object_.reset();
  }
  Callable(const Callable&) = delete;
  Callable& operator=(const Callable&) = delete;
  [[nodiscard]] const nb::object& get() const noexcept { return object_; }

 private:
  nb::object object_;
};

/// The thread that calls one function. Threads of the unit give it an image each and wait for the answer; they hold no
/// lock of the interpreter.
class Caller {
 public:
  /// `profile`: values of an image's profile.
  Caller(std::shared_ptr<const Callable> function, const kernel::Setup& setup, std::size_t scalars, std::size_t row,
         std::size_t profile)
      : function_(std::move(function)),
        shape_(setup.shape),
        pixel_(setup.in.type),
        scalars_(scalars),
        row_(row),
        profile_(profile),
        thread_([this] { serve(); }) {}
  ~Caller() {
    {
      const std::lock_guard lock(mutex_);
      ending_ = true;
    }
    changed_.notify_all();
    // The function may be in the middle of an image only when nobody waits for it any more, which the unit rules out.
    thread_.join();
  }
  Caller(const Caller&) = delete;
  Caller& operator=(const Caller&) = delete;

  bool look(const std::byte* pixels, ImageFindings& found, std::string& why) {
    const std::lock_guard turn(turn_);
    std::unique_lock lock(mutex_);
    task_ = Task{pixels, &found, &why};
    changed_.notify_all();
    changed_.wait(lock, [this] { return !task_; });
    return good_;
  }

 private:
  struct Task {
    const std::byte* pixels;
    ImageFindings* found;
    std::string* why;
  };

  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return task_ || ending_; });
      if (!task_) return;
      const Task task = *task_;
      lock.unlock();
      const bool good = call(task);
      lock.lock();
      good_ = good;
      task_.reset();
      changed_.notify_all();
    }
  }

  bool call(const Task& task) noexcept {
    const Call call;
    if (interpreter_ends()) {
      *task.why = "the program ends";
      return false;
    }
    const nb::gil_scoped_acquire gil;
    try {
      take(function_->get()(view(task.pixels)), task);
      return true;
    } catch (nb::python_error& error) {
      *task.why = words_of(error);
    } catch (const std::exception& error) {
      *task.why = error.what();
    }
    return false;
  }

  /// Read only, and of no use after the call.
  [[nodiscard]] nb::object view(const std::byte* pixels) const {
    const auto bits = static_cast<std::uint8_t>(pixel_bytes(pixel_) * 8);
    const auto code = pixel_ == PixelType::f32                               ? nb::dlpack::dtype_code::Float
                      : pixel_ == PixelType::i16 || pixel_ == PixelType::i32 ? nb::dlpack::dtype_code::Int
                                                                             : nb::dlpack::dtype_code::UInt;
    const nb::dlpack::dtype type{static_cast<std::uint8_t>(code), bits, 1};
    const nb::capsule nobody(pixels, [](void*) noexcept {});
    return nb::cast(nb::ndarray<nb::numpy, nb::ro>(pixels, {shape_.height, shape_.width}, nobody, {}, type));
  }

  void take(const nb::object& answer, const Task& task) const {
    const auto [scalars, verdict, rows, profile] = nb::cast<std::tuple<Bits, std::uint32_t, Bits, Reals>>(answer);
    if (scalars.size() != scalars_) throw ConfigError("it gives another number of values than it declares");
    std::transform(scalars.data(), scalars.data() + scalars_, task.found->scalars, Scalar::of_count);
    task.found->verdict = verdict;
    if (profile.size() != profile_) throw ConfigError("its profile has another number of values than it declares");
    std::copy_n(profile.data(), profile_, task.found->profile);
    if (row_ == 0) return;
    if (rows.ndim() != 2 || rows.shape(1) != row_) throw ConfigError("its table has other columns than it declares");
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(rows.shape(0), ~0U));
    task.found->row_count = count;
    if (count == 0 || count > task.found->row_capacity) return;
    std::transform(rows.data(), rows.data() + count * row_, task.found->rows, Scalar::of_count);
  }

  /// An exception of others may raise when it is asked what it says.
  static std::string words_of(const nb::python_error& error) try {
    std::string text = nb::cast<std::string>(nb::str(error.type().attr("__name__")));
    const std::string said = nb::cast<std::string>(nb::str(error.value()));
    if (!said.empty()) text += ": " + said.substr(0, std::min<std::size_t>(said.find('\n'), 300));
    return text;
  } catch (const std::exception&) {
    return "raised what cannot be put into words";
  }

  std::shared_ptr<const Callable> function_;
  kernel::Shape shape_;
  PixelType pixel_;
  std::size_t scalars_;
  std::size_t row_;
  std::size_t profile_;
  std::mutex turn_;  // one image at a time
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Task> task_;
  bool good_ = false;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

class Function final : public ImageFunction {
 public:
  explicit Function(std::shared_ptr<Caller> caller) : caller_(std::move(caller)) {}
  bool look(const std::byte* pixels, ImageFindings& found, std::string& why) noexcept override {
    return caller_->look(pixels, found, why);
  }

 private:
  std::shared_ptr<Caller> caller_;
};

std::vector<Column> columns_of(const std::vector<ColumnFacts>& facts) {
  std::vector<Column> columns;
  for (const auto& [name, type, unit, doc] : facts) {
    Column column{name, Column::Type::f64, unit, doc};
    for (const Column::Type known : {Column::Type::u32, Column::Type::u64, Column::Type::i64}) {
      if (rashpa::name_of(known) == type) column.type = known;
    }
    columns.push_back(std::move(column));
  }
  return columns;
}

ConfiguredKernel python_kernel(const nb::object& function, const std::string& name, const std::string& origin,
                               const std::vector<std::string>& takes, const std::vector<ColumnFacts>& columns,
                               const std::vector<std::string>& reasons, const std::vector<ColumnFacts>& table,
                               std::uint32_t table_rows, const std::vector<ColumnFacts>& profile,
                               const std::vector<AxisFacts>& axes) {
  Declaration declaration{.name = name, .purpose = "a Python function"};
  declaration.origin = origin;
  for (const std::string& type : takes) declaration.takes.pixels.push_back(kPixels.value(type));
  if (!columns.empty()) declaration.makes.push_back({.kind = Port::Kind::scalars, .columns = columns_of(columns)});
  if (!table.empty()) {
    declaration.parameters.push_back({.name = "table_rows",
                                      .least = 1,
                                      .most = kMostTableRows,
                                      .kind = Parameter::Kind::integer,
                                      .standard = std::int64_t{table_rows}});
    declaration.makes.push_back({.kind = Port::Kind::table, .capacity = "table_rows", .columns = columns_of(table)});
  }
  std::vector<Axis> bins;
  for (const auto& [axis, unit, doc, values] : axes) bins.push_back({axis, unit, doc, values});
  std::size_t values = profile.size();
  for (const Axis& axis : bins) values *= axis.values.size();
  if (!profile.empty()) {
    declaration.makes.push_back({.kind = Port::Kind::profile, .columns = columns_of(profile), .axes = bins});
  }
  if (!reasons.empty()) declaration.makes.push_back({.kind = Port::Kind::verdict, .reasons = reasons});
  kernel::outside::check_outside(declaration);
  kernel::check_new_name(declaration);
  declaration.origin += ", slow: one thread";
  const auto callable = std::make_shared<const Callable>(function);
  // All threads of one unit share one caller, which is made with the first of them.
  auto latest = std::make_shared<std::weak_ptr<Caller>>();
  const auto make = [callable, latest, scalars = columns.size(), row = table.size(),
                     values](const kernel::Setup& setup) {
    std::shared_ptr<Caller> caller = latest->lock();
    if (caller == nullptr) *latest = caller = std::make_shared<Caller>(callable, setup, scalars, row, values);
    return std::make_unique<Function>(std::move(caller));
  };
  return {kernel::outside::image_step(std::move(declaration), table.empty() ? 0 : table_rows, make, bins)};
}

}  // namespace

void bind_python_kernel(nb::module_& m) {
  m.def("python_kernel", &python_kernel, "function"_a, "name"_a, "origin"_a, "takes"_a, "columns"_a, "reasons"_a,
        "table"_a, "table_rows"_a, "profile"_a, "axes"_a);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_calls));
}

}  // namespace rashpa::bindings
