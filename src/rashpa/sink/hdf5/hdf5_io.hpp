// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The HDF5 C API with owners, errors as exceptions, and the few kinds of objects that our files need. Private to this
/// folder: only .cpp files include it.
#include <hdf5.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rashpa::sink::h5 {

/// The owner of one identifier of the library.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  /// Takes `id`. Throws FileError "hdf5: cannot <what><name>: <the library's reason>" when it is negative, or
  /// RefusedError when the system refused. The text has two parts because a caller that joins them may run out of
  /// memory before `id` has an owner.
  Handle(hid_t id, Close closer, std::string_view what, std::string_view name = {});
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close(); }

  [[nodiscard]] hid_t get() const noexcept { return id_; }
  [[nodiscard]] bool valid() const noexcept { return id_ >= 0; }
  /// Closes the object; returns false when the library could not write its remaining data.
  bool close() noexcept;

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Switches off the library's own error output on this thread, to which its error stack belongs.
void silence();
/// Throws ResourceError when the library was built without locks, since several threads of a receiver use it at once.
void need_locks();
/// Throws FileError when `status` is negative, as Handle does.
void check(herr_t status, std::string_view what, std::string_view name = {});
/// Throws as Handle does.
[[noreturn]] void fail(std::string_view what, std::string_view name = {});
/// Returns true when the last error of the library on this thread is a refusal by the system.
bool was_refused();
/// Returns the last error of the library on this thread as text: "hdf5: cannot <what><name>: <its innermost reason>;
/// <advice>".
std::string failure(std::string_view what, std::string_view name = {});

template <typename T>
hid_t native();

/// Opens a group; open_dataset() opens a dataset, open_object() either. A file is untrusted and will be written: links
/// into other files are refused, and so are datasets with values there. Throws FileError as Handle does.
Handle open_group(hid_t parent, const std::string& path);
Handle open_dataset(hid_t parent, const std::string& path);
Handle open_object(hid_t parent, const std::string& path);
/// Returns the data space of a dataset with `axes` axes. Throws FileError when the dataset has another number of them.
Handle space_of_axes(hid_t dataset, int axes);

Handle group(hid_t parent, const std::string& name, std::string_view nx_class);
void text(hid_t parent, const std::string& name, std::string_view value);
void text_attribute(hid_t object, const std::string& name, std::string_view value);
void texts_attribute(hid_t object, const std::string& name, std::span<const std::string> values);
/// Returns an attribute that text_attribute() wrote; empty when there is none.
std::string read_text_attribute(hid_t parent, const std::string& object, const std::string& name);
/// Returns a dataset that text() wrote; empty when there is none, or it is not a text.
std::string read_text(hid_t parent, const std::string& name);
void texts(hid_t parent, const std::string& name, std::span<const std::string> values);

template <typename T>
void attribute(hid_t object, const std::string& name, std::span<const T> values);
/// Writes a scalar dataset, without units when `units` is empty. Returns it for more attributes.
template <typename T>
Handle scalar(hid_t parent, const std::string& name, T value, std::string_view units = {});
template <typename T>
Handle array(hid_t parent, const std::string& name, std::span<const T> values,
             std::initializer_list<hsize_t> shape = {});

/// Returns the access properties of a file being written. A dataset without chunks then reaches the file in H5Dwrite,
/// which reports a failure. Otherwise the library would buffer it until the dataset is closed, and report nothing.
Handle writing_access();

/// Registers filter 32008 with the library in this process, by our kernel, so that datasets can be written and read
/// without the plugin. Idempotent.
void register_bitshuffle();
/// Returns dataset creation properties with chunks of `chunk` elements, bitshuffle-LZ4 with user values {0, 2}. Throws
/// FileError.
Handle bitshuffled(std::span<const hsize_t> chunk);

}  // namespace rashpa::sink::h5
