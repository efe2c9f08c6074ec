//===- ConstantBuilder.h - Nested constants of LLVM IR --------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Structures of hova_runtime.h are built field by field, in its order: LLVM
// lays out structures as C does.

#ifndef HOVA_CODEGEN_PROGRAM_CONSTANTBUILDER_H
#define HOVA_CODEGEN_PROGRAM_CONSTANTBUILDER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"

namespace hova {

/// Builds constants, and private globals for what they point to.
class ConstantBuilder {
public:
  explicit ConstantBuilder(llvm::Module &module)
      : module(module), context(module.getContext()) {}

  llvm::Constant *i32(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), value);
  }
  llvm::Constant *i64(uint64_t value) {
    return llvm::ConstantInt::get(llvm::Type::getInt64Ty(context), value);
  }
  llvm::Constant *null() {
    return llvm::ConstantPointerNull::get(
        llvm::PointerType::getUnqual(context));
  }
  llvm::Constant *text(llvm::StringRef value) {
    return global(llvm::ConstantDataArray::getString(context, value));
  }
  /// A file, aligned to a line of the cache as where a device reads it.
  llvm::Constant *file(llvm::StringRef contents) {
    llvm::Constant *bytes = llvm::ConstantDataArray::getString(
        context, contents, /*AddNull=*/false);
    llvm::GlobalVariable *variable = global(bytes);
    variable->setAlignment(llvm::Align(64));
    return variable;
  }
  /// The contents of a section of its own.
  llvm::Constant *section(llvm::StringRef name, llvm::StringRef contents) {
    llvm::GlobalVariable *variable =
        global(llvm::ConstantDataArray::getString(context, contents,
                                                  /*AddNull=*/false));
    variable->setSection(name);
    variable->setAlignment(llvm::Align(1));
    return variable;
  }
  /// Numbers, aligned as a file is.
  llvm::Constant *table(llvm::ArrayRef<int64_t> numbers) {
    llvm::SmallVector<uint64_t> values(numbers.begin(), numbers.end());
    llvm::GlobalVariable *variable =
        global(llvm::ConstantDataArray::get(context, values));
    variable->setAlignment(llvm::Align(64));
    return variable;
  }
  llvm::Constant *dims(llvm::ArrayRef<int64_t> shape) {
    llvm::SmallVector<uint64_t> values(shape.begin(), shape.end());
    return values.empty()
               ? null()
               : global(llvm::ConstantDataArray::get(context, values));
  }
  llvm::Constant *record(llvm::ArrayRef<llvm::Constant *> fields) {
    return llvm::ConstantStruct::getAnon(context, fields);
  }
  llvm::Constant *array(llvm::ArrayRef<llvm::Constant *> records) {
    if (records.empty()) {
      return null();
    }
    auto type =
        llvm::ArrayType::get(records.front()->getType(), records.size());
    return global(llvm::ConstantArray::get(type, records));
  }

  /// A function of this module or, hidden, of another one.
  llvm::Constant *function(llvm::StringRef name) {
    auto type = llvm::FunctionType::get(llvm::Type::getVoidTy(context), false);
    auto function = llvm::cast<llvm::Function>(
        module.getOrInsertFunction(name, type).getCallee());
    function->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return function;
  }

  /// A constant of this module or, hidden, of another one.
  llvm::Constant *constant(llvm::StringRef name) {
    auto constant = llvm::cast<llvm::GlobalVariable>(
        module.getOrInsertGlobal(name, llvm::Type::getInt64Ty(context)));
    constant->setVisibility(llvm::GlobalValue::HiddenVisibility);
    return constant;
  }

private:
  llvm::GlobalVariable *global(llvm::Constant *value) {
    auto variable = new llvm::GlobalVariable(
        module, value->getType(), /*isConstant=*/true,
        llvm::GlobalValue::PrivateLinkage, value, "hova_data");
    variable->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
    return variable;
  }

  llvm::Module &module;
  llvm::LLVMContext &context;
};

} // namespace hova

#endif // HOVA_CODEGEN_PROGRAM_CONSTANTBUILDER_H
