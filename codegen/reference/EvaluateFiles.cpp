//===- EvaluateFiles.cpp - Reference evaluation of tensor files -----------===//
// SPDX-License-Identifier: Apache-2.0

#include "codegen/reference/EvaluateFiles.h"
#include "dialect/Storage.h"
#include "runtime/Error.h"
#include "runtime/Npy.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include <cstring>

using namespace mlir;
using namespace hova;

using Element = HostTensor::Element;

static std::string shapeText(ArrayRef<int64_t> shape) {
  std::string text;
  for (int64_t dim : shape) {
    text += (text.empty() ? "" : ", ") +
            (ShapedType::isDynamic(dim) ? "?" : std::to_string(dim));
  }
  return "[" + text + "]";
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Carries whether the file could not be read at all: another exit status.
static llvm::Error fileError(const hova_error &error) {
  return llvm::createStringError(error.status == HOVA_IO_ERROR
                                     ? std::errc::io_error
                                     : std::errc::invalid_argument,
                                 "%s", error.text);
}

static Element elementOf(hova_element element) {
  if (element == HOVA_ELEMENT_F64) {
    return Element::F64;
  }
  if (element == HOVA_ELEMENT_BOOL) {
    return Element::I1;
  }
  return hova_element_is_float(element) ? Element::F32 : Element::I64;
}

/// Integers of 64 bits are read as they are: a double would round them.
static void readElements(const hova_npy &npy, HostTensor &tensor) {
  int64_t count = tensor.size();
  const void *data = npy.data.data;
  for (int64_t i = 0; i < count; ++i) {
    if (npy.element == HOVA_ELEMENT_I64) {
      std::memcpy(tensor.mutableAs<int64_t>() + i,
                  static_cast<const char *>(data) + i * 8, 8);
      continue;
    }
    double value = hova_element_value(npy.element, data, i);
    switch (tensor.getElement()) {
    case Element::F64:
      tensor.mutableAs<double>()[i] = value;
      break;
    case Element::F32:
      tensor.mutableAs<float>()[i] = static_cast<float>(value);
      break;
    case Element::I64:
      tensor.mutableAs<int64_t>()[i] = static_cast<int64_t>(value);
      break;
    case Element::I1:
      tensor.mutableAs<uint8_t>()[i] = value != 0;
      break;
    }
  }
}

llvm::Expected<HostTensor> hova::readTensor(StringRef path) {
  hova_npy npy = {};
  hova_error error = {};
  if (hova_npy_open(path.str().c_str(), &npy, &error) != HOVA_OK) {
    return fileError(error);
  }
  HostTensor tensor(elementOf(npy.element),
                    ArrayRef<int64_t>(npy.dims, npy.rank));
  readElements(npy, tensor);
  hova_npy_close(&npy);
  return tensor;
}

llvm::Error hova::writeTensor(StringRef path, const HostTensor &tensor) {
  hova_element element = HOVA_ELEMENT_F64;
  switch (tensor.getElement()) {
  case Element::F64:
    break;
  case Element::F32:
    element = HOVA_ELEMENT_F32;
    break;
  case Element::I64:
    element = HOVA_ELEMENT_I64;
    break;
  case Element::I1:
    element = HOVA_ELEMENT_BOOL;
    break;
  }
  hova_error error = {};
  if (hova_npy_write(path.str().c_str(), element, tensor.getRank(),
                     tensor.getShape().data(), tensor.data(),
                     &error) != HOVA_OK) {
    return fileError(error);
  }
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

static std::string argumentName(func::FuncOp main, unsigned index) {
  auto name = main.getArgAttrOfType<StringAttr>(index, "hova.name");
  return name ? name.getValue().str() : "input" + std::to_string(index);
}

static std::string resultName(func::FuncOp main, unsigned index) {
  auto name = main.getResultAttrOfType<StringAttr>(index, "hova.name");
  return name ? name.getValue().str() : "output" + std::to_string(index);
}

/// What an array must be saved as for an argument of this type.
static const char *numpyName(Type type) {
  return type.isInteger(1)      ? "bool"
         : isa<FloatType>(type) ? "float32"
                                : "int64";
}

static const char *kindOf(Type type) {
  return type.isInteger(1)      ? "booleans"
         : isa<FloatType>(type) ? "floating-point numbers"
                                : "integers";
}

/// The kinds of element that an argument of this type takes.
static bool accepts(Type type, Element element) {
  if (type.isInteger(1)) {
    return element == Element::I1;
  }
  bool number = element == Element::F32 || element == Element::F64;
  return isa<FloatType>(type) ? number : element == Element::I64;
}

/// What a program has of numbers that are given to it in a type of 16 bits.
static HostTensor asStored(const HostTensor &tensor, Type type) {
  Storage storage = storageOf(type);
  if (storage == Storage::F32) {
    return tensor;
  }
  HostTensor numbers(Element::F32, tensor.getShape());
  for (int64_t i = 0, e = tensor.size(); i < e; ++i) {
    numbers.mutableAs<float>()[i] = static_cast<float>(tensor.at(i));
  }
  return roundTo(numbers, storage);
}

static llvm::Expected<HostTensor>
readArgument(func::FuncOp main, unsigned index, ArrayRef<NamedFile> files) {
  std::string name = argumentName(main, index);
  const NamedFile *file = llvm::find_if(files, [&](const NamedFile &file) {
    return file.name == name ||
           (file.name.empty() && main.getNumArguments() == 1);
  });
  if (file == files.end()) {
    return llvm::createStringError(
        "input '%s' is not given: use --input %s=FILE.npy", name.c_str(),
        name.c_str());
  }
  llvm::Expected<HostTensor> tensor = readTensor(file->path);
  if (!tensor) {
    return tensor.takeError();
  }
  auto type = cast<ShapedType>(main.getArgumentTypes()[index]);
  if (failed(verifyCompatibleShape(type.getShape(), tensor->getShape()))) {
    char hint[96] = "";
    if (type.getRank() == tensor->getRank()) {
      hova_format_batch_hint(hint, sizeof hint, type.getRank(),
                             type.getShape().data(), tensor->getShape().data());
    }
    return llvm::createStringError(
        "input '%s' expects shape %s, %s has %s%s", name.c_str(),
        shapeText(type.getShape()).c_str(), file->path.c_str(),
        shapeText(tensor->getShape()).c_str(), hint);
  }
  if (!accepts(type.getElementType(), tensor->getElement())) {
    return llvm::createStringError(
        "input '%s' expects %s; save %s with array.astype('%s')", name.c_str(),
        kindOf(type.getElementType()), file->path.c_str(),
        numpyName(type.getElementType()));
  }
  return asStored(*tensor, type.getElementType());
}

/// Every file is for an input of the model, and no other one is for it too.
static llvm::Error checkNames(func::FuncOp main, ArrayRef<NamedFile> files) {
  SmallVector<std::string> names;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    names.push_back(argumentName(main, i));
  }
  llvm::StringMap<StringRef> given;
  for (const NamedFile &file : files) {
    bool isOnly = file.name.empty() && names.size() == 1;
    const std::string &name = isOnly ? names.front() : file.name;
    if (!is_contained(names, name)) {
      return llvm::createStringError("the model has no input '" + name +
                                     "'; there is " + llvm::join(names, ", "));
    }
    auto [first, isNew] = given.try_emplace(name, file.path);
    if (!isNew) {
      return llvm::createStringError("input '" + name + "' is given twice: " +
                                     first->second + " and " + file.path);
    }
  }
  return llvm::Error::success();
}

std::vector<std::string> hova::outputFileNames(func::FuncOp main) {
  std::vector<std::string> names;
  for (unsigned i = 0; i < main.getNumResults(); ++i) {
    names.push_back(resultName(main, i) + ".npy");
  }
  return names;
}

llvm::Expected<SmallVector<HostTensor>>
hova::readInputs(func::FuncOp main, ArrayRef<NamedFile> inputs) {
  if (llvm::Error error = checkNames(main, inputs)) {
    return std::move(error);
  }
  SmallVector<HostTensor> arguments;
  for (unsigned i = 0; i < main.getNumArguments(); ++i) {
    llvm::Expected<HostTensor> argument = readArgument(main, i, inputs);
    if (!argument) {
      return argument.takeError();
    }
    arguments.push_back(*argument);
  }
  return arguments;
}

llvm::Error hova::evaluateFiles(func::FuncOp main, ArrayRef<NamedFile> inputs,
                                StringRef directory, RunFunction run) {
  llvm::Expected<SmallVector<HostTensor>> arguments = readInputs(main, inputs);
  if (!arguments) {
    return arguments.takeError();
  }
  llvm::Expected<SmallVector<HostTensor>> outputs = run(*arguments);
  if (!outputs) {
    return outputs.takeError();
  }
  if (std::error_code error = llvm::sys::fs::create_directories(
          directory, /*IgnoreExisting=*/true, llvm::sys::fs::all_all)) {
    return llvm::createStringError("cannot create %s: %s",
                                   directory.str().c_str(),
                                   error.message().c_str());
  }
  for (auto [name, output] : llvm::zip_equal(outputFileNames(main), *outputs)) {
    if (llvm::Error error =
            writeTensor((directory + "/" + name).str(), output)) {
      return error;
    }
  }
  return llvm::Error::success();
}
