// The operator's buttons, behind the token.
import { el, setText } from './text.js';

const $ = (id) => document.getElementById(id);
const COMMANDS = ['init', 'configure', 'start', 'pause', 'continue', 'stop', 'reset'];
const ASKS_TWICE = new Set(['stop', 'reset']);
const PARAMETERS = { start: ['run', 'slices', 'duration_s'], configure: ['set'] };
const REALLY_MS = 4000;
const KEY = 'weir-token';

let token = sessionStorage.getItem(KEY) ?? '';
let allowed = [];
let asked = null;

const buttons = new Map(COMMANDS.map((command) => {
  const button = el('button', { type: 'button', className: 'command ' + command, disabled: true }, command);
  button.addEventListener('click', () => press(command));
  return [command, button];
}));
$('buttons').append(...buttons.values());

function press(command) {
  if (ASKS_TWICE.has(command) && asked !== command) {
    asked = command;
    show();
    setTimeout(() => {
      if (asked === command) asked = null;
      show();
    }, REALLY_MS);
    return;
  }
  asked = null;
  send(command);
}

function parametersOf(command) {
  const parameters = {};
  for (const key of PARAMETERS[command] ?? []) {
    const value = $('p-' + key).value.trim();
    if (value) parameters[key] = value;
  }
  return parameters;
}

async function send(command) {
  setText($('answer'), command + ' …');
  try {
    const answer = await fetch('/api/command', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + token },
      body: JSON.stringify({ command, parameters: parametersOf(command) }),
    });
    const said = await answer.json();
    setText($('answer'), (said.taken ? '' : 'Refused: ') + (said.message || command + ' is taken'));
    if (answer.status === 401) setToken('');
  } catch (error) {
    setText($('answer'), 'No answer from run control: ' + error.message);
  }
  show();
}

function setToken(text) {
  token = text;
  if (token) sessionStorage.setItem(KEY, token);
  else sessionStorage.removeItem(KEY);
}

function show() {
  for (const [command, button] of buttons) {
    button.disabled = !token || !allowed.includes(command);
    button.classList.toggle('next', allowed.includes(command));
    setText(button, asked === command ? 'really ' + command + '?' : command);
  }
  $('token-form').classList.toggle('known', Boolean(token));
  $('token-form').querySelector('button').textContent = token ? 'Forget' : 'Use';
  $('token').hidden = Boolean(token);
  document.querySelector('label[for=token]').textContent = token ? 'You are the operator.' : 'Operator’s token';
}

$('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  setToken(token ? '' : $('token').value.trim());
  $('token').value = '';
  setText($('answer'), '');
  show();
});

export function showControl(state) {
  allowed = state.commands;
  $('read-only').hidden = state.can_command;
  $('token-form').hidden = !state.can_command;
  $('buttons').hidden = !state.can_command;
  $('parameters').hidden = !state.can_command || !token;
  show();
}
