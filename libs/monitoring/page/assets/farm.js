// The farm as its data flow: readouts, DCMs, writers; the supervisor above.
import { mayActAs, post } from './control.js';
import { badge, byteRate, duration, el, grouped, memberKind, micros, plural, rate, bytes, setBreakable, setText, shape } from './text.js';

const ROLES = ['supervisor', 'readout', 'dcm', 'writer'];
const TITLES = { supervisor: 'Supervisor', readout: 'Readouts', dcm: 'DCMs', writer: 'Writers' };
const BOXES_MAX = 12; // of a role; with more of them each is a tile
const CROWD = 60; // from so many on the tiles are smaller
const TROUBLED_MAX = 6; // of those, shown as boxes all the same

const byName = new Map(); // name -> {box, tile}
let groups = null;
let shown = null; // whose details are open
let last = null;

function figureOf(member) {
  if (member.slices_per_s === undefined) return '';
  if (member.role === 'supervisor') return rate(member.slices_per_s) + ' triggered';
  return byteRate(member.bytes_per_s);
}

function makeGroup(role) {
  const summary = el('span', { className: 'summary' });
  const boxes = el('div', { className: 'boxes', role: 'group', 'aria-label': TITLES[role] });
  const tiles = el('div', { className: 'tiles', role: 'group', 'aria-label': TITLES[role] + ', each as a tile' });
  for (const list of [boxes, tiles]) list.addEventListener('keydown', (event) => walk(event, list));
  const column = el('div', { className: 'column ' + role }, el('h3', {}, TITLES[role], summary), boxes, tiles);
  return { column, summary, boxes, tiles };
}

// One stop of the tab key for a whole group; inside, the arrows.
function walk(event, list) {
  const items = [...list.children];
  const at = items.indexOf(document.activeElement);
  const steps = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1, Home: -at, End: items.length - 1 - at };
  if (at < 0 || steps[event.key] === undefined) return;
  event.preventDefault();
  const next = items[Math.min(items.length - 1, Math.max(0, at + steps[event.key]))];
  items[at].tabIndex = -1;
  next.tabIndex = 0;
  next.focus();
}

function makeBox(name) {
  const state = el('span', { className: 'state' });
  const figure = el('span', { className: 'figure' });
  const reason = el('span', { className: 'reason' });
  const box = el('button', { type: 'button', className: 'node', tabIndex: -1 },
    el('span', { className: 'name' }, name), state, figure, reason);
  box.title = name;
  box.addEventListener('click', () => open(name));
  return { box, state, figure, reason };
}

function makeTile(name) {
  const tile = el('button', { type: 'button', className: 'tile', tabIndex: -1 });
  tile.addEventListener('click', () => open(name));
  return tile;
}

function partOf(name) {
  let part = byName.get(name);
  if (!part) byName.set(name, (part = { ...makeBox(name), tile: makeTile(name), kind: '' }));
  return part;
}

function boxOf({ member, kind }) {
  const part = partOf(member.name);
  part.box.dataset.kind = kind;
  badge(part.state, kind, member.state || 'unknown');
  setText(part.figure, figureOf(member));
  setBreakable(part.reason, member.reason);
  part.reason.title = member.reason;
  return part.box;
}

function tileOf({ member, kind }) {
  const part = partOf(member.name);
  const words = member.name + ': ' + (member.state || 'unknown') + (member.reason ? ', ' + member.reason : '');
  if (part.words !== words) {
    part.words = words;
    part.tile.title = words;
    part.tile.setAttribute('aria-label', words);
  }
  if (part.kind !== kind) {
    part.kind = kind;
    part.tile.dataset.kind = kind;
    part.tile.replaceChildren(shape(kind));
  }
  return part.tile;
}

function place(list, wanted) {
  const same = list.children.length === wanted.length && wanted.every((one, i) => list.children[i] === one);
  if (same) return;
  const focused = document.activeElement;
  list.replaceChildren(...wanted);
  if (wanted.includes(focused)) focused.focus();
  if (wanted.length && !wanted.some((one) => one.tabIndex === 0)) wanted[0].tabIndex = 0;
}

function showGroup(group, role, members) {
  const kinds = new Map();
  for (const member of members) kinds.set(member.state, (kinds.get(member.state) ?? 0) + 1);
  const all = members.map((member) => ({ member, kind: memberKind(member) }));
  const many = members.length > BOXES_MAX;
  const troubled = all.filter((one) => ['error', 'warning', 'unknown'].includes(one.kind));
  const whole = many ? troubled.slice(0, TROUBLED_MAX) : all;
  place(group.boxes, whole.map(boxOf));
  place(group.tiles, many ? all.map(tileOf) : []);
  group.tiles.hidden = !many;
  group.column.classList.toggle('many', many);
  group.column.classList.toggle('crowd', members.length >= CROWD);
  const states = [...kinds].map(([state, count]) => grouped(count) + ' ' + (state || 'unknown')).join(', ');
  const left = troubled.length - whole.length;
  const text = members.length > 1 ? states + (many && left > 0 ? ' · ' + left + ' more with a reason' : '') : '';
  setText(group.summary, text);
  group.column.hidden = members.length === 0;
}

function wire(name) {
  const label = el('span', { className: 'label' });
  const element = el('div', { className: 'wire ' + name, 'aria-hidden': 'true' }, label, el('span', { className: 'arrow' }));
  return { element, label };
}

function build(map) {
  groups = {};
  for (const role of ROLES) groups[role] = makeGroup(role);
  groups.wires = { control: wire('control'), built: wire('built'), stored: wire('stored') };
  map.replaceChildren(groups.supervisor.column, groups.wires.control.element, groups.readout.column,
    groups.wires.built.element, groups.dcm.column, groups.wires.stored.element, groups.writer.column);
}

export function showFlow(state) {
  last = state;
  const map = document.getElementById('flow-map');
  if (!groups) build(map);
  for (const role of ROLES) showGroup(groups[role], role, state.members.filter((member) => member.role === role));
  const there = new Set(state.members.map((member) => member.name));
  for (const name of byName.keys()) if (!there.has(name)) byName.delete(name);
  const point = state.point ?? {};
  setText(groups.wires.control.label,
    point.assigned === undefined ? 'assign, decide, clear' : rate(point.assigned) + ' slices assigned');
  setText(groups.wires.built.label, byteRate(point.built_bytes));
  setText(groups.wires.stored.label, byteRate(point.stored_bytes));
  if (shown) showDetails();
}

export function open(name) {
  shown = name;
  setText(document.getElementById('details-answer'), '');
  showDetails();
  // Not modal: that would style every element of the page anew, and hide the farm.
  document.getElementById('details').show();
}

function showDetails() {
  const member = last.members.find((one) => one.name === shown);
  setText(document.getElementById('details-title'), shown);
  const rows = member ? [
    ['State', (member.state || 'unknown') + (member.report_state && member.report_state !== member.state ? ' (' + member.report_state + ')' : '')],
    ['Reason', member.reason || '–'],
    ['Role', member.role + (member.importance ? ', ' + member.importance : '')],
    ['Host', member.host || '–'],
    ['Heard', member.age_s === null ? 'never' : member.age_s.toFixed(1) + ' s ago'],
    ['Slices', grouped(member.slices) + ' · ' + rate(member.slices_per_s)],
    ['Data', byteRate(member.bytes_per_s)],
    ['Building', member.p50_us === undefined ? '–' : 'p50 ' + micros(member.p50_us) + ', p99 ' + micros(member.p99_us)],
    ['In flight', plural(member.in_flight ?? 0, 'slice')],
    ['Buffer', bytes(member.buffer_bytes)],
    ['Lost', grouped(member.lost)],
    ['Retransmissions', grouped(member.retransmits)],
    ['CPU', member.cpu_s === undefined || member.cpu_s === null ? '–' : duration(member.cpu_s) + (member.cpu_percent === undefined ? '' : ' · ' + member.cpu_percent.toFixed(0) + ' % of a core')],
    ['Memory, largest', bytes(member.rss_bytes)],
  ] : [['State', 'not in the farm any more']];
  document.getElementById('details-actions').hidden = !member || !mayActAs('shift');
  for (const action of ['remove', 'log-level']) document.getElementById('details-' + action).disabled = !mayActAs('expert');
  document.getElementById('details-list').replaceChildren(
    ...rows.flatMap(([key, value]) => [el('dt', {}, key), el('dd', {}, value)]));
}

document.getElementById('details').addEventListener('close', () => {
  shown = null;
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && shown && !document.querySelector('dialog:modal')) document.getElementById('details').close();
});

// Actions on this process. The last one of its kind is removed only when asked twice.
let askedLast = '';
async function act(action, more = {}) {
  const said = await post('/api/act', { action, nodes: [shown], ...more });
  askedLast = !said.taken && action === 'remove' && said.message.includes('--last') ? shown : '';
  const hint = askedLast ? 'Refused: ' + said.message.replace(/; to remove.*/, '') + '. Press Remove again to remove it all the same.' : (said.taken ? '' : 'Refused: ') + said.message;
  setText(document.getElementById('details-answer'), hint);
}
document.getElementById('details-add').addEventListener('click', () => act('add'));
document.getElementById('details-restart').addEventListener('click', () => act('restart'));
document.getElementById('details-remove').addEventListener('click', () => act('remove', askedLast === shown ? { last: true } : {}));
document.getElementById('details-log-level').addEventListener('change', (event) => {
  if (event.target.value) act('log-level', { level: event.target.value });
  event.target.value = '';
});
