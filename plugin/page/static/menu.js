// SPDX-License-Identifier: Apache-2.0
//
// The menu beside Approve: <details>, which opens by itself, and what a menu does besides.
// Opening it chooses nothing: an arrow goes to the first choice, Enter takes the one that has
// the focus.
'use strict';

(() => {
  const open = () => document.querySelector('.terms[open]');

  function close(menu, focus) {
    menu.open = false;
    if (focus) menu.querySelector('summary').focus({ preventScroll: true });
  }

  // toggle does not bubble, but it can be caught on its way down.
  document.addEventListener('toggle', event => {
    const menu = event.target;
    if (!menu.matches('.terms') || !menu.open) return;
    for (const other of document.querySelectorAll('.terms[open]')) if (other !== menu) close(other);
    const list = menu.querySelector('.menu');
    list.focus({ preventScroll: true });
    list.scrollIntoView({ block: 'nearest' });
  }, true);

  document.addEventListener('click', event => {
    const menu = open();
    if (menu && !menu.contains(event.target)) close(menu);
  });

  document.addEventListener('focusin', event => {
    const menu = open();
    if (menu && !menu.contains(event.target)) close(menu);
  });

  function step(menu, by) {
    const all = [...menu.querySelectorAll('.grant:enabled:not([hidden])')];
    const here = all.indexOf(document.activeElement);
    const next = here < 0 ? (by > 0 ? 0 : all.length - 1) : (here + by + all.length) % all.length;
    if (all[next]) all[next].focus();
  }

  // A grant that holds while files are unchanged, or that lets an argument vary, is for more than one call, so "once" is
  // hidden. A grant cannot be both. The menu shows a grant with a varying argument as a rule before it is made.
  document.addEventListener('input', event => {
    const menu = event.target.closest('.terms .menu');
    if (!menu) return;
    const vary = menu.querySelector('.vary');
    const unchanged = menu.querySelector('.unchanged');
    if (vary && unchanged) {
      vary.disabled = unchanged.checked;
      unchanged.disabled = Boolean(vary.value);
    }
    const lasting = Boolean(vary?.value || unchanged?.checked);
    for (const once of menu.querySelectorAll('.grant:not([data-for], [data-times], [data-always])')) once.hidden = lasting;
    if (vary) rule(menu, vary.selectedOptions[0]);
  });

  // rule shows the grant in which the argument of choice varies.
  function rule(menu, choice) {
    const words = choice.value.endsWith('=');
    const values = words ? '<' + menu.querySelector('.words').value.split(',').join('|') + '>' : choice.dataset.form;
    menu.querySelector('.wordlist').hidden = !words;
    menu.querySelector('.rule').hidden = !choice.value;
    menu.querySelector('.rule code').textContent = [choice.dataset.before, values, choice.dataset.after].filter(Boolean).join(' ');
    menu.querySelector('.exactly').hidden = Boolean(choice.value);
  }

  // An open menu handles keys before the page does.
  document.addEventListener('keydown', event => {
    const menu = open();
    if (!menu || !menu.contains(event.target)) return;
    if (event.target.matches('select, input') && event.key !== 'Escape') { // the field handles its keys
      event.stopPropagation();
      return;
    }
    switch (event.key) {
      case 'ArrowDown': case 'j': step(menu, 1); break;
      case 'ArrowUp': case 'k': step(menu, -1); break;
      case 'Escape': case 'A': close(menu, true); break;
      default: return;
    }
    event.preventDefault();
    event.stopPropagation();
  }, true);
})();
