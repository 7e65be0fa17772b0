// Processes that are not well, by host, so that a host that fails is one line.
import { badge, el, memberKind, plural } from './text.js';

const $ = (id) => document.getElementById(id);
const NAMES_MAX = 8;
const LEAST = 2; // processes; a single one is named by its finding

const isUnwell = (member) => ['error', 'warning'].includes(memberKind(member));

export function showProblems(state) {
  const hosts = new Map();
  for (const member of state.members) {
    if (!hosts.has(member.host)) hosts.set(member.host, { all: 0, unwell: [] });
    const host = hosts.get(member.host);
    host.all += 1;
    if (isUnwell(member)) host.unwell.push(member);
  }
  const lines = [...hosts].filter(([, { unwell }]) => unwell.length >= LEAST).sort(([, a], [, b]) => b.unwell.length - a.unwell.length);
  const key = JSON.stringify(lines.map(([host, { all, unwell }]) => [host, all, unwell.map((one) => [one.name, one.state])]));
  if ($('problems').dataset.key === key) return;
  $('problems').dataset.key = key;
  $('problems').hidden = lines.length === 0;
  $('problem-hosts').replaceChildren(...lines.map(([host, { all, unwell }]) => {
    const states = new Map();
    for (const one of unwell) states.set(one.state, (states.get(one.state) ?? 0) + 1);
    const marks = [...states].map(([word, count]) => {
      const mark = el('span', { className: 'badge small' });
      badge(mark, memberKind(unwell.find((one) => one.state === word)), `${count} ${word}`);
      return mark;
    });
    const names = unwell.slice(0, NAMES_MAX).map((one) => one.name).join(', ');
    const more = unwell.length > NAMES_MAX ? ` and ${unwell.length - NAMES_MAX} more` : '';
    return el('li', {}, el('strong', {}, host || 'unknown host'), ` ${unwell.length} of ${plural(all, 'process').replace(/processs$/, 'processes')} `, ...marks, ' ' + names + more);
  }));
}
