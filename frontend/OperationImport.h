//===- OperationImport.h - One operation of a program as IR ---------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
// What an importer works with: the operands of a program's operation by their
// names, its attributes, the type of its result, and a builder. There is one
// importer per mnemonic; those of hova's dialect are in ImportOperations.cpp,
// plugins add theirs (frontend/Operator.h).
//
//===----------------------------------------------------------------------===//

#ifndef HOVA_FRONTEND_OPERATIONIMPORT_H
#define HOVA_FRONTEND_OPERATIONIMPORT_H

#include "frontend/elaborate/Program.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace hova::frontend {

class OperationImport {
public:
  /// The value of this number, as IR.
  using ValueOf = llvm::function_ref<mlir::Value(int)>;

  using IsRead = llvm::function_ref<bool(int)>;

  OperationImport(mlir::OpBuilder &builder, mlir::Location loc,
                  const Program &program, const ProgramOperation &op,
                  ValueOf valueOf, IsRead isRead)
      : builder(builder), loc(loc), program(program), op(op), valueOf(valueOf),
        isRead(isRead) {}

  mlir::OpBuilder &builder;
  const mlir::Location loc;

  /// The location of a part of the operation: its path over the line and column
  /// of a byte of the description.
  mlir::Location locationAt(size_t byte);

  // What is asked for and is not there, or of another kind, is a mistake of
  // whoever emitted the operation. It is noted, and the answer is of no
  // meaning; the same for what is there and nobody asks for.

  /// The operand called `role`.
  mlir::Value operand(llvm::StringRef role);
  /// The same; null if there is none.
  mlir::Value optionalOperand(llvm::StringRef role);
  /// All operands called `role`.
  llvm::SmallVector<mlir::Value> operands(llvm::StringRef role);
  /// The type of the result.
  mlir::RankedTensorType result();
  /// The type of a further result that something reads; null without.
  mlir::RankedTensorType result(llvm::StringRef name);

  bool has(const char *name);
  int64_t integer(const char *name);
  mlir::IntegerAttr integerAttr(const char *name);
  mlir::FloatAttr real(const char *name);
  llvm::StringRef word(const char *name);
  /// False where it is not given.
  bool boolean(const char *name);
  mlir::BoolAttr booleanAttr(const char *name);
  /// Null where the boolean is false or not given.
  mlir::UnitAttr unit(const char *name);
  /// What an attention says of its scores, which reads the operands "captured";
  /// null where it says nothing.
  const ScoreProgram *scores() const { return program.scoresOf(op); }
  /// The elements of a constant; null of other operations.
  const ConstantTable *constant() const {
    return program.findConstant(op.result);
  }
  /// The enumerator that a word names, as `symbolizePoolKind` finds it.
  template <typename Enum>
  Enum word(const char *name,
            std::optional<Enum> (*symbolize)(llvm::StringRef)) {
    std::optional<Enum> value = symbolize(word(name));
    if (!value) {
      note("with '" + word(name) + "' as attribute '" + name + "'");
    }
    return value.value_or(Enum());
  }

  /// The same as an attribute of the dialect.
  template <typename Attr, typename Enum>
  Attr enumerator(const char *name,
                  std::optional<Enum> (*symbolize)(llvm::StringRef)) {
    return Attr::get(builder.getContext(), word<Enum>(name, symbolize));
  }

  /// The attribute that a word writes without its `#`, as `hova.dot`; null
  /// after a mistake: nothing that can be parsed, or an attribute of another
  /// kind.
  template <typename Attr> Attr dialectAttribute(const char *name) {
    mlir::Attribute parsed = parseWord(name);
    auto found = mlir::dyn_cast_or_null<Attr>(parsed);
    if (parsed && !found) {
      note("with '#" + word(name) + "' as attribute '" + name +
           "', which cannot stand there");
    }
    return found;
  }

  /// The first mistake, as what follows "emits 'linear'"; empty if there is
  /// none. After all that the importer asks for.
  std::string findMistake();

private:
  const Program &program;
  const ProgramOperation &op;
  const ValueOf valueOf;
  const IsRead isRead;
  std::string mistake;
  /// What was asked for.
  std::vector<std::string> roles, names;

  void note(const llvm::Twine &why);
  const Scalar *attribute(const char *name, Scalar::Kind kind);
  mlir::Attribute parseWord(const char *name);
};

/// A dotted path over the line and column of a byte of the description.
mlir::Location locate(mlir::MLIRContext *context, const Program &program,
                      llvm::StringRef path, size_t byte);

/// The type of a value of a program as IR.
mlir::RankedTensorType importType(mlir::Builder &builder,
                                  const ValueType &type);

/// Makes the operation; its first result is that of the program's operation.
using OperationImporter = mlir::Operation *(*)(OperationImport &);

/// Adds the importer of the operations with this mnemonic. False where there is
/// one.
bool addOperationImporter(llvm::StringRef mnemonic, OperationImporter importer);

/// `; did you mean 'add'?`, or nothing.
std::string suggestOperation(llvm::StringRef mnemonic);

/// The importer of the operations with this mnemonic, or null.
OperationImporter findOperationImporter(llvm::StringRef mnemonic);

} // namespace hova::frontend

#endif // HOVA_FRONTEND_OPERATIONIMPORT_H
