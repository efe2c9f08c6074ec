//===- Token.cpp - Meaning of token operations ----------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Most of these move data: elements keep their type, and where operands differ
// the widest wins.

#include "dialect/evaluate/Evaluate.h"
#include "dialect/token/TokenOps.h"
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace hova;

using Element = HostTensor::Element;

//===----------------------------------------------------------------------===//
// Ids and positions
//===----------------------------------------------------------------------===//

LogicalResult EmbeddingOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &ids = value(getIds()), &table = value(getTable());
  bool transposed = getTransposed();
  int64_t vocabulary = table.getShape()[transposed ? 1 : 0];
  int64_t width = table.getShape()[transposed ? 0 : 1];
  SmallVector<int64_t> shape(ids.getShape());
  shape.push_back(width);
  HostTensor result(table.getElement(), shape);
  for (int64_t i = 0, e = ids.size(); i < e; ++i) {
    int64_t id = ids.as<int64_t>()[i];
    if (id < 0 || id >= vocabulary) {
      return emitOpError("expects ids below ")
             << vocabulary << ", got " << id << " at element " << i;
    }
    withNumberType(table.getElement(), [&](auto zero) {
      using T = decltype(zero);
      const T *from = table.as<T>() + id * (transposed ? 1 : width);
      for (int64_t k = 0; k < width; ++k) {
        result.mutableAs<T>()[i * width + k] =
            from[k * (transposed ? vocabulary : 1)];
      }
    });
  }
  results.push_back(result);
  return success();
}

LogicalResult SinusoidOp::evaluate(ArrayRef<HostTensor>,
                                   SmallVectorImpl<HostTensor> &results) {
  ArrayRef<int64_t> shape = getResult().getType().getShape();
  if (ShapedType::isDynamicShape(shape)) {
    return emitOpError("expects a static table to evaluate");
  }
  int64_t width = shape[1], half = width / 2;
  bool interleaved = getLayout() == SinusoidLayout::interleaved;
  double base = getBase().convertToDouble();
  HostTensor result(Element::F32, shape);
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    int64_t position = i / width, column = i % width;
    int64_t pair = interleaved ? column / 2 : column % half;
    bool isSine = interleaved ? column % 2 == 0 : column < half;
    double exponent =
        interleaved ? 2.0 * pair / width : 1.0 * pair / (half - 1);
    double angle = position / std::pow(base, exponent);
    result.mutableAs<float>()[i] =
        static_cast<float>(isSine ? std::sin(angle) : std::cos(angle));
  }
  results.push_back(result);
  return success();
}

LogicalResult PaddingMaskOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  const HostTensor &ids = OperandValues(*this, operands)(getIds());
  SmallVector<int64_t> shape(ids.getShape());
  int64_t tokens = shape.back(), more = getClassToken(), pad = getPad();
  shape.back() += more;
  HostTensor result(Element::I1, shape);
  for (int64_t i = 0, e = result.size(); i < e; ++i) {
    int64_t row = i / (tokens + more), column = i % (tokens + more);
    int64_t token = std::max<int64_t>(column - more, 0);
    result.mutableAs<uint8_t>()[i] =
        ids.as<int64_t>()[row * tokens + token] != pad;
  }
  results.push_back(result);
  return success();
}

LogicalResult PositionIdsOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  const HostTensor &valid = OperandValues(*this, operands)(getValid());
  int64_t tokens = valid.getShape().back(), before = getOffset() - 1;
  HostTensor result(Element::I64, valid.getShape());
  for (int64_t i = 0, e = result.size(), count = 0; i < e; ++i) {
    count = i % tokens == 0 ? 0 : count;
    count += valid.as<uint8_t>()[i] || !getCounted();
    result.mutableAs<int64_t>()[i] =
        before + (valid.as<uint8_t>()[i] ? count : 0);
  }
  results.push_back(result);
  return success();
}

LogicalResult MaskFactorsOp::evaluate(ArrayRef<HostTensor> operands,
                                      SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &valid = value(getValid());
  SmallVector<int64_t> shape(valid.getShape());
  shape.push_back(1);
  HostTensor result(value.resultElement(), shape);
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, e = result.size(); i < e; ++i) {
      result.mutableAs<T>()[i] = valid.as<uint8_t>()[i] ? T(1) : T(0);
    }
  });
  results.push_back(result);
  return success();
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

namespace {
/// An image that is unfolded: what a kernel sees of it, or of each of its
/// parts, as it moves over them. Pairs are numbers down and across.
struct UnfoldedImage {
  int64_t batch, channels, height, width;
  /// Of the parts, which are images of their own: all of it, or squares.
  int64_t partHeight, partWidth;
  using Pair = std::array<int64_t, 2>;
  Pair kernel, stride, padding = {0, 0}, dilation = {1, 1};
  /// Pixel after pixel with all channels, instead of channel after channel.
  bool isOfTokens = false;

  int64_t partsDown() const { return height / partHeight; }
  int64_t partsAcross() const { return width / partWidth; }
  /// Steps that a kernel can take along a side with its rims, and its start.
  int64_t placesAlong(int64_t axis) const {
    int64_t side = axis == 0 ? partHeight : partWidth;
    int64_t last = (kernel[axis] - 1) * dilation[axis]; // pixel of the kernel
    return (side + 2 * padding[axis] - last - 1) / stride[axis] + 1;
  }
};
} // namespace

/// The rows of an image, or of its tokens, that is unfolded.
static HostTensor unfold(const HostTensor &x, const UnfoldedImage &of) {
  int64_t placesAcross = of.placesAlong(1);
  int64_t places = of.placesAlong(0) * placesAcross;
  int64_t parts = of.partsDown() * of.partsAcross();
  HostTensor result(
      x.getElement(),
      {of.batch * parts, places, of.channels * of.kernel[0] * of.kernel[1]});
  withNumberType(x.getElement(), [&](auto zero) {
    using T = decltype(zero);
    T *out = result.mutableAs<T>();
    auto pixel = [&](int64_t entry, int64_t c, int64_t y, int64_t x_) -> T {
      int64_t at =
          of.isOfTokens
              ? ((entry * of.height + y) * of.width + x_) * of.channels + c
              : ((entry * of.channels + c) * of.height + y) * of.width + x_;
      return x.as<T>()[at];
    };
    for (int64_t row = 0; row < of.batch * parts * places; ++row) {
      int64_t entry = row / (parts * places);
      int64_t part = row / places % parts, place = row % places;
      int64_t top = part / of.partsAcross() * of.partHeight;
      int64_t left = part % of.partsAcross() * of.partWidth;
      for (int64_t c = 0; c < of.channels; ++c) {
        for (int64_t i = 0; i < of.kernel[0]; ++i) {
          for (int64_t j = 0; j < of.kernel[1]; ++j) {
            int64_t y = place / placesAcross * of.stride[0] +
                        i * of.dilation[0] - of.padding[0];
            int64_t x_ = place % placesAcross * of.stride[1] +
                         j * of.dilation[1] - of.padding[1];
            bool isInside =
                y >= 0 && y < of.partHeight && x_ >= 0 && x_ < of.partWidth;
            *out++ = isInside ? pixel(entry, c, top + y, left + x_) : T(0);
          }
        }
      }
    }
  });
  return result;
}

LogicalResult PatchEmbeddingOp::evaluate(ArrayRef<HostTensor> operands,
                                         SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &image = value(getImage());
  ArrayRef<int64_t> shape = image.getShape();
  int64_t patch = getPatch();
  UnfoldedImage patches{shape[0], shape[1], shape[2],       shape[3],
                        shape[2], shape[3], {patch, patch}, {patch, patch}};
  results.push_back(evaluateLinear(
      unfold(image, patches), value(getWeight()), value.optional(getBias()),
      /*transposed=*/false, value.resultElement()));
  return success();
}

SmallVector<OpOperand *> PatchEmbeddingOp::getSummands() {
  return llvm::to_vector(llvm::make_pointer_range((*this)->getOpOperands()));
}

LogicalResult UnfoldOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = OperandValues(*this, operands)(getX());
  ArrayRef<int64_t> shape = x.getShape();
  UnfoldedImage image{};
  image.batch = shape[0];
  image.isOfTokens = getGrid().has_value();
  image.channels = image.isOfTokens ? shape[2] : shape[1];
  image.height = image.isOfTokens ? (*getGrid())[0] : shape[2];
  image.width = image.isOfTokens ? (*getGrid())[1] : shape[3];
  image.partHeight = getWithin().value_or(image.height);
  image.partWidth = getWithin().value_or(image.width);
  auto read = [](ArrayRef<int64_t> numbers) {
    return UnfoldedImage::Pair{numbers[0], numbers[1]};
  };
  image.kernel = read(getKernel());
  image.stride = read(getStride());
  image.padding = read(getPadding());
  image.dilation = read(getDilation());
  results.push_back(unfold(x, image));
  return success();
}

//===----------------------------------------------------------------------===//
// Joining and cutting
//===----------------------------------------------------------------------===//

/// Joins tensors that agree in all other dimensions along `axis`.
static HostTensor join(ArrayRef<HostTensor> inputs, int64_t axis,
                       Element element) {
  SmallVector<int64_t> shape(inputs.front().getShape());
  shape[axis] = 0;
  for (const HostTensor &input : inputs) {
    shape[axis] += input.getShape()[axis];
  }
  HostTensor result(element, shape);
  withNumberType(element, [&](auto zero) {
    using T = decltype(zero);
    int64_t outer = rowCount(ArrayRef(shape).take_front(axis + 1));
    int64_t pitch = outer ? result.size() / outer : 0, offset = 0;
    for (const HostTensor &input : inputs) {
      Numbers<T> from(input);
      int64_t part = outer ? input.size() / outer : 0;
      for (int64_t i = 0; i < outer; ++i) {
        std::copy_n(from.data() + i * part, part,
                    result.mutableAs<T>() + i * pitch + offset);
      }
      offset += part;
    }
  });
  return result;
}

LogicalResult ConcatOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  Element element = OperandValues(*this, operands).resultElement();
  results.push_back(join(operands, getAxis(), element));
  return success();
}

LogicalResult SliceOp::evaluate(ArrayRef<HostTensor> operands,
                                SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = OperandValues(*this, operands)(getX());
  int64_t axis = getAxis(), offset = getOffset();
  SmallVector<int64_t> shape(x.getShape());
  int64_t extent = shape[axis];
  shape[axis] = cast<ShapedType>(getResult().getType()).getShape()[axis];
  if (ShapedType::isDynamic(shape[axis])) {
    return emitOpError("expects a static size to evaluate");
  }
  HostTensor result(x.getElement(), shape);
  withNumberType(x.getElement(), [&](auto zero) {
    using T = decltype(zero);
    int64_t outer = rowCount(ArrayRef(shape).take_front(axis + 1));
    int64_t inner = 1;
    for (int64_t dim : ArrayRef(shape).drop_front(axis + 1)) {
      inner *= dim;
    }
    for (int64_t i = 0; i < outer; ++i) {
      std::copy_n(x.as<T>() + (i * extent + offset) * inner,
                  shape[axis] * inner,
                  result.mutableAs<T>() + i * shape[axis] * inner);
    }
  });
  results.push_back(result);
  return success();
}

LogicalResult PadOp::evaluate(ArrayRef<HostTensor> operands,
                              SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = OperandValues(*this, operands)(getX());
  int64_t axis = getAxis(), before = getBefore();
  SmallVector<int64_t> front(x.getShape()), after(x.getShape());
  int64_t size = cast<ShapedType>(getResult().getType()).getShape()[axis];
  if (ShapedType::isDynamic(size)) {
    return emitOpError("expects a static size to evaluate");
  }
  front[axis] = before;
  after[axis] = size - before - x.getShape()[axis];
  HostTensor zeros(x.getElement(), front), more(x.getElement(), after);
  results.push_back(join({zeros, x, more}, axis, x.getElement()));
  return success();
}

LogicalResult RepeatOp::evaluate(ArrayRef<HostTensor> operands,
                                 SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  auto type = cast<ShapedType>(getResult().getType());
  if (!type.hasStaticShape()) {
    return emitOpError("expects a static shape to evaluate");
  }
  HostTensor x = castTo(value(getX()), value.resultElement());
  HostTensor result(x.getElement(), type.getShape());
  withNumberType(x.getElement(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t item = 0; item < type.getDimSize(0); ++item) {
      std::copy_n(x.as<T>(), x.size(), result.mutableAs<T>() + item * x.size());
    }
  });
  results.push_back(result);
  return success();
}

LogicalResult ReshapeOp::evaluate(ArrayRef<HostTensor> operands,
                                  SmallVectorImpl<HostTensor> &results) {
  const HostTensor &x = OperandValues(*this, operands)(getX());
  auto type = cast<ShapedType>(getResult().getType());
  if (!type.hasStaticShape()) {
    return emitOpError("expects a static shape to evaluate");
  }
  HostTensor result(x.getElement(), type.getShape());
  std::memcpy(result.mutableData(), x.data(),
              x.size() * HostTensor::elementBytes(x.getElement()));
  results.push_back(result);
  return success();
}

LogicalResult ClassTokenOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  OperandValues value(*this, operands);
  const HostTensor &x = value(getX());
  int64_t batch = x.getShape()[0], width = x.getShape()[2];
  // The same token in front of every batch entry.
  HostTensor token = castTo(value(getToken()), value.resultElement());
  HostTensor first(value.resultElement(), {batch, 1, width});
  withNumberType(first.getElement(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t b = 0; b < batch; ++b) {
      std::copy_n(token.as<T>(), width, first.mutableAs<T>() + b * width);
    }
  });
  results.push_back(join({first, x}, /*axis=*/1, value.resultElement()));
  return success();
}

//===----------------------------------------------------------------------===//
// Layers of an omnidirectional attention
//===----------------------------------------------------------------------===//

/// K states `[batch, tokens, width]` to `[batch, tokens*K, width]`,
/// token-major.
static HostTensor evaluateIndexSort(ArrayRef<HostTensor> states) {
  ArrayRef<int64_t> shape = states.front().getShape();
  int64_t layers = states.size(), width = shape[2];
  Element element = Element::F32;
  for (const HostTensor &state : states) {
    element = state.getElement() == Element::F64 ? Element::F64 : element;
  }
  HostTensor result(element, {shape[0], shape[1] * layers, width});
  withNumberType(element, [&](auto zero) {
    using T = decltype(zero);
    for (auto [layer, state] : llvm::enumerate(states)) {
      Numbers<T> from(state);
      for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
        std::copy_n(from.data() + i * width, width,
                    result.mutableAs<T>() +
                        (i * layers + static_cast<int64_t>(layer)) * width);
      }
    }
  });
  return result;
}

LogicalResult IndexSortOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  results.push_back(evaluateIndexSort(operands));
  return success();
}

/// The maximum of every group of `layers` rows; NaN propagates.
static HostTensor evaluateLayerPool(const HostTensor &x, int64_t layers) {
  ArrayRef<int64_t> shape = x.getShape();
  int64_t tokens = shape[1] / layers, width = shape[2];
  HostTensor result(x.getElement(), {shape[0], tokens, width});
  withNumberType(x.getElement(), [&](auto zero) {
    using T = decltype(zero);
    for (int64_t i = 0, e = result.size(); i < e; ++i) {
      const T *group = x.as<T>() + i / width * layers * width + i % width;
      T peak = group[0];
      for (int64_t l = 1; l < layers; ++l) {
        T candidate = group[l * width];
        peak = std::isnan(candidate) || candidate > peak ? candidate : peak;
      }
      result.mutableAs<T>()[i] = peak;
    }
  });
  return result;
}

LogicalResult LayerPoolOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  results.push_back(
      evaluateLayerPool(OperandValues(*this, operands)(getX()), getLayers()));
  return success();
}
