//===- Image.c - Packed weights -------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/Image.h"
#include "runtime/Checksum.h"
#include "runtime/MappedFile.h"

#include <string.h>
#include <sys/mman.h>

static hova_status reject(const char *path, const char *what,
                          const hova_program *program, hova_error *error) {
  const char *arguments =
      program->pack_arguments ? program->pack_arguments : "MODEL.json";
  return hova_fail(error, HOVA_REJECTED,
                   "'%s' %s; make one for this program with: hova weights "
                   "pack %s -o IMAGE",
                   path, what, arguments);
}

/// Whether the text field `field` of a header holds `text`.
static bool field_is(const char field[128], const char *text) {
  size_t length = strlen(text);
  return length < 128 && memcmp(field, text, length + 1) == 0;
}

/// safetensors files start with a header length and a brace.
static bool looks_like_safetensors(hova_span image) {
  hova_cursor cursor = {image, 0};
  uint64_t length;
  return hova_take_integer(&cursor, 8, &length) && length < image.size &&
         hova_take_byte(&cursor, '{');
}

hova_status hova_image_check(hova_span image, const char *path,
                             const hova_program *program, bool check_weights,
                             const char **weights, hova_error *error) {
  hova_cursor cursor = {image, 0};
  hova_span head, bytes, end;
  hova_image_trailer trailer;
  if (!hova_take_text(&cursor, HOVA_IMAGE_MAGIC)) {
    return reject(path,
                  looks_like_safetensors(image)
                      ? "is a safetensors file, not one of packed weights"
                      : "is not a file of packed weights",
                  program, error);
  }
  cursor.at = 0;
  hova_image_header header;
  if (!hova_take(&cursor, HOVA_IMAGE_HEADER_BYTES, &head) ||
      !hova_copy(head, &header, sizeof header)) {
    return reject(path, "is cut off", program, error);
  }
  if (header.abi != HOVA_ABI_VERSION ||
      header.header_bytes != HOVA_IMAGE_HEADER_BYTES) {
    return reject(path,
                  "is a file of packed weights of another version of hova",
                  program, error);
  }
  if (program->weight_id && !field_is(header.id, program->weight_id)) {
    bool same_model = field_is(header.model, program->name);
    return reject(path,
                  same_model ? "holds weights in another layout or of another "
                               "variant of the model"
                             : "holds the weights of another model",
                  program, error);
  }
  if (header.weight_bytes != program->weight_bytes ||
      !hova_take(&cursor, program->weight_bytes, &bytes) ||
      !hova_take(&cursor, sizeof trailer, &end) ||
      !hova_copy(end, &trailer, sizeof trailer) || hova_peek(&cursor) >= 0) {
    return reject(path,
                  "has another size than its header says or the program "
                  "needs",
                  program, error);
  }
  if (memcmp(trailer.magic, HOVA_IMAGE_END, sizeof trailer.magic) != 0 ||
      trailer.header_checksum != hova_checksum(head)) {
    return reject(path,
                  "has changed since it was made: the checksum of its header "
                  "is another",
                  program, error);
  }
  if (check_weights && trailer.weight_checksum != hova_checksum(bytes)) {
    return reject(path,
                  "has changed since it was made: the checksum of its weights "
                  "is another",
                  program, error);
  }
  *weights = (const char *)bytes.data;
  return HOVA_OK;
}

/// Whether an image begins at byte `at` of a file.
static bool begins_image(hova_span file, uint64_t at, hova_span *rest) {
  hova_cursor cursor = {file, at};
  return hova_part(file, at, file.size, rest) &&
         hova_take_text(&cursor, HOVA_IMAGE_MAGIC);
}

/// The image of the program in a file that may have several, one for each kind
/// of machine, which begin at pages; the whole file where none is the
/// program's. The last one has all that follows, so that what is too much is
/// found.
static hova_span find_image(hova_span file, const hova_program *program) {
  const uint64_t page = HOVA_IMAGE_HEADER_BYTES;
  hova_span image, next;
  hova_image_header header;
  uint64_t at = 0, bytes;
  while (program->weight_id && begins_image(file, at, &image) &&
         hova_copy(image, &header, sizeof header) &&
         hova_add(header.weight_bytes, page + sizeof(hova_image_trailer),
                  &bytes) &&
         bytes <= image.size) {
    at += (bytes + page - 1) & ~(page - 1);
    bool is_last = !begins_image(file, at, &next);
    if (field_is(header.id, program->weight_id)) {
      hova_part(image, 0, is_last ? image.size : bytes, &image);
      return image;
    }
    if (is_last) {
      break;
    }
  }
  return file;
}

hova_status hova_image_open(const hova_program *program,
                            const hova_options *options, hova_span *mapped,
                            const char **weights, hova_error *error) {
  hova_span image = {options->image, options->image_bytes};
  const char *name = "embedded image";
  bool others_may_write = false;
  if (program->weight_bytes == 0) {
    return HOVA_OK;
  }
  if (options->weights) {
    hova_status status =
        hova_map_file(options->weights, mapped, &others_may_write, error);
    if (status != HOVA_OK) {
      return status;
    }
    image = *mapped;
    name = options->weights;
  }
  if (!image.data && !options->weights) {
    return hova_fail(error, HOVA_REJECTED,
                     "program '%s' needs packed weights: pass their path",
                     program->name);
  }
  if ((uintptr_t)image.data % 64 != 0) {
    return hova_fail(error, HOVA_REJECTED,
                     "the packed weights must be aligned to 64 bytes");
  }
  image = find_image(image, program);
  bool check_weights = options->check_weights != 0 || others_may_write;
  hova_status status =
      hova_image_check(image, name, program, check_weights, weights, error);
  if (status == HOVA_OK) {
    // Only a hint: the first run then meets fewer page faults.
    madvise((void *)((uintptr_t)image.data & ~UINT64_C(4095)),
            (size_t)image.size, MADV_WILLNEED);
  }
  return status;
}
