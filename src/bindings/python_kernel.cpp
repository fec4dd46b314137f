// SPDX-License-Identifier: Apache-2.0
/// Kernels that are Python functions: a thread of their own calls them, with the interpreter's lock, one image after
/// the other.
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>

#include "bindings/bindings.hpp"
#include "bindings/kernel.hpp"
#include "bindings/names.hpp"
#include "rashpa/core/error.hpp"
#include "rashpa/kernel/outside/image_step.hpp"
#include "rashpa/kernel/outside/stack_step.hpp"
#include "rashpa/kernel/registry.hpp"

namespace rashpa::bindings {

namespace nb = nanobind;
using namespace nb::literals;
using kernel::Declaration;
using kernel::Port;
using kernel::outside::DeviceNumbers;
using kernel::outside::ImageFindings;
using kernel::outside::ImageFunction;
using kernel::outside::StackFindings;
using kernel::outside::StackFunction;

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

/// An exception of others may raise when it is asked what it says.
std::string words_of(const nb::python_error& error) try {
  std::string text = nb::cast<std::string>(nb::str(error.type().attr("__name__")));
  const std::string said = nb::cast<std::string>(nb::str(error.value()));
  if (!said.empty()) text += ": " + said.substr(0, std::min<std::size_t>(said.find('\n'), 300));
  return text;
} catch (const std::exception&) {
  return "raised what cannot be put into words";
}

nb::dlpack::dtype type_of(PixelType pixel) {
  const auto bits = static_cast<std::uint8_t>(pixel_bytes(pixel) * 8);
  const auto code = pixel == PixelType::f32                              ? nb::dlpack::dtype_code::Float
                    : pixel == PixelType::i16 || pixel == PixelType::i32 ? nb::dlpack::dtype_code::Int
                                                                         : nb::dlpack::dtype_code::UInt;
  return {static_cast<std::uint8_t>(code), bits, 1};
}

/// The thread that calls one function for one unit. Threads of the unit give it an image each and wait for the answer;
/// they hold no lock of the interpreter.
class Caller {
 public:
  /// `turns`: of all units that call the function. `profile`: values of an image's profile.
  Caller(std::shared_ptr<const Callable> function, std::shared_ptr<std::mutex> turns, const kernel::Setup& setup,
         std::size_t scalars, std::size_t row, std::size_t profile)
      : function_(std::move(function)),
        turns_(std::move(turns)),
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
    const std::lock_guard turn(*turns_);
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
      take(function_->get()(copy_of(task.pixels)), task);
      return true;
    } catch (nb::python_error& error) {
      *task.why = words_of(error);
    } catch (const std::exception& error) {
      *task.why = error.what();
    }
    return false;
  }

  /// Read only, and the function's own: it may keep it. The array is used again where nobody has kept it.
  [[nodiscard]] const nb::object& copy_of(const std::byte* pixels) {
    const std::size_t bytes = std::size_t{shape_.height} * shape_.width * pixel_bytes(pixel_);
    if (image_ == nullptr || Py_REFCNT(image_->get().ptr()) > 1) {
      auto room = std::make_unique<std::byte[]>(bytes);  // NOLINT(modernize-avoid-c-arrays): a capsule owns it
      room_ = room.get();
      const nb::capsule owner(room.release(), [](void* memory) noexcept { delete[] static_cast<std::byte*>(memory); });
      image_ = std::make_unique<Callable>(
          nb::cast(nb::ndarray<nb::numpy, nb::ro>(room_, {shape_.height, shape_.width}, owner, {}, type_of(pixel_))));
    }
    std::copy_n(pixels, bytes, room_);
    return image_->get();
  }

  void take(const nb::object& answer, const Task& task) const {
    const auto [scalars, verdict, rows, profile] = nb::cast<std::tuple<Bits, std::uint32_t, Bits, Reals>>(answer);
    if (scalars.size() != scalars_)
      throw ConfigError("it gives another number of values than it declares; return one value for each column");
    std::transform(scalars.data(), scalars.data() + scalars_, task.found->scalars, Scalar::of_count);
    task.found->verdict = verdict;
    if (profile.size() != profile_)
      throw ConfigError("its profile has another number of values than it declares; return one for each bin");
    std::copy_n(profile.data(), profile_, task.found->profile);
    if (row_ == 0) return;
    if (rows.ndim() != 2 || rows.shape(1) != row_)
      throw ConfigError("its table has other columns than it declares; return rows of the declared columns");
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(rows.shape(0), ~0U));
    task.found->row_count = count;
    if (count == 0 || count > task.found->row_capacity) return;
    std::transform(rows.data(), rows.data() + count * row_, task.found->rows, Scalar::of_count);
  }

  std::shared_ptr<const Callable> function_;
  std::shared_ptr<std::mutex> turns_;  // one image at a time
  kernel::Shape shape_;
  PixelType pixel_;
  std::unique_ptr<Callable> image_;  // the array that the function was given last
  std::byte* room_ = nullptr;        // its pixels
  std::size_t scalars_;
  std::size_t row_;
  std::size_t profile_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Task> task_;
  bool good_ = false;
  bool ending_ = false;
  std::thread thread_;  // last: it uses all of the above
};

/// Where an array of the device lies: address, distance of its numbers in bytes, type as NumPy has it; 0: none.
using NumbersFacts = std::tuple<std::uint64_t, std::int64_t, std::string>;

DeviceNumbers::Type type_of(const std::string& name) {
  using Type = DeviceNumbers::Type;
  constexpr std::array kTypes{std::pair{"|i1", Type::i8},  std::pair{"|u1", Type::u8},  std::pair{"<i2", Type::i16},
                              std::pair{"<u2", Type::u16}, std::pair{"<i4", Type::i32}, std::pair{"<u4", Type::u32},
                              std::pair{"<i8", Type::i64}, std::pair{"<u8", Type::u64}, std::pair{"<f4", Type::f32},
                              std::pair{"<f8", Type::f64}, std::pair{"|b1", Type::u8}};
  for (const auto& [known, type] : kTypes) {
    if (name == known) return type;
  }
  throw ConfigError("numbers of type " + name +
                    " are not known here; return whole numbers of 8 to 64 bits, float32 or float64");
}

DeviceNumbers numbers_of(const NumbersFacts& facts) {
  const auto& [address, stride, type] = facts;
  if (address == 0) return {};
  // NOLINTNEXTLINE(performance-no-int-to-ptr): how arrays of others say where they are
  return {reinterpret_cast<const std::byte*>(address), stride, type_of(type)};
}

/// A function that works on stacks on the device: called by the thread that submits them, with the interpreter's lock.
class OnDevice final : public StackFunction {
 public:
  OnDevice(std::shared_ptr<const Callable> function, const kernel::Setup& setup, std::size_t columns)
      : function_(std::move(function)),
        shape_(setup.shape),
        pixel_(setup.in.type),
        columns_(columns),
        kept_(setup.benches) {}

  bool look(const kernel::cuda::DeviceStack& stack, std::uint32_t bench, CUstream_st* stream, StackFindings& found,
            std::string& why) noexcept override {
    const Call call;
    if (interpreter_ends()) {
      why = "the program ends";
      return false;
    }
    const nb::gil_scoped_acquire gil;
    try {
      const nb::object answer = function_->get()(
          images(stack), reinterpret_cast<std::uint64_t>(stack.in), stack.count, shape_.height, shape_.width,
          stack.in_stride, std::string(kPixels.name(pixel_)), reinterpret_cast<std::uint64_t>(stream));
      const auto [columns, verdicts, kept] =
          nb::cast<std::tuple<std::vector<NumbersFacts>, NumbersFacts, nb::object>>(answer);
      if (columns.size() != columns_)
        throw ConfigError("it gives another number of columns than it declares; return one array for each column");
      std::transform(columns.begin(), columns.end(), found.columns.begin(), numbers_of);
      found.verdicts = numbers_of(verdicts);
      // the function's results stay until the stream is through with them
      kept_[bench] = std::make_unique<Callable>(kept);
      return true;
    } catch (nb::python_error& error) {
      why = words_of(error);
    } catch (const std::exception& error) {
      why = error.what();
    }
    return false;
  }

 private:
  /// Returns the images of `stack`, [image][height][width] in memory of the device, for DLPack; the stack keeps that
  /// memory.
  [[nodiscard]] nb::object images(const kernel::cuda::DeviceStack& stack) const {
    const auto bytes = static_cast<std::int64_t>(pixel_bytes(pixel_));
    const auto row = static_cast<std::int64_t>(shape_.width);
    const nb::capsule nobody(stack.in, [](void*) noexcept {});
    return nb::cast(
        nb::ndarray<nb::array_api>(const_cast<std::byte*>(stack.in),  // NOLINT: consumers refuse what is read only
                                   {stack.count, shape_.height, shape_.width}, nobody,
                                   {static_cast<std::int64_t>(stack.in_stride) / bytes, row, 1}, type_of(pixel_),
                                   nb::device::cuda::value, stack.device));
  }

  std::shared_ptr<const Callable> function_;
  kernel::Shape shape_;
  PixelType pixel_;
  std::size_t columns_;
  std::vector<std::unique_ptr<Callable>> kept_;  // by bench
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
                               const std::vector<AxisFacts>& axes, bool on_device) {
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
  bins.reserve(axes.size());
  for (const auto& [axis, unit, doc, values] : axes) bins.push_back({axis, unit, doc, values});
  std::size_t values = profile.size();
  for (const Axis& axis : bins) values *= axis.values.size();
  if (!profile.empty()) {
    declaration.makes.push_back({.kind = Port::Kind::profile, .columns = columns_of(profile), .axes = bins});
  }
  if (!reasons.empty()) declaration.makes.push_back({.kind = Port::Kind::verdict, .reasons = reasons});
  kernel::outside::check_outside(declaration);
  kernel::check_new_name(declaration);
  const auto callable = std::make_shared<const Callable>(function);
  if (on_device) {
    return {kernel::outside::stack_step(std::move(declaration),
                                        [callable, scalars = columns.size()](const kernel::Setup& setup) {
                                          return std::make_unique<OnDevice>(callable, setup, scalars);
                                        })};
  }
  declaration.origin += ", slow: one thread";
  const auto make = [callable, turns = std::make_shared<std::mutex>(), scalars = columns.size(), row = table.size(),
                     values](const kernel::Setup& setup) {
    const auto caller = std::make_shared<Caller>(callable, turns, setup, scalars, row, values);
    return kernel::outside::for_all_threads(setup, [&] { return std::make_unique<Function>(caller); });
  };
  return {kernel::outside::image_step(std::move(declaration), table.empty() ? 0 : table_rows, make, bins)};
}

}  // namespace

void bind_python_kernel(nb::module_& m) {
  m.def("python_kernel", &python_kernel, "function"_a, "name"_a, "origin"_a, "takes"_a, "columns"_a, "reasons"_a,
        "table"_a, "table_rows"_a, "profile"_a, "axes"_a, "on_device"_a);
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_calls));
}

}  // namespace rashpa::bindings
