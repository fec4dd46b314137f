// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The HDF5 C API with owners, errors as exceptions, and the few shapes that our files need. Private to this folder:
/// only .cpp files include it.
#include <hdf5.h>

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rashpa::sink::h5 {

/// Owns one identifier of the library.
class Handle {
 public:
  using Close = herr_t (*)(hid_t);
  Handle() = default;
  /// Throws FileError "hdf5: cannot <what><name>: <the library's reason>" when `id` is negative; RefusedError when the
  /// system has refused. In two parts, since a caller that joins them may find no memory while nobody owns `id`.
  Handle(hid_t id, Close closer, std::string_view what, std::string_view name = {});
  Handle(Handle&& other) noexcept;
  Handle& operator=(Handle&& other) noexcept;
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() { close(); }

  [[nodiscard]] hid_t get() const noexcept { return id_; }
  [[nodiscard]] bool valid() const noexcept { return id_ >= 0; }
  /// Returns false when the library could not complete what the object still had to write.
  bool close() noexcept;

 private:
  hid_t id_ = -1;
  Close close_ = nullptr;
};

/// Ends the library's own printing of errors on this thread (its error stack belongs to the thread).
void silence();
/// Several threads of a receiver are in the library at once. Throws ResourceError when it was built without locks.
void need_locks();
/// Throws FileError when `status` is negative, as Handle does.
void check(herr_t status, std::string_view what, std::string_view name = {});
/// Throws as Handle does.
[[noreturn]] void fail(std::string_view what, std::string_view name = {});
/// Returns true when the last error of the library on this thread is a refusal of the system.
bool was_refused();
/// The last error of the library on this thread in words: "hdf5: cannot <what><name>: <its innermost reason>;
/// <advice>".
std::string failure(std::string_view what, std::string_view name = {});

template <typename T>
hid_t native();

/// A group, a dataset, either of both. The content of a file may lead to other files, and is written to: links into
/// other files are refused, and so are datasets with values there. Throws FileError, as Handle does.
Handle open_group(hid_t parent, const std::string& path);
Handle open_dataset(hid_t parent, const std::string& path);
Handle open_object(hid_t parent, const std::string& path);
/// The data space of a dataset with `axes` axes. Throws FileError when the dataset has another number of them.
Handle space_of_axes(hid_t dataset, int axes);

Handle group(hid_t parent, const std::string& name, std::string_view nx_class);
void text(hid_t parent, const std::string& name, std::string_view value);
void text_attribute(hid_t object, const std::string& name, std::string_view value);
void texts_attribute(hid_t object, const std::string& name, std::span<const std::string> values);
/// An attribute that text_attribute() wrote; empty when it is not there.
std::string read_text_attribute(hid_t parent, const std::string& object, const std::string& name);
/// A dataset that text() wrote; empty when it is not there, or is none.
std::string read_text(hid_t parent, const std::string& name);
void texts(hid_t parent, const std::string& name, std::span<const std::string> values);

template <typename T>
void attribute(hid_t object, const std::string& name, std::span<const T> values);
/// A scalar dataset; `units` empty: none. The dataset, for more attributes.
template <typename T>
Handle scalar(hid_t parent, const std::string& name, T value, std::string_view units = {});
template <typename T>
Handle array(hid_t parent, const std::string& name, std::span<const T> values,
             std::initializer_list<hsize_t> shape = {});

/// Access properties of a file that is written: a dataset that is not in chunks goes to the file with H5Dwrite, which
/// reports a failure. The library's buffer of such a dataset would go there when the dataset is closed, unchecked.
Handle writing_access();

/// Makes filter 32008 known to the library in this process, backed by our kernel, so that datasets can be created and
/// read without the plugin. Idempotent.
void register_bitshuffle();
/// Dataset creation properties: chunks of `chunk` elements, bitshuffle-LZ4 with user values {0, 2}; throws FileError.
Handle bitshuffled(std::span<const hsize_t> chunk);

}  // namespace rashpa::sink::h5
