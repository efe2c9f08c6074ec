//===- colours.js - Words of a text by their kind --------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// IR, JSON and code are coloured line by line, and only lines in view are. No
// construct that matters here goes on over a line, so a line is a list of
// words, each with the class that page.css colours.

"use strict";

// Of several kinds that match at a place the first counts; `null` has no colour.
const LANGUAGES = {
  ir: [
    ["comment", /\/\/.*/],
    ["string", /"(?:[^"\\]|\\.)*"/],
    ["value", /%[\w.$-]+(?:#\d+)?/],
    ["symbol", /@"(?:[^"\\]|\\.)*"|[@^][\w.$-]+/],
    ["type", /!?\b(?:tensor|memref|vector|array|struct|ptr|func)<(?:[^<>"]|<(?:[^<>]|<[^<>]*>)*>)*>|\b(?:index|none|[su]?i\d+|bf16|f16|f32|f64|tf32)\b|![\w.$-]+/],
    ["attribute", /#[\w.$-]+/],
    ["operation", /\b[a-z_]\w*\.[a-z_][\w.]*/],
    ["number", /(?<![\w.])-?(?:0x[0-9A-Fa-f]+|\d+(?:\.\d*)?(?:[eE][-+]?\d+)?)/],
    [null, /[\w.$]+/],
  ],
  json: [
    ["attribute", /"(?:[^"\\]|\\.)*"(?=\s*:)/],
    ["string", /"(?:[^"\\]|\\.)*"/],
    ["operation", /\b(?:true|false|null)\b/],
    ["number", /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/],
  ],
  code: [
    ["comment", /#.*|\/\/.*/],
    ["string", /"(?:[^"\\]|\\.)*"/],
    ["symbol", /^\$?[\w.$]+:|^\s*\$L\w+:/],
    ["attribute", /\.[A-Za-z_]\w*(?<=^\s*\.\w+)/],
    ["operation", /(?<=^\s*(?:@!?%\w+\s+)?)[A-Za-z_][\w.]*/],
    ["value", /%\w+(?:\.\w+)?/],
    ["number", /(?<![\w.])\$?-?(?:0[fFdDxX][0-9A-Fa-f]+|\d+(?:\.\d+)?)/],
    [null, /[\w.$]+/],
  ],
};

const patterns = new Map(Object.entries(LANGUAGES).map(([language, kinds]) => [language, new RegExp(kinds.map(([, pattern]) => `(${pattern.source})`).join("|"), "g")]));

/// The words of a line: pairs of a class, or null, and the text.
function wordsOf(text, language) {
  const words = [];
  let end = 0;
  for (const found of text.matchAll(patterns.get(language))) {
    const kind = found.findIndex((group, at) => at > 0 && group !== undefined) - 1;
    if (found.index > end) {
      words.push([null, text.slice(end, found.index)]);
    }
    words.push([LANGUAGES[language][kind][0], found[0]]);
    end = found.index + found[0].length;
  }
  if (end < text.length) {
    words.push([null, text.slice(end)]);
  }
  return words;
}

/// Elements and texts for bytes `from` to `to` of a line.
function colouredText(text, language, from = 0, to = text.length) {
  const shown = [];
  let at = 0;
  for (const [kind, word] of wordsOf(text, language)) {
    const part = word.slice(Math.max(0, from - at), Math.max(0, to - at));
    at += word.length;
    if (part) {
      shown.push(kind ? make("span", { class: `t-${kind}` }, part) : part);
    }
  }
  return shown;
}

//===----------------------------------------------------------------------===//
// Lines that wrap
//===----------------------------------------------------------------------===//

/// How far parts of a line after the first are indented.
const hangOf = (text) => Math.min(text.length - text.trimStart().length + 4, 24);

/// The parts of a line that have room in `columns` letters, as their first
/// bytes and those after their last; they end at spaces where they can.
function partsOf(text, columns) {
  const parts = [];
  let from = 0;
  do {
    const room = from ? columns - hangOf(text) : columns;
    let to = Math.min(text.length, from + room);
    const space = text.lastIndexOf(" ", to - 1) + 1;
    if (to < text.length && space > from + room / 2) {
      to = space;
    }
    parts.push([from, to]);
    from = to;
  } while (from < text.length);
  return parts;
}
