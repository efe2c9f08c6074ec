//===- ImageProcessor.cpp - What images are before a model reads them -----===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/ImageProcessor.h"
#include "frontend/description/ModelSpec.h"

#include <algorithm>
#include <filesystem>
#include <tuple>

namespace hova::frontend {

using reader::inQuotes;
using reader::Node;

namespace {

/// Keys that are read, and those about what comes before: how a picture is
/// opened, cut and resized.
constexpr std::string_view knownKeys[] = {
    "crop_pct",       "crop_size",
    "do_center_crop", "do_convert_rgb",
    "do_normalize",   "do_rescale",
    "do_resize",      "feature_extractor_type",
    "image_mean",     "image_processor_type",
    "image_std",      "processor_class",
    "resample",       "rescale_factor",
    "size",           "_valid_processor_keys"};

bool isFalse(const Node &value) {
  return value.is(Node::Kind::Boolean) && !value.boolean;
}

/// Whether a step is done: all are that are not said to be left out.
bool isOn(const Config &file, std::string_view key) {
  const Node *value = file.find(key);
  return !value || !isFalse(*value);
}

} // namespace

ImageProcessor::ImageProcessor(const std::string &folder, const Print &print) {
  std::string name =
      (std::filesystem::path(folder) / "preprocessor_config.json").string();
  auto source = reader::Source::read(name, reader::Limits().bytes);
  if (!source) {
    return;
  }
  path = std::move(name);
  Config file(std::move(source));
  // Of sounds it says what becomes of samples before there are features, which
  // is what programs take.
  bool isOfSounds = file.isRead() && file.find("sampling_rate");
  isRead = file.isRead() && (isOfSounds || read(file));
  if (file.diagnostics().hasErrors()) {
    print(file.diagnostics());
  }
}

/// What is not known may change colours too.
bool ImageProcessor::read(Config &file) {
  for (const reader::Member &member : file.root().members) {
    bool isKnown = std::find(std::begin(knownKeys), std::end(knownKeys),
                             member.key) != std::end(knownKeys);
    bool isNothing =
        member.value->is(Node::Kind::Null) || isFalse(*member.value);
    if (!isKnown && !isNothing) {
      file.error(*member.value, "nothing is known of key " +
                                    inQuotes(member.key) +
                                    " of an image processor with the value " +
                                    file.textOf(*member.value));
      return false;
    }
  }
  return readSide(file) && readColours(file);
}

/// An image is cut to a size after it is resized to one. A number is both
/// sides; of a shortest edge, the other side is open.
bool ImageProcessor::readSide(Config &file) {
  const Node *cut = file.find("crop_size");
  bool isCut = cut && isOn(file, "do_center_crop");
  const Node *size = isCut ? cut : file.find("size");
  if (!size || (!isCut && !isOn(file, "do_resize"))) {
    return true;
  }
  const Node *height = size, *width = size;
  if (size->is(Node::Kind::Object)) {
    height = size->get("height");
    width = size->get("width");
  }
  bool isOpen = size->is(Node::Kind::Object) && (!height || !width);
  if (isOpen) {
    return true;
  }
  if (!height->is(Node::Kind::Integer) || !width->is(Node::Kind::Integer)) {
    file.error(*size,
               "expected the size of an image, got " + file.textOf(*size));
    return false;
  }
  if (height->integer == width->integer) {
    keys.push_back({"image.side", Scalar::ofInteger(height->integer)});
  }
  return true;
}

/// A list of numbers, or one for each of the three channels.
static std::optional<Scalar> channelsOf(const Node &value) {
  std::vector<Scalar> numbers;
  for (size_t i = 0; i < 3; ++i) {
    bool isList = value.is(Node::Kind::Array);
    if (isList && value.elements.size() != 3) {
      return std::nullopt;
    }
    const Node &number = isList ? *value.elements[i] : value;
    if (!number.isNumber()) {
      return std::nullopt;
    }
    numbers.push_back(*plainValue(number));
  }
  return Scalar::ofList(std::move(numbers));
}

bool ImageProcessor::readColours(Config &file) {
  const Node *factor = file.find("rescale_factor");
  if (!isOn(file, "do_rescale")) {
    keys.push_back({"image.factor", Scalar::ofReal(1)});
  } else if (factor && factor->isNumber()) {
    keys.push_back({"image.factor", *plainValue(*factor)});
  }
  bool isNormal = isOn(file, "do_normalize");
  for (auto [key, name, none] :
       {std::tuple("image_mean", "image.mean", 0.0),
        std::tuple("image_std", "image.deviation", 1.0)}) {
    const Node *value = file.find(key);
    std::optional<Scalar> channels;
    if (!isNormal) {
      channels = Scalar::ofList(std::vector<Scalar>(3, Scalar::ofReal(none)));
    } else if (value && !value->is(Node::Kind::Null)) {
      channels = channelsOf(*value);
      if (!channels) {
        file.error(*value,
                   "expected a number for each of three channels, got " +
                       file.textOf(*value));
        return false;
      }
    }
    if (channels) {
      keys.push_back({name, std::move(*channels)});
    }
  }
  return true;
}

void ImageProcessor::addTo(Config &config) const {
  for (const auto &[name, value] : isRead ? keys : decltype(keys)()) {
    config.add(name, value);
  }
}

} // namespace hova::frontend
