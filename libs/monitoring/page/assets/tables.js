// Processes, ledger and log.
import { badge, byteRate, clock, el, grouped, memberKind, micros, plural, rate, setText } from './text.js';
import { open } from './farm.js';
import { whenSeen } from './sight.js';

const $ = (id) => document.getElementById(id);

// ---- processes

const COLUMNS = [
  { title: 'Process', key: 'name' },
  { title: 'State', key: 'state' },
  { title: 'Host', key: 'host' },
  { title: 'Pid', key: 'pid', show: (pid) => pid ?? '–', number: true },
  { title: 'Slices', key: 'slices_per_s', show: rate, number: true },
  { title: 'Data', key: 'bytes_per_s', show: byteRate, number: true },
  { title: 'p99', key: 'p99_us', show: micros, number: true },
  { title: 'In flight', key: 'in_flight', show: grouped, number: true },
  { title: 'Lost', key: 'lost', show: grouped, number: true },
  { title: 'Heard', key: 'age_s', show: (age) => (age === null || age === undefined ? 'never' : age.toFixed(1) + ' s'), number: true },
  { title: 'Reason', key: 'reason' },
];
const ROWS_MAX = 400;
const inOrder = new Intl.Collator('en', { numeric: true }).compare;
const rows = new Map();
let sort = { key: null, down: false };
let members = [];

const heads = COLUMNS.map((column) => {
  const button = el('button', { type: 'button' }, column.title);
  button.addEventListener('click', () => {
    sort = { key: column.key, down: sort.key === column.key ? !sort.down : Boolean(column.number) };
    listMembers(members);
  });
  return el('th', { scope: 'col', role: 'columnheader', className: column.number ? 'number' : '' }, button);
});
// Explicit roles, because the rows are laid out one by one (page.css), and lose those of a table.
const body = el('tbody', { role: 'rowgroup' });
$('members').append(el('thead', { role: 'rowgroup' }, el('tr', { role: 'row' }, ...heads)), body);
$('members-filter').addEventListener('input', () => listMembers(members));

function rowOf(member) {
  let row = rows.get(member.name);
  if (!row) {
    const cells = COLUMNS.map((column, i) =>
      el(i === 0 ? 'th' : 'td', { className: column.number ? 'number' : '', ...(i === 0 ? { scope: 'row', role: 'rowheader' } : { role: 'cell' }) }));
    cells[1].append(el('span', { className: 'badge small' }));
    const name = el('button', { type: 'button', className: 'plain' }, member.name);
    name.addEventListener('click', () => open(member.name));
    cells[0].append(name);
    rows.set(member.name, (row = { cells, texts: [], element: el('tr', { role: 'row' }, ...cells) }));
  }
  COLUMNS.forEach((column, i) => {
    if (column.key === 'name') return;
    if (column.key === 'state') return badge(row.cells[i].firstChild, memberKind(member), member.state || 'unknown');
    const value = member[column.key];
    const text = column.show ? column.show(value) : value || '';
    if (row.texts[i] !== text) row.cells[i].textContent = row.texts[i] = text;
  });
  return row.element;
}

function compare(a, b) {
  const [x, y] = [a[sort.key] ?? '', b[sort.key] ?? ''];
  if (typeof x === 'number' && typeof y === 'number') return x - y;
  if (typeof x === 'number' || typeof y === 'number') return typeof x === 'number' ? 1 : -1;
  return inOrder(String(x), String(y));
}

export const showMembers = whenSeen($('processes'), listMembers);

function listMembers(all) {
  members = all;
  const wanted = $('members-filter').value.trim().toLowerCase();
  let list = members.filter((member) =>
    [member.name, member.host, member.state, member.reason, member.role].join(' ').toLowerCase().includes(wanted));
  if (sort.key) list = [...list].sort((a, b) => (sort.down ? compare(b, a) : compare(a, b)));
  COLUMNS.forEach((column, i) => heads[i].setAttribute('aria-sort',
    sort.key !== column.key ? 'none' : sort.down ? 'descending' : 'ascending'));
  const elements = list.slice(0, ROWS_MAX).map(rowOf);
  if (elements.length !== body.children.length || elements.some((row, i) => body.children[i] !== row))
    body.replaceChildren(...elements);
  const left = list.length - elements.length;
  setText($('members-note'), list.length < members.length || left > 0
    ? `${grouped(elements.length)} of ${plural(members.length, 'process')}${members.length === 1 ? '' : 'es'}`.replace('processs', 'process') : '');
  const there = new Set(members.map((member) => member.name));
  for (const name of rows.keys()) if (!there.has(name)) rows.delete(name);
}

// ---- ledger

const COUNTS = [
  ['Offered', 'offered'], ['Vetoed', 'vetoed'], ['Triggered', 'triggered'], ['Stored', 'stored'],
  ['… of them incomplete', 'stored_incomplete'], ['Rejected', 'rejected'], ['Discarded', 'discarded'],
  ['Not settled', 'in_flight'], ['Fragments requested', 'fragments_requested'],
  ['Fragments received', 'fragments_received'], ['Fragments missing', 'fragments_missing'],
  ['DCMs lost', 'dcms_lost'],
];

const counted = (text) => (/^\d+$/.test(text) ? grouped(Number(text)) : text);
const listed = (reasons) => Object.entries(reasons ?? {}).map(([reason, count]) => reason + ' ' + grouped(count)).join(', ');

let ledger = '';
export function showLedger(state) {
  const now = JSON.stringify([state.over, state.state, state.run, state.last_run, state.runs > 0, state.counts, state.vetoed, state.discarded, state.groups, state.steps, state.bursts, state.ledger]);
  if (now === ledger) return;
  ledger = now;
  const why = { vetoed: listed(state.vetoed), discarded: listed(state.discarded),
    dcms_lost: state.counts.dcms_lost > 0 ? 'before their final report: the fragments are at least so many' : '' };
  const running = !state.over && ['running', 'paused'].includes(state.state);
  $('counts-head').textContent = running ? `Run ${state.run} so far` : state.run ? `Run ${state.run}` : 'No run yet';
  $('equations-head').textContent = state.last_run ? `Run ${state.last_run}, the last one that ended` : 'No run has ended yet';
  $('counts').replaceChildren(...COUNTS.filter(([, key]) => state.counts[key] !== undefined).map(([title, key]) =>
    el('tr', {}, el('th', { scope: 'row' }, title), el('td', { className: 'number' }, grouped(state.counts[key])),
      el('td', { className: 'why' }, why[key] ?? ''))));
  $('counts').append(...Object.entries(state.groups ?? {}).sort(([, a], [, b]) => b.arrived - a.arrived).map(([name, group]) =>
    el('tr', {}, el('th', { scope: 'row' }, 'Into group ' + name), el('td', { className: 'number' }, grouped(group.arrived)),
      el('td', { className: 'why' }, listed(Object.fromEntries(Object.entries(group).filter(([key, count]) => key !== 'arrived' && count > 0)))))));
  const mean = (step, key) => Math.round(step[key] / Math.max(1, step.slices)) + ' us';
  $('counts').append(...(state.steps ?? []).map((step) =>
    el('tr', {}, el('th', { scope: 'row' }, (step.group ? step.group + ', step ' : 'Step ') + step.step), el('td', { className: 'number' }, grouped(step.slices)),
      el('td', { className: 'why' }, grouped(step.rejected) + ' rejected, ' + grouped(step.bytes) + ' bytes, waiting ' + mean(step, 'wait_us') +
        ', processing ' + mean(step, 'process_us') + ', CPU ' + mean(step, 'cpu_us')))));
  if (state.bursts)
    $('counts').append(el('tr', {}, el('th', { scope: 'row' }, 'Saved for ' + plural(state.bursts.alerts, 'alert')),
      el('td', { className: 'number' }, grouped(state.bursts.saved)),
      el('td', { className: 'why' }, 'of ' + grouped(state.bursts.asked) + ' slices' +
        Object.entries(state.bursts.not_saved).filter(([, count]) => count > 0).map(([reason, count]) => ', ' + grouped(count) + ' ' + reason).join(''))));
  if (!$('counts').children.length) $('counts').append(el('tr', {}, el('td', {}, 'No report of a supervisor yet.')));
  const lines = state.ledger.map((line) => {
    const mark = el('span', { className: 'badge small' });
    const same = line.left === line.right;
    badge(mark, !line.good ? 'error' : same ? 'running' : 'plain', !line.good ? 'does not hold' : same ? 'ok' : 'may differ');
    return el('tr', {}, el('th', { scope: 'row' }, line.name), el('td', { className: 'number' }, counted(line.left) + (line.left === line.right ? '' : ' / ' + counted(line.right))),
      el('td', {}, mark, line.note ? ' ' + line.note : ''));
  });
  $('equations').replaceChildren(...(lines.length ? lines : [el('tr', {}, el('td', {}, noLedger(state)))]));
}

// Run control that was started again has the history, and not the last account.
function noLedger(state) {
  if (!state.runs) return 'No run has ended yet.';
  const run = state.last_run.toString().padStart(6, '0');
  return `The ledger of run ${state.last_run} is in run-${run}-end.json: run control restarted since.`;
}

// ---- log

const LEVELS = ['trace', 'debug', 'info', 'warning', 'error'];
const KIND_OF_LEVEL = { error: 'error', warning: 'warning' };
const LINES_MAX = 300;
let newest = 0;
let waiting = null;

function logLine(line) {
  const level = el('span', { className: 'level' });
  badge(level, KIND_OF_LEVEL[line.level] ?? 'plain', line.level);
  if (!KIND_OF_LEVEL[line.level]) level.firstChild.remove();
  return el('li', { className: line.level }, el('time', { dateTime: new Date(line.t).toISOString() }, clock(line.t)), level,
    el('span', { className: 'process' }, line.process), el('span', { className: 'text' }, line.text));
}

function matches(line) {
  const text = $('log-text').value.toLowerCase();
  const process = $('log-process').value;
  return LEVELS.indexOf(line.level) >= LEVELS.indexOf($('log-level').value) && (!process || line.process === process) &&
    (!text || line.text.toLowerCase().includes(text) || line.process.toLowerCase().includes(text));
}

export async function loadLogs() {
  const query = new URLSearchParams({ q: $('log-text').value, level: $('log-level').value, process: $('log-process').value, lines: LINES_MAX });
  const answer = await fetch('/api/logs?' + query);
  const { lines, dropped } = await answer.json();
  $('log-lines').replaceChildren(...lines.reverse().map(logLine));
  newest = lines.length ? lines[0].number : newest;
  setText($('log-note'), (lines.length ? '' : 'No line matches. ') + (dropped ? plural(dropped, 'older line') + ' not kept.' : ''));
}

export function addLog(line) {
  if (line.number <= newest) return;
  newest = line.number;
  if (!matches(line)) return;
  $('log-lines').prepend(logLine(line));
  while ($('log-lines').children.length > LINES_MAX) $('log-lines').lastChild.remove();
}

export function setProcesses(names) {
  const select = $('log-process');
  const wanted = ['', ...names];
  if (select.options.length === wanted.length && wanted.every((name, i) => select.options[i].value === name)) return;
  const chosen = select.value;
  select.replaceChildren(...wanted.map((name) => el('option', { value: name }, name || 'all processes')));
  select.value = wanted.includes(chosen) ? chosen : '';
}

function soon() {
  clearTimeout(waiting);
  waiting = setTimeout(() => loadLogs().catch(() => {}), 200);
}
$('log-text').addEventListener('input', soon);
$('log-level').addEventListener('change', soon);
$('log-process').addEventListener('change', soon);
