// The settings of the next configure: keys that are set, with their origin, and a try of further keys.
import { el, setText } from './text.js';
import { mayActAs, post } from './control.js';

const $ = (id) => document.getElementById(id);

const linesOf = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean);

function say(said) {
  setText($('settings-answer'), (said.taken ? '' : 'Refused: ') + said.message);
  $('settings-answer').classList.toggle('refused', !said.taken);
}

async function act(body) {
  say(await post('/api/act', body));
}

// Keys that differ from the farm file because someone set them.
export function showSettings(state) {
  const overrides = state.overrides ?? [];
  $('overrides').hidden = overrides.length === 0;
  $('settings').hidden = !mayActAs('expert') && !mayActAs('shift');
  $('settings-set').disabled = !mayActAs('expert');
  const key = JSON.stringify([overrides, mayActAs('expert')]);
  if ($('overrides').dataset.key === key) return;
  $('overrides').dataset.key = key;
  $('overrides').replaceChildren(...overrides.map((one) => {
    const when = one.unset ? ', until the next configure' : one.in_force ? '' : ', from the next configure';
    const line = el('li', {}, el('code', {}, one.key + '=' + one.value), ' by ' + one.origin + when);
    if (mayActAs('expert') && !one.unset && ['set', 'configure'].includes(one.origin)) {
      const button = el('button', { type: 'button', className: 'plain' }, 'unset');
      button.setAttribute('aria-label', 'Unset ' + one.key);
      button.addEventListener('click', () => act({ action: 'unset', sets: [one.key] }));
      line.append(' ', button);
    }
    return line;
  }));
}

$('settings-try').addEventListener('click', () => act({ action: 'try-settings', sets: linesOf($('settings-keys').value) }));
$('settings-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  const sets = linesOf($('settings-keys').value);
  if (!sets.length) return say({ taken: false, message: 'no key=value is given' });
  await act({ action: 'set', sets });
  if (!$('settings-answer').classList.contains('refused')) $('settings-keys').value = '';
});
