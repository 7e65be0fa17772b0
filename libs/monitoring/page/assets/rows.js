// A table with a row for each object of a list.
import { el, setText } from './text.js';

const $ = (id) => document.getElementById(id);

// Columns are [title, text of an object, whether it is a number]; the first one names the row.
export class RowTable {
  constructor(id, columns) {
    this.columns = columns;
    this.body = el('tbody');
    $(id).append(
      el('thead', {}, el('tr', {}, ...columns.map(([title, , number]) =>
        el('th', { scope: 'col', className: number ? 'number' : '' }, title)))), this.body);
  }

  show(list, warns) {
    list.forEach((one, i) => {
      if (!this.body.children[i]) {
        this.body.append(el('tr', {}, ...this.columns.map(([, , number], at) =>
          el(at === 0 ? 'th' : 'td', { className: number ? 'number' : '', ...(at === 0 ? { scope: 'row' } : {}) }))));
      }
      const row = this.body.children[i];
      this.columns.forEach(([, text], at) => setText(row.children[at], text(one)));
      row.classList.toggle('warns', warns(one));
    });
    while (this.body.children.length > list.length) this.body.lastChild.remove();
  }
}
