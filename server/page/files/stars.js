// SPDX-License-Identifier: Apache-2.0
// A rating by stars: radio buttons, so that arrow keys work and a reader says "4 of 5".
import { element } from "./dom.js";

const kMostStars = 10;

/** The ratings that stars stand for; empty where the model's scale is none of stars. */
export function starsOf(model) {
  const { lowest, highest } = model.scale ?? {};
  if (model.feedback !== "explicit" || !(highest >= 2 && highest <= kMostStars) || lowest < 0) return [];
  return Array.from({ length: Math.floor(highest) }, (_, place) => place + 1).filter((value) => value >= lowest);
}

/** Stars for `title`; `rate(value)` is called with what is chosen. */
export function starRow(values, { name, title, value }, rate) {
  const stars = values.map((star) => element("label", { class: star <= value ? "on" : null },
    element("input", {
      type: "radio", name, value: star, checked: star === value, "data-part": `star-${star}`,
      "aria-label": `${star} of ${values.at(-1)}`, change: () => rate(star),
    }),
    element("span", { "aria-hidden": "true" }, star <= value ? "★" : "☆")));
  return element("fieldset", { class: "stars" },
    element("legend", { class: "unseen" }, `Rating of ${title}`), ...stars);
}
