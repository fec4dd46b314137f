#pragma once
#include "rashpa/core/books.hpp"
#include "rashpa/core/stack.hpp"
#include "rashpa/sink/hdf5_column.hpp"
#include "rashpa/sink/nxmx_metadata.hpp"

namespace rashpa::sink {

/// /entry/rashpa of the master file: one row for every image of the run, stored or not, and the books.
class FrameTables {
 public:
  /// Creates the group below `entry`.
  FrameTables(hid_t entry, const NxmxMetadata& metadata, const std::string& buffer);
  /// `stored_index`: the image's place in the stored data, −1 when it is not there.
  void append(const StackImage& image, std::int64_t stored_index);
  /// Writes what is buffered and the books. Throws FileError.
  void close(const Books& books);
  [[nodiscard]] std::uint64_t rows() const noexcept { return frame_number_.size(); }

 private:
  h5::Handle group_;
  h5::Column frame_number_, timestamp_, flags_, completeness_, decision_, reason_, bright_, masked_, saturated_,
      stored_;
  h5::Handle lost_;
  h5::Column lost_ptr_, lost_dtp_, lost_first_, lost_lines_;
  std::uint64_t lost_count_ = 0;
};

}  // namespace rashpa::sink
