//===- Published.cpp - What papers print of a model, and what it is -------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "tools/inspect/Published.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <sstream>

namespace hova::inspect {

using namespace frontend;

namespace {

int64_t countParameters(const PublishedSpec &table, const Summary &summary) {
  switch (table.parameters) {
  case PublishedSpec::Parameters::Trainable:
    return summary.trainable;
  case PublishedSpec::Parameters::Dense:
    return summary.dense;
  case PublishedSpec::Parameters::All:
    return summary.trainable + summary.frozen;
  }
  llvm_unreachable("unknown way to count parameters");
}

int64_t countMacs(const PublishedSpec &table, const Summary &summary) {
  int64_t all = summary.linearMacs + summary.attentionMacs;
  switch (table.macs) {
  case PublishedSpec::Macs::All:
    return all;
  case PublishedSpec::Macs::Linear:
    return summary.linearMacs;
  case PublishedSpec::Macs::WithNorms:
    return all - summary.constantMacs + summary.normElements;
  }
  llvm_unreachable("unknown way to count multiply-accumulates");
}

/// What a table counts, for people.
std::string describeParameters(const PublishedSpec &table) {
  switch (table.parameters) {
  case PublishedSpec::Parameters::Trainable:
    return "trainable weights";
  case PublishedSpec::Parameters::Dense:
    return "weights and biases of dense and convolution layers";
  case PublishedSpec::Parameters::All:
    return "trainable and frozen weights";
  }
  llvm_unreachable("unknown way to count parameters");
}

std::string describeMacs(const PublishedSpec &table) {
  switch (table.macs) {
  case PublishedSpec::Macs::All:
    return "all";
  case PublishedSpec::Macs::Linear:
    return "of activations with weights";
  case PublishedSpec::Macs::WithNorms:
    return "those that depend on an input, and one for each element of a norm";
  }
  llvm_unreachable("unknown way to count multiply-accumulates");
}

/// The parameters of a row as options of the command line.
std::string optionsOf(const PublishedRowSpec &row) {
  std::string options;
  for (const auto &[name, value] : row.when) {
    options += " --set " + name + "=" + value.literal->str();
  }
  return options.empty() ? " (without --set)" : options;
}

/// The program of a row; null after an error.
std::unique_ptr<Program> elaborateRow(const Model &model,
                                      const PublishedRowSpec &row,
                                      const ModelOptions &options,
                                      llvm::raw_ostream &errors) {
  std::vector<ParameterOverride> overrides;
  for (const auto &[name, value] : row.when) {
    overrides.push_back(
        {name, value.literal->str(), "published row " + row.name});
  }
  reader::Diagnostics diagnostics(model.spec->source);
  auto program = elaborate(*model.spec, overrides, diagnostics);
  if (!program) {
    std::ostringstream text;
    diagnostics.print(text, options.format, options.color);
    errors << text.str();
  }
  return program;
}

PublishedComparison compare(const PublishedSpec &table,
                            const PublishedRowSpec &row,
                            const Summary &summary) {
  PublishedComparison comparison{&table, &row, {}};
  auto add = [&](const char *quantity, const std::optional<FigureSpec> &figure,
                 int64_t count) {
    if (figure) {
      comparison.figures.push_back({quantity, &*figure, count,
                                    printedLike(*figure, table.binary, count)});
    }
  };
  add("parameters", row.parameters, countParameters(table, summary));
  add("macs", row.macs, countMacs(table, summary));
  return comparison;
}

/// The rows of one table, with the notes below it.
void printOneTable(llvm::ArrayRef<PublishedComparison> rows,
                   llvm::raw_ostream &out) {
  const PublishedSpec &table = *rows.front().table;
  std::vector<std::vector<std::string>> cells = {
      {"Row", "Quantity", "Result", "Published", "Ours", "Count"}};
  std::vector<std::string> notes;
  for (const PublishedComparison &row : rows) {
    for (const FigureComparison &figure : row.figures) {
      std::string result = figure.agrees() ? "ok" : "differs";
      if (figure.isKnown()) {
        notes.push_back(figure.published->differs);
        result += ", known (" + std::to_string(notes.size()) + ")";
      }
      cells.push_back({reader::escaped(row.row->name),
                       figure.quantity == "macs" ? "mult-adds" : "parameters",
                       result, figure.published->text, figure.ours,
                       grouped(figure.count)});
    }
  }
  const char *base = table.binary ? "2^20 and 2^30" : "10^6 and 10^9";
  out << '\n'
      << reader::escaped(table.source) << '\n'
      << "parameters: " << describeParameters(table) << '\n'
      << "mult-adds:  " << describeMacs(table) << '\n'
      << "M and G:    " << base << '\n';
  printTable(cells, /*firstNumber=*/3, out);
  for (size_t i = 0; i < notes.size(); ++i) {
    out << '(' << i + 1 << ") " << reader::escaped(notes[i]) << '\n';
  }
}

/// Says that nothing is published, and of which variants something is.
void printNothing(const Model &model, llvm::raw_ostream &out) {
  std::string name = reader::escaped(model.program->name);
  if (model.spec->published.empty()) {
    out << name << " has no published figures in its description.\n";
    return;
  }
  out << name << " has no published figures with these parameters, but with:\n";
  for (const PublishedSpec &table : model.spec->published) {
    for (const PublishedRowSpec &row : table.rows) {
      out << "  " << reader::escaped(row.name) << ':'
          << reader::escaped(optionsOf(row)) << '\n';
    }
  }
}

} // namespace

std::string printedLike(const FigureSpec &figure, bool binary, int64_t count) {
  double unit = std::pow(binary ? 1024.0 : 1000.0, figure.thousands);
  // Formatting a number with decimals would round a half to the even digit.
  double factor = std::pow(10.0, figure.decimals);
  int64_t rounded = std::llround(static_cast<double>(count) / unit * factor);
  std::string digits = std::to_string(rounded);
  size_t decimals = static_cast<size_t>(figure.decimals);
  if (decimals > 0) {
    digits.insert(0, std::max(digits.size(), decimals + 1) - digits.size(),
                  '0');
    digits.insert(digits.size() - decimals, ".");
  }
  // The letter, if there is one, is the last of the figure.
  return figure.thousands > 0 ? digits + figure.text.back() : digits;
}

bool comparePublished(const Model &model, const ModelOptions &options,
                      mlir::MLIRContext &context,
                      std::vector<PublishedComparison> &rows,
                      llvm::raw_ostream &errors) {
  for (const PublishedSpec &table : model.spec->published) {
    for (const PublishedRowSpec &row : table.rows) {
      auto program = elaborateRow(model, row, options, errors);
      if (!program) {
        return false;
      }
      if (!options.overrides.empty() &&
          program->parameters != model.program->parameters) {
        continue;
      }
      rows.push_back(compare(table, row, summarize(*program, context)));
    }
  }
  return true;
}

void printPublishedText(const std::vector<PublishedComparison> &rows,
                        const Model &model, llvm::raw_ostream &out) {
  if (rows.empty()) {
    printNothing(model, out);
    return;
  }
  out << reader::escaped(model.program->name) << " beside what is published\n";
  llvm::ArrayRef<PublishedComparison> rest = rows;
  size_t figures = 0, agreeing = 0, known = 0;
  while (!rest.empty()) {
    auto rows = rest.take_while([&](const PublishedComparison &row) {
      return row.table == rest.front().table;
    });
    printOneTable(rows, out);
    rest = rest.drop_front(rows.size());
  }
  for (const PublishedComparison &row : rows) {
    figures += row.figures.size();
    agreeing += llvm::count_if(
        row.figures, [](const auto &figure) { return figure.agrees(); });
    known += llvm::count_if(
        row.figures, [](const auto &figure) { return figure.isKnown(); });
  }
  out << "\nFigures: " << figures << ", ok: " << agreeing
      << ", differing for a known reason: " << known
      << ", differing: " << figures - agreeing - known << '\n';
}

void printPublishedJson(const std::vector<PublishedComparison> &rows,
                        const Model &model, llvm::raw_ostream &out) {
  using llvm::json::Array;
  using llvm::json::Object;
  Array published;
  for (const PublishedComparison &row : rows) {
    Object set;
    for (const auto &[name, value] : row.row->when) {
      set[name] = jsonScalar(*value.literal);
    }
    Object entry{{"source", row.table->source},
                 {"row", row.row->name},
                 {"set", std::move(set)}};
    for (const FigureComparison &figure : row.figures) {
      bool isMacs = figure.quantity == "macs";
      Object numbers{
          {"counts",
           isMacs
               ? PublishedSpec::macWords[static_cast<size_t>(row.table->macs)]
               : PublishedSpec::parameterWords[static_cast<size_t>(
                     row.table->parameters)]},
          {"units",
           PublishedSpec::unitWords[static_cast<size_t>(row.table->binary)]},
          {"published", figure.published->text},
          {"ours", figure.ours},
          {"count", figure.count},
          {"agrees", figure.agrees()}};
      if (figure.isKnown()) {
        numbers["differs"] = figure.published->differs;
      }
      entry[figure.quantity] = std::move(numbers);
    }
    published.push_back(std::move(entry));
  }
  llvm::json::Value root = Object{{"model", model.program->name},
                                  {"published", std::move(published)}};
  out << llvm::formatv("{0:2}\n", root);
}

} // namespace hova::inspect
