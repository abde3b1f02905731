// The page of a comparison: its curve, and its cells' percentiles over each other. js/page.js fills the figures.

/** Cells whose percentiles are shown until somebody asks for more: so many lines can be told apart. */
const CELLS_SHOWN = 8;

/** The longest of each run stand right of 99.99 %: of how many records they are the longest differs from run to run. */
const LONGEST_AT = 5;

const ALL_GROUPS = "all groups";

/** `data.latencies`: [{cell (index), group, window, points: [[percentile, median, least, greatest]] in ms}]. */
function cellPercentiles(plot, data) {
  const curves = (data.latencies ?? []).map((curve) => ({ ...curve, group: curve.group ?? ALL_GROUPS }));
  if (curves.length === 0) return "No run has latencies by percentile.";
  const groups = [...new Set(curves.map((curve) => curve.group))].map((name) => ({ name }));
  perGroup(plot, groups, false, (box, [group]) => {
    const ofGroup = curves.filter((curve) => curve.group === group.name);
    const windows = Object.keys(WINDOWS).filter((window) => ofGroup.some((curve) => curve.window === window));
    const inner = element("div");
    const draw = (at) => {
      retire(inner);
      drawCells(
        inner,
        ofGroup.filter((curve) => curve.window === windows[at]),
        `${group.name}, ${WINDOWS[windows[at]]}`,
        data.cells,
      );
    };
    if (windows.length > 1)
      box.append(
        choice(
          "Window",
          windows.map((window) => WINDOWS[window]),
          0,
          draw,
        ),
      );
    box.append(inner);
    draw(0);
  });
  noteLeftOut(plot, data.latencies_left_out, "curves of percentiles");
  return null;
}

function drawCells(box, curves, what, cells) {
  percentileChart(
    box,
    curves.map((curve, at) => ({
      name: cells[curve.cell],
      points: curve.points.map(([percentile, median]) => [percentile, median * 1000]),
      color: seriesColor(curve.cell),
      dash: DASHES[curve.cell % DASHES.length],
      width: 2,
      hasPoints: true,
      isShown: at < CELLS_SHOWN,
    })),
    { label: `Percentiles of latency by cell: ${what}`, unit: `latency by percentile, ${what}: medians over each cell's runs`, maximumAt: LONGEST_AT },
  );
  const percentiles = [...new Set(curves.flatMap((curve) => curve.points.map(([percentile]) => percentile)))];
  const nameOf = (percentile) => (percentile >= 100 ? "longest" : `${percentile} %`);
  box.append(
    tableOnDemand("The same as a table", `Median over runs (least to greatest): ${what}`, ["cell", ...percentiles.map(nameOf)], () =>
      curves.map((curve) => {
        const at = new Map(curve.points.map(([percentile, ...values]) => [percentile, values]));
        return [cells[curve.cell], ...percentiles.map((percentile) => rangeInWords(at.get(percentile)))];
      }),
    ),
  );
}

function rangeInWords(values) {
  if (values === undefined) return UNKNOWN;
  const [median, least, greatest] = values;
  return `${milliseconds(median)} (${milliseconds(least)} to ${milliseconds(greatest)})`;
}

beginPage({ curve, "cell-percentiles": cellPercentiles }, dataOfPage());
