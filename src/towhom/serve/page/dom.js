// Elements, made without ever taking a text for markup.

const SVG = "http://www.w3.org/2000/svg";

export const byId = (id) => document.getElementById(id);

function put(node, properties, children) {
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) node.removeAttribute(name);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== ""));
  return node;
}

/** An HTML element with attributes; children are elements, or texts that become text nodes. */
export const make = (tag, attributes = {}, ...children) =>
  put(document.createElement(tag), attributes, children);

/** The same for SVG. */
export const draw = (tag, attributes = {}, ...children) =>
  put(document.createElementNS(SVG, tag), attributes, children);

/** Set attributes; null takes one away. */
export const set = (node, attributes) => put(node, attributes, []);

/** "1 message", "3 messages". */
export const count = (number, noun, many = `${noun}s`) =>
  `${number.toLocaleString()} ${number === 1 ? noun : many}`;
