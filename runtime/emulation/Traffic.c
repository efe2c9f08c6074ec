//===- Traffic.c - What a warp asks of memory at once ---------------------===//
// SPDX-License-Identifier: Apache-2.0

#include "runtime/emulation/Traffic.h"

#include "runtime/emulation/Block.h"

#include <stdlib.h>
#include <string.h>

#define BANKS 32u
#define WORD 4u
/// Bytes that shared memory serves in a turn.
#define WAVEFRONT (BANKS * WORD)
#define SECTOR 32u

/// An access of a warp, of which `lanes` have come.
typedef struct request {
  uint32_t lanes;
  uint64_t at[LANES];
} request;

/// The accesses of an operation since the warp met.
typedef struct site {
  hova_emulation_access access;
  uint32_t bytes;
  bool is_open; ///< there are some
  uint32_t seen[LANES];
  request *requests;
  uint32_t count, room;
} site;

/// Two sites for each place: an asynchronous copy reads one memory and writes
/// the other.
struct traffic {
  site *sites;
  uint32_t site_count;
  uint32_t *open;
  uint32_t open_count, open_room;
};

traffic *make_traffic(void) { return calloc(1, sizeof(traffic)); }

void free_traffic(traffic *traffic) {
  if (!traffic) {
    return;
  }
  for (uint32_t i = 0; i < traffic->site_count; ++i) {
    free(traffic->sites[i].requests);
  }
  free(traffic->sites);
  free(traffic->open);
  free(traffic);
}

/// Room for `count` elements at least, those after the old ones zero.
static void *grow(hova_emulated_thread *self, void *old, uint32_t *room,
                  uint32_t count, size_t bytes) {
  if (count <= *room) {
    return old;
  }
  uint32_t more = 2 * *room > count ? 2 * *room : count + 8;
  uint8_t *grown = realloc(old, more * bytes);
  if (!grown) {
    fault(self, NOBODY, "lacks memory of the host to count accesses");
  }
  memset(grown + *room * bytes, 0, (more - *room) * bytes);
  *room = more;
  return grown;
}

//===----------------------------------------------------------------------===//
// Costs
//===----------------------------------------------------------------------===//

/// Turns for lanes [first, first + count): different words of one of 32 banks
/// take turns.
static void count_wavefronts(const site *site, const request *request,
                             uint32_t first, uint32_t count,
                             hova_emulation_traffic *total) {
  uint64_t words[BANKS][BANKS];
  uint32_t used[BANKS] = {0}, most = 0, all = 0;
  for (uint32_t lane = first; lane < first + count; ++lane) {
    if (!(request->lanes >> lane & 1)) {
      continue;
    }
    uint64_t end = request->at[lane] + site->bytes;
    for (uint64_t word = request->at[lane] / WORD; word * WORD < end; ++word) {
      uint32_t bank = word % BANKS, i = 0;
      while (i < used[bank] && words[bank][i] != word) {
        ++i;
      }
      if (i == used[bank]) {
        words[bank][used[bank]++] = word;
        most = used[bank] > most ? used[bank] : most;
        ++all;
      }
    }
  }
  total->used += most;
  total->least += (all + BANKS - 1) / BANKS;
}

/// Sectors that hold some of the bytes, and how few could hold as many.
static void count_sectors(const site *site, const request *request,
                          hova_emulation_traffic *total) {
  uint64_t sectors[2 * LANES], places[LANES];
  uint32_t sector_count = 0, place_count = 0;
  for (uint32_t rest = request->lanes; rest; rest &= rest - 1) {
    uint64_t at = request->at[__builtin_ctz(rest)];
    uint32_t i = 0;
    while (i < place_count && places[i] != at) {
      ++i;
    }
    if (i < place_count) {
      continue;
    }
    places[place_count++] = at;
    for (uint64_t s = at / SECTOR; s * SECTOR < at + site->bytes; ++s) {
      for (i = 0; i < sector_count && sectors[i] != s; ++i) {
      }
      if (i == sector_count) {
        sectors[sector_count++] = s;
      }
    }
  }
  total->used += sector_count;
  total->least += (place_count * site->bytes + SECTOR - 1) / SECTOR;
}

static void count_request(block *block, const site *site,
                          const request *request) {
  hova_emulation_traffic *total = &block->report->counts.accesses[site->access];
  ++total->requests;
  if (site->access >= HOVA_EMULATION_LOADS) {
    count_sectors(site, request, total);
    return;
  }
  // As many lanes at once as a turn could serve.
  uint32_t lanes = site->bytes > WORD ? WAVEFRONT / site->bytes : LANES;
  for (uint32_t first = 0; first < LANES; first += lanes) {
    count_wavefronts(site, request, first, lanes, total);
  }
}

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

void note_traffic(hova_emulated_thread *self, uint32_t place,
                  hova_emulation_access access, uint64_t at, uint32_t bytes) {
  block *block = self->block;
  if (!block->launch->counts_accesses) {
    return;
  }
  warp *warp = &block->warps[self->index / LANES];
  traffic *traffic = warp->traffic;
  uint32_t number = 2 * place + (access >= HOVA_EMULATION_LOADS);
  traffic->sites = grow(self, traffic->sites, &traffic->site_count, number + 1,
                        sizeof *traffic->sites);
  site *site = &traffic->sites[number];
  if (!site->is_open) {
    traffic->open = grow(self, traffic->open, &traffic->open_room,
                         traffic->open_count + 1, sizeof *traffic->open);
    traffic->open[traffic->open_count++] = number;
    site->is_open = true;
    site->access = access;
    site->bytes = bytes;
  }
  uint32_t n = site->seen[self->lane]++;
  site->requests =
      grow(self, site->requests, &site->room, n + 1, sizeof *site->requests);
  site->count = n + 1 > site->count ? n + 1 : site->count;
  request *request = &site->requests[n];
  request->lanes |= 1u << self->lane;
  request->at[self->lane] = at;
  if (request->lanes == warp->all) {
    count_request(block, site, request);
    request->lanes = 0;
  }
}

void settle_traffic(block *block, warp *warp) {
  traffic *traffic = warp->traffic;
  if (!traffic) {
    return;
  }
  for (uint32_t i = 0; i < traffic->open_count; ++i) {
    site *site = &traffic->sites[traffic->open[i]];
    for (uint32_t r = 0; r < site->count; ++r) {
      if (site->requests[r].lanes) {
        count_request(block, site, &site->requests[r]);
        site->requests[r].lanes = 0;
      }
    }
    memset(site->seen, 0, sizeof site->seen);
    site->count = 0;
    site->is_open = false;
  }
  traffic->open_count = 0;
}
