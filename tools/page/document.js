//===- document.js - What the page shows -----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// The document that `hova view --format=json` prints, unpacked, and an index of
// it: layers with their verdicts, and kernels with the functions that they run.

"use strict";

/// The text of a part of the page.
async function unpack(name) {
  const packed = Uint8Array.from(atob(document.getElementById(`part-${name}`).textContent), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

/// Whether `path` is `top` or stands below it, as early.0.attn below early.0.
const isBelow = (path, top) => path === top || path.startsWith(`${top}.`) || top === "";

/// What a path stands below, itself first: a.b.c, a.b, a.
function* pathsAround(path) {
  for (let end = path.length; end > 0; end = path.lastIndexOf(".", end - 1)) {
    yield path.slice(0, end);
  }
}

/// The index of a document.
class Model {
  constructor(data) {
    this.data = data;
    this.benchmark = data.benchmark ? data.benchmark.profile : null;
    const places = new Map(data.explain.layers.map((layer) => [layer.path, layer]));
    this.layers = data.summary.layers.map((layer, order) => ({ ...layer, ...places.get(layer.path), order }));
    this.layerAt = new Map(this.layers.map((layer) => [layer.path, layer]));
    this.sites = data.explain.sites;
    this.rewrites = data.explain.rewrites;
    // Sites of several layers, which a description writes out.
    this.written = data.explain.written_out.map((site) => ({
      ...site, joined: [], why: `written out as ${site.parts.join(", ")}`, apart: site.apart.map(({ neighbour, path, why }) => ({ path: neighbour, why: `${why} (${path})` })),
    }));
    for (const layer of this.layers) {
      layer.macs = layer.macs_linear + layer.macs_attention;
      layer.sites = [];
    }
    for (const site of this.sites) {
      const layer = this.layerOf(site.path);
      if (layer) {
        layer.sites.push(site);
      }
    }
    this.addKernels();
    this.addTimes();
  }

  /// The innermost layer that a path is of, or null.
  layerOf(path) {
    for (const around of pathsAround(path ?? "")) {
      if (this.layerAt.has(around)) {
        return this.layerAt.get(around);
      }
    }
    return null;
  }

  /// A launch runs a kernel, or on a GPU one stage of it; launches of a kernel
  /// follow each other.
  addKernels() {
    const contents = this.data.explain.kernels;
    let at = 0;
    this.kernels = this.data.launches.map((launch, number) => {
      if (this.data.launches.length === contents.length) {
        at = number;
      } else if (contents[at]?.name !== launch.path) {
        const next = contents.findIndex((kernel, index) => index > at && kernel.name === launch.path);
        at = next < 0 ? at : next;
      }
      const { name, units = [], schedule = "", holds = [launch.path], stages = [] } = contents[at] ?? {};
      return { ...launch, number, name: launch.path, inside: name, contents: at, units, schedule, holds, stages };
    });
    this.bySymbol = new Map();
    for (const kernel of this.kernels) {
      this.bySymbol.set(kernel.symbol, [...(this.bySymbol.get(kernel.symbol) ?? []), kernel]);
    }
    const uses = this.data.explain.device?.kernels ?? [];
    this.device = new Map(uses.map((use) => [use.name, use]));
  }

  addTimes() {
    if (!this.benchmark) {
      return;
    }
    for (const { kernel, ms } of this.benchmark.kernels) {
      this.kernels[kernel].ms = ms;
      this.kernels[kernel].rate = ms > 0 ? (this.kernels[kernel].flops * 1e-6) / ms : 0;
    }
    this.times = new Map(this.benchmark.layers.map((entry) => [entry.path, entry]));
    this.peak = this.data.peak?.gflops ?? this.kernels.reduce((most, kernel) => Math.max(most, kernel.rate ?? 0), 0);
  }

  /// The kernels that hold something at one of these paths, or below.
  kernelsOf(paths) {
    return this.kernels.filter((kernel) => kernel.holds.some((held) => paths.some((path) => isBelow(held, path) || isBelow(path, held))));
  }
}

/// Equal kernels run one function, whose code has the paths of the first. These
/// are the paths in it of what another of them has at `paths`.
function pathsInFunction(kernel, first, paths) {
  if (kernel === first) {
    return paths;
  }
  const found = [];
  kernel.holds.forEach((held, index) => {
    const there = first.holds[index];
    for (const path of there === undefined ? [] : paths) {
      if (isBelow(held, path)) {
        found.push(there);
      } else if (isBelow(path, held)) {
        found.push(there + path.slice(held.length));
      }
    }
  });
  return found;
}
