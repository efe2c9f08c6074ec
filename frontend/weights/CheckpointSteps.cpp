//===- CheckpointSteps.cpp - What rules do with tensors -------------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// Every step first computes shapes; values follow only where they are present.
// Most steps move elements, and some are arithmetic: libraries store a gain as
// what is added to 1.
//
//===----------------------------------------------------------------------===//

#include "frontend/weights/Checkpoint.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace hova::frontend {

namespace {

int64_t count(const Shape &shape, size_t begin, size_t end) {
  int64_t product = 1;
  for (size_t i = begin; i < end; ++i) {
    product *= shape[i];
  }
  return product;
}

/// Copies `length` of the elements of `axis` from `from` on.
HostTensor sliceOf(const HostTensor &x, const Shape &shape, size_t axis,
                   int64_t from, int64_t length) {
  Shape part = shape;
  part[axis] = length;
  int64_t outer = count(shape, 0, axis);
  int64_t inner = count(shape, axis + 1, shape.size());
  HostTensor result(HostTensor::Element::F32, part);
  for (int64_t i = 0; i < outer; ++i) {
    std::copy_n(x.as<float>() + (i * shape[axis] + from) * inner,
                length * inner, result.mutableAs<float>() + i * length * inner);
  }
  return result;
}

void transposeMatrix(const float *x, float *y, int64_t rows, int64_t columns) {
  // Square blocks keep both sides near.
  constexpr int64_t block = 32;
  for (int64_t i = 0; i < rows; i += block) {
    for (int64_t j = 0; j < columns; j += block) {
      for (int64_t r = i; r < std::min(i + block, rows); ++r) {
        for (int64_t c = j; c < std::min(j + block, columns); ++c) {
          y[c * rows + r] = x[r * columns + c];
        }
      }
    }
  }
}

HostTensor permuted(const HostTensor &x, const Shape &shape,
                    const std::vector<size_t> &order, const Shape &result) {
  HostTensor tensor(HostTensor::Element::F32, result);
  float *out = tensor.mutableAs<float>();
  if (shape.size() == 2) {
    transposeMatrix(x.as<float>(), out, shape[0], shape[1]);
    return tensor;
  }
  std::vector<int64_t> strides(shape.size(), 1), index(shape.size(), 0);
  for (size_t i = shape.size() - 1; i-- > 0;) {
    strides[i] = strides[i + 1] * shape[i + 1];
  }
  for (int64_t i = 0, n = tensor.size(); i < n; ++i) {
    int64_t from = 0;
    for (size_t axis = 0; axis < order.size(); ++axis) {
      from += index[axis] * strides[order[axis]];
    }
    out[i] = x.as<float>()[from];
    for (size_t axis = order.size(); axis-- > 0;) {
      if (++index[axis] < result[axis]) {
        break;
      }
      index[axis] = 0;
    }
  }
  return tensor;
}

/// The steps of one rule on one list of tensors.
class StepRunner {
public:
  StepRunner(const Program &program, size_t count, std::optional<size_t> wanted)
      : program(program), count(count), wanted(wanted) {}

  llvm::Error run(const StepSpec &step, std::vector<Piece> &pieces);

private:
  llvm::Error apply(const StepSpec &step, Piece &piece);
  llvm::Error transpose(const StepSpec &step, Piece &piece);
  llvm::Error reshape(const StepSpec &step, Piece &piece);
  llvm::Error slice(const StepSpec &step, Piece &piece);
  llvm::Error split(const StepSpec &step, std::vector<Piece> &pieces);
  llvm::Error calculate(const StepSpec &step, Piece &piece);
  llvm::Error concatenate(const StepSpec &step, std::vector<Piece> &pieces);
  llvm::Error absorb(const StepSpec &step, std::vector<Piece> &pieces);

  llvm::Expected<Scalar> evaluate(const Setting &setting);
  llvm::Expected<std::vector<double>> realsOf(const std::vector<Setting> &list);
  llvm::Expected<int64_t> number(const Setting &setting);
  llvm::Expected<double> real(const Setting &setting);
  llvm::Expected<size_t> axisOf(const std::optional<Setting> &setting,
                                const Shape &shape);

  const Program &program;
  const size_t count;
  const std::optional<size_t> wanted;
};

llvm::Expected<Scalar> StepRunner::evaluate(const Setting &setting) {
  Lookup lookup = [&](std::string_view name) -> const Scalar * {
    auto found = program.parameters.find(std::string(name));
    return found == program.parameters.end() ? nullptr : &found->second;
  };
  TextError failure;
  std::optional<Scalar> value = setting.literal;
  if (!value && setting.expression) {
    value = setting.expression->evaluate(lookup, failure);
  }
  if (!value) {
    return llvm::createStringError(failure.message);
  }
  return *value;
}

llvm::Expected<int64_t> StepRunner::number(const Setting &setting) {
  llvm::Expected<Scalar> value = evaluate(setting);
  if (!value) {
    return value.takeError();
  }
  if (!value->is(Scalar::Kind::Integer)) {
    return llvm::createStringError("a number of a step is not an integer");
  }
  return value->integer;
}

llvm::Expected<std::vector<double>>
StepRunner::realsOf(const std::vector<Setting> &list) {
  std::vector<double> reals;
  for (const Setting &setting : list) {
    llvm::Expected<double> value = real(setting);
    if (!value) {
      return value.takeError();
    }
    reals.push_back(*value);
  }
  return reals;
}

llvm::Expected<double> StepRunner::real(const Setting &setting) {
  llvm::Expected<Scalar> value = evaluate(setting);
  if (!value) {
    return value.takeError();
  }
  std::string problem =
      value->isNumber()
          ? problemInF32(value->real)
          : "a step needs a number, got " + value->str();
  if (!problem.empty()) {
    return llvm::createStringError(problem);
  }
  return value->real;
}

llvm::Expected<size_t> StepRunner::axisOf(const std::optional<Setting> &setting,
                                          const Shape &shape) {
  llvm::Expected<int64_t> axis =
      setting ? number(*setting) : llvm::Expected<int64_t>(0);
  if (!axis) {
    return axis.takeError();
  }
  int64_t rank = static_cast<int64_t>(shape.size());
  int64_t counted = *axis < 0 ? *axis + rank : *axis;
  if (counted < 0 || counted >= rank) {
    return llvm::createStringError("no axis " + std::to_string(*axis) +
                                   " in shape " + str(shape));
  }
  return static_cast<size_t>(counted);
}

llvm::Error StepRunner::transpose(const StepSpec &step, Piece &piece) {
  size_t rank = piece.shape.size();
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (step.numbers.empty()) {
    if (rank < 2) {
      return llvm::createStringError("cannot transpose shape " +
                                     str(piece.shape));
    }
    std::swap(order[rank - 1], order[rank - 2]);
  } else {
    std::vector<size_t> given;
    for (const Setting &setting : step.numbers) {
      llvm::Expected<size_t> axis = axisOf(setting, piece.shape);
      if (!axis) {
        return axis.takeError();
      }
      given.push_back(*axis);
    }
    if (!std::is_permutation(given.begin(), given.end(), order.begin(),
                             order.end())) {
      return llvm::createStringError(
          "the axes of transpose are not a permutation for shape " +
          str(piece.shape));
    }
    order = std::move(given);
  }
  Shape result;
  for (size_t axis : order) {
    result.push_back(piece.shape[axis]);
  }
  if (piece.values) {
    bool moves = !std::is_sorted(order.begin(), order.end());
    piece.values = moves ? permuted(*piece.values, piece.shape, order, result)
                         : *piece.values;
  }
  piece.shape = std::move(result);
  return llvm::Error::success();
}

/// -1 is what the other dimensions leave, which is one number where there is
/// one -1.
llvm::Error StepRunner::reshape(const StepSpec &step, Piece &piece) {
  constexpr int64_t rest = -1;
  Shape result;
  for (const Setting &setting : step.numbers) {
    llvm::Expected<int64_t> dimension = number(setting);
    if (!dimension) {
      return dimension.takeError();
    }
    if ((*dimension < 1 && *dimension != rest) || *dimension > INT32_MAX) {
      return llvm::createStringError("no dimension: " +
                                     std::to_string(*dimension));
    }
    result.push_back(*dimension);
  }
  int64_t elements = 1;
  int64_t wanted = frontend::count(piece.shape, 0, piece.shape.size());
  bool overflow = result.size() > 8;
  for (int64_t dimension : result) {
    int64_t known = dimension == rest ? 1 : dimension;
    overflow |= __builtin_mul_overflow(elements, known, &elements);
  }
  bool isOpen = std::count(result.begin(), result.end(), rest) == 1;
  if (isOpen && !overflow && wanted % elements == 0) {
    *std::find(result.begin(), result.end(), rest) = wanted / elements;
    elements = wanted;
  }
  bool isWhole = std::count(result.begin(), result.end(), rest) == 0;
  if (overflow || !isWhole || elements != wanted) {
    return llvm::createStringError("cannot reshape " + str(piece.shape) +
                                   " to " + str(result));
  }
  if (piece.values) {
    auto owner = std::make_shared<HostTensor>(std::move(*piece.values));
    piece.values = HostTensor::view(HostTensor::Element::F32, result,
                                    owner->data(), owner);
  }
  piece.shape = std::move(result);
  return llvm::Error::success();
}

llvm::Error StepRunner::slice(const StepSpec &step, Piece &piece) {
  llvm::Expected<size_t> axis = axisOf(step.axis, piece.shape);
  if (!axis) {
    return axis.takeError();
  }
  int64_t size = piece.shape[*axis];
  llvm::Expected<int64_t> start =
      step.start ? number(*step.start) : llvm::Expected<int64_t>(0);
  if (!start) {
    return start.takeError();
  }
  llvm::Expected<int64_t> end =
      step.end ? number(*step.end) : llvm::Expected<int64_t>(size);
  if (!end) {
    return end.takeError();
  }
  if (*start < 0 || *start >= *end || *end > size) {
    return llvm::createStringError("the slice [" + std::to_string(*start) +
                                   ", " + std::to_string(*end) +
                                   ") of an axis of " + std::to_string(size));
  }
  if (piece.values) {
    piece.values =
        sliceOf(*piece.values, piece.shape, *axis, *start, *end - *start);
  }
  piece.shape[*axis] = *end - *start;
  return llvm::Error::success();
}

llvm::Error StepRunner::split(const StepSpec &step,
                              std::vector<Piece> &pieces) {
  if (pieces.size() != 1) {
    return llvm::createStringError("split needs one tensor, got " +
                                   std::to_string(pieces.size()));
  }
  Piece whole = std::move(pieces[0]);
  llvm::Expected<size_t> axis = axisOf(step.axis, whole.shape);
  if (!axis) {
    return axis.takeError();
  }
  int64_t parts = static_cast<int64_t>(count);
  if (whole.shape[*axis] % parts != 0) {
    return llvm::createStringError(
        "cannot split axis " + std::to_string(*axis) + " of " +
        str(whole.shape) + " into " + std::to_string(parts) + " equal parts");
  }
  int64_t length = whole.shape[*axis] / parts;
  pieces.clear();
  for (int64_t i = 0; i < parts; ++i) {
    Piece part;
    part.shape = whole.shape;
    part.shape[*axis] = length;
    bool needed = !wanted || static_cast<int64_t>(*wanted) == i;
    if (whole.values && needed) {
      part.values =
          sliceOf(*whole.values, whole.shape, *axis, i * length, length);
    }
    pieces.push_back(std::move(part));
  }
  return llvm::Error::success();
}

llvm::Error StepRunner::concatenate(const StepSpec &step,
                                    std::vector<Piece> &pieces) {
  assert(!pieces.empty() && "a rule reads a tensor");
  llvm::Expected<size_t> axis = axisOf(step.axis, pieces[0].shape);
  if (!axis) {
    return axis.takeError();
  }
  Piece joined;
  joined.shape = pieces[0].shape;
  joined.shape[*axis] = 0;
  for (const Piece &piece : pieces) {
    Shape expected = joined.shape;
    if (piece.shape.size() == expected.size()) {
      expected[*axis] = piece.shape[*axis];
    }
    if (piece.shape != expected) {
      return llvm::createStringError(
          "cannot concatenate " + str(pieces[0].shape) + " and " +
          str(piece.shape) + " along axis " + std::to_string(*axis));
    }
    joined.shape[*axis] += piece.shape[*axis];
  }
  if (pieces[0].values) {
    HostTensor result(HostTensor::Element::F32, joined.shape);
    int64_t outer = frontend::count(joined.shape, 0, *axis);
    float *out = result.mutableAs<float>();
    for (int64_t i = 0; i < outer; ++i) {
      for (const Piece &piece : pieces) {
        int64_t length =
            frontend::count(piece.shape, *axis, piece.shape.size());
        std::copy_n(piece.values->as<float>() + i * length, length, out);
        out += length;
      }
    }
    joined.values = std::move(result);
  }
  pieces.clear();
  pieces.push_back(std::move(joined));
  return llvm::Error::success();
}

/// x W + b  ->  (scale x + shift) W + b
///
/// The rows of the matrix belong to channels, as many to each, one channel
/// after the other. Sums are in f64, so that factors of 1 and summands of 0
/// change no bit.
llvm::Error StepRunner::absorb(const StepSpec &step,
                               std::vector<Piece> &pieces) {
  llvm::Expected<std::vector<double>> numbers = realsOf(step.numbers);
  if (!numbers) {
    return numbers.takeError();
  }
  auto channels = static_cast<int64_t>(numbers->size() / 2);
  bool isPair = pieces.size() == 2 && pieces[0].shape.size() == 2 &&
                pieces[0].shape[0] % channels == 0;
  int64_t rows = isPair ? pieces[0].shape[0] : 0;
  int64_t columns = isPair ? pieces[0].shape[1] : 0;
  if (!isPair ||
      frontend::count(pieces[1].shape, 0, pieces[1].shape.size()) != columns) {
    return llvm::createStringError("absorb needs a matrix with rows for " +
                                   std::to_string(channels) +
                                   " channels, and a bias");
  }
  pieces[1].shape = {columns};
  if (!pieces[0].values) {
    return llvm::Error::success();
  }
  HostTensor matrix(HostTensor::Element::F32, pieces[0].shape);
  HostTensor bias(HostTensor::Element::F32, pieces[1].shape);
  const float *x = pieces[0].values->as<float>();
  const float *b = pieces[1].values->as<float>();
  std::vector<double> sums(b, b + columns);
  for (int64_t row = 0; row < rows; ++row) {
    auto channel = static_cast<size_t>(row / (rows / channels));
    double scale = (*numbers)[channel];
    double shift = (*numbers)[channel + numbers->size() / 2];
    for (int64_t column = 0; column < columns; ++column) {
      double value = x[row * columns + column];
      matrix.mutableAs<float>()[row * columns + column] =
          static_cast<float>(scale * value);
      sums[column] += shift * value;
    }
  }
  std::copy(sums.begin(), sums.end(), bias.mutableAs<float>());
  pieces[0].values = std::move(matrix);
  pieces[1].values = std::move(bias);
  return llvm::Error::success();
}

/// Rounds each element once.
llvm::Error StepRunner::calculate(const StepSpec &step, Piece &piece) {
  llvm::Expected<double> by = real(step.numbers.front());
  if (!by) {
    return by.takeError();
  }
  if (!piece.values) {
    return llvm::Error::success();
  }
  bool adds = step.kind == StepSpec::Kind::Add;
  HostTensor result(HostTensor::Element::F32, piece.shape);
  const float *x = piece.values->as<float>();
  std::transform(
      x, x + result.size(), result.mutableAs<float>(), [&](double element) {
        return static_cast<float>(adds ? element + *by : element * *by);
      });
  piece.values = std::move(result);
  return llvm::Error::success();
}

llvm::Error StepRunner::apply(const StepSpec &step, Piece &piece) {
  switch (step.kind) {
  case StepSpec::Kind::Transpose:
    return transpose(step, piece);
  case StepSpec::Kind::Reshape:
    return reshape(step, piece);
  case StepSpec::Kind::Add:
  case StepSpec::Kind::Multiply:
    return calculate(step, piece);
  default:
    return slice(step, piece);
  }
}

llvm::Error StepRunner::run(const StepSpec &step, std::vector<Piece> &pieces) {
  if (step.kind == StepSpec::Kind::Split) {
    return split(step, pieces);
  }
  if (step.kind == StepSpec::Kind::Concatenate) {
    return concatenate(step, pieces);
  }
  if (step.kind == StepSpec::Kind::Absorb) {
    return absorb(step, pieces);
  }
  for (Piece &piece : pieces) {
    if (llvm::Error error = apply(step, piece)) {
      return error;
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::Error applySteps(const RuleSpec &rule, const Program &program,
                       std::vector<Piece> &pieces, size_t count,
                       std::optional<size_t> wanted) {
  StepRunner runner(program, count, wanted);
  for (const StepSpec &step : rule.steps) {
    if (llvm::Error error = runner.run(step, pieces)) {
      return error;
    }
  }
  if (pieces.size() != count) {
    return llvm::createStringError(
        "the rule makes " + std::to_string(pieces.size()) + " tensors for " +
        std::to_string(count) + " weights");
  }
  return llvm::Error::success();
}

} // namespace hova::frontend
