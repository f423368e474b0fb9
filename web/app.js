// Wires the page together: settings, keyboard, which model answers, chat and lift.

import {Chat} from './chat.js';
import {Live} from './live.js';
import {headers} from './stream.js';

const kSettings = 'paternoster.settings';
const kDefaults = {system: '', temperature: 0.7, maxTokens: 512, seed: null, mode: 'chat', theme: 'auto'};
const byId = (id) => document.getElementById(id);

const state = {...kDefaults, ...load()};
let model = '';

function load() {
  try {
    return JSON.parse(localStorage.getItem(kSettings) ?? '{}');
  } catch {
    return {};
  }
}

function save() {
  try {
    localStorage.setItem(kSettings, JSON.stringify(state));
  } catch {
    // forbidden: the settings then last as long as the page
  }
}

function apiKey() {
  return byId('api-key').value.trim();
}

function number(id, otherwise) {
  const value = byId(id).valueAsNumber;
  return Number.isFinite(value) ? value : otherwise;
}

function settings() {
  return {...state, model, apiKey: apiKey()};
}

function setUpSettings() {
  byId('system').value = state.system;
  byId('temperature').value = state.temperature;
  byId('max-tokens').value = state.maxTokens;
  byId('seed').value = state.seed ?? '';
  byId('mode').value = state.mode;
  byId('settings').addEventListener('submit', (event) => event.preventDefault());
  byId('settings').addEventListener('input', () => {
    state.system = byId('system').value;
    state.temperature = Math.max(0, number('temperature', kDefaults.temperature));
    state.maxTokens = Math.max(1, Math.floor(number('max-tokens', kDefaults.maxTokens)));
    const seed = number('seed', null);
    state.seed = seed === null ? null : Math.max(0, Math.floor(seed));
    state.mode = byId('mode').value;
    save();
  });
  byId('api-key').addEventListener('change', () => {
    showModel();
    live.restart();
  });
  byId('settings-toggle').addEventListener('click', () => showSettings(byId('settings').hidden));
}

function showSettings(open) {
  byId('settings').hidden = !open;
  byId('settings-toggle').setAttribute('aria-expanded', String(open));
  if (open) byId('system').focus();
}

const kThemes = {auto: ['◐', 'as the system'], light: ['☀', 'light'], dark: ['☾', 'dark']};

function showTheme() {
  const [sign, words] = kThemes[state.theme] ?? kThemes.auto;
  byId('theme').textContent = sign;
  byId('theme').setAttribute('aria-label', `Colours: ${words}`);
  if (state.theme === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = state.theme;
  live.repaint();
}

function setUpTheme() {
  const names = Object.keys(kThemes);
  byId('theme').addEventListener('click', () => {
    state.theme = names[(names.indexOf(state.theme) + 1) % names.length];
    save();
    showTheme();
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => live.repaint());
  showTheme();
}

async function showModel() {
  try {
    const response = await fetch('v1/models', {headers: headers(apiKey())});
    if (response.status === 401) {
      byId('model').textContent = 'needs an API key';
      showSettings(true);
      byId('api-key').focus();
      return;
    }
    model = (await response.json()).data[0].id;
    byId('model').textContent = model;
    document.title = `${model} · paternoster`;
    byId('curl').textContent = curl();
  } catch {
    byId('model').textContent = '…';
  }
}

function curl() {
  const key = apiKey() ? ' -H "Authorization: Bearer $API_KEY"' : '';
  return `curl -N ${location.origin}/v1/chat/completions${key} \\\n` +
    '  -H "Content-Type: application/json" \\\n' +
    '  -d \'{"messages":[{"role":"user","content":"Hello"}],"stream":true}\'';
}

function setUpComposer() {
  const prompt = byId('prompt');
  const fit = () => {
    prompt.style.height = 'auto';
    prompt.style.height = `${Math.min(prompt.scrollHeight + 2, 240)}px`;
  };
  const send = () => {
    const text = prompt.value;
    if (chat.busy || text.trim() === '') return;
    prompt.value = '';
    fit();
    chat.send(text);
  };
  prompt.addEventListener('input', fit);
  prompt.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      send();
    }
  });
  byId('composer').addEventListener('submit', (event) => {
    event.preventDefault();
    send();
  });
  byId('stop').addEventListener('click', () => chat.stop());
  byId('new-chat').addEventListener('click', newChat);
}

function newChat() {
  chat.clear();
  byId('prompt').focus();
}

function setUpKeys() {
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') {
      if (chat.busy) chat.stop();
      else if (!byId('settings').hidden) showSettings(false);
      byId('prompt').focus();
    } else if (event.altKey && event.code === 'KeyN') {
      event.preventDefault();
      newChat();
    }
  });
}

// While an answer runs Stop takes the place of Send, and the focus with it if Send had it.
function showBusy(busy) {
  const focused = document.activeElement;
  byId('send').hidden = busy;
  byId('stop').hidden = !busy;
  if (focused === byId('send') || focused === byId('stop')) byId('prompt').focus();
}

function showConnection(connection) {
  const badge = byId('connection');
  if (connection === 'live' && badge.dataset.state !== 'live' && !model) showModel();
  badge.dataset.state = connection;
  badge.textContent = connection;
}

const live = new Live({
  byId,
  apiKey,
  onConnection: showConnection,
  onRide: (words) => chat.showRide(words),
});
const chat = new Chat({
  list: byId('messages'),
  settings,
  onBusy: showBusy,
  onOwn: (id) => live.setOwn(id),
});

setUpSettings();
setUpTheme();
setUpComposer();
setUpKeys();
showModel();
byId('copy-curl').replaceWith(live.copyButtonFor(() => byId('curl').textContent));
live.start();
