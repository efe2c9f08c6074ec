//===- KeyReader.cpp - What the keys of a configuration decide ------------===//
//
// SPDX-License-Identifier: Apache-2.0
//
//===----------------------------------------------------------------------===//

#include "frontend/folder/KeyReader.h"
#include "frontend/reader/Text.h"

#include <algorithm>
#include <map>
#include <set>

namespace hova::frontend {

using reader::inQuotes;
using reader::Member;
using reader::Node;

namespace {

constexpr const char *taskParameter = "task";

bool matchesAny(const std::vector<std::string> &patterns,
                std::string_view key) {
  return std::any_of(patterns.begin(), patterns.end(),
                     [&](const std::string &pattern) {
                       return reader::matchGlob(pattern, key);
                     });
}

/// "a", "a or b", "a, b or c".
std::string listed(const std::vector<std::string> &words) {
  std::string list;
  for (size_t i = 0; i < words.size(); ++i) {
    list += (i == 0 ? "" : i + 1 < words.size() ? ", " : " or ") + words[i];
  }
  return list;
}

/// "a, b, c".
std::string listOf(const std::vector<std::string> &words) {
  std::string list;
  for (const std::string &word : words) {
    list += (list.empty() ? "" : ", ") + word;
  }
  return list;
}

class KeyReader {
public:
  KeyReader(const ModelSpec &spec, const ConfigSpec &rules, Config &config,
            const KeyChoices &choices)
      : spec(spec), rules(rules), config(config), choices(choices) {}

  KeyReading run();

private:
  const std::vector<ConfigSetting> *architecture();
  void take(const ConfigSetting &setting);
  void takeTask();
  std::optional<Scalar> valueOf(const ConfigSetting &setting);
  const Expression &chosen(const ConfigSetting &setting) const;
  std::optional<Scalar> evaluate(const ConfigSetting &setting);
  std::optional<Scalar> meaningOf(const ConfigSetting &setting,
                                  const Scalar &value);
  const Node *placeOf(const ConfigSetting &setting) const;
  bool isNeeded(const ConfigSetting &setting) const;
  reader::Diagnostic &errorAt(const Node *place, const std::string &message);
  void put(const std::string &parameter, Scalar value);

  void visit(const Node &object, const std::string &path,
             const std::string &known);
  std::string fateOf(const std::string &written, const std::string &known,
                     const Node &value);
  std::string fateBeside(const std::string &written, const std::string &key,
                         const Node &value);
  const std::string *placeTakenBy(const std::string &key) const;
  std::string checkRequired(const ConfigRequirement &requirement,
                            const std::string &key, const Node &value);
  template <typename Predicate> bool isAnyRead(Predicate isMeant) const;
  bool isKnownBelow(const std::string &key) const;
  void visitAdded();
  void checkIgnored();

  const ModelSpec &spec;
  const ConfigSpec &rules;
  Config &config;
  const KeyChoices &choices;
  KeyReading reading;
  /// What the values of keys are named by.
  std::map<const Node *, std::vector<std::string>> decided;
  std::map<std::string, std::vector<std::string>> decidedByAdded;
  /// Keys that another architecture reads.
  std::set<const Node *> foreign;
  std::set<std::string> leftOut;
};

reader::Diagnostic &KeyReader::errorAt(const Node *place,
                                       const std::string &message) {
  return place ? config.error(*place, message) : config.errorAtStart(message);
}

void KeyReader::put(const std::string &parameter, Scalar value) {
  for (auto &[name, known] : reading.parameters) {
    if (name == parameter) {
      known = std::move(value);
      return;
    }
  }
  reading.parameters.push_back({parameter, std::move(value)});
}

/// The value of the first key of an expression: what messages point at.
const Node *KeyReader::placeOf(const ConfigSetting &setting) const {
  for (const std::string &key : setting.keys()) {
    if (const Node *value = config.find(key)) {
      return value;
    }
  }
  return nullptr;
}

/// The expression that counts: the first of which all keys have values. Where
/// there is none, that is the last, which says what is missing.
const Expression &KeyReader::chosen(const ConfigSetting &setting) const {
  auto isThere = [&](const NameUse &use) {
    const Node *node = config.find(use.name);
    return config.findAdded(use.name) || (node && !node->is(Node::Kind::Null));
  };
  for (const Expression &value : setting.values) {
    const std::vector<NameUse> &names = value.names();
    if (std::all_of(names.begin(), names.end(), isThere)) {
      return value;
    }
  }
  return setting.values.back();
}

/// Whether no other value stands for keys that are missing.
bool KeyReader::isNeeded(const ConfigSetting &setting) const {
  TextError failure;
  auto valueOf = [&](std::string_view name) -> const Scalar * {
    for (const auto &[parameter, value] : reading.parameters) {
      if (parameter == name) {
        return &value;
      }
    }
    const std::optional<Scalar> &known =
        spec.findParameter(name)->value.literal;
    return known ? &*known : nullptr;
  };
  std::optional<Scalar> holds = setting.needed
                                    ? setting.needed->evaluate(valueOf, failure)
                                    : Scalar::ofBoolean(false);
  return !holds || !holds->is(Scalar::Kind::Boolean) || holds->boolean;
}

/// The value of the expression, or what stands for it where a key is missing.
std::optional<Scalar> KeyReader::evaluate(const ConfigSetting &setting) {
  if (setting.values.empty()) {
    return setting.otherwise;
  }
  const Expression &keys = chosen(setting);
  std::map<std::string, Scalar, std::less<>> values;
  for (const NameUse &use : keys.names()) {
    const Node *node = config.find(use.name);
    if (const Scalar *added = config.findAdded(use.name)) {
      values.emplace(use.name, *added);
      continue;
    }
    if (!node && setting.otherwise && !isNeeded(setting)) {
      return setting.otherwise;
    }
    if (!node) {
      DecidingKey key =
          decidingKey(config, use.name, setting.parameter, Scalar());
      config.diagnostics().error(key.range,
                                 "key " + inQuotes(key.key) +
                                     " is missing: it decides parameter " +
                                     inQuotes(setting.parameter),
                                 key.pointer);
      return std::nullopt;
    }
    if (node->is(Node::Kind::Null) && setting.ofNull) {
      return setting.ofNull;
    }
    std::optional<Scalar> value = Config::scalarOf(*node);
    if (!value && node->is(Node::Kind::Null) && !setting.words.empty()) {
      value = Scalar::ofText("null");
    }
    if (!value) {
      config.error(*node, "key " + inQuotes(config.nameOf(use.name)) +
                              " decides parameter " +
                              inQuotes(setting.parameter) + ", and is " +
                              config.textOf(*node));
      return std::nullopt;
    }
    values.emplace(use.name, std::move(*value));
  }
  TextError failure;
  std::optional<Scalar> value = keys.evaluate(
      [&](std::string_view name) -> const Scalar * {
        auto found = values.find(name);
        return found == values.end() ? nullptr : &found->second;
      },
      failure);
  if (!value) {
    errorAt(placeOf(setting), "parameter " + inQuotes(setting.parameter) +
                                  " is made of this: " + failure.message);
  }
  return value;
}

/// What a word of the library means.
std::optional<Scalar> KeyReader::meaningOf(const ConfigSetting &setting,
                                           const Scalar &value) {
  if (setting.words.empty()) {
    return value;
  }
  std::vector<std::string> known;
  for (const auto &[word, meaning] : setting.words) {
    if (word == value.str()) {
      return meaning;
    }
    known.push_back(inQuotes(word));
  }
  errorAt(placeOf(setting), "parameter " + inQuotes(setting.parameter) +
                                " of " + spec.name + " is decided by " +
                                listed(known) + ", got " +
                                reader::inQuotes(value.str()));
  return std::nullopt;
}

std::optional<Scalar> KeyReader::valueOf(const ConfigSetting &setting) {
  std::optional<Scalar> value = evaluate(setting);
  value = value ? meaningOf(setting, *value) : std::nullopt;
  if (!value) {
    return std::nullopt;
  }
  std::string problem =
      spec.findParameter(setting.parameter)->problemWith(*value);
  if (!problem.empty()) {
    errorAt(placeOf(setting), problem);
    return std::nullopt;
  }
  return value;
}

void KeyReader::take(const ConfigSetting &setting) {
  for (const std::string &key : setting.keys()) {
    const Node *node = config.find(key);
    bool isAdded = config.findAdded(key);
    if (!node && !isAdded) {
      continue;
    }
    std::vector<std::string> &names =
        isAdded ? decidedByAdded[key] : decided[node];
    if (!std::count(names.begin(), names.end(), setting.parameter)) {
      names.push_back(setting.parameter);
    }
  }
  std::optional<Scalar> value = valueOf(setting);
  if (!value) {
    return;
  }
  std::vector<DecidingKey> &keys = reading.deciding.keys;
  keys.erase(std::remove_if(keys.begin(), keys.end(),
                            [&](const DecidingKey &key) {
                              return key.parameter == setting.parameter;
                            }),
             keys.end());
  if (!setting.values.empty()) {
    for (const NameUse &use : chosen(setting).names()) {
      keys.push_back(decidingKey(config, use.name, setting.parameter, *value));
    }
  }
  put(setting.parameter, std::move(*value));
}

/// What the saved class decides; null if nothing, or nothing is known of it.
const std::vector<ConfigSetting> *KeyReader::architecture() {
  const Node *classes = config.find("architectures");
  bool isSaid = classes && classes->is(Node::Kind::Array) &&
                !classes->elements.empty() &&
                classes->elements[0]->is(Node::Kind::String);
  if (!isSaid || rules.architectures.empty()) {
    return nullptr;
  }
  const Node &name = *classes->elements[0];
  std::vector<std::string> known;
  for (const auto &[other, settings] : rules.architectures) {
    if (other == name.text) {
      return &settings;
    }
    known.push_back(other);
  }
  if (choices.task.empty()) {
    reader::Diagnostic &unknown = config.error(
        name, "architecture " + inQuotes(name.text) + " is none that " +
                  spec.name + " knows: " + listed(known));
    if (spec.findParameter(taskParameter)) {
      unknown.notes.push_back(
          {"--task=hidden computes its hidden states", std::nullopt});
    }
  }
  return nullptr;
}

void KeyReader::takeTask() {
  if (choices.task.empty()) {
    return;
  }
  Scalar task = Scalar::ofText(choices.task);
  const ParameterSpec *parameter = spec.findParameter(taskParameter);
  std::string problem =
      parameter ? parameter->problemWith(task)
                : spec.name + " has one task, and no parameter \"task\"";
  if (!problem.empty()) {
    config.diagnostics().errorElsewhere("option '--task': " + problem);
    return;
  }
  put(taskParameter, std::move(task));
}

std::string KeyReader::checkRequired(const ConfigRequirement &requirement,
                                     const std::string &key,
                                     const Node &value) {
  std::vector<std::string> allowed;
  for (const Node *other : requirement.values->elements) {
    if (areEqual(*other, value)) {
      return "as " + spec.name + " requires";
    }
    std::string_view text = spec.source->text();
    allowed.push_back(std::string(text.substr(
        other->range.begin, other->range.end - other->range.begin)));
  }
  config.error(value, "key " + inQuotes(key) + " is " + config.textOf(value) +
                          ", and " + spec.name + " computes " +
                          listed(allowed) + " alone");
  return "refused";
}

/// Whether a key that is meant decides anything, or has a value to have.
template <typename Predicate>
bool KeyReader::isAnyRead(Predicate isMeant) const {
  auto reads = [&](const std::vector<ConfigSetting> &settings) {
    for (const ConfigSetting &setting : settings) {
      std::vector<std::string> keys = setting.keys();
      if (std::any_of(keys.begin(), keys.end(), isMeant)) {
        return true;
      }
    }
    return false;
  };
  return reads(rules.set) ||
         std::any_of(rules.architectures.begin(), rules.architectures.end(),
                     [&](const auto &entry) { return reads(entry.second); }) ||
         std::any_of(
             rules.require.begin(), rules.require.end(),
             [&](const ConfigRequirement &rule) { return isMeant(rule.key); });
}

/// Whether something is said of keys of the object that `key` is.
bool KeyReader::isKnownBelow(const std::string &key) const {
  std::string prefix = key + ".";
  auto begins = [&](const std::string &name) {
    return name.compare(0, prefix.size(), prefix) == 0;
  };
  return isAnyRead(begins) ||
         std::any_of(rules.ignore.begin(), rules.ignore.end(), begins);
}

/// The object whose place `key` takes if it is one; null if it takes none.
const std::string *KeyReader::placeTakenBy(const std::string &key) const {
  for (const auto &[other, object] : rules.insteadOf) {
    if (other == key) {
      return &object;
    }
  }
  return nullptr;
}

/// What becomes of an alias beside its key; empty unless both have a value.
/// Which of two values counts is a matter of the library's version.
std::string KeyReader::fateBeside(const std::string &written,
                                  const std::string &key, const Node &value) {
  const Node *other = config.find(key);
  if (!other || other == &value || other->is(Node::Kind::Null) ||
      value.is(Node::Kind::Null)) {
    return "";
  }
  if (areEqual(*other, value)) {
    return "says what " + key + " says";
  }
  config.error(value, "key " + inQuotes(written) + " is " +
                          config.textOf(value) + ", and " + inQuotes(key) +
                          ", which means the same, is " +
                          config.textOf(*other));
  return "refused";
}

/// What becomes of a key, which rules know as `known` where its object takes
/// the place of another; empty if those of its object each have a fate.
std::string KeyReader::fateOf(const std::string &written,
                              const std::string &known, const Node &value) {
  if (const std::string *object = placeTakenBy(written)) {
    if (value.is(Node::Kind::Object)) {
      return "";
    }
    if (value.is(Node::Kind::Null)) {
      return "leaves " + *object + " in its place";
    }
  }
  if (config.nameOf(written) != written &&
      isAnyRead([&](const std::string &name) { return name == written; })) {
    return config.nameOf(written) + " takes its place";
  }
  std::string key = config.meantBy(known);
  std::string beside = key == known ? "" : fateBeside(written, key, value);
  if (!beside.empty()) {
    return beside;
  }
  auto names = decided.find(&value);
  if (names != decided.end()) {
    return "decides " + listOf(names->second);
  }
  for (const ConfigRequirement &requirement : rules.require) {
    if (requirement.key == key) {
      return checkRequired(requirement, written, value);
    }
  }
  if (foreign.count(&value)) {
    return "of another architecture";
  }
  if (matchesAny(rules.ignore, key)) {
    return "ignored by " + spec.name;
  }
  if (key == "model_type") {
    return "chooses " + spec.name;
  }
  if (key == "architectures") {
    return "says what is computed";
  }
  if (isIdleKey(std::string_view(key).substr(key.rfind('.') + 1))) {
    return "no inference reads it";
  }
  if (std::find(choices.ignored.begin(), choices.ignored.end(), written) !=
      choices.ignored.end()) {
    leftOut.insert(written);
    return "ignored by --ignore-config";
  }
  if (value.is(Node::Kind::Object) && isKnownBelow(key)) {
    return "";
  }
  // Libraries write null for an object that decides nothing.
  if (value.is(Node::Kind::Null) && isKnownBelow(key)) {
    return "has no keys";
  }
  config
      .error(value, "nothing is known of key " + inQuotes(written) +
                        " with the value " + config.textOf(value) +
                        ", which may change what " + spec.name + " computes")
      .notes.push_back({"--ignore-config=" + reader::printable(written) +
                            " leaves it out, if you know that it changes no "
                            "number",
                        std::nullopt});
  return "refused";
}

/// Visits the keys of an object in the file's order. `path` stands before
/// their names there, `known` before those in rules.
void KeyReader::visit(const Node &object, const std::string &path,
                      const std::string &known) {
  for (const Member &member : object.members) {
    if (member.repeated) {
      continue;
    }
    std::string key = path + member.key;
    std::string fate = fateOf(key, known + member.key, *member.value);
    if (fate.empty()) {
      const std::string *object = placeTakenBy(key);
      visit(*member.value, key + ".",
            (object ? *object : known + member.key) + ".");
      continue;
    }
    reading.fates.push_back({key, config.textOf(*member.value), fate});
  }
}

/// Keys that stand in other files of the folder. What the modules of a sentence
/// encoder do has to be done where the vector of a sentence is what is wanted.
void KeyReader::visitAdded() {
  bool embeds = false;
  for (const auto &[name, value] : reading.parameters) {
    embeds |= name == taskParameter && value.str() == "embed";
  }
  for (const auto &[key, value] : config.addedKeys()) {
    auto names = decidedByAdded.find(key);
    bool isNothing = value.is(Scalar::Kind::List)      ? value.elements->empty()
                     : value.is(Scalar::Kind::Boolean) ? !value.boolean
                                                       : false;
    bool isDone = names != decidedByAdded.end();
    bool isWanted = embeds && !isNothing && key.rfind("sentence.", 0) == 0;
    if (isWanted && !isDone) {
      config.diagnostics().errorElsewhere(
          "the modules beside the file say that " + inQuotes(key) + " is " +
          reader::printable(value.str()) + ", and " + spec.name +
          " does not compute it");
    }
    std::string fate =
        isDone ? "decides " + listOf(names->second) : "ignored by " + spec.name;
    reading.fates.push_back({key, value.str(), fate});
  }
}

/// An option without an effect is a mistake in the command.
void KeyReader::checkIgnored() {
  for (const std::string &key : choices.ignored) {
    if (!leftOut.count(key)) {
      config.diagnostics().errorElsewhere(
          "option '--ignore-config' has no effect on " + inQuotes(key) +
          (config.find(key) ? ", of which it is known what it does"
                            : ", which is no key of the file"));
    }
  }
}

KeyReading KeyReader::run() {
  reading.deciding.source = config.diagnostics().sharedSource();
  for (const auto &[other, object] : rules.insteadOf) {
    config.replace(object, other);
  }
  for (const auto &[alias, key] : rules.aliases) {
    config.addAlias(alias, key);
  }
  const std::vector<ConfigSetting> *ofArchitecture = architecture();
  for (const ConfigSetting &setting : rules.set) {
    take(setting);
  }
  if (ofArchitecture) {
    for (const ConfigSetting &setting : *ofArchitecture) {
      take(setting);
    }
  }
  for (const auto &entry : rules.architectures) {
    for (const ConfigSetting &setting : entry.second) {
      for (const std::string &key : setting.keys()) {
        foreign.insert(config.find(key));
      }
    }
  }
  takeTask();
  visit(config.root(), "", "");
  visitAdded();
  checkIgnored();
  return std::move(reading);
}

} // namespace

KeyReading readKeys(const ModelSpec &spec, const CheckpointSpec &source,
                    Config &config, const KeyChoices &choices) {
  return KeyReader(spec, *source.config, config, choices).run();
}

const CheckpointSpec *findConfigSource(const ModelSpec &spec,
                                       std::string_view modelType) {
  for (const CheckpointSpec &source : spec.checkpoints) {
    if (source.config &&
        std::count(source.config->modelTypes.begin(),
                   source.config->modelTypes.end(), modelType)) {
      return &source;
    }
  }
  return nullptr;
}

} // namespace hova::frontend
