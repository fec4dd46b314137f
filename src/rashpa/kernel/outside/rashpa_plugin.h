// SPDX-License-Identifier: Apache-2.0
/*
 * A kernel as a shared object: the only header that it needs, C11 and C++. docs/how-to/add_a_kernel.md shows how one is
 * made, examples/kernels/local_maxima is one.
 *
 * A plugin exports one function, rashpa_plugin_describe(). It looks at one image at a time and finds numbers, rows of a
 * table, a profile (arrays of fixed length), and whether the image is kept. It runs in the process of a receiver, with
 * all that this process may do.
 *
 * Threads: describe() is called once, before the run. create() is called once for each thread of the unit; process()
 * and last_error() of a state by one thread at a time, of different states at once. All are called before destroy().
 * Ownership: what describe() gives stays valid and unchanged until the object is unloaded. What the receiver gives is
 * valid during the call only.
 * Time: process() is on the path of the data. It should not allocate, lock or wait.
 */
#ifndef RASHPA_PLUGIN_H
#define RASHPA_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#define RASHPA_PLUGIN_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define RASHPA_PLUGIN_EXPORT __attribute__((visibility("default")))
#endif

/* Changes when a plugin that was compiled before would be misunderstood. */
#define RASHPA_PLUGIN_ABI UINT32_C(1)

/* Types of pixels, as bits of rashpa_plugin.takes; one of them in rashpa_plugin_setup. */
#define RASHPA_UINT8 UINT32_C(1)
#define RASHPA_UINT16 UINT32_C(2)
#define RASHPA_UINT32 UINT32_C(4)
#define RASHPA_INT16 UINT32_C(8)
#define RASHPA_INT32 UINT32_C(16)
#define RASHPA_FLOAT32 UINT32_C(32)
#define RASHPA_PHOTONS (RASHPA_UINT8 | RASHPA_UINT16 | RASHPA_UINT32 | RASHPA_INT16 | RASHPA_INT32)

/* Kinds of a parameter. */
#define RASHPA_FLAG UINT32_C(0)    /* in .integer: 0 or 1; without bounds */
#define RASHPA_INTEGER UINT32_C(1) /* in .integer */
#define RASHPA_NUMBER UINT32_C(2)  /* in .real */

/* Types of a column: which member of rashpa_plugin_value holds it, and how files store it. */
#define RASHPA_COLUMN_UINT32 UINT32_C(0)  /* .count, below 2^32; what is not makes the image errored */
#define RASHPA_COLUMN_UINT64 UINT32_C(1)  /* .count */
#define RASHPA_COLUMN_INT64 UINT32_C(2)   /* .integer */
#define RASHPA_COLUMN_FLOAT64 UINT32_C(3) /* .real */

typedef union rashpa_plugin_value {
  uint64_t count;
  int64_t integer;
  double real;
} rashpa_plugin_value;

/* Names: a small letter, then small letters, digits or _; of arrays of a profile capital letters, too. Words: printable ASCII; NULL: none. */
typedef struct rashpa_plugin_parameter {
  const char* name;
  const char* doc; /* in a few words, with the unit */
  uint32_t kind;
  uint32_t needed;              /* 1: has no default, the run file must give it */
  double least;                 /* smallest value allowed; NaN: no bound */
  double most;                  /* largest value allowed; NaN: no bound */
  rashpa_plugin_value standard; /* the default */
} rashpa_plugin_parameter;

typedef struct rashpa_plugin_column {
  const char* name;
  const char* unit;
  const char* doc;
  uint32_t type;
} rashpa_plugin_column;

/* An axis of a profile: where its bins lie. */
typedef struct rashpa_plugin_axis {
  const char* name;
  const char* unit;
  const char* doc;
  uint64_t bins;
  const double* values; /* the centre of each bin */
} rashpa_plugin_axis;

/* What process() is going to see; the same for all images of a run. */
typedef struct rashpa_plugin_setup {
  uint32_t width;  /* pixels */
  uint32_t height; /* pixels */
  uint32_t pixel;  /* RASHPA_UINT8 … */
  uint32_t row_capacity;
  int64_t least; /* integer pixels: values from `least` to `most` are counts, all others are masked; */
  int64_t most;  /* float32: NaN is masked, and these are 0 */
  const rashpa_plugin_value* parameters; /* in the order of the declaration, within their bounds */
} rashpa_plugin_setup;

/* Where process() puts what it finds. All of it is 0 before, but for the rows; the profile is 0.0. */
typedef struct rashpa_plugin_findings {
  rashpa_plugin_value* scalars; /* in the order of the declaration */
  uint32_t verdict;             /* 0: the image is kept; n: vetoed for the n-th reason */
  uint32_t row_capacity;        /* rows there is room for */
  rashpa_plugin_value* rows;    /* row r, column c of the table at rows[r * columns + c] */
  uint32_t row_count;           /* rows found. More than row_capacity: the image is errored, and the receiver says so;
                                   no more than row_capacity are written. */
  double*
      profile; /* bin b of array a at profile[a * bins + b]; with two axes the bins of the first are the slow ones */
} rashpa_plugin_findings;

typedef struct rashpa_plugin {
  uint32_t abi;   /* RASHPA_PLUGIN_ABI */
  uint32_t bytes; /* sizeof(rashpa_plugin) */
  const char* name;
  const char* purpose; /* one line */
  uint32_t takes;      /* RASHPA_UINT16 | …; detectors deliver what the run file says */

  uint32_t parameter_count;
  const rashpa_plugin_parameter* parameters;
  uint32_t scalar_count; /* numbers of every image */
  uint32_t reason_count; /* why an image is vetoed; 0: it never is */
  const rashpa_plugin_column* scalars;
  const char* const* reasons;
  uint32_t table_column_count; /* 0: it makes no table */
  uint32_t reserved;           /* 0 */
  const rashpa_plugin_column* table_columns;
  const char* table_rows; /* name of the integer parameter that says how many rows an image there is room for */

  /* The state of one thread, not NULL; NULL: it cannot be had, and `why` (why_bytes long) has the reason as text. */
  void* (*create)(const rashpa_plugin_setup* setup, char* why, size_t why_bytes);
  /* One image: row-major, without gaps, read only: what it changes there makes the image errored. 0: done; anything else: it failed, the image is errored. */
  int (*process)(void* state, const void* pixels, rashpa_plugin_findings* findings);
  /* Why process() failed, as text; NULL: it does not say. May be NULL itself. */
  const char* (*last_error)(void* state);
  void (*destroy)(void* state);

  /* A profile: arrays of fixed length. A plugin that was compiled before this was here ends above, as `bytes` says. */
  uint32_t profile_array_count;               /* 0: it makes no profile */
  uint32_t profile_axis_count;                /* 1 or 2 */
  const rashpa_plugin_column* profile_arrays; /* RASHPA_COLUMN_FLOAT64 */
  const rashpa_plugin_axis* profile_axes;     /* the slow one first */
} rashpa_plugin;

/* The function that a plugin exports: RASHPA_PLUGIN_EXPORT const rashpa_plugin* rashpa_plugin_describe(void). */
typedef const rashpa_plugin* (*rashpa_plugin_describe_function)(void);

#ifdef __cplusplus
}
#endif

#endif
