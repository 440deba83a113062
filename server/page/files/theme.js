// SPDX-License-Identifier: Apache-2.0
// Light or dark: as the system has it, until the switch says otherwise. A plain script, so that it
// runs before anything is painted.
"use strict";
(() => {
  const root = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");

  function stored() {
    try {
      return localStorage.getItem("theme");
    } catch {
      return null; // storage is switched off
    }
  }

  function keep(theme) {
    try {
      localStorage.setItem("theme", theme);
    } catch {
      // It holds for this page then.
    }
  }

  function current() {
    return root.dataset.theme ?? (system.matches ? "dark" : "light");
  }

  function name(button) {
    button.querySelector("#theme-name").textContent =
      current() === "dark" ? "Light colours" : "Dark colours";
    button.title = button.textContent.trim();
  }

  if (["light", "dark"].includes(stored())) root.dataset.theme = stored();
  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("theme");
    name(button);
    system.addEventListener("change", () => name(button));
    button.addEventListener("click", () => {
      root.dataset.theme = current() === "dark" ? "light" : "dark";
      keep(root.dataset.theme);
      name(button);
    });
  });
})();
