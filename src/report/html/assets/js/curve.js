// The curve of a comparison: what each cell costs (across) against how long a change takes (up), with whiskers where the values lie.

const CURVE_PX = 400;
/** Nearer than this, the mouse means a point. */
const NEAR_PX = 48;
const LABEL_PX = 12;

const COSTS = [
  {
    key: "metadata_requests_per_second_per_1000_clients",
    name: "Metadata requests",
    unit: "Metadata requests per second per 1,000 clients, in the baseline (logarithmic)",
    format: perSecond,
    tick: (value) => number(value),
    isLog: true,
  },
  {
    key: "broker_cpu_percent",
    name: "broker CPU",
    unit: "CPU of a broker in the baseline, in percent of one core",
    format: percent,
    tick: percent,
    isLog: false,
  },
];

const TIMES = [
  { key: "seen_ms", name: "until a change is seen", color: "series-0", dash: [], hasSquares: false },
  { key: "outage_ms", name: "longest outage", color: "series-1", dash: [7, 3], hasSquares: true },
];

/** `data.curve`: a point per cell, each of whose figures is {median, low, high} or null. */
function curve(plot, data) {
  const points = data.curve ?? [];
  const isDrawn = (cost, time) => points.some((point) => isKnown(point[cost.key]) && isKnown(point[time.key]));
  const costs = COSTS.filter((cost) => TIMES.some((time) => isDrawn(cost, time)));
  const times = TIMES.filter((time) => costs.some((cost) => isDrawn(cost, time)));
  if (costs.length === 0) return "No cell has both a cost and a time, so there is no curve to draw.";
  const chart = new TradeOff(points, times);
  if (costs.length > 1)
    plot.append(
      choice(
        "What it costs",
        costs.map((cost) => `by ${cost.name}`),
        0,
        (at) => chart.show(costs[at]),
      ),
    );
  plot.append(chart.root);
  chart.show(costs[0]);
  onWidth(chart.box, (width) => chart.layOut(width));
  return null;
}

/** `12.6 s (9.00 s to 13.0 s)` */
function withRange(figure, format) {
  const range = isKnown(figure.low) && isKnown(figure.high) ? ` (${format(figure.low)} to ${format(figure.high)})` : "";
  return `${format(figure.median)}${range}`;
}

class TradeOff {
  constructor(points, times) {
    this.points = points;
    this.times = times;
    this.shown = times.map(() => true);
    this.cost = null;
    this.width = null;
    this.marks = [];
    this.at = null;
    this.unit = element("p", { class: "unit" });
    this.box = element("div", {
      class: "canvas",
      tabindex: 0,
      role: "application",
      "aria-roledescription": "chart",
      "aria-label": "Cost against time, a point per cell. Arrow keys go from point to point.",
    });
    this.below = element("p", { class: "unit below" });
    this.said = element("p", { class: "said" });
    this.missing = element("p", { class: "note" });
    const legend = element("div", { class: "legend" }, ...times.map((time, at) => this.legendButton(time, at)));
    const head = element("div", { class: "frame-head" }, this.unit);
    this.root = element("div", { class: "frame" }, head, legend, this.box, this.below, this.said, this.missing);
    for (const name of ["pointermove", "pointerdown"]) this.box.addEventListener(name, (event) => this.pointed(event));
    this.box.addEventListener("pointerleave", () => this.choose(null));
    this.box.addEventListener("blur", () => this.choose(null));
    this.box.addEventListener("keydown", (event) => this.pressed(event));
  }

  legendButton(time, at) {
    const node = button("", { class: "series", "aria-pressed": "true" }, () => {
      this.shown[at] = !this.shown[at];
      node.setAttribute("aria-pressed", String(this.shown[at]));
      this.draw();
    });
    node.append(swatch({ ...time, hasPoints: true }), element("span", { class: "name" }, time.name));
    return node;
  }

  show(cost) {
    this.cost = cost;
    this.below.textContent = `${cost.unit} →`;
    this.draw();
  }

  layOut(width) {
    this.width = width;
    this.draw();
  }

  draw() {
    if (this.width === null || this.cost === null) return;
    this.at = null;
    this.said.textContent = "";
    const left = gutter(this.width);
    const area = { left, right: this.width - RIGHT_PX, top: 14, bottom: CURVE_PX - 26 };
    const drawn = this.drawn();
    const ends = (figure) => [figure.median, figure.low, figure.high].filter(isKnown);
    const heights = drawn.flatMap(({ time }) => ends(time));
    const positive = heights.filter((value) => value > 0);
    const isLog = positive.length === heights.length && Math.max(...heights) > LOG_RATIO * Math.min(...heights);
    this.unit.textContent = `↑ time${isLog ? " (logarithmic)" : ""}; points are medians, whiskers where they lie with 99 % confidence`;
    const x = scaleOf(drawn.flatMap(({ cost }) => ends(cost)), this.cost.isLog, area.left, area.right);
    const y = scaleOf(heights, isLog, area.bottom, area.top);
    this.marks = drawn.map((one) => ({ ...one, x: x.at(one.cost.median), y: y.at(one.time.median) }));
    this.ring = svg("circle", { r: 9, class: "chosen", visibility: "hidden" });
    this.box.replaceChildren(
      svg(
        "svg",
        { class: "tradeoff", width: this.width, height: CURVE_PX, viewBox: `0 0 ${this.width} ${CURVE_PX}`, "aria-hidden": "true" },
        this.grid(x, y, area),
        ...this.times.map((series) => this.line(series)),
        ...this.marks.map((mark) => this.mark(mark, x, y)),
        this.labels(area),
        this.ring,
      ),
    );
    this.tellMissing();
  }

  /** What has a place: cells with both figures, of the series that are shown. */
  drawn() {
    const { cost } = this;
    const has = (point) => isKnown(point[cost.key]) && (!cost.isLog || point[cost.key].median > 0);
    return this.times.flatMap((series, at) =>
      this.shown[at]
        ? this.points
            .filter((point) => has(point) && isKnown(point[series.key]))
            .map((point) => ({ cell: point.cell, series, cost: point[cost.key], time: point[series.key] }))
            .sort((one, other) => one.cost.median - other.cost.median)
        : [],
    );
  }

  tellMissing() {
    const missing = this.points.flatMap((point) =>
      this.times
        .filter((series) => !this.marks.some((mark) => mark.cell === point.cell && mark.series === series))
        .filter((series) => this.shown[this.times.indexOf(series)])
        .map((series) => `${point.cell} (${series.name})`),
    );
    const why = this.cost.isLog ? "a figure is unknown, or 0 requests have no place on a logarithmic axis" : "a figure is unknown";
    this.missing.textContent = missing.length > 0 ? `Not drawn, since ${why}: ${missing.join(", ")}.` : "";
  }

  grid(x, y, area) {
    const { tick } = this.cost;
    const across = y.ticks.flatMap((value) => [
      svg("line", { x1: area.left, x2: area.right, y1: y.at(value), y2: y.at(value), class: "grid" }),
      svg("text", { x: area.left - 6, y: y.at(value) + 4, "text-anchor": "end", class: "tick-text" }, roundMilliseconds(value)),
    ]);
    let free = 0;
    const up = x.ticks.flatMap((value) => {
      const text = tick(value);
      const [at, half] = [x.at(value), widthOf(text) / 2];
      if (at - half < free) return [];
      free = at + half + 8;
      return [
        svg("line", { x1: at, x2: at, y1: area.top, y2: area.bottom, class: "grid" }),
        svg("text", { x: at, y: area.bottom + 17, "text-anchor": "middle", class: "tick-text" }, text),
      ];
    });
    return svg("g", {}, ...across, ...up);
  }

  line(series) {
    const places = this.marks.filter((mark) => mark.series === series).map((mark) => `${mark.x.toFixed(1)},${mark.y.toFixed(1)}`);
    return svg("polyline", {
      points: places.join(" "),
      class: `line ink-${series.color}`,
      "stroke-width": 1.5,
      "stroke-dasharray": series.dash.join(" ") || null,
    });
  }

  mark({ series, cost, time, x: atX, y: atY }, x, y) {
    const reach = (figure, scale, place) => {
      if (!isKnown(figure.low) || !isKnown(figure.high)) return [];
      const [from, to] = [scale.at(figure.low), scale.at(figure.high)];
      return place(from, to);
    };
    const upright = (from, to) => [
      svg("path", { d: `M${atX} ${from}V${to}M${atX - 4} ${from}H${atX + 4}M${atX - 4} ${to}H${atX + 4}`, class: "line reach" }),
    ];
    const flat = (from, to) => [
      svg("path", { d: `M${from} ${atY}H${to}M${from} ${atY - 3}V${atY + 3}M${to} ${atY - 3}V${atY + 3}`, class: "line reach" }),
    ];
    const shape = series.hasSquares
      ? svg("rect", { x: atX - 4.5, y: atY - 4.5, width: 9, height: 9, class: "area" })
      : svg("circle", { cx: atX, cy: atY, r: 5, class: "area" });
    return svg("g", { class: `ink-${series.color}` }, ...reach(time, y, upright), ...reach(cost, x, flat), shape);
  }

  /** Each point's cell beside it, where there is room: never over another label or point. */
  labels(area) {
    const taken = this.marks.map((mark) => ({ left: mark.x - 6, right: mark.x + 6, top: mark.y - 6, bottom: mark.y + 6 }));
    const texts = this.marks.flatMap((mark) => {
      const text = shorten(mark.cell, 24);
      const width = widthOf(text);
      const places = [-12, 12, -26, 26].flatMap((down) => [
        { left: mark.x + 9, top: mark.y + down - LABEL_PX / 2 },
        { left: mark.x - 9 - width, top: mark.y + down - LABEL_PX / 2 },
      ]);
      const box = places
        .map(({ left, top }) => ({ left, top, right: left + width, bottom: top + LABEL_PX }))
        .find((one) => isWithin(one, area) && !taken.some((other) => meets(one, other)));
      if (box === undefined) return [];
      taken.push(box);
      return [svg("text", { x: box.left, y: box.bottom - 2, class: "label" }, text)];
    });
    return svg("g", {}, ...texts);
  }

  pointed(event) {
    const frame = this.box.getBoundingClientRect();
    const [x, y] = [event.clientX - frame.left, event.clientY - frame.top];
    const away = this.marks.map((mark) => Math.hypot(mark.x - x, mark.y - y));
    const nearestAt = away.indexOf(Math.min(...away));
    this.choose(nearestAt >= 0 && away[nearestAt] <= NEAR_PX ? nearestAt : null);
  }

  pressed(event) {
    const stride = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (stride === undefined || this.marks.length === 0) return;
    event.preventDefault();
    this.choose(this.at === null ? 0 : Math.min(Math.max(this.at + stride, 0), this.marks.length - 1));
    announce(this.said.textContent);
  }

  choose(at) {
    if (at === this.at) return;
    this.at = at;
    const mark = at === null ? null : this.marks[at];
    this.said.textContent = mark === null ? "" : this.words(mark);
    fill(this.ring, mark === null ? { visibility: "hidden" } : { visibility: "visible", cx: mark.x, cy: mark.y }, []);
  }

  words({ cell, series, cost, time }) {
    return `${cell}: ${series.name} ${withRange(time, milliseconds)}, at ${this.cost.name} ${withRange(cost, this.cost.format)}`;
  }
}

const isWithin = (box, area) => box.left >= area.left && box.right <= area.right + RIGHT_PX && box.top >= 0 && box.bottom <= area.bottom;
const meets = (one, other) =>
  one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom;

/** How wide a text is in the font of labels. */
function widthOf(text) {
  if (widthOf.pen === undefined) widthOf.pen = element("canvas").getContext("2d");
  widthOf.pen.font = font(11.5);
  return widthOf.pen.measureText(text).width;
}
