// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/hdf5_column.hpp"

#include <algorithm>
#include <cstring>

namespace rashpa::sink::h5 {

namespace bslz4 = kernel::bitshuffle_lz4;

Column::Column(hid_t parent, const std::string& name, hid_t type, std::size_t element_bytes, std::size_t chunk_elements,
               Storage storage)
    : name_(name),
      element_bytes_(element_bytes),
      chunk_elements_(chunk_elements),
      chunk_(chunk_elements * element_bytes) {
  const hsize_t chunk = chunk_elements, none = 0, unlimited = H5S_UNLIMITED;
  Handle properties;
  if (storage == Storage::bitshuffle_lz4) {
    properties = bitshuffled({&chunk, 1});
    compressor_.emplace(element_bytes);
    compressed_.resize(bslz4::compressed_bound(chunk_.size(), element_bytes));
  } else {
    properties = Handle(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "create dataset properties");
    check(H5Pset_chunk(properties.get(), 1, &chunk), "set the chunk shape");
  }
  const Handle space(H5Screate_simple(1, &none, &unlimited), H5Sclose, "create a data space");
  set_ = Handle(H5Dcreate2(parent, name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                H5Dclose, "create " + name);
}

void Column::append(const void* values, std::size_t count) {
  const auto* from = static_cast<const std::byte*>(values);
  while (count > 0) {
    if (filled_ == chunk_elements_) write_chunk();  // one that could not be written before
    const std::size_t n = std::min(count, chunk_elements_ - filled_);
    std::memcpy(chunk_.data() + filled_ * element_bytes_, from, n * element_bytes_);
    filled_ += n;
    from += n * element_bytes_;
    count -= n;
    if (filled_ == chunk_elements_) write_chunk();
  }
}

void Column::write_chunk() {
  const hsize_t length = size();
  check(H5Dset_extent(set_.get(), &length), "extend " + name_);
  std::span<const std::byte> bytes = chunk_;
  if (compressor_) bytes = {compressed_.data(), compressor_->compress(chunk_, compressed_)};
  const hsize_t offset = chunks_ * chunk_elements_;
  check(H5Dwrite_chunk(set_.get(), H5P_DEFAULT, 0, &offset, bytes.size(), bytes.data()), "write " + name_);
  bytes_stored_ += bytes.size();
  if (filled_ == chunk_elements_) {
    chunks_ += 1;
    filled_ = 0;
  }
}

void Column::flush() {
  if (filled_ > 0) {
    std::fill(chunk_.begin() + static_cast<std::ptrdiff_t>(filled_ * element_bytes_), chunk_.end(), std::byte{0});
    write_chunk();
  }
  const hsize_t length = limit_ ? std::min(*limit_, size()) : size();
  check(H5Dset_extent(set_.get(), &length), "set the length of " + name_);
}

}  // namespace rashpa::sink::h5
