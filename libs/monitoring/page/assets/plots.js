// Plots over time, drawn as SVG by hand; those of the last minutes are shown here, longer ones in history.js.
import { byteRate, clock, el, micros, moment, rate, setText } from './text.js';
import { whenSeen } from './sight.js';

const NS = 'http://www.w3.org/2000/svg';
const HEIGHT = 170;
const TICK_CHARACTER = 7; // of the labels' type, wide
const MARGIN = { left: 58, right: 10, top: 8, bottom: 20 };

function svg(tag, attributes, text) {
  const element = document.createElementNS(NS, tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

function niceStep(range, count) {
  const raw = range / count;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= raw);
}

const day = (t) => moment(t).slice(5, 10);
const tickText = (text) => text.replace('/s', '').replace(/\.0+(?!\d)/, '').replace(/(\.\d*?)0+(?!\d)/, '$1');

function linearScale(top) {
  const step = niceStep(top > 0 ? top : 1, 4);
  const max = Math.max(step, Math.ceil(top / step) * step);
  const ticks = [];
  for (let value = 0; value <= max * 1.0001; value += step) ticks.push(value);
  return { ticks, at: (value) => value / max };
}

function logScale(low, top) {
  const from = Math.floor(Math.log10(Math.max(1, low)));
  const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(1, top))));
  const ticks = [];
  for (let power = from; power <= to; ++power) ticks.push(10 ** power);
  return { ticks, at: (value) => (Math.log10(Math.max(1, value)) - from) / (to - from) };
}

// `marks`: run marks by time and text, instead of the points' runs; `label`: the text of a tick on the x axis.
export class Plot {
  constructor({ title, series, format, logarithmic = false, label = null }) {
    Object.assign(this, { title, series, format, logarithmic, label, points: [], marks: null, pointer: null, width: 0 });
    this.values = series.map((one) => el('span', { className: 'value' }));
    const legend = el('ul', { className: 'legend' }, ...series.map((one, i) => {
      const mark = svg('svg', { viewBox: '0 0 24 8', class: 'mark', 'aria-hidden': 'true' });
      mark.append(svg('path', { d: 'M0 4H24', class: 'line ' + one.style }));
      return el('li', {}, mark, one.label + ' ', this.values[i]);
    }));
    this.time = el('span', { className: 'at' });
    this.picture = svg('svg', { class: 'plot', role: 'img', height: HEIGHT });
    this.element = el('figure', { className: 'card' },
      el('figcaption', {}, el('h2', {}, title), this.time, legend), this.picture);
    this.picture.addEventListener('pointermove', (event) => this.point(event.offsetX));
    this.picture.addEventListener('pointerleave', () => this.point(null));
    // Its width is read where no layout is pending: in the middle of an update it would force one of the whole page.
    new ResizeObserver(() => {
      this.width = this.picture.clientWidth;
      this.draw();
    }).observe(this.element);
  }

  point(x) {
    this.pointer = x;
    this.draw();
  }

  show(points, marks = null, span = null) {
    Object.assign(this, { points, marks, span });
    this.draw();
  }

  draw() {
    const width = this.width;
    if (!width || this.points.length === 0) return;
    const inner = { width: width - MARGIN.left - MARGIN.right, height: HEIGHT - MARGIN.top - MARGIN.bottom };
    const end = this.span?.[1] ?? this.points.at(-1).t;
    const begin = this.span?.[0] ?? Math.min(this.points[0].t, end - 60000);
    const x = (t) => MARGIN.left + ((t - begin) / (end - begin)) * inner.width;
    const values = this.points.flatMap((point) => this.series.map((one) => point[one.key])).filter((v) => v !== undefined);
    const top = values.reduce((a, b) => Math.max(a, b), 0);
    const low = values.reduce((a, b) => Math.min(a, b), Infinity);
    const scale = this.logarithmic ? logScale(values.length ? low : 1, top) : linearScale(top);
    const y = (value) => MARGIN.top + (1 - scale.at(value)) * inner.height;
    this.picture.setAttribute('viewBox', `0 0 ${width} ${HEIGHT}`);
    const drawn = [...this.grid(scale, y, width), ...this.times(begin, end, x), ...this.runs(x)];
    for (const one of this.series) drawn.push(svg('path', { d: this.path(one.key, x, y), class: 'line ' + one.style }));
    const chosen = this.chosen(begin, end, inner.width);
    if (this.pointer !== null && chosen)
      drawn.push(svg('path', { d: `M${x(chosen.t)} ${MARGIN.top}V${MARGIN.top + inner.height}`, class: 'cursor' }));
    this.picture.replaceChildren(...drawn);
    this.say(chosen);
  }

  chosen(begin, end, width) {
    if (this.pointer === null) return this.points.at(-1);
    const t = begin + ((this.pointer - MARGIN.left) / width) * (end - begin);
    return this.points.reduce((best, point) => (Math.abs(point.t - t) < Math.abs(best.t - t) ? point : best));
  }

  say(point) {
    setText(this.time, this.pointer === null ? '' : this.label ? this.label(point.t) : clock(point.t));
    this.series.forEach((one, i) => setText(this.values[i], this.format(point[one.key])));
    this.picture.setAttribute('aria-label',
      this.title + ': ' + this.series.map((one) => one.label + ' ' + this.format(point[one.key])).join(', '));
  }

  grid(scale, y, width) {
    return scale.ticks.flatMap((tick) => [
      svg('path', { d: `M${MARGIN.left} ${y(tick)}H${width - MARGIN.right}`, class: 'grid' }),
      svg('text', { x: MARGIN.left - 6, y: y(tick) + 4, class: 'tick y' }, tickText(this.format(tick))),
    ]);
  }

  times(begin, end, x) {
    const width = x(end) - x(begin);
    const steps = this.label ? [1, 2, 5, 10, 20, 50, 100] : [10, 30, 60, 120, 300, 600, 1800, 3600, 10800, 21600, 86400].map((s) => s * 1000);
    const step = steps.find((one) => (one / (end - begin)) * width > 80) ?? steps.at(-1);
    const labels = [];
    for (let t = Math.ceil(begin / step) * step; t <= end; t += step) {
      const at = x(t);
      if (at < MARGIN.left + 20 || at > x(end) - 20) continue;
      labels.push(svg('text', { x: at, y: HEIGHT - 5, class: 'tick x' }, this.label ? this.label(t) : step >= 86400000 ? day(t) : clock(t)));
    }
    return labels;
  }

  // Where a run begins.
  runs(x) {
    const marks = [];
    let left = MARGIN.left;
    const begins = this.marks ?? this.points.slice(1).filter((point, i) => point.run !== this.points[i].run);
    for (const { t, run } of begins) {
      const at = x(t);
      marks.push(svg('path', { d: `M${at} ${MARGIN.top}V${HEIGHT - MARGIN.bottom}`, class: 'run-mark' }));
      // The label is left of its line, but never over the axis' labels or the previous label.
      const text = 'run ' + run + ' ▸';
      const wide = text.length * TICK_CHARACTER;
      if (at - 4 - wide < left) continue;
      marks.push(svg('text', { x: at - 4, y: MARGIN.top + 10, class: 'tick y run-name' }, text));
      left = at;
    }
    return marks;
  }

  path(key, x, y) {
    let d = '';
    let pen = 'M';
    for (const point of this.points) {
      if (point[key] === undefined || point.gap) pen = 'M';
      if (point[key] === undefined) continue;
      d += pen + x(point.t).toFixed(1) + ' ' + y(point[key]).toFixed(1);
      pen = 'L';
    }
    return d;
  }
}

const plots = [
  new Plot({
    title: 'Slices', format: rate,
    series: [{ key: 'triggered', label: 'triggered', style: 's1' }, { key: 'rejected', label: 'rejected', style: 's2' },
      { key: 'stored', label: 'stored', style: 's3' }],
  }),
  new Plot({
    title: 'Data', format: byteRate,
    series: [{ key: 'built_bytes', label: 'built', style: 's1' }, { key: 'stored_bytes', label: 'stored', style: 's3' }],
  }),
  new Plot({
    title: 'Building a slice', format: micros, logarithmic: true,
    series: [{ key: 'p50_us', label: 'p50', style: 's1' }, { key: 'p99_us', label: 'p99', style: 's2' },
      { key: 'max_us', label: 'slowest', style: 's4' }],
  }),
];
document.getElementById('plots').append(...plots.map((plot) => plot.element));

const POINTS_MAX = 600;
let points = [];
const drawPlots = whenSeen(document.getElementById('plots'), () => {
  for (const plot of plots) plot.show(points);
});

export function setHistory(history) {
  points = history.slice(-POINTS_MAX);
  drawPlots();
}

export function addPoint(point) {
  if (!point || (points.length && point.t <= points.at(-1).t)) return;
  setHistory([...points, point]);
}
