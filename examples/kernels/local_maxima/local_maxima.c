// SPDX-License-Identifier: Apache-2.0
/* A kernel for rashpa in a shared object: pixels that are at or above a threshold and larger than their neighbours, as a
 * table of x, y and value. README.md says how it is compiled and run. */
#include <math.h>
#include <stdlib.h>

#include "rashpa_plugin.h"

enum { THRESHOLD, MIN_MAXIMA, MAX_ROWS, PARAMETERS };

typedef struct state {
  uint32_t width, height, pixel;
  int64_t least, most; /* counts; other values are masked */
  int64_t threshold;
  uint64_t min_maxima;
} state;

static void* create(const rashpa_plugin_setup* setup, char* why, size_t why_bytes) {
  state* made = calloc(1, sizeof(state));
  (void)why; /* all that can be wrong is checked by the receiver, from the declaration */
  (void)why_bytes;
  if (made == NULL) return NULL;
  made->width = setup->width;
  made->height = setup->height;
  made->pixel = setup->pixel;
  made->least = setup->least;
  made->most = setup->most;
  made->threshold = setup->parameters[THRESHOLD].integer;
  if (made->threshold < made->least) made->threshold = made->least;
  made->min_maxima = setup->parameters[MIN_MAXIMA].count;
  return made;
}

/* Larger than the neighbours that come before it, row by row, and not smaller than those behind it: of equal neighbours
 * the first is the maximum. Neighbours that are masked do not count. */
#define LOOK(NAME, TYPE)                                                                              \
  static int NAME##_above(const state* s, const TYPE* image, int64_t x, int64_t y, int64_t value,     \
                          int64_t allowed) {                                                          \
    int64_t other;                                                                                    \
    if (x < 0 || y < 0 || x >= s->width || y >= s->height) return 1;                                  \
    other = (int64_t)image[y * s->width + x];                                                         \
    return other < s->least || other > s->most || other < value + allowed;                            \
  }                                                                                                   \
  static int NAME(const state* s, const TYPE* image, rashpa_plugin_findings* found) {                 \
    for (int64_t y = 0; y < s->height; ++y) {                                                         \
      for (int64_t x = 0; x < s->width; ++x) {                                                        \
        const int64_t value = (int64_t)image[y * s->width + x];                                       \
        int largest;                                                                                  \
        if (value < s->threshold || value > s->most) continue;                                        \
        largest = 1;                                                                                  \
        for (int64_t dx = -1; dx <= 1; ++dx) {                                                        \
          largest &= NAME##_above(s, image, x + dx, y - 1, value, 0);                                 \
          largest &= NAME##_above(s, image, x + dx, y + 1, value, 1);                                 \
        }                                                                                             \
        largest &= NAME##_above(s, image, x - 1, y, value, 0);                                        \
        largest &= NAME##_above(s, image, x + 1, y, value, 1);                                        \
        if (!largest) continue;                                                                       \
        if (found->row_count < found->row_capacity) {                                                 \
          rashpa_plugin_value* row = found->rows + 3 * (size_t)found->row_count;                      \
          row[0].count = (uint64_t)x;                                                                 \
          row[1].count = (uint64_t)y;                                                                 \
          row[2].integer = value;                                                                     \
        }                                                                                             \
        ++found->row_count;                                                                           \
      }                                                                                               \
    }                                                                                                 \
    found->scalars[0].count = found->row_count;                                                       \
    if (found->row_count < s->min_maxima) found->verdict = 1;                                         \
    return 0;                                                                                         \
  }

LOOK(look_u8, uint8_t)
LOOK(look_u16, uint16_t)
LOOK(look_u32, uint32_t)
LOOK(look_i16, int16_t)
LOOK(look_i32, int32_t)

static int process(void* given, const void* pixels, rashpa_plugin_findings* found) {
  const state* s = given;
  switch (s->pixel) {
    case RASHPA_UINT8:
      return look_u8(s, pixels, found);
    case RASHPA_UINT16:
      return look_u16(s, pixels, found);
    case RASHPA_UINT32:
      return look_u32(s, pixels, found);
    case RASHPA_INT16:
      return look_i16(s, pixels, found);
    default:
      return look_i32(s, pixels, found);
  }
}

static const rashpa_plugin_parameter parameters[PARAMETERS] = {
    {"threshold", "photons; pixels at or above can be maxima", RASHPA_INTEGER, 0, 1, 2147483647, {.integer = 10}},
    {"min_maxima", "images with fewer are vetoed", RASHPA_INTEGER, 0, 0, 1000000, {.integer = 0}},
    {"max_rows", "maxima of an image that there is room for", RASHPA_INTEGER, 0, 1, 100000, {.integer = 2000}},
};
static const rashpa_plugin_column scalars[] = {
    {"maxima", "pixels", "Local maxima at or above the threshold", RASHPA_COLUMN_UINT32}};
static const char* const reasons[] = {"too_few_maxima"};
static const rashpa_plugin_column columns[] = {{"x", "pixels", "Column in the image", RASHPA_COLUMN_UINT32},
                                               {"y", "pixels", "Row in the image", RASHPA_COLUMN_UINT32},
                                               {"value", "photons", "Of the pixel", RASHPA_COLUMN_INT64}};

static const rashpa_plugin plugin = {
    .abi = RASHPA_PLUGIN_ABI,
    .bytes = sizeof(rashpa_plugin),
    .name = "local_maxima",
    .purpose = "pixels that are larger than their neighbours, as a table",
    .takes = RASHPA_PHOTONS,
    .parameter_count = PARAMETERS,
    .parameters = parameters,
    .scalar_count = 1,
    .reason_count = 1,
    .scalars = scalars,
    .reasons = reasons,
    .table_column_count = 3,
    .table_columns = columns,
    .table_rows = "max_rows",
    .create = create,
    .process = process,
    .destroy = free,
};

RASHPA_PLUGIN_EXPORT const rashpa_plugin* rashpa_plugin_describe(void);
RASHPA_PLUGIN_EXPORT const rashpa_plugin* rashpa_plugin_describe(void) { return &plugin; }
