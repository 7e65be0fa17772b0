// What only the page knows: that it hears nothing. Everything else run control says.
import { clock, duration } from './text.js';

// `last`: the last state, or null; `heard`: when it came (ms, 0: never); the findings, the worst first.
export function unheard(last, heard, now) {
  // Run control has said that it ends: its last word holds.
  if (last?.over) return last.health;
  const since = heard ? ` for ${duration((now - heard) / 1000)}` : '';
  const then = last ? `; what stands here is of ${clock(last.now)} UTC` : '';
  const lost = { gravity: 'error', word: 'no connection', reason: `run control does not answer${since}${then}` };
  return [lost, ...(last?.health ?? []).map((one) => ({ ...one, word: 'before: ' + one.word }))];
}
