//===- passes.js - What each pass of a phase changed -----------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Of the functions that a pass changed the document has what differs from their
// text before it, so that the texts on both sides of a pass are those before
// the phase and all that was changed since.

"use strict";

/// The side of a pass as the name of a stage: `fuse.3.before`.
const PASS_SIDE = /^([\w-]+)\.(\d+)\.(before|after)$/;

/// Lines of a text by what differs from another: numbers [first, count] are
/// lines of that.
function applyEdits(before, edits) {
  return edits.flatMap((edit) => (typeof edit === "string" ? [edit] : before.slice(edit[0], edit[0] + edit[1])));
}

/// The passes of a phase that changed something. Functions that are too long
/// are named alone.
class PhasePasses {
  constructor({ before, passes }) {
    const texts = new Map(Object.entries(before).map(([name, text]) => [name, text.split("\n")]));
    this.passes = passes.map(({ pass, functions }) => {
      const kept = functions.filter(({ edits }) => edits);
      const step = { name: pass, functions: functions.map(({ function: name }) => name), leftOut: functions.length - kept.length, before: [], after: [], added: 0, removed: 0 };
      for (const { function: name, edits } of kept) {
        const old = texts.get(name), changed = applyEdits(old, edits);
        const used = new Set(edits.flatMap((edit) => (typeof edit === "string" ? [] : Array.from({ length: edit[1] }, (_, at) => edit[0] + at))));
        step.added += edits.filter((edit) => typeof edit === "string" && edit).length;
        step.removed += old.filter((line, at) => line && !used.has(at)).length;
        step.before.push(old);
        step.after.push(changed);
        texts.set(name, changed);
      }
      return step;
    });
  }

  /// All functions that the pass changed, as one text.
  textOf(number, side) {
    return this.passes[number][side].map((lines) => lines.join("\n")).join("\n");
  }
}
