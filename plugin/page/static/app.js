// SPDX-License-Identifier: Apache-2.0
//
// The page's own script. The server sends what waits as HTML that it has escaped; this
// keeps cards where they are while that changes, and lets nothing be approved that was not
// there to be read. htmx carries events and answers, in requests that bear the token.
'use strict';

(() => {
  const dead = 700; // ms for which what has just appeared takes no answer
  const store = 'hostexec-token';
  const $ = id => document.getElementById(id);
  const pending = () => $('pending');
  const live = () => [...pending().querySelectorAll('.request.live')];

  // ---- the token: from the address, which then forgets it; kept for this tab only.

  const address = new URLSearchParams(location.hash.slice(1));
  if (location.hash) history.replaceState(null, '', location.pathname);
  let token = address.get('token') || sessionStorage.getItem(store) || '';

  async function enter() {
    const code = address.get('code');
    if (code) {
      const answer = await fetch('/token', {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code }),
      });
      const got = await answer.json();
      if (!answer.ok && !token) return trouble(got.error);
      token = got.token || token;
    }
    if (!token) return trouble('This address lacks its key. On the host, docker hostexec ui prints the whole one.');
    sessionStorage.setItem(store, token);
    htmx.trigger($('live'), 'ready');
  }

  function trouble(text) {
    $('trouble').textContent = text || '';
    $('trouble').hidden = !text;
    if (text) connected('not connected', 'bad');
  }

  function connected(text, kind) {
    $('state').textContent = text;
    $('state').className = 'state ' + kind;
  }

  // ---- what htmx sends

  document.addEventListener('htmx:before:request', event => {
    const { ctx } = event.detail;
    ctx.request.headers['X-Hostexec-Token'] = token;
    if (ctx.request.method !== 'POST') return;
    const card = ctx.sourceElement.closest('.request');
    const body = {};
    if (card) {
      body.digest = card.dataset.digest;
      body.waiting = card.dataset.waiting.split(' ');
      if (ctx.request.action.startsWith('/deny/')) body.reason = card.querySelector('.reason').value;
      const terms = ctx.sourceElement.dataset; // none: once
      if (terms.for) body.for = terms.for;
      if (terms.times) body.times = Number(terms.times);
      if (terms.always) body.always = true;
      heights.set(card.id, card.offsetHeight);
      for (const button of card.querySelectorAll('button')) button.disabled = true;
    }
    ctx.request.body = JSON.stringify(body);
    ctx.request.headers['Content-Type'] = 'application/json';
  });

  // An answer that is no card must not take a card's place.
  document.addEventListener('htmx:before:response', event => {
    const { ctx } = event.detail;
    const type = ctx.response.headers.get('Content-Type') || '';
    if (ctx.response.status < 400 || type.startsWith('text/html')) return;
    event.preventDefault();
    failed(ctx.response.status, ctx.response.raw);
    unanswered(ctx.sourceElement);
    // There are too many: a tab that was closed a moment ago may be one of them.
    if (ctx.sourceElement === $('live') && ctx.response.status === 503) setTimeout(() => htmx.trigger($('live'), 'ready'), 2000);
  });

  async function failed(status, raw) {
    let text = '';
    try { text = (await raw.json()).error; } catch { /* then the status has to do */ }
    if (status === 401) text = 'This is another page than before. On the host, docker hostexec ui prints its address.';
    trouble(text || 'The page answered ' + status + '.');
  }

  document.addEventListener('htmx:error', event => {
    if (event.detail.ctx) trouble('The page does not answer. On the host, docker hostexec ui starts it again.');
    if (event.detail.ctx) unanswered(event.detail.ctx.sourceElement);
  });

  function unanswered(element) {
    const card = element.closest('.request');
    if (!card) return;
    heights.delete(card.id);
    appear(card);
  }

  document.addEventListener('htmx:after:swap', () => {
    for (const card of pending().querySelectorAll('.request')) {
      if (heights.has(card.id) && !card.classList.contains('live')) {
        hold(card, heights.get(card.id));
        if (document.activeElement === document.body) card.focus({ preventScroll: true });
      }
      heights.delete(card.id);
    }
    outcomes(told);
    refresh();
  });

  // ---- the stream

  const parse = html => new DOMParser().parseFromString(html, 'text/html').body;
  const main = $('live');
  main.addEventListener('htmx:sse:after:connection', event => {
    if (event.detail.connection.status !== 200) return;
    trouble('');
    connected('live', 'good');
  });
  main.addEventListener('htmx:sse:error', event => {
    if (event.detail.status) failed(event.detail.status, { json: async () => ({}) });
    else connected('reconnecting', 'bad');
  });
  let told = parse(''); // what the server said last of what waits
  main.addEventListener('pending', event => merge(told = parse(event.detail.data)));
  main.addEventListener('sessions', event => {
    const parts = parse(event.detail.data);
    for (const name of ['running', 'sessions']) fill($(name), parts.querySelector(`[data-part=${name}]`));
    $('s-running').hidden = !$('running').querySelector('.row');
  });
  main.addEventListener('grants', event => {
    fill($('grants'), parse(event.detail.data));
    $('s-grants').hidden = !$('grants').querySelector('.row');
  });
  main.addEventListener('audit', event => fill($('audit'), parse(event.detail.data)));

  // fill replaces a list and keeps the focus on the row that had it.
  function fill(box, from) {
    const focused = box.contains(document.activeElement) && document.activeElement.closest('.row');
    box.replaceChildren(...[...from.childNodes].map(node => document.importNode(node, true)));
    htmx.process(box);
    if (focused && focused.id && $(focused.id)) $(focused.id).querySelector('button').focus({ preventScroll: true });
    tick();
  }

  // merge takes over what waits. Nothing moves: what is new comes last, and what does not
  // wait any more keeps its place for as long as something below it does.
  function merge(from) {
    outcomes(from);
    for (const next of from.querySelectorAll('.request.live')) {
      const card = $(next.id);
      if (heights.has(next.id)) continue; // its answer is on its way
      if (!card) {
        const fresh = document.importNode(next, true);
        pending().append(fresh);
        appear(fresh);
        said('Request: ' + next.dataset.title);
      } else if (card.dataset.digest !== next.dataset.digest) {
        const fresh = document.importNode(next, true);
        card.replaceWith(fresh);
        appear(fresh);
      } else if (card.dataset.waiting !== next.dataset.waiting || card.dataset.gone !== next.dataset.gone) {
        const others = card.dataset.waiting !== next.dataset.waiting; // it is the same, for others
        Object.assign(card.dataset, { waiting: next.dataset.waiting, gone: next.dataset.gone });
        card.querySelector('.when').replaceWith(document.importNode(next.querySelector('.when'), true));
        if (others) appear(card);
      }
    }
    // What the server has forgotten is gone, too.
    for (const card of live()) if (!from.querySelector('#' + card.id)) card.remove();
    refresh();
  }

  // outcomes shows what became of cards, unless it is known here already or is on its way.
  function outcomes(from) {
    for (const next of from.querySelectorAll('.request.settled')) {
      const card = $(next.id);
      if (!card || heights.has(next.id) || card.matches('.settled.approved, .settled.denied')) continue;
      if (card.className !== next.className) settle(card, next);
    }
  }

  function settle(card, next) {
    const focused = card.contains(document.activeElement);
    const height = card.offsetHeight;
    const stone = document.importNode(next, true);
    card.replaceWith(stone);
    hold(stone, height);
    if (focused) stone.focus({ preventScroll: true });
  }

  // ---- when a card can be answered

  const state = new WeakMap(); // of a card: since when it is there, and whether its end was seen
  const heights = new Map();   // of cards that are being answered

  const ends = new IntersectionObserver(entries => {
    for (const entry of entries) {
      const known = state.get(entry.target.closest('.request'));
      if (entry.isIntersecting && known) known.read = true;
    }
    arm();
  });

  function appear(card) {
    const known = state.get(card);
    state.set(card, { since: performance.now(), read: Boolean(known && known.read) });
    if (!known) {
      htmx.process(card);
      ends.observe(card.querySelector('.end'));
    }
    for (const button of card.querySelectorAll('.answer button')) button.disabled = true;
    setTimeout(arm, dead + 10);
    return card;
  }

  function arm() {
    if (document.hidden) return;
    const now = performance.now();
    for (const card of live()) {
      const known = state.get(card) || (appear(card), state.get(card));
      const ripe = now - known.since >= dead && !heights.has(card.id);
      card.querySelector('.deny').disabled = !ripe;
      for (const button of card.querySelectorAll('.approve, .grant')) button.disabled = !(ripe && known.read);
      card.querySelector('.hint').hidden = known.read || !ripe;
    }
  }

  // Who comes back to the window has to see first what is in it.
  const rearm = () => live().forEach(appear);
  addEventListener('focus', rearm);
  document.addEventListener('visibilitychange', rearm);

  // ---- what is around the cards

  function hold(card, height) { card.style.minHeight = height + 'px'; }

  function refresh() {
    const all = [...pending().querySelectorAll('.request')];
    const waiting = all.filter(card => card.classList.contains('live'));
    let below = false;
    for (const card of all.reverse()) {
      if (card.classList.contains('live')) below = true;
      else if (!below) card.style.minHeight = '';
    }
    const old = all.filter(card => !card.classList.contains('live'));
    if (!waiting.length) old.slice(5).forEach(card => card.remove()); // the newest are first here
    const n = waiting.length;
    document.title = (n ? `(${n}) ` : '') + 'hostexec';
    $('count').textContent = n;
    $('count').hidden = !n;
    $('quiet').hidden = all.length > 0;
    tick();
    arm();
  }

  function said(text) { $('said').textContent = text; }

  function span(seconds) {
    seconds = Math.max(0, Math.round(seconds));
    if (seconds < 60) return seconds + ' s';
    if (seconds < 3600) return Math.floor(seconds / 60) + ' min';
    if (seconds < 86400) return Math.floor(seconds / 3600) + ' h';
    return Math.floor(seconds / 86400) + ' d';
  }

  function tick() {
    const now = Date.now();
    for (const t of document.querySelectorAll('time[data-age]')) t.textContent = span((now - Date.parse(t.dataset.age)) / 1000);
    for (const t of document.querySelectorAll('time[data-left]')) {
      const left = Math.max(0, Math.round((Date.parse(t.dataset.left) - now) / 1000));
      t.textContent = left >= 3600 ? span(left) : Math.floor(left / 60) + ':' + String(left % 60).padStart(2, '0');
      t.parentElement.classList.toggle('soon', left < 30);
    }
  }
  setInterval(tick, 1000);

  // ---- killing takes two clicks

  document.addEventListener('click', event => {
    const button = event.target.closest('button.kill');
    if (!button) return;
    if (button.classList.contains('sure')) {
      button.disabled = true;
      htmx.trigger(button, 'kill');
      return;
    }
    button.classList.add('sure');
    button.textContent = 'Really kill?';
    setTimeout(() => { button.classList.remove('sure'); button.textContent = 'Kill'; }, 4000);
  });

  // ---- keys

  function move(by) {
    const all = [...pending().querySelectorAll('.request')];
    const here = all.indexOf(document.activeElement && document.activeElement.closest('.request'));
    const from = here < 0 ? (by > 0 ? -1 : all.length) : here;
    for (let i = from + by; i >= 0 && i < all.length; i += by) {
      if (!all[i].classList.contains('live')) continue;
      all[i].focus({ preventScroll: true });
      all[i].scrollIntoView({ block: all[i].offsetHeight > innerHeight ? 'start' : 'nearest' });
      return;
    }
  }

  // An arrow scrolls what is longer than the window, as it does everywhere.
  function scrolls(key) {
    const card = document.activeElement && document.activeElement.closest('.request.live');
    if (!card) return false;
    const box = card.getBoundingClientRect();
    return key === 'ArrowDown' ? box.bottom > innerHeight : box.top < 0;
  }

  document.addEventListener('keydown', event => {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const card = document.activeElement && document.activeElement.closest('.request.live');
    const press = name => { if (card && !event.repeat) card.querySelector(name).click(); };
    if (event.target.matches('input')) {
      if (event.key === 'Escape') card.focus();
      else if (event.key === 'Enter') press('.deny');
      return;
    }
    switch (event.key) {
      case 'j': move(1); break;
      case 'k': move(-1); break;
      case 'ArrowDown': if (scrolls(event.key)) return; move(1); break;
      case 'ArrowUp': if (scrolls(event.key)) return; move(-1); break;
      case 'a': press('.approve'); break;
      case 'A': press('.terms summary'); break;
      case 'd': press('.deny'); break;
      case 'r': if (!card) return; card.querySelector('.reason').focus(); break;
      default: return;
    }
    event.preventDefault();
  });

  // Deferred scripts run in order: htmx is there once the document is.
  document.addEventListener('DOMContentLoaded', () => {
    tick();
    setTimeout(() => enter().catch(() => trouble('The page does not answer.')));
  });
})();
