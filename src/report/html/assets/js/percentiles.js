// The percentile curve: latency against percentile on an axis of nines, where each step to the right is ten times rarer.

const PERCENTILES_PX = 300;
/** Nobody has seen more nines than this many. */
const NINES_MAX = 9;

/** 0 at 0 %, 1 at 90 %, 2 at 99 % and so on. */
const nines = (percentile) => -Math.log10(1 - percentile / 100);

/** The greatest of `count` values stands where one in `count` does. */
function placeOf(percentile, count) {
  return Math.min(percentile >= 100 ? Math.max(Math.log10(Math.max(count, 1)), 1) : nines(percentile), NINES_MAX);
}

function nameOfNines(at) {
  if (at === 0) return "0 %";
  return at === 1 ? "90 %" : at === 2 ? "99 %" : `99.${"9".repeat(at - 2)} %`;
}

/** Curves: [{name, color, dash, count, points: [[percentile, us]], isShown}]; `label` and `unit` come with `options`, and `maximumAt` where
 *  no curve has a count: the place on the axis at which the greatest stand. */
function percentileChart(parent, curves, options) {
  const tables = curves.map((curve) => {
    const places = new Map();
    curve.points.forEach(([percentile, us]) =>
      places.set(options.maximumAt && percentile >= 100 ? options.maximumAt : placeOf(percentile, curve.count), us),
    );
    return [[...places.keys()], [...places.values()]];
  });
  const [places, ...values] = uPlot.join(
    tables,
    tables.map(() => [0, 0]),
  );
  const inWords = (at) => (at === options.maximumAt ? "the longest" : percentileInWords(at));
  const furthest = Math.max(1, Math.ceil(places[places.length - 1]));
  const frame = new Frame(parent, {
    label: options.label,
    unit: options.unit,
    height: PERCENTILES_PX,
    right: 30,
    y: { format: microseconds, tick: roundMicroseconds, isLog: true },
    x: {
      values: places,
      scale: { range: () => [0, furthest] },
      axis: {
        splits: () => Array.from({ length: furthest + 1 }, (_, at) => at),
        values: (u, splits) => splits.map((at) => (at === options.maximumAt ? "longest" : nameOfNines(at))),
        grid: { show: true, stroke: () => color("grid"), width: 1 },
        space: 40,
      },
    },
    cursor: { drag: { x: false, y: false }, dataIdx: (u, at, index) => (at === 0 ? index : nearest(values[at - 1], index)) },
    series: curves.map((curve, at) => ({ ...curve, values: values[at], spansGaps: true })),
    hooks: { setCursor: [(u) => showPercentile(frame, place, u, inWords)] },
  });
  const place = element("span", { class: "place" });
  frame.tools.append(place);
  percentileKeys(frame, options.label, inWords);
  return frame;
}

/** The nearest index at which there is a value. */
function nearest(values, index) {
  if (!isKnown(index)) return index;
  for (let away = 0; away < values.length; away += 1) {
    if (isKnown(values[index - away])) return index - away;
    if (isKnown(values[index + away])) return index + away;
  }
  return null;
}

function showPercentile(frame, place, u, inWords) {
  const { left, idx, idxs } = u.cursor;
  const isOff = left < 0 || !isKnown(idx);
  place.textContent = isOff ? "" : inWords(u.data[0][idx]);
  frame.buttons.forEach(({ value }, at) => {
    const index = isOff ? null : idxs[at + 1];
    value.textContent = isKnown(index) ? microseconds(frame.series[at].values[index]) : "";
  });
}

function percentileInWords(at) {
  const rarer = 10 ** at;
  if (at < 1) return `${number(100 * (1 - 1 / rarer))} %`;
  const share = (100 * (1 - 1 / rarer)).toFixed(Math.max(1, Math.ceil(at) - 1)).replace(/\.?0+$/, "");
  return `${share} %, one in ${number(Math.round(rarer))} took longer`;
}

function percentileKeys(frame, label, inWords) {
  fill(
    frame.canvas,
    { tabindex: 0, role: "application", "aria-roledescription": "chart", "aria-label": `${label}. Arrow keys move the cursor.` },
    [],
  );
  let index = -1;
  frame.canvas.addEventListener("keydown", (event) => {
    const stride = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (stride === undefined || frame.u === null) return;
    event.preventDefault();
    index = Math.min(Math.max(index + stride, 0), frame.u.data[0].length - 1);
    const at = frame.u.data[0][index];
    frame.u.setCursor({ left: frame.u.valToPos(at, "x"), top: 0 });
    const words = frame.series
      .map((series, one) => (frame.shown[one] ? `${series.name} ${microseconds(series.values[nearest(series.values, index)])}` : null))
      .filter(Boolean);
    announce(`${inWords(at)}: ${words.join(", ")}`);
  });
}

// --- The figure. ---

const WINDOWS = { baseline: "baseline", after: "after" };

function percentiles(plot, data) {
  const curves = (data.percentiles ?? []).filter((curve) => curve.points.length > 0);
  if (curves.length === 0) return "No record was acknowledged, so there are no percentiles to show.";
  const groups = [...new Set(curves.map((curve) => curve.group))].map((name) => ({ name }));
  perGroup(plot, groups, false, (box, [group]) => {
    const own = curves.filter((curve) => curve.group === group.name);
    percentileChart(
      box,
      own.map((curve) => ({
        name: `${curve.kind}, ${WINDOWS[curve.window] ?? curve.window} (${number(curve.count)})`,
        count: curve.count,
        points: curve.points,
        color: seriesColor(curve.kind === "response" ? 0 : 1),
        dash: curve.window === "baseline" ? DASHES[1] : [],
        width: curve.window === "baseline" ? 1.75 : 2.25,
        isShown: curve.kind === "response",
      })),
      { label: `Percentiles of latency of ${group.name}`, unit: "latency by percentile; baseline dashed, after it solid; (records)" },
    );
  });
  return null;
}
