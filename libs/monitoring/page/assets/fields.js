// The fields of the next run: type, shifter, quality, comment and further fields.
import { el, setText } from './text.js';

const $ = (id) => document.getElementById(id);
const KNOWN_FIELDS = ['comment', 'type', 'shifter', 'quality'];

// Reads "name=value" lines.
export function fieldsOf(text) {
  const fields = {};
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    if (at > 0) fields[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return fields;
}

let offered = '';

// Offers the fields of the last run, except comment and quality, and marks the required ones.
export function showFields(state) {
  const key = JSON.stringify([state.run, state.run_fields, state.required_fields, state.run_types]);
  if (offered === key) return;
  offered = key;
  $('run-types').replaceChildren(...(state.run_types ?? []).map((type) => el('option', { value: type })));
  const last = state.run_fields ?? {};
  for (const name of ['type', 'shifter']) $('p-field-' + name).value ||= last[name] ?? '';
  const further = Object.entries(last).filter(([name]) => !KNOWN_FIELDS.includes(name));
  $('p-field-further').value ||= further.map(([name, value]) => `${name}=${value}`).join('\n');
  const required = state.required_fields ?? [];
  for (const name of KNOWN_FIELDS) $('p-field-' + name).required = required.includes(name);
  setText($('required-note'), required.length ? 'Required: ' + required.join(', ') : '');
  if (required.length) $('parameters').open = true;
}

// Returns the parameters of `start` that the form has.
export function startFields() {
  const fields = fieldsOf($('p-field-further').value);
  for (const name of KNOWN_FIELDS) fields[name] = $('p-field-' + name).value.trim();
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value).map(([name, value]) => ['field.' + name, value]));
}

// A comment and a quality are of one run.
export function forgetRun() {
  for (const name of ['comment', 'quality']) $('p-field-' + name).value = '';
}
