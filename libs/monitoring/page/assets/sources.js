// Fragments of each source, those with the highest losses first, from /api/sources.
import { bytes, clock, el, grouped, plural, setText } from './text.js';
import { whenSeen } from './sight.js';

const FETCH_MS = 2000;
const ROWS_MAX = 100;
const COLUMNS = [
  { title: 'Source', show: (row) => String(row.source) },
  { title: 'Readout', show: (row) => row.readout },
  { title: 'Missing', show: (row) => grouped(total(row.missing)), number: true },
  { title: 'Received', show: (row) => grouped(row.received), number: true },
  { title: 'Data', show: (row) => bytes(row.bytes), number: true },
  { title: 'Last seen', show: (row) => (row.last_seen_utc_ms ? clock(row.last_seen_utc_ms) : 'never'), number: true },
  { title: 'Reasons', show: (row) => [reasons(row.missing, ''), reasons(row.dropped, 'dropped '), row.corrupt ? 'corrupt ' + grouped(row.corrupt) : ''].filter(Boolean).join(', ') },
];

const $ = (id) => document.getElementById(id);
const total = (counts) => Object.values(counts).reduce((sum, count) => sum + count, 0);
const reasons = (counts, before) =>
  Object.entries(counts).map(([reason, count]) => before + reason + ' ' + grouped(count)).join(', ');

const body = el('tbody');
$('source-table').append(
  el('thead', {}, el('tr', {}, ...COLUMNS.map((column) =>
    el('th', { scope: 'col', className: column.number ? 'number' : '' }, column.title)))), body);
$('sources-filter').addEventListener('input', () => show());

let shown = { rows: [] };
let fetched = 0;

const fetchSome = whenSeen($('sources'), () => {
  if (!document.hidden && Date.now() - fetched >= FETCH_MS) fetchSources();
});

export function showSources(state) {
  // At the farm's end the server lasts for half a second.
  if (state.over) fetchSources();
  else fetchSome();
}

function fetchSources() {
  fetched = Date.now();
  fetch('/api/sources').then((answer) => (answer.ok ? answer.json() : shown)).then((answer) => {
    shown = answer;
    show();
  }, () => {});
}

function rowOf(i) {
  if (!body.children[i]) {
    body.append(el('tr', {}, ...COLUMNS.map((column, at) =>
      el(at === 0 ? 'th' : 'td', { className: column.number ? 'number' : '', ...(at === 0 ? { scope: 'row' } : {}) }))));
  }
  return body.children[i];
}

function showGroups(groups) {
  const key = JSON.stringify(groups);
  if ($('source-groups').dataset.key === key) return;
  $('source-groups').dataset.key = key;
  $('source-groups').hidden = groups.length === 0;
  $('source-groups').replaceChildren(...groups.map((group) => el('li', {}, el('strong', {}, group.name),
    ` ${grouped(group.losing)} of ${plural(group.sources, 'source')} with missing fragments, ${grouped(group.missing)} in all`)));
}

function show() {
  showGroups(shown.groups ?? []);
  const wanted = $('sources-filter').value.trim().toLowerCase();
  const rows = shown.rows.filter((row) =>
    COLUMNS.filter((column) => !column.number).some((column) => column.show(row).toLowerCase().includes(wanted)));
  const list = rows.slice(0, ROWS_MAX);
  list.forEach((row, i) => COLUMNS.forEach((column, at) => setText(rowOf(i).children[at], column.show(row))));
  while (body.children.length > list.length) body.lastChild.remove();
  const left = rows.length - list.length + (wanted ? 0 : shown.left_out ?? 0);
  const lower = shown.partial || shown.incomplete?.length
    ? ' Counts are lower bounds: ' + (shown.incomplete?.length ? shown.incomplete.join(', ') + ' ended before the final report.' : 'a process has more sources than its reports.')
    : '';
  setText($('sources-note'), shown.rows.length === 0 ? 'No source was reported yet.'
    : (shown.losing ? plural(shown.losing, 'source') + ' with missing fragments.' : 'No fragment is missing.')
      + (left > 0 ? ' ' + grouped(left) + ' more not shown: none is worse than the last.' : '') + lower);
}
