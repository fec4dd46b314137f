// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/hdf5/hdf5_column.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <numeric>

namespace rashpa::sink::h5 {

namespace bslz4 = kernel::bitshuffle_lz4;

namespace {

std::vector<hsize_t> shape_of(hsize_t length, std::span<const hsize_t> inner) {
  std::vector<hsize_t> shape{length};
  shape.insert(shape.end(), inner.begin(), inner.end());
  return shape;
}

std::size_t values_of(std::span<const hsize_t> inner) {
  return std::accumulate(inner.begin(), inner.end(), std::size_t{1}, std::multiplies<>());
}

}  // namespace

Column::Column(hid_t parent, const std::string& name, hid_t type, std::size_t value_bytes, std::size_t chunk_elements,
               Storage storage, std::span<const hsize_t> inner)
    : name_(name),
      shape_(shape_of(0, inner)),
      element_bytes_(value_bytes * values_of(inner)),
      chunk_elements_(chunk_elements),
      chunk_(chunk_elements * element_bytes_) {
  const std::vector<hsize_t> chunk = shape_of(chunk_elements, inner);
  const std::vector<hsize_t> most = shape_of(H5S_UNLIMITED, inner);
  const int rank = static_cast<int>(shape_.size());
  Handle properties;
  if (storage == Storage::bitshuffle_lz4) {
    properties = bitshuffled(chunk);
    compressor_.emplace(value_bytes);
    compressed_.resize(bslz4::compressed_bound(chunk_.size(), value_bytes));
  } else {
    properties = Handle(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "create dataset properties");
    check(H5Pset_chunk(properties.get(), rank, chunk.data()), "set the chunk shape");
  }
  const Handle space(H5Screate_simple(rank, shape_.data(), most.data()), H5Sclose, "create a data space");
  set_ = Handle(H5Dcreate2(parent, name.c_str(), type, space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
                H5Dclose, "create ", name);
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

void Column::set_length(std::uint64_t elements) {
  shape_[0] = elements;
  check(H5Dset_extent(set_.get(), shape_.data()), "set the length of ", name_);
}

void Column::write_chunk() {
  set_length(size());
  std::span<const std::byte> bytes = chunk_;
  if (compressor_) bytes = {compressed_.data(), compressor_->compress(chunk_, compressed_)};
  const hsize_t offset[3] = {chunks_ * chunk_elements_, 0, 0};  // of as many as the dataset has dimensions
  check(H5Dwrite_chunk(set_.get(), H5P_DEFAULT, 0, offset, bytes.size(), bytes.data()), "write ", name_);
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
  set_length(limit_ ? std::min(*limit_, size()) : size());
}

}  // namespace rashpa::sink::h5
