// The percentile curve: latency against percentile on an axis of nines, where each step to the right is ten times rarer.

const PERCENTILES_PX = 300;
/** Nobody has seen more nines than this many. */
const NINES_MAX = 9;

/** 0 at 0 %, 1 at 90 %, 2 at 99 % and so on. */
const nines = (percentile) => -Math.log10(1 - percentile / 100);

/** The greatest of `count` values stands where one in `count` does: 100 % has no place on this axis. */
function placeOf(percentile, count) {
  return Math.min(percentile >= 100 ? Math.log10(Math.max(count, 1)) : nines(percentile), NINES_MAX);
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
  // At the end of a curve stands its greatest value: nothing took longer, and nothing is known beyond.
  const lasts = values.map((list) => list.findLastIndex(isKnown));
  const indexIn = (at, index) => (isKnown(index) && index <= lasts[at] ? nearest(values[at], places, index) : null);
  const valueInWords = (at, index) => {
    const own = indexIn(at, index);
    if (own === null) return "";
    const isLongest = own === lasts[at] && options.maximumAt === undefined;
    return `${microseconds(values[at][own])}${isLongest ? ` (the longest of ${number(curves[at].count)})` : ""}`;
  };
  const placeInWords = (index) => {
    if (index < places.length - 1) return percentileInWords(places[index]);
    return options.maximumAt === undefined ? "" : "the longest";
  };
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
    cursor: { drag: { x: false, y: false }, dataIdx: (u, at, index) => (at === 0 ? index : indexIn(at - 1, index)) },
    series: curves.map((curve, at) => ({ ...curve, values: values[at], spansGaps: true, dots: curve.hasPoints ? undefined : [lasts[at]] })),
    hooks: { setCursor: [(u) => showPercentile(frame, place, u, placeInWords, valueInWords)] },
  });
  const place = element("span", { class: "place" });
  frame.tools.append(place);
  percentileKeys(frame, options.label, placeInWords, valueInWords);
  return frame;
}

/** Of the indices at which there is a value, the one whose place is nearest. */
function nearest(values, places, index) {
  let best = null;
  values.forEach((value, at) => {
    if (!isKnown(value)) return;
    if (best === null || Math.abs(places[at] - places[index]) < Math.abs(places[best] - places[index])) best = at;
  });
  return best;
}

function showPercentile(frame, place, u, placeInWords, valueInWords) {
  const { left, idx } = u.cursor;
  const isOff = left < 0 || !isKnown(idx);
  place.textContent = isOff ? "" : placeInWords(idx);
  frame.buttons.forEach(({ value }, at) => {
    value.textContent = isOff ? "" : valueInWords(at, idx);
  });
}

function percentileInWords(at) {
  const rarer = 10 ** at;
  if (at < 1) return `${number(100 * (1 - 1 / rarer))} %`;
  const share = (100 * (1 - 1 / rarer)).toFixed(Math.max(1, Math.ceil(at) - 1)).replace(/\.?0+$/, "");
  return `${share} %, one in ${number(Math.round(rarer))} took longer`;
}

function percentileKeys(frame, label, placeInWords, valueInWords) {
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
      .map((series, one) => (frame.shown[one] && valueInWords(one, index) !== "" ? `${series.name} ${valueInWords(one, index)}` : null))
      .filter(Boolean);
    announce([placeInWords(index), words.join(", ")].filter(Boolean).join(": "));
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
  const silent = data.timeline.groups.filter((group) => !groups.some((one) => one.name === group.name));
  noteWithout(plot, silent, "no record of it was acknowledged");
  noteGroups(plot, data);
  return null;
}
