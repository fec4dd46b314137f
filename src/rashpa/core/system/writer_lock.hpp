// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A lock that marks a file as being written: a write lock of the writer's open file description, held until the
/// writer's process ends. Only a process with write permission can take it. A process that may only read can hold a
/// read lock that blocks writers; the results below distinguish that case and file systems without locks.
/// python/rashpa/data/files/writer_lock.py does the same in Python.
#include <cstdint>

namespace rashpa {

enum class WriterLock : std::uint8_t {
  taken,    ///< this descriptor has the lock, until it and its duplicates are closed
  other,    ///< another process writes the file
  readers,  ///< no process writes the file, but a process has a read lock on it
  /// no lock is possible here; errno gives the cause, such as a file system without locks or a read-only descriptor
  none,
};

/// Takes the write lock of an open file. Any thread.
[[nodiscard]] WriterLock take_writer_lock(int file) noexcept;

/// Returns true when another open file description has the write lock; lacks_writer() returns true when none has.
/// Neither takes the lock. Without locks both return false.
[[nodiscard]] bool has_writer(int file) noexcept;
[[nodiscard]] bool lacks_writer(int file) noexcept;

}  // namespace rashpa
