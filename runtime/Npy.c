//===- Npy.c - One tensor in a NumPy file ---------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The header is a Python dictionary literal with three keys. NumPy evaluates
// it; this parser accepts exactly the literals that NumPy writes, with blanks
// and either quote anywhere Python allows them.
//
//===----------------------------------------------------------------------===//

#include "runtime/Npy.h"
#include "runtime/MappedFile.h"

#include "runtime/Output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/// NumPy's own limit, checked here before anything is read.
#define MAX_HEADER_BYTES 10000
#define MAX_DIM INT64_C(0x7fffffff)

bool hova_count_elements(int32_t rank, const int64_t *dims, uint64_t *count) {
  *count = 1;
  bool empty = false;
  for (int32_t i = 0; i < rank; ++i) {
    if (dims[i] < 0 || dims[i] > MAX_DIM) {
      return false;
    }
    // A zero must not hide that the other dims overflow.
    empty |= dims[i] == 0;
    if (!hova_multiply(*count, dims[i] == 0 ? 1 : (uint64_t)dims[i], count)) {
      return false;
    }
  }
  if (empty) {
    *count = 0;
  }
  return true;
}

void hova_format_shape(char *text, size_t size, int32_t rank,
                       const int64_t *dims) {
  size_t length = (size_t)snprintf(text, size, "[");
  for (int32_t i = 0; i < rank && length < size; ++i) {
    length += (size_t)snprintf(text + length, size - length, "%s%lld",
                               i ? ", " : "", (long long)dims[i]);
  }
  if (length < size) {
    snprintf(text + length, size - length, "]");
  }
}

void hova_format_batch_hint(char *text, size_t size, int32_t rank,
                            const int64_t *expected, const int64_t *found) {
  bool differs = rank > 0 && expected[0] != found[0] && found[0] > 0;
  for (int32_t i = 1; i < rank; ++i) {
    differs &= expected[i] == found[i];
  }
  text[0] = '\0';
  if (differs) {
    snprintf(text, size, "; --set batch=%lld compiles the model for as many",
             (long long)found[0]);
  }
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// Takes a string in single or double quotes, without escapes.
static bool take_string(hova_cursor *header, hova_span *text) {
  int quote = hova_peek(header);
  if ((quote != '\'' && quote != '"') || !hova_take_byte(header, (char)quote)) {
    return false;
  }
  uint64_t begin = header->at;
  for (int next = hova_peek(header); next != quote; next = hova_peek(header)) {
    if (next < 0x20 || next > 0x7e || next == '\\') {
      return false;
    }
    ++header->at;
  }
  return hova_part(header->span, begin, header->at, text) &&
         hova_take_byte(header, (char)quote);
}

/// One-byte types have no byte order: NumPy reads any mark before them.
static bool is_descr(hova_span text, hova_element element) {
  const char *descr = hova_element_descr(element);
  hova_span kind;
  if (!descr || hova_element_bytes(element) != 1) {
    return descr && hova_span_is(text, descr);
  }
  hova_cursor mark = {text, 0};
  bool marked = hova_take_byte(&mark, '|') || hova_take_byte(&mark, '<') ||
                hova_take_byte(&mark, '>') || hova_take_byte(&mark, '=');
  return marked && hova_part(text, 1, text.size, &kind) &&
         hova_span_is(kind, descr + 1);
}

static bool take_descr(hova_cursor *header, hova_npy *npy) {
  hova_span text;
  if (!take_string(header, &text)) {
    return false;
  }
  for (int e = 0; e < HOVA_NUM_ELEMENTS; ++e) {
    if (is_descr(text, (hova_element)e)) {
      npy->element = (hova_element)e;
      return true;
    }
  }
  return false;
}

static bool take_bool(hova_cursor *header, bool *value) {
  *value = hova_take_text(header, "True");
  return *value || hova_take_text(header, "False");
}

/// Takes "()", "(3,)" or "(2, 3)" with an optional last comma.
static bool take_shape(hova_cursor *header, hova_npy *npy) {
  if (!hova_take_byte(header, '(')) {
    return false;
  }
  npy->rank = 0;
  bool comma = true;
  for (hova_skip_blanks(header); !hova_take_byte(header, ')');
       hova_skip_blanks(header)) {
    uint64_t dim;
    if (!comma || npy->rank == HOVA_MAX_RANK ||
        !hova_take_decimal(header, MAX_DIM, &dim)) {
      return false;
    }
    npy->dims[npy->rank++] = (int64_t)dim;
    hova_skip_blanks(header);
    comma = hova_take_byte(header, ',');
  }
  // "(3)" is a number in brackets, not a tuple.
  return npy->rank != 1 || comma;
}

enum { SEEN_DESCR = 1, SEEN_ORDER = 2, SEEN_SHAPE = 4, SEEN_ALL = 7 };

/// Takes one `key: value`; each key once. Returns why not.
static const char *take_entry(hova_cursor *header, hova_npy *npy,
                              bool *column_major, int *seen) {
  hova_span key;
  if (!take_string(header, &key)) {
    return "its header is not a dictionary";
  }
  int which = hova_span_is(key, "descr")           ? SEEN_DESCR
              : hova_span_is(key, "fortran_order") ? SEEN_ORDER
              : hova_span_is(key, "shape")         ? SEEN_SHAPE
                                                   : 0;
  if (which == 0 || (*seen & which)) {
    return "its header has an unknown or repeated key";
  }
  *seen |= which;
  hova_skip_blanks(header);
  if (!hova_take_byte(header, ':')) {
    return "its header is not a dictionary";
  }
  hova_skip_blanks(header);
  switch (which) {
  case SEEN_DESCR:
    return take_descr(header, npy)
               ? NULL
               : "its type is not a little-endian number or bool";
  case SEEN_ORDER:
    return take_bool(header, column_major) ? NULL
                                           : "its fortran_order is not a bool";
  default:
    return take_shape(header, npy)
               ? NULL
               : "its shape is not a tuple of at most 8 dims below 2^31";
  }
}

/// Parses the whole dictionary. Returns why not.
static const char *parse_header(hova_span text, hova_npy *npy) {
  hova_cursor header = {text, 0};
  bool column_major = false;
  int seen = 0;
  hova_skip_blanks(&header);
  if (!hova_take_byte(&header, '{')) {
    return "its header is not a dictionary";
  }
  hova_skip_blanks(&header);
  bool comma = true;
  while (!hova_take_byte(&header, '}')) {
    const char *reason = comma ? take_entry(&header, npy, &column_major, &seen)
                               : "its header is not a dictionary";
    if (reason) {
      return reason;
    }
    hova_skip_blanks(&header);
    comma = hova_take_byte(&header, ',');
    hova_skip_blanks(&header);
  }
  hova_skip_blanks(&header);
  if (hova_peek(&header) >= 0) {
    return "its header goes on after the dictionary";
  }
  if (seen != SEEN_ALL) {
    return "its header lacks descr, fortran_order or shape";
  }
  if (column_major && npy->rank > 1) {
    return "it is column-major: save numpy.ascontiguousarray of it";
  }
  return NULL;
}

/// Parses everything. Returns why not.
static const char *parse_file(hova_span file, hova_npy *npy) {
  hova_cursor cursor = {file, 0};
  uint64_t major, minor, length;
  hova_span header;
  if (!hova_take_text(&cursor, "\x93NUMPY")) {
    return "it does not start as one";
  }
  if (!hova_take_integer(&cursor, 1, &major) ||
      !hova_take_integer(&cursor, 1, &minor) || major < 1 || major > 3 ||
      minor != 0) {
    return "its format version is not 1.0, 2.0 or 3.0";
  }
  if (!hova_take_integer(&cursor, major == 1 ? 2 : 4, &length) ||
      length > MAX_HEADER_BYTES || !hova_take(&cursor, length, &header)) {
    return "its header is above 10,000 bytes or cut off";
  }
  const char *reason = parse_header(header, npy);
  if (reason) {
    return reason;
  }
  uint64_t bytes;
  if (!hova_count_elements(npy->rank, npy->dims, &npy->count) ||
      !hova_multiply(npy->count, hova_element_bytes(npy->element), &bytes)) {
    return "its shape is too large: its bytes do not fit into 64 bits";
  }
  if (!hova_take(&cursor, bytes, &npy->data)) {
    return "its data is cut off";
  }
  return hova_peek(&cursor) >= 0 ? "it goes on after its data" : NULL;
}

hova_status hova_npy_parse(hova_span file, const char *path, hova_npy *npy,
                           hova_error *error) {
  memset(npy, 0, sizeof *npy);
  const char *reason = parse_file(file, npy);
  if (reason) {
    return hova_fail(error, HOVA_REJECTED,
                     "'%s' is not a readable .npy file: %s", path, reason);
  }
  return HOVA_OK;
}

/// Parses a mapped file, which belongs to `npy` if that succeeds.
static hova_status parse_mapped(hova_span file, const char *path, hova_npy *npy,
                                hova_error *error) {
  hova_status status = hova_npy_parse(file, path, npy, error);
  if (status != HOVA_OK) {
    hova_unmap_file(file);
    return status;
  }
  npy->file = file;
  return HOVA_OK;
}

hova_status hova_npy_open(const char *path, hova_npy *npy, hova_error *error) {
  hova_span file;
  hova_status status = hova_map_file(path, &file, NULL, error);
  return status == HOVA_OK ? parse_mapped(file, path, npy, error) : status;
}

hova_status hova_npy_read(uint64_t limit, hova_npy *npy, hova_error *error) {
  hova_span file;
  hova_status status =
      hova_map_stream(STDIN_FILENO, "standard input", limit, &file, error);
  return status == HOVA_OK ? parse_mapped(file, "standard input", npy, error)
                           : status;
}

void hova_npy_close(hova_npy *npy) {
  hova_unmap_file(npy->file);
  memset(npy, 0, sizeof *npy);
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Writes magic, version and dictionary, padded so that data starts at a
/// multiple of 64 as NumPy does. Returns the length.
static size_t format_header(char text[512], const char *descr, int32_t rank,
                            const int64_t *dims) {
  char *dictionary = text + 10;
  size_t room = 512 - 10;
  size_t length = (size_t)snprintf(
      dictionary, room, "{'descr': '%s', 'fortran_order': False, 'shape': (",
      descr);
  for (int32_t i = 0; i < rank; ++i) {
    length += (size_t)snprintf(dictionary + length, room - length, "%s%lld%s",
                               i ? " " : "", (long long)dims[i],
                               i + 1 < rank || rank == 1 ? "," : "");
  }
  length += (size_t)snprintf(dictionary + length, room - length, "), }");
  while ((10 + length + 1) % 64 != 0) {
    dictionary[length++] = ' ';
  }
  dictionary[length++] = '\n';
  memcpy(text, "\x93NUMPY\x01\x00", 8);
  text[8] = (char)(length & 0xff);
  text[9] = (char)(length >> 8);
  return 10 + length;
}

hova_status hova_npy_write(const char *path, hova_element element, int32_t rank,
                           const int64_t *dims, const void *data,
                           hova_error *error) {
  uint64_t count;
  if (rank < 0 || rank > HOVA_MAX_RANK ||
      !hova_count_elements(rank, dims, &count)) {
    return hova_fail(error, HOVA_REJECTED,
                     "cannot write '%s': its elements do not fit into 64 bits",
                     path);
  }
  const char *descr = hova_element_descr(element);
  char header[512];
  size_t header_bytes =
      format_header(header, descr ? descr : "<f4", rank, dims);
  hova_output output;
  hova_status status = hova_output_open(&output, path, error);
  if (status == HOVA_OK) {
    status = hova_output_write(&output, header, header_bytes, error);
  }
  if (descr && status == HOVA_OK) {
    status = hova_output_write(&output, data,
                               count * hova_element_bytes(element), error);
  }
  for (uint64_t i = 0; !descr && i < count && status == HOVA_OK; ++i) {
    float value = (float)hova_element_value(element, data, i);
    status = hova_output_write(&output, &value, sizeof value, error);
  }
  return hova_output_close(&output, status, error);
}
