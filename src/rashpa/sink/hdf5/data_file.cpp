// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/hdf5/data_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "rashpa/core/error.hpp"
#include "rashpa/core/system/refusal.hpp"

namespace rashpa::sink {
namespace {

h5::Handle growing_file_access() {
  h5::Handle access = h5::writing_access();
  // The newest format that HDF5 1.10 knows: reading while writing (SWMR) needs it.
  h5::check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), "choose the file format");
  // A reader that follows the file must not be able to stop us by a lock of its own.
  h5::check(H5Pset_file_locking(access.get(), false, true), "switch file locks off");
  return access;
}

}  // namespace

DataFile::DataFile(const std::filesystem::path& path)
    : file_(H5Fcreate(path.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, growing_file_access().get()), H5Fclose,
            "create " + path.filename().string()) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) {
    throw FileError("hdf5: cannot find " + path.string() + ", which was just created: " + errno_text(errno) +
                    "; keep other programs out of its folder");
  }
  device_ = found.st_dev;
  inode_ = found.st_ino;
}

void DataFile::follow() { h5::check(H5Fstart_swmr_write(file_.get()), "let the data be read while they are written"); }

bool DataFile::flush() noexcept { return H5Fflush(file_.get(), H5F_SCOPE_LOCAL) >= 0; }

void DataFile::discard(const std::filesystem::path& path) noexcept {
  const bool ours = is_at(path);
  file_.close();
  if (ours) ::unlink(path.c_str());
}

bool DataFile::is_at(const std::filesystem::path& path) const noexcept {
  struct stat found {};
  return ::stat(path.c_str(), &found) == 0 && found.st_dev == device_ && found.st_ino == inode_;
}

std::string says_gone(const std::filesystem::path& path) {
  return path.string() + " was removed or replaced while the run went on";
}

std::string sync_to_disk(const std::filesystem::path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno_text(errno);
  const int failed = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  return failed == 0 ? std::string() : errno_text(failed);
}

h5::Handle open_afresh(const std::filesystem::path& path) {
  const h5::Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "create file properties");
  // The library shares what it has in memory of a file among all that open it with the same driver. This driver reads
  // files like the usual one, and is another.
  h5::check(H5Pset_fapl_log(access.get(), nullptr, 0, 0), "choose the driver");
  h5::check(H5Pset_file_locking(access.get(), false, true), "switch file locks off");
  const hid_t closed = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
  if (closed >= 0) return {closed, H5Fclose, "open ", path.native()};
  if (h5::was_refused()) h5::fail("open " + path.string());
  return {H5Fopen(path.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access.get()), H5Fclose, "open ", path.native()};
}

bool is_there(const std::filesystem::path& path) {
  std::error_code why;
  const std::filesystem::file_status found = std::filesystem::status(path, why);
  if (std::filesystem::status_known(found)) return std::filesystem::is_regular_file(found);
  throw RefusedError(path.string() + " cannot be examined: " + why.message() + "; check the permissions of its folder");
}

// Its writer says that it is still being written, and how long it was when it was made.
void let_be_opened(const std::filesystem::path& path) {
  const h5::Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "create file properties");
  h5::check(H5Pset_file_locking(access.get(), false, true), "switch file locks off");
  if (const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()); file >= 0) {
    H5Fclose(file);
    return;  // it was closed
  }
  if (h5::was_refused()) h5::fail("open " + path.string());
  // Words first: a file that is open for writing is left as it should be, whatever memory there is.
  const std::string opening = "open " + path.string(), completing = "set the length of " + path.string();
  // Does the same as h5clear.
  const bool yes = true;
  h5::check(H5Pset(access.get(), "clear_status_flags", &yes), "ask for cleared marks");
  h5::check(H5Pset(access.get(), "skip_eof_check", &yes), "ask for no check of the length");
  h5::Handle file(H5Fopen(path.c_str(), H5F_ACC_RDWR, access.get()), H5Fclose, opening);
  h5::check(H5Fincrement_filesize(file.get(), 0), completing);
  if (!file.close()) throw FileError(h5::failure("complete ", path.native()));
}

std::string lift_mark(const std::filesystem::path& path) {
  std::error_code unknown;
  if (std::filesystem::status(path, unknown).type() == std::filesystem::file_type::not_found) return says_gone(path);
  constexpr int kAttempts = 3;  // a disk may fail for a moment
  std::string reason;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    try {
      let_be_opened(path);
      return {};
    } catch (const Error& failure) {
      reason = failure.what();
    }
  }
  return path.string() + " stays marked as being written: " + reason;
}

std::string bring_file_to_disk(const std::filesystem::path& path) {
  const std::string reason = sync_to_disk(path);
  return reason.empty() ? reason : path.string() + " cannot be brought to the disk: " + reason;
}

std::string complete_on_disk(const std::filesystem::path& path) {
  const std::string marked = lift_mark(path);
  return marked.empty() ? bring_file_to_disk(path) : marked;
}

std::uint64_t readable_unless_refused(const std::filesystem::path& path, const char* dataset) try {
  const h5::Handle file = open_afresh(path);
  const h5::Handle set = h5::open_dataset(file.get(), dataset);
  const h5::Handle space(H5Dget_space(set.get()), H5Sclose, "look at the data");
  const h5::Handle properties(H5Dget_create_plist(set.get()), H5Pclose, "look at the data");
  std::array<hsize_t, 3> shape{}, chunk{}, offset{};
  // Whatever the file says, no more is written into these.
  if (H5Sget_simple_extent_ndims(space.get()) > static_cast<int>(shape.size())) return 0;
  h5::check(H5Sget_simple_extent_dims(space.get(), shape.data(), nullptr), "read the shape of the data");
  h5::check(H5Pget_chunk(properties.get(), static_cast<int>(chunk.size()), chunk.data()), "read the shape of chunks");
  const std::uint64_t bytes = std::filesystem::file_size(path);
  for (; offset[0] < shape[0]; offset[0] += chunk[0]) {
    unsigned mask = 0;
    haddr_t at = HADDR_UNDEF;
    hsize_t size = 0;
    if (H5Dget_chunk_info_by_coord(set.get(), offset.data(), &mask, &at, &size) < 0) break;
    if (at == HADDR_UNDEF || at + size > bytes) break;
  }
  return std::min(offset[0], shape[0]);
} catch (const RefusedError&) {
  throw;
} catch (const Error&) {  // damaged
  return 0;
}

std::uint64_t readable(const std::filesystem::path& path, const char* dataset) try {
  return readable_unless_refused(path, dataset);
} catch (const std::exception&) {
  return 0;
}

}  // namespace rashpa::sink
