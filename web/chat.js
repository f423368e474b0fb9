// The conversation: what was said, the answer that streams now, and how both look.

import {checked, events, headers, ServerError} from './stream.js';
import {copyButton, element, render} from './render.js';

const kKept = 'paternoster.conversation';

export class Chat {
  #messages = [];  // {role, content}
  #abort = null;
  #bubble = null;  // of the answer that streams
  #list;
  #settings;
  #onBusy;
  #onOwn;

  // `settings()` gives what the form says now; `onBusy(bool)` tells when an answer runs;
  // `onOwn(id)` tells the id under which the server knows it.
  constructor({list, settings, onBusy, onOwn}) {
    this.#list = list;
    this.#settings = settings;
    this.#onBusy = onBusy;
    this.#onOwn = onOwn;
    this.#restore();
  }

  get busy() { return this.#abort !== null; }

  stop() { this.#abort?.abort(); }

  // Says in the empty answer what the request does meanwhile.
  showRide(words) { this.#bubble?.ride(words); }

  clear() {
    this.stop();
    this.#messages = [];
    this.#list.replaceChildren();
    this.#keep();
    this.#showWelcome();
  }

  async send(text) {
    if (this.busy || text.trim() === '') return;
    this.#list.querySelector('.welcome')?.remove();
    this.#push('user', text);
    await this.#answer();
  }

  // Drops the last answer, if there is one, and asks again.
  async retry() {
    if (this.busy) return;
    while (this.#messages.at(-1)?.role === 'assistant') {
      this.#messages.pop();
    }
    while (this.#list.lastElementChild && !this.#list.lastElementChild.classList.contains('user')) {
      this.#list.lastElementChild.remove();
    }
    if (this.#messages.length > 0) await this.#answer();
  }

  async #answer() {
    const abort = new AbortController();
    this.#abort = abort;
    this.#onBusy(true);
    const bubble = new Bubble(this.#list, 'assistant', () => this.retry());
    const settings = this.#settings();
    const clock = new AnswerClock();
    let text = '';
    let ending = '';
    bubble.wait();
    this.#bubble = bubble;
    try {
      for await (const chunk of await this.#request(settings, abort.signal)) {
        if (chunk.id) this.#onOwn(chunk.id);
        clock.count(chunk);
        const choice = chunk.choices?.[0];
        if (!choice) continue;
        const piece = choice.delta?.content ?? choice.text ?? '';
        if (piece) {
          text += piece;
          clock.first();
          bubble.show(text);
        }
        ending = choice.finish_reason ?? ending;
      }
      bubble.finish(text, clock.words(ending));
    } catch (error) {
      this.#fail(bubble, text, error, abort.signal.aborted, clock);
    }
    if (this.#bubble === bubble) this.#bubble = null;
    if (this.#abort === abort) {
      if (text) this.#messages.push({role: 'assistant', content: text});
      this.#keep();
      this.#abort = null;
      this.#onBusy(false);
    }
  }

  async #request(settings, signal) {
    const chat = settings.mode !== 'text';
    const body = {
      model: settings.model,
      stream: true,
      stream_options: {include_usage: true},
      temperature: settings.temperature,
      max_tokens: settings.maxTokens,
    };
    if (settings.seed !== null) body.seed = settings.seed;
    if (chat) {
      const system = settings.system.trim();
      body.messages = [...(system ? [{role: 'system', content: system}] : []), ...this.#messages];
    } else {
      body.prompt = this.#messages.map((message) => message.content).join('');
    }
    // The server names the request after this header, so that the lift can show it as ours even
    // while it waits and nothing has been answered.
    const id = `page-${Array.from(crypto.getRandomValues(new Uint32Array(2)), (n) => n.toString(16)).join('')}`;
    this.#onOwn(id);
    const response = await fetch(chat ? 'v1/chat/completions' : 'v1/completions', {
      method: 'POST',
      headers: headers(settings.apiKey, {'Content-Type': 'application/json', 'X-Request-Id': id}),
      body: JSON.stringify(body),
      signal,
    });
    return events(await checked(response));
  }

  #fail(bubble, text, error, stopped, clock) {
    if (stopped) {
      bubble.finish(text, text ? clock.words('stopped') : 'stopped before the first token');
      return;
    }
    bubble.finish(text, '');
    bubble.fail(explain(error));
  }

  #push(role, content) {
    this.#messages.push({role, content});
    const bubble = new Bubble(this.#list, role, () => this.retry());
    bubble.finish(content, '');
    this.#list.scrollTop = this.#list.scrollHeight;
    this.#keep();
  }

  #keep() {
    try {
      sessionStorage.setItem(kKept, JSON.stringify(this.#messages));
    } catch {
      // full or forbidden: the conversation then ends with the page
    }
  }

  #restore() {
    let kept = [];
    try {
      kept = JSON.parse(sessionStorage.getItem(kKept) ?? '[]');
    } catch {
      // as above
    }
    for (const {role, content} of kept) this.#push(role, content);
    if (kept.length === 0) this.#showWelcome();
  }

  #showWelcome() {
    const welcome = element('div', 'welcome');
    welcome.append(element('p', 'welcome-title', 'The lift never stops. Step on.'));
    const examples = element('div', 'examples');
    for (const text of ['Why is the sky blue?', 'Write a haiku about a lift that never stops.',
      'Explain continuous batching in three sentences.']) {
      const button = element('button', 'example', text);
      button.type = 'button';
      button.addEventListener('click', () => this.send(text));
      examples.append(button);
    }
    welcome.append(examples);
    this.#list.append(welcome);
  }
}

// What a person can do about an error, in one or two sentences.
function explain(error) {
  if (error instanceof ServerError) {
    if (error.status === 401) return `${error.message} Enter the key under Settings.`;
    if (/template/i.test(error.message)) {
      return `${error.message} This page can also talk without one: Settings, Mode, Plain text.`;
    }
    return error.message;
  }
  if (error instanceof TypeError) return 'The server cannot be reached, or it closed the connection.';
  return error.message;
}

// One message on the page.
class Bubble {
  #list;
  #node;
  #body;
  #text = '';
  #frame = 0;

  constructor(list, role, retry) {
    this.#list = list;
    this.#node = list.appendChild(element('article', `message ${role}`));
    this.#node.setAttribute('aria-label', role === 'user' ? 'You' : 'Answer');
    this.#body = this.#node.appendChild(element('div', 'body'));
    this.retry = retry;
  }

  wait() {
    this.#node.classList.add('streaming');
    this.#node.setAttribute('aria-busy', 'true');
    this.#follow(true);
  }

  ride(words) {
    if (!this.#text) this.#body.dataset.ride = words;
  }

  // Draws at most once a frame, however fast the tokens come.
  show(text) {
    this.#text = text;
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#draw();
    });
  }

  finish(text, note) {
    cancelAnimationFrame(this.#frame);
    this.#text = text;
    this.#draw();
    this.#node.classList.remove('streaming');
    this.#node.removeAttribute('aria-busy');
    const assistant = this.#node.classList.contains('assistant');
    const foot = this.#node.appendChild(element('footer', 'foot'));
    if (text) foot.append(copyButton(() => text));
    if (assistant) {
      const again = element('button', 'again', 'Retry');
      again.type = 'button';
      again.addEventListener('click', () => this.retry());
      foot.append(again, element('span', 'note', note));
      this.#node.setAttribute('data-note', note);
    }
    this.#follow(false);
  }

  fail(message) {
    const alert = element('p', 'error', message);
    alert.setAttribute('role', 'alert');
    this.#node.insertBefore(alert, this.#node.lastElementChild);
    this.#follow(false);
  }

  #draw() {
    const near = this.#near();
    render(this.#body, this.#text);
    if (near) this.#follow(true);
  }

  // Whether the reader is at the end, so that following does not tear him from what he reads.
  #near() {
    return this.#list.scrollHeight - this.#list.scrollTop - this.#list.clientHeight < 80;
  }

  #follow(always) {
    if (always || this.#near()) this.#list.scrollTop = this.#list.scrollHeight;
  }
}

// How long an answer took, as its reader saw it.
class AnswerClock {
  #start = performance.now();
  #first = 0;
  #usage = null;
  #chunks = 0;

  first() {
    this.#first ||= performance.now();
    this.#chunks += 1;
  }

  count(chunk) { this.#usage = chunk.usage ?? this.#usage; }

  words(ending) {
    const now = performance.now();
    const tokens = this.#usage?.completion_tokens ?? this.#chunks;
    const parts = [`${tokens} token${tokens === 1 ? '' : 's'}`];
    if (this.#first) {
      parts.push(`first after ${seconds(this.#first - this.#start)}`);
      if (tokens > 1 && now > this.#first) {
        parts.push(`${((tokens - 1) * 1000 / (now - this.#first)).toFixed(1)} tokens/s`);
      }
    }
    if (ending === 'length') parts.push('cut at the token limit');
    if (ending === 'stopped') parts.push('stopped');
    return parts.join(' · ');
  }
}

function seconds(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}
