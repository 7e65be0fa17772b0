// The disks with folders of the farm: free space, and the time until they are full.
import { RowTable } from './rows.js';
import { byteRate, bytes } from './text.js';

const $ = (id) => document.getElementById(id);
const PERCENT = 100;

const free = (disk) => disk.free_bytes / disk.total_bytes;

function time(seconds) {
  if (seconds === null) return 'does not fill';
  const [big, name, small, rest] = seconds >= 86400 ? [86400, 'd', 3600, 'h'] : [3600, 'h', 60, 'min'];
  const less = Math.floor((seconds % big) / small);
  return (seconds >= big ? Math.floor(seconds / big) + ' ' + name + ' ' : '') + less + ' ' + rest;
}

const table = new RowTable('disk-table', [
  ['Host', (disk) => disk.host],
  ['Folder', (disk) => disk.folder],
  ['Used by', (disk) => disk.processes.join(', ')],
  ['Free', (disk) => bytes(disk.free_bytes) + ' (' + Math.floor(PERCENT * free(disk)) + ' %)', true],
  ['Fills at', (disk) => byteRate(disk.fill_per_s), true],
  ['Full in', (disk) => time(disk.left_s), true],
]);

export function showDisks(state) {
  const disks = state.disks ?? [];
  $('disks').hidden = disks.length === 0;
  table.show(disks, (disk) => disk.short);
}

// The disk that is full first, for the figures.
export function fullest(state) {
  const soonest = (disk) => disk.left_s ?? Infinity;
  return (state.disks ?? []).reduce((worst, disk) =>
    (!worst || soonest(disk) < soonest(worst) || (soonest(disk) === soonest(worst) && free(disk) < free(worst)) ? disk : worst), null);
}
// "25 %", or the time left where that is less than a day.
export function freeText(state) {
  const disk = fullest(state);
  if (!disk) return '–';
  if (disk.left_s === null || disk.left_s >= 86400) return Math.floor(PERCENT * free(disk)) + '\u202f%';
  return disk.left_s >= 3600 ? (disk.left_s / 3600).toFixed(1) + '\u202fh' : Math.floor(disk.left_s / 60) + '\u202fmin';
}
export const freeWarns = (state) => (state.disks ?? []).some((disk) => disk.short);
