// SPDX-License-Identifier: Apache-2.0
// What is wrong with the layout of a page: texts over each other, texts out of their boxes, and cells
// whose end cannot be reached.
() => {
  const wrong = [];
  const name = (node) => node.textContent.trim().slice(0, 60);
  const shown = (node) => node.checkVisibility() && node.textContent.trim();

  function overlap(one, other) {
    const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
    const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
    return wide > 1 && high > 3;
  }

  for (const chart of document.querySelectorAll("svg")) {
    if (!chart.checkVisibility()) continue;
    const frame = chart.getBoundingClientRect();
    const texts = [...chart.querySelectorAll("text")].map((node) => [node, node.getBoundingClientRect()]);
    texts.forEach(([node, box], at) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1) wrong.push(`outside of its chart: ${name(node)}`);
      if (box.height < 9) wrong.push(`too small to read: ${name(node)}`);
      for (const [other, place] of texts.slice(at + 1)) {
        if (overlap(box, place)) wrong.push(`one over the other: ${name(node)} | ${name(other)}`);
      }
    });
  }

  for (const section of document.querySelectorAll("section")) {
    const texts = [...section.querySelectorAll("h2, h3, h4, p, li, dt, dd, summary, pre")].filter(shown);
    const boxes = texts.map((node) => node.getBoundingClientRect());
    const frame = section.getBoundingClientRect();
    texts.forEach((node, at) => {
      if (boxes[at].right > frame.right + 1) wrong.push(`outside of its card: ${name(node)}`);
      texts.forEach((other, to) => {
        if (to > at && !node.contains(other) && overlap(boxes[at], boxes[to])) wrong.push(`one over the other: ${name(node)} | ${name(other)}`);
      });
    });
    // The last card of a row is as full as it is high.
    const last = [...section.children].at(-1).getBoundingClientRect();
    if (frame.height > 300 && frame.bottom - last.bottom > frame.height / 2) wrong.push(`half empty: ${name(section)}`);
  }

  for (const cell of document.querySelectorAll("th, td, .cut")) {
    const cut = cell.scrollWidth > cell.clientWidth + 1;
    if (cut && !cell.title) wrong.push(`cut without a title: ${name(cell)}`);
    const scrolls = cell.closest(".scroll");
    if (scrolls && cell.getBoundingClientRect().right - scrolls.getBoundingClientRect().left + scrolls.scrollLeft > scrolls.scrollWidth + 1)
      wrong.push(`out of reach: ${name(cell)}`);
  }
  for (const head of document.querySelectorAll("th")) {
    const words = document.createRange();
    words.selectNodeContents(head.firstElementChild ?? head);
    if (words.getClientRects().length > 1) wrong.push(`broken: ${name(head)}`);
  }
  return wrong;
}
