// SPDX-License-Identifier: Apache-2.0
// Elements from values. Texts only ever become text nodes: nothing here reads HTML.

const kSvg = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === "function") node.addEventListener(name, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

/** An element; an attribute that is a function listens to the event of its name. */
export function element(tag, attributes = {}, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

export function svg(tag, attributes = {}, ...children) {
  return fill(document.createElementNS(kSvg, tag), attributes, children);
}

/** A bar of a list; `share` is its length, from 0 to 1. */
export function bar(share) {
  const filled = element("span");
  filled.style.inlineSize = `${100 * Math.min(1, Math.max(0, share))}%`;
  return element("span", { class: "bar", "aria-hidden": "true" }, filled);
}

const calm = matchMedia("(prefers-reduced-motion: reduce)");

function move(node, from) {
  const distance = from - node.offsetTop;
  if (distance === 0) return;
  node.animate([{ transform: `translateY(${distance}px)` }, { transform: "none" }],
    { duration: 260, easing: "cubic-bezier(.2,.7,.2,1)" });
}

function enter(node) {
  node.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 260, easing: "ease-out" });
}

/** The place of what has the focus: a row of the list and the role of the element in it. */
function focusedIn(list) {
  const row = [...list.children].findIndex((child) => child.contains(document.activeElement));
  if (row < 0) return null;
  const part = document.activeElement.dataset.part ?? "";
  return { row, key: list.children[row].dataset.key, part };
}

function focusAgain(list, before, otherwise) {
  const same = [...list.children].find((child) => child.dataset.key === before.key);
  const row = same ?? list.children[Math.min(before.row, list.children.length - 1)];
  (row?.querySelector(`[data-part="${before.part}"]`) ?? row?.querySelector("a, button") ?? otherwise)?.focus();
}

/**
 * Shows `rows` (elements with data-key) in `list`. Rows that stay glide to their new place, new ones
 * fade in, and the focus stays where it was, or goes to the row that took the place; where no row is
 * left, to `otherwise`.
 */
export function showRows(list, rows, otherwise = null) {
  const focused = focusedIn(list);
  const places = new Map([...list.children].map((row) => [row.dataset.key, row.offsetTop]));
  list.replaceChildren(...rows);
  if (focused) focusAgain(list, focused, otherwise);
  if (calm.matches || places.size === 0) return;
  for (const row of rows) {
    if (places.has(row.dataset.key)) move(row, places.get(row.dataset.key));
    else enter(row);
  }
}

/** Says something to those who hear the page. */
export function announce(text) {
  byId("status").textContent = text;
}
