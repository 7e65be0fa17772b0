// The settings of the next configure: a form with a field for each key, checked by run control as they are edited, and
// the keys that are set, with their origin.
import { el, plural, setText } from './text.js';
import { mayActAs, post } from './control.js';

const $ = (id) => document.getElementById(id);
const CHECK_AFTER_MS = 500;

let rows = []; // { one, field, row }
let loaded = ''; // the keys that were set when the form was loaded
let waiting = 0; // for a check

const linesOf = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean);
const isEdited = ({ one, field }) => field.value !== one.value;
const edits = () => [...rows.filter(isEdited).map(({ one, field }) => one.key + '=' + field.value), ...linesOf($('settings-keys').value)];

function say(said) {
  setText($('settings-answer'), (said.taken ? '' : 'Refused: ') + said.message);
  $('settings-answer').classList.toggle('refused', !said.taken);
}

// A refusal names the key, as "--set: dcm.credits: …".
function mark(said) {
  for (const { one, field } of rows) {
    const wrong = !said.taken && isEdited({ one, field }) && said.message.includes(one.key);
    if (wrong) field.setAttribute('aria-invalid', 'true');
    else field.removeAttribute('aria-invalid');
  }
}

async function act(body) {
  const said = await post('/api/act', body);
  say(said);
  mark(said);
  return said;
}

function fieldOf(one) {
  const list = one.words ?? [];
  const field = list.length
    ? el('select', {}, ...[...new Set([one.value, ...list])].map((word) => el('option', { value: word }, word)))
    : el('input', { autocomplete: 'off', spellcheck: false, size: 18, placeholder: one.default });
  field.value = one.value;
  field.setAttribute('aria-label', one.key);
  field.setAttribute('aria-describedby', 'settings-help');
  field.addEventListener('focus', () => setText($('settings-help'), `${one.key} (${one.type}; default ${one.default || 'empty'}): ${one.meaning}`));
  field.addEventListener('input', () => edited());
  return field;
}

function edited() {
  for (const entry of rows) entry.row.classList.toggle('edited', isEdited(entry));
  clearTimeout(waiting);
  waiting = setTimeout(check, CHECK_AFTER_MS);
}

function check() {
  const sets = edits();
  if (sets.length) act({ action: 'try-settings', sets });
  else say({ taken: true, message: '' });
}

function show() {
  const words = $('settings-filter').value.toLowerCase().split(/\s+/).filter(Boolean);
  const which = $('settings-which').value;
  for (const { one, field, row } of rows) {
    const text = (one.key + ' ' + one.meaning).toLowerCase();
    const chosen = which === 'given' ? one.origin : which === 'differs' ? one.in_force !== one.value : which === 'edited' ? isEdited({ one, field }) : true;
    row.hidden = !chosen || !words.every((word) => text.includes(word));
  }
}

async function load() {
  const said = await post('/api/act', { action: 'form' });
  if (!said.taken) return say(said);
  rows = said.document.map((one) => {
    const field = fieldOf(one);
    const row = el('tr', {}, el('th', { scope: 'row' }, el('code', {}, one.key)), el('td', {}, field),
      el('td', {}, one.in_force === one.value ? '' : one.in_force || 'empty'), el('td', {}, one.origin || 'default'));
    return { one, field, row };
  });
  $('settings-rows').replaceChildren(...rows.map(({ row }) => row));
  show();
}

// Keys that differ from the farm file because someone set them.
export function showSettings(state) {
  const overrides = state.overrides ?? [];
  $('overrides').hidden = overrides.length === 0;
  $('settings').hidden = !mayActAs('shift');
  $('settings-set').disabled = !mayActAs('expert');
  const key = JSON.stringify([overrides, mayActAs('expert')]);
  if (key !== loaded && $('settings').open && edits().length === 0) {
    loaded = key;
    load();
  }
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

$('settings').addEventListener('toggle', () => {
  if ($('settings').open && edits().length === 0) load();
});
$('settings-filter').addEventListener('input', show);
$('settings-which').addEventListener('change', show);
$('settings-keys').addEventListener('input', edited);
$('settings-try').addEventListener('click', check);
$('settings-undo').addEventListener('click', () => {
  for (const { one, field } of rows) field.value = one.value;
  $('settings-keys').value = '';
  edited();
  mark({ taken: true });
});
$('settings-form').addEventListener('submit', async (event) => {
  event.preventDefault();
  clearTimeout(waiting);
  const sets = edits();
  if (!sets.length) return say({ taken: false, message: 'nothing is edited' });
  const said = await act({ action: 'set', sets });
  if (!said.taken) return;
  $('settings-keys').value = '';
  say({ taken: true, message: plural(sets.length, 'key') + ' set for the next configure' });
  load();
});
