// SPDX-License-Identifier: Apache-2.0
// Numbers and dates as people read them.

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });
const date = new Intl.DateTimeFormat("en", { dateStyle: "long", timeStyle: "short" });

export const count = (number) => whole.format(number);
export const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
export const figure = (number) => short.format(number);
export const percent = (share) => (share > 0 && share < 0.01 ? "<1 %" : `${Math.round(100 * share)} %`);

/** A point in time, given in seconds or as a text that says it. */
export function moment(when) {
  const read = new Date(typeof when === "number" ? 1000 * when : when);
  return Number.isNaN(read.getTime()) ? String(when) : date.format(read);
}
