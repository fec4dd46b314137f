// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/raw/raw_images.hpp"

#include <utility>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/refusal.hpp"
#include "rashpa/sink/output_files.hpp"

namespace rashpa::sink {

RawImages::RawImages(std::filesystem::path prefix, const FrameRows& rows) : prefix_(std::move(prefix)), rows_(rows) {}

bool RawImages::read(std::size_t image, std::span<std::byte> out) {
  const StoredPlace& at = rows_.rows()[image].stored;
  if (at.file == 0) return false;
  if (at.file != number_) {
    number_ = at.file;
    file_.reset();
    try {
      file_.emplace(OutputFiles::data_path(prefix_, at.file, ImageForm::raw), rows_.header());
    } catch (const RefusedError&) {
      number_ = 0;
      throw;
    } catch (const FileError&) {  // none of its images is there
    }
  }
  return file_ && file_->read(rows_.raw_place(image), out);
}

bool RawImages::read(std::size_t image) {
  const JournalHeader& run = rows_.header();
  scratch_.resize(std::size_t{run.width} * run.height * pixel_bytes(run.pixel));
  return read(image, scratch_);
}

}  // namespace rashpa::sink
