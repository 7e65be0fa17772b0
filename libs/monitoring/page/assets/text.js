// Figures, times and small pieces of the document.

export function el(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(properties)) {
    if (key in element && key !== 'role') element[key] = value;
    else element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

export function grouped(count) {
  if (count === null || count === undefined) return '–';
  return Math.round(count).toString().replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

// Three digits or more of a number, with its power of a thousand.
function scaled(value, units, step = 1000) {
  let i = 0;
  while (value >= step * 0.9995 && i + 1 < units.length) {
    value /= step;
    ++i;
  }
  const digits = value >= 100 || value === 0 ? 0 : value >= 10 ? 1 : 2;
  const text = i === 0 && Number.isInteger(value) ? value.toString() : value.toFixed(digits);
  return text + (units[i] ? '\u202f' + units[i] : '');
}

const known = (value) => value !== null && value !== undefined;
const RATE_GROUPED_MAX = 100000;
export function rate(value) {
  if (!known(value)) return '–';
  if (value >= RATE_GROUPED_MAX) return scaled(value, ['', 'k', 'M', 'G']) + '/s';
  return (value >= 100 || Number.isInteger(value) ? grouped(value) : value.toFixed(1)) + '/s';
}
export const bytes = (value) => (known(value) ? scaled(value, ['B', 'kB', 'MB', 'GB', 'TB']) : '–');
export const byteRate = (value) => (known(value) ? bytes(value) + '/s' : '–');
export const micros = (value) => (known(value) ? scaled(value, ['µs', 'ms', 's']) : '–');

export function clock(ms) {
  return new Date(ms).toISOString().slice(11, 19);
}

export function moment(ms) {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ');
}

export function duration(seconds) {
  if (!known(seconds)) return '–';
  const whole = Math.max(0, Math.floor(seconds));
  const two = (n) => n.toString().padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  return (hours ? hours + ':' + two(Math.floor(whole / 60) % 60) : Math.floor(whole / 60)) + ':' + two(whole % 60);
}

export const plural = (count, noun) => grouped(count) + ' ' + noun + (count === 1 ? '' : 's');

// Each state has a colour, a shape and its word, so that colour is not needed to tell them apart.
const SHAPES = {
  idle: 'M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12zm0 2a4 4 0 1 1 0 8a4 4 0 1 1 0-8z',
  standby: 'M8 2a6 6 0 1 0 0 12a6 6 0 1 0 0-12zm0 2v8a4 4 0 1 1 0-8z',
  ready: 'M8 1l7 7l-7 7l-7-7zm0 3l-4 4l4 4l4-4z',
  running: 'M4 2l10 6l-10 6z',
  paused: 'M3 2h4v12h-4zm6 0h4v12h-4z',
  error: 'M3.5 1.5l4.500 4.500l4.500-4.500l2 2l-4.500 4.500l4.500 4.500l-2 2l-4.500-4.500l-4.500 4.500l-2-2l4.500-4.500l-4.500-4.500z',
  warning: 'M8 1l7.500 13.500h-15zm-1 5v4h2v-4zm0 5v2h2v-2z',
  unknown: 'M2 7h12v2h-12z',
};
const KINDS = {
  idle: 'idle', standby: 'standby', ready: 'ready', running: 'running', paused: 'paused', error: 'error', dead: 'error',
  lost: 'error', blocked: 'error', throttled: 'warning', silent: 'warning', inactive: 'warning', masked: 'unknown',
  ending: 'standby', starting: 'standby', gathering: 'standby', ended: 'idle',
};
export const kindOf = (state) => KINDS[state] ?? (state ? 'unknown' : 'unknown');

// Returns the look of a finding; for a waiting farm it is that of its state.
export function kindOfGravity(gravity, state = 'standby') {
  if (gravity === 'good') return 'running';
  if (gravity !== 'waiting') return gravity;
  const kind = kindOf(state);
  return kind === 'running' || kind === 'error' ? 'standby' : kind;
}

// Names in capitals break only after their underscores.
export function setBreakable(element, text) {
  if (element.dataset.text === text) return;
  element.dataset.text = text;
  const parts = text.split(/(?<=_)/);
  element.replaceChildren(...parts.flatMap((part, i) => (i === 0 ? [part] : [el('wbr'), part])));
}

// Returns the look of a member: running with a reason is a warning.
export function memberKind(member) {
  const kind = kindOf(member.state);
  return kind === 'running' && member.reason ? 'warning' : kind;
}

export function shape(kind) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  svg.setAttribute('viewBox', '0 0 16 16');
  svg.setAttribute('class', 'shape');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
  path.setAttribute('d', SHAPES[kind] ?? SHAPES.unknown);
  path.setAttribute('fill-rule', 'evenodd');
  svg.append(path);
  return svg;
}

export function badge(element, kind, word) {
  if (element.dataset.kind === kind && element.dataset.word === word) return;
  element.dataset.kind = kind;
  element.dataset.word = word;
  element.replaceChildren(shape(kind), word);
}
