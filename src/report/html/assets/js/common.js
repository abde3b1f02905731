"use strict";
// What every chart of every page shares: elements, figures in words, colours, and what is said to a screen reader.
// It knows no chart and no page.

// --- Elements. Text only ever goes in as text nodes, so that no name from a run can become markup. ---

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const element = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);

function button(label, attributes, onClick) {
  const made = element("button", { type: "button", ...attributes }, label);
  made.addEventListener("click", onClick);
  return made;
}

/** A table that scrolls in its own box. `rows` are lists of texts, the first of each is its heading. */
function table(caption, columns, rows) {
  const head = element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)));
  const body = rows.map((cells) =>
    element("tr", {}, ...cells.map((cell, at) => (at === 0 ? element("th", { scope: "row" }, cell) : element("td", {}, cell)))),
  );
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element("table", { class: "figures" }, element("caption", {}, caption), element("thead", {}, head), element("tbody", {}, ...body)),
  );
}

/** Rows of a table that only someone who opens it pays for. */
function tableOnDemand(summary, caption, columns, rows) {
  const details = element("details", { class: "more" }, element("summary", {}, summary));
  details.addEventListener("toggle", () => details.append(table(caption, columns, rows())), { once: true });
  return details;
}

/** One of several, as buttons; as a list where they would be too many. `onChoose` gets the index. */
function choice(label, names, chosen, onChoose) {
  if (names.length > 8) {
    const list = element("select", { "aria-label": label }, ...names.map((name, at) => element("option", { value: at }, name)));
    list.value = String(chosen);
    list.addEventListener("change", () => onChoose(Number(list.value)));
    return element("div", { class: "choice" }, list);
  }
  const buttons = names.map((name, at) =>
    button(name, { "aria-pressed": String(at === chosen) }, () => {
      buttons.forEach((other, index) => other.setAttribute("aria-pressed", String(index === at)));
      onChoose(at);
    }),
  );
  return element("div", { class: "choice", role: "group", "aria-label": label }, ...buttons);
}

/** The choice among steps; nothing where there is one alone. */
function choiceOfSteps(steps, chosen, onChoose) {
  if (steps.length <= 1) return [];
  const names = steps.map((step) => `${step.step} ${step.label}`);
  return [choice("Step", names, chosen, onChoose)];
}

/** A sentence in which names stand between backticks, or are partitions such as orders/0. */
const sentence = (text) => text.split("`").flatMap((part, at) => (at % 2 === 1 ? [element("code", {}, part)] : withPartitions(part)));

/** Text whose partitions are set as code. */
const withPartitions = (text) =>
  text.split(/(?<![\w./-])([\w.-]*[A-Za-z][\w.-]*\/\d+)(?![\w/-])/).map((part, at) => (at % 2 === 1 ? element("code", {}, part) : part));

/** What a bound refused is told. */
function noteLeftOut(plot, count, what) {
  if (count > 0) plot.append(element("p", { class: "note" }, `${number(count)} more ${what} are left out here.`));
}

/** In place of a chart: why there is none. */
const empty = (why) => element("p", { class: "empty" }, why);

// --- Figures in words, as the text report writes them. Unknown is a word, never a number. ---

const UNKNOWN = "unknown";
const isKnown = (value) => value !== null && value !== undefined && !Number.isNaN(value);

/** At most three digits that mean something, thousands apart: 82,913 and 9.04 and 0. */
function number(value) {
  if (!isKnown(value)) return UNKNOWN;
  const size = Math.abs(value);
  const places = size === 0 || size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const [whole, fraction] = value.toFixed(places).split(".");
  const grouped = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return fraction && Number(fraction) > 0 ? `${grouped}.${fraction.replace(/0+$/, "")}` : grouped;
}

/** Three digits, of which the last may be zero: 13.0, 9.04, 739. */
const threeDigits = (value) => (Math.abs(value) >= 100 || value === 0 ? String(Math.round(value)) : value.toPrecision(3));

function inTime(us, digits) {
  if (!isKnown(us)) return UNKNOWN;
  const size = Math.abs(us);
  if (size < 999.5) return `${Number(digits(us))} us`;
  if (size < 999.5e3) return `${digits(us / 1e3)} ms`;
  return size < 999.5e6 ? `${digits(us / 1e6)} s` : `${number(Math.round(us / 1e6))} s`;
}

const microseconds = (us) => inTime(us, threeDigits);
const milliseconds = (ms) =>
  ms === 0 ? "0 ms" : Number.isInteger(ms) && Math.abs(ms) < 1000 ? `${ms} ms` : microseconds(isKnown(ms) ? ms * 1e3 : null);
/** For axes, whose values are round: 10 s, not 10.0 s. */
const roundMicroseconds = (us) => inTime(us, (value) => String(Number(value.toPrecision(3))));
const roundMilliseconds = (ms) => (ms === 0 ? "0" : roundMicroseconds(ms * 1e3));
const percent = (value) => (isKnown(value) ? `${number(value)} %` : UNKNOWN);
const perSecond = (value) => (isKnown(value) ? `${number(value)}/s` : UNKNOWN);

function bytes(value) {
  if (!isKnown(value)) return UNKNOWN;
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  let left = value;
  while (Math.abs(left) >= 999.5 && at < units.length - 1) {
    left /= 1000;
    at += 1;
  }
  return `${Number(left.toPrecision(3))} ${units[at]}`;
}

/** A moment since the start of steady, to a tenth of a second. */
const moment = (ms) => `${(ms / 1000).toFixed(1)} s`;

/** The middle of a name that is too long gives way: its ends tell names apart. */
function shorten(name, longest) {
  if (name.length <= longest) return name;
  const head = Math.ceil((longest - 1) / 2);
  return `${name.slice(0, head)}…${name.slice(name.length - (longest - 1 - head))}`;
}

// --- Colours and patterns. The style sheet has the colours, so they follow light, dark and print. ---

const SERIES_COLORS = 8;
const colors = new Map();

/** The colour that the style sheet calls `--name`. */
function color(name) {
  if (!colors.has(name)) colors.set(name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim());
  return colors.get(name);
}

const seriesColor = (index) => `series-${index % SERIES_COLORS}`;

/** Line dashes in the order of series: what colour says, these say too. */
const DASHES = [[], [7, 3], [2, 3], [10, 3, 2, 3], [4, 4], [12, 4], [1, 4], [6, 2, 2, 2, 2, 2]];

/** An opaque tile of `colorName` with the hatching number `hatch`; 0 is plain. */
function pattern(context, colorName, hatch) {
  const base = color(colorName);
  if (hatch % 6 === 0) return base;
  const size = 8 * devicePixelRatio;
  const tile = element("canvas", { width: size, height: size });
  const pen = tile.getContext("2d");
  pen.fillStyle = base;
  pen.fillRect(0, 0, size, size);
  pen.strokeStyle = color("surface");
  pen.lineWidth = 1.5 * devicePixelRatio;
  pen.beginPath();
  for (const [fromX, fromY, toX, toY] of HATCHES[hatch % 6]) {
    pen.moveTo(fromX * size, fromY * size);
    pen.lineTo(toX * size, toY * size);
  }
  pen.stroke();
  return context.createPattern(tile, "repeat");
}

const HATCHES = [
  [],
  [
    [-0.5, 0.5, 0.5, -0.5],
    [0, 1, 1, 0],
    [0.5, 1.5, 1.5, 0.5],
  ],
  [[0, 0.5, 1, 0.5]],
  [
    [-0.5, 0.5, 0.5, 1.5],
    [0, 0, 1, 1],
    [0.5, -0.5, 1.5, 0.5],
  ],
  [[0.5, 0, 0.5, 1]],
  [
    [-0.5, 0.5, 0.5, -0.5],
    [0, 1, 1, 0],
    [0.5, 1.5, 1.5, 0.5],
    [-0.5, 0.5, 0.5, 1.5],
    [0, 0, 1, 1],
    [0.5, -0.5, 1.5, 0.5],
  ],
];

// --- Redrawing: charts that hold pixels draw them again when the page's colours change. ---

const redraws = new Set();

function recolor() {
  colors.clear();
  redraws.forEach((redraw) => redraw());
}

/** Calls `resize(width)` with the width of `node` now and whenever it changes; returns what ends that. Without a width, as long as
 *  something around it is closed, nothing is called. */
function onWidth(node, resize) {
  let last = 0;
  const observe = (forced) => {
    const width = forced ?? Math.floor(node.clientWidth);
    if (width > 0 && width !== last) {
      last = width;
      resize(width);
    }
  };
  const observer = new ResizeObserver(() => observe(null));
  observer.observe(node);
  resizes.add(observe);
  observe(null);
  return () => {
    observer.disconnect();
    resizes.delete(observe);
  };
}

/** For print, which waits for no observer: each takes a width, or null for its own. */
const resizes = new Set();

// --- What a screen reader is told when the keyboard moves a cursor. ---

let live = null;

function announce(text) {
  if (live === null) {
    live = element("div", { class: "for-readers", role: "status", "aria-live": "polite" });
    document.body.append(live);
  }
  live.textContent = text;
}
