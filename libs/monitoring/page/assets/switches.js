// The rings of the farm's switches in software.
import { RowTable } from './rows.js';
import { bytes, grouped } from './text.js';

const $ = (id) => document.getElementById(id);

// Switches of old versions report no bytes.
function depth(frames, size) {
  return grouped(frames) + (size > 0 ? ' (' + bytes(size) + ')' : '');
}

const table = new RowTable('switch-table', [
  ['Switch', (ring) => ring.switch],
  ['Ring', (ring) => ring.ring],
  ['Frames waiting', (ring) => depth(ring.waiting, ring.waiting_bytes), true],
  ['at most in the run', (ring) => depth(ring.waiting_most, ring.waiting_bytes_most), true],
  ['of', (ring) => grouped(ring.room), true],
  ['Left', (ring) => grouped(ring.frames), true],
  ['Dropped', (ring) => grouped(ring.dropped), true],
]);

export function showSwitches(state) {
  const rings = state.switch_rings ?? [];
  $('switches').hidden = rings.length === 0;
  table.show(rings, (ring) => ring.dropped > 0);
}
