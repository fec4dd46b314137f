// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>

#include "rashpa/kernel/bitshuffle_lz4/bitshuffle_lz4.hpp"
#include "rashpa/sink/hdf5/hdf5_io.hpp"

namespace rashpa::sink::h5 {

/// The storage of a column's chunks.
enum class Storage : std::uint8_t { plain, bitshuffle_lz4 };

/// A dataset that grows along its first dimension by elements: values, or arrays of shape `inner`. Appended values
/// collect in the memory of one chunk; full chunks are written directly. append() itself allocates nothing.
class Column {
 public:
  /// Creates the dataset. `value_bytes` is the size of `type`; `inner` is the shape of an element, at most two numbers.
  Column(hid_t parent, const std::string& name, hid_t type, std::size_t value_bytes, std::size_t chunk_elements,
         Storage storage, std::span<const hsize_t> inner = {});

  /// Appends `count` elements. Throws FileError when a full chunk cannot be written; earlier elements stay.
  void append(const void* values, std::size_t count);
  /// Makes the next flush() discard elements from `count` on, which a failed append() left.
  void truncate(std::uint64_t count) noexcept { limit_ = count; }
  /// Writes buffered elements and sets the dataset's length. Throws FileError.
  void flush();
  [[nodiscard]] std::uint64_t size() const noexcept { return chunks_ * chunk_elements_ + filled_; }
  /// Returns the number of values written to the file.
  [[nodiscard]] std::uint64_t stored() const noexcept { return chunks_ * chunk_elements_; }
  [[nodiscard]] hid_t dataset() const noexcept { return set_.get(); }
  [[nodiscard]] std::uint64_t bytes_stored() const noexcept { return bytes_stored_; }

 private:
  void write_chunk();
  void set_length(std::uint64_t elements);
  std::string name_;
  std::vector<hsize_t> shape_;  // of the dataset; its first number is the length
  std::size_t element_bytes_;
  std::size_t chunk_elements_;
  Handle set_;
  std::vector<std::byte> chunk_;
  std::optional<kernel::bitshuffle_lz4::Compressor> compressor_;
  std::vector<std::byte> compressed_;
  std::size_t filled_ = 0;    // elements in chunk_
  std::uint64_t chunks_ = 0;  // full chunks written
  std::uint64_t bytes_stored_ = 0;
  std::optional<std::uint64_t> limit_;
};

/// Creates a column of a C++ type.
template <typename T>
Column column(hid_t parent, const std::string& name, std::size_t chunk_elements, Storage storage = Storage::plain) {
  return Column(parent, name, native<T>(), sizeof(T), chunk_elements, storage);
}

}  // namespace rashpa::sink::h5
