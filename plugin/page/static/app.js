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
  let ended = ''; // why the token is not good any more
  let token = address.get('token') || sessionStorage.getItem(store) || '';

  // The address of a page that was started anew differs in its hash alone: no browser loads it
  // by itself when it is pasted into this tab.
  addEventListener('hashchange', () => { if (location.hash) location.reload(); });

  // A browser gives up what it loads when the machine's network changes, as it does when a container starts.
  const retryDelay = 2000; // ms
  function start() {
    enter().catch(() => {
      trouble(silent);
      setTimeout(() => (window.htmx ? start() : location.reload()), retryDelay);
    });
  }
  const connect = () => htmx.trigger($('live'), 'ready'); // unless it is connected

  async function enter() {
    const code = address.get('code');
    if (code) {
      const answer = await fetch('/token', {
        method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ code }),
      });
      const got = await answer.json();
      if (got.revoked) return revoked(got.error);
      if (!answer.ok && !token) return trouble(got.error);
      token = got.token || token;
    }
    if (!token) return trouble('This address lacks its token. On the host, docker hostexec ui prints the whole one.');
    sessionStorage.setItem(store, token);
    connect();
  }

  // revoked leaves nothing to answer: who has read it may be somebody else.
  function revoked(text) {
    token = '';
    sessionStorage.removeItem(store);
    ended = text;
    for (const list of ['pending', 'running', 'grants', 'denials', 'sessions', 'audit', 'older']) $(list).replaceChildren();
    refresh();
    trouble(text);
  }

  function notice(text) {
    $('trouble').textContent = text;
    $('trouble').hidden = !text;
  }

  const silent = 'The page does not answer. On the host, docker hostexec ui starts it again.';

  // trouble is a notice that nothing comes from the page any more.
  function trouble(text) {
    notice(text);
    connected('not connected', 'bad');
  }

  function connected(text, kind) {
    $('state').textContent = text;
    $('state').className = 'state ' + kind;
    if (kind === 'bad') heard = false;
    refresh();
  }

  // ---- what htmx sends

  document.addEventListener('htmx:before:request', event => {
    const { ctx } = event.detail;
    ctx.request.headers['X-Hostexec-Token'] = token;
    if ($('state').matches('.good')) notice(''); // of an answer before
    if (ctx.request.method !== 'POST') return;
    const card = ctx.sourceElement.closest('.request');
    const body = {};
    if (card) {
      const shown = ({ dataset }) => ({ digest: dataset.digest, waiting: dataset.waiting.split(' ') });
      const members = [...card.querySelectorAll('.member')];
      if (members.length) body.members = members.map(member => ({ id: member.dataset.id, ...shown(member) }));
      else Object.assign(body, shown(card));
      if (ctx.request.action.startsWith('/deny/')) body.reason = card.querySelector('.reason').value;
      const terms = ctx.sourceElement.dataset; // none: once
      if (terms.for) body.for = terms.for;
      if (terms.times) body.times = Number(terms.times);
      if (terms.always) body.always = true;
      const vary = varied(card);
      if (body.for || body.times || body.always) {
        if (vary) body.vary = vary;
        if (card.querySelector('.unchanged')?.checked) body.unchanged = true;
      }
      ctx.answers = answers(card);
      for (const id of ctx.answers) answering.add(id);
      for (const button of card.querySelectorAll('button')) button.disabled = true;
    }
    ctx.request.body = JSON.stringify(body);
    ctx.request.headers['Content-Type'] = 'application/json';
  });

  // answers returns the ids of the cards that may show what an answer on this card is about.
  function answers(card) {
    return [card.id, ...[...card.querySelectorAll('.member')].map(member => 'r-' + member.dataset.id)];
  }

  // varied returns the argument of a card that may differ, as chosen in its menu.
  function varied(card) {
    const chosen = card.querySelector('.vary')?.value || '';
    return chosen.endsWith('=') ? chosen + card.querySelector('.words').value : chosen;
  }

  // An answer that is no card must not take a card's place.
  document.addEventListener('htmx:before:response', event => {
    const { ctx } = event.detail;
    const type = ctx.response.headers.get('Content-Type') || '';
    if (ctx.response.status < 400 || type.startsWith('text/html')) return;
    event.preventDefault();
    const stream = ctx.sourceElement === $('live');
    failed(ctx.response.status, ctx.response.raw, stream ? trouble : notice);
    unanswered(ctx.sourceElement);
    // There are too many: a tab that was closed a moment ago may be one of them.
    if (stream && ctx.response.status === 503) setTimeout(connect, retryDelay);
  });

  // failed shows why a request failed. One that was refused, as for a command that has ended, leaves
  // the page connected: then show is notice.
  async function failed(status, raw, show = trouble) {
    if (ended) return;
    let text = '';
    let got = {};
    try { got = await raw.json(); text = got.error; } catch { /* then the status has to do */ }
    if (got.revoked) return revoked(got.error);
    if (status === 401) return trouble('This token is not valid, or not any more: the page was restarted. On the host, docker hostexec ui prints its address: paste that here.');
    show(text || 'The page answered ' + status + '.');
  }

  document.addEventListener('htmx:error', event => {
    const { ctx } = event.detail;
    if (!ctx) return;
    if (!ended) trouble(silent);
    if (!ended && ctx.sourceElement === $('live')) setTimeout(connect, retryDelay);
    unanswered(ctx.sourceElement);
  });

  function unanswered(element) {
    const card = element.closest('.request');
    if (!card) return;
    for (const id of answers(card)) answering.delete(id);
    appear(card);
  }

  document.addEventListener('htmx:after:swap', event => {
    const ids = event.detail.ctx.answers || [];
    const answered = ids.filter(id => answering.delete(id) && $(id)?.matches('.settled')).map($);
    for (const card of answered) if (document.activeElement === document.body) card.focus({ preventScroll: true });
    if (answered.length) {
      merge(told); // it may have what was not settled
      close();
    } else outcomes(told);
    refresh();
  });

  // ---- the stream

  const parse = html => new DOMParser().parseFromString(html, 'text/html').body;
  const main = $('live');
  main.addEventListener('htmx:sse:after:connection', event => {
    if (event.detail.connection.status !== 200) return;
    notice('');
    connected('live', 'good');
  });
  main.addEventListener('htmx:sse:error', event => {
    if (ended) return;
    // The stream has not kept what it was answered.
    if (event.detail.status === 401) reason().then(raw => failed(401, raw));
    else if (event.detail.status) failed(event.detail.status, { json: async () => ({}) });
    else connected('reconnecting', 'bad');
  });
  const reason = () => fetch('/token', { headers: { 'X-Hostexec-Token': token } });
  main.addEventListener('revoked', event => revoked(event.detail.data));
  let heard = false; // what waits, since the page is connected
  let told = parse(''); // what the server said last of what waits
  main.addEventListener('pending', event => {
    heard = true;
    merge(told = parse(event.detail.data));
  });
  main.addEventListener('sessions', event => {
    const parts = parse(event.detail.data);
    for (const name of ['running', 'sessions']) fill($(name), parts.querySelector(`[data-part=${name}]`));
    $('s-running').hidden = !$('running').querySelector('.row');
  });
  main.addEventListener('grants', event => {
    fill($('grants'), parse(event.detail.data));
    $('s-grants').hidden = !$('grants').querySelector('.row');
  });
  main.addEventListener('denials', event => {
    fill($('denials'), parse(event.detail.data));
    $('s-denials').hidden = !$('denials').querySelector('.row');
  });
  main.addEventListener('audit', event => {
    const parts = parse(event.detail.data);
    for (const name of ['audit', 'older']) fill($(name), parts.querySelector(`[data-part=${name}]`));
    const n = $('older').querySelectorAll('.row').length;
    $('s-older').hidden = !n;
    $('s-older').querySelector('summary').textContent = n + ' older';
  });

  // fill replaces a list and keeps the focus on the row that had it.
  function fill(box, from) {
    const focused = box.contains(document.activeElement) && document.activeElement.closest('.row');
    box.replaceChildren(...[...from.childNodes].map(node => document.importNode(node, true)));
    htmx.process(box);
    if (focused && focused.id && $(focused.id)) $(focused.id).querySelector('button').focus({ preventScroll: true });
    tick();
  }

  // merge takes over what waits. Nothing moves below the pointer: what is new comes last, and what
  // does not wait any more keeps its place.
  function merge(from) {
    outcomes(from);
    for (const next of from.querySelectorAll('.request.live')) {
      const card = $(next.id);
      if (answering.has(next.id) || stale(card, next)) continue; // its answer is on its way, or was here first
      if (!card) {
        const fresh = document.importNode(next, true);
        pending().append(fresh);
        appear(fresh);
        whole(fresh);
        said('Request: ' + next.dataset.title);
      } else if (next.dataset.digest && card.dataset.digest !== next.dataset.digest && !sameGroup(card, next)) {
        const fresh = document.importNode(next, true);
        card.replaceWith(fresh);
        appear(fresh);
      } else update(card, next);
    }
    // What the server has forgotten is gone, too.
    for (const card of live()) if (!from.querySelector('#' + card.id)) card.remove();
    closeUnaimed();
    refresh();
  }

  const stale = (card, next) => card?.dataset.answered && next.dataset.waiting.split(' ').some(id => card.dataset.answered.split(' ').includes(id));
  const sameGroup = (card, next) => next.dataset.group && card.dataset.group === next.dataset.group;

  // update takes over who asks for a card: what runs is the same. More containers have to be seen before an answer.
  function update(card, next) {
    const { waiting, gone, digest } = next.dataset;
    const members = digest && card.dataset.digest !== digest;
    const others = members || card.dataset.waiting !== waiting;
    if (!others && card.dataset.gone === gone) return;
    Object.assign(card.dataset, { waiting, gone }, digest && { digest });
    for (const part of ['.when', 'h3 span', '.about', '.ids', '.exactly']) {
      const now = card.querySelector(part);
      const fresh = next.querySelector(part);
      if (!now || !fresh) continue; // of a card that is cut
      const copy = document.importNode(fresh, true);
      copy.hidden = now.hidden;
      now.replaceWith(copy);
    }
    if (members) {
      said('Request: ' + next.dataset.title);
      unread(card);
    }
    if (others) appear(card);
  }

  // whole fetches all of a card that the stream has only the beginning of. A request of one
  // id is always the same request, so what is fetched once stays.
  async function whole(card) {
    if (card.dataset.digest || !card.isConnected || answering.has(card.id)) return;
    const answer = await fetch('/pending/' + card.dataset.id, { headers: { 'X-Hostexec-Token': token, 'HX-Request': 'true' } }).catch(() => null);
    const fresh = answer && answer.ok && parse(await answer.text()).querySelector('.request.live');
    if (!card.isConnected || answering.has(card.id)) return; // it is gone, or is being answered
    if (!fresh) {
      setTimeout(() => whole(card), 2000);
      return;
    }
    const focused = card.contains(document.activeElement);
    const now = document.importNode(fresh, true);
    card.replaceWith(now);
    appear(now);
    if (focused) now.focus({ preventScroll: true });
  }

  // outcomes shows what became of cards, unless it is known here already or is on its way.
  function outcomes(from) {
    for (const next of from.querySelectorAll('.request.settled')) {
      const card = $(next.id);
      if (!card || answering.has(next.id) || card.matches('.settled.approved, .settled.denied')) continue;
      if (card.className !== next.className) settle(card, next);
    }
  }

  function settle(card, next) {
    const focused = card.contains(document.activeElement);
    const { height } = card.getBoundingClientRect(); // offsetHeight is rounded, and what is below would move
    const stone = document.importNode(next, true);
    card.replaceWith(stone);
    hold(stone, height);
    if (focused) stone.focus({ preventScroll: true });
  }

  // ---- when a card can be answered

  const state = new WeakMap(); // of a card: since when it is there, and whether its end was seen
  const answering = new Set(); // the ids of cards that are being answered

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

  // unread makes it necessary to see the end of a card once more. The observer reports it anew if it is in sight.
  function unread(card) {
    const known = state.get(card);
    if (known) known.read = false;
    ends.unobserve(card.querySelector('.end'));
    ends.observe(card.querySelector('.end'));
  }

  function arm() {
    if (document.hidden) return;
    const now = performance.now();
    for (const card of live()) {
      const known = state.get(card) || (appear(card), state.get(card));
      const ripe = now - known.since >= dead && !answering.has(card.id);
      for (const button of card.querySelectorAll('.deny, .never')) button.disabled = !ripe;
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

  // close removes the gaps that cards have left. What moves takes no answer for a while, but for the
  // card that has the focus: a container that keeps asking could keep all of them from an answer.
  function close() {
    for (const card of pending().querySelectorAll('.request.settled')) card.style.minHeight = '';
    for (const card of live()) if (!card.contains(document.activeElement)) appear(card);
  }

  // A gap stays while somebody may aim at what is below it.
  const aimed = () => pending().matches(':hover');
  const gaps = () => [...pending().querySelectorAll('.request.settled')].some(card => card.style.minHeight);
  const closeUnaimed = () => { if (gaps() && !aimed()) close(); };
  pending().addEventListener('pointerleave', closeUnaimed);

  // A key is for the card that has the focus: one that waits alone gets it, unless somebody is
  // elsewhere on the page, also after a click beside it. It takes no answer at once, as if it had just appeared.
  function focusSingle() {
    const [card, other] = live();
    const here = document.activeElement;
    if (!card || other || here && here !== document.body && !here.matches('.request.settled')) return;
    card.focus({ preventScroll: true });
    appear(card);
  }

  document.addEventListener('click', focusSingle);

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
    $('quiet').hidden = all.length > 0 || !heard;
    $('blind').hidden = !$('state').matches('.bad') || Boolean(ended);
    focusSingle();
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
    const press = name => { if (card && !event.repeat) card.querySelector(name)?.click(); };
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
      case 'D': press('.never'); break;
      case 'r': if (!card) return; card.querySelector('.reason').focus(); break;
      default: return;
    }
    event.preventDefault();
  });

  // Deferred scripts run in order: htmx is there once the document is.
  document.addEventListener('DOMContentLoaded', () => {
    tick();
    setTimeout(start);
  });
})();
