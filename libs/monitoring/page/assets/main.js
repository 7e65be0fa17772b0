// Takes the state from run control and shows it. `/?poll` asks each second instead of listening to the stream, for
// proxies that hold streams back.
import { addPoint, setHistory } from './plots.js';
import { addLog, loadLogs, setProcesses, showLedger, showMembers } from './tables.js';
import { badge, byteRate, duration, el, grouped, kindOfGravity, micros, rate, setText } from './text.js';
import { showAlarms } from './alarms.js';
import { freeText, freeWarns, showDisks } from './disks.js';
import { showControl } from './control.js';
import { showHistograms } from './histograms.js';
import { loadHistory } from './history.js';
import { qualityFails, qualityText, qualityWarns, showQuality } from './quality.js';
import { loadRuns } from './runs.js';
import { showFields } from './fields.js';
import { showProblems } from './problems.js';
import { showSettings } from './settings.js';
import { showFlow } from './farm.js';
import { showSources } from './sources.js';
import { showSwitches } from './switches.js';
import { unheard } from './health.js';

const $ = (id) => document.getElementById(id);
const STALE_MS = 5000;
let runs = null;
let heard = 0;
let last = null;

const FIGURES = [
  ['Triggered', (state) => rate(state.point?.triggered)],
  ['Stored', (state) => rate(state.point?.stored)],
  ['Built', (state) => byteRate(state.point?.built_bytes)],
  ['Building, p50', (state) => micros(state.point?.p50_us)],
  ['Building, p99', (state) => micros(state.point?.p99_us)],
  ['Discarded', (state) => grouped(state.counts.discarded), (state) => state.counts.discarded > 0],
  ['Fragments missing', (state) => (state.counts.dcms_lost > 0 ? '≥ ' : '') + grouped(state.counts.fragments_missing), (state) => state.counts.fragments_missing > 0],
  ['Live', (state) => (state.live_share === null || state.live_share === undefined ? '–' : (100 * state.live_share).toFixed(1) + '\u202f%'),
    (state) => state.live_share !== null && state.live_share < 0.5],
  ['Quality', qualityText, qualityWarns, qualityFails],
  ['Disk free', freeText, freeWarns],
];
const figures = FIGURES.map(([title]) => {
  const value = el('dd');
  $('figures').append(el('div', {}, el('dt', {}, title), value));
  return value;
});

function showState(state) {
  heard = Date.now();
  last = state;
  setText($('farm-name'), state.farm || 'Weir');
  const on = state.run_begin !== null;
  const type = state.run_fields?.type ? ' · ' + state.run_fields.type : '';
  const run = state.run ? 'run ' + state.run + type + (on ? ' · ' + duration((state.now - state.run_begin) / 1000) : ' ended') : '';
  const plain = state.over || state.health[0].word === state.state; // the badge says it already
  setText($('run'), [plain ? '' : state.state, run].filter(Boolean).join(' · '));
  FIGURES.forEach(([, text, warns, fails], i) => {
    setText(figures[i], text(state));
    figures[i].classList.toggle('warns', Boolean(warns?.(state)));
    figures[i].classList.toggle('fails', Boolean(fails?.(state)));
  });
  showControl(state);
  showSettings(state);
  showProblems(state);
  showFlow(state);
  showSources(state);
  showDisks(state);
  showSwitches(state);
  setText($('sequence'), state.sequence ? 'Scan ' + state.sequence : '');
  $('sequence').hidden = !state.sequence;
  showAlarms(state);
  showMembers(state.members);
  showLedger(state);
  showHistograms(state);
  showQuality(state);
  setProcesses(state.members.map((member) => member.name));
  addPoint(state.point);
  showLink();
  showFields(state);
  // A run has begun or ended.
  const known = state.last_run + ' ' + state.run;
  if (runs !== known) {
    runs = known;
    loadRuns().catch(() => {});
  }
}

// The worst in the header, in words and colour; what else there is in a list below.
function showHealth(health) {
  const [worst, ...others] = health;
  document.title = (last?.farm || 'Weir') + ': ' + worst.word;
  badge($('farm-state'), kindOfGravity(worst.gravity, last?.state), worst.word);
  $('top').dataset.gravity = worst.gravity;
  setText($('why'), worst.reason);
  $('why').hidden = !worst.reason;
  $('why-since').hidden = !worst.reason || !lasts(worst);
  setText($('why-since'), lasts(worst));
  const said = others.filter((one) => one.reason);
  $('findings').hidden = said.length === 0;
  showTimes(said);
  const key = JSON.stringify(said);
  if ($('findings').dataset.key === key) return;
  $('findings').dataset.key = key;
  $('findings').replaceChildren(...said.map((one) => {
    const mark = el('span', { className: 'badge small' });
    badge(mark, kindOfGravity(one.gravity), one.word);
    return el('li', {}, mark, ' ' + one.reason + ' ', el('small', { className: 'since' }, lasts(one)));
  }));
}

// Apart from the text of a finding, which stays the same: a screen reader does not repeat it each second.
const lasts = (finding) => (['warning', 'error'].includes(finding.gravity) && finding.since && last ? 'for ' + duration((last.now - finding.since) / 1000) : '');

function showTimes(said) {
  const times = $('findings').querySelectorAll('.since');
  if (times.length === said.length) said.forEach((one, i) => setText(times[i], lasts(one)));
}

function showLink() {
  const live = heard && Date.now() - heard < STALE_MS;
  const ended = !live && Boolean(last?.over);
  badge($('link'), live ? 'running' : ended ? 'idle' : 'error', live ? 'live' : ended ? 'ended' : 'not live');
  document.body.classList.toggle('stale', !live && !ended);
  if (live) showHealth(last.health);
  else showHealth(unheard(last, heard, Date.now()));
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
    // Requests the states missed while the connection was lost.
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
loadHistory().catch(() => {});
try {
  await reload();
  showState(await get('/api/state'));
} catch (error) {
  showLink();
}
if (new URLSearchParams(location.search).has('poll')) poll();
else listen();
