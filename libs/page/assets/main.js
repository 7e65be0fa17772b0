// Takes the state from run control and shows it. `/?poll` asks each second instead of listening to the stream, for
// proxies that hold streams back.
import { addPoint, setHistory } from './plots.js';
import { addLog, loadLogs, setProcesses, showLedger, showMembers, showRuns } from './tables.js';
import { badge, byteRate, duration, el, grouped, micros, rate, setText } from './text.js';
import { showControl } from './control.js';
import { showFlow } from './farm.js';

const $ = (id) => document.getElementById(id);
const STALE_MS = 5000;
let runs = -1;
let heard = 0;

const FIGURES = [
  ['Triggered', (state) => rate(state.point?.triggered)],
  ['Stored', (state) => rate(state.point?.stored)],
  ['Built', (state) => byteRate(state.point?.built_bytes)],
  ['Building, p50', (state) => micros(state.point?.p50_us)],
  ['Building, p99', (state) => micros(state.point?.p99_us)],
  ['Discarded', (state) => grouped(state.counts.discarded), (state) => state.counts.discarded > 0],
  ['Fragments missing', (state) => (state.counts.dcms_lost > 0 ? '≥ ' : '') + grouped(state.counts.fragments_missing), (state) => state.counts.fragments_missing > 0],
];
const figures = FIGURES.map(([title]) => {
  const value = el('dd');
  $('figures').append(el('div', {}, el('dt', {}, title), value));
  return value;
});

function showState(state) {
  heard = Date.now();
  setText($('farm-name'), state.farm || 'Weir');
  document.title = (state.farm || 'Weir') + ': ' + state.state;
  badge($('farm-state'), state.state, state.state);
  const on = state.run_begin !== null;
  setText($('run'), state.run ? 'run ' + state.run + (on ? ' · ' + duration((state.now - state.run_begin) / 1000) : ' ended') : '');
  $('reasons').hidden = state.reasons.length === 0;
  const reasons = [...$('reasons').children].map((item) => item.textContent);
  if (reasons.join('\n') !== state.reasons.join('\n'))
    $('reasons').replaceChildren(...state.reasons.map((reason) => el('li', {}, reason)));
  FIGURES.forEach(([, text, warns], i) => {
    setText(figures[i], text(state));
    figures[i].classList.toggle('warns', Boolean(warns?.(state)));
  });
  showControl(state);
  showFlow(state);
  showMembers(state.members);
  showLedger(state);
  setProcesses(state.members.map((member) => member.name));
  addPoint(state.point);
  showLink();
  if (runs !== state.runs) {
    runs = state.runs;
    get('/api/runs').then(showRuns, () => {});
  }
}

function showLink() {
  const live = heard && Date.now() - heard < STALE_MS;
  badge($('link'), live ? 'running' : 'error', live ? 'live' : heard ? 'no connection for ' + duration((Date.now() - heard) / 1000) : 'no connection');
}

async function get(path) {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error(path + ': ' + answer.status);
  return answer.json();
}

async function reload() {
  setHistory((await get('/api/history')).points);
  await loadLogs();
}

async function poll() {
  try {
    showState(await get('/api/state'));
    await loadLogs();
  } catch (error) {
    showLink();
  }
  setTimeout(poll, 1000);
}

function listen() {
  const events = new EventSource('/api/events');
  let lost = false;
  events.addEventListener('state', (event) => {
    // What was missed while there was no connection is asked for.
    if (lost) reload().catch(() => {});
    lost = false;
    showState(JSON.parse(event.data));
  });
  events.addEventListener('log', (event) => addLog(JSON.parse(event.data)));
  events.addEventListener('error', () => {
    lost = true;
    // Refused for good, say because there are too many listeners: then without a stream.
    if (events.readyState === EventSource.CLOSED) poll();
  });
}

setInterval(showLink, 1000);
try {
  await reload();
  showState(await get('/api/state'));
} catch (error) {
  showLink();
}
if (new URLSearchParams(location.search).has('poll')) poll();
else listen();
