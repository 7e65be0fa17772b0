// The rings of the farm's switches in software.
import { RowTable } from './rows.js';
import { grouped } from './text.js';

const $ = (id) => document.getElementById(id);

const table = new RowTable('switch-table', [
  ['Switch', (ring) => ring.switch],
  ['Ring', (ring) => ring.ring],
  ['Frames waiting', (ring) => grouped(ring.waiting), true],
  ['at most', (ring) => grouped(ring.waiting_most), true],
  ['of', (ring) => grouped(ring.room), true],
  ['Left', (ring) => grouped(ring.frames), true],
  ['Dropped', (ring) => grouped(ring.dropped), true],
]);

export function showSwitches(state) {
  const rings = state.switch_rings ?? [];
  $('switches').hidden = rings.length === 0;
  table.show(rings, (ring) => ring.dropped > 0);
}
