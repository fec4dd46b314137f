// SPDX-License-Identifier: Apache-2.0
#include "rashpa/kernel/outside/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <exception>
#include <string_view>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/kernel/outside/image_step.hpp"
#include "rashpa/kernel/outside/rashpa_plugin.h"

namespace rashpa::kernel::outside {

namespace {

constexpr const char* kSymbol = "rashpa_plugin_describe";
constexpr std::size_t kMostRead = 512;  // read of a plugin's text, however long it is
constexpr std::uint32_t kMostOfAKind = 256;

constexpr std::array<std::pair<std::uint32_t, PixelType>, 6> kPixels{{{RASHPA_UINT8, PixelType::u8},
                                                                      {RASHPA_UINT16, PixelType::u16},
                                                                      {RASHPA_UINT32, PixelType::u32},
                                                                      {RASHPA_INT16, PixelType::i16},
                                                                      {RASHPA_INT32, PixelType::i32},
                                                                      {RASHPA_FLOAT32, PixelType::f32}}};
constexpr std::size_t kBytesBeforeProfiles = offsetof(rashpa_plugin, profile_array_count);
static_assert(sizeof(rashpa_plugin_value) == sizeof(Scalar));

std::string text_of(const char* text) { return text == nullptr ? "" : std::string(text, ::strnlen(text, kMostRead)); }

/// The message of a plugin that failed, in one line.
std::string reason_of(const char* text) {
  std::string reason = text_of(text);
  for (char& c : reason) {
    if (c < ' ' || c > '~') c = ' ';
  }
  return reason;
}

/// The object in memory; unloaded with the last step that is made from it.
class Library {
 public:
  Library(const std::filesystem::path& file, std::string origin) : origin_(std::move(origin)) {
    handle_ = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      throw ConfigError(
          fmt::format("{}: cannot be loaded: {}; compile it as a shared object for this machine "
                      "(cc -shared -fPIC)",
                      origin_, reason_of(::dlerror())));
    }
    const auto describe = reinterpret_cast<rashpa_plugin_describe_function>(::dlsym(handle_, kSymbol));
    if (describe == nullptr) {
      close();
      throw ConfigError(
          fmt::format("{}: does not export {}; give a kernel for rashpa (src/rashpa/kernel/outside/rashpa_plugin.h)",
                      origin_, kSymbol));
    }
    try {
      read(describe());
      check();
    } catch (const ConfigError&) {
      close();
      throw;
    } catch (...) {
      close();
      throw ConfigError(fmt::format("{}: {} threw an exception; catch it there", origin_, kSymbol));
    }
  }
  ~Library() { close(); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  [[nodiscard]] const rashpa_plugin& plugin() const noexcept { return plugin_; }
  [[nodiscard]] const std::string& origin() const noexcept { return origin_; }

 private:
  void close() noexcept {
    if (handle_ != nullptr) ::dlclose(handle_);
    handle_ = nullptr;
  }
  void refuse(const std::string& why) const { throw ConfigError(fmt::format("{}: {}", origin_, why)); }
  /// A description of before profiles ends where they begin.
  void read(const rashpa_plugin* plugin) {
    if (plugin == nullptr) refuse(fmt::format("{} returns no description; return one", kSymbol));
    plugin_.abi = plugin->abi;
    plugin_.bytes = plugin->bytes;
    const bool known = plugin->bytes == sizeof(rashpa_plugin) || plugin->bytes == kBytesBeforeProfiles;
    if (plugin->abi == RASHPA_PLUGIN_ABI && known) std::memcpy(&plugin_, plugin, plugin->bytes);
  }
  /// Checks only what is needed to read the rest.
  void check() const {
    if (plugin_.abi != RASHPA_PLUGIN_ABI) {
      refuse(
          fmt::format("is made for version {} of the interface, this program has version {}; compile it with this "
                      "program's rashpa_plugin.h",
                      plugin_.abi, RASHPA_PLUGIN_ABI));
    }
    if (plugin_.bytes != sizeof(rashpa_plugin) && plugin_.bytes != kBytesBeforeProfiles) {
      refuse(fmt::format(
          "says that its description has {} bytes, which are {}; compile it with this program's rashpa_plugin.h",
          plugin_.bytes, sizeof(rashpa_plugin)));
    }
    const auto array = [&](const char* what, std::uint32_t count, const void* first) {
      if (count > kMostOfAKind) refuse(fmt::format("it declares {} {}; declare {} at most", count, what, kMostOfAKind));
      if (count > 0 && first == nullptr)
        refuse(fmt::format("it declares {} {} and has none; set their address", count, what));
    };
    array("parameters", plugin_.parameter_count, plugin_.parameters);
    array("scalars", plugin_.scalar_count, plugin_.scalars);
    array("reasons", plugin_.reason_count, plugin_.reasons);
    array("columns of a table", plugin_.table_column_count, plugin_.table_columns);
    array("arrays of a profile", plugin_.profile_array_count, plugin_.profile_arrays);
    array("axes of a profile", plugin_.profile_axis_count, plugin_.profile_axes);
    if (plugin_.profile_axis_count > 2)
      refuse("its declaration is wrong: its profile has no axis, or more than two; declare one or two");
    const bool complete = plugin_.create != nullptr && plugin_.process != nullptr && plugin_.destroy != nullptr;
    if (!complete) refuse("it lacks one of the functions create, process, destroy; set all three");
  }

  std::string origin_;
  void* handle_ = nullptr;
  rashpa_plugin plugin_{};
};

std::optional<double> bound_of(double value) { return std::isnan(value) ? std::nullopt : std::optional(value); }

ParameterValue value_of(Parameter::Kind kind, const rashpa_plugin_value& value) {
  if (kind == Parameter::Kind::flag) return value.integer != 0;
  if (kind == Parameter::Kind::integer) return value.integer;
  return value.real;
}

rashpa_plugin_value plain(const ParameterValue& value) {
  rashpa_plugin_value out{};
  if (const auto* flag = std::get_if<bool>(&value)) out.integer = *flag ? 1 : 0;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) out.integer = *integer;
  if (const auto* number = std::get_if<double>(&value)) out.real = *number;
  return out;
}

Parameter parameter_of(const Library& library, const rashpa_plugin_parameter& one) {
  constexpr std::array kKinds{Parameter::Kind::flag, Parameter::Kind::integer, Parameter::Kind::number};
  Parameter parameter{
      .name = text_of(one.name), .doc = text_of(one.doc), .least = bound_of(one.least), .most = bound_of(one.most)};
  if (one.kind >= kKinds.size()) {
    throw ConfigError(fmt::format(
        "{}: its declaration is wrong: parameter {} is of an unknown kind {}; choose flag, integer or number",
        library.origin(), reason_of(one.name), one.kind));
  }
  parameter.kind = kKinds[one.kind];
  if (one.needed == 0) parameter.standard = value_of(parameter.kind, one.standard);
  return parameter;
}

std::vector<Column> columns_of(const rashpa_plugin_column* columns, std::uint32_t count) {
  std::vector<Column> all;
  for (std::uint32_t i = 0; i < count; ++i) {
    // a type that is none stays one, for the check
    const auto type = static_cast<Column::Type>(std::min<std::uint32_t>(columns[i].type, 255));
    all.push_back({text_of(columns[i].name), type, text_of(columns[i].unit), text_of(columns[i].doc)});
  }
  return all;
}

/// Returns the axes of the plugin's profile; an axis with more bins than a profile may have gets none.
std::vector<Axis> axes_of(const rashpa_plugin& plugin) {
  std::vector<Axis> axes;
  for (std::uint32_t i = 0; i < plugin.profile_axis_count; ++i) {
    const rashpa_plugin_axis& one = plugin.profile_axes[i];
    axes.push_back({.name = text_of(one.name), .unit = text_of(one.unit), .doc = text_of(one.doc)});
    if (one.values != nullptr && one.bins <= kMostProfileBins) {
      axes.back().values.assign(one.values, one.values + one.bins);
    }
  }
  return axes;
}

Declaration declaration_of(const Library& library) {
  const rashpa_plugin& plugin = library.plugin();
  Declaration declaration;
  declaration.origin = library.origin();
  declaration.name = text_of(plugin.name);
  declaration.purpose = text_of(plugin.purpose);
  for (const auto& [bit, type] : kPixels) {
    if ((plugin.takes & bit) != 0) declaration.takes.pixels.push_back(type);
  }
  for (std::uint32_t i = 0; i < plugin.parameter_count; ++i) {
    declaration.parameters.push_back(parameter_of(library, plugin.parameters[i]));
  }
  if (plugin.scalar_count > 0) {
    declaration.makes.push_back(
        {.kind = Port::Kind::scalars, .columns = columns_of(plugin.scalars, plugin.scalar_count)});
  }
  if (plugin.table_column_count > 0) {
    declaration.makes.push_back({.kind = Port::Kind::table,
                                 .capacity = text_of(plugin.table_rows),
                                 .columns = columns_of(plugin.table_columns, plugin.table_column_count)});
  }
  if (plugin.profile_array_count > 0) {
    Port profile{.kind = Port::Kind::profile, .columns = columns_of(plugin.profile_arrays, plugin.profile_array_count)};
    profile.axes = axes_of(plugin);
    declaration.makes.push_back(std::move(profile));
  }
  if (plugin.reason_count > 0) {
    Port verdict{.kind = Port::Kind::verdict};
    for (std::uint32_t i = 0; i < plugin.reason_count; ++i) verdict.reasons.push_back(text_of(plugin.reasons[i]));
    declaration.makes.push_back(std::move(verdict));
  }
  check_outside(declaration);
  return declaration;
}

/// A state of the plugin, and its calls. An exception of a plugin in C++ ends here.
class Function final : public ImageFunction {
 public:
  Function(std::shared_ptr<const Library> library, const Setup& setup, const std::vector<rashpa_plugin_value>& values,
           std::uint32_t table_rows, PixelCheck check)
      : library_(std::move(library)), width_(setup.shape.width), pixel_bytes_(pixel_bytes(setup.in.type)) {
    if (check == PixelCheck::on) copy_.resize(setup.shape.pixels() * pixel_bytes_);
    rashpa_plugin_setup plain_setup{.width = setup.shape.width,
                                    .height = setup.shape.height,
                                    .pixel = 0,
                                    .row_capacity = table_rows,
                                    .least = 0,
                                    .most = 0,
                                    .parameters = values.data()};
    for (const auto& [bit, type] : kPixels) {
      if (type == setup.in.type) plain_setup.pixel = bit;
    }
    if (setup.in.type != PixelType::f32) {
      plain_setup.least = photon_range(setup.in).least;
      plain_setup.most = photon_range(setup.in).most;
    }
    std::array<char, kMostRead> why{};
    try {
      state_ = library_->plugin().create(&plain_setup, why.data(), why.size());
    } catch (...) {
      throw ConfigError(fmt::format("{}: create threw an exception; return a reason in its place", library_->origin()));
    }
    if (state_ == nullptr) {
      const std::string text = reason_of(why.data());
      throw ConfigError(
          fmt::format("{}: {}", library_->origin(),
                      text.empty() ? "create returned neither a state nor a reason; return one of them" : text));
    }
  }
  ~Function() override {
    try {
      library_->plugin().destroy(state_);
    } catch (...) {  // it is gone all the same
    }
  }
  Function(const Function&) = delete;
  Function& operator=(const Function&) = delete;

  bool look(const std::byte* pixels, ImageFindings& found, std::string& why) noexcept override {
    if (copy_.empty()) return process(pixels, found, why);
    std::copy_n(pixels, copy_.size(), copy_.data());
    if (!process(copy_.data(), found, why)) return false;
    if (std::memcmp(copy_.data(), pixels, copy_.size()) == 0) return true;  // many bytes at a time
    const auto changed = std::mismatch(copy_.begin(), copy_.end(), pixels).first;
    const auto pixel = static_cast<std::size_t>(changed - copy_.begin()) / pixel_bytes_;
    why = fmt::format("it has written on its pixels, which are read only (row {}, column {}); let it work on a copy",
                      pixel / width_, pixel % width_);
    return false;
  }

 private:
  bool process(const std::byte* pixels, ImageFindings& found, std::string& why) noexcept {
    rashpa_plugin_findings findings{.scalars = reinterpret_cast<rashpa_plugin_value*>(found.scalars),
                                    .verdict = 0,
                                    .row_capacity = found.row_capacity,
                                    .rows = reinterpret_cast<rashpa_plugin_value*>(found.rows),
                                    .row_count = 0,
                                    .profile = found.profile};
    try {
      const int code = library_->plugin().process(state_, pixels, &findings);
      found.verdict = findings.verdict;
      found.row_count = findings.row_count;
      if (code == 0) return true;
      if (library_->plugin().last_error != nullptr) why = reason_of(library_->plugin().last_error(state_));
      if (why.empty()) why = fmt::format("process gave {}", code);
    } catch (const std::exception& error) {
      why = "threw: " + reason_of(error.what());
    } catch (...) {
      why = "threw something";
    }
    return false;
  }

  std::shared_ptr<const Library> library_;
  std::size_t width_;
  std::size_t pixel_bytes_;
  std::vector<std::byte> copy_;  // of the image; empty: it is given the image itself
  void* state_ = nullptr;
};

class PluginKernel final : public Kernel {
 public:
  PluginKernel(std::shared_ptr<const Library> library, PixelCheck check)
      : library_(std::move(library)), declaration_(declaration_of(*library_)), check_(check) {}
  [[nodiscard]] const Declaration& declaration() const noexcept override { return declaration_; }
  [[nodiscard]] std::shared_ptr<const Step> make(const NamedValues& values, const Given& /*given*/) const override {
    const std::string owner = "kernel " + declaration_.name;
    const std::vector<Parameter>& parameters = declaration_.parameters;
    const std::vector<const ParameterValue*> given = arrange(owner, parameters, values);
    const Port* table = declaration_.made(Port::Kind::table);
    std::vector<rashpa_plugin_value> plain_values;
    std::uint32_t rows = 0;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      plain_values.push_back(
          plain(given[i] != nullptr ? checked(owner, parameters[i], *given[i]) : *parameters[i].standard));
      if (table != nullptr && parameters[i].name == table->capacity) {
        rows = static_cast<std::uint32_t>(plain_values.back().integer);
      }
    }
    const auto functions = [library = library_, plain_values, rows, check = check_](const Setup& setup) {
      return for_all_threads(setup,
                             [&] { return std::make_unique<Function>(library, setup, plain_values, rows, check); });
    };
    const bool profile = declaration_.made(Port::Kind::profile) != nullptr;
    return image_step(declaration_, rows, functions, profile ? axes_of(library_->plugin()) : std::vector<Axis>{});
  }

 private:
  std::shared_ptr<const Library> library_;
  Declaration declaration_;
  PixelCheck check_;
};

}  // namespace

std::unique_ptr<Kernel> load_plugin(const std::filesystem::path& file, PixelCheck check) {
  const std::string origin = "plugin " + file.filename().string();
  return std::make_unique<PluginKernel>(std::make_shared<const Library>(file, origin), check);
}

}  // namespace rashpa::kernel::outside
