// The lost connection, which only the page can find; all other findings come from run control.
import { clock, duration } from './text.js';

// `last`: the last state, or null; `heard`: time of its arrival (ms, 0: never); the findings, worst first.
export function unheard(last, heard, now) {
  // Run control has reported its end: its last state is valid.
  if (last?.over) return last.health;
  const since = heard ? ` for ${duration((now - heard) / 1000)}` : '';
  const then = last ? `; the data are of ${clock(last.now)} UTC` : '';
  const lost = { gravity: 'error', word: 'no connection', reason: `run control does not answer${since}${then}` };
  return [lost, ...(last?.health ?? []).map((one) => ({ ...one, word: 'before: ' + one.word }))];
}
