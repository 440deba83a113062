// SPDX-License-Identifier: Apache-2.0
// All that the page shows stands in its address, so that it can be shared and walked back. It is the
// part after #, which browsers do not send: what a visitor likes is in no log of addresses.
//
//   like=ID ...       titles taken; with value=V ... in the same order where they are rated
//   user=ID           a known user in their place; empty: nobody is named yet
//   item=ID           the neighbourhood of an item; via=ID ... the walk there
//   show=model        the model's figures
//   by=NAME           one of several models; absent: all of them side by side
//   n=N               length of a list

/** Lengths of a list: at first, and at most. */
export const lengths = { first: 10, most: 50 };

/** Where the server has a lower limit, no list is longer. */
export function keepLengthsTo({ n }) {
  lengths.first = Math.min(lengths.first, n);
  lengths.most = Math.min(lengths.most, n);
}

const kLongestWalk = 8; // steps that the address keeps; the browser keeps all

/** Each item once, as it comes first. */
function likesOf(query) {
  const values = query.getAll("value");
  const likes = query.getAll("like").map((item, place) => {
    const value = Number(values[place]);
    return values[place] !== undefined && Number.isFinite(value) ? { item, value } : { item };
  });
  return likes.filter(({ item }, place) => likes.findIndex((like) => like.item === item) === place);
}

function lengthOf(text) {
  const n = Number(text ?? lengths.first);
  return Number.isInteger(n) && n >= 1 && n <= lengths.most ? n : lengths.first;
}

export function readAddress(hash = location.hash) {
  const query = new URLSearchParams(hash.slice(1));
  return {
    likes: likesOf(query),
    user: query.get("user"),
    item: query.get("item"),
    via: query.getAll("via"),
    show: query.get("show") === "model" ? "model" : query.has("item") ? "near" : "lists",
    by: query.get("by"),
    n: lengthOf(query.get("n")),
  };
}

export function addressOf(state) {
  const query = new URLSearchParams();
  for (const { item } of state.likes) query.append("like", item);
  for (const { value } of state.likes) if (value !== undefined) query.append("value", value);
  if (state.user !== null) query.set("user", state.user);
  if (state.show === "near") {
    query.set("item", state.item);
    for (const item of state.via) query.append("via", item);
  }
  if (state.show === "model") query.set("show", "model");
  if (state.by !== null) query.set("by", state.by);
  if (state.n !== lengths.first) query.set("n", state.n);
  const text = query.toString();
  return text ? `#${text}` : location.pathname;
}

/** The address of the neighbourhood of `item`, walked to from what `state` shows. */
export function towards(state, item) {
  const via = state.show === "near" ? [...state.via, state.item].slice(-kLongestWalk) : [];
  return addressOf({ ...state, show: "near", item, via });
}
