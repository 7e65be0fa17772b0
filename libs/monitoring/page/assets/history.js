// Plots over hours and days from /api/series, and across runs from /api/trend.
import { Plot } from './plots.js';
import { el, setText } from './text.js';

const $ = (id) => document.getElementById(id);
const KEPT = 'weir-history';
const PLOTS_MAX = 6;
const REFRESH_MS = 10000;
const FIRST = ['farm/live_share', 'supervisor/weir_slices_triggered_total'];
const MARKS_MAX = 200;

let names = { time: [], runs: [] };
let plots = []; // { name, plot, element }
let runs = [];

const acrossRuns = () => $('history-range').value === 'runs';
const chosen = () => (acrossRuns() ? 'runs' : 'time');

function figure(value) {
  if (value === null || value === undefined) return '–';
  const size = Math.abs(value);
  if (size >= 1e9) return (value / 1e9).toPrecision(3) + '\u202fG';
  if (size >= 1e6) return (value / 1e6).toPrecision(3) + '\u202fM';
  if (size >= 1e4) return (value / 1e3).toPrecision(3) + '\u202fk';
  return value === 0 || Number.isInteger(value) ? String(value) : size < 1e-3 ? value.toExponential(1) : String(Number(value.toPrecision(3)));
}
const perSecond = (name) => name.endsWith('_total');

function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? {};
  } catch (error) {
    return {};
  }
}

function keep() {
  const all = kept();
  all[chosen()] = plots.map((one) => one.name);
  all.range = $('history-range').value;
  localStorage.setItem(KEPT, JSON.stringify(all));
}

async function get(path) {
  const answer = await fetch(path);
  const said = await answer.json();
  if (!answer.ok) throw new Error(said.message || answer.status);
  return said;
}

function add(name) {
  if (plots.some((one) => one.name === name) || plots.length >= PLOTS_MAX) return;
  const plot = new Plot({
    title: name, format: (value) => figure(value) + (perSecond(name) && value !== undefined ? '/s' : ''),
    series: [{ key: 'v', label: acrossRuns() ? 'run' : 'mean', style: 's1' }], label: acrossRuns() ? (t) => String(Math.round(t)) : null,
  });
  const remove = el('button', { type: 'button', className: 'plain' }, '×');
  remove.setAttribute('aria-label', 'Remove the plot of ' + name);
  remove.addEventListener('click', () => {
    plots = plots.filter((one) => one.name !== name);
    show();
    keep();
  });
  plot.element.querySelector('figcaption').append(remove);
  plots.push({ name, plot, element: plot.element });
}

// A gap between two points is not drawn over.
function pointsOf({ points, step_ms }) {
  return points.map(([t, v], i) => ({ t, v, gap: i > 0 && t - points[i - 1][0] > 2.5 * step_ms }));
}

async function load(one) {
  if (acrossRuns()) {
    let said;
    do said = await get('/api/trend?' + new URLSearchParams({ key: one.name, last: '200' })); while (said.more);
    const { points } = said;
    const list = points.map((point) => ({ t: point.run, v: point.value }));
    const span = list.length ? [list[0].t - 0.5, list.at(-1).t + 0.5] : null;
    return one.plot.show(list, [], span);
  }
  const seconds = Number($('history-range').value);
  const said = await get('/api/series?' + new URLSearchParams({ name: one.name, seconds }));
  const now = Date.now();
  const span = [now - seconds * 1000, now];
  one.plot.show(pointsOf(said), runs.filter((run) => run.begin > span[0]).map((run) => ({ t: run.begin, run: run.number })).reverse(), span);
}

async function refresh() {
  if (document.hidden || !plots.length) return;
  if (!acrossRuns()) {
    const hours = Math.ceil(Number($('history-range').value) / 3600);
    runs = (await get(`/api/runs?since=${hours}h&limit=${MARKS_MAX}`)).runs;
  }
  await Promise.all(plots.map(load));
}
const soon = () => refresh().then(() => setText($('history-note'), note()), (error) => setText($('history-note'), error.message));

function note() {
  if (names[chosen()].length === 0) return acrossRuns() ? 'No run has an end record yet.' : 'The first values come after ten seconds.';
  return plots.length ? '' : 'Choose a metric.';
}

function show() {
  $('history-plots').replaceChildren(...plots.map((one) => one.element));
  setText($('history-note'), note());
}

// Offers the metrics that exist now, and shows those chosen before.
export async function loadHistory() {
  const key = chosen();
  const said = await get(key === 'runs' ? '/api/trend' : '/api/series');
  names[key] = said.names ?? said.keys;
  $('history-metrics').replaceChildren(...names[key].map((name) => el('option', { value: name })));
  const wanted = kept()[key] ?? (key === 'runs' ? ['triggered', 'latency_us.p99'] : FIRST);
  plots = [];
  wanted.filter((name) => names[key].includes(name)).forEach(add);
  show();
  soon();
}

$('history-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const name = $('history-metric').value.trim();
  const wrong = !names[chosen()].includes(name) ? `'${name}' is not among the offered ones`
    : plots.length >= PLOTS_MAX ? `at most ${PLOTS_MAX} plots: remove one` : '';
  if (wrong) return setText($('history-note'), wrong);
  $('history-metric').value = '';
  add(name);
  show();
  keep();
  soon();
});
$('history-range').addEventListener('change', () => {
  const all = kept();
  localStorage.setItem(KEPT, JSON.stringify({ ...all, range: $('history-range').value }));
  loadHistory().catch((error) => setText($('history-note'), error.message));
});
const range = kept().range;
if ([...$('history-range').options].some((one) => one.value === range)) $('history-range').value = range;

setInterval(() => {
  // A new farm has its first names after some seconds.
  if (!plots.length) loadHistory().catch(() => {});
  else soon();
}, REFRESH_MS);
