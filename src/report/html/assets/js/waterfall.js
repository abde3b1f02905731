// Bars in the rows of tables: how a change went through the layers after a step, and how long each stage to the first ack took. They are
// tables, so that whoever cannot see the bars reads the same.

const LAYERS = ["detected", "committed", "fetched", "broker_cache", "servable", "client_cache", "route", "delivery"];
const layerName = (layer) => layer.replaceAll("_", " ");
const layerTitle = (layer) => (LAYERS.includes(layer) ? `${LAYERS.indexOf(layer)} ${layerName(layer)}` : layerName(layer));

/** A row's picture: shapes by share of the width, `[from, to, class]`, and `[at, class]` for a mark. */
function bar(shapes, words) {
  const at = (share) => `${(100 * Math.min(Math.max(share, 0), 1)).toFixed(3)}%`;
  const picture = svg("svg", { class: "bar", width: "100%", height: 18, role: "img", "aria-label": words }, svg("title", {}, words));
  for (const [from, to, name] of shapes) {
    if (name === undefined) picture.append(svg("line", { class: to, x1: at(from), x2: at(from), y1: 1, y2: 17 }));
    else if (to > from) picture.append(svg("rect", { class: name, x: at(from), width: at(to - from), y: 4, height: 10 }));
  }
  return picture;
}

/** Round steps of a scale of `length` ms, at most `most` of them. */
function roundSteps(length, most) {
  const rough = length / most;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((candidate) => candidate >= rough);
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, at) => at * step);
}

/** The scale above the bars: `length` ms wide, its zero `before` ms from the left. */
function scaleBar(length, before = 0) {
  const picture = svg("svg", { class: "bar scale", width: "100%", height: 18, "aria-hidden": "true" });
  for (const tick of roundSteps(length - before, 5)) {
    const share = (tick + before) / length;
    if (share > 0.94) continue;
    const x = `${(100 * share).toFixed(3)}%`;
    picture.append(svg("line", { class: "tick", x1: x, x2: x, y1: 12, y2: 18 }), svg("text", { x, dx: 3, y: 11 }, roundMilliseconds(tick)));
  }
  return picture;
}

function layers(plot, data) {
  const steps = (data.layers ?? []).filter((step) => step.stages.length > 0);
  if (steps.length === 0) return "No change was seen in the controller’s log after a step, so there is no way through layers to show.";
  const box = element("div");
  const longest = steps.reduce((best, step, at) => (heldMs(step) > heldMs(steps[best]) ? at : best), 0);
  const show = (at) => box.replaceChildren(...waterfall(steps[at]));
  plot.append(...choiceOfSteps(steps, longest, show));
  plot.append(box);
  const without = data.layers.length - steps.length;
  if (without > 0)
    plot.append(
      element("p", { class: "note" }, `${number(without)} of the steps below changed nothing that was seen in the controller’s log.`),
    );
  noteLeftOut(plot, data.layers_left_out, "steps, those held up for the shortest time,");
  show(longest);
  return null;
}

/** A table whose last column is drawn. */
function waterfallTable(caption, head, rows) {
  const parts = [element("caption", { class: "for-readers" }, caption), element("thead", {}, head), element("tbody", {}, ...rows)];
  return element(
    "div",
    { class: "scroll", tabindex: 0, role: "region", "aria-label": caption },
    element("table", { class: "figures waterfall" }, ...parts),
  );
}

const heldMs = (step) => step.segments.reduce((sum, segment) => sum + segment.for_ms, 0);

/** One step's: its longest wait as a strip, and a row per stage. */
function waterfall(step) {
  const ends = [
    step.last_ack_ms,
    ...step.stages.map((stage) => stage.time_ms),
    ...step.segments.map((segment) => segment.since_ms + segment.for_ms),
  ].filter(isKnown);
  const starts = step.segments.map((segment) => segment.since_ms);
  const from = Math.min(step.began_ms, ...starts);
  const length = Math.max(...ends, from + 1) - from;
  const share = (time) => (time - from) / (length * 1.02);
  const head = element(
    "tr",
    {},
    ...["layer", "who", "what", "after", "within"].map((name) =>
      element("th", { scope: "col", class: name === "after" || name === "within" ? "number" : "text" }, name),
    ),
    element(
      "th",
      { scope: "col", class: "picture" },
      element("span", { class: "for-readers" }, "when, from the step on"),
      scaleBar(length * 1.02, step.began_ms - from),
    ),
  );
  const rows = step.stages.map((stage, at) =>
    stageRow(
      stage,
      step,
      share,
      heldBy(step, at).map((segment) => [
        share(segment.since_ms),
        share(segment.since_ms + segment.for_ms),
        `segment layer-${segment.layer}`,
      ]),
    ),
  );
  const notes = element("div");
  noteLeftOut(notes, step.stages_left_out, "stages, the last of this change,");
  noteLeftOut(notes, step.segments_left_out, "stretches of the longest wait, the last,");
  return [
    element(
      "p",
      { class: "unit" },
      ...sentence(
        `step ${step.step}, ${step.label}, at ${moment(step.began_ms)}: ${[step.partition, step.change].filter(Boolean).join(", ")}`,
      ),
    ),
    step.held ? element("p", { class: "held" }, ...sentence(step.held)) : null,
    waitStrip(step, share, length),
    waterfallTable(`Layers after step ${step.step}`, head, rows),
    waterfallKey(),
    notes,
  ].filter(Boolean);
}

/** The stretches of the longest wait that stand in this stage's row: the last of their layer, node and group. */
function heldBy(step, at) {
  const isOf = (stage, segment) =>
    stage.layer === segment.layer && (stage.node ?? null) === (segment.node ?? null) && (stage.group ?? null) === (segment.group ?? null);
  return step.segments.filter((segment) => step.stages.findLastIndex((stage) => isOf(stage, segment)) === at);
}

function stageRow(stage, step, share, held) {
  const after = isKnown(stage.time_ms) ? stage.time_ms - step.began_ms : null;
  const within = isKnown(stage.time_ms) && isKnown(stage.not_before_ms) ? stage.time_ms - stage.not_before_ms : null;
  const who = [stage.group, isKnown(stage.node) ? `node ${stage.node}` : null].filter(Boolean).join(" to ");
  const what = [stage.what, stage.is_down ? "was down" : null, stage.never > 0 ? `${number(stage.never)} never` : null]
    .filter(Boolean)
    .join(", ");
  // Nobody looked: that is no sign that it did not happen.
  const isUnasked = stage.what === "not asked" && after === null;
  const shapes = isKnown(stage.time_ms)
    ? [
        ...(stage.never > 0 ? [[share(stage.time_ms), 1, "never-seen"]] : []),
        [share(step.began_ms), share(stage.not_before_ms ?? stage.time_ms), "waiting"],
        [share(stage.not_before_ms ?? stage.time_ms), share(stage.time_ms), `unsure layer-${stage.layer}`],
        ...held,
        [share(stage.time_ms), `seen layer-${stage.layer}`],
      ]
    : [...(isUnasked ? [] : [[share(step.began_ms), 1, "never-seen"]]), ...held];
  const words = isKnown(after)
    ? `seen ${milliseconds(after)} after the step${within > 0 ? `, at most ${milliseconds(within)} late` : ""}`
    : isUnasked
      ? "nobody asked"
      : "not seen";
  return element(
    "tr",
    { class: stage.is_down ? "down" : null },
    element("th", { scope: "row", class: "text" }, layerTitle(stage.layer)),
    element("td", { class: "text" }, who),
    element("td", { class: "text" }, what),
    element("td", { class: "number" }, isKnown(after) ? milliseconds(after) : isUnasked ? UNKNOWN : "not seen"),
    element("td", { class: "number within" }, within > 0 ? milliseconds(within) : ""),
    element("td", { class: "picture" }, bar([[share(step.began_ms), "fault"], ...shapes], words)),
  );
}

/** The longest wait from end to end, charged to layers. */
function waitStrip(step, share, length) {
  if (step.segments.length === 0) return null;
  const picture = svg("svg", { class: "strip", width: "100%", height: 34, role: "img", "aria-label": "the longest wait, by layer" });
  const list = [];
  step.segments.forEach((segment) => {
    const who = [layerName(segment.layer), isKnown(segment.node) ? `node ${segment.node}` : null, segment.group].filter(Boolean).join(", ");
    const words = `${who}: ${milliseconds(segment.for_ms)}`;
    const from = share(segment.since_ms);
    const width = segment.for_ms / (length * 1.02);
    picture.append(
      svg(
        "svg",
        { x: `${100 * from}%`, width: `${100 * width}%`, height: 34 },
        svg("title", {}, words),
        svg("rect", { class: `layer-${segment.layer} segment`, width: "100%", height: 22, y: 6 }),
        width > 0.12 ? svg("text", { x: 6, y: 21, class: "on-area" }, layerName(segment.layer)) : null,
      ),
    );
    list.push(
      element(
        "li",
        {},
        svg(
          "svg",
          { width: 14, height: 12, "aria-hidden": "true" },
          svg("rect", { class: `layer-${segment.layer} segment`, width: 14, height: 12, rx: 2 }),
        ),
        words,
      ),
    );
  });
  return element(
    "div",
    { class: "wait" },
    element("p", { class: "unit" }, "the longest wait, charged to layers"),
    picture,
    element("ul", { class: "key" }, ...list),
  );
}

function waterfallKey() {
  const entry = (name, text) =>
    element(
      "li",
      {},
      svg("svg", { width: 22, height: 12, "aria-hidden": "true" }, svg("rect", { class: name, width: 22, height: 10, y: 1 })),
      text,
    );
  const mark = (name, text) =>
    element(
      "li",
      {},
      svg("svg", { width: 6, height: 14, "aria-hidden": "true" }, svg("line", { class: name, x1: 3, x2: 3, y1: 0, y2: 14 })),
      text,
    );
  return element(
    "ul",
    { class: "key" },
    mark("fault", "the step"),
    entry("waiting", "still the old state"),
    entry("unsure", "changed in here"),
    mark("seen", "seen"),
    entry("segment", "part of the longest wait"),
    entry("never-seen", "not seen"),
  );
}

// --- First ack. ---

function firstAck(plot, data) {
  const groups = (data.first_ack ?? []).filter((group) => group.stages.some((stage) => stage.ms));
  if (groups.length === 0) return "No producer told how it came to its first acknowledgement.";
  const longest = Math.max(1, ...groups.flatMap((group) => group.stages.map((stage) => stage.ms?.max ?? 0))) * 1.04;
  const head = element(
    "tr",
    {},
    ...["group", "stage"].map((name) => element("th", { scope: "col", class: "text" }, name)),
    ...["min", "median", "p99", "max"].map((name) => element("th", { scope: "col", class: "number" }, name)),
    element("th", { scope: "col", class: "picture" }, element("span", { class: "for-readers" }, "spread"), scaleBar(longest)),
  );
  const rows = groups.flatMap((group) =>
    group.stages.map(({ stage, ms }, at) => {
      const figures = ["min", "median", "p99", "max"].map((name) =>
        element("td", { class: "number" }, ms ? milliseconds(ms[name]) : "none"),
      );
      const shapes = ms
        ? [
            [ms.min / longest, ms.max / longest, "whisker"],
            [ms.min / longest, ms.p99 / longest, "unsure layer-servable"],
            [ms.median / longest, "median"],
          ]
        : [];
      const words = ms
        ? `${milliseconds(ms.min)} to ${milliseconds(ms.max)}, half of ${number(ms.count)} within ${milliseconds(ms.median)}`
        : "none";
      return element(
        "tr",
        { class: at > 0 ? "sub" : null },
        element("th", { scope: "row", class: "text" }, at === 0 ? group.group : element("span", { class: "for-readers" }, group.group)),
        element("td", { class: "text" }, layerName(stage)),
        ...figures,
        element("td", { class: "picture" }, bar(shapes, `${layerName(stage)}: ${words}`)),
      );
    }),
  );
  plot.append(waterfallTable("From construction to the first acknowledgement, by stage", head, rows));
  noteLeftOut(plot, data.first_ack_left_out, "groups, the last of the plan,");
  const silent = data.timeline.groups.filter((group) => !groups.some((one) => one.group === group.name));
  noteWithout(plot, silent, "its producers did not tell how they came to their first acknowledgement");
  return null;
}
