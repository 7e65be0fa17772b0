// Histograms and counters of the filter. Contents come from /api/histograms, whenever the state has a new version.
import { el, grouped, setText } from './text.js';
import { whenSeen } from './sight.js';

const NS = 'http://www.w3.org/2000/svg';
const HEIGHT = 190;
const RATIO_HEIGHT = 74;
const MARGIN = { left: 58, right: 10, top: 8, bottom: 20 };
const CELLS_MAX = 60; // of a 2-D histogram on each axis; more share a cell
const MAP_HEIGHT = 230;
const FETCH_MS = 2000;

const $ = (id) => document.getElementById(id);
const cards = new Map();
let shown = null; // the document
let reference = null; // of another run
let version = -1;
let fetched = 0;
let listed = '';
let counted = ''; // the counters that are shown

function svg(tag, attributes, text) {
  const element = document.createElementNS(NS, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function short(value) {
  if (value === 0 || !Number.isFinite(value)) return String(value);
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-3) return value.toExponential(1).replace('e+', 'e');
  return String(Number(value.toPrecision(4)));
}

function step(range, count) {
  const raw = range / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw * 0.999);
}

function linear(low, high, count) {
  const size = step(high > low ? high - low : 1, count);
  const ticks = [];
  for (let tick = Math.ceil(low / size - 1e-9) * size; tick <= high + size * 1e-6; tick += size) ticks.push(Math.abs(tick) < size * 1e-9 ? 0 : tick);
  return { ticks, at: (value) => (value - low) / (high - low || 1) };
}

// From `low` (0 or below) to the first tick that holds `high`.
function upwards(low, high) {
  const size = step(high - low || 1, 4);
  return linear(low, Math.max(size, Math.ceil(high / size - 1e-9) * size), 4);
}

function logarithmic(low, high) {
  const from = Math.floor(Math.log10(low));
  const to = Math.max(from + 1, Math.ceil(Math.log10(high)));
  const ticks = [];
  for (let power = from; power <= to; power += Math.max(1, Math.ceil((to - from) / 4))) ticks.push(10 ** power);
  return { ticks, at: (value) => (value <= 0 ? 0 : (Math.log10(value) - from) / (to - from)) };
}

// A profile's contents are its means.
function valuesOf(histogram) {
  const bins = histogram.contents.slice(1, -1);
  if (histogram.kind !== 'profile') return bins;
  return bins.map((weight, i) => (weight ? histogram.sum_y[i + 1] / weight : null));
}

const total = (histogram) => histogram.contents.reduce((sum, one) => sum + one, 0);

function factsOf(histogram) {
  const weight = total(histogram);
  const mean = weight ? histogram.sum_x / weight : 0;
  const sigma = weight ? Math.sqrt(Math.max(0, histogram.sum_x2 / weight - mean * mean)) : 0;
  const facts = [grouped(histogram.entries) + ' entries'];
  if (histogram.kind !== '2d') {
    facts.push('mean ' + short(mean), 'sigma ' + short(sigma));
    if (histogram.contents[0]) facts.push('underflow ' + short(histogram.contents[0]));
    if (histogram.contents.at(-1)) facts.push('overflow ' + short(histogram.contents.at(-1)));
  }
  if (histogram.unusable) facts.push('not a number ' + grouped(histogram.unusable));
  return facts.join(' · ');
}

function steps(values, x, y, base) {
  let d = `M${x(0).toFixed(1)} ${base.toFixed(1)}`;
  values.forEach((value, i) => {
    const at = value === null ? base : y(value);
    d += `V${at.toFixed(1)}H${x(i + 1).toFixed(1)}`;
  });
  return d + `V${base.toFixed(1)}`;
}

class Card {
  constructor(name) {
    this.facts = el('p', { className: 'note' });
    this.at = el('span', { className: 'at' });
    this.picture = svg('svg', { class: 'picture', role: 'img' });
    this.element = el('figure', { className: 'card' },
      el('figcaption', {}, el('h3', {}, name), this.at), this.facts, this.picture);
    this.picture.addEventListener('pointermove', (event) => this.point(event));
    this.picture.addEventListener('pointerleave', () => setText(this.at, ''));
    new ResizeObserver(() => this.draw()).observe(this.element);
  }

  show(histogram, other) {
    Object.assign(this, { histogram, other });
    this.draw();
  }

  draw() {
    const width = this.picture.clientWidth;
    if (!width || !this.histogram) return;
    this.width = width;
    setText(this.facts, factsOf(this.histogram));
    this.picture.setAttribute('aria-label', this.histogram.name + ': ' + factsOf(this.histogram));
    if (this.histogram.kind === '2d') this.drawMap();
    else this.drawBins();
  }

  frame(height, x, y) {
    const { width } = this;
    this.picture.setAttribute('height', height);
    this.picture.setAttribute('viewBox', `0 0 ${width} ${height}`);
    const bottom = height - MARGIN.bottom;
    return [
      ...y.ticks.flatMap((tick) => [
        svg('path', { d: `M${MARGIN.left} ${y.place(tick)}H${width - MARGIN.right}`, class: 'grid' }),
        svg('text', { x: MARGIN.left - 6, y: y.place(tick) + 4, class: 'tick y' }, short(tick))]),
      ...x.ticks.map((tick) => svg('text', { x: x.place(tick), y: bottom + 15, class: 'tick x' }, short(tick))),
    ];
  }

  scaleX(axis) {
    const scale = linear(axis.low, axis.high, Math.max(2, Math.floor(this.width / 90)));
    const inner = this.width - MARGIN.left - MARGIN.right;
    return { ticks: scale.ticks, place: (value) => MARGIN.left + scale.at(value) * inner };
  }

  drawBins() {
    const { histogram, other } = this;
    const values = valuesOf(histogram);
    const theirs = other ? valuesOf(other) : null;
    const factor = other && histogram.kind !== 'profile' && total(other) > 0 ? total(histogram) / total(other) : 1;
    const scaled = theirs?.map((value) => (value === null ? null : value * factor));
    const all = [...values, ...(scaled ?? [])].filter((value) => value !== null);
    const top = Math.max(...all, 0);
    const positive = all.filter((value) => value > 0);
    const logs = $('histogram-scale').value === 'log' && positive.length > 0;
    const scale = logs ? logarithmic(Math.min(...positive), top) : upwards(Math.min(...all, 0), top);
    const bottom = HEIGHT - MARGIN.bottom;
    const y = { ticks: scale.ticks, place: (value) => bottom - scale.at(value) * (bottom - MARGIN.top) };
    const axis = this.scaleX(histogram.x);
    const bin = (i) => axis.place(histogram.x.low + ((histogram.x.high - histogram.x.low) * i) / histogram.x.bins);
    const base = logs ? bottom : y.place(0);
    const drawn = this.frame(HEIGHT, axis, y);
    const outline = steps(values, bin, y.place, base);
    drawn.push(svg('path', { d: outline, class: 'bins' }), svg('path', { d: outline, class: 'line s1' }));
    if (scaled) {
      drawn.push(svg('path', { d: steps(scaled, bin, y.place, base), class: 'line s2' }));
      drawn.push(...this.ratio(values, scaled, bin));
      this.picture.setAttribute('height', HEIGHT + RATIO_HEIGHT);
      this.picture.setAttribute('viewBox', `0 0 ${this.width} ${HEIGHT + RATIO_HEIGHT}`);
    }
    this.picture.replaceChildren(...drawn);
  }

  ratio(values, theirs, bin) {
    const bottom = HEIGHT + RATIO_HEIGHT - 8;
    const place = (value) => bottom - (Math.min(2, Math.max(0, value)) / 2) * (RATIO_HEIGHT - 22);
    const drawn = [0, 1, 2].flatMap((tick) => [
      svg('path', { d: `M${MARGIN.left} ${place(tick)}H${this.width - MARGIN.right}`, class: 'grid' }),
      svg('text', { x: MARGIN.left - 6, y: place(tick) + 4, class: 'tick y' }, String(tick))]);
    let d = '';
    values.forEach((value, i) => {
      if (value !== null && theirs[i]) d += `M${bin(i).toFixed(1)} ${place(value / theirs[i]).toFixed(1)}H${bin(i + 1).toFixed(1)}`;
    });
    drawn.push(svg('path', { d, class: 'line s3 solid' }));
    return drawn;
  }

  drawMap() {
    const { x, y, contents } = this.histogram;
    const share = { x: Math.ceil(x.bins / CELLS_MAX), y: Math.ceil(y.bins / CELLS_MAX) };
    const columns = Math.ceil(x.bins / share.x);
    const rows = Math.ceil(y.bins / share.y);
    const sums = new Array(columns * rows).fill(0);
    for (let j = 0; j < y.bins; ++j)
      for (let i = 0; i < x.bins; ++i)
        sums[Math.floor(j / share.y) * columns + Math.floor(i / share.x)] += contents[(j + 1) * (x.bins + 2) + i + 1];
    const top = Math.max(...sums, 0);
    const positive = sums.filter((sum) => sum > 0);
    const logs = $('histogram-scale').value === 'log' && positive.length > 0;
    const scale = logs ? logarithmic(Math.min(...positive), top) : linear(0, top || 1, 4);
    const bottom = MAP_HEIGHT - MARGIN.bottom;
    const axisX = this.scaleX(x);
    const up = linear(y.low, y.high, 5);
    const axisY = { ticks: up.ticks, place: (value) => bottom - up.at(value) * (bottom - MARGIN.top) };
    const drawn = this.frame(MAP_HEIGHT, axisX, axisY);
    const edge = (axis, i) => axis.low + (axis.high - axis.low) * Math.min(1, i / axis.bins);
    sums.forEach((sum, at) => {
      if (sum <= 0) return;
      const [i, j] = [at % columns, Math.floor(at / columns)];
      const [left, right] = [i, i + 1].map((n) => axisX.place(edge(x, n * share.x)));
      const [low, high] = [j, j + 1].map((n) => axisY.place(edge(y, n * share.y)));
      drawn.push(svg('rect', { x: left, y: high, width: right - left, height: low - high, class: 'cell',
        'fill-opacity': (0.12 + 0.88 * Math.min(1, scale.at(sum))).toFixed(2) }));
    });
    this.picture.replaceChildren(...drawn);
  }

  point(event) {
    if (!this.histogram || this.histogram.kind === '2d') return;
    const { x } = this.histogram;
    const inner = this.width - MARGIN.left - MARGIN.right;
    const bin = Math.floor(((event.offsetX - MARGIN.left) / inner) * x.bins);
    if (bin < 0 || bin >= x.bins) return setText(this.at, '');
    const edge = (i) => short(x.low + ((x.high - x.low) * i) / x.bins);
    setText(this.at, `${edge(bin)} to ${edge(bin + 1)}: ${short(valuesOf(this.histogram)[bin] ?? 0)}`);
  }
}

const sameAxis = (one, other) => one?.bins === other?.bins && one?.low === other?.low && one?.high === other?.high;
function counterpart(histogram) {
  const other = reference?.histograms.find((one) => one.name === histogram.name);
  const same = other && other.kind === histogram.kind && sameAxis(other.x, histogram.x) && sameAxis(other.y, histogram.y);
  return same && histogram.kind !== '2d' ? other : null;
}

function showAll() {
  const list = shown?.histograms ?? [];
  $('histogram-tools').hidden = list.length === 0;
  for (const name of cards.keys()) if (!list.some((one) => one.name === name)) cards.delete(name);
  const elements = list.map((histogram) => {
    if (!cards.has(histogram.name)) cards.set(histogram.name, new Card(histogram.name));
    return cards.get(histogram.name).element;
  });
  const grid = $('histogram-grid');
  if (elements.length !== grid.children.length || elements.some((one, i) => grid.children[i] !== one)) grid.replaceChildren(...elements);
  for (const histogram of list) cards.get(histogram.name).show(histogram, counterpart(histogram));
  const lost = shown?.incomplete ?? [];
  setText($('histogram-note'), list.length === 0 ? 'The filter of this run has booked no histograms.'
    : lost.length > 0 ? 'Incomplete: ' + lost.map(lossOf).join('; ') + '.' : '');
}

function lossOf(node) {
  return node === 'supervisor' ? 'the supervisor was restarted, and entries of slices that it had just settled are lost'
    : node + ' was lost with its entries since its last report';
}

async function fetchDocument(query = '') {
  const answer = await fetch('/api/histograms' + query);
  if (!answer.ok) throw new Error(String(answer.status));
  return answer.json();
}

function showCounters(counters) {
  const lines = Object.entries(counters ?? {}).map(([name, count]) =>
    el('tr', {}, el('th', { scope: 'row' }, name), el('td', { className: 'number' }, grouped(count))));
  $('filter-counters').hidden = lines.length === 0;
  $('filter-counters').replaceChildren(...lines);
}

// The turn-on of the trigger: true tracks of the emulated detector, by the modules with light.
function showTruth(bins) {
  $('truth').hidden = !bins?.length;
  if (!bins?.length) return;
  const row = (bin, i) => {
    const next = bins[i + 1] ? bins[i + 1].modules_min - 1 : Infinity;
    const range = next === bin.modules_min ? short(next) : bins[i + 1] ? `${bin.modules_min} to ${next}` : `${bin.modules_min} or more`;
    const share = bin.stored / bin.tracks;
    const error = Math.sqrt((share * (1 - share)) / bin.tracks);
    return el('tr', {}, el('th', { scope: 'row' }, range), el('td', { className: 'number' }, grouped(bin.tracks)),
      el('td', { className: 'number' }, grouped(bin.stored)),
      el('td', { className: 'number' }, `${(100 * share).toFixed(1)} ± ${(100 * error).toFixed(1)} %`));
  };
  $('truth-bins').replaceChildren(...bins.map(row));
}

const fetchSome = whenSeen($('histograms'), (wanted) => {
  if (wanted !== version && Date.now() - fetched >= FETCH_MS) fetchHistograms(wanted);
});

export function showHistograms(state) {
  const key = JSON.stringify([state.filter_counters, state.truth]);
  if (key !== counted) {
    counted = key;
    showCounters(state.filter_counters);
    showTruth(state.truth);
  }
  // At the farm's end the server lasts for half a second.
  if (!state.over) fetchSome(state.histograms);
  else if (state.histograms !== version) fetchHistograms(state.histograms);
}

async function fetchHistograms(wanted) {
  fetched = Date.now();
  try {
    shown = await fetchDocument();
    version = wanted;
    showAll();
  } catch (error) {
    fetched = 0;
  }
}

export function setReferences(runs) {
  const numbers = runs.map((run) => run.number).reverse();
  if (listed === String(numbers)) return;
  listed = String(numbers);
  const chosen = $('histogram-reference').value;
  $('histogram-reference').replaceChildren(el('option', { value: '' }, 'none'),
    ...numbers.map((number) => el('option', { value: String(number) }, 'run ' + number)));
  $('histogram-reference').value = numbers.map(String).includes(chosen) ? chosen : '';
}

$('histogram-scale').addEventListener('change', showAll);
$('histogram-reference').addEventListener('change', async () => {
  const run = $('histogram-reference').value;
  try {
    reference = run ? await fetchDocument('?run=' + run) : null;
    showAll();
    if (run && reference.histograms.length === 0) setText($('histogram-note'), 'Run ' + run + ' has no histograms.');
  } catch (error) {
    reference = null;
    showAll();
    setText($('histogram-note'), 'The histograms of run ' + run + ' cannot be read.');
  }
});
