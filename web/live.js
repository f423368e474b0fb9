// The live view: reads GET /live for as long as the page is open and shows the lift as it moves.

import {groupWords, Lift, reasonWords} from './lift.js';
import {copyButton, element} from './render.js';
import {checked, events, headers} from './stream.js';
import {Track} from './track.js';

const kRetryMs = [500, 1000, 2000, 5000];

export class Live {
  #byId;
  #apiKey;
  #onConnection;
  #onRide;
  #lift = new Lift();
  #track;
  #nodes = new Map();  // row -> its DOM
  #own = new Set();
  #abort = null;
  #painting = 0;
  #wake = null;

  // `onRide(words)` tells how far a request of this page is that has no output yet.
  constructor({byId, apiKey, onConnection, onRide}) {
    this.#byId = byId;
    this.#apiKey = apiKey;
    this.#onConnection = onConnection;
    this.#onRide = onRide;
    this.#track = new Track(byId('track'));
    new ResizeObserver(() => this.#schedule()).observe(byId('shaft'));
    setInterval(() => this.#lift.sweep(performance.now()) && this.#schedule(), 500);
  }

  async start() {
    // A browser opens six connections to a server and no more: a tab that nobody sees gives its own
    // back, so that the seventh tab loads.
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) this.#abort?.abort();
      else this.#wake?.();
    });
    for (let failures = 0; ; failures += 1) {
      if (document.hidden) await this.#sleep(Infinity);
      if (await this.#watch()) failures = 0;
      this.#lift.clear();
      this.#schedule();
      if (!document.hidden) await this.#sleep(kRetryMs[Math.min(failures, kRetryMs.length - 1)]);
    }
  }

  // Reads /live to its end. True if it had begun.
  async #watch() {
    let begun = false;
    this.#abort = new AbortController();
    try {
      const response = await checked(await fetch('live', {
        headers: headers(this.#apiKey()),
        signal: this.#abort.signal,
      }));
      begun = true;
      this.#onConnection('live');
      for await (const frame of events(response)) this.#take(frame);
      this.#onConnection('reconnecting');
    } catch (error) {
      this.#onConnection(error.status === 401 ? 'locked' : document.hidden ? 'paused' : 'offline');
    }
    return begun;
  }

  // Waits so long, or until the tab is seen again.
  #sleep(ms) {
    return new Promise((resume) => {
      this.#wake = resume;
      if (ms !== Infinity) setTimeout(resume, ms);
    });
  }

  // Reads /live anew, for instance with another key.
  restart() {
    this.#abort?.abort();
    this.#wake?.();
  }

  // An id under which the server knows an answer of this page.
  setOwn(id) {
    if (this.#own.has(id)) return;
    this.#own.add(id);
    if (this.#own.size > 50) this.#own.delete(this.#own.values().next().value);
    this.#schedule();
  }

  repaint() {
    this.#track.forgetColours();
    this.#schedule();
  }

  copyButtonFor(text) { return copyButton(text); }

  #take(frame) {
    this.#lift.take(frame, performance.now());
    for (const row of this.#lift.rows) {
      if (!row.doneAt && this.#isOwn(row) && !row.last.output) this.#onRide(row.words());
    }
    this.#schedule();
  }

  // Draws at most once a frame of the screen; a hidden tab does not draw at all.
  #schedule() {
    this.#painting ||= requestAnimationFrame(() => {
      this.#painting = 0;
      this.#figures();
      this.#rows();
    });
  }

  #isOwn(row) { return this.#own.has(row.last.request); }

  #figures() {
    const frame = this.#lift.frame;
    const busy = this.#lift.rows.some((row) => !row.doneAt);
    this.#byId('running').textContent = frame?.running ?? 0;
    this.#byId('waiting').textContent = frame?.waiting ?? 0;
    this.#byId('rate').textContent = figure(busy ? frame?.tokens_per_second ?? 0 : 0);
    this.#byId('step-ms').textContent = busy && frame?.step_ms ? figure(frame.step_ms) : '–';
    this.#byId('live-note').textContent = this.#note(frame);
    this.#byId('live-groups').textContent = groupWords(frame);
    this.#kv(frame?.kv);
  }

  #kv(kv) {
    const bar = this.#byId('kv-bar');
    if (!kv?.total) {
      this.#byId('kv-words').textContent = '–';
      return;
    }
    const {used = 0, cached = 0, free = 0, total} = kv;
    bar.children[0].style.width = `${100 * used / total}%`;
    bar.children[1].style.width = `${100 * cached / total}%`;
    const words = `${used} used · ${cached} cached · ${free} free of ${total}`;
    this.#byId('kv-words').textContent = words;
    bar.setAttribute('aria-label', `KV blocks: ${words}`);
  }

  // Why anybody waits, in one line.
  #note(frame) {
    const counts = new Map();
    for (const {state, reason} of frame?.sequences ?? []) {
      if (state === 'waiting') counts.set(reason, (counts.get(reason) ?? 0) + 1);
    }
    return [...counts].map(([reason, count]) => `${count} waiting: ${reasonWords(reason)}`).join(' · ');
  }

  #rows() {
    this.#lift.arrange((row) => this.#isOwn(row));
    const rows = this.#lift.rows;
    const list = this.#byId('rows');
    const shaft = this.#byId('shaft');
    this.#byId('idle').hidden = rows.length > 0;
    shaft.dataset.density = rows.length > 36 ? 'tight' : rows.length > 14 ? 'close' : 'wide';
    const wanted = new Set(rows);
    for (const [row, node] of this.#nodes) {
      if (!wanted.has(row)) {
        node.remove();
        this.#nodes.delete(row);
      }
    }
    rows.forEach((row, index) => {
      if (!this.#nodes.has(row)) this.#nodes.set(row, newRow(row, this.#lift.frame?.engines?.length > 1));
      const node = this.#nodes.get(row);
      if (list.children[index] !== node) list.insertBefore(node, list.children[index] ?? null);
      this.#fill(node, row);
    });
    const first = list.firstElementChild;
    if (first) this.#track.paint(this.#lift, first.offsetHeight, (row) => this.#isOwn(row));
    this.#byId('track').hidden = !first;
  }

  #fill(node, row) {
    const own = this.#isOwn(row);
    const state = row.doneAt ? 'done' : row.last.state;
    set(node, 'own', own ? 'yes' : 'no');
    set(node, 'state', state);
    set(node, 'reason', state === 'waiting' ? row.last.reason ?? '' : '');
    const label = own ? 'you' : row.last.tenant || `#${row.id}`;
    if (node.firstElementChild.textContent !== label) node.firstElementChild.textContent = label;
    const words = row.words();
    if (node.lastElementChild.textContent !== words) node.lastElementChild.textContent = words;
  }
}

function newRow(row, severalEngines) {
  const node = element('li', 'row');
  node.dataset.sequence = row.id;
  node.title = `sequence ${row.id}, request ${row.last.request ?? '?'}, class ${row.last.class ?? 'default'}` +
      (row.last.tenant ? `, tenant ${row.last.tenant}` : '') +
      (severalEngines ? `, engine ${row.last.engine}` : '');
  node.append(element('span', 'row-label'), element('span', 'row-words'));
  return node;
}

function set(node, name, value) {
  if (node.dataset[name] !== value) node.dataset[name] = value;
}

function figure(value) {
  return value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);
}

