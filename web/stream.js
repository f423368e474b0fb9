// Server-sent events over fetch: unlike EventSource it can POST, send an API key and be aborted.

// Cuts a stream of text into the data of its events. Comments and other fields are left out.
export class EventSplitter {
  #rest = '';

  // The data strings of the events that `text` completes.
  push(text) {
    this.#rest += text;
    const done = [];
    for (;;) {
      const end = this.#rest.search(/\r?\n\r?\n/);
      if (end < 0) return done;
      const event = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end).replace(/^\r?\n\r?\n/, '');
      const data = event.split(/\r?\n/).filter((line) => line.startsWith('data:'))
        .map((line) => line.slice(line[5] === ' ' ? 6 : 5));
      if (data.length > 0) done.push(data.join('\n'));
    }
  }
}

// What went wrong, in the server's own words where it has said any.
export class ServerError extends Error {
  constructor(status, error) {
    super(error?.message || `The server answered with status ${status}.`);
    this.status = status;
    this.code = error?.code ?? null;
    this.param = error?.param ?? null;
  }
}

export async function checked(response) {
  if (response.ok) return response;
  let error = null;
  try {
    error = (await response.json()).error;
  } catch {
    // not JSON: the status has to do
  }
  if (typeof error === 'string') error = {message: error};
  throw new ServerError(response.status, error);
}

export function headers(apiKey, more = {}) {
  return apiKey ? {...more, Authorization: `Bearer ${apiKey}`} : more;
}

// Yields each event's JSON until [DONE] or the end. An {"error": ...} event throws.
export async function* events(response) {
  const reader = response.body.getReader();
  const decoder = new TextDecoder();
  const splitter = new EventSplitter();
  try {
    for (;;) {
      const {value, done} = await reader.read();
      if (done) return;
      for (const data of splitter.push(decoder.decode(value, {stream: true}))) {
        if (data === '[DONE]') return;
        const event = JSON.parse(data);
        if (event.error) throw new ServerError(response.status, event.error);
        yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {});  // lets the connection go at once when the caller stops early
  }
}
