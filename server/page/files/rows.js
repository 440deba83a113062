// SPDX-License-Identifier: Apache-2.0
// A row of a list: rank, title, reasons, score, and the button that takes the title.
import { titleOf } from "./api.js";
import { bar, element } from "./dom.js";
import { percent } from "./text.js";

/** A title that leads to its neighbourhood, or is only a text where the model has none. */
export function titleLink(item, href) {
  const title = titleOf(item);
  return href === null
    ? element("span", { class: "title", title }, title)
    : element("a", { class: "title", href, title, "data-part": "title" }, title);
}

export function takeButton(item, { isTaken, take, drop }, word = "") {
  const taken = isTaken(item);
  return element("button", {
    type: "button", class: taken ? "take on" : "take", "aria-pressed": String(taken), "data-part": "take",
    "aria-label": `${taken ? "Taken" : "Take"}: ${titleOf(item)}`, title: taken ? "Taken: press to put it back" : "Take it",
    click: () => (taken ? drop(item) : take(item)),
  }, element("span", { "aria-hidden": "true" }, `${taken ? "✓" : "+"} ${word && taken ? "Taken" : word}`.trim()));
}

/** What a past title adds: points of a predicted rating, else its part of `whole`. */
function weightText(share, whole, rated) {
  return rated ? `+${share.toFixed(2)}` : percent(share / whole);
}

function reasonText(reason, whole, rated) {
  const weight = weightText(reason.share, whole, rated);
  const title = titleOf(reason.item);
  return element("li", {}, element("span", { class: "cut", title }, title), " ", element("span", { class: "weight" }, weight));
}

function reasonList(entry, rated) {
  if (!entry.reasons?.length) return null;
  // Where other titles speak against it, the reasons add up to more than the score.
  const whole = Math.max(entry.score, entry.reasons.reduce((sum, { share }) => sum + share, 0));
  return element("div", { class: "reasons" }, element("span", {}, "because of"), element("ul", {},
     entry.reasons.map((reason) => reasonText(reason, whole, rated))));
}

/**
 * `place`: {rank, href, share (length of the bar), score (as text), tag, rated}; `choice` as of
 * takeButton(), or null where nothing can be taken.
 */
export function answerRow(entry, place, choice) {
  return element("li", { "data-key": entry.item, class: choice ? "answer" : "answer plain" },
    element("span", { class: "rank", "aria-hidden": "true" }, place.rank),
    element("div", { class: "what" },
      element("div", { class: "title-line" }, titleLink(entry.item, place.href),
        place.tag ? element("span", { class: "tag" }, place.tag) : null),
      reasonList(entry, place.rated)),
    element("div", { class: "score" }, element("span", {}, place.score), bar(place.share)),
    choice ? takeButton(entry.item, choice) : null);
}

/** From a list's scores to bars: the length of each, from 0 to 1. */
export function barLengths(scores, scale = null) {
  const low = scale?.lowest ?? Math.min(0, ...scores);
  const high = scale?.highest ?? Math.max(...scores);
  return scores.map((score) => (high > low ? (score - low) / (high - low) : 1));
}

/** Scores as texts of equal precision: three digits of the largest. */
export function scoreTexts(scores, scale = null) {
  const largest = Math.max(...scores.map(Math.abs));
  const digits = scale ? 1 : Math.min(6, Math.max(0, 2 - Math.floor(Math.log10(largest || 1))));
  return scores.map((score) => score.toFixed(digits));
}
