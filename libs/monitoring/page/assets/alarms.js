// Active alarms: acknowledged and shelved by the operator; sound and notification of new ones.
import { badge, clock, el, kindOfGravity, setText } from './text.js';
import { operatorToken, ownName } from './control.js';

const $ = (id) => document.getElementById(id);
const AGAIN_MS = 30000;
const SHELF_S = 3600;
const PERSON = 'weir-person';

let sound = null; // an AudioContext, once the operator wants sound
let known = new Map(); // alarms and their severities that were reported
let begun = false;
let rangAt = 0;

$('alarm-person').value = localStorage.getItem(PERSON) ?? '';
$('alarm-person').addEventListener('change', () => localStorage.setItem(PERSON, $('alarm-person').value.trim()));
$('alarm-test').addEventListener('click', () => send('test', ''));
$('alarm-sound').addEventListener('click', async () => {
  if (sound) {
    sound.close();
    sound = null;
  } else {
    sound = new AudioContext();
    await sound.resume();
    ring();
    // Only a page from this host, or over HTTPS, may notify.
    if (window.isSecureContext && 'Notification' in window) await Notification.requestPermission();
  }
  showSound();
});

function showSound() {
  $('alarm-sound').setAttribute('aria-pressed', String(Boolean(sound)));
  const silent = !window.isSecureContext ? ', no notifications without HTTPS' : window.Notification?.permission === 'denied' ? ', notifications are blocked' : '';
  setText($('alarm-sound'), sound ? 'Sound is on' + silent : 'Sound is off');
}
showSound();

// Two tones.
function ring() {
  if (!sound) return;
  rangAt = Date.now();
  [660, 880].forEach((pitch, i) => {
    const tone = sound.createOscillator();
    const volume = sound.createGain();
    tone.frequency.value = pitch;
    volume.gain.value = 0.15;
    tone.connect(volume).connect(sound.destination);
    tone.start(sound.currentTime + i * 0.25);
    tone.stop(sound.currentTime + i * 0.25 + 0.2);
  });
}

function report(farm, fresh) {
  ring();
  if (!sound || window.Notification?.permission !== 'granted') return;
  const [first] = fresh;
  const more = fresh.length > 1 ? ` (+${fresh.length - 1} more)` : '';
  new Notification(`${farm}: ${first.name}${more}`, { body: first.reason, tag: 'weir-' + farm });
}

async function send(what, alarm) {
  const person = ownName() || $('alarm-person').value.trim();
  if (!person) {
    say('Fill in "Your name" first: the history notes who acknowledged or shelved an alarm.');
    return $('alarm-person').focus();
  }
  try {
    const answer = await fetch('/api/alarm', {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', Authorization: 'Bearer ' + operatorToken() },
      body: JSON.stringify({ what, alarm, person, ...(what === 'shelve' ? { for_s: SHELF_S } : {}) }),
    });
    const said = await answer.json();
    say((said.taken ? '' : 'Refused: ') + said.message);
  } catch (error) {
    say('No answer from run control: ' + error.message);
  }
}
const say = (text) => setText($('alarm-answer'), text);

function rowOf(alarm) {
  const mark = el('span', { className: 'badge small' });
  badge(mark, kindOfGravity(alarm.severity), alarm.name);
  const acked = alarm.acked_by ? ` · acknowledged by ${alarm.acked_by}` : '';
  const shelved = alarm.shelved_by ? ` · shelved by ${alarm.shelved_by} until ${clock(alarm.shelved_until)}` : '';
  const row = el('li', {}, mark, el('span', {}, ` ${alarm.reason} `), el('small', {}, `since ${clock(alarm.since)} UTC${acked}${shelved} `));
  const button = (text, what) => {
    const made = el('button', { type: 'button', className: 'small' }, text);
    made.setAttribute('aria-label', `${text} ${alarm.name}`);
    made.addEventListener('click', () => send(what, alarm.name));
    row.append(made, ' ');
  };
  if (operatorToken() && !alarm.acked_by) button('Acknowledge', 'ack');
  if (operatorToken()) button(alarm.shelved_by ? 'Unshelve' : 'Shelve 1 h', alarm.shelved_by ? 'unshelve' : 'shelve');
  return row;
}

export function showAlarms(state) {
  const alarms = state.alarms ?? [];
  const channels = state.alarm_channels ?? [];
  const open = alarms.filter((one) => !one.acked_by && !one.shelved_by);
  const fresh = open.filter((one) => known.get(one.name) !== one.severity);
  known = new Map(open.map((one) => [one.name, one.severity]));
  // Alarms from before the page was opened make no sound.
  if (begun && fresh.length) report(state.farm, fresh);
  else if (open.some((one) => one.severity === 'error') && Date.now() - rangAt > AGAIN_MS) ring();
  begun = true;
  $('alarm-person').parentElement.hidden = Boolean(ownName());
  $('alarm-test').hidden = !operatorToken() || channels.length === 0;
  setText($('alarm-note'), alarms.length ? '' : 'No alarm is active.');
  const down = channels.filter((one) => one.error).map((one) => `${one.name}: ${one.error}`);
  setText($('alarm-channels'), channels.length === 0 ? 'No messages are sent: control.alarms.channels is empty.'
    : down.length ? 'Channels that do not deliver: ' + down.join('; ') : 'Channels: ' + channels.map((one) => one.name).join(', '));
  const key = JSON.stringify([alarms, Boolean(operatorToken())]);
  if ($('alarm-list').dataset.key === key) return;
  $('alarm-list').dataset.key = key;
  $('alarm-list').replaceChildren(...alarms.map(rowOf));
}
