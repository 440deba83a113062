// SPDX-License-Identifier: Apache-2.0
// Requests to the server. An answer that is not one becomes a ServerError with a sentence.

export class ServerError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

const kToken = "token";

/** Whether a header can hold it: characters of ASCII that are seen. */
export const isToken = (text) => /^[\x21-\x7e]+$/.test(text);

/** The token of a server that asks for one; until the tab is closed. */
export function keepToken(token) {
  sessionStorage.setItem(kToken, token);
}

/** One that no header can hold is dropped: with it the server could never be asked. */
function keptToken() {
  const token = sessionStorage.getItem(kToken);
  if (token === null || isToken(token)) return token;
  sessionStorage.removeItem(kToken);
  return null;
}

function headers(body) {
  const token = keptToken();
  return {
    Accept: "application/json",
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
  };
}

async function errorOf(response) {
  const body = await response.json().catch(() => null);
  const message = body?.error?.message ?? `The server answered with status ${response.status} and no reason.`;
  return new ServerError(response.status, asSentence(message));
}

function asSentence(message) {
  const text = message.charAt(0).toUpperCase() + message.slice(1);
  return /[.!?]$/.test(text) ? text : `${text}.`;
}

async function send(path, body, signal) {
  let response;
  try {
    response = await fetch(path, {
      method: body === undefined ? "GET" : "POST",
      headers: headers(body),
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServerError(0, "The server cannot be reached.");
  }
  if (!response.ok) throw await errorOf(response);
  return response.json();
}

function withQuery(path, query) {
  const parameters = new URLSearchParams(query);
  return parameters.size > 0 ? `${path}?${parameters}` : path;
}

export const get = (path, query = {}, signal = undefined) => send(withQuery(path, query), undefined, signal);
export const post = (path, body, signal = undefined) => send(path, body, signal);

export const isOutdated = (error) => error.name === "AbortError";

/** Of requests that replace each other: the next one aborts the one before. */
export class Latest {
  #controller = new AbortController();

  next() {
    this.#controller.abort();
    this.#controller = new AbortController();
    return this.#controller.signal;
  }
}

const titles = new Map();

/** Keeps the titles of answers, which the page then need not ask for. */
export function learnTitles(entries) {
  for (const { item, title } of entries) titles.set(item, title ?? item);
}

/** What an item is called: its id where it has no title or the model does not know it. */
export const titleOf = (item) => titles.get(item) ?? item;

let batch = 100; // items of a request

/** Of the model's description; what a request may ask for. */
export function keepTo(limits) {
  batch = Math.min(batch, limits.batch);
}

/** Items in parts, each as many as a request may have. */
export function inParts(items) {
  return Array.from({ length: Math.ceil(items.length / batch) }, (_, part) => items.slice(part * batch, (part + 1) * batch));
}

/** Asks for those titles among `items` that no answer has told yet. */
export async function fetchTitles(items, signal) {
  const missing = [...new Set(items)].filter((item) => !titles.has(item));
  await Promise.all(inParts(missing).map(async (part) => {
    learnTitles((await post("v1/items", { items: part, unknown: "leave_out" }, signal)).items);
  }));
}
