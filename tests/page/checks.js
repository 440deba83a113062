// SPDX-License-Identifier: Apache-2.0
// The texts of the page whose contrast with what lies behind them is below 4.5, as "text: contrast".
() => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });

  function rgba(colour) {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = canvas.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  }

  function over([r, g, b, a], [R, G, B]) {
    return [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  }

  function behind(node) {
    if (!node) return rgba("white");
    const own = rgba(getComputedStyle(node).backgroundColor);
    return own[3] === 1 ? own : over(own, behind(node.parentElement));
  }

  // https://www.w3.org/TR/WCAG22/#dfn-relative-luminance
  function luminance(colour) {
    const [r, g, b] = colour.map((part) => part / 255).map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function contrast(node) {
    const style = getComputedStyle(node);
    const back = behind(node.closest("svg") ?? node);
    const ink = rgba(node instanceof SVGElement ? style.fill : style.color);
    const ground = node.classList.contains("number") ? rgba(getComputedStyle(node.previousSibling).fill) : back;
    const [light, dark] = [luminance(over(ink, ground)), luminance(ground)].sort((a, b) => b - a);
    return (light + 0.05) / (dark + 0.05);
  }

  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const node = walker.currentNode.parentElement;
    const text = walker.currentNode.textContent.trim();
    if (!text || !node.checkVisibility() || node.closest("title, .unseen, noscript")) continue;
    const value = contrast(node);
    if (value < 4.5) found.push(`${text}: ${value.toFixed(2)}`);
  }
  return found;
}
