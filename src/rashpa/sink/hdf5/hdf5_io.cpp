// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/hdf5/hdf5_io.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string_view>
#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/refusal.hpp"

namespace rashpa::sink::h5 {
namespace {

// A file that the library could not close stays in its tables with its memory freed, and the library's work at the end
// of the process would touch that memory. Our files are closed before, or left as a killed process leaves them.
[[maybe_unused]] const herr_t kNoWorkAtExit = H5dont_atexit();

/// Keeps the first (innermost) message; HDF5 hands over its error stack entry by entry.
herr_t keep_innermost(unsigned n, const H5E_error2_t* entry, void* out) {
  if (n == 0 && entry->desc != nullptr) *static_cast<std::string*>(out) = entry->desc;
  return 0;
}

/// Returns the innermost reason that the library gives for its last error on this thread.
std::string innermost() {
  std::string reason = "no reason given";
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_innermost, &reason);
  return reason;
}

/// UTF-8 of any length: NeXus asks for it, and its validators read it. Strings of a fixed length are none of theirs.
Handle text_type() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose, "copy a string type");
  check(H5Tset_size(type.get(), H5T_VARIABLE), "set a string size");
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), "set the character set");
  return type;
}

Handle space_of(std::span<const hsize_t> shape) {
  return {H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose, "create a data space"};
}

/// Asked before HDF5 opens the file that a link names.
herr_t refuse_link(const char* /*parent*/, const char* /*group*/, const char* file, const char* /*object*/,
                   unsigned* /*flags*/, hid_t /*access*/, void* /*data*/) {
  H5Epush2(H5E_DEFAULT, __FILE__, __func__, __LINE__, H5E_ERR_CLS, H5E_LINK, H5E_TRAVERSE, "it is a link into %s",
           file);
  return -1;
}

Handle inside(hid_t kind) {
  Handle access(H5Pcreate(kind), H5Pclose, "create access properties");
  check(H5Pset_elink_cb(access.get(), refuse_link, nullptr), "refuse links into other files");
  return access;
}

std::vector<const char*> pointers(std::span<const std::string> values) {
  std::vector<const char*> out;
  out.reserve(values.size());
  for (const std::string& value : values) out.push_back(value.c_str());
  return out;
}

}  // namespace

Handle::Handle(hid_t id, Close closer, std::string_view what, std::string_view name) : id_(id), close_(closer) {
  if (id < 0) fail(what, name);
}
Handle::Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
Handle& Handle::operator=(Handle&& other) noexcept {
  if (this != &other) {
    close();
    id_ = std::exchange(other.id_, -1);
    close_ = other.close_;
  }
  return *this;
}
bool Handle::close() noexcept { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

void need_locks() {
  hbool_t safe = false;
  if (H5is_library_threadsafe(&safe) >= 0 && safe) return;
  throw ResourceError(
      "hdf5: this library was built without thread safety, which several sinks need; link one that has it");
}

void silence() {
  thread_local bool silent = false;
  if (!silent) H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
  silent = true;
}

void check(herr_t status, std::string_view what, std::string_view name) {
  if (status < 0) fail(what, name);
}

void fail(std::string_view what, std::string_view name) {
  const std::string text = failure(what, name);
  if (was_refused()) throw RefusedError(text);
  throw FileError(text);
}

bool was_refused() {
  constexpr std::string_view kKey = "errno = ";
  const std::string reason = innermost();
  const std::size_t at = reason.find(kKey);
  if (at == std::string::npos) return false;
  int code = 0;
  const char* const from = reason.data() + at + kKey.size();
  return std::from_chars(from, reason.data() + reason.size(), code).ec == std::errc() && is_refusal(code);
}

std::string failure(std::string_view what, std::string_view name) {
  std::string reason = innermost();
  const char* advice = "check that the file is whole";
  // System errors come as "…, error message = 'No space left on device', …": a reader needs the words in quotes.
  constexpr std::string_view kKey = "error message = '";
  if (const auto at = reason.find(kKey); at != std::string::npos) {
    const auto from = at + kKey.size();
    reason = reason.substr(from, reason.find('\'', from) - from);
    advice = "check the space, the permissions and the disk there";
  }
  return fmt::format("hdf5: cannot {}{}: {}; {}", what, name, reason, advice);
}

// clang-format off
template <> hid_t native<std::uint8_t>() { return H5T_NATIVE_UINT8; }
template <> hid_t native<std::uint16_t>() { return H5T_NATIVE_UINT16; }
template <> hid_t native<std::uint32_t>() { return H5T_NATIVE_UINT32; }
template <> hid_t native<std::uint64_t>() { return H5T_NATIVE_UINT64; }
template <> hid_t native<std::int16_t>() { return H5T_NATIVE_INT16; }
template <> hid_t native<std::int32_t>() { return H5T_NATIVE_INT32; }
template <> hid_t native<std::int64_t>() { return H5T_NATIVE_INT64; }
template <> hid_t native<float>() { return H5T_NATIVE_FLOAT; }
template <> hid_t native<double>() { return H5T_NATIVE_DOUBLE; }
// clang-format on

Handle open_group(hid_t parent, const std::string& path) {
  const Handle access = inside(H5P_GROUP_ACCESS);
  return {H5Gopen2(parent, path.c_str(), access.get()), H5Gclose, "open ", path};
}

Handle open_dataset(hid_t parent, const std::string& path) {
  const Handle access = inside(H5P_DATASET_ACCESS);
  Handle set(H5Dopen2(parent, path.c_str(), access.get()), H5Dclose, "open ", path);
  const Handle properties(H5Dget_create_plist(set.get()), H5Pclose, "look at ", path);
  if (H5Pget_layout(properties.get()) == H5D_VIRTUAL || H5Pget_external_count(properties.get()) != 0) {
    throw FileError("hdf5: cannot open " + path + ": its values lie in other files; copy them into this one");
  }
  return set;
}

Handle space_of_axes(hid_t dataset, int axes) {
  Handle space(H5Dget_space(dataset), H5Sclose, "look at a dataset");
  if (const int found = H5Sget_simple_extent_ndims(space.get()); found != axes) {
    throw FileError("hdf5: a dataset has " + std::to_string(found) + " axes; give one of " + std::to_string(axes));
  }
  return space;
}

Handle writing_access() {
  Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "create file properties");
  check(H5Pset_sieve_buf_size(access.get(), 0), "switch the buffer of datasets off");
  return access;
}

Handle open_object(hid_t parent, const std::string& path) {
  const Handle access = inside(H5P_LINK_ACCESS);
  return {H5Oopen(parent, path.c_str(), access.get()), H5Oclose, "open ", path};
}

Handle group(hid_t parent, const std::string& name, std::string_view nx_class) {
  const Handle access = inside(H5P_GROUP_ACCESS);
  Handle out(H5Gcreate2(parent, name.c_str(), H5P_DEFAULT, H5P_DEFAULT, access.get()), H5Gclose, "create group ", name);
  if (!nx_class.empty()) text_attribute(out.get(), "NX_class", nx_class);
  return out;
}

void text(hid_t parent, const std::string& name, std::string_view value) {
  const Handle type = text_type();
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "create a data space");
  const Handle set(H5Dcreate2(parent, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                   H5Dclose, "create ", name);
  const std::string copy(value);
  const char* const bytes = copy.c_str();
  check(H5Dwrite(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &bytes), "write ", name);
}

void text_attribute(hid_t object, const std::string& name, std::string_view value) {
  const Handle type = text_type();
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "create a data space");
  const Handle out(H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                   "create attribute ", name);
  const std::string copy(value);
  const char* const bytes = copy.c_str();
  check(H5Awrite(out.get(), type.get(), &bytes), "write attribute ", name);
}

std::string read_text_attribute(hid_t parent, const std::string& object, const std::string& name) {
  const Handle of = open_object(parent, object);
  if (H5Aexists(of.get(), name.c_str()) <= 0) return {};
  const Handle from(H5Aopen(of.get(), name.c_str(), H5P_DEFAULT), H5Aclose, "open attribute ", name);
  const Handle stored(H5Aget_type(from.get()), H5Tclose, "look at attribute ", name);
  if (H5Tis_variable_str(stored.get()) <= 0) return {};
  const Handle type = text_type();
  char* bytes = nullptr;
  check(H5Aread(from.get(), type.get(), &bytes), "read attribute ", name);
  std::string value(bytes != nullptr ? bytes : "");
  H5free_memory(bytes);
  return value;
}

std::string read_text(hid_t parent, const std::string& name) {
  if (H5Lexists(parent, name.c_str(), H5P_DEFAULT) <= 0) return {};
  const Handle from = open_dataset(parent, name);
  const Handle stored(H5Dget_type(from.get()), H5Tclose, "look at ", name);
  const Handle space(H5Dget_space(from.get()), H5Sclose, "look at ", name);
  if (H5Tis_variable_str(stored.get()) <= 0 || H5Sget_simple_extent_npoints(space.get()) != 1) return {};
  const Handle type = text_type();
  char* bytes = nullptr;
  check(H5Dread(from.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &bytes), "read ", name);
  std::string value(bytes != nullptr ? bytes : "");
  H5free_memory(bytes);
  return value;
}

void texts_attribute(hid_t object, const std::string& name, std::span<const std::string> values) {
  if (values.empty()) return;
  const Handle type = text_type();
  const hsize_t size = values.size();
  const Handle space = space_of({&size, 1});
  const Handle out(H5Acreate2(object, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                   "create attribute ", name);
  check(H5Awrite(out.get(), type.get(), pointers(values).data()), "write attribute ", name);
}

void texts(hid_t parent, const std::string& name, std::span<const std::string> values) {
  const Handle type = text_type();
  const hsize_t size = values.size();
  const Handle space = space_of({&size, 1});
  const Handle set(H5Dcreate2(parent, name.c_str(), type.get(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
                   H5Dclose, "create ", name);
  if (!values.empty()) {
    check(H5Dwrite(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers(values).data()), "write ", name);
  }
}

template <typename T>
void attribute(hid_t object, const std::string& name, std::span<const T> values) {
  const hsize_t size = values.size();
  const Handle space =
      size == 1 ? Handle(H5Screate(H5S_SCALAR), H5Sclose, "create a data space") : space_of({&size, 1});
  const Handle out(H5Acreate2(object, name.c_str(), native<T>(), space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose,
                   "create attribute ", name);
  check(H5Awrite(out.get(), native<T>(), values.data()), "write attribute ", name);
}

template <typename T>
Handle scalar(hid_t parent, const std::string& name, T value, std::string_view units) {
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "create a data space");
  Handle set(H5Dcreate2(parent, name.c_str(), native<T>(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
             H5Dclose, "create ", name);
  check(H5Dwrite(set.get(), native<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, &value), "write ", name);
  if (!units.empty()) text_attribute(set.get(), "units", units);
  return set;
}

template <typename T>
Handle array(hid_t parent, const std::string& name, std::span<const T> values, std::initializer_list<hsize_t> shape) {
  const std::vector<hsize_t> dimensions =
      shape.size() != 0 ? std::vector<hsize_t>(shape) : std::vector<hsize_t>{values.size()};
  const Handle space = space_of(dimensions);
  Handle set(H5Dcreate2(parent, name.c_str(), native<T>(), space.get(), H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT),
             H5Dclose, "create ", name);
  if (!values.empty()) {
    check(H5Dwrite(set.get(), native<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "write ", name);
  }
  return set;
}

#define RASHPA_H5_TYPE(T)                                                    \
  template void attribute<T>(hid_t, const std::string&, std::span<const T>); \
  template Handle scalar<T>(hid_t, const std::string&, T, std::string_view); \
  template Handle array<T>(hid_t, const std::string&, std::span<const T>, std::initializer_list<hsize_t>);
RASHPA_H5_TYPE(std::uint8_t)
RASHPA_H5_TYPE(std::uint32_t)
RASHPA_H5_TYPE(std::uint64_t)
RASHPA_H5_TYPE(std::int32_t)
RASHPA_H5_TYPE(std::int64_t)
RASHPA_H5_TYPE(double)
#undef RASHPA_H5_TYPE

}  // namespace rashpa::sink::h5
