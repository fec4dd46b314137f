// SPDX-License-Identifier: Apache-2.0
#include "rashpa/sink/output_files.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "rashpa/core/error.hpp"
#include "rashpa/core/log.hpp"
#include "rashpa/core/system/file_descriptor.hpp"
#include "rashpa/core/system/writer_lock.hpp"
#include "rashpa/core/tell.hpp"
#include "rashpa/sink/hdf5/data_file.hpp"

namespace rashpa::sink {
namespace {

namespace fs = std::filesystem;

constexpr const char* kStaged = ".new";

fs::path staged(const fs::path& path) { return path.string() + kStaged; }

/// The files of a folder; nothing where it cannot be read. An iterator of the library ends the program where it finds
/// no memory.
std::vector<std::string> names_in(const fs::path& folder) {
  struct Close {
    void operator()(DIR* open) const noexcept { ::closedir(open); }
  };
  const std::unique_ptr<DIR, Close> open(::opendir(folder.c_str()));
  std::vector<std::string> names;
  while (const dirent* entry = open != nullptr ? ::readdir(open.get()) : nullptr) {
    names.emplace_back(static_cast<const char*>(entry->d_name));
  }
  return names;
}

/// Data files of this prefix, in any order.
std::vector<fs::path> data_files(const fs::path& prefix) {
  const std::string start = prefix.filename().string() + "_data_";
  const fs::path folder = fs::absolute(prefix).parent_path();
  std::vector<fs::path> found;
  for (const std::string& name : names_in(folder)) {
    const std::size_t point = std::min(name.rfind('.'), name.size());
    if (!name.starts_with(start) || (name.substr(point) != ".h5" && name.substr(point) != ".raw")) continue;
    const std::string number = name.substr(start.size(), point - start.size());
    if (!number.empty() && std::all_of(number.begin(), number.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      found.push_back(folder / name);
    }
  }
  return found;
}

void check_folder(const fs::path& prefix, const std::string& who) {
  if (prefix.filename().empty()) {
    throw FileError(who + "prefix '" + prefix.string() + "' names no file; give folder/name");
  }
  const fs::path folder = fs::absolute(prefix).parent_path();
  if (!fs::is_directory(folder)) {
    throw FileError(who + "folder " + folder.string() + " does not exist; create it or change the prefix");
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw FileError(who + "folder " + folder.string() + " cannot be written (" + errno_text(errno) +
                    "); change its permissions or the prefix");
  }
}

/// Renames a file, and returns true when that has worked. It replaces no existing file, where the file system can
/// promise that.
bool rename_to_free_name(const fs::path& from, const fs::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return true;
  if (errno != EINVAL && errno != ENOSYS) return false;
  if (::access(to.c_str(), F_OK) == 0) {
    errno = EEXIST;
    return false;
  }
  return ::rename(from.c_str(), to.c_str()) == 0;
}

/// A file system without locks gives none and keeps nobody out: the run goes on without, and the log says so once.
void say_without_lock(const fs::path& path, int code) {
  static std::atomic<bool> said{false};
  if (said.exchange(true)) return;
  log::write(log::Level::warning, {}, "{} cannot be locked ({}): nothing keeps two runs from one prefix there",
             path.string(), errno_text(code));
}

/// Returns true when `file` is still the one that lies under this name.
bool is_at(int file, const fs::path& path) {
  struct stat here {
  }, there{};
  return ::fstat(file, &here) == 0 && ::lstat(path.c_str(), &there) == 0 && here.st_dev == there.st_dev &&
         here.st_ino == there.st_ino;
}

/// How often a name is opened again that others take away, or lock before its owner can.
constexpr int kTries = 100;

void write_all(int file, const char* from, std::size_t bytes) {
  while (bytes > 0) {
    const ssize_t done = ::write(file, from, bytes);
    if (done < 0) throw std::system_error(errno, std::generic_category());
    from += done;
    bytes -= static_cast<std::size_t>(done);
  }
}

/// The same content as another file, which is locked before it has the name: a process that may only read the old one
/// has a lock on that. Nothing when there is no room, or the folder cannot be written.
FileDescriptor locked_copy(int old, const fs::path& path) {
  const std::string beside = path.string() + fmt::format(".{}", ::getpid());
  FileDescriptor made(::open(beside.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (made.get() < 0) return {};
  try {
    struct stat facts {};
    if (take_writer_lock(made.get()) != WriterLock::taken || ::fstat(old, &facts) != 0) throw std::system_error();
    std::vector<char> piece(std::size_t{1} << 20U);
    off_t at = 0;
    ssize_t got = 0;
    while ((got = ::pread(old, piece.data(), piece.size(), at)) > 0) {
      write_all(made.get(), piece.data(), static_cast<std::size_t>(got));
      at += got;
    }
    if (got < 0 || ::fchmod(made.get(), facts.st_mode & 0777U) != 0) throw std::system_error();
    if (has_writer(old) || !is_at(old, path) || ::rename(beside.c_str(), path.c_str()) != 0) throw std::system_error();
    return made;
  } catch (const std::system_error&) {
    ::unlink(beside.c_str());
    return {};
  }
}

/// Opens the file of this name, to write where that is allowed; returns a negative number, and errno: ELOOP for a link,
/// since a user with write access to its folder would choose the file to lock, and to repair.
int open_journal(const fs::path& path) {
  constexpr int kUsual = O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW;
  const int file = ::open(path.c_str(), O_RDWR | kUsual);
  if (file >= 0 || (errno != EROFS && errno != EACCES)) return file;
  return ::open(path.c_str(), O_RDONLY | kUsual);  // an archive
}

}  // namespace

fs::path OutputFiles::master_path(const fs::path& prefix) { return prefix.string() + "_master.h5"; }
fs::path OutputFiles::tables_path(const fs::path& prefix) { return prefix.string() + "_tables.h5"; }
fs::path OutputFiles::accumulated_path(const fs::path& prefix) { return prefix.string() + "_accumulated.h5"; }
fs::path OutputFiles::journal_path(const fs::path& prefix) { return prefix.string() + "_master.journal"; }
fs::path OutputFiles::facts_path(const fs::path& prefix) { return prefix.string() + "_facts.h5"; }
fs::path OutputFiles::data_path(const fs::path& prefix, std::uint64_t number, ImageForm form) {
  return prefix.string() + fmt::format("_data_{:06}.{}", number, form == ImageForm::raw ? "raw" : "h5");
}

int lock_journal_of(const fs::path& prefix, const std::string& who) {
  const fs::path path = OutputFiles::journal_path(prefix);
  for (int left = kTries; left > 0; --left) {
    FileDescriptor file(open_journal(path));
    if (file.get() < 0) {
      if (errno == ENOENT) return -1;
      if (errno == ELOOP) throw FileError(who + path.string() + " is a link; put the file itself there");
      throw FileError(who + "cannot open " + path.string() + ": " + errno_text(errno) + "; check its permissions");
    }
    struct stat found {};
    if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
      throw FileError(who + path.string() + " is not a regular file; put the journal of the run there");
    }
    const WriterLock lock = take_writer_lock(file.get());
    if (lock == WriterLock::other) break;
    if (lock == WriterLock::none && errno != EBADF) say_without_lock(path, errno);  // EBADF: an archive
    if (lock == WriterLock::readers) {
      if (FileDescriptor copy = locked_copy(file.get(), path); copy.get() >= 0) file = std::move(copy);
    }
    if (is_at(file.get(), path)) return file.take();
  }
  throw FileError(who + OutputFiles::master_path(prefix).string() +
                  " is being written by another process; wait for its end, or change the prefix");
}

OutputFiles::OutputFiles(const Hdf5Config& config)
    : prefix_(config.prefix),
      existing_(config.existing),
      form_(config.form),
      journal_name_(journal_path(prefix_)),
      staged_journal_(staged(journal_name_)) {
  check_folder(prefix_, sink());
  lock_journal();
  try {
    // With the lock, so that no other run of this name can begin from here on. A living one is not replaced either.
    const FileDescriptor other(lock_journal_of(prefix_, sink()));
    refuse_what_is_there();
    // Removes the files of a process that was killed before its run began: it held the lock that is now ours.
    ::unlink(staged(master_path(prefix_)).c_str());
    ::unlink(staged(data_path(prefix_, 1, form_)).c_str());
    ::unlink(staged(tables_path(prefix_)).c_str());
    ::unlink(staged(accumulated_path(prefix_)).c_str());
  } catch (...) {  // also of memory: nothing is asked for here
    ::unlink(staged_journal_.c_str());
    ::close(journal_);
    throw;
  }
}

OutputFiles::~OutputFiles() {
  tell([this] {
    if (begun_) return;
    for (const fs::path& path : {data_path(prefix_, 1, form_), tables_path(prefix_), accumulated_path(prefix_),
                                 master_path(prefix_), journal_path(prefix_)}) {
      ::unlink(staged(path).c_str());
    }
  });
  ::close(journal_);
}

void OutputFiles::lock_journal() {
  const fs::path path = staged(journal_path(prefix_));
  FileDescriptor file;
  // Its owner may take the name away between the two calls, and go: the lock is of nothing then.
  for (int left = kTries; left > 0 && (file.get() < 0 || !is_at(file.get(), path)); --left) {
    file = FileDescriptor(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
    if (file.get() < 0)
      throw FileError(sink() + "cannot create " + path.string() + ": " + errno_text(errno) +
                      "; check the permissions of the folder, or change the prefix");
    const WriterLock lock = take_writer_lock(file.get());
    if (lock == WriterLock::other) {
      throw FileError(sink() + "another process is about to begin a run with the prefix " + prefix_.string() +
                      "; wait for its end, or change the prefix");
    }
    if (lock == WriterLock::none) say_without_lock(path, errno);
    // Of a process that was killed; a reader keeps its lock, and another file gets the name.
    if (lock == WriterLock::readers) ::unlink(path.c_str());
  }
  if (::ftruncate(file.get(), 0) != 0) {
    throw FileError(sink() + "cannot write " + path.string() + ": " + errno_text(errno) + "; check the disk");
  }
  journal_ = file.take();
}

void OutputFiles::refuse_what_is_there() const {
  if (existing_ == Existing::replace) return;
  std::vector<fs::path> old = data_files(prefix_);
  std::sort(old.begin(), old.end());
  for (const fs::path& path : {facts_path(prefix_), tables_path(prefix_), accumulated_path(prefix_),
                               journal_path(prefix_), master_path(prefix_)}) {
    if (fs::exists(path)) old.insert(old.begin(), path);
  }
  if (!old.empty()) throw FileError(sink() + old[0].string() + " exists; remove it or change the prefix");
}

fs::path OutputFiles::now(const fs::path& path) const { return begun_ ? path : staged(path); }

void OutputFiles::begin() {
  if (begun_) return;
  const FileDescriptor before(lock_journal_of(prefix_, sink()));  // nobody repairs what is replaced
  refuse_what_is_there();
  std::vector<fs::path> placed;  // by this run
  placed.reserve(5);
  try {
    sync_beginning();
    // Whatever ends us here, no master is beside the journal of another run: one that has a journal goes first. A
    // whole one stays whole beside the new journal, which has no rows.
    if (before.get() >= 0) ::unlink(master_path(prefix_).c_str());
    const fs::path journal = journal_name_;
    placed.push_back(journal);
    if (::rename(staged_journal_.c_str(), journal.c_str()) != 0) {
      placed.pop_back();
      throw FileError(sink() + journal.string() + " cannot get its name: " + errno_text(errno) +
                      "; check the permissions of the folder");
    }
    // From here on the new run has begun. The master goes before the data: an old one beside new data files would show
    // their images under its own frame numbers. A new one refers to nothing yet.
    take_place(master_path(prefix_), placed);
    if (existing_ == Existing::replace) {
      for (const fs::path& old : data_files(prefix_)) ::unlink(old.c_str());
      for (const fs::path& old : {tables_path(prefix_), accumulated_path(prefix_), facts_path(prefix_)}) {
        ::unlink(old.c_str());
      }
    }
    take_place(data_path(prefix_, 1, form_), placed);
    take_place(tables_path(prefix_), placed);
    take_place(accumulated_path(prefix_), placed);
    sync_names();
  } catch (...) {  // a run that has not begun leaves nothing
    for (const fs::path& path : placed) ::unlink(path.c_str());
    throw;
  }
  begun_ = true;
}

/// Images are found by master and journal alone: the power may fail at any moment from here on.
void OutputFiles::sync_beginning() const {
  const auto refuse = [&](const fs::path& path, const std::string& reason) {
    throw FileError(fmt::format("{}{} cannot be brought to the disk: {}; look at the disk, or change the prefix",
                                sink(), path.string(), reason));
  };
  if (::fsync(journal_) != 0) refuse(staged_journal_, errno_text(errno));
  const fs::path master = staged(master_path(prefix_));
  if (!fs::exists(master)) return;
  if (const std::string reason = sync_to_disk(master); !reason.empty()) refuse(master, reason);
}

void OutputFiles::sync_names() const {
  // A folder that cannot be opened for that is no reason to fail: the names are there.
  sync_to_disk(fs::absolute(prefix_).parent_path());
}

/// Gives a staged file its name, when there is one.
void OutputFiles::take_place(const fs::path& path, std::vector<fs::path>& placed) const {
  const fs::path from = staged(path);
  if (!fs::exists(from)) return;
  placed.push_back(path);  // before it is, so that nothing fails between the two
  const bool done =
      existing_ == Existing::replace ? ::rename(from.c_str(), path.c_str()) == 0 : rename_to_free_name(from, path);
  if (!done) {
    placed.pop_back();
    throw FileError(
        fmt::format("{}{} cannot get its name: {}; change the prefix", sink(), path.string(), errno_text(errno)));
  }
}

void OutputFiles::complete() noexcept { ::unlink((begun_ ? journal_name_ : staged_journal_).c_str()); }

}  // namespace rashpa::sink
