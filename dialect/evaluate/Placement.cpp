//===- Placement.cpp - Meaning of rearranged rows -------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The definitions of docs/description.md, token by token: the image is rolled,
// then cut. Compiled programs find rows by tables that the compiler makes
// (dialect/Placement.cpp, dialect/placement/Tables.cpp). Nothing here may use
// those, or a wrong shift would be wrong on both sides.

#include "dialect/evaluate/Evaluate.h"
#include "dialect/placement/PlacementOps.h"

using namespace mlir;
using namespace hova;

using Element = HostTensor::Element;

//===----------------------------------------------------------------------===//
// Placements
//===----------------------------------------------------------------------===//

/// Copies token `from` of x to token `to` of y; a token is `width` elements.
static void copyToken(const HostTensor &x, int64_t from, HostTensor &y,
                      int64_t to, int64_t width) {
  int64_t bytes = width * HostTensor::elementBytes(x.getElement());
  std::copy_n(static_cast<const char *>(x.data()) + from * bytes, bytes,
              static_cast<char *>(y.mutableData()) + to * bytes);
}

namespace {
/// Where the roll and the cut bring a token of the image.
struct WindowToken {
  int64_t window; ///< of this image
  int64_t token;  ///< of the window

  WindowToken(WindowAttr rule, int64_t y, int64_t x) {
    // Rolled up and to the left, what leaves the image comes back at its end.
    int64_t rolledY = y - rule.getShiftHeight();
    int64_t rolledX = x - rule.getShiftWidth();
    rolledY += rolledY < 0 ? rule.getGridHeight() : 0;
    rolledX += rolledX < 0 ? rule.getGridWidth() : 0;
    int64_t windowsAcross = rule.getGridWidth() / rule.getWidth();
    window =
        rolledY / rule.getHeight() * windowsAcross + rolledX / rule.getWidth();
    token = rolledY % rule.getHeight() * rule.getWidth() +
            rolledX % rule.getWidth();
  }
};
} // namespace

/// Calls `visit(token of the images, token of the windows)` for each.
static void
forEachWindowToken(WindowAttr rule, int64_t images,
                   llvm::function_ref<void(int64_t, int64_t)> visit) {
  int64_t height = rule.getGridHeight(), width = rule.getGridWidth();
  int64_t perWindow = rule.getHeight() * rule.getWidth();
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t y = 0; y < height; ++y) {
      for (int64_t x = 0; x < width; ++x) {
        WindowToken to(rule, y, x);
        int64_t first = image * height * width;
        visit(first + y * width + x, first + to.window * perWindow + to.token);
      }
    }
  }
}

HostTensor WindowAttr::evaluate(const HostTensor &x) const {
  int64_t images = x.getShape()[0], tokens = x.getShape()[1];
  int64_t perWindow = getHeight() * getWidth(), width = x.getShape()[2];
  HostTensor y(x.getElement(), {images * tokens / perWindow, perWindow, width});
  forEachWindowToken(*this, images, [&](int64_t image, int64_t window) {
    copyToken(x, image, y, window, width);
  });
  return y;
}

HostTensor WindowAttr::evaluateInverse(const HostTensor &placed) const {
  int64_t tokens = getGridHeight() * getGridWidth();
  int64_t all = placed.getShape()[0] * placed.getShape()[1];
  int64_t images = all / tokens, width = placed.getShape()[2];
  HostTensor x(placed.getElement(), {images, tokens, width});
  forEachWindowToken(*this, images, [&](int64_t image, int64_t window) {
    copyToken(placed, window, x, image, width);
  });
  return x;
}

HostTensor MergeAttr::evaluate(const HostTensor &x) const {
  int64_t images = x.getShape()[0], width = x.getShape()[2];
  int64_t area = getHeight() * getWidth();
  int64_t gridHeight = getGridHeight(), gridWidth = getGridWidth();
  HostTensor y(x.getElement(),
               {images, gridHeight * gridWidth / area, area * width});
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t row = 0; row < gridHeight; ++row) {
      for (int64_t column = 0; column < gridWidth; ++column) {
        int64_t block =
            row / getHeight() * (gridWidth / getWidth()) + column / getWidth();
        // Upper left, lower left, upper right, lower right.
        int64_t place = column % getWidth() * getHeight() + row % getHeight();
        int64_t first = image * gridHeight * gridWidth;
        copyToken(x, first + row * gridWidth + column, y,
                  first + block * area + place, width);
      }
    }
  }
  return y;
}

HostTensor InverseAttr::evaluate(const HostTensor &x) const {
  return getPlacement().evaluateInverse(x);
}

HostTensor InverseAttr::evaluateInverse(const HostTensor &placed) const {
  return getPlacement().evaluate(placed);
}

HostTensor ChainAttr::evaluate(const HostTensor &x) const {
  HostTensor y = x;
  for (PlacementAttrInterface step : getPlacements()) {
    y = step.evaluate(y);
  }
  return y;
}

HostTensor ChainAttr::evaluateInverse(const HostTensor &placed) const {
  HostTensor x = placed;
  for (PlacementAttrInterface step : llvm::reverse(getPlacements())) {
    x = step.evaluateInverse(x);
  }
  return x;
}

LogicalResult RearrangeOp::evaluate(ArrayRef<HostTensor> operands,
                                    SmallVectorImpl<HostTensor> &results) {
  results.push_back(getPlacement().evaluate(operands.front()));
  return success();
}

LogicalResult RowTableOp::evaluate(ArrayRef<HostTensor>,
                                   SmallVectorImpl<HostTensor> &results) {
  // The rows of a tensor that has the number of each as its elements: one
  // column for each segment.
  SmallVector<int64_t> shape(getSource());
  shape.back() = 1;
  HostTensor numbers(Element::I64, shape);
  for (int64_t i = 0, e = numbers.size(); i < e; ++i) {
    numbers.mutableAs<int64_t>()[i] = i;
  }
  HostTensor placed = getPlacement().evaluate(numbers);
  HostTensor result(Element::I64, placed.size());
  std::copy_n(placed.as<int64_t>(), placed.size(), result.mutableAs<int64_t>());
  results.push_back(result);
  return success();
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

namespace {
/// Windows by the edges of the rolled image at which a roll has brought tokens
/// of its other end into them.
struct WindowClass {
  bool atLowerEdge, atRightEdge;

  static int64_t howMany(WindowAttr rule) {
    return (rule.getShiftHeight() > 0 ? 2 : 1) *
           (rule.getShiftWidth() > 0 ? 2 : 1);
  }
  static WindowClass of(WindowAttr rule, int64_t number) {
    bool rollsUp = rule.getShiftHeight() > 0;
    bool rollsLeft = rule.getShiftWidth() > 0;
    if (rollsUp && rollsLeft) {
      return {number / 2 == 1, number % 2 == 1};
    }
    return {rollsUp && number == 1, rollsLeft && number == 1};
  }
  /// Whether two tokens of such a window were no neighbours before the roll.
  bool separates(WindowAttr rule, int64_t i, int64_t j) const {
    auto cameFromAbove = [&](int64_t token) {
      int64_t y = token / rule.getWidth();
      return atLowerEdge && y + rule.getShiftHeight() >= rule.getHeight();
    };
    auto cameFromLeft = [&](int64_t token) {
      int64_t x = token % rule.getWidth();
      return atRightEdge && x + rule.getShiftWidth() >= rule.getWidth();
    };
    return cameFromAbove(i) != cameFromAbove(j) ||
           cameFromLeft(i) != cameFromLeft(j);
  }
};
} // namespace

LogicalResult WindowBiasOp::evaluate(ArrayRef<HostTensor> operands,
                                     SmallVectorImpl<HostTensor> &results) {
  const HostTensor *table = OperandValues(*this, operands).optional(getTable());
  WindowAttr rule = getWindow();
  int64_t height = rule.getHeight(), width = rule.getWidth();
  int64_t tokens = height * width, heads = table ? table->getShape()[1] : 1;
  int64_t classes = WindowClass::howMany(rule);
  HostTensor result(table ? table->getElement() : Element::F32,
                    {classes, heads, tokens, tokens});
  withNumberType(result.getElement(), [&](auto zero) {
    using T = decltype(zero);
    T maskValue = static_cast<T>(getMaskValue().convertToDouble());
    T *out = result.mutableAs<T>();
    for (int64_t number = 0; number < classes; ++number) {
      WindowClass windowClass = WindowClass::of(rule, number);
      for (int64_t head = 0; head < heads; ++head) {
        for (int64_t i = 0; i < tokens; ++i) {
          for (int64_t j = 0; j < tokens; ++j) {
            // A row for each difference, query less key, the least first.
            int64_t dy = i / width - j / width, dx = i % width - j % width;
            int64_t row =
                (dy + height - 1) * (2 * width - 1) + (dx + width - 1);
            T bias = table ? table->as<T>()[row * heads + head] : T(0);
            *out++ =
                windowClass.separates(rule, i, j) ? bias + maskValue : bias;
          }
        }
      }
    }
  });
  results.push_back(result);
  return success();
}

LogicalResult WindowOffsetsOp::evaluate(ArrayRef<HostTensor>,
                                        SmallVectorImpl<HostTensor> &results) {
  int64_t height = getWindow().getHeight(), width = getWindow().getWidth();
  auto logarithmic = [](int64_t difference, int64_t side) {
    double sign = difference < 0 ? -1 : 1;
    double share = 8.0 * static_cast<double>(std::abs(difference)) /
                   static_cast<double>(side > 1 ? side - 1 : 1);
    return sign * std::log2(1 + share) / 3;
  };
  HostTensor result(Element::F32, {(2 * height - 1) * (2 * width - 1), 2});
  float *out = result.mutableAs<float>();
  for (int64_t dy = 1 - height; dy < height; ++dy) {
    for (int64_t dx = 1 - width; dx < width; ++dx) {
      *out++ = static_cast<float>(logarithmic(dy, getReference()[0]));
      *out++ = static_cast<float>(logarithmic(dx, getReference()[1]));
    }
  }
  results.push_back(result);
  return success();
}

LogicalResult WindowClassesOp::evaluate(ArrayRef<HostTensor>,
                                        SmallVectorImpl<HostTensor> &results) {
  WindowAttr rule = getWindow();
  int64_t down = rule.getGridHeight() / rule.getHeight();
  int64_t across = rule.getGridWidth() / rule.getWidth();
  HostTensor result(Element::I64, down * across);
  for (int64_t y = 0; y < down; ++y) {
    for (int64_t x = 0; x < across; ++x) {
      for (int64_t number = 0; number < WindowClass::howMany(rule); ++number) {
        WindowClass candidate = WindowClass::of(rule, number);
        if (candidate.atLowerEdge ==
                (rule.getShiftHeight() > 0 && y == down - 1) &&
            candidate.atRightEdge ==
                (rule.getShiftWidth() > 0 && x == across - 1)) {
          result.mutableAs<int64_t>()[y * across + x] = number;
        }
      }
    }
  }
  results.push_back(result);
  return success();
}
