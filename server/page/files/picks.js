// SPDX-License-Identifier: Apache-2.0
// The side of the page that says who is asking: titles taken, or a known user and the history.
import { fetchTitles, get, isOutdated, Latest, learnTitles, titleOf } from "./api.js";
import { towards } from "./address.js";
import { byId, element, showRows } from "./dom.js";
import { titleLink } from "./rows.js";
import { starRow, starsOf } from "./stars.js";
import { count, figure } from "./text.js";

const kShown = 1000; // of a history, and of the events since

export class Picks {
  #model;
  #page;
  #titles = new Latest();
  #history = new Latest();
  #historyOf = null;
  #past = [];
  #more = false;

  /** `page`: {choice, rate(item, value), go(state)}. */
  constructor(model, page) {
    this.#model = model;
    this.#page = page;
  }

  listen(state) {
    byId("clear").addEventListener("click", () => {
      this.#page.go({ ...state(), likes: [] });
      byId("query").focus();
    });
    for (const radio of document.getElementsByName("asking")) {
      radio.addEventListener("change", () => this.#page.go({ ...state(), user: radio.value === "user" ? "" : null }, true));
    }
    byId("user-form").addEventListener("submit", (event) => {
      event.preventDefault();
      const user = byId("user").value.trim();
      if (user) this.#page.go({ ...state(), user, show: "lists" }, true);
    });
  }

  async show(state) {
    const known = state.user !== null;
    byId("visitor").hidden = known;
    byId("known").hidden = !known;
    document.querySelector(`[name=asking][value=${known ? "user" : "visitor"}]`).checked = true;
    if (known) return this.#showUser(state);
    this.#showTaken(state);
    try {
      await fetchTitles(state.likes.map(({ item }) => item), this.#titles.next());
      this.#showTaken(state);
    } catch (error) {
      // The ids stand in place of titles that nobody could tell; the lists say what failed.
    }
  }

  #href(state, item) {
    return this.#model.can.includes("similar_items") ? towards(state, item) : null;
  }

  #showTaken(state) {
    byId("taken-count").textContent = state.likes.length > 0 ? count(state.likes.length) : "";
    byId("none-taken").hidden = state.likes.length > 0;
    byId("clear").hidden = state.likes.length === 0;
    showRows(byId("taken"), state.likes.map((like) => this.#takenRow(state, like)), byId("query"));
  }

  #takenRow(state, { item, value }) {
    const title = titleOf(item);
    const stars = starsOf(this.#model);
    return element("li", { "data-key": item }, titleLink(item, this.#href(state, item)),
      element("button", {
        type: "button", class: "drop", "aria-label": `Put back: ${title}`, title: "Put it back", "data-part": "drop",
        click: () => this.#page.choice.drop(item),
      }, element("span", { "aria-hidden": "true" }, "×")),
      stars.length === 0 ? null
        : starRow(stars, { name: `stars of ${item}`, title, value }, (given) => this.#page.rate(item, given)));
  }

  /** What the model has learned of the user, after what came since. */
  async #showUser(state) {
    if (byId("user") !== document.activeElement) byId("user").value = state.user;
    if (state.user === "") byId("user").focus();
    if (state.user === this.#historyOf) return this.#showHistory(state);
    this.#historyOf = state.user;
    this.#past = [];
    this.#more = false;
    this.#showHistory(state);
    const signal = this.#history.next();
    if (state.user === "") return;
    try {
      const { history, events } = await get(`v1/users/${encodeURIComponent(state.user)}`, { n: kShown + 1 }, signal);
      const shown = { history: history.slice(0, kShown), events: events.slice(-kShown) };
      learnTitles(shown.history);
      await fetchTitles(shown.events.map(({ item }) => item), signal);
      this.#past = [...shown.events.map((event) => ({ ...event, tag: "new" })), ...shown.history];
      this.#more = this.#past.length < history.length + events.length;
      this.#showHistory(state);
    } catch (error) {
      // The list next to it says what is wrong with a user.
      if (!isOutdated(error)) this.#historyOf = null;
    }
  }

  #showHistory(state) {
    byId("history-part").hidden = this.#past.length === 0;
    byId("history-count").textContent = `${count(this.#past.length)}${this.#more ? "+" : ""}`;
    byId("history").replaceChildren(...this.#past.map(({ item, value, tag }) => element("li", {},
      titleLink(item, this.#href(state, item)), element("span", { class: "value" },
        tag ? element("span", { class: "tag" }, tag) : null, value === undefined ? null : ` ${figure(value)}`))));
  }
}
