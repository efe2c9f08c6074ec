//===- Differences.cpp - What two compilations decided differently --------===//
// SPDX-License-Identifier: Apache-2.0
//
// A site has changed kernels where its kernels hold other paths than there.
// What a kernel is called changes too where another operation of it has most
// work, which by itself is no difference.

#include "tools/inspect/Differences.h"
#include "frontend/reader/Text.h"
#include "tools/inspect/Places.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <set>

using llvm::StringRef;
using llvm::json::Array;
using llvm::json::Object;
using llvm::json::Value;

namespace hova::inspect {

namespace {

std::string textOf(const Object &entry, StringRef key) {
  return entry.getString(key).value_or("").str();
}

/// The objects of an array; none where there is no array.
std::vector<const Object *> objectsOf(const Object &entry, StringRef key) {
  std::vector<const Object *> objects;
  if (const Array *array = entry.getArray(key)) {
    for (const Value &value : *array) {
      if (const Object *object = value.getAsObject()) {
        objects.push_back(object);
      }
    }
  }
  return objects;
}

std::vector<std::string> textsOf(const Object &entry, StringRef key) {
  std::vector<std::string> texts;
  if (const Array *array = entry.getArray(key)) {
    for (const Value &value : *array) {
      texts.push_back(value.getAsString().value_or("").str());
    }
  }
  return texts;
}

/// One of the two.
class Report {
public:
  using Key = std::pair<std::string, std::string>;

  explicit Report(const Object &report) {
    for (const Object *kernel : objectsOf(report, "kernels")) {
      std::vector<std::string> paths = textsOf(*kernel, "holds");
      llvm::append_range(holds[textOf(*kernel, "name")], paths);
      all.insert(paths.begin(), paths.end());
      schedules[{paths.begin(), paths.end()}] = kernel;
    }
    for (const Object *site : objectsOf(report, "sites")) {
      sites.emplace(Key(textOf(*site, "path"), textOf(*site, "kind")), site);
      order.emplace_back(textOf(*site, "path"), textOf(*site, "kind"));
    }
    for (const Object *rewrite : objectsOf(report, "rewrites")) {
      rewrites.emplace(Key(textOf(*rewrite, "path"), textOf(*rewrite, "pass")),
                       rewrite);
    }
  }

  const Object *siteAt(const Key &key) const {
    auto found = sites.find(key);
    return found == sites.end() ? nullptr : found->second;
  }

  /// What each kernel of a site holds of what the other report knows too: a
  /// layer that one of the models lacks is no kernel's doing.
  std::vector<std::vector<std::string>> contentsOf(const Object &site,
                                                   const Report &other) const {
    std::vector<std::vector<std::string>> contents;
    for (const std::string &name : textsOf(site, "kernels")) {
      auto found = holds.find(name);
      std::vector<std::string> &paths = contents.emplace_back();
      for (const std::string &path :
           found == holds.end() ? std::vector<std::string>() : found->second) {
        if (other.all.count(path)) {
          paths.push_back(path);
        }
      }
    }
    return contents;
  }

  /// Why what stands at these paths is not together; empty where the report
  /// does not say it.
  std::string whyApart(const std::string &one, const std::string &other) const {
    for (const auto &[from, to] :
         {std::pair(one, other), std::pair(other, one)}) {
      for (auto site = sites.lower_bound({from, ""});
           site != sites.end() && site->first.first == from; ++site) {
        for (const Object *apart : objectsOf(*site->second, "apart")) {
          if (textOf(*apart, "path") == to) {
            return textOf(*apart, "why");
          }
        }
      }
    }
    return "";
  }

  std::vector<Key> order; ///< of sites
  std::map<Key, const Object *> sites, rewrites;
  std::map<std::string, std::vector<std::string>> holds;
  std::set<std::string> all; ///< that a kernel holds
  std::map<std::set<std::string>, const Object *> schedules;
};

/// What a site says of itself in one of the reports.
Object statementOf(const Object &site) {
  Object statement{{"fused", site.getBoolean("fused").value_or(false)},
                   {"why", textOf(site, "why")}};
  statement["kernels"] = Array(textsOf(site, "kernels"));
  return statement;
}

using Contents = std::vector<std::vector<std::string>>;

/// The paths of `contents` and not of `others`, but the site's own, with why
/// the report keeps or kept them apart.
Array pathsOnlyIn(const Contents &contents, const Contents &others,
                  const std::string &here, const Report &apart) {
  std::set<std::string> known = {here};
  for (const std::vector<std::string> &paths : others) {
    known.insert(paths.begin(), paths.end());
  }
  Array only;
  for (const std::vector<std::string> &paths : contents) {
    for (const std::string &path : paths) {
      if (!known.insert(path).second) {
        continue;
      }
      Object entry{{"path", path}};
      if (std::string why = apart.whyApart(here, path); !why.empty()) {
        entry["why"] = why;
      }
      only.push_back(std::move(entry));
    }
  }
  return only;
}

/// Whether the same paths are together, in whatever order.
bool holdSame(const Contents &contents, const Contents &others) {
  auto ordered = [](const Contents &all) {
    std::set<std::set<std::string>> sets;
    for (const std::vector<std::string> &paths : all) {
      sets.emplace(paths.begin(), paths.end());
    }
    return sets;
  };
  return ordered(contents) == ordered(others);
}

/// Adds the site, or counts it where nothing changed.
void compareSite(const Report::Key &key, const Report &here,
                 const Report &there, Array &changed, int64_t &unchanged) {
  const Object &ours = *here.siteAt(key), &theirs = *there.siteAt(key);
  Contents with = here.contentsOf(ours, there),
           without = there.contentsOf(theirs, here);
  if (holdSame(with, without) &&
      ours.getBoolean("fused") == theirs.getBoolean("fused")) {
    ++unchanged;
    return;
  }
  changed.push_back(
      Object{{"path", key.first},
             {"kind", key.second},
             {"here", statementOf(ours)},
             {"there", statementOf(theirs)},
             {"joined", pathsOnlyIn(with, without, key.first, there)},
             {"left", pathsOnlyIn(without, with, key.first, here)}});
}

/// The sites of one that the other has not.
Array sitesOnlyIn(const Report &one, const Report &other) {
  Array only;
  for (const Report::Key &key : one.order) {
    if (!other.siteAt(key)) {
      only.push_back(Object{{"path", key.first}, {"kind", key.second}});
    }
  }
  return only;
}

/// What a pass decided, without the names that stand beside it.
Value decisionOf(const Object *rewrite) {
  if (!rewrite) {
    return nullptr;
  }
  Object decision = *rewrite;
  decision.erase("path");
  decision.erase("pass");
  return decision;
}

Array compareRewrites(const Report &here, const Report &there) {
  std::set<Report::Key> keys;
  for (const Report *report : {&here, &there}) {
    for (const auto &[key, rewrite] : report->rewrites) {
      keys.insert(key);
    }
  }
  Array rewrites;
  for (const Report::Key &key : keys) {
    auto find = [&](const Report &report) {
      auto found = report.rewrites.find(key);
      return found == report.rewrites.end() ? nullptr : found->second;
    };
    const Object *ours = find(here), *theirs = find(there);
    bool fires = ours && ours->getBoolean("fired").value_or(false);
    bool fired = theirs && theirs->getBoolean("fired").value_or(false);
    if (fires != fired) {
      rewrites.push_back(Object{{"path", key.first},
                                {"pass", key.second},
                                {"here", decisionOf(ours)},
                                {"there", decisionOf(theirs)}});
    }
  }
  return rewrites;
}

Array compareSchedules(const Report &here, const Report &there) {
  Array schedules;
  for (const auto &[held, kernel] : here.schedules) {
    auto found = there.schedules.find(held);
    if (found == there.schedules.end()) {
      continue;
    }
    std::string ours = textOf(*kernel, "schedule"),
                theirs = textOf(*found->second, "schedule");
    if (ours != theirs) {
      schedules.push_back(Object{{"kernel", textOf(*kernel, "name")},
                                 {"here", ours},
                                 {"there", theirs}});
    }
  }
  return schedules;
}

//===----------------------------------------------------------------------===//
// For people
//===----------------------------------------------------------------------===//

/// Paragraphs in order; of those that differ in their path alone, as layers
/// that repeat do, the first is printed.
class Paragraphs {
public:
  /// `write` writes the paragraph after its path, and calls its argument for
  /// other paths.
  using Show = llvm::function_ref<std::string(StringRef)>;
  void add(StringRef before, StringRef path,
           llvm::function_ref<std::string(Show)> write) {
    std::string key =
        (before + "|" + seenFrom(path, path)).str() +
        write([&](StringRef other) { return seenFrom(path, other); });
    auto [known, isNew] = places.try_emplace(key, paragraphs.size());
    if (isNew) {
      paragraphs.push_back({before.str(), path.str(), "", 0});
      paragraphs.back().after =
          write([](StringRef other) { return reader::escaped(other.str()); });
    } else {
      ++paragraphs[known->second].others;
    }
  }

  void print(llvm::raw_ostream &os) const {
    for (const Paragraph &paragraph : paragraphs) {
      os << paragraph.before << ' ' << reader::escaped(paragraph.path);
      if (paragraph.others) {
        os << " and " << paragraph.others << " more";
      }
      os << paragraph.after << "\n";
    }
  }

private:
  struct Paragraph {
    std::string before, path, after;
    int64_t others;
  };
  std::map<std::string, size_t> places;
  std::vector<Paragraph> paragraphs;
};

/// "fused in kernel a", "not fused, in kernels a, b".
std::string stateText(const Object &statement, Paragraphs::Show show) {
  std::vector<std::string> kernels = textsOf(statement, "kernels");
  if (kernels.empty()) {
    return "needs no kernel";
  }
  std::string text = statement.getBoolean("fused").value_or(false)
                         ? "fused in "
                         : "not fused, in ";
  text += kernels.size() > 1 ? "kernels" : "kernel";
  for (size_t i = 0; i < kernels.size(); ++i) {
    text += (i ? ", " : " ") + show(kernels[i]);
  }
  return text;
}

/// A line for each reason, with all paths that it is the reason of: "\n  with
/// a, b, apart there: ...".
std::string neighboursText(const Object &site, StringRef key, StringRef before,
                           StringRef because, Paragraphs::Show show) {
  std::vector<std::string> reasons;
  std::map<std::string, std::string> paths;
  for (const Object *entry : objectsOf(site, key)) {
    std::string why = textOf(*entry, "why");
    std::string &listed = paths[why];
    if (listed.empty()) {
      reasons.push_back(why);
    }
    listed += (listed.empty() ? "" : ", ") + show(textOf(*entry, "path"));
  }
  std::string text;
  for (const std::string &why : reasons) {
    text += "\n  " + before.str() + paths[why] +
            (why.empty() ? "" : because.str() + reader::escaped(why));
  }
  return text;
}

std::string siteText(const Object &site, Paragraphs::Show show) {
  const Object &here = *site.getObject("here"),
               &there = *site.getObject("there");
  std::string text =
      ": " + stateText(here, show) + "; there " + stateText(there, show);
  bool isFused = here.getBoolean("fused").value_or(false);
  if (isFused != there.getBoolean("fused").value_or(false)) {
    std::string why = textOf(isFused ? there : here, "why");
    text += why.empty()
                ? ""
                : (isFused ? "\n  there " : "\n  ") + reader::escaped(why);
  }
  return text +
         neighboursText(site, "joined", "with ", ", apart there: ", show) +
         neighboursText(site, "left", "no longer with ", ": ", show);
}

/// "fired (...)", "declined: ...; it fires if ...", "did not look".
std::string decisionText(const Object *decision) {
  if (!decision) {
    return "did not look";
  }
  std::string why = reader::escaped(textOf(*decision, "why"));
  if (decision->getBoolean("fired").value_or(false)) {
    return "fired: " + why;
  }
  return "declined: " + why + "; it fires if " +
         reader::escaped(textOf(*decision, "fires_if"));
}

} // namespace

Object differencesJson(const Object &ours, const Object &theirs) {
  Report here(ours), there(theirs);
  Array changed;
  int64_t unchanged = 0;
  for (const Report::Key &key : here.order) {
    if (there.siteAt(key)) {
      compareSite(key, here, there, changed, unchanged);
    }
  }
  return Object{{"model", textOf(ours, "model")},
                {"other_model", textOf(theirs, "model")},
                {"unchanged", unchanged},
                {"sites", std::move(changed)},
                {"only_here", sitesOnlyIn(here, there)},
                {"only_there", sitesOnlyIn(there, here)},
                {"rewrites", compareRewrites(here, there)},
                {"schedules", compareSchedules(here, there)}};
}

void printDifferences(const Object &differences, llvm::raw_ostream &os) {
  Paragraphs paragraphs;
  for (const Object *site : objectsOf(differences, "sites")) {
    paragraphs.add(
        textOf(*site, "kind"), textOf(*site, "path"),
        [&](Paragraphs::Show show) { return siteText(*site, show); });
  }
  for (auto [key, before] : {std::pair("only_here", "only here: "),
                             std::pair("only_there", "only there: ")}) {
    for (const Object *site : objectsOf(differences, key)) {
      paragraphs.add(before + textOf(*site, "kind"), textOf(*site, "path"),
                     [](Paragraphs::Show) { return std::string(); });
    }
  }
  for (const Object *rewrite : objectsOf(differences, "rewrites")) {
    paragraphs.add(textOf(*rewrite, "pass") + " at", textOf(*rewrite, "path"),
                   [&](Paragraphs::Show) {
                     return "\n  " + decisionText(rewrite->getObject("here")) +
                            "\n  there " +
                            decisionText(rewrite->getObject("there"));
                   });
  }
  for (const Object *schedule : objectsOf(differences, "schedules")) {
    paragraphs.add("schedule of kernel", textOf(*schedule, "kernel"),
                   [&](Paragraphs::Show) {
                     return "\n  " + textOf(*schedule, "here") + "\n  there " +
                            textOf(*schedule, "there");
                   });
  }
  paragraphs.print(os);
  os << objectsOf(differences, "sites").size() << " sites changed kernels, "
     << differences.getInteger("unchanged").value_or(0) << " did not\n";
}

} // namespace hova::inspect
