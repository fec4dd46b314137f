// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <cstddef>
#include <span>

namespace rashpa::link {

/// Bytes in several pieces of memory, which follow each other. A view: the caller owns the pieces and their list.
class ScatteredBytes {
 public:
  using Piece = std::span<const std::byte>;

  ScatteredBytes() = default;
  /// Makes a view of all bytes of the pieces.
  explicit ScatteredBytes(std::span<const Piece> pieces) noexcept : pieces_(pieces) {
    for (const Piece& piece : pieces) size_ += piece.size();
  }

  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] bool empty() const noexcept { return size_ == 0; }

  /// Returns a view of `bytes` bytes from byte `at` on; they must exist.
  [[nodiscard]] ScatteredBytes subrange(std::size_t at, std::size_t bytes) const noexcept {
    ScatteredBytes part;
    part.pieces_ = pieces_;
    part.skipped_ = skipped_ + at;
    while (!part.pieces_.empty() && part.skipped_ >= part.pieces_.front().size()) {
      part.skipped_ -= part.pieces_.front().size();
      part.pieces_ = part.pieces_.subspan(1);
    }
    part.size_ = bytes;
    return part;
  }
  /// Calls `work` with each run of adjoining bytes, in order.
  template <typename Work>
  void for_each(const Work& work) const {
    std::size_t skipped = skipped_;
    std::size_t left = size_;
    for (std::size_t i = 0; left > 0; ++i) {
      const Piece piece = pieces_[i].subspan(skipped);
      const std::size_t bytes = std::min(piece.size(), left);
      if (bytes > 0) work(piece.first(bytes));
      left -= bytes;
      skipped = 0;
    }
  }
  /// Copies all bytes to `to`.
  void copy_to(std::byte* to) const noexcept {
    for_each([&to](Piece run) { to = std::copy(run.begin(), run.end(), to); });
  }

 private:
  std::span<const Piece> pieces_;
  std::size_t skipped_ = 0;  // bytes of the first piece
  std::size_t size_ = 0;
};

}  // namespace rashpa::link
