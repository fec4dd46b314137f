// SPDX-License-Identifier: Apache-2.0
// Preloaded: once the file FEW_ARMED is there, pthread_create fails from its FEW_THREADS-th call on, as where a cgroup
// limits processes.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

typedef void* (*work)(void*);
typedef int (*create)(pthread_t*, const pthread_attr_t*, work, void*);

int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, work function, void* given) {
  static atomic_int calls;
  const char* armed = getenv("FEW_ARMED");
  const char* allowed = getenv("FEW_THREADS");
  if (armed != NULL && allowed != NULL && access(armed, F_OK) == 0 && atomic_fetch_add(&calls, 1) >= atoi(allowed)) {
    return EAGAIN;
  }
  return ((create)dlsym(RTLD_NEXT, "pthread_create"))(thread, attributes, function, given);
}
