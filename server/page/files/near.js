// SPDX-License-Identifier: Apache-2.0
// The neighbourhood of an item: a map and a list of what is similar, to walk from one to the next.
import { addressOf, towards } from "./address.js";
import { fetchTitles, get, inParts, isOutdated, Latest, learnTitles, post, titleOf } from "./api.js";
import { announce, element, showRows } from "./dom.js";
import { drawMap } from "./map.js";
import { answerRow, barLengths, scoreTexts, takeButton } from "./rows.js";
import { counted } from "./text.js";
import { troubleBox, whileBusy } from "./trouble.js";

const kNeighbours = 12;
const kLinks = 6; // nearest of each neighbour, for the lines of the map

const placeOf = ({ item, by }) => JSON.stringify([item, by]);

export class Near {
  #model;
  #page;
  #latest = new Latest();
  #shown = null;
  #items = [];
  #state = null;
  #drawn = null;
  #wide = matchMedia("(width >= 48rem)");

  constructor(model, page) {
    this.#model = model;
    this.#page = page;
    this.#wide.addEventListener("change", () => this.#draw());
  }

  leave() {
    this.#latest.next();
    this.#shown = null;
  }

  async show(root, state) {
    this.#state = state;
    if (this.#shown === placeOf(state)) return this.#fill(root);
    const signal = this.#latest.next();
    try {
      await whileBusy(root, this.#show(root, state, signal));
    } catch (error) {
      if (isOutdated(error)) return;
      this.#shown = null;
      root.replaceChildren(this.#trail(state), element("h1", {}, titleOf(state.item)),
        troubleBox(error, () => this.show(root, state)));
    }
  }

  async #show(root, state, signal) {
    const servedBy = state.by === null ? {} : { served_by: state.by };
    const [answer, about] = await Promise.all([
      post("v1/similar", { items: [state.item], n: Math.min(kNeighbours, this.#model.limits.n), ...servedBy }, signal),
      get("v1/items", { item: state.item, ...servedBy }, signal),
      fetchTitles(state.via, signal),
    ]);
    this.#items = answer.lists[0].items;
    learnTitles(about.items);
    learnTitles(this.#items);
    this.#build(root, state.item, about.items[0]);
    this.#fill(root);
    this.#shown = placeOf(state);
    await this.#fillMap(root, state.item, servedBy, signal);
  }

  #trail(state) {
    const walked = state.via.map((item, at) => element("li", {}, element("a", {
      href: addressOf({ ...state, item, via: state.via.slice(0, at) }), title: titleOf(item),
    }, titleOf(item))));
    return element("nav", { class: "trail", "aria-label": "Walk" }, element("ol", {},
      element("li", {}, element("a", { href: addressOf({ ...state, show: "lists" }) }, "Recommendations")), ...walked,
      element("li", { "aria-current": "page", title: titleOf(state.item) }, element("span", {}, titleOf(state.item)))));
  }

  #build(root, item, { popularity }) {
    const title = titleOf(item);
    root.replaceChildren(element("nav"), element("div", { class: "headline" }, element("h1", { title }, title)),
      element("p", { class: "lead" }, `In the history of ${counted(popularity, "user")}.`),
      element("div", { class: "near" }, element("figure", { class: "map" }),
        element("div", {}, element("ol", { class: "answers", "aria-label": `Similar to ${title}` }))));
    announce(`Neighbourhood of ${title}.`);
  }

  #fillHeadline(headline) {
    if (this.#state.user !== null) return;
    const focused = headline.querySelector("button") === document.activeElement;
    const button = takeButton(this.#state.item, this.#page.choice, "Take");
    headline.querySelector("button")?.remove();
    headline.append(button);
    if (focused) button.focus();
  }

  #fill(root) {
    const state = this.#state;
    const items = this.#items;
    root.querySelector("nav").replaceWith(this.#trail(state));
    this.#fillHeadline(root.querySelector(".headline"));
    const scores = items.map(({ score }) => score);
    const lengths = barLengths(scores);
    const texts = scoreTexts(scores);
    showRows(root.querySelector(".answers"), items.map((entry, at) => answerRow(entry, {
      rank: at + 1, share: lengths[at], score: texts[at], rated: false, href: towards(state, entry.item),
    }, state.user === null ? this.#page.choice : null)));
    if (items.length === 0) {
      root.querySelector(".near").replaceChildren(element("p", {}, "Nothing is similar to this title, as far as the model knows."));
    }
  }

  /** The neighbours of the neighbours say which of them are near each other. */
  async #fillMap(root, centre, servedBy, signal) {
    const items = this.#items;
    if (items.length === 0) return;
    const n = Math.min(kLinks, this.#model.limits.n);
    const answers = await Promise.all(inParts(items.map(({ item }) => item)).map((part) =>
      post("v1/similar", { items: part, n, ...servedBy }, signal)));
    this.#drawn = {
      figure: root.querySelector(".map"), centre, items, lists: answers.flatMap(({ lists }) => lists),
      walk: (item) => this.#page.follow(towards(this.#state, item)),
    };
    this.#draw();
  }

  #draw() {
    if (!this.#drawn?.figure.isConnected) return;
    this.#drawn.figure.replaceChildren(drawMap({ ...this.#drawn, wide: this.#wide.matches }),
      element("figcaption", {}, "The closer to the middle, the more similar. Lines join titles that are among each other’s nearest."));
  }
}
