// The operator's buttons, behind the token.
import { el, setText } from './text.js';
import { forgetRun, startFields } from './fields.js';

const $ = (id) => document.getElementById(id);
const COMMANDS = ['init', 'configure', 'start', 'pause', 'continue', 'stop', 'reset'];
const ASKS_TWICE = new Set(['stop', 'reset']);
const PARAMETERS = { start: ['run', 'slices', 'duration_s'], configure: ['set'] };
const REALLY_MS = 4000;
const GOALS = { init: 'standby', configure: 'ready', start: 'running', pause: 'paused', continue: 'running', stop: 'ready', reset: 'idle' };
const KEY = 'weir-token';

const ROLES = ['observer', 'shift', 'expert'];

let token = '';
let who = { role: '', name: '' };
let allowed = [];
let underWay = null; // the command whose end the answer waits for, and the states that came since
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
  if (command === 'start') Object.assign(parameters, startFields());
  return parameters;
}

async function send(command) {
  say(command + ' …');
  try {
    const answer = await fetch('/api/command', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + token },
      body: JSON.stringify({ command, parameters: parametersOf(command) }),
    });
    const said = await answer.json();
    say(said.message || command + ' is taken', !said.taken);
    underWay = said.taken ? { command, states: 0 } : null;
    if (said.taken && command === 'start') forgetRun();
    if (answer.status === 401) setToken('');
  } catch (error) {
    say('No answer from run control: ' + error.message);
  }
  show();
}

export const hasToken = () => Boolean(token);
// Returns the name that belongs to the token; empty: none.
export const ownName = () => (token ? who.name : '');
// Returns whether the token has this role, or a higher one.
export const mayActAs = (role) => Boolean(token) && ROLES.indexOf(who.role) >= ROLES.indexOf(role);

// Sends a request of the operator; returns run control's answer.
export async function post(path, body) {
  try {
    const answer = await fetch(path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + token },
      body: JSON.stringify(body),
    });
    if (answer.status === 401) setToken('');
    return await answer.json();
  } catch (error) {
    return { taken: false, message: 'no answer from run control: ' + error.message };
  }
}

function say(text, refused = false) {
  setText($('answer'), (refused ? 'Refused: ' : '') + text);
  $('answer').classList.toggle('refused', refused);
}

function setToken(text) {
  token = text;
  if (token) sessionStorage.setItem(KEY, token);
  else sessionStorage.removeItem(KEY);
}

function show() {
  for (const [command, button] of buttons) {
    button.disabled = !mayActAs('shift') || !allowed.includes(command);
    button.classList.toggle('next', allowed.includes(command));
    setText(button, asked === command ? 'really ' + command + '?' : command);
  }
  $('token-form').classList.toggle('known', Boolean(token));
  $('token-form').querySelector('button').textContent = token ? 'Forget' : 'Use';
  $('token').hidden = Boolean(token);
  document.querySelector('label[for=token]').textContent = token ? `You are ${who.name || 'the operator'}${who.name ? ', ' + who.role : ''}.` : 'Operator’s token';
  $('expert-tools').hidden = !mayActAs('shift');
  $('off').hidden = !mayActAs('expert');
}

// Run control checks the token before the page shows the operator's controls.
async function tryToken(text) {
  if (!text) return;
  try {
    const answer = await fetch('/api/operator', { method: 'POST', headers: { Authorization: 'Bearer ' + text } });
    const said = await answer.json();
    if (said.taken) {
      setToken(text);
      who = { role: said.role ?? 'expert', name: said.name ?? '' };
    }
    else if (answer.status === 401) setToken('');
    if (said.taken) say('');
    else say(answer.status === 401 ? 'this is not the operator’s token' : said.message, true);
  } catch (error) {
    say('No answer from run control: ' + error.message);
  }
  show();
}

$('token-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const given = $('token').value.trim();
  $('token').value = '';
  say('');
  if (token) setToken('');
  else tryToken(given);
  show();
});
tryToken(sessionStorage.getItem(KEY) ?? '');

// "stop is under way" stays until the stop has ended.
function followCommand(state) {
  if (!underWay) return;
  underWay.states += 1;
  // The first may be of the moment before.
  if (state.under_way || underWay.states < 2) return;
  const { command } = underWay;
  const found = state.health[0] ?? {};
  const failed = GOALS[command] !== state.state && ['error', 'warning'].includes(found.gravity);
  if (failed) say(`${command} failed, the farm is ${state.state}: ${found.reason || found.word}`, true);
  else say(`${command} is done: the farm is ${state.state}`);
  underWay = null;
}

export const operatorToken = () => token;

// ---- the farm's end, and a burst alert

let reallyOff = 0;
$('off').addEventListener('click', async () => {
  if (Date.now() - reallyOff > REALLY_MS) {
    reallyOff = Date.now();
    setText($('off'), 'really end every process?');
    setTimeout(() => setText($('off'), 'off'), REALLY_MS);
    return;
  }
  const said = await post('/api/act', { action: 'off' });
  say(said.message, !said.taken);
});
$('burst').addEventListener('click', async () => {
  const said = await post('/api/burst', { reason: $('burst-reason').value.trim() });
  say(said.message, !said.taken);
});

export function showControl(state) {
  allowed = state.commands;
  followCommand(state);
  $('read-only').hidden = state.can_command;
  $('token-form').hidden = !state.can_command;
  $('buttons').hidden = !state.can_command;
  $('parameters').hidden = !state.can_command || !token;
  show();
}
