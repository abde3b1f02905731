// A chart of lines in its frame: a heading with the unit, a legend of buttons that hide series, the canvas. It wraps uPlot, and knows
// neither time nor zoom (js/time.js adds them) nor what the lines mean.

/** Space for the figures of the y axis: the same in all charts, so that their x axes stand above each other. */
const GUTTER_PX = 64;
const GUTTER_NARROW_PX = 50;
const NARROW_PX = 520;
const RIGHT_PX = 18;

const gutter = (width) => (width < NARROW_PX ? GUTTER_NARROW_PX : GUTTER_PX);
const font = (size = 11) => `${size}px system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif`;

/** From zero to a little above the greatest value; 0 to 1 where there is none. */
const fromZero = (u, low, high) => (high > 0 ? [0, high * 1.08] : [0, 1]);

/** Whole powers of ten around the values. */
function wholePowers(u, low, high) {
  if (!isKnown(low) || !isKnown(high) || high <= 0) return [1, 10];
  const from = 10 ** Math.floor(Math.log10(Math.max(low, 1)));
  const to = 10 ** Math.ceil(Math.log10(Math.max(high, 10)));
  return [from, to > from ? to : from * 10];
}

/** Lines at powers of ten; over at most two of them, at 2 and 5 times these too. */
const LOG_AXIS = {
  splits: (u, axis, low, high) => {
    const factors = high / low > 150 ? [1] : [1, 2, 5];
    const lines = [];
    for (let power = 10 ** Math.floor(Math.log10(low)); power <= high * 1.001; power *= 10)
      lines.push(...factors.map((factor) => factor * power));
    return lines.filter((line) => line >= low * 0.999 && line <= high * 1.001);
  },
  filter: (u, splits) => splits,
};

/** All that are on the page. */
const frames = new Set();

/** `options`: {label, unit, height, x: {values, scale, axis}, y: {format, tick (for the axis), isLog}, series: [{name, values,
 *  drawn (if other than values), color, dash, width, isFilled,
 *  hatch, isShown, hasPoints (at every value), dots (indices of values with one), isStepped, format}], padding, hooks, cursor, isStacked, onRetire}.
 *  A series without values cannot be; null in values is a gap. */
class Frame {
  constructor(parent, options) {
    this.options = options;
    this.series = options.series;
    this.shown = this.series.map((series) => series.isShown !== false);
    this.legend = element("div", { class: "legend" });
    this.canvas = element("div", { class: "canvas" });
    this.tools = element("div", { class: "tools" });
    const heading = element("p", { class: "unit" }, options.unit);
    this.root = element("div", { class: "frame" }, element("div", { class: "frame-head" }, heading, this.tools), this.canvas);
    if (this.series.length > 0) this.root.insertBefore(this.legend, this.canvas);
    parent.append(this.root);
    this.buttons = this.series.map((series, at) => this.legendButton(series, at));
    this.legend.append(...this.buttons.map((made) => made.node));
    this.u = null;
    this.redraw = () => {
      if (this.u !== null) this.u.redraw(false, true);
    };
    redraws.add(this.redraw);
    frames.add(this);
    this.unwatch = onWidth(this.canvas, (width) => this.resize(width));
  }

  /** Forgets what the page holds of it; its elements go with their box. */
  retire() {
    this.unwatch();
    redraws.delete(this.redraw);
    frames.delete(this);
    if (this.u !== null) this.u.destroy();
    if (this.options.onRetire) this.options.onRetire();
  }

  resize(width) {
    if (this.u === null) this.u = this.build(width);
    else this.u.setSize({ width, height: this.options.height });
  }

  build(width) {
    const { options } = this;
    const axisInk = () => color("ink-soft");
    const grid = { stroke: () => color("grid"), width: 1 };
    const ticks = { stroke: () => color("grid"), width: 1, size: 4 };
    return new uPlot(
      {
        width,
        height: options.height,
        padding: [options.padding ?? 10, options.right ?? RIGHT_PX, 0, 0],
        legend: { show: false },
        focus: { alpha: 1 },
        cursor: { y: false, points: { size: 7, width: 2, fill: (u, at) => color(this.series[at - 1].color) }, ...options.cursor },
        scales: { x: { time: false, ...options.x.scale }, y: this.yScale() },
        axes: [
          { font: font(), stroke: axisInk, grid: { show: false }, ticks, size: 30, gap: 3, ...options.x.axis },
          {
            font: font(),
            stroke: axisInk,
            grid,
            ticks: { ...ticks, show: false },
            gap: 6,
            size: (u) => gutter(u.width),
            space: 34,
            values: (u, splits) => splits.map((value) => (options.y.tick ?? options.y.format)(value)),
            ...(options.y.isLog ? LOG_AXIS : {}),
            ...options.y.axis,
          },
        ],
        series: [{}, ...this.series.map((series, at) => this.lineOf(series, at))],
        hooks: options.hooks ?? {},
      },
      [options.x.values, ...this.series.map((series) => series.drawn ?? series.values)],
      this.canvas,
    );
  }

  yScale() {
    const { y } = this.options;
    return y.isLog ? { distr: 3, range: wholePowers, ...y.scale } : { range: fromZero, ...y.scale };
  }

  lineOf(series, at) {
    const stroke = () => color(series.color);
    return {
      label: series.name,
      show: this.shown[at],
      stroke,
      width: series.width ?? 1.75,
      dash: series.dash,
      spanGaps: series.spansGaps === true,
      fill: series.isFilled
        ? (u) => (series.hatch === undefined ? color(`${series.color}-soft`) : pattern(u.ctx, series.color, series.hatch))
        : undefined,
      paths: series.isStepped ? uPlot.paths.stepped({ align: 1 }) : uPlot.paths.linear(),
      // A value between two gaps has no line: without its point it would be unseen.
      points: {
        show: series.hasPoints === true || series.dots !== undefined ? true : undefined,
        size: 5,
        stroke,
        fill: stroke,
        filter: series.hasPoints ? undefined : (u, index) => series.dots ?? loneValues(u, index),
      },
    };
  }

  legendButton(series, at) {
    const value = element("span", { class: "value" });
    const node = button("", { "aria-pressed": String(this.shown[at]), class: "series" }, () => this.toggle(at));
    node.append(swatch(series), element("span", { class: "name" }, series.name), value);
    return { node, value };
  }

  toggle(at) {
    this.shown[at] = !this.shown[at];
    this.buttons[at].node.setAttribute("aria-pressed", String(this.shown[at]));
    this.u.setSeries(at + 1, { show: this.shown[at] });
    if (this.options.isStacked) this.restack();
  }

  /** Areas stand on those below them that are shown; the last series is at the bottom. */
  restack() {
    let below = this.series[0].values.map(() => 0);
    const data = [this.options.x.values];
    for (let at = this.series.length - 1; at >= 0; at -= 1) {
      const { values } = this.series[at];
      if (this.shown[at]) below = below.map((sum, index) => (isKnown(sum) && isKnown(values[index]) ? sum + values[index] : null));
      data[at + 1] = withoutRests(below);
    }
    const { min, max } = this.u.scales.x;
    this.u.setData(data, false);
    this.u.setScale("x", { min, max });
  }

  /** The values at one place beside the names; null takes them away. */
  showValues(index) {
    this.buttons.forEach(({ value }, at) => {
      const text = index === null ? "" : this.valueAt(at, index);
      if (value.textContent !== text) value.textContent = text;
    });
  }

  valueAt(at, index) {
    const series = this.series[at];
    return (series.format ?? this.options.y.format)(series.values[index]);
  }

  /** What is shown at `index`, in words. */
  wordsAt(index) {
    return this.series
      .map((series, at) => (this.shown[at] ? `${series.name} ${this.valueAt(at, index)}` : null))
      .filter(Boolean)
      .join(", ");
  }
}

/** Indices of values without a neighbour: uPlot draws lines only between two. */
function loneValues(u, at) {
  const values = u.data[at];
  const lone = [];
  for (let index = 0; index < values.length; index += 1) {
    if (isKnown(values[index]) && !isKnown(values[index - 1]) && !isKnown(values[index + 1])) lone.push(index);
  }
  return lone;
}

/** The sample of a line in a legend, with its dash or hatching. */
function swatch(series) {
  const art = svg("svg", {
    width: 26,
    height: 12,
    viewBox: "0 0 26 12",
    "aria-hidden": "true",
    focusable: "false",
    class: `ink-${series.color}`,
  });
  if (series.hatch !== undefined) {
    art.append(svg("rect", { x: 6, y: 0.5, width: 14, height: 11, rx: 2, class: "area" }));
    const clip = HATCHES[series.hatch % 6].map(([fromX, fromY, toX, toY]) =>
      [0, 1]
        .flatMap((column) =>
          [0, 1].map((row) => `M${6 + (column + fromX) * 7} ${(row + fromY) * 6}L${6 + (column + toX) * 7} ${(row + toY) * 6}`),
        )
        .join(""),
    );
    if (clip.length > 0)
      art.append(
        svg("svg", { x: 6, y: 0, width: 14, height: 12, viewBox: "6 0 14 12" }, svg("path", { d: clip.join(""), class: "hatch" })),
      );
    return art;
  }
  if (series.isFilled) art.append(svg("rect", { x: 0, y: 6, width: 26, height: 6, class: "area-soft" }));
  art.append(
    svg("line", {
      x1: 0,
      x2: 26,
      y1: 6,
      y2: 6,
      class: "line",
      "stroke-width": series.width ?? 1.75,
      "stroke-dasharray": (series.dash ?? []).join(" ") || null,
    }),
  );
  if (series.hasSquares) art.append(svg("rect", { x: 10, y: 3, width: 6, height: 6, class: "area" }));
  else if (series.hasPoints) art.append(svg("circle", { cx: 13, cy: 6, r: 3, class: "area" }));
  return art;
}

/** Draws nothing where a count stays zero: a red line along the axis would say that something failed. */
function withoutRests(values) {
  return values.map((value, at) => (value === 0 && !(values[at - 1] > 0) && !(values[at + 1] > 0) ? null : value));
}

// --- Choosing what a figure shows. ---

/** Buttons to choose groups, where there are several, above what `draw(groups)` appends to the box it is given. */
function perGroup(plot, groups, withAll, draw) {
  if (groups.length < 2) {
    draw(plot, groups);
    return;
  }
  const lists = withAll ? [groups, ...groups.map((group) => [group])] : groups.map((group) => [group]);
  const names = withAll ? ["all groups", ...groups.map((group) => group.name)] : groups.map((group) => group.name);
  const box = element("div");
  plot.append(
    choice("Group", names, 0, (at) => {
      retire(box);
      draw(box, lists[at]);
    }),
    box,
  );
  draw(box, lists[0]);
}

/** Empties a box, and forgets the charts that were in it. */
function retire(box) {
  frames.forEach((frame) => {
    if (box.contains(frame.canvas)) frame.retire();
  });
  box.replaceChildren();
}
