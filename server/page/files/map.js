// SPDX-License-Identifier: Apache-2.0
// The map of a neighbourhood. Decoration for those who see it: the list below it says the same.
import { titleOf } from "./api.js";
import { svg } from "./dom.js";

const kDot = 16;
const kLabel = 22; // characters of a title

/** Wide with titles, or square with numbers alone. `inner` and `outer` are the radii of the nearest and the farthest. */
const kWide = { css: "wide", width: 760, height: 450, inner: [196, 112], outer: [312, 184], labels: true };
const kNarrow = { css: "narrow", width: 400, height: 400, inner: [80, 80], outer: [178, 178], labels: false };

/** Pairs of places in the list whose items are each other's neighbours. */
function linksOf(items, lists) {
  const near = lists.map((list) => new Set(list.items.map(({ item }) => item)));
  const pairs = [];
  for (let a = 0; a < items.length; ++a) {
    for (let b = a + 1; b < items.length; ++b) {
      if (near[a].has(items[b].item) && near[b].has(items[a].item)) pairs.push([a, b]);
    }
  }
  return pairs;
}

/** Places in an order in which linked ones stand side by side: from the nearest, a linked one next where one is left. */
function ringOrder(size, links) {
  const linked = (a, b) => links.some(([x, y]) => (x === a && y === b) || (x === b && y === a));
  const order = [0];
  const left = Array.from({ length: size - 1 }, (_, at) => at + 1);
  while (left.length > 0) {
    const next = Math.max(0, left.findIndex((one) => linked(order.at(-1), one)));
    order.push(...left.splice(next, 1));
  }
  return order;
}

function pointsOf(items, order, { width, height, inner, outer }) {
  const [first, last] = [items[0].score, items.at(-1).score];
  const points = [];
  order.forEach((at, turn) => {
    const far = first === last ? 0.5 : (first - items[at].score) / (first - last);
    const angle = (2 * Math.PI * (turn + 0.5)) / order.length - Math.PI / 2;
    points[at] = {
      x: width / 2 + (inner[0] + far * (outer[0] - inner[0])) * Math.cos(angle),
      y: height / 2 + (inner[1] + far * (outer[1] - inner[1])) * Math.sin(angle),
    };
  });
  return points;
}

/** Cut after a word where one ends late enough. */
function short(title) {
  if (title.length <= kLabel) return title;
  const words = title.slice(0, kLabel).lastIndexOf(" ");
  return `${title.slice(0, words > kLabel / 2 ? words : kLabel - 1)}…`;
}

function dot({ item }, at, { x, y }, walk) {
  return svg("g", { class: "dot", click: () => walk(item) }, svg("title", {}, titleOf(item)),
    svg("circle", { cx: x, cy: y, r: kDot }),
    svg("text", { class: "number", x, y, dy: ".35em" }, at + 1));
}

function label({ item }, { x, y }, walk) {
  return svg("text", { class: "label", x, y: y + kDot + 15, click: () => walk(item) }, short(titleOf(item)));
}

function middle(item, { width, height, labels }) {
  return svg("g", { class: "centre" }, svg("title", {}, titleOf(item)),
    svg("circle", { cx: width / 2, cy: height / 2, r: 9 }),
    labels ? svg("text", { class: "label middle", x: width / 2, y: height / 2 + 26 }, short(titleOf(item))) : null);
}

function rings({ width, height, inner, outer }) {
  return svg("g", { class: "rings" }, [0, 0.5, 1].map((far) => svg("ellipse", {
    cx: width / 2, cy: height / 2, rx: inner[0] + far * (outer[0] - inner[0]), ry: inner[1] + far * (outer[1] - inner[1]),
  })));
}

/** `lists[i]` holds what is similar to `items[i]`; `walk(item)` is called where a dot is pressed. */
export function drawMap({ centre, items, lists, wide, walk }) {
  const form = wide ? kWide : kNarrow;
  const links = linksOf(items, lists);
  const points = pointsOf(items, ringOrder(items.length, links), form);
  return svg("svg", { class: form.css, viewBox: `0 0 ${form.width} ${form.height}`, "aria-hidden": "true" }, rings(form),
    svg("g", { class: "links" }, links.map(([a, b]) =>
      svg("line", { x1: points[a].x, y1: points[a].y, x2: points[b].x, y2: points[b].y }))),
    middle(centre, form), form.labels ? items.map((entry, at) => label(entry, points[at], walk)) : null,
    items.map((entry, at) => dot(entry, at, points[at], walk)));
}
