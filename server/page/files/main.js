// SPDX-License-Identifier: Apache-2.0
// The page: one state, which stands in the address, and what is shown of it.
import { addressOf, keepLengthsTo, readAddress } from "./address.js";
import { get, keepTo } from "./api.js";
import { byId, element } from "./dom.js";
import { Figures } from "./figures.js";
import { Lists } from "./lists.js";
import { Near } from "./near.js";
import { Picks } from "./picks.js";
import { Search } from "./search.js";
import { counted } from "./text.js";
import { troubleBox, whileBusy } from "./trouble.js";

class Page {
  #state = readAddress();
  #model;
  #views;
  #picks;
  #shown = null;

  constructor(model) {
    this.#model = model;
    const choice = {
      isTaken: (item) => this.#state.likes.some((like) => like.item === item),
      take: (item) => this.#take(item),
      drop: (item) => this.go({ ...this.#state, likes: this.#state.likes.filter((like) => like.item !== item) }),
    };
    const page = {
      choice,
      go: (state, walks) => this.go(state, walks),
      follow: (address) => this.#follow(address),
      rate: (item, value) => this.go({
        ...this.#state, likes: this.#state.likes.map((like) => (like.item === item ? { item, value } : like)),
      }),
    };
    this.#views = { lists: new Lists(model, page), near: new Near(model, page), model: new Figures(model) };
    this.#picks = new Picks(model, page);
    this.#picks.listen(() => this.#state);
    new Search(model, choice.isTaken, choice.take);
    addEventListener("popstate", () => this.#open(readAddress()));
    document.addEventListener("click", (event) => this.#click(event));
    this.#open(this.#state);
  }

  /** Shows another state; `walks`: as a place of its own in the browser's history. */
  go(state, walks = false) {
    history[walks ? "pushState" : "replaceState"](null, "", addressOf(state));
    this.#open(state);
  }

  #follow(address) {
    const shown = this.#state.show;
    this.go(readAddress(new URL(address, location.href).hash), true);
    scrollTo({ top: 0 });
    if (this.#state.show !== shown || shown === "near") byId("content").focus({ preventScroll: true });
  }

  /** Links within the page change its state; with a key held, or of another page, they are left alone. */
  #click(event) {
    const link = event.target.closest("a");
    const plain = !event.defaultPrevented && event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey;
    if (!link || !plain || link.origin !== location.origin || link.pathname !== location.pathname) return;
    event.preventDefault();
    if (link.className === "skip") byId("content").focus();
    else this.#follow(link.href);
  }

  #take(item) {
    if (this.#state.likes.some((like) => like.item === item)) return;
    this.go({ ...this.#state, likes: [...this.#state.likes, this.#like(item)] });
  }

  /** Where the model learned from ratings, a title is taken with the highest. */
  #like(item) {
    const highest = this.#model.scale?.highest;
    return highest === undefined ? { item } : { item, value: highest };
  }

  /** An address may say any value. */
  #onScale(like) {
    const { lowest, highest } = this.#model.scale ?? {};
    if (like.value === undefined || highest === undefined) return like;
    return { ...like, value: Math.min(highest, Math.max(lowest, like.value)) };
  }

  #open(state) {
    const likes = state.likes.map((like) => ({ ...this.#like(like.item), ...this.#onScale(like) }));
    this.#state = { ...state, likes };
    if (this.#shown !== null && this.#shown !== state.show) this.#views[this.#shown].leave();
    this.#shown = state.show;
    this.#links();
    if (state.show !== "model") this.#picks.show(this.#state);
    this.#views[state.show].show(byId("content"), this.#state);
  }

  #links() {
    byId("frame").dataset.show = this.#state.show;
    document.title = this.#state.show === "model" ? "The model · likewise" : "likewise";
    for (const [id, show] of [["to-lists", "lists"], ["to-model", "model"]]) {
      byId(id).href = addressOf({ ...this.#state, show });
      if (this.#state.show === show) byId(id).setAttribute("aria-current", "page");
      else byId(id).removeAttribute("aria-current");
    }
  }
}

function describe(model) {
  byId("about").textContent = `${model.algorithm} · ${counted(model.users, "user")} · ${counted(model.items, "item")}`;
}

async function start() {
  const content = byId("content");
  try {
    const model = await whileBusy(content, get("v1/model"));
    describe(model);
    keepTo(model.limits);
    keepLengthsTo(model.limits);
    new Page(model);
  } catch (error) {
    content.replaceChildren(element("h1", {}, "likewise"), troubleBox(error, start));
  }
}

start();
