// SPDX-License-Identifier: Apache-2.0
// The recommendations: of one model, or of several side by side; before anything is taken, titles to
// begin with.
import { addressOf, lengths, towards } from "./address.js";
import { get, isOutdated, Latest, learnTitles, post, titleOf } from "./api.js";
import { announce, element, showRows } from "./dom.js";
import { answerRow, barLengths, scoreTexts } from "./rows.js";
import { counted } from "./text.js";
import { troubleBox, whileBusy } from "./trouble.js";

const kReasons = 3;
const kStarters = 24;

/** What the server is asked for; with `model`, one of several. */
function question(state, model, servedBy) {
  const who = state.user === null ? { likes: state.likes } : { users: [state.user] };
  return {
    ...who, n: state.n,
    ...(state.user === null ? { unknown: "leave_out" } : {}),
    ...(model.can.includes("explain") ? { reasons: kReasons } : {}),
    ...(servedBy === null ? {} : { served_by: servedBy }),
  };
}

function learn(list) {
  learnTitles(list.items);
  learnTitles(list.items.flatMap((entry) => entry.reasons ?? []));
  return list;
}

export class Lists {
  #model;
  #page;
  #latest = new Latest();
  #root = null;
  #columns = new Map();

  /** `page`: {choice, go(state)}. */
  constructor(model, page) {
    this.#model = model;
    this.#page = page;
  }

  async show(root, state) {
    const signal = this.#latest.next();
    try {
      if (!this.#answers(state)) return this.#refuse(root);
      if (state.user === "") return this.#askForUser(root);
      if (state.user === null && state.likes.length === 0) await this.#showStarters(root, state, signal);
      else await this.#showLists(root, state, signal);
    } catch (error) {
      if (isOutdated(error)) return;
      this.#root = null;
      root.replaceChildren(element("h1", {}, "Recommendations"), troubleBox(error, () => this.show(root, state)));
    }
  }

  leave() {
    this.#latest.next();
    this.#root = null;
  }

  #answers(state) {
    return this.#model.can.includes(state.user === null ? "visitors" : "recommend");
  }

  #refuse(root) {
    this.#root = null;
    root.replaceChildren(element("h1", {}, "No recommendations"),
      element("p", { class: "lead" }, `This model, ${this.#model.algorithm}, has no answer to this question.`));
  }

  #askForUser(root) {
    this.#root = null;
    root.replaceChildren(element("h1", {}, "Whose list?"),
      element("p", { class: "lead" }, `The model knows ${counted(this.#model.users, "user")}. Enter the id of one.`));
  }

  async #showStarters(root, state, signal) {
    const { items } = await whileBusy(root, get("v1/items", { n: Math.min(kStarters, this.#model.limits.n) }, signal));
    learnTitles(items);
    this.#root = null;
    const { take } = this.#page.choice;
    root.replaceChildren(element("h1", {}, "What do you like?"),
      element("p", { class: "lead" }, "Take a few titles: search for them, or begin with some that many know."),
      element("ul", { class: "starters" }, items.map(({ item, popularity }) => element("li", {},
        element("button", { type: "button", click: () => take(item), title: titleOf(item) },
          element("span", { class: "title" }, titleOf(item)),
          element("span", { class: "note" }, counted(popularity, "user")))))));
  }

  /** The names of the models that are shown; null: the only one, or the one of the server's choice. */
  #names(state) {
    const names = (this.#model.models ?? []).map(({ name }) => name);
    if (names.length < 2) return [null];
    return names.includes(state.by) ? [state.by] : names;
  }

  async #showLists(root, state, signal) {
    const names = this.#names(state);
    const answers = await whileBusy(root, Promise.all(names.map((name) =>
      post("v1/recommend", question(state, this.#model, name), signal))));
    const lists = answers.map((answer) => learn(answer.lists[0]));
    if (this.#root !== root || [...this.#columns.keys()].join("\n") !== names.join("\n")) this.#build(root, names);
    this.#describe(root, state, answers);
    names.forEach((name, at) => this.#fill(name, lists[at], lists.filter((_, other) => other !== at), state));
    this.#fillMore(root, state, lists);
    const first = lists[0].items[0];
    announce(first ? `${counted(lists[0].items.length, "recommendation")}. First: ${titleOf(first.item)}.` : "No recommendations.");
  }

  #build(root, names) {
    const focused = root.contains(document.activeElement);
    this.#root = root;
    this.#columns.clear();
    const columns = names.map((name) => {
      const list = element("ol", { class: "answers", "aria-label": name === null ? "Recommendations" : `Recommendations of ${name}` });
      this.#columns.set(name, list);
      return element("section", { class: "column" }, names.length > 1 ? element("h2", {}, name) : null, list);
    });
    root.replaceChildren(element("h1"), element("p", { class: "lead" }), element("div", { class: "models" }),
      element("div", { class: `columns of-${names.length}` }, columns), element("p", { class: "more" }));
    if (focused) root.focus({ preventScroll: true });
  }

  #describe(root, state, answers) {
    root.querySelector("h1").textContent = state.user === null ? "You might also like" : `For user ${state.user}`;
    const unknown = answers[0].left_out?.items ?? 0;
    const from = state.user === null ? `From ${counted(state.likes.length - unknown, "title")}` : "From this user’s history";
    const missing = unknown > 0 ? ` The model does not know ${counted(unknown, "title")} of yours.` : "";
    const silent = this.#model.can.includes("explain") ? "" : " This kind of model gives no reasons.";
    root.querySelector(".lead").textContent = `${from}. ${this.#agreement(answers)}${missing}${silent}`.trim();
    if ((this.#model.models ?? []).length > 1) this.#describeModels(root, state);
  }

  #agreement(answers) {
    if (answers.length < 2) return "";
    const [first, ...others] = answers.map((answer) => new Set(answer.lists[0].items.map(({ item }) => item)));
    const shared = [...first].filter((item) => others.every((other) => other.has(item))).length;
    return `${shared} of ${counted(first.size, "title")} are in ${others.length > 1 ? "all" : "both"} lists.`;
  }

  #describeModels(root, state) {
    const choice = (name, text) => element("a", {
      href: addressOf({ ...state, by: name }), "aria-current": (state.by ?? null) === name ? "true" : null,
    }, text);
    root.querySelector(".models").replaceChildren(element("nav", { class: "switch", "aria-label": "Models" },
      choice(null, "Side by side"), ...this.#model.models.map(({ name }) => choice(name, name))));
  }

  #fill(name, { items }, others, state) {
    const scale = this.#model.scale ?? null;
    const scores = items.map(({ score }) => score);
    const bars = barLengths(scores, scale);
    const texts = scoreTexts(scores, scale);
    const walks = this.#model.can.includes("similar_items");
    const elsewhere = (item) => others.length > 0 && others.every((list) => list.items.some((entry) => entry.item === item));
    showRows(this.#columns.get(name), items.map((entry, at) => answerRow(entry, {
      rank: at + 1, share: bars[at], score: texts[at], rated: scale !== null,
      href: walks ? towards(state, entry.item) : null, tag: elsewhere(entry.item) ? (others.length > 1 ? "in all" : "in both") : null,
    }, state.user === null ? this.#page.choice : null)));
  }

  #fillMore(root, state, lists) {
    const longest = Math.max(...lists.map(({ items }) => items.length));
    const more = root.querySelector(".more");
    if (longest === 0) more.textContent = "Nothing is left to recommend.";
    else if (longest < state.n || state.n >= lengths.most) more.replaceChildren();
    else if (!more.querySelector("button")) {
      more.replaceChildren(element("button", { type: "button", class: "button quiet" }, "Show more"));
    }
    const button = more.querySelector("button");
    if (button) button.onclick = () => this.#page.go({ ...state, n: Math.min(lengths.most, state.n + lengths.first) }, false);
  }
}
