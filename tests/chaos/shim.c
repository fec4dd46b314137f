// SPDX-License-Identifier: Apache-2.0
/* LD_PRELOAD for a run that is disturbed: writes into .h5 files fail or are slow. CHAOS_WRITES is "fail FIRST COUNT": that many writes from the
 * FIRST one on give EIO, or "slow MICROSECONDS": each of them takes so much longer. Everything else is left alone. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef ssize_t (*pwrite_t)(int, const void *, size_t, off_t);
typedef ssize_t (*write_t)(int, const void *, size_t);

static atomic_long writes;

static int is_hdf5(int file) {
  char link[64], name[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  const ssize_t length = readlink(link, name, sizeof name - 1);
  return length > 3 && memcmp(name + length - 3, ".h5", 3) == 0;
}

/* Whether this write is to fail; a slow one has been waited for. */
static int disturbed(int file) {
  const char *order = getenv("CHAOS_WRITES");
  long first = 0, count = 0;
  if (order == NULL || !is_hdf5(file)) return 0;
  const long number = atomic_fetch_add(&writes, 1);
  if (sscanf(order, "slow %ld", &first) == 1) usleep((useconds_t)first);
  return sscanf(order, "fail %ld %ld", &first, &count) == 2 && number >= first && number < first + count;
}

#define THROUGH(kind, name, ...)                           \
  if (disturbed(file)) {                                   \
    errno = EIO;                                           \
    return -1;                                             \
  }                                                        \
  return ((kind)dlsym(RTLD_NEXT, name))(file, __VA_ARGS__)

ssize_t pwrite(int file, const void *data, size_t size, off_t at) { THROUGH(pwrite_t, "pwrite", data, size, at); }
ssize_t pwrite64(int file, const void *data, size_t size, off_t at) { THROUGH(pwrite_t, "pwrite64", data, size, at); }
ssize_t write(int file, const void *data, size_t size) { THROUGH(write_t, "write", data, size); }
