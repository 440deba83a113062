// SPDX-License-Identifier: Apache-2.0
// The model: its key figures and its parameters.
import { element } from "./dom.js";
import { count, counted, figure, moment, percent } from "./text.js";

function keyFigure(value, what) {
  return element("div", {}, element("dt", {}, what), element("dd", {}, value));
}

function valueText(value) {
  if (value === true) return "on";
  if (value === false) return "off";
  return typeof value === "number" ? figure(value) : String(value);
}

const named = (entries) => entries.filter(([, value]) => value !== null && value !== undefined && value !== "");

function table(heading, entries) {
  if (entries.length === 0) return null;
  return element("section", { class: "card" }, element("h2", {}, heading),
    element("table", {}, element("tbody", {}, entries.map(([name, value]) =>
      element("tr", {}, element("th", { scope: "row" }, name.replaceAll("_", " ")), element("td", {}, value))))));
}

function origin(model) {
  return named([
    ["file", model.file],
    ["fingerprint", model.model],
    ["trained", model.trained && moment(model.trained)],
    ["loaded", model.loaded && moment(model.loaded)],
    ["answers", model.can?.map((word) => word.replaceAll("_", " ")).join(", ")],
  ]);
}

function shares(models) {
  if (!models || models.length < 2) return [];
  return models.map(({ name, share, algorithm, offered, followed }) => [name, [algorithm, `${percent(share)} of the users`,
    offered > 0 ? `${counted(offered, "item")} offered, ${count(followed)} followed` : null].filter(Boolean).join(", ")]);
}

/** Parameters that have no effect beside the others are null, and left out. */
function parameters(model) {
  return named(Object.entries(model.parameters ?? {})).filter(([name]) => name !== "algorithm" && name !== "feedback")
    .map(([name, value]) => [name, valueText(value)]);
}

export class Figures {
  #model;

  constructor(model) {
    this.#model = model;
  }

  leave() {}

  show(root) {
    const model = this.#model;
    const filled = model.interactions / (model.users * model.items);
    root.replaceChildren(element("h1", {}, "The model"),
      element("p", { class: "lead" }, `Trained by ${model.algorithm} on ${model.feedback} feedback.`),
      element("dl", { class: "figures" }, keyFigure(count(model.users), "users"), keyFigure(count(model.items), "items"),
        keyFigure(count(model.interactions), "interactions"), keyFigure(`${figure(100 * filled)} %`, "of all pairs known")),
      element("div", { class: "cards" }, table("Served models", shares(model.models)), table("Where it is from", origin(model)),
        table("Parameters", parameters(model))));
  }
}
