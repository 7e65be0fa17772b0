// The list of runs with its filters, and one run with a click, from the records: /api/runs, /api/run.
import { badge, bytes, duration, el, grouped, moment, plural, setText } from './text.js';
import { hasToken, post } from './control.js';
import { fieldsOf } from './fields.js';
import { setReferences } from './histograms.js';

const $ = (id) => document.getElementById(id);
const COLUMNS = ['Run', 'Begin (UTC)', 'Running', 'Triggered', 'Stored', 'Rejected', 'Discarded', 'Ledger', 'Quality', 'Type', 'Shifter', 'Comment', 'Ended'];
const NUMBERS = [2, 6]; // columns
const STEP = 200;
const CHANGE_MIN = 0.01; // smaller changes of numbers are left out
const FILTERS = ['text', 'since', 'outcome', 'quality'];
const QUALITY_KIND = { good: 'running', questionable: 'warning', bad: 'error' };

let limit = STEP;
let asked = 0; // the last request: answers to earlier ones are dropped
let waiting = null;
let shown = null; // the run whose details are open
let good = null; // the last good run before it
let compared = null; // { other, run, differences }

function outcomeOf(run) {
  if (run.outcome === 'open') return ['standby', 'no end yet'];
  if (run.outcome === 'never_began') return ['error', 'never began'];
  if (run.outcome === 'no_account') return ['error', 'no account'];
  if (run.outcome === 'failed') return ['error', 'failed'];
  if (!run.balanced) return ['error', 'does not balance'];
  if (run.discarded_at_stop) return ['warning', 'balances, cut short'];
  return run.faults ? ['warning', 'balances, with faults'] : ['running', 'balances'];
}

function endOf(run) {
  return run.discarded_at_stop ? `${run.reason}; ${grouped(run.discarded_at_stop)} in flight discarded` : run.reason;
}

function mark(kind, word) {
  const element = el('span', { className: 'badge small' });
  badge(element, kind, word);
  return element;
}

function rowOf(run) {
  const fields = run.fields ?? {};
  const open = el('button', { type: 'button', className: 'plain' }, String(run.number));
  open.addEventListener('click', () => showRun(run.number));
  const counts = [duration(run.running_s), ...[run.triggered, run.stored, run.rejected, run.discarded].map(grouped)];
  return el('tr', {}, el('th', { scope: 'row' }, open), el('td', {}, run.begin ? moment(run.begin) : ''),
    ...counts.map((text) => el('td', { className: 'number' }, text)), el('td', {}, mark(...outcomeOf(run))),
    el('td', {}, fields.quality ? mark(QUALITY_KIND[fields.quality] ?? 'unknown', fields.quality) : ''),
    el('td', {}, fields.type ?? ''), el('td', {}, fields.shifter ?? ''),
    el('td', { className: 'comment', title: fields.comment ?? '' }, fields.comment ?? ''), el('td', {}, endOf(run)));
}

function showList({ runs, matching, all }) {
  const head = el('tr', {}, ...COLUMNS.map((title, i) =>
    el('th', { scope: 'col', className: i >= NUMBERS[0] && i <= NUMBERS[1] ? 'number' : '' }, title)));
  const none = all ? 'No run matches.' : 'None has ended yet.';
  $('run-table').replaceChildren(el('thead', {}, head),
    el('tbody', {}, ...(runs.length ? runs.map(rowOf) : [el('tr', {}, el('td', { colSpan: COLUMNS.length }, none))])));
  const left = matching - runs.length;
  $('runs-more').hidden = left <= 0;
  setText($('runs-more'), `Show ${plural(Math.min(left, STEP), 'earlier run')}`);
  setText($('runs-note'), matching < all ? `${grouped(matching)} of ${plural(all, 'run')} match` : left > 0 ? `${grouped(runs.length)} of ${plural(all, 'run')}` : '');
}

// Asks for the list again: a run has begun or ended, or the filters have changed.
export async function loadRuns() {
  const query = new URLSearchParams({ limit: String(limit) });
  for (const key of FILTERS) {
    const value = $('runs-' + key).value.trim();
    if (value) query.set(key, value);
  }
  const mine = ++asked;
  const answer = await fetch('/api/runs?' + query);
  const list = await answer.json();
  if (mine !== asked) return;
  if (!answer.ok) {
    setText($('runs-note'), list.message);
    return;
  }
  showList(list);
  if (query.size === 1) setReferences(list.runs);
}

function soon() {
  limit = STEP;
  clearTimeout(waiting);
  waiting = setTimeout(() => loadRuns().catch(() => {}), 200);
}
for (const key of FILTERS) $('runs-' + key).addEventListener('input', soon);
$('runs-more').addEventListener('click', () => {
  limit += STEP;
  loadRuns().catch(() => {});
});

// ---- one run

const listOf = (fields) => Object.entries(fields ?? {}).map(([name, value]) => `${name}=${value || '(removed)'}`).join(', ');

function linesOf(run) {
  const lines = [['Outcome', outcomeOf(run)[1]], ['Begin', run.begin ? moment(run.begin) + ' UTC' : ''], ['End', run.end ? moment(run.end) + ' UTC' : ''],
    ['Running', duration(run.running_s)], ['Ended', endOf(run)], ['Failure', run.failure]];
  lines.push(...Object.entries(run.fields ?? {}).map(([name, value]) => [name[0].toUpperCase() + name.slice(1), value]));
  lines.push(...(run.annotations ?? []).map((one) => ['Annotated', `${moment(one.at)} UTC${one.by ? ' by ' + one.by : ''}: ${listOf(one.fields)}`]));
  const slices = ['triggered', 'stored', 'rejected', 'discarded'].map((key) => `${grouped(run[key])} ${key}`).join(', ');
  lines.push(['Slices', slices]);
  const end = run.end_record ?? {};
  lines.push(...(end.faults ?? []).map((fault) => ['Fault', fault]));
  lines.push(...(end.operations ?? []).map((one) => ['Change', `${one.at} ${one.what}`]));
  if (end.files?.length) lines.push(['Files', `${plural(end.files.length, 'file')}, ${bytes(end.files.reduce((sum, file) => sum + file.bytes, 0))}`]);
  lines.push(...Object.entries(run.parts ?? {}).filter(([key]) => key === 'versions.weir' || key.endsWith('plugin') || key.endsWith('crc32c')).map(([key, value]) => [key, value]));
  lines.push(...(run.records ?? []).map((path) => ['Record', path]));
  return lines.filter(([, value]) => value);
}

async function showRun(number) {
  shown = number;
  compared = null;
  const answer = await fetch('/api/run?number=' + number);
  const run = await answer.json();
  if (shown !== number) return;
  setText($('run-details-title'), 'Run ' + number);
  const lines = answer.ok ? linesOf(run) : [['No record', run.message]];
  $('run-details-list').replaceChildren(...lines.flatMap(([name, value]) => [el('dt', {}, name), el('dd', {}, value)]));
  showDifferences();
  setText($('run-answer'), '');
  $('annotate-form').hidden = !hasToken();
  $('compare-good').hidden = !run.good_before;
  good = run.good_before ?? null;
  if (good) setText($('compare-good'), `Compare with run ${good}, the last good one`);
  if (!$('run-details').open) $('run-details').showModal();
  // The first question about a run that failed.
  if (good && !['good', 'open'].includes(run.outcome)) await compare(good);
}

async function compare(other) {
  const run = shown;
  const answer = await fetch(`/api/run?number=${run}&with=${other}`);
  const said = await answer.json();
  if (shown !== run) return;
  compared = answer.ok ? { other, run, differences: said.differences } : null;
  setText($('run-answer'), !answer.ok ? said.message
    : said.differences.length ? `${plural(said.differences.length, 'difference')} from run ${other}` : `no difference from run ${other}`);
  showDifferences();
}

const isSmall = (one) => one.change !== undefined && Math.abs(one.change) < CHANGE_MIN;
const changeOf = (one) => (one.change === undefined ? '' : `${one.change > 0 ? '+' : ''}${Number((100 * one.change).toPrecision(3))}\u202f%`);

function showDifferences() {
  const all = compared?.differences ?? [];
  const wanted = all.filter((one) => $('compare-small').checked || !isSmall(one));
  $('compare-small').parentElement.hidden = !all.some(isSmall);
  if (!wanted.length) return $('run-differences').replaceChildren();
  const head = el('tr', {}, ...['', 'Key', 'Run ' + compared.other, 'Run ' + compared.run, 'Change'].map((title) => el('th', { scope: 'col' }, title)));
  $('run-differences').replaceChildren(el('thead', {}, head), el('tbody', {}, ...wanted.map((one) =>
    el('tr', {}, el('td', {}, one.part), el('th', { scope: 'row' }, one.key), el('td', {}, one.left), el('td', {}, one.right),
      el('td', { className: 'number' }, changeOf(one))))));
}

$('compare-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const other = $('compare-run').value.trim();
  if (other) compare(other).catch(() => {});
});
$('compare-good').addEventListener('click', () => compare(good).catch(() => {}));
$('compare-small').addEventListener('change', showDifferences);

$('annotate-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const fields = fieldsOf($('a-fields').value);
  for (const name of ['quality', 'comment']) {
    if ($('a-' + name).value.trim()) fields[name] = $('a-' + name).value.trim();
  }
  const run = shown;
  const said = await post('/api/annotate', { run, fields });
  if (said.taken) {
    for (const name of ['quality', 'comment', 'fields']) $('a-' + name).value = '';
    await showRun(run);
    await loadRuns();
  }
  setText($('run-answer'), (said.taken ? '' : 'Refused: ') + said.message);
});
