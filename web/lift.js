// What the page remembers of the lift: frames of GET /live in, rows with a history of steps out.
// No DOM here. A frame is
//
//   {step, step_ms, tokens_per_second, running, waiting,
//    kv: {used, cached, free, total, block_tokens},
//    engines: [{step, step_ms, running, waiting, kv_used, kv_total}], empty if there is only one,
//    sequences: [{id, engine, request, tenant, class, choice, state: "prefill" | "decode" | "waiting" | "preempted",
//                 reason, tokens, computed, prompt, output, max_output}]}

export const kColumns = 240;   // steps remembered
const kDoneMs = 5000;          // how long a finished row stays
const kMostRows = 128;

const kReasons = {
  no_blocks: 'no free KV blocks',
  token_budget: 'the step is full',
  seat_limit: 'all seats taken',
  batch_closed: 'the batch is closed',
  behind_earlier: 'behind an earlier one',
  sibling_prefill: 'a sibling reads the prompt',
  preempted: 'gave up its seat',
  class: 'a more urgent one first',
  shorter_first: 'a shorter one first',
  earlier_deadline: 'an earlier deadline first',
  tenant_share: 'others have had less',
  window_open: 'the batch still gathers',
  latency_target: 'gaps must stay short',
};

export function reasonWords(reason) {
  return kReasons[reason] ?? String(reason ?? '').replaceAll('_', ' ');
}

// How many sequences each tenant, each class and each engine has in a frame: "alice 2 · bob 1 · flex 1 ·
// engine 0: 2 · engine 1: 1". Empty when there is nothing to tell apart.
export function groupWords(frame) {
  const tenants = new Map();
  const classes = new Map();
  for (const {tenant, class: group} of frame?.sequences ?? []) {
    if (tenant) tenants.set(tenant, (tenants.get(tenant) ?? 0) + 1);
    if (group && group !== 'default') classes.set(group, (classes.get(group) ?? 0) + 1);
  }
  const groups = [...[...tenants].sort(), ...[...classes].sort()].map(([name, count]) => `${name} ${count}`);
  const engines = (frame?.engines ?? []).map(({running}, number) => `engine ${number}: ${running}`);
  return [...groups, ...engines].join(' · ');
}

export class Lift {
  rows = [];      // the page's own first, then in order of arrival
  column = 0;     // steps seen so far; the newest is column - 1
  frame = null;
  #byId = new Map();

  // Takes a frame in. `now` in milliseconds.
  take(frame, now) {
    this.frame = frame;
    const column = this.column;
    const sequences = frame.sequences ?? [];
    if (sequences.length > 0) this.column += 1;
    for (const sequence of sequences) {
      this.#row(sequence, now).take(sequence, column, now);
    }
    for (const row of this.rows) {
      if (row.seenAt !== now && row.doneAt === 0) row.finish(now);
    }
    this.sweep(now);
  }

  // Forgets rows that ended a while ago. True if any went.
  sweep(now) {
    const before = this.rows.length;
    const surplus = this.rows.length - kMostRows;
    let dropped = 0;
    this.rows = this.rows.filter((row) => {
      if (row.doneAt === 0) return true;
      if (now - row.doneAt < kDoneMs && dropped >= surplus) return true;
      dropped += 1;
      this.#byId.delete(row.id);
      return false;
    });
    return this.rows.length !== before;
  }

  // Puts the rows that `isOwn` knows first.
  arrange(isOwn) {
    const own = this.rows.filter(isOwn);
    if (own.some((row, index) => this.rows[index] !== row)) {
      this.rows = [...own, ...this.rows.filter((row) => !own.includes(row))];
    }
  }

  clear() {
    this.rows = [];
    this.#byId.clear();
    this.frame = null;
  }

  #row(sequence, now) {
    let row = this.#byId.get(sequence.id);
    if (!row) {
      row = new Row(sequence.id, this.column - 1, now);
      this.#byId.set(sequence.id, row);
      this.rows.push(row);
    }
    return row;
  }
}

// One sequence and what it did in each of the last kColumns steps.
class Row {
  doneAt = 0;
  seenAt = 0;
  last = null;
  #cells = new Array(kColumns).fill(null);  // ring: cell of column c at c % kColumns

  constructor(id, born) {
    this.id = id;
    this.born = born;
  }

  take(sequence, column, now) {
    this.last = sequence;
    this.seenAt = now;
    this.doneAt = 0;
    this.#cells[column % kColumns] = {column, state: sequence.state, tokens: sequence.tokens ?? 0};
  }

  finish(now) { this.doneAt = now; }

  cell(column) {
    const cell = this.#cells[((column % kColumns) + kColumns) % kColumns];
    return cell?.column === column ? cell : null;
  }

  // What a person reads at the end of the row.
  words() {
    const group = this.last.class ?? 'default';
    return group === 'default' || this.doneAt ? this.#progress() : `${group} · ${this.#progress()}`;
  }

  #progress() {
    const {state, reason, computed = 0, prompt = 0, output = 0, max_output: most} = this.last;
    if (this.doneAt) return output ? `done, ${output} token${output === 1 ? '' : 's'}` : 'left';
    if (state === 'prefill') return `prefill ${Math.min(computed, prompt)} / ${prompt}`;
    if (state === 'decode') return most ? `decode ${output} / ${most}` : `decode ${output}`;
    if (state === 'preempted') return 'preempted';
    return `waits: ${reasonWords(reason)}`;
  }
}
