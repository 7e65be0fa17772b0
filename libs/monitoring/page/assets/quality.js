// Checks of the filter's histograms: a tile, and a table with each verdict.
import { badge, el, setText } from './text.js';

const $ = (id) => document.getElementById(id);

const kind = (check) => (check.verdict === 'failed' ? check.severity : check.verdict === 'good' ? 'running' : 'unknown');
const failed = (state) => (state.checks ?? []).filter((check) => check.verdict === 'failed');

// "good", "2/5 failed", "3/5 open": not judged; "–" for a farm without checks.
export function qualityText(state) {
  const checks = state.checks ?? [];
  if (!checks.length) return '–';
  if (failed(state).length) return `${failed(state).length}/${checks.length} failed`;
  const open = checks.filter((check) => check.verdict !== 'good').length;
  return open ? `${open}/${checks.length} open` : 'good';
}
export const qualityWarns = (state) => failed(state).length > 0;
export const qualityFails = (state) => failed(state).some((check) => check.severity === 'error');

export function showQuality(state) {
  const checks = state.checks ?? [];
  $('quality').hidden = checks.length === 0;
  const key = JSON.stringify([checks, state.checks_run]);
  if ($('quality').dataset.key === key) return;
  $('quality').dataset.key = key;
  setText($('quality-caption'), 'Checks' + (state.checks_run ? ' of run ' + state.checks_run : ''));
  $('quality-checks').replaceChildren(...checks.map((check) => {
    const mark = el('span', { className: 'badge small' });
    badge(mark, kind(check), check.verdict);
    return el('tr', {}, el('th', { scope: 'row' }, check.name), el('td', {}, mark), el('td', {}, check.histogram), el('td', {}, check.reason));
  }));
}
