//===- Safetensors.c - Named tensors in one file --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The file: 8 bytes of header length, the JSON header, tensor data. Offsets in
// the header count from the first byte of data.
//
//===----------------------------------------------------------------------===//

#include "runtime/Safetensors.h"
#include "runtime/MappedFile.h"

#include "runtime/Json.h"
#include "runtime/Npy.h"

#include <stdlib.h>
#include <string.h>

#define MAX_HEADER_BYTES UINT64_C(100000000)
#define MAX_NAME_BYTES 256
/// Far above any checkpoint. Entries are larger than what a header says of an
/// empty tensor, so a header full of them would take much more memory.
#define MAX_TENSORS UINT64_C(262144)
#define MAX_DIM UINT64_C(0x7fffffff)

/// The state of one parse.
typedef struct parser {
  hova_cursor header;
  hova_safetensors *tensors;
  uint64_t room;       ///< entries allocated
  uint64_t name_bytes; ///< used of tensors->names
  uint64_t data_begin; ///< in the file
  bool metadata;       ///< __metadata__ was there
  const char *path;
  hova_error *error;
} parser;

static hova_status reject(parser *p, const char *what, const char *name) {
  return hova_fail(p->error, HOVA_REJECTED,
                   "'%s' is not a valid safetensors file: %s%s%s%s", p->path,
                   name ? "tensor '" : "", name ? name : "", name ? "' " : "",
                   what);
}

/// Takes `byte` with blanks around it.
static bool take_mark(hova_cursor *header, char byte) {
  hova_skip_blanks(header);
  bool taken = hova_take_byte(header, byte);
  hova_skip_blanks(header);
  return taken;
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

static bool take_element(hova_cursor *header, hova_element *element) {
  char text[16];
  uint64_t length;
  if (!hova_take_json_string(header, text, sizeof text - 1, &length)) {
    return false;
  }
  for (int e = 0; e < HOVA_NUM_ELEMENTS; ++e) {
    if (strcmp(text, hova_element_name((hova_element)e)) == 0) {
      *element = (hova_element)e;
      return true;
    }
  }
  return false;
}

/// Takes "[1, 2]": at most `room` integers, none above `limit`.
static bool take_integers(hova_cursor *header, int32_t room, uint64_t limit,
                          uint64_t *values, int32_t *count) {
  *count = 0;
  if (!take_mark(header, '[')) {
    return false;
  }
  if (take_mark(header, ']')) {
    return true;
  }
  do {
    if (*count == room ||
        !hova_take_decimal(header, limit, &values[(*count)++])) {
      return false;
    }
  } while (take_mark(header, ','));
  return take_mark(header, ']');
}

enum { SEEN_DTYPE = 1, SEEN_SHAPE = 2, SEEN_OFFSETS = 4, SEEN_ALL = 7 };

static bool take_shape(hova_cursor *header, hova_safetensors_entry *entry) {
  uint64_t dims[HOVA_MAX_RANK];
  if (!take_integers(header, HOVA_MAX_RANK, MAX_DIM, dims, &entry->rank)) {
    return false;
  }
  for (int32_t i = 0; i < entry->rank; ++i) {
    entry->dims[i] = (int64_t)dims[i];
  }
  return true;
}

/// Takes one field of an entry. Returns why not.
static const char *take_field(parser *p, hova_safetensors_entry *entry,
                              uint64_t offsets[2], int *seen) {
  char key[16];
  uint64_t length;
  if (!hova_take_json_string(&p->header, key, sizeof key - 1, &length)) {
    return "has a malformed entry";
  }
  int which = strcmp(key, "dtype") == 0          ? SEEN_DTYPE
              : strcmp(key, "shape") == 0        ? SEEN_SHAPE
              : strcmp(key, "data_offsets") == 0 ? SEEN_OFFSETS
                                                 : 0;
  if (which == 0 || (*seen & which) || !take_mark(&p->header, ':')) {
    return "has an unknown, repeated or malformed field";
  }
  *seen |= which;
  int32_t count;
  switch (which) {
  case SEEN_DTYPE:
    return take_element(&p->header, &entry->element) ? NULL
                                                     : "has an unknown dtype";
  case SEEN_SHAPE:
    return take_shape(&p->header, entry)
               ? NULL
               : "has a shape that is not at most 8 dims below 2^31";
  default:
    return take_integers(&p->header, 2, UINT64_MAX, offsets, &count) &&
                   count == 2
               ? NULL
               : "has data_offsets that are not two integers";
  }
}

/// Takes "{...}" of a tensor whose name was taken. Returns why not.
static const char *take_entry(parser *p, hova_safetensors_entry *entry) {
  uint64_t offsets[2] = {0, 0};
  int seen = 0;
  if (!take_mark(&p->header, '{')) {
    return "has a malformed entry";
  }
  do {
    const char *reason = take_field(p, entry, offsets, &seen);
    if (reason) {
      return reason;
    }
  } while (take_mark(&p->header, ','));
  if (!take_mark(&p->header, '}') || seen != SEEN_ALL) {
    return "lacks dtype, shape or data_offsets";
  }
  uint64_t count, bits;
  if (!hova_count_elements(entry->rank, entry->dims, &count) ||
      !hova_multiply(count, hova_element_bits(entry->element), &bits)) {
    return "has a shape whose size overflows";
  }
  hova_span data;
  uint64_t begin, end;
  if (!hova_add(offsets[0], p->data_begin, &begin) ||
      !hova_add(offsets[1], p->data_begin, &end) ||
      !hova_part(p->tensors->file, begin, end, &data)) {
    return "lies outside of the file";
  }
  // Elements of fewer than 8 bits are packed, and end with a byte.
  if (bits % 8 != 0 || data.size != bits / 8) {
    return "is not as long as its shape and dtype say";
  }
  entry->begin = begin;
  entry->bytes = data.size;
  return NULL;
}

static bool grow(parser *p) {
  if (p->tensors->count < p->room) {
    return true;
  }
  uint64_t room = p->room ? 2 * p->room : 64;
  void *entries =
      realloc(p->tensors->entries, room * sizeof *p->tensors->entries);
  if (!entries) {
    return false;
  }
  p->tensors->entries = entries;
  p->room = room;
  return true;
}

/// Takes "{"key": "value"}".
static bool skip_metadata(hova_cursor *header) {
  if (!take_mark(header, '{')) {
    return false;
  }
  if (take_mark(header, '}')) {
    return true;
  }
  do {
    if (!hova_skip_json_string(header) || !take_mark(header, ':') ||
        !hova_skip_json_string(header)) {
      return false;
    }
  } while (take_mark(header, ','));
  return take_mark(header, '}');
}

/// Takes one member of the header.
static hova_status take_member(parser *p) {
  char *name = p->tensors->names + p->name_bytes;
  uint64_t length;
  if (!hova_take_json_string(&p->header, name, MAX_NAME_BYTES, &length) ||
      !take_mark(&p->header, ':')) {
    return reject(
        p, "a name is not UTF-8 of at most 256 bytes without controls", NULL);
  }
  if (strcmp(name, "__metadata__") == 0) {
    if (p->metadata || !skip_metadata(&p->header)) {
      return reject(p, "__metadata__ is repeated or not a map of strings",
                    NULL);
    }
    p->metadata = true;
    return HOVA_OK;
  }
  if (p->tensors->count == MAX_TENSORS) {
    return reject(p, "it has more than 262,144 tensors", NULL);
  }
  if (!grow(p)) {
    return hova_fail(p->error, HOVA_OUT_OF_MEMORY,
                     "out of memory for the header of '%s'", p->path);
  }
  hova_safetensors_entry *entry = &p->tensors->entries[p->tensors->count];
  entry->name = name;
  const char *reason = take_entry(p, entry);
  if (reason) {
    return reject(p, reason, name);
  }
  ++p->tensors->count;
  p->name_bytes += length + 1;
  return HOVA_OK;
}

//===----------------------------------------------------------------------===//
// The file
//===----------------------------------------------------------------------===//

static int compare_names(const void *a, const void *b) {
  const hova_safetensors_entry *x = a, *y = b;
  return strcmp(x->name, y->name);
}

static int compare_places(const void *a, const void *b) {
  const hova_safetensors_entry *x = a, *y = b;
  if (x->begin != y->begin) {
    return x->begin < y->begin ? -1 : 1;
  }
  // An empty tensor stands before the one that starts at its place.
  return (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

/// Checks that the tensors fill the file; leaves them sorted by name.
static hova_status check_places(parser *p) {
  hova_safetensors *tensors = p->tensors;
  uint64_t next = p->data_begin;
  if (tensors->count > 0) {
    qsort(tensors->entries, tensors->count, sizeof *tensors->entries,
          compare_places);
  }
  for (uint64_t i = 0; i < tensors->count; ++i) {
    if (tensors->entries[i].begin != next) {
      return reject(p, "leaves a hole before it or overlaps another",
                    tensors->entries[i].name);
    }
    next += tensors->entries[i].bytes;
  }
  if (next != tensors->file.size) {
    return reject(p, "it goes on after its last tensor", NULL);
  }
  if (tensors->count > 0) {
    qsort(tensors->entries, tensors->count, sizeof *tensors->entries,
          compare_names);
  }
  for (uint64_t i = 1; i < tensors->count; ++i) {
    if (strcmp(tensors->entries[i - 1].name, tensors->entries[i].name) == 0) {
      return reject(p, "is there twice", tensors->entries[i].name);
    }
  }
  return HOVA_OK;
}

static hova_status parse_header(parser *p) {
  // The format has no blanks before the first brace; writers pad the end.
  if (!hova_take_byte(&p->header, '{')) {
    return reject(p, "its header does not start with '{'", NULL);
  }
  if (!take_mark(&p->header, '}')) {
    do {
      hova_status status = take_member(p);
      if (status != HOVA_OK) {
        return status;
      }
    } while (take_mark(&p->header, ','));
    if (!take_mark(&p->header, '}')) {
      return reject(p, "its header is not a JSON object of entries", NULL);
    }
  }
  if (hova_peek(&p->header) >= 0) {
    return reject(p, "its header goes on after the object", NULL);
  }
  return check_places(p);
}

static hova_status parse_file(parser *p) {
  hova_cursor cursor = {p->tensors->file, 0};
  uint64_t length;
  hova_span header;
  if (!hova_take_integer(&cursor, 8, &length)) {
    return reject(p, "it is shorter than 8 bytes", NULL);
  }
  if (length > MAX_HEADER_BYTES || !hova_take(&cursor, length, &header)) {
    return reject(p, "its header is longer than the file or 100 MB", NULL);
  }
  p->header = (hova_cursor){header, 0};
  p->data_begin = cursor.at;
  // A name takes two quotes in the header, so with its terminator it is
  // shorter here; the last one may be any name that is then rejected.
  p->tensors->names = malloc(length + MAX_NAME_BYTES + 1);
  if (!p->tensors->names) {
    return hova_fail(p->error, HOVA_OUT_OF_MEMORY,
                     "out of memory for the %llu header bytes of '%s'",
                     (unsigned long long)length, p->path);
  }
  return parse_header(p);
}

static void free_entries(hova_safetensors *tensors) {
  free(tensors->entries);
  free(tensors->names);
  memset(tensors, 0, sizeof *tensors);
}

hova_status hova_safetensors_parse(hova_span file, const char *path,
                                   hova_safetensors *tensors,
                                   hova_error *error) {
  memset(tensors, 0, sizeof *tensors);
  tensors->file = file;
  parser p = {.tensors = tensors, .path = path, .error = error};
  hova_status status = parse_file(&p);
  if (status != HOVA_OK) {
    free_entries(tensors);
  }
  return status;
}

hova_status hova_safetensors_open(const char *path, hova_safetensors *tensors,
                                  hova_error *error) {
  memset(tensors, 0, sizeof *tensors);
  hova_span file;
  hova_status status = hova_map_file(path, &file, NULL, error);
  if (status != HOVA_OK) {
    return status;
  }
  status = hova_safetensors_parse(file, path, tensors, error);
  if (status != HOVA_OK) {
    hova_unmap_file(file);
    return status;
  }
  tensors->mapped = true;
  return HOVA_OK;
}

void hova_safetensors_close(hova_safetensors *tensors) {
  if (tensors->mapped) {
    hova_unmap_file(tensors->file);
  }
  free_entries(tensors);
}

const hova_safetensors_entry *
hova_safetensors_find(const hova_safetensors *tensors, const char *name) {
  hova_safetensors_entry key = {.name = name};
  if (tensors->count == 0) {
    return NULL;
  }
  return bsearch(&key, tensors->entries, tensors->count, sizeof key,
                 compare_names);
}

hova_span hova_safetensors_data(const hova_safetensors *tensors,
                                const hova_safetensors_entry *entry) {
  hova_span data = {NULL, 0};
  hova_part(tensors->file, entry->begin, entry->begin + entry->bytes, &data);
  return data;
}
