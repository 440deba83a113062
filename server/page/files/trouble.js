// SPDX-License-Identifier: Apache-2.0
// What the page shows while it waits, and where something failed.
import { isToken, keepToken } from "./api.js";
import { announce, element } from "./dom.js";

const kPatience = 250; // ms until waiting is shown: quick answers do not flicker
const kUnauthorized = 401;

/** Whether the same request may be answered later: no answer, time-outs, too many requests, trouble of the server. */
const isPassing = (status) => [0, 408, 429].includes(status) || status >= 500;

/** Marks `node` as busy where `work` takes long. */
export async function whileBusy(node, work) {
  const timer = setTimeout(() => node.setAttribute("aria-busy", "true"), kPatience);
  try {
    return await work;
  } finally {
    clearTimeout(timer);
    node.removeAttribute("aria-busy");
  }
}

function tokenForm(retry) {
  const field = element("input", { id: "token", type: "password", autocomplete: "off", required: true });
  const note = element("p", { class: "note" }, "It is kept until this tab is closed.");
  return element("form", {
    class: "user-form",
    submit: (event) => {
      event.preventDefault();
      const token = field.value.trim();
      if (!isToken(token)) {
        note.textContent = "A token has no blanks and no letters with accents: copy it once more.";
        return announce(note.textContent);
      }
      keepToken(token);
      retry();
    },
  }, element("label", { for: "token" }, "Token of this server"),
  element("div", { class: "field" }, field, element("button", { type: "submit", class: "button" }, "Use it")),
  note);
}

/** The sentence of an error, with what can be done about it. */
export function troubleBox(error, retry) {
  announce(error.message);
  return element("div", { class: "trouble" }, element("p", {}, error.message),
    error.status === kUnauthorized ? tokenForm(retry) : null,
    isPassing(error.status) ? element("button", { type: "button", class: "button", click: retry }, "Try again") : null);
}
