// Charts over time: one view (zoom) and one cursor for all of them, phases and steps behind them, and the keyboard.
// All times are milliseconds since the start of steady; uPlot's x axis is in seconds.

/** What all charts over time show; null until `Time.begin`. */
const Time = {
  full: null,
  view: null,
  phases: [],
  steps: [],
  shortest: 1000,
  charts: new Set(),

  begin(data) {
    this.full = { from: data.from_ms, to: Math.max(data.to_ms, data.from_ms + 1) };
    this.view = { ...this.full };
    this.phases = data.phases ?? [];
    // The parts of a step stand for it.
    this.steps = (data.steps ?? []).filter((step) => !step.has_parts && isKnown(step.requested_ms));
    this.shortest = Math.min(2 * (data.timeline?.bucket_ms ?? 1000), this.full.to - this.full.from);
  },

  isZoomed() {
    return this.view.from > this.full.from || this.view.to < this.full.to;
  },

  /** Shows [from, to] everywhere, moved and widened to what there is. */
  show(from, to) {
    const length = Math.min(Math.max(to - from, this.shortest), this.full.to - this.full.from);
    const middle = (from + to) / 2;
    const start = Math.min(Math.max(middle - length / 2, this.full.from), this.full.to - length);
    this.view = { from: start, to: start + length };
    this.charts.forEach((chart) => chart.follow());
  },

  reset() {
    this.show(this.full.from, this.full.to);
  },

  /** Around `at`, by `factor`: less than 1 shows less. */
  zoom(factor, at) {
    const length = (this.view.to - this.view.from) * factor;
    const share = (at - this.view.from) / (this.view.to - this.view.from);
    this.show(at - length * share, at + length * (1 - share));
  },

  /** Moves the cursor of all charts but `source`, which has it already; null takes it away. */
  point(at, source) {
    this.charts.forEach((chart) => {
      if (chart !== source && chart.isNear) chart.pointAt(at);
    });
  },

  /** Which phase and step a moment belongs to, in words. */
  place(at) {
    const phase = this.phases.find((one) => at >= one.from_ms && at < one.to_ms);
    const step = this.steps.filter((one) => one.requested_ms <= at).pop();
    const after = step ? `${moment(at - step.requested_ms)} after step ${step.step}, ${step.label}` : null;
    return [moment(at), phase && !(after && phase.name === "steps") ? phase.name : null, after].filter(Boolean).join(" · ");
  },
};

/** Space above a chart for the names of phases and steps. */
const STRIP_PX = 30;

/** Ticks of the x axis: seconds up to two minutes, else minutes and seconds. */
function timeTicks(u, splits) {
  const isLong = Time.view.to - Time.view.from > 240000;
  return splits.map((seconds) => {
    if (!isLong) return `${number(seconds)} s`;
    const size = Math.abs(Math.round(seconds));
    return `${seconds < 0 ? "-" : ""}${Math.floor(size / 60)}:${String(size % 60).padStart(2, "0")}`;
  });
}

const TIME_STEPS = [0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400];

/** A `Frame` over time. Beside a frame's options: `times` (ms, of each value), `isPlain` (no names of phases and steps above),
 *  `draw(u)` (over the lines), `onPoint(index, at, u)` and `wordsAt(index)` for charts that are not of lines. */
class TimeChart {
  constructor(parent, options) {
    this.options = options;
    this.times = options.times;
    this.index = null;
    this.isNear = true;
    const isPlain = options.isPlain === true;
    this.frame = new Frame(parent, {
      ...options,
      padding: isPlain ? 10 : STRIP_PX,
      onRetire: () => {
        this.watcher.disconnect();
        Time.charts.delete(this);
      },
      x: {
        values: this.times.map((time) => time / 1000),
        scale: { range: () => [Time.view.from / 1000, Time.view.to / 1000] },
        axis: { values: timeTicks, incrs: TIME_STEPS, space: 64 },
      },
      cursor: {
        drag: { setScale: false, x: true, y: false, dist: 6 },
        bind: {
          dblclick: () => () => {
            Time.reset();
            return null;
          },
        },
        dataIdx: (u, series, closest, at) => (series === 0 ? closest : this.indexAt(at * 1000)),
        ...options.cursor,
      },
      hooks: {
        drawClear: [(u) => drawBands(u)],
        draw: [
          (u) => {
            drawSteps(u, isPlain);
            if (options.draw) options.draw(u);
          },
        ],
        setCursor: [(u) => this.moved(u)],
        setSelect: [(u) => this.selected(u)],
        ready: [() => this.mark()],
      },
    });
    this.canvas = this.frame.canvas;
    this.frame.root.classList.toggle("plain", isPlain);
    this.addTools();
    this.addKeyboard();
    Time.charts.add(this);
    this.watcher = new IntersectionObserver(
      (entries) => {
        this.isNear = entries[entries.length - 1].isIntersecting;
      },
      { rootMargin: "200px" },
    );
    this.watcher.observe(this.canvas);
  }

  get u() {
    return this.frame.u;
  }

  /** The view has changed. */
  follow() {
    if (this.u === null) return;
    this.u.setScale("x", { min: Time.view.from / 1000, max: Time.view.to / 1000 });
    this.mark();
  }

  /** What is shown, for the style sheet and for whoever looks at the page from outside. */
  mark() {
    this.canvas.dataset.fromMs = Math.round(Time.view.from);
    this.canvas.dataset.toMs = Math.round(Time.view.to);
    this.frame.root.classList.toggle("zoomed", Time.isZoomed());
  }

  selected(u) {
    const { left, width } = u.select;
    if (width <= 0) return;
    u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
    Time.show(u.posToVal(left, "x") * 1000, u.posToVal(left + width, "x") * 1000);
  }

  /** uPlot says that the pointer has moved or left. */
  moved(u) {
    const { left } = u.cursor;
    const at = left >= 0 ? u.posToVal(left, "x") * 1000 : null;
    if (at !== null) this.index = this.indexAt(at);
    this.tell(at === null ? null : this.index, at);
    Time.point(at, this);
  }

  /** Of steps the one that holds at that time, of points the nearest. */
  indexAt(at) {
    const { times } = this;
    let [low, high] = [0, times.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (times[middle] <= at) low = middle;
      else high = middle - 1;
    }
    const isStep = this.options.series.some((series) => series.isStepped);
    return !isStep && low + 1 < times.length && times[low + 1] - at < at - times[low] ? low + 1 : low;
  }

  /** Another chart's pointer has moved. */
  pointAt(at) {
    if (this.u === null) return;
    // Edges of a view are no round numbers.
    const isOff = at === null || at < Time.view.from - 1 || at > Time.view.to + 1;
    this.u.setCursor({ left: isOff ? -10 : this.u.valToPos(at / 1000, "x"), top: isOff ? -10 : 0 }, false);
    this.tell(isOff ? null : this.indexAt(at), isOff ? null : at);
  }

  tell(index, at) {
    this.frame.showValues(index);
    this.place.textContent = at === null ? "" : Time.place(at);
    if (this.options.onPoint) this.options.onPoint(index, at, this.u);
  }

  addTools() {
    this.place = element("span", { class: "place" });
    const around = () => (this.index === null ? (Time.view.from + Time.view.to) / 2 : this.clamped(this.times[this.index]));
    this.around = around;
    this.frame.tools.append(
      this.place,
      button("−", { class: "tool zooming", "aria-label": "Zoom out" }, () => Time.zoom(2, around())),
      button("+", { class: "tool zooming", "aria-label": "Zoom in" }, () => Time.zoom(0.5, around())),
      button("Reset zoom", { class: "tool reset" }, () => Time.reset()),
    );
  }

  clamped(at) {
    return Math.min(Math.max(at, Time.view.from), Time.view.to);
  }

  addKeyboard() {
    fill(
      this.canvas,
      {
        tabindex: 0,
        role: "application",
        "aria-roledescription": "chart",
        "aria-label": `${this.options.label}. Arrow keys move the cursor, with shift by ten; plus and minus zoom, escape shows all.`,
      },
      [],
    );
    this.canvas.addEventListener("keydown", (event) => {
      if (event.ctrlKey || event.altKey || event.metaKey || this.u === null) return;
      if (this.key(event.key, event.shiftKey ? 10 : 1)) event.preventDefault();
    });
    this.canvas.addEventListener("blur", () => {
      this.pointAt(null);
      Time.point(null, this);
    });
  }

  key(key, stride) {
    const last = this.times.length - 1;
    switch (key) {
      case "ArrowLeft":
        return this.goTo((this.index ?? this.firstShown()) - stride);
      case "ArrowRight":
        return this.goTo(this.index === null ? this.firstShown() : this.index + stride);
      case "Home":
        return this.goTo(0);
      case "End":
        return this.goTo(last);
      case "+":
      case "=":
        Time.zoom(0.5, this.around());
        return this.goTo(this.index);
      case "-":
      case "_":
        Time.zoom(2, this.around());
        return this.goTo(this.index);
      case "Escape":
        Time.reset();
        return true;
      default:
        return this.options.onKey ? this.options.onKey(key, this) : false;
    }
  }

  firstShown() {
    const at = this.times.findIndex((time) => time >= Time.view.from);
    return Math.max(at, 0);
  }

  /** Puts the cursor on one value, brings it into view, and says what is there. */
  goTo(index) {
    if (index === null) return true;
    this.index = Math.min(Math.max(index, 0), this.times.length - 1);
    const at = this.times[this.index];
    const { from, to } = Time.view;
    if (at < from || at > to) Time.show(at - (to - from) / 2, at + (to - from) / 2);
    this.pointAt(at);
    Time.point(at, this);
    const words = this.options.wordsAt ? this.options.wordsAt(this.index, at) : this.frame.wordsAt(this.index);
    announce(`${Time.place(at)}: ${words}`);
    return true;
  }
}

// --- Phases and steps, drawn behind and above the lines. ---

/** Left and right of [from, to] on the canvas, or null where it is out of view. */
function span(u, from, to) {
  const { left, width } = u.bbox;
  const start = Math.max(u.valToPos(from / 1000, "x", true), left);
  const end = Math.min(u.valToPos(to / 1000, "x", true), left + width);
  return end > start ? [start, end] : null;
}

/** What only waits does nothing: it has no band of its own, and its name gives way to others. */
const isWait = (step) => step.label.startsWith("wait");

/** Phases without steps are shaded: what happens there is no step's doing. Steps are, from their request until they were seen. */
function drawBands(u) {
  const { ctx } = u;
  const { top, height } = u.bbox;
  const band = (colorName, from, to) => {
    const place = span(u, from, to);
    if (place === null) return;
    ctx.fillStyle = color(colorName);
    ctx.fillRect(place[0], top, place[1] - place[0], height);
  };
  ctx.save();
  for (const phase of Time.phases) {
    if (phase.name !== "steady" && phase.name !== "steps") band("phase", phase.from_ms, phase.to_ms);
  }
  for (const step of Time.steps) {
    if (!isWait(step)) band("step-soft", step.requested_ms, step.observed_ms ?? step.acknowledged_ms ?? step.requested_ms);
  }
  ctx.restore();
}

/** A line at each step, which goes up to its name where there is room for one. */
function drawSteps(u, isPlain) {
  const { ctx } = u;
  const { left, top, width, height } = u.bbox;
  const scale = uPlot.pxRatio;
  const marks = Time.steps
    .map((step) => [Math.round(u.valToPos(step.requested_ms / 1000, "x", true)), step])
    .filter(([x]) => x >= left - 1 && x <= left + width + 1);
  ctx.save();
  const named = isPlain ? new Set() : drawStepNames(u, marks);
  if (!isPlain) drawPhaseNames(u);
  ctx.strokeStyle = color("step");
  ctx.lineWidth = scale;
  for (const isDotted of [false, true]) {
    ctx.setLineDash(isDotted ? [2 * scale, 3 * scale] : []);
    ctx.beginPath();
    for (const [x, step] of marks) {
      if (isWait(step) !== isDotted) continue;
      ctx.moveTo(x + 0.5, named.has(step) ? top - 13 * scale : top);
      ctx.lineTo(x + 0.5, top + height);
    }
    ctx.stroke();
  }
  ctx.restore();
}

/** A step's name where there is room, else its number, else nothing. Returns the steps that are named. */
function drawStepNames(u, marks) {
  const { ctx } = u;
  const scale = uPlot.pxRatio;
  const right = u.bbox.left + u.bbox.width + RIGHT_PX * scale;
  ctx.font = font(10.5 * scale);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillStyle = color("step-ink");
  const named = new Set();
  const taken = [];
  for (const list of [marks.filter(([, step]) => !isWait(step)), marks.filter(([, step]) => isWait(step))]) {
    list.forEach(([x, step], at) => {
      const start = x + 4 * scale;
      const next = Math.min(at + 1 < list.length ? list[at + 1][0] : right, ...taken.map(([from]) => from).filter((from) => from > x));
      const name = [`${step.step} ${step.label}`, String(step.step)].find(
        (text) => start + ctx.measureText(text).width + 5 * scale <= next,
      );
      if (name === undefined || taken.some(([from, to]) => start >= from && start < to)) return;
      ctx.fillText(name, start, u.bbox.top - 8 * scale);
      taken.push([x, start + ctx.measureText(name).width + 4 * scale]);
      named.add(step);
    });
  }
  return named;
}

function drawPhaseNames(u) {
  const { ctx } = u;
  const scale = uPlot.pxRatio;
  ctx.font = font(10.5 * scale);
  ctx.textBaseline = "middle";
  ctx.textAlign = "left";
  ctx.fillStyle = color("ink-soft");
  for (const phase of Time.phases) {
    const place = span(u, phase.from_ms, phase.to_ms);
    if (place === null || ctx.measureText(phase.name).width + 6 * scale > place[1] - place[0]) continue;
    ctx.fillText(phase.name, place[0] + 2 * scale, u.bbox.top - 22 * scale);
  }
}
