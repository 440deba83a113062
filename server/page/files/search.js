// SPDX-License-Identifier: Apache-2.0
// The search for titles: a combobox with a list, by the pattern of the ARIA guide.
import { get, isOutdated, Latest, learnTitles } from "./api.js";
import { announce, byId, element } from "./dom.js";
import { counted } from "./text.js";

const kPause = 120; // ms of typing that go by before a request
const kLength = 8;
const kBytes = 200; // of a query, as the server counts them

/** The title with those parts marked that begin with a word of the query. */
function marked(title, query) {
  const words = query.split(/\s+/).filter(Boolean).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  if (words.length === 0) return [title];
  return title.split(new RegExp(`(${words.join("|")})`, "giu"))
    .map((part, place) => (place % 2 === 1 ? element("mark", {}, part) : part));
}

/** The longest beginning of whole characters that the server takes. */
function withinBytes(text) {
  const { read } = new TextEncoder().encodeInto(text, new Uint8Array(kBytes));
  return text.slice(0, read);
}

export class Search {
  #input = byId("query");
  #list = byId("found");
  #note = byId("search-note");
  #latest = new Latest();
  #timer = 0;
  #found = [];
  #active = -1;
  #entered = false; // Enter was pressed before the titles for what is typed came
  #isTaken;
  #take;

  #length;

  /** `isTaken(item)`, and `take(item)` for a title that was chosen. */
  constructor(model, isTaken, take) {
    this.#length = Math.min(kLength, model.limits.n);
    this.#isTaken = isTaken;
    this.#take = take;
    this.#input.addEventListener("input", () => this.#later());
    this.#input.addEventListener("keydown", (event) => this.#key(event));
    this.#input.addEventListener("focus", () => this.#later());
    this.#input.addEventListener("blur", () => this.#close());
    // A press in the list must not take the focus from the field, which would close it.
    this.#list.addEventListener("mousedown", (event) => event.preventDefault());
  }

  focus() {
    this.#input.focus();
  }

  #later() {
    clearTimeout(this.#timer);
    this.#entered = false;
    this.#list.setAttribute("aria-busy", "true");
    this.#timer = setTimeout(() => this.#search(), kPause);
  }

  async #search() {
    const query = withinBytes(this.#input.value.trim());
    const signal = this.#latest.next();
    if (!query) return this.#close();
    try {
      const { items } = await get("v1/items", { query, n: this.#length }, signal);
      learnTitles(items);
      if (document.activeElement === this.#input) this.#show(items, query);
    } catch (error) {
      if (isOutdated(error)) return;
      this.#close();
      this.#say(error.message);
    }
  }

  #show(items, query) {
    const chosen = this.#found[this.#active]?.item;
    this.#found = items;
    this.#list.replaceChildren(...items.map((item, place) => this.#option(item, place, query)));
    this.#list.hidden = items.length === 0;
    this.#input.setAttribute("aria-expanded", String(items.length > 0));
    this.#list.removeAttribute("aria-busy");
    this.#activate(items.findIndex(({ item }) => item === chosen));
    this.#say(items.length === 0 ? `No title holds “${query}”.` : "");
    if (items.length > 0) announce(`${counted(items.length, "title")} found. Up and down keys choose.`);
    if (this.#entered && items.length > 0) this.#choose(0);
  }

  #option({ item, title }, place, query) {
    const taken = this.#isTaken(item);
    const text = title ?? item;
    return element("li", {
      id: `found-${place}`, role: "option", "aria-selected": "false", "aria-disabled": taken ? "true" : null,
      title: text, click: () => this.#choose(place),
    }, element("span", { class: "cut" }, marked(text, query)), taken ? element("span", { class: "tag" }, "taken") : null);
  }

  #say(text) {
    this.#note.textContent = text;
    this.#note.hidden = text === "";
    if (text) announce(text);
  }

  #activate(place) {
    this.#active = place;
    [...this.#list.children].forEach((option, at) => option.setAttribute("aria-selected", String(at === place)));
    if (place < 0) return this.#input.removeAttribute("aria-activedescendant");
    this.#input.setAttribute("aria-activedescendant", `found-${place}`);
    this.#list.children[place].scrollIntoView({ block: "nearest" });
  }

  #close() {
    clearTimeout(this.#timer);
    this.#latest.next();
    this.#entered = false;
    this.#list.hidden = true;
    this.#list.removeAttribute("aria-busy");
    this.#input.setAttribute("aria-expanded", "false");
    this.#activate(-1);
    this.#say("");
  }

  #choose(place) {
    const { item } = this.#found[place];
    if (this.#isTaken(item)) return;
    this.#input.value = "";
    this.#close();
    this.#take(item);
  }

  #key(event) {
    const open = !this.#list.hidden;
    if (event.key === "Escape") {
      if (!open) this.#input.value = "";
      this.#close();
    } else if (event.key === "Enter" && this.#active < 0 && this.#list.hasAttribute("aria-busy")) {
      this.#entered = true;
    } else if (event.key === "Enter" && open) {
      this.#choose(Math.max(0, this.#active));
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if (open) this.#step(event.key === "ArrowDown" ? 1 : -1);
      else this.#later();
    } else {
      return;
    }
    event.preventDefault();
  }

  /** From the field (-1) through the list and around. */
  #step(by) {
    const places = this.#found.length + 1;
    this.#activate(((this.#active + 1 + by + places) % places) - 1);
  }
}
